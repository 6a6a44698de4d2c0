//===- ResultLaunch.cpp - Threads for results -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pools, convolutions without a class, and whatever else reduces: a thread goes
// through the loops that reduce by itself, and keeps in registers what becomes
// a result, which LLVM could not: to it, memory that is stored may be that
// which is loaded next.
//
//===----------------------------------------------------------------------===//

#include "ResultLaunch.h"

#include "ElementBody.h"
#include "LoopLaunch.h"

using namespace mlir;
using namespace mlir::relax;

/// The loops from `where.size()` on, which hand their results on.
static SmallVector<Value> emitLoops(IndexBuilder &b, const ElementBody &body,
                                    linalg::GenericOp op, ArrayRef<Value> sizes,
                                    ArrayRef<Value> where, ValueRange carried) {
  size_t dim = where.size();
  if (dim < sizes.size())
    return b.reduce(b.index(0), sizes[dim], 1, carried,
                    [&](IndexBuilder &in, Value i, ValueRange values) {
                      SmallVector<Value> inner(where);
                      inner.push_back(i);
                      return emitLoops(in, body, op, sizes, inner, values);
                    });
  SmallVector<Value> operands = body.loadInputs(b, where);
  llvm::append_range(operands, carried);
  return body.compute(b, where, operands);
}

void mlir::relax::launchResults(linalg::GenericOp op) {
  IndexBuilder b(op.getLoc(), op);
  SmallVector<Value> sizes = getLoopSizes(b, op);
  ElementBody body(op);
  auto shared = ArrayRef(sizes).take_front(op.getNumParallelLoops());
  launchIterations(b, shared, [&](IndexBuilder &in, ArrayRef<Value> indices) {
    // Results do not depend on the loops that reduce.
    SmallVector<Value> place(indices), before;
    place.resize(sizes.size(), in.index(0));
    for (OpOperand &init : op.getDpsInitsMutable())
      before.push_back(body.loadOperand(in, init, place));
    body.store(in, place, emitLoops(in, body, op, sizes, indices, before));
  });
  op.erase();
}
