//===- KillAfterLastUse.cpp - Drop values after their last use -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value dies after the last operation of its block that uses it. Where that
// is a relax.if, it dies in each of the branches: after its last use there, or
// at the start. A storage dies with the last tensor in it, and a tensor with
// the last view of it, which may be no more than an address. Values that a
// terminator uses die with the frame, or after the relax.if. Where a program
// kills values itself, those places are replaced by these.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/TensorLiveness.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXKILLAFTERLASTUSEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// Adds the views of a tensor, and views of these.
static void collectViews(Value tensor, SmallVectorImpl<Value> &views) {
  for (Operation *user : tensor.getUsers())
    if (isa<ViewOp, relax::CastOp>(user)) {
      views.push_back(user->getResult(0));
      collectViews(user->getResult(0), views);
    }
}

/// Returns the users of a value; of a storage, also those of the tensors in it,
/// and of a tensor with memory of its own, also those of views of it. A tensor
/// that a branch passes on keeps the storage alive itself.
static SmallVector<Operation *> usersOf(Value value) {
  SmallVector<Operation *> users(value.getUsers());
  SmallVector<Value> aliases;
  if (value.getDefiningOp<AllocStorageOp>()) {
    for (Operation *user : users)
      if (isa<AllocTensorOp>(user))
        collectTensorAliases(user->getResult(0), aliases);
  } else if (auto alloc = value.getDefiningOp<AllocTensorOp>();
             !alloc || !alloc.getStorage()) {
    collectViews(value, aliases);
  }
  for (Value alias : aliases)
    for (Operation *user : alias.getUsers())
      if (value.getParentRegion()->isAncestor(user->getParentRegion()) &&
          !user->hasTrait<OpTrait::IsTerminator>())
        users.push_back(user);
  return users;
}

namespace {
class KillInserter {
public:
  explicit KillInserter(Value value) : value(value) {}

  /// Kills the value after the last of `users` in `block`; where there is
  /// none, after `definition`, or at the start of the block.
  void insert(Block &block, Operation *definition, ArrayRef<Operation *> users);

private:
  void insertInBranches(IfOp branch, ArrayRef<Operation *> users);
  void kill(Block &block, Block::iterator at) {
    OpBuilder builder(&block, at);
    Location loc = at == block.begin() ? at->getLoc() : std::prev(at)->getLoc();
    KillOp::create(builder, loc, value);
  }

  Value value;
};
} // namespace

/// The operations of `users` that are in `region`.
static SmallVector<Operation *> usersIn(ArrayRef<Operation *> users,
                                        Region &region) {
  return llvm::filter_to_vector(users, [&](Operation *user) {
    return region.isAncestor(user->getParentRegion());
  });
}

void KillInserter::insertInBranches(IfOp branch, ArrayRef<Operation *> users) {
  for (Region &region : branch->getRegions())
    insert(region.front(), /*definition=*/nullptr, usersIn(users, region));
}

void KillInserter::insert(Block &block, Operation *definition,
                          ArrayRef<Operation *> users) {
  Operation *last = definition;
  for (Operation *user : users) {
    Operation *ancestor = block.findAncestorOpInBlock(*user);
    if (!last || last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  if (!last)
    return kill(block, block.begin());
  if (last->hasTrait<OpTrait::IsTerminator>())
    return;
  // A value that a branch yields dies after it.
  bool isYielded = llvm::any_of(users, [&](Operation *user) {
    return last->isProperAncestor(user) &&
           user->hasTrait<OpTrait::IsTerminator>();
  });
  bool isInside = llvm::any_of(
      users, [&](Operation *user) { return last->isProperAncestor(user); });
  auto branch = dyn_cast<IfOp>(last);
  if (branch && isInside && !isYielded && branch.getElseRegion().hasOneBlock())
    return insertInBranches(branch, users);
  kill(block, std::next(last->getIterator()));
}

/// Fields taken from tuples that are there become the values themselves. Passes
/// that come later fold them, too, but then what kills the field would kill the
/// value, which others use.
static void foldItems(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](GetItemOp item) {
    SmallVector<Value> values;
    rewriter.setInsertionPoint(item);
    if (succeeded(rewriter.tryFold(item, values)) && values.size() == 1)
      rewriter.replaceOp(item, values);
  });
  root->walk([&](TupleOp tuple) {
    if (tuple->use_empty())
      rewriter.eraseOp(tuple);
  });
}

/// What a program kills dies no later by itself.
static void eraseKills(FuncOp func) {
  func.walk([](KillOp kill) { kill.erase(); });
}

namespace {
struct RelaxKillAfterLastUsePass
    : relax::impl::RelaxKillAfterLastUsePassBase<RelaxKillAfterLastUsePass> {
  void runOnOperation() override {
    WalkResult blocks = getOperation().walk([](DataflowOp dataflow) {
      dataflow.emitOpError() << "has no last uses, as it has no order of "
                                "execution: run relax-to-non-dataflow before";
      return WalkResult::interrupt();
    });
    if (blocks.wasInterrupted())
      return signalPassFailure();
    eraseKills(getOperation());
    foldItems(getOperation());
    SmallVector<Value> values;
    getOperation().walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (isa<StructInfoTypeInterface>(result.getType()))
          values.push_back(result);
    });
    // Of those that die at one place the first one is killed first.
    for (Value value : llvm::reverse(values))
      KillInserter(value).insert(*value.getParentBlock(), value.getDefiningOp(),
                                 usersOf(value));
  }
};
} // namespace
