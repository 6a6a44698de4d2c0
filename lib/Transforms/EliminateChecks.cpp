//===- EliminateChecks.cpp - Remove checks that are proven -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk in program order with the facts that hold there: what is known of
// each value, by its definition or by a check before, which values are the
// dimensions of which tensor, and what was compared. A region starts with the
// facts that hold at its operation.
//
// Integers are expressions over those that are read, so that facts about shape
// variables prove checks: declared bounds, dimensions that are not negative,
// and all that was checked before.
//
//===----------------------------------------------------------------------===//

#include "DropChecks.h"

#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXELIMINATECHECKSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
struct Facts {
  /// The types that checks have established for a value.
  DenseMap<Value, SmallVector<Type>> types;
  /// Dimensions that were read.
  DenseMap<std::pair<Value, int64_t>, Value> dims;
  /// Known facts about integers, as expressions.
  PrimExprFacts integers;
  /// Variables that are equal to expressions without them. No value of the map
  /// has a variable of it.
  PrimExprMap equal;
};

class CheckEliminator {
public:
  explicit CheckEliminator(MLIRContext *context) : context(context) {}
  void visit(Block &block, Facts &facts);

private:
  void visitOp(Operation &op, Facts &facts);
  void visit(DimOp op, Facts &facts);
  void visit(CheckOp op, Facts &facts);
  void visit(CheckDimOp op, Facts &facts);
  void visit(CheckBoundsOp op, Facts &facts);
  void visit(CheckDivisorOp op, Facts &facts);
  void visit(CheckNotNegativeOp op, Facts &facts);

  /// An integer over those that are not computed from others.
  PrimExprAttr exprOf(Value value);
  PrimExprAttr exprOf(Value value, const Facts &facts);
  PrimExprAttr newVar();
  /// Null where the operation is no arithmetic of expressions.
  PrimExprAttr compute(Operation &op);

  MLIRContext *context;
  /// Of all integers before the place; those of the whole function, as a value
  /// is the same wherever it is in scope.
  DenseMap<Value, PrimExprAttr> exprs;
  unsigned numVars = 0;
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
  return isa_and_nonnull<AllocTensorOp, ConstantOp, LoadConstantOp, MakePrimOp,
                         MakeShapeOp, PrimValueOp, ShapeOfOp, TupleOp, ViewOp>(
      op);
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
  if (auto view = dyn_cast_or_null<ViewOp>(op))
    return pick(view.getDims());
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
void CheckEliminator::visit(DimOp op, Facts &facts) {
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
    if (isa<TensorStructInfoType>(op.getValue().getType()))
      facts.integers.addDimension(exprOf(op.getResult()));
    return;
  }
  op.getResult().replaceAllUsesWith(known);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

PrimExprAttr CheckEliminator::newVar() {
  return PrimExprAttr::getVar(context, "v" + std::to_string(numVars++));
}

PrimExprAttr CheckEliminator::exprOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getSignificantBits() <= 64)
    return PrimExprAttr::getInt(context, constant.getSExtValue());
  PrimExprAttr &expr = exprs[value];
  if (!expr)
    expr = newVar();
  return expr;
}

/// The same, in terms of what it is equal to.
PrimExprAttr CheckEliminator::exprOf(Value value, const Facts &facts) {
  PrimExprAttr expr = exprOf(value);
  PrimExprAttr result = substitute(expr, facts.equal);
  return result ? result : expr;
}

