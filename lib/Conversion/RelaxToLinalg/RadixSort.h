//===- RadixSort.h - Sorting of long lines by digits ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_RADIXSORT_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_RADIXSORT_H

#include "Lines.h"
#include "OrderKey.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::relax {

/// A digit is a byte.
inline constexpr int64_t kDigitBits = 8;

/// From how many elements on threads share a line, if its type has more than
/// one digit.
std::optional<int64_t> leastToSortByThreads(Type element);

/// Sorts lines by the bytes of their keys, from the lowest one on, which is
/// stable. The bytes of all elements are counted once; so each byte says where
/// an element moves to. Two copies of a line take turns.
///
/// Threads divide a line into parts, and count a byte in each of them before
/// elements move by it: those of a part go behind those of the parts before
/// that have the same byte. So the order is the same, whatever the parts are.
class RadixSort {
public:
  RadixSort(KernelBuilder &b, Value data, int64_t axis, bool isDescending);

  /// Sorts the tensors of the first half by the first one of them; those of the
  /// second half are for their copies.
  Carried sortLine(ValueRange tensors, SmallVectorImpl<Value> &place);
  /// The same by so many threads.
  Carried sortLineByThreads(ValueRange tensors, SmallVectorImpl<Value> &place,
                            Value threads);

private:
  /// The parts of a line, which has `length` elements in all but the last ones.
  struct Parts {
    Value count, length;
  };
  /// Gets a part, the range of its elements, and what the loop carries.
  using PartBody = llvm::function_ref<Carried(Value, Value, Value, ValueRange)>;

  Value getKey(Value element) {
    ScalarBuilder s = b.scalars();
    return buildOrderKey(s, element, isDescending);
  }
  /// A byte of a key.
  Value getDigit(Value key, Value digit);
  /// The first of the counts of a digit, or of a part.
  Value getFirstCounter(Value number) {
    return arith::MulIOp::create(b, number, b.index(kValues));
  }
  Value increment(Value counts, Value counter);
  Value clear(Value counts, Value begin, Value end);
  Value countDigits(Value tensor, SmallVectorImpl<Value> &place);
  /// Whether all elements have this digit in common with the first one.
  Value isCommon(Value tensor, Value counts, Value digit,
                 SmallVectorImpl<Value> &place);
  /// Makes of the counts of a digit where the elements begin that have it.
  Value addCounts(Value counts, Value digit);
  /// Moves the elements [begin, end) by a digit to the places that the counts
  /// from `first` on tell; carries the tensors, then the counts.
  Carried moveElements(ValueRange from, ValueRange carried, Value begin,
                       Value end, Value first, Value digit,
                       SmallVectorImpl<Value> &place);
  /// Moves elements by a digit; returns the tensors, then the counts.
  Carried move(ValueRange from, ValueRange to, Value counts, Value digit,
               SmallVectorImpl<Value> &place);

  /// Moves the tensors and their copies by each two digits, unless both are
  /// common; carries the tensors, then the counts.
  Carried
  overDigits(ValueRange carried,
             llvm::function_ref<Value(ValueRange, Value digit)> isCommon,
             llvm::function_ref<Carried(ValueRange from, ValueRange to,
                                        Value counts, Value digit)>
                 move);

  Parts divide(Value threads);
  /// Threads share the parts.
  Carried overParts(const Parts &parts, ValueRange carried, PartBody body);
  /// The bits in which any key differs from the first one.
  Value findDifferences(Value tensor, const Parts &parts,
                        SmallVectorImpl<Value> &place);
  Value countParts(Value tensor, Value counts, Value digit, const Parts &parts,
                   SmallVectorImpl<Value> &place);
  Value addPartCounts(Value counts, const Parts &parts);
  Carried moveParts(ValueRange from, ValueRange to, Value counts, Value digit,
                    const Parts &parts, SmallVectorImpl<Value> &place);

  Value load(Value tensor, Value at, SmallVectorImpl<Value> &place) {
    place[axis] = at;
    return tensor::ExtractOp::create(b, tensor, place);
  }
  Value bits(const APInt &value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(keyType, value));
  }

  static constexpr int64_t kValues = 1 << kDigitBits;

  KernelBuilder &b;
  int64_t axis;
  bool isDescending;
  Value size;
  IntegerType keyType;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_RADIXSORT_H
