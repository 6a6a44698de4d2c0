//===- ExpandMath.cpp - Functions that OpenCL has not -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// OpenCL itself has these functions, but the SPIR-V dialect has no operations
// for them.
//
//===----------------------------------------------------------------------===//

#include "ExpandMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::relax;

static Value makeFloat(ImplicitLocOpBuilder &b, Type type, double value) {
  TypedAttr number = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    number = DenseElementsAttr::get(vector, Attribute(number));
  return arith::ConstantOp::create(b, number);
}

/// 2 to the power of x.
static Value expandExp2(ImplicitLocOpBuilder &b, math::Exp2Op op) {
  Value two = makeFloat(b, op.getType(), 2);
  return math::PowFOp::create(b, two, op.getOperand());
}

static Value expandTrunc(ImplicitLocOpBuilder &b, math::TruncOp op) {
  Value size = math::FloorOp::create(
      b, math::AbsFOp::create(b, op.getOperand()).getResult());
  return math::CopySignOp::create(b, size, op.getOperand());
}

/// log(1 + x): where 1 + x is rounded, the quotient takes the error back.
static Value expandLog1p(ImplicitLocOpBuilder &b, math::Log1pOp op) {
  Value x = op.getOperand(), one = makeFloat(b, op.getType(), 1);
  Value sum = arith::AddFOp::create(b, one, x);
  Value log = math::LogOp::create(b, sum);
  Value change = arith::SubFOp::create(b, sum, one);
  Value precise =
      arith::MulFOp::create(b, log, arith::DivFOp::create(b, x, change));
  auto is = [&](Value value, double number) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value,
                                 makeFloat(b, op.getType(), number));
  };
  Value isLarge = is(x, std::numeric_limits<double>::infinity());
  Value result = arith::SelectOp::create(b, isLarge, x, precise);
  return arith::SelectOp::create(b, is(sum, 1), x, result);
}

/// exp(x) - 1, in the same way.
static Value expandExpM1(ImplicitLocOpBuilder &b, math::ExpM1Op op) {
  Value x = op.getOperand(), one = makeFloat(b, op.getType(), 1);
  Value power = math::ExpOp::create(b, x);
  Value change = arith::SubFOp::create(b, power, one);
  Value precise = arith::MulFOp::create(
      b, change,
      arith::DivFOp::create(b, x, math::LogOp::create(b, power).getResult()));
  auto compare = [&](arith::CmpFPredicate predicate, Value value,
                     double number) {
    return arith::CmpFOp::create(b, predicate, value,
                                 makeFloat(b, op.getType(), number));
  };
  // Far from zero, the quotient is 1 or has no value.
  Value size = math::AbsFOp::create(b, x);
  Value isNear = compare(arith::CmpFPredicate::OLT, size, 1);
  Value isOne = compare(arith::CmpFPredicate::OEQ, power, 1);
  Value result = arith::SelectOp::create(b, isNear, precise, change);
  return arith::SelectOp::create(b, isOne, x, result);
}

namespace {
template <typename Op, Value (*expand)(ImplicitLocOpBuilder &, Op)>
struct ExpandPattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, expand(b, op));
    return success();
  }
};
} // namespace

void mlir::relax::populateExpandMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandPattern<math::Exp2Op, expandExp2>,
               ExpandPattern<math::TruncOp, expandTrunc>,
               ExpandPattern<math::Log1pOp, expandLog1p>,
               ExpandPattern<math::ExpM1Op, expandExpM1>>(
      patterns.getContext());
}
