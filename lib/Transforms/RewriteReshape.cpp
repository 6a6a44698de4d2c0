//===- RewriteReshape.cpp - Reshapes become views -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of an operator is memory of its own. A view in its place cannot be
// distinguished from it in two cases:
//
// - Only operators and kernels get the result, and none of them updates it;
//   what the operand refers to is not updated while the result is in use.
// - The operand is memory that only this function knows, and it has no later
//   use: the result takes it over.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Alias.h"
#include "relax-mlir/IR/Purity.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXREWRITERESHAPEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Whether it is a view
//===----------------------------------------------------------------------===//

/// The type that follows from the operands; null where none does.
static TensorStructInfoType deriveResult(Operation *op) {
  SmallVector<Type> types;
  auto inference = cast<InferTypeOpInterface>(op);
  if (failed(inference.inferReturnTypes(
          op->getContext(), /*location=*/std::nullopt, op->getOperands(),
          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
          op->getRegions(), types)))
    return {};
  return dyn_cast<TensorStructInfoType>(types.front());
}

/// Whether the declared result is known to have the elements of the operand,
/// with no check left to make.
static bool isView(Operation *op) {
  auto from = dyn_cast<TensorStructInfoType>(op->getOperand(0).getType());
  auto to = dyn_cast<TensorStructInfoType>(op->getResult(0).getType());
  if (!from || !to || !from.hasShape() || !to.hasShape() || !from.getDtype() ||
      from.getDtype() != to.getDtype() || from.getVdevice() != to.getVdevice())
    return false;
  PrimExprFacts facts = collectFacts(op);
  addFactsOfValue(from, facts);
  FactsScope scope(facts);
  TensorStructInfoType derived = deriveResult(op);
  if (!derived || !derived.hasShape() ||
      proveEqual(derived.getDims(), to.getDims(), facts) != Ternary::Yes)
    return false;
  MLIRContext *context = op->getContext();
  PrimExprAttr have = PrimExprAttr::getProduct(context, from.getDims());
  PrimExprAttr need = PrimExprAttr::getProduct(context, to.getDims());
  if (have.isTooLarge() || need.isTooLarge())
    return false;
  if (have != need && proveEqual(have, need, facts) != Ternary::Yes)
    return false;
  // Of the dimensions that squeeze removes, only those known to be 1 need no
  // check; where the sizes are equal but not known, n may be 0.
  auto squeeze = dyn_cast<SqueezeOp>(op);
  if (!squeeze || !squeeze.getAxis())
    return true;
  return llvm::all_of(*squeeze.getAxis(), [&](int64_t axis) {
    PrimExprAttr dim = from.getDims()[axis < 0 ? axis + from.getNdim() : axis];
    return dim.getConstant() == 1;
  });
}

//===----------------------------------------------------------------------===//
// Observable differences
//===----------------------------------------------------------------------===//

/// Whether `user` may run after `op`.
static bool mayRunAfter(Operation *user, Operation *op) {
  for (Operation *above = op; above; above = above->getParentOp()) {
    if (!above->getBlock())
      return false;
    if (Operation *other = above->getBlock()->findAncestorOpInBlock(*user))
      return other != above && above->isBeforeInBlock(other);
  }
  return false;
}

/// Whether an operation only reads the tensors that it is given.
static bool onlyReads(Operation *op) {
  if (!isa_and_nonnull<RelaxDialect>(op->getDialect()))
    return false;
  return !isa<CallOp, CallPackedOp, CallPurePackedOp, CallInplacePackedOp,
              CallTIRInplaceOp, CallDPSPackedOp, ClosureOp, MakeClosureOp,
              CallKernelOp, ReturnOp>(op);
}

/// The value under which the operand of `user` goes on, if it does.
static Value passOn(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<MatchCastOp, relax::CastOp, HintOnDeviceOp, ViewOp, TupleOp,
          GetItemOp>(user))
    return user->getResult(0);
  if (user->hasTrait<OpTrait::IsTerminator>() && !isa<ReturnOp>(user) &&
      isa<IfOp, DataflowOp, SeqOp>(user->getParentOp())) {
    unsigned index = use.getOperandNumber();
    return index < user->getParentOp()->getNumResults()
               ? user->getParentOp()->getResult(index)
               : Value();
  }
  return {};
}

namespace {
class ViewChecker {
public:
  ViewChecker(FuncOp func, Operation *op)
      : aliases(func), op(op), function(getFunctionAround(op)) {}

  bool isSafe() { return isOnlyRead() || isTakenOver(); }

private:
  bool isOnlyRead();
  bool isTakenOver();
  bool mayUpdateOperand(Operation *other);

  AliasInfo aliases;
  Operation *op;
  Operation *function;
};
} // namespace

/// Whether `other` may change what the operand refers to. An impure call may
/// change any memory that has escaped.
bool ViewChecker::mayUpdateOperand(Operation *other) {
  if (isa<CallTIRInplaceOp, CallInplacePackedOp>(other))
    return llvm::any_of(getUpdatedValues(other), [&](Value updated) {
      return aliases.mayAlias(updated, op->getOperand(0));
    });
  if (auto call = dyn_cast<CallOp>(other))
    return !call.isPureOp();
  return isa<CallPackedOp, CallKernelOp>(other);
}

bool ViewChecker::isOnlyRead() {
  SmallVector<Value> values = {op->getResult(0)};
  llvm::SmallPtrSet<Value, 8> seen(llvm::from_range, values);
  SmallVector<Operation *> users;
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      if (!onlyReads(use.getOwner()) ||
          getFunctionAround(use.getOwner()) != function)
        return false;
      users.push_back(use.getOwner());
      Value next = passOn(use);
      if (next && seen.insert(next).second)
        values.push_back(next);
    }
  WalkResult updates = function->walk([&](Operation *other) {
    bool isSeen = other != function && mayRunAfter(other, op) &&
                  mayUpdateOperand(other) &&
                  llvm::any_of(users, [&](Operation *user) {
                    return mayRunAfter(user, other);
                  });
    return isSeen ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !updates.wasInterrupted();
}

bool ViewChecker::isTakenOver() {
  Value operand = op->getOperand(0);
  if (aliases.getOutsideSource(operand, function))
    return false;
  WalkResult uses = function->walk([&](Operation *other) {
    if (other == op || other == function)
      return WalkResult::advance();
    bool isUse = llvm::any_of(other->getOpOperands(), [&](OpOperand &use) {
      return aliases.mayAlias(use.get(), operand);
    });
    // A user that got it may have kept it.
    bool isKept = !onlyReads(other) || getFunctionAround(other) != function;
    return isUse && (isKept || mayRunAfter(other, op) ||
                     other->isProperAncestor(op))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !uses.wasInterrupted();
}

namespace {
struct RelaxRewriteReshapePass
    : relax::impl::RelaxRewriteReshapePassBase<RelaxRewriteReshapePass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    SmallVector<Operation *> reshapes;
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(op))
        reshapes.push_back(op);
    });
    for (Operation *op : reshapes) {
      // A reshape that became a view before shares memory now.
      if (!isView(op) || !ViewChecker(func, op).isSafe())
        continue;
      OpBuilder builder(op);
      auto view = ViewOp::create(builder, op->getLoc(),
                                 op->getResult(0).getType(), op->getOperand(0));
      op->getResult(0).replaceAllUsesWith(view.getResult());
      op->erase();
    }
  }
};
} // namespace
