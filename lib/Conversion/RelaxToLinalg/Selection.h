//===- Selection.h - Elements by their number in order ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_SELECTION_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_SELECTION_H

#include "Lines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::relax {

/// Finds elements of lines by their number in order, without sorting: the key
/// with a number is found bit by bit, from the highest one on, each time by
/// counting the keys that are less, which vectors do. Equal elements stay in
/// order.
class Selection {
public:
  Selection(KernelBuilder &b, Value data, int64_t axis, bool isDescending);

  /// Writes the first `count` elements of each line and their indices to
  /// `values` and `indices`: equal ones in the order of the indices.
  Carried collectFirst(Value count, Value values, Value indices);
  /// Writes to `indices`, whose lines have one element, the index of the
  /// element with a number, which is counted from 0.
  Value find(Value number, Value indices);

private:
  /// The key of the element with a number.
  Value findPivot(Value number, ArrayRef<Value> place);
  Value countLess(Value limit, ArrayRef<Value> place);
  /// Appends to a line of tensors the elements that are less than a limit and
  /// their indices; carries where it ends, then the tensors. Each element is
  /// written, and is overwritten by the next one where it is not less, so that
  /// no branch depends on data: there has to be a place behind the last one.
  Carried appendLess(Value limit, ArrayRef<Value> place, ValueRange carried);
  /// The same for the elements that equal a limit, up to `end`.
  Carried appendEqual(Value limit, Value end, ArrayRef<Value> place,
                      ValueRange carried);
  /// Appends an element and its index; moves the end by the last argument.
  Carried append(Value at, ArrayRef<Value> place, ValueRange carried,
                 Value step);
  /// Visits in order the indices of the keys that equal a limit.
  Carried overEqual(Value limit, ArrayRef<Value> place, ValueRange carried,
                    llvm::function_ref<Carried(Value, ValueRange)> body);
  Value compare(arith::CmpIPredicate predicate, Value at, Value limit,
                ArrayRef<Value> place) {
    return arith::CmpIOp::create(b, predicate, load(at, place), limit);
  }
  /// A vector of keys from an index on; behind the line are the greatest ones.
  Value loadGroup(Value at, ArrayRef<Value> place, bool isInLine);
  Value load(Value at, ArrayRef<Value> place);
  /// The index of a key: lines of keys are contiguous.
  SmallVector<Value> keyPlace(Value at, ArrayRef<Value> place) const;
  Value splat(Value number);

  /// Keys that are compared at once.
  static constexpr int64_t kGroup = 16;
  /// An element takes so much longer than one that is added.
  static constexpr int64_t kCost = 8;

  KernelBuilder &b;
  Value data;
  int64_t axis;
  LineLoops lines;
  Value size, groupsEnd; // of whole groups
  IntegerType keyType;
  Value keys;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_SELECTION_H
