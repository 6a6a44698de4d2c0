//===- RowReduction.cpp - Reductions that lanes may share -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::relax;

/// The index of a reduced loop, as any integer.
static bool isReducedIndex(Value value, linalg::LinalgOp op) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && op.getIteratorTypesArray()[index.getDim()] ==
                      utils::IteratorType::reduction;
}

/// Whether a comparison is of what is strictly greater or less, or of NaN. One
/// that holds for NaN too counts only where `best` is a number.
static bool isStrict(Operation *op, Value best) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  auto isNumber = [&](Value value) {
    auto compare = value.getDefiningOp<arith::CmpFOp>();
    return compare && compare.getLhs() == best && compare.getRhs() == best &&
           (compare.getPredicate() == F::ORD ||
            compare.getPredicate() == F::OEQ);
  };
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    F predicate = compare.getPredicate();
    if (compare.getLhs() == compare.getRhs())
      return llvm::is_contained({F::UNE, F::OEQ, F::UNO, F::ORD}, predicate);
    if (predicate == F::OGT || predicate == F::OLT)
      return true;
    if (predicate != F::UGT && predicate != F::ULT)
      return false;
    return llvm::all_of(compare->getUsers(), [&](Operation *user) {
      auto both = dyn_cast<arith::AndIOp>(user);
      return both && (isNumber(both.getLhs()) || isNumber(both.getRhs()));
    });
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  return compare && llvm::is_contained({I::sgt, I::slt, I::ugt, I::ult},
                                       compare.getPredicate());
}

/// select(better, next, best) and select(better, index, index of best).
bool RowReduction::matchBest(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 2 || op.getNumReductionLoops() != 1)
    return false;
  auto accumulators = op.getRegionOutputArgs();
  Operation *yield = accumulators[0].getOwner()->getTerminator();
  auto value = yield->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto place = yield->getOperand(1).getDefiningOp<arith::SelectOp>();
  if (!value || !place || value.getCondition() != place.getCondition() ||
      value.getFalseValue() != accumulators[0] ||
      place.getFalseValue() != accumulators[1] ||
      !accumulators[1].hasOneUse() || !isReducedIndex(place.getTrueValue(), op))
    return false;
  condition = value.getCondition();
  next = value.getTrueValue();
  best = accumulators[0];
  // Operations come in the order in which they are computed.
  for (Operation &inner : yield->getBlock()->without_terminator()) {
    bool isFlag = inner.getNumResults() == 1 &&
                  inner.getResult(0).getType().isInteger(1) &&
                  inner.getResult(0) != next;
    if (isFlag)
      comparison.push_back(&inner);
  }
  for (Operation *inner : comparison)
    for (Value operand : inner->getOperands()) {
      bool isKnown = operand == next || operand == best ||
                     llvm::is_contained(comparison, operand.getDefiningOp());
      if (!isKnown ||
          !(isStrict(inner, best) || isa<arith::OrIOp, arith::AndIOp>(inner)))
        return false;
    }
  return llvm::is_contained(comparison, condition.getDefiningOp());
}

std::optional<RowReduction> RowReduction::match(linalg::LinalgOp op) {
  RowReduction reduction;
  reduction.combiner = getCombiner(op);
  if (reduction.combiner || reduction.matchBest(op))
    return reduction;
  return std::nullopt;
}

std::optional<TypedAttr> RowReduction::getNeutral() const {
  if (combiner)
    return combiner->neutral;
  return std::nullopt;
}

Value RowReduction::isBetter(VectorBody &body, Value lhs, Value rhs) const {
  IRMapping values;
  values.map(next, lhs);
  values.map(best, rhs);
  for (Operation *op : comparison)
    values.map(op->getResult(0), body.compute(*op, values));
  return values.lookup(condition);
}

SmallVector<Value> RowReduction::combine(VectorBody &body,
                                         ImplicitLocOpBuilder &b,
                                         ValueRange lhs, ValueRange rhs) const {
  if (combiner) {
    IRMapping values;
    values.map(combiner->op->getOperand(0), lhs[0]);
    values.map(combiner->op->getOperand(1), rhs[0]);
    return {body.compute(*combiner->op, values)};
  }
  // Of two that are as good, the first one.
  Value isSecond = isBetter(body, rhs[0], lhs[0]);
  Value isFirst = isBetter(body, lhs[0], rhs[0]);
  Value isBefore =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rhs[1], lhs[1]);
  Value neither = arith::OrIOp::create(b, isFirst, isSecond);
  Value takesSecond = arith::SelectOp::create(b, neither, isSecond, isBefore);
  return {arith::SelectOp::create(b, takesSecond, rhs[0], lhs[0]),
          arith::SelectOp::create(b, takesSecond, rhs[1], lhs[1])};
}
