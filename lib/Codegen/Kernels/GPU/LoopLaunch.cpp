//===- LoopLaunch.cpp - Threads for iterations ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread for each iteration of parallel loops, whatever is in them, and of
// those loops of a nest that are found to be parallel. A parallel loop whose
// iterations have buffers of their own is distributed to its steps before.
//
//===----------------------------------------------------------------------===//

#include "LoopLaunch.h"

#include "ElementBody.h"
#include "Launch.h"

#include "relax-mlir/Analysis/IndependentLoops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

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

//===----------------------------------------------------------------------===//
// Distribution
//===----------------------------------------------------------------------===//

namespace {
class LoopDistributor {
public:
  explicit LoopDistributor(scf::ForOp loop) : loop(loop) {}

  /// Whether there is something to do, and it can be done; changes nothing.
  bool match();
  void run();

private:
  bool matchUsers(Value memref);
  void expand(Value memref, Value expanded);
  void expandBuffer(Operation *alloc);

  scf::ForOp loop;
  SmallVector<Operation *> allocs;
  /// Operations in order, and which ones each step runs. Loops are steps.
  SmallVector<SmallVector<Operation *>> steps;
};
} // namespace

/// Whether all that is done with a buffer can be done with a part of a larger
/// one.
bool LoopDistributor::matchUsers(Value memref) {
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(user))
      return matchUsers(collapse.getResult());
    return isa<memref::LoadOp, memref::DeallocOp>(user) ||
           (isa<memref::StoreOp>(user) && user->getOperand(0) != memref);
  });
}

bool LoopDistributor::match() {
  auto kind = RelaxDialect::LoopAttrHelper(loop.getContext()).getAttr(loop);
  if (!kind || kind.getValue() != "parallel" || loop.getNumResults() != 0 ||
      !loop.getInductionVar().getType().isIndex() ||
      getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1)
    return false;
  llvm::DenseMap<Operation *, size_t> places;
  bool isOpen = false; // whether the last step takes further operations
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
      auto type = cast<MemRefType>(op.getResult(0).getType());
      if (!type.getLayout().isIdentity() || !matchUsers(op.getResult(0)) ||
          !llvm::all_of(op.getOperands(), [&](Value size) {
            return loop.isDefinedOutsideOfLoop(size);
          }))
        return false;
      allocs.push_back(&op);
      continue;
    }
    if (isa<memref::DeallocOp>(op) || isMemoryEffectFree(&op))
      continue;
    if (!isOpen || op.getNumRegions() != 0)
      steps.emplace_back();
    isOpen = op.getNumRegions() == 0;
    places[&op] = steps.size();
    steps.back().push_back(&op);
  }
  // What a step uses is computed in it, or anywhere.
  for (auto [op, step] : places)
    for (Operation *user : op->getUsers()) {
      SmallVector<Operation *> next = {user};
      while (!next.empty()) {
        Operation *inBody =
            loop.getBody()->findAncestorOpInBlock(*next.pop_back_val());
        auto found = places.find(inBody);
        if (found != places.end() && found->second != step)
          return false;
        if (found == places.end())
          llvm::append_range(next, inBody->getUsers());
      }
    }
  return !allocs.empty() && hasIndependentIterations(loop, loop);
}

/// Accesses are those of the loop's iteration in a buffer of all iterations.
void LoopDistributor::expand(Value memref, Value expanded) {
  for (Operation *user : llvm::make_early_inc_range(memref.getUsers())) {
    OpBuilder b(user);
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(user)) {
      SmallVector<ReassociationIndices> groups = {{0}};
      for (ReassociationIndices group : collapse.getReassociationIndices()) {
        for (int64_t &axis : group)
          ++axis;
        groups.push_back(group);
      }
      auto view =
          memref::CollapseShapeOp::create(b, user->getLoc(), expanded, groups);
      expand(collapse.getResult(), view);
      user->erase();
      continue;
    }
    if (isa<memref::DeallocOp>(user)) {
      user->erase();
      continue;
    }
    SmallVector<Value> operands(user->getOperands());
    auto *place = llvm::find(operands, memref);
    *place = expanded;
    operands.insert(std::next(place), loop.getInductionVar());
    user->setOperands(operands);
  }
}

void LoopDistributor::expandBuffer(Operation *alloc) {
  OpBuilder b(loop);
  auto inner = cast<MemRefType>(alloc->getResult(0).getType());
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  llvm::append_range(shape, inner.getShape());
  SmallVector<Value> sizes;
  if (std::optional<int64_t> count = getConstantIntValue(loop.getUpperBound()))
    shape.front() = std::max<int64_t>(*count, 0);
  else
    sizes.push_back(loop.getUpperBound());
  llvm::append_range(sizes, alloc->getOperands());
  auto type = MemRefType::get(shape, inner.getElementType());
  auto buffer = memref::AllocOp::create(b, alloc->getLoc(), type, sizes);
  b.setInsertionPointAfter(loop);
  memref::DeallocOp::create(b, alloc->getLoc(), buffer);
  expand(alloc->getResult(0), buffer);
  alloc->erase();
}

void LoopDistributor::run() {
  for (Operation *alloc : allocs)
    expandBuffer(alloc);
  OpBuilder b(loop);
  for (ArrayRef<Operation *> step : steps) {
    auto copy = cast<scf::ForOp>(b.clone(*loop));
    llvm::SmallPtrSet<Operation *, 16> kept(step.begin(), step.end());
    SmallVector<std::pair<Operation *, bool>> copies; // and whether it is kept
    for (auto [old, fresh] : llvm::zip(*loop.getBody(), *copy.getBody()))
      copies.emplace_back(&fresh, kept.contains(&old));
    for (auto [op, isKept] : llvm::reverse(copies))
      if (!isKept && !op->hasTrait<OpTrait::IsTerminator>() && op->use_empty())
        op->erase();
  }
  loop.erase();
}

/// Takes the buffers of iterations once for all of them.
static void hoistBuffers(scf::ForOp loop) {
  SmallVector<Operation *> allocs;
  loop.walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      allocs.push_back(op);
  });
  for (Operation *op : allocs) {
    if (!llvm::all_of(op->getOperands(), [&](Value size) {
          return loop.isDefinedOutsideOfLoop(size);
        }))
      continue;
    OpBuilder b(op);
    auto alloc = dyn_cast<memref::AllocOp>(op);
    if (!alloc) {
      // Memory of the device, not of the part that the host runs.
      auto type = cast<MemRefType>(op->getResult(0).getType());
      alloc = memref::AllocOp::create(b, op->getLoc(), type, op->getOperands());
      op->replaceAllUsesWith(alloc);
      op->erase();
      b.setInsertionPointAfter(loop);
      memref::DeallocOp::create(b, alloc.getLoc(), alloc);
    }
    alloc->moveBefore(loop);
    for (Operation *user : alloc->getUsers())
      if (isa<memref::DeallocOp>(user))
        user->moveAfter(loop);
  }
}

void mlir::relax::distributeParallelLoop(scf::ForOp loop) {
  WalkResult allocates = loop.walk([](Operation *op) {
    return isa<memref::AllocOp, memref::AllocaOp>(op) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
  });
  if (!allocates.wasInterrupted())
    return;
  moveLoopInvariantCode(loop); // such as sizes of buffers
  LoopDistributor distributor(loop);
  if (distributor.match())
    distributor.run();
  else
    hoistBuffers(loop);
}
