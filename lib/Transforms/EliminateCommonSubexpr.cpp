//===- EliminateCommonSubexpr.cpp - Compute expressions once -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk in program order with a table of expressions, in scopes as blocks
// nest. Upstream's `--cse` leaves operators alone, as each result is memory of
// its own.
//
// - An expression counts until something is updated in place, or an impure call
//   may update it.
// - Operations with regions, and those on memory and closures, are no
//   expressions.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Alias.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXELIMINATECOMMONSUBEXPRPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {
/// Operations are equal but for their places and names.
struct SameExpression : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *lhs, const Operation *rhs) {
    if (lhs == rhs)
      return true;
    if (lhs == getEmptyKey() || lhs == getTombstoneKey() ||
        rhs == getEmptyKey() || rhs == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(lhs), const_cast<Operation *>(rhs),
        OperationEquivalence::IgnoreLocations);
  }
};

/// Expressions of one block, with how many updates there were before each.
using Table = llvm::DenseMap<Operation *, unsigned, SameExpression>;
} // namespace

/// Values that are written where they are used, and no calls.
static bool isLeaf(Operation *op) {
  return isa<ConstantOp, PrimValueOp, StringOp, DTypeOp, ShapeOp, NullValueOp,
             ExternFuncOp>(op);
}

/// Bindings of values that are there already.
static bool isAlias(Operation *op) {
  return isa<TupleOp, GetItemOp, MatchCastOp, ADTMakeOp, ADTGetOp>(op);
}

/// Whether equal operations of this kind give equal values, with no effect.
static bool isExpression(Operation *op, bool callOnly) {
  StringRef name = op->getName().stripDialect();
  if (!isa_and_nonnull<RelaxDialect>(op->getDialect()) ||
      op->getNumRegions() != 0 || op->getNumResults() != 1 ||
      op->hasTrait<OpTrait::IsTerminator>() || mayUpdateTensors(op) ||
      (callOnly && isAlias(op)))
    return false;
  return !name.starts_with("builtin.") && !name.starts_with("memory.") &&
         !name.starts_with("vm.") && !isa<MakeClosureOp>(op);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

namespace {
class Eliminator {
public:
  explicit Eliminator(bool callOnly) : callOnly(callOnly) {}
  void visitBlock(Block &block);

private:
  void visitOp(Operation *op);
  Operation *findEqual(Operation *op);

  bool callOnly;
  SmallVector<Table> tables; // from the function to the block
  unsigned updates = 0;
};
} // namespace

/// An operation before with the same value; null where there is none.
Operation *Eliminator::findEqual(Operation *op) {
  for (Table &table : llvm::reverse(tables))
    if (auto found = table.find(op);
        found != table.end() && found->second == updates)
      return found->first;
  return nullptr;
}

void Eliminator::visitOp(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      visitBlock(block);
  if (op->getNumRegions() == 0 && mayUpdateTensors(op))
    ++updates;
  if (!isExpression(op, callOnly))
    return;
  Operation *known = findEqual(op);
  if (!known) {
    tables.back().erase(op); // one that is equal, but for an update since
    tables.back().try_emplace(op, updates);
    return;
  }
  if (!isLeaf(op) && !isAlias(op) && !mayShareMemory(known, op))
    return;
  op->getResult(0).replaceAllUsesWith(known->getResult(0));
  op->erase();
}

void Eliminator::visitBlock(Block &block) {
  tables.emplace_back();
  for (Operation &op : llvm::make_early_inc_range(block))
    visitOp(&op);
  tables.pop_back();
}

namespace {
struct RelaxEliminateCommonSubexprPass
    : relax::impl::RelaxEliminateCommonSubexprPassBase<
          RelaxEliminateCommonSubexprPass> {
  using RelaxEliminateCommonSubexprPassBase::
      RelaxEliminateCommonSubexprPassBase;

  void runOnOperation() override {
    if (!getOperation().isExternal())
      Eliminator(callOnly).visitBlock(getOperation().getBody().front());
  }
};
} // namespace
