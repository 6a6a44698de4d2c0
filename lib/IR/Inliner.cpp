//===- Inliner.cpp - What upstream's inliner may do -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's inliner moves operations and renames nothing, so it may inline a
// call whose shape variables mean the same on both sides: types of arguments,
// parameters and results are equal, and the callee binds no other variables.
// `relax-inline-private-functions` has no such limit.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inliner.h"

#include "DialectInterfaces.h"

#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::relax;

/// Whether the body of a function may bind shape variables, or holds what a
/// dataflow block may not.
static bool isPlainBody(FuncOp callee, bool isInDataflow) {
  WalkResult result = callee->walk([&](Operation *op) {
    bool isPlain = !isa<MatchCastOp, ClosureOp>(op) &&
                   !(isInDataflow && isa<IfOp, DataflowOp, SeqOp>(op));
    return isPlain ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

namespace {
struct RelaxInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *call, Operation *callable,
                       bool) const override {
    auto callee = dyn_cast<FuncOp>(callable);
    return callee && isa<CallOp>(call) && mayInline(callee) &&
           call->getOperandTypes() == callee.getArgumentTypes() &&
           call->getResultTypes() == callee.getResultTypes() &&
           isPlainBody(callee, isa<DataflowOp>(call->getParentOp()));
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }

  /// The value that is returned may be declared to be more than it is known to
  /// be.
  void handleTerminator(Operation *op, ValueRange results) const override {
    OpBuilder builder(op);
    for (auto [value, result] : llvm::zip(op->getOperands(), results)) {
      Value given = value;
      if (given.getType() != result.getType())
        given =
            MatchCastOp::create(builder, op->getLoc(), result.getType(), given);
      result.replaceAllUsesWith(given);
    }
  }
};
} // namespace

bool mlir::relax::mayInline(FuncOp callee) {
  return !callee->hasAttr("Primitive") && mayInlineFused(callee);
}

bool mlir::relax::mayInlineFused(FuncOp callee) {
  if (callee.isExternal() || callee.getNumCaptures() != 0)
    return false;
  auto saysMore = [&](StringRef name) { return callee->hasAttr(name); };
  return llvm::none_of(
      std::initializer_list<StringRef>{
          RelaxDialect::kLowerBound, RelaxDialect::kUpperBound,
          RelaxDialect::ForcePureAttrHelper::getNameStr(), "Composite",
          "Codegen"},
      saysMore);
}

void mlir::relax::addInlinerInterface(RelaxDialect *dialect) {
  dialect->addInterfaces<RelaxInlinerInterface>();
}
