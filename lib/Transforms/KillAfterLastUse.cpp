//===- KillAfterLastUse.cpp - Drop values after their last use -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value dies behind the last operation of its block that uses it, itself or
// in a region. Values that a terminator uses die with the frame.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXKILLAFTERLASTUSEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// The last operation of the block of `value` that uses it; the one that makes
/// it where there is none.
static Operation *lastUser(Value value) {
  Operation *last = value.getDefiningOp();
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
    if (last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  return last;
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
    foldItems(getOperation());
    SmallVector<std::pair<Value, Operation *>> kills;
    getOperation().walk([&](Operation *op) {
      for (Value result : op->getResults()) {
        if (!isa<StructInfoTypeInterface>(result.getType()))
          continue;
        Operation *last = lastUser(result);
        if (!last->hasTrait<OpTrait::IsTerminator>())
          kills.emplace_back(result, last);
      }
    });
    for (auto [value, last] : llvm::reverse(kills)) {
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(last);
      KillOp::create(builder, last->getLoc(), value);
    }
  }
};
} // namespace
