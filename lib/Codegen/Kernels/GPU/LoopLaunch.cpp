//===- LoopLaunch.cpp - Threads for iterations ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread for each iteration of parallel loops, whatever is in them.
//
//===----------------------------------------------------------------------===//

#include "LoopLaunch.h"

#include "ElementBody.h"
#include "Launch.h"

using namespace mlir;
using namespace mlir::relax;

gpu::LaunchOp mlir::relax::launchIterations(
    IndexBuilder &b, ArrayRef<Value> sizes,
    llvm::function_ref<void(IndexBuilder &, ArrayRef<Value>)> body) {
  Value count = makeProduct(b, sizes);
  Value threads = b.index(kThreads);
  return launch(b, b.ceilDiv(count, threads), threads, {},
                [&](IndexBuilder &inside, gpu::LaunchOp op) {
                  Value place =
                      inside.add(inside.mul(op.getBlockIds().x, kThreads),
                                 op.getThreadIds().x);
                  Value isIn = inside.isBelow(place, count);
                  inside.branch(isIn, [&](IndexBuilder &then) {
                    body(then, delinearize(then, place, sizes));
                  });
                });
}

/// Moves the operations of a loop's body, but for its end, to the builder.
static void moveBody(Block *body, ValueRange variables, IndexBuilder &b,
                     ArrayRef<Value> indices) {
  for (auto [variable, index] : llvm::zip(variables, indices))
    variable.replaceAllUsesWith(index);
  b.getInsertionBlock()->getOperations().splice(
      b.getInsertionPoint(), body->getOperations(), body->begin(),
      std::prev(body->end()));
}

void mlir::relax::launchLoops(SmallVector<scf::ForOp> loops) {
  IndexBuilder b(loops.front().getLoc(), loops.front());
  SmallVector<Value> sizes, variables;
  for (scf::ForOp loop : loops) {
    sizes.push_back(loop.getUpperBound());
    variables.push_back(loop.getInductionVar());
  }
  launchIterations(
      b, sizes, [&](IndexBuilder &inside, ArrayRef<Value> indices) {
        moveBody(loops.back().getBody(), variables, inside, indices);
      });
  loops.front()->erase();
}

void mlir::relax::launchParallel(scf::ParallelOp op) {
  IndexBuilder b(op.getLoc(), op);
  SmallVector<Value> sizes;
  for (auto [lower, upper, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep()))
    sizes.push_back(b.max(b.ceilDiv(b.sub(upper, lower), step), b.index(0)));
  launchIterations(
      b, sizes, [&](IndexBuilder &inside, ArrayRef<Value> indices) {
        SmallVector<Value> places;
        for (auto [index, lower, step] :
             llvm::zip(indices, op.getLowerBound(), op.getStep()))
          places.push_back(inside.add(lower, inside.mul(index, step)));
        moveBody(op.getBody(), op.getInductionVars(), inside, places);
      });
  op.erase();
}
