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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::relax {

/// From how many elements on lines are sorted by digits, if their type has
/// them.
std::optional<int64_t> leastToSortByDigits(Type element);

/// Sorts lines by the bytes of their keys, from the lowest one on, which is
/// stable. The bytes of all elements are counted once; so each byte says where
/// an element moves to. Two copies of a line take turns.
class RadixSort {
public:
  RadixSort(KernelBuilder &b, Value data, int64_t axis, bool isDescending);

  /// Sorts the tensors of the first half by the first one of them; those of the
  /// second half are for their copies.
  Carried sortLine(ValueRange tensors, SmallVectorImpl<Value> &place);

private:
  /// An unsigned integer that is less where the element comes before another.
  Value getKey(Value element);
  Value getFloatKey(Value bits);
  /// The place of a byte of a key among the counts.
  Value getCounter(Value key, Value digit);
  Value countDigits(Value tensor, SmallVectorImpl<Value> &place);
  /// Whether all elements have this digit in common with the first one.
  Value isCommon(Value tensor, Value counts, Value digit,
                 SmallVectorImpl<Value> &place);
  /// Makes of the counts of a digit where the elements begin that have it.
  Value addCounts(Value counts, Value digit);
  /// Moves elements by a digit; returns the tensors, then the counts.
  Carried move(ValueRange from, ValueRange to, Value counts, Value digit,
               SmallVectorImpl<Value> &place);
  Value load(Value tensor, Value at, SmallVectorImpl<Value> &place) {
    place[axis] = at;
    return tensor::ExtractOp::create(b, tensor, place);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value bits(const APInt &value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(keyType, value));
  }

  KernelBuilder &b;
  int64_t axis;
  bool isDescending;
  Value size;
  Type element;
  IntegerType keyType;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_RADIXSORT_H
