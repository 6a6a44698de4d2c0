//===- FoldConversions.cpp - Fewer conversions in fused kernels -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a quantization and the dequantization of its result become one kernel,
// an element is made an integer and a float again. The float has been rounded
// and clamped to the range of the integer before, so it is the same one.
//
// Where a float is rounded to 16 bits, and then clamped and rounded again, it
// is rounded once: the maximum of rounded numbers is the rounded maximum.
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

namespace {
/// What a float is at least and at most; it is a number.
struct Bounds {
  double low, high;
};
} // namespace

/// A number that is a constant, but not the negative zero.
static std::optional<double> getConstant(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)) || !number.isFinite() ||
      number.isNegZero())
    return std::nullopt;
  bool losesDigits = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesDigits);
  return number.convertToDouble();
}

/// Whether a float is an integer, if it is finite.
static bool isIntegral(Value value) {
  if (std::optional<double> number = getConstant(value))
    return std::trunc(*number) == *number;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<math::RoundEvenOp, math::RoundOp, math::TruncOp,
                      math::FloorOp, math::CeilOp>(op))
    return true;
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return llvm::all_of(op->getOperands(), isIntegral);
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  return select && isIntegral(select.getTrueValue()) &&
         isIntegral(select.getFalseValue());
}

static std::optional<Bounds> getBounds(Value value);

/// The bounds of `x > c ? x : c` and `x < c ? x : c`, where a number takes the
/// place of NaN.
static std::optional<Bounds> getClampedBounds(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  std::optional<double> limit = getConstant(select.getFalseValue());
  if (!compare || !limit || compare.getLhs() != select.getTrueValue() ||
      compare.getRhs() != select.getFalseValue())
    return std::nullopt;
  Bounds bounds =
      getBounds(select.getTrueValue()).value_or(Bounds{-INFINITY, INFINITY});
  if (compare.getPredicate() == arith::CmpFPredicate::OGT)
    return Bounds{std::max(bounds.low, *limit), std::max(bounds.high, *limit)};
  if (compare.getPredicate() == arith::CmpFPredicate::OLT)
    return Bounds{std::min(bounds.low, *limit), std::min(bounds.high, *limit)};
  return std::nullopt;
}

static std::optional<Bounds> getBounds(Value value) {
  if (std::optional<double> number = getConstant(value))
    return Bounds{*number, *number};
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select)
    return std::nullopt;
  if (std::optional<Bounds> clamped = getClampedBounds(select))
    return clamped;
  std::optional<Bounds> lhs = getBounds(select.getTrueValue());
  std::optional<Bounds> rhs = getBounds(select.getFalseValue());
  if (!lhs || !rhs)
    return std::nullopt;
  return Bounds{std::min(lhs->low, rhs->low), std::max(lhs->high, rhs->high)};
}

/// The bounds of a float that is an integer of the type, and that an operation
/// makes of it again; nothing where it may be another one.
static std::optional<Bounds> getIntegerBounds(Value number, Type type,
                                              bool isUnsigned) {
  std::optional<Bounds> bounds = getBounds(number);
  int width = type.getIntOrFloatBitWidth();
  double least = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double most = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  bool isInside = bounds && bounds->low >= least && bounds->high <= most;
  return isInside && isIntegral(number) ? bounds : std::nullopt;
}

static void foldConversion(Operation *op) {
  auto narrow = op->getOperand(0).getDefiningOp<arith::TruncIOp>();
  auto convert =
      narrow ? narrow.getIn().getDefiningOp<arith::FPToSIOp>() : nullptr;
  Value result = op->getResult(0);
  if (!convert || convert.getIn().getType() != result.getType())
    return;
  Value number = convert.getIn();
  std::optional<Bounds> bounds =
      getIntegerBounds(number, narrow.getType(), isa<arith::UIToFPOp>(op));
  if (!bounds)
    return;
  if (bounds->low < 0) {
    // An integer has no negative zero.
    OpBuilder builder(op);
    Value zero = arith::ConstantOp::create(
        builder, op->getLoc(), builder.getFloatAttr(result.getType(), 0.0));
    number = arith::AddFOp::create(builder, op->getLoc(), number, zero);
  }
  result.replaceAllUsesWith(number);
}

/// Whether a value is one that `type` has, up to roundings to `type`, which are
/// added to `rounded`: it is a maximum or minimum of such values.
static bool isExtremum(OpOperand &use, FloatType type,
                       SmallVectorImpl<OpOperand *> &rounded) {
  Value value = use.get();
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number))) {
    bool losesDigits = false;
    APFloat::opStatus status = number.convert(
        type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesDigits);
    return status == APFloat::opOK && !losesDigits && !number.isNaN();
  }
  if (auto extend = value.getDefiningOp<arith::ExtFOp>()) {
    if (extend.getIn().getType() != type)
      return false;
    auto round = extend.getIn().getDefiningOp<arith::TruncFOp>();
    if (round && round.getIn().getType() == value.getType())
      rounded.push_back(&use);
    return true;
  }
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp>(op) &&
         op->hasOneUse() && llvm::all_of(op->getOpOperands(), [&](auto &use) {
           return isExtremum(use, type, rounded);
         });
}

/// Leaves out the roundings before the last one.
static void foldRoundings(arith::TruncFOp last) {
  SmallVector<OpOperand *> rounded;
  auto type = dyn_cast<FloatType>(last.getType());
  if (!type || !isExtremum(last.getInMutable(), type, rounded))
    return;
  for (OpOperand *use : rounded) {
    auto extend = use->get().getDefiningOp<arith::ExtFOp>();
    use->set(extend.getIn().getDefiningOp<arith::TruncFOp>().getIn());
  }
}

void mlir::relax::foldConversions(func::FuncOp kernel) {
  kernel.walk([](Operation *op) {
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
      foldConversion(op);
    else if (auto round = dyn_cast<arith::TruncFOp>(op))
      foldRoundings(round);
  });
}
