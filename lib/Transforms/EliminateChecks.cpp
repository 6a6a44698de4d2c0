//===- EliminateChecks.cpp - Remove checks that are proven -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk in program order with the facts that hold there: what is known of
// each value, by its making or by a check before, which values are the
// dimensions of which tensor, and which of them were compared. A region starts
// with the facts of the place where it stands.
//
//===----------------------------------------------------------------------===//

#include "DropChecks.h"

#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXELIMINATECHECKSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
struct Facts {
  /// What checks said of a value.
  DenseMap<Value, SmallVector<Type>> types;
  /// Dimensions that were read.
  DenseMap<std::pair<Value, int64_t>, Value> dims;
  /// Pairs of integers that are equal.
  DenseSet<std::pair<Value, Value>> equal;
};
} // namespace

/// Whether the type of a value follows from what makes it.
static bool isTypeTrusted(Value value) {
  Operation *op = value.getDefiningOp();
  // A function of the module is compiled with the checks that its result needs.
  if (auto call = dyn_cast_or_null<CallOp>(op))
    return call.getCalleeAttr() &&
           isa_and_nonnull<FuncOp>(SymbolTable::lookupNearestSymbolFrom(
               call, call.getCalleeAttr()));
  return isa_and_nonnull<AllocTensorOp, ConstantOp, MakePrimOp, MakeShapeOp,
                         PrimValueOp, ShapeOfOp, TupleOp>(op);
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// The dimension `index` of `value` where it follows from what makes it.
static Value constructedDim(ImplicitLocOpBuilder &builder, Value value,
                            int64_t index) {
  Operation *op = value.getDefiningOp();
  if (index < 0)
    return {};
  auto pick = [&](ValueRange dims) -> Value {
    return index < static_cast<int64_t>(dims.size()) ? dims[index] : Value();
  };
  if (auto alloc = dyn_cast_or_null<AllocTensorOp>(op))
    return pick(alloc.getDims());
  if (auto shape = dyn_cast_or_null<MakeShapeOp>(op))
    return pick(shape.getDims());
  if (auto prim = dyn_cast_or_null<MakePrimOp>(op))
    return prim.getValue();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  if (!constant || index >= constant.getValue().getShapedType().getRank())
    return {};
  int64_t size = constant.getValue().getShapedType().getDimSize(index);
  return arith::ConstantIntOp::create(builder, size, 64);
}

/// Replaces a read by the value that is known.
static void simplify(DimOp op, Facts &facts) {
  Value value = stripCasts(op.getValue());
  if (auto shape = value.getDefiningOp<ShapeOfOp>())
    value = stripCasts(shape.getTensor());
  int64_t index = op.getIndex();
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Value known = constructedDim(builder, value, index);
  if (!known)
    known = facts.dims.lookup({value, index});
  if (!known) {
    facts.dims[{value, index}] = op.getResult();
    return;
  }
  op.getResult().replaceAllUsesWith(known);
  op.erase();
}

static bool areEqual(Value lhs, Value rhs, const Facts &facts) {
  if (lhs == rhs || facts.equal.contains({lhs, rhs}) ||
      facts.equal.contains({rhs, lhs}))
    return true;
  APInt l, r;
  return matchPattern(lhs, m_ConstantInt(&l)) &&
         matchPattern(rhs, m_ConstantInt(&r)) && l == r;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static void simplify(CheckOp op, Facts &facts) {
  if (!isa<StructInfoTypeInterface>(op.getType()))
    return;
  Value value = stripCasts(op.getValue());
  SmallVector<Type> &known = facts.types[value];
  if (known.empty() && isTypeTrusted(value))
    known.push_back(value.getType());
  if (llvm::any_of(known, [&](Type type) {
        return isSubtype(type, op.getType()) == Ternary::Yes;
      }))
    op.erase();
  else
    known.push_back(op.getType());
}

static void simplify(CheckDimOp op, Facts &facts) {
  if (areEqual(op.getActual(), op.getWanted(), facts))
    op.erase();
  else
    facts.equal.insert(std::pair<Value, Value>(op.getActual(), op.getWanted()));
}

static void simplify(Block &block, Facts &facts) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto dim = dyn_cast<DimOp>(op)) {
      simplify(dim, facts);
    } else if (auto check = dyn_cast<CheckOp>(op)) {
      simplify(check, facts);
    } else if (auto check = dyn_cast<CheckDimOp>(op)) {
      simplify(check, facts);
    } else {
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          Facts copy = facts;
          simplify(inner, copy);
        }
    }
  }
}

namespace {
struct RelaxEliminateChecksPass
    : relax::impl::RelaxEliminateChecksPassBase<RelaxEliminateChecksPass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Facts facts;
    simplify(getOperation().getBody().front(), facts);
    eraseDeadDims(getOperation());
  }
};
} // namespace