PrimExprAttr CheckEliminator::compute(Operation &op) {
  if (op.getNumOperands() != 2 || op.getNumResults() != 1 ||
      !op.getResult(0).getType().isInteger(64))
    return {};
  PrimExprAttr lhs = exprOf(op.getOperand(0)), rhs = exprOf(op.getOperand(1));
  PrimExprAttr result;
  if (isa<arith::AddIOp>(op))
    result = PrimExprAttr::getAdd(lhs, rhs);
  else if (isa<arith::SubIOp>(op))
    result = PrimExprAttr::getSub(lhs, rhs);
  else if (isa<arith::MulIOp>(op))
    result = PrimExprAttr::getMul(lhs, rhs);
  else if (isa<arith::FloorDivSIOp>(op))
    result = PrimExprAttr::getFloorDiv(lhs, rhs);
  else if (isa<arith::MinSIOp>(op))
    result = PrimExprAttr::getCall(PrimExprKind::Min, {lhs, rhs});
  else if (isa<arith::MaxSIOp>(op))
    result = PrimExprAttr::getCall(PrimExprKind::Max, {lhs, rhs});
  return result && !result.isTooLarge() ? result : PrimExprAttr();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

void CheckEliminator::visit(CheckOp op, Facts &facts) {
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

/// Notes that a variable is equal to an expression, so that whatever has it is
/// compared by normal form. Returns false where the expression has it too.
static bool addSubstitution(PrimExprAttr var, PrimExprAttr expr, Facts &facts) {
  if (!var.isVar() ||
      findUnbound(expr, [&](StringRef name) { return name != var.getName(); }))
    return false;
  PrimExprMap step;
  step[var.getName()] = expr;
  SmallVector<std::pair<StringRef, PrimExprAttr>> changed;
  for (auto &entry : facts.equal) {
    PrimExprAttr value = substitute(entry.second, step);
    if (!value)
      return false;
    changed.push_back({entry.first(), value});
  }
  for (auto [name, value] : changed)
    facts.equal[name] = value;
  facts.equal[var.getName()] = expr;
  // Facts about the variable hold for the expression.
  PrimExprRange range = facts.integers.getBounds(var.getName());
  MLIRContext *context = var.getContext();
  if (range.lower)
    facts.integers.addLessEqual(PrimExprAttr::getInt(context, *range.lower),
                                expr);
  if (range.upper)
    facts.integers.addLessEqual(expr,
                                PrimExprAttr::getInt(context, *range.upper));
  if (!facts.integers.getRelevant(var).empty())
    facts.integers.addEqual(var, expr);
  return true;
}

void CheckEliminator::visit(CheckDimOp op, Facts &facts) {
  PrimExprAttr actual = exprOf(op.getActual(), facts);
  PrimExprAttr wanted = exprOf(op.getWanted(), facts);
  if (proveEqual(actual, wanted, facts.integers) == Ternary::Yes)
    op.erase();
  else if (!addSubstitution(actual, wanted, facts) &&
           !addSubstitution(wanted, actual, facts))
    facts.integers.addEqual(actual, wanted);
}

void CheckEliminator::visit(CheckBoundsOp op, Facts &facts) {
  PrimExprAttr value = exprOf(op.getValue(), facts);
  bool isProven = true;
  auto visitBound = [&](std::optional<int64_t> end, bool isLower) {
    if (!end)
      return;
    PrimExprAttr bound = PrimExprAttr::getInt(context, *end);
    PrimExprAttr lhs = isLower ? bound : value, rhs = isLower ? value : bound;
    isProven &= proveLessEqual(lhs, rhs, facts.integers) == Ternary::Yes;
    facts.integers.addLessEqual(lhs, rhs);
  };
  visitBound(op.getLower(), /*isLower=*/true);
  visitBound(op.getUpper(), /*isLower=*/false);
  if (isProven)
    op.erase();
}

void CheckEliminator::visit(CheckDivisorOp op, Facts &facts) {
  if (proveEqual(exprOf(op.getDivisor(), facts),
                 PrimExprAttr::getInt(context, 0),
                 facts.integers) == Ternary::No)
    op.erase();
}

void CheckEliminator::visit(CheckNotNegativeOp op, Facts &facts) {
  PrimExprAttr value = exprOf(op.getValue(), facts);
  if (proveNonNegative(value, facts.integers) == Ternary::Yes)
    op.erase();
  else
    facts.integers.addDimension(value);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void CheckEliminator::visitOp(Operation &op, Facts &facts) {
  if (isa_and_nonnull<arith::ArithDialect>(op.getDialect())) {
    if (PrimExprAttr expr = compute(op))
      exprs[op.getResult(0)] = expr;
    return;
  }
  if (auto alloc = dyn_cast<AllocTensorOp>(op))
    for (Value dim : alloc.getDims())
      facts.integers.addDimension(exprOf(dim, facts));
  for (Region &region : op.getRegions())
    for (Block &inner : region) {
      Facts copy = facts;
      visit(inner, copy);
    }
}

void CheckEliminator::visit(Block &block, Facts &facts) {
  for (Operation &op : llvm::make_early_inc_range(block))
    llvm::TypeSwitch<Operation &>(op)
        .Case<DimOp, CheckOp, CheckDimOp, CheckBoundsOp, CheckDivisorOp,
              CheckNotNegativeOp>([&](auto op) { visit(op, facts); })
        .Default([&](Operation &op) { visitOp(op, facts); });
}

namespace {
struct RelaxEliminateChecksPass
    : relax::impl::RelaxEliminateChecksPassBase<RelaxEliminateChecksPass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Facts facts;
    CheckEliminator(&getContext())
        .visit(getOperation().getBody().front(), facts);
    eraseDeadDims(getOperation());
  }
};
} // namespace
