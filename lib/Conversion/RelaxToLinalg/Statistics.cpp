//===- Statistics.cpp - Sums, means and variances of tensors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

Value mlir::relax::emptyReduced(KernelBuilder &b, Value x,
                                ArrayRef<int64_t> axes, Identity identity) {
  SmallVector<OpFoldResult> dims;
  for (int64_t i = 0; i < b.getRank(x); ++i)
    if (!llvm::is_contained(axes, i))
      dims.push_back(b.dim(x, i));
  Type type = b.accumulatorType(b.getElementType(x));
  return b.fill(b.scalars().identity(identity, type), b.empty(dims, type));
}

/// sums / count, in place
static Value divideByCount(KernelBuilder &b, Value sums, Value x,
                           ArrayRef<int64_t> axes) {
  Value count = b.count(x, axes, b.getElementType(sums));
  return b.elementwise({}, sums, [&](S s, V e) { return s.div(e[0], count); });
}

Value mlir::relax::rowMax(KernelBuilder &b, Value x, ArrayRef<int64_t> axes) {
  RowMaps maps(b, x, axes);
  return b.compute(x, emptyReduced(b, x, axes, Identity::Lowest),
                   {maps.full, maps.reduced}, axes,
                   [](S s, V e) { return s.max(e[1], e[0]); });
}

Value mlir::relax::rowSum(KernelBuilder &b, Value x, ArrayRef<int64_t> axes,
                          Value like) {
  RowMaps maps(b, x, axes);
  return b.compute(x, emptyReduced(b, like ? like : x, axes, Identity::Zero),
                   {maps.full, maps.reduced}, axes,
                   [](S s, V e) { return s.add(e[1], e[0]); });
}

Value mlir::relax::rowMean(KernelBuilder &b, Value x, ArrayRef<int64_t> axes) {
  return divideByCount(b, rowSum(b, x, axes), x, axes);
}

Value mlir::relax::rowMeanSquare(KernelBuilder &b, Value x, Value mean,
                                 ArrayRef<int64_t> axes) {
  RowMaps maps(b, x, axes);
  SmallVector<Value> inputs = {x};
  SmallVector<AffineMap> indexing = {maps.full};
  if (mean) {
    inputs.push_back(mean);
    indexing.push_back(maps.reduced);
  }
  indexing.push_back(maps.reduced);
  Value sums =
      b.compute(inputs, emptyReduced(b, x, axes, Identity::Zero), indexing,
                axes, [&](S s, V e) {
                  Value difference = mean ? s.sub(e[0], e[1]) : e[0];
                  return s.add(e.back(), s.mul(difference, difference));
                });
  return divideByCount(b, sums, x, axes);
}
