//===- RankSort.h - Sorting of short lines by counting ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_RANKSORT_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_RANKSORT_H

#include "Lines.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::relax {

/// Sorts lines by the rank of each element: how many are less, or are equal and
/// before it. Vectors count them, for some elements at once, without branches
/// that depend on data.
class RankSort {
public:
  /// Up to how many elements this takes less time than to sort by digits.
  static constexpr int64_t kMostElements = 192;

  RankSort(KernelBuilder &b, Value data, int64_t axis, bool isDescending);

  /// Sorts the tensors of the first half by the first one of them; those of the
  /// second half are for their copies.
  Carried sortLine(ValueRange tensors, SmallVectorImpl<Value> &place);

private:
  Value makeKeys(Value tensor, SmallVectorImpl<Value> &place);
  Value makeRanks(Value keys);
  /// The ranks of a vector of elements from an index on.
  Value countBlock(Value keys, Value begin);
  /// Writes the element at each index of a line to another index.
  Value moveLine(Value from, Value to, SmallVectorImpl<Value> &place,
                 llvm::function_ref<Value(Value)> getTarget);

  /// Elements whose ranks are counted at once.
  static constexpr int64_t kBlock = 16;

  KernelBuilder &b;
  int64_t axis;
  bool isDescending;
  Value size;
  IntegerType keyType;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_RANKSORT_H
