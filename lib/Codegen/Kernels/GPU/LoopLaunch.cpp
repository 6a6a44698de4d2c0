//===- LoopLaunch.cpp - Threads for iterations ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread for each iteration of parallel loops, whatever is in them, and of
// those loops of a nest that are found to be parallel.
//
//===----------------------------------------------------------------------===//

#include "LoopLaunch.h"

#include "ElementBody.h"
#include "Launch.h"

#include "relax-mlir/Analysis/IndependentLoops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

/// The number of iterations of a loop.
static Value countIterations(IndexBuilder &b, Value lower, Value upper,
                             Value step) {
  return b.ceilDiv(b.max(b.sub(upper, lower), b.index(0)), step);
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
    sizes.push_back(countIterations(b, lower, upper, step));
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

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// Whether threads may share a loop of a nest: all of them come to it, and know
/// its iterations before the nest begins.
static bool canShare(scf::ForOp loop, scf::ForOp nest) {
  if (loop.getNumResults() != 0 || !loop.getInductionVar().getType().isIndex())
    return false;
  for (Operation *op = loop; op != nest; op = op->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp>(op))
      return false;
  auto isBefore = [&](Value bound) {
    return !nest.getRegion().isAncestor(bound.getParentRegion());
  };
  return isBefore(loop.getLowerBound()) && isBefore(loop.getUpperBound()) &&
         isBefore(loop.getStep()) &&
         (isKnownIndependent(loop) || hasIndependentIterations(loop, nest));
}

bool mlir::relax::launchNest(scf::ForOp nest) {
  SmallVector<scf::ForOp> loops;
  bool allocates = false;
  nest->walk<WalkOrder::PreOrder>([&](Operation *op) {
    allocates |= isa<memref::AllocOp>(op);
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && canShare(loop, nest))
      loops.push_back(loop);
  });
  if (loops.empty() || allocates)
    return false;
  IndexBuilder b(nest.getLoc(), nest);
  SmallVector<Value> sizes;
  for (scf::ForOp loop : loops)
    sizes.push_back(countIterations(b, loop.getLowerBound(),
                                    loop.getUpperBound(), loop.getStep()));
  launchIterations(
      b, sizes, [&](IndexBuilder &inside, ArrayRef<Value> indices) {
        nest->moveBefore(inside.getInsertionBlock(),
                         inside.getInsertionPoint());
        for (auto [loop, index] : llvm::zip(loops, indices)) {
          IndexBuilder at(loop.getLoc(), loop);
          Value place =
              at.add(loop.getLowerBound(), at.mul(index, loop.getStep()));
          moveBody(loop.getBody(), loop.getInductionVar(), at, place);
          loop.erase();
        }
      });
  return true;
}
