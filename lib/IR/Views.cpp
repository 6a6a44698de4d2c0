//===- Views.cpp - Results that may refer to other memory -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of an operator is memory of its own. A view of another value in
// its place cannot be distinguished from it in two cases:
//
// - Only operators and kernels get the result, and none of them updates it;
//   what is viewed is not updated while the result is in use.
// - What is viewed is memory that only this function knows, and it has no later
//   use: the result takes it over.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Alias.h"
#include "relax-mlir/IR/Purity.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::relax;

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
  if (isa<ViewLikeOpInterface, TupleOp, GetItemOp, ADTMakeOp>(user))
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
  ViewChecker(Operation *op, Value viewed)
      : op(op), viewed(viewed), function(getFunctionAround(op)) {}

  bool isOnlyRead();
  bool isTakenOver();

private:
  bool mayUpdate(Operation *other);
  const AliasInfo &getAliases();

  Operation *op;
  Value viewed;
  Operation *function;              // FuncOp or ClosureOp
  std::optional<AliasInfo> aliases; // which most questions do not need
};
} // namespace

const AliasInfo &ViewChecker::getAliases() {
  if (!aliases) {
    auto func = dyn_cast<FuncOp>(function);
    aliases.emplace(func ? func : op->getParentOfType<FuncOp>());
  }
  return *aliases;
}

/// Whether `other` may change what is viewed. An impure call may
/// change any memory that has escaped.
bool ViewChecker::mayUpdate(Operation *other) {
  if (isa<CallTIRInplaceOp, CallInplacePackedOp>(other))
    return llvm::any_of(getUpdatedValues(other), [&](Value updated) {
      return getAliases().mayAlias(updated, viewed);
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
                  mayUpdate(other) && llvm::any_of(users, [&](Operation *user) {
                    return mayRunAfter(user, other);
                  });
    return isSeen ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !updates.wasInterrupted();
}

bool ViewChecker::isTakenOver() {
  if (getAliases().getOutsideSource(viewed, function))
    return false;
  WalkResult uses = function->walk([&](Operation *other) {
    if (other == op || other == function)
      return WalkResult::advance();
    bool isUse = llvm::any_of(other->getOpOperands(), [&](OpOperand &use) {
      return aliases->mayAlias(use.get(), viewed);
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

bool mlir::relax::mayBeViewOf(Operation *op, Value value) {
  ViewChecker checker(op, value);
  return checker.isOnlyRead() || checker.isTakenOver();
}

bool mlir::relax::mayShareMemory(Operation *first, Operation *second) {
  return mayBeViewOf(second, first->getResult(0)) ||
         ViewChecker(first, second->getResult(0)).isOnlyRead();
}
