//===- Arithmetic.cpp - Patterns for arithmetic -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic with neutral elements, pairs of inverse operators, operators that
// change nothing the second time, and choices by known conditions.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
enum class Number { None, Zero, NegativeZero, One, AllOnes };
} // namespace

/// Whether all elements of a constant are one number. Zero has no sign of its
/// own where the data type has none.
static bool isConstant(Value value, Number number) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                           : SplatElementsAttr();
  if (!elements || number == Number::None)
    return false;
  if (isa<FloatType>(elements.getElementType())) {
    APFloat found = elements.getSplatValue<APFloat>();
    if (number == Number::One)
      return found.isExactlyValue(1.0);
    return found.isZero() &&
           found.isNegative() == (number == Number::NegativeZero) &&
           number != Number::AllOnes;
  }
  if (!elements.getElementType().isIntOrIndex())
    return false;
  APInt found = elements.getSplatValue<APInt>();
  if (number == Number::AllOnes)
    return found.isAllOnes();
  return number == Number::One ? found.isOne() : found.isZero();
}

/// The number that an operator may have on its right side without effect, and
/// whether it may be on the left, too.
static std::pair<Number, bool> neutralElement(Operation *op) {
  bool isFloat = false;
  if (auto type = dyn_cast<TensorStructInfoType>(op->getResult(0).getType()))
    isFloat = isa_and_nonnull<FloatType>(type.getDtype());
  return llvm::TypeSwitch<Operation *, std::pair<Number, bool>>(op)
      .Case([](AddOp) { return std::pair(Number::NegativeZero, true); })
      .Case<BitwiseOrOp, BitwiseXorOp, LogicalOrOp, LogicalXorOp>(
          [](Operation *) { return std::pair(Number::Zero, true); })
      .Case<SubtractOp, LeftShiftOp, RightShiftOp>(
          [](Operation *) { return std::pair(Number::Zero, false); })
      .Case([](MultiplyOp) { return std::pair(Number::One, true); })
      .Case<DivideOp, PowerOp>(
          [](Operation *) { return std::pair(Number::One, false); })
      .Case([&](FloorDivideOp) {
        return std::pair(isFloat ? Number::None : Number::One, false);
      })
      .Case<BitwiseAndOp, LogicalAndOp>(
          [](Operation *) { return std::pair(Number::AllOnes, true); })
      .Default([](Operation *) { return std::pair(Number::None, false); });
}

template <typename OpTy>
static LogicalResult dropNeutralElement(OpTy op, PatternRewriter &rewriter) {
  auto [number, isCommutative] = neutralElement(op);
  if (isConstant(op.getX2(), number))
    return forward(op, op.getX1(), rewriter);
  if (isCommutative && isConstant(op.getX1(), number))
    return forward(op, op.getX2(), rewriter);
  return failure();
}

/// f(f(x)) is x.
template <typename OpTy>
static LogicalResult dropInversePair(OpTy op, PatternRewriter &rewriter) {
  Operation *first = producerOf<OpTy>(op.getX(), op);
  return first ? forward(op, first->getOperand(0), rewriter) : failure();
}

/// f(g(x)) is g(x), where g has results that f leaves as they are.
template <typename OpTy, typename... ProducerTys>
static LogicalResult dropSecond(OpTy op, PatternRewriter &rewriter) {
  bool isSecond = producerOf<ProducerTys...>(op.getX(), op);
  return isSecond ? forward(op, op.getX(), rewriter) : failure();
}

/// |-x| is |x|.
static LogicalResult dropSign(AbsOp op, PatternRewriter &rewriter) {
  Operation *first = producerOf<NegativeOp>(op.getX(), op);
  if (!first)
    return failure();
  rewriter.modifyOpInPlace(
      op, [&] { op.getXMutable().assign(first->getOperand(0)); });
  return success();
}

static LogicalResult chooseKnownBranch(WhereOp op, PatternRewriter &rewriter) {
  if (op.getX1() == op.getX2() || isConstant(op.getCondition(), Number::One))
    return forward(op, op.getX1(), rewriter);
  if (isConstant(op.getCondition(), Number::Zero))
    return forward(op, op.getX2(), rewriter);
  return failure();
}

/// A branch whose condition is known becomes a sequence, which keeps its scope.
static LogicalResult takeKnownBranch(IfOp op, PatternRewriter &rewriter) {
  bool isTrue = isConstant(op.getCond(), Number::One);
  bool isFalse = isConstant(op.getCond(), Number::Zero);
  if (auto prim = op.getCond().getDefiningOp<PrimValueOp>())
    if (auto flag = dyn_cast<BoolAttr>(prim.getValue()))
      (flag.getValue() ? isTrue : isFalse) = true;
  if (!isTrue && !isFalse)
    return failure();
  auto seq = SeqOp::create(rewriter, op.getLoc(), op.getType());
  Region &taken = isTrue ? op.getThenRegion() : op.getElseRegion();
  rewriter.inlineRegionBefore(taken, seq.getBody(), seq.getBody().end());
  rewriter.replaceOp(op, seq.getResult());
  return success();
}

template <typename... OpTys>
static void addNeutralElements(RewritePatternSet &patterns) {
  (patterns.add(dropNeutralElement<OpTys>), ...);
}

template <typename... OpTys>
static void addInversePairs(RewritePatternSet &patterns) {
  (patterns.add(dropInversePair<OpTys>), ...);
}

/// Each of these gives integers, or the infinities and NaN that it is given.
template <typename... OpTys>
static void addRoundings(RewritePatternSet &patterns) {
  (patterns.add(dropSecond<OpTys, OpTys...>), ...);
}

void mlir::relax::populateArithmeticPatterns(RewritePatternSet &patterns) {
  addNeutralElements<AddOp, SubtractOp, MultiplyOp, DivideOp, FloorDivideOp,
                     PowerOp, LeftShiftOp, RightShiftOp, BitwiseAndOp,
                     BitwiseOrOp, BitwiseXorOp, LogicalAndOp, LogicalOrOp,
                     LogicalXorOp>(patterns);
  addInversePairs<NegativeOp, BitwiseNotOp, LogicalNotOp>(patterns);
  addRoundings<CeilOp, FloorOp, RoundOp, TruncOp>(patterns);
  patterns.add(dropSecond<AbsOp, AbsOp>);
  patterns.add(dropSecond<ReluOp, ReluOp>);
  patterns.add(dropSecond<SignOp, SignOp>);
  patterns.add(dropSign);
  patterns.add(chooseKnownBranch);
}

void mlir::relax::populateBranchPatterns(RewritePatternSet &patterns) {
  patterns.add(takeKnownBranch);
}
