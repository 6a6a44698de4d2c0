//===- Conversions.cpp - Patterns for conversions and bounds ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lower and an upper bound, and conversions: to the type that is there, and
// in two steps.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace mlir::relax;

/// Whether each number of one data type is one of another.
static bool isLossless(Type from, Type to) {
  if (from == to)
    return true;
  if (isa<Float8E8M0FNUType>(from) || isa<Float8E8M0FNUType>(to))
    return false; // powers of two without zero
  if (from.isInteger(1))
    return true;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    const llvm::fltSemantics &small = fromFloat.getFloatSemantics(),
                             &large = toFloat.getFloatSemantics();
    unsigned digits = APFloat::semanticsPrecision(small),
             more = APFloat::semanticsPrecision(large);
    // Denormal numbers, too; floats of 8 bits may lack infinity or -0.0.
    return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(to) &&
           digits <= more &&
           APFloat::semanticsMaxExponent(small) <=
               APFloat::semanticsMaxExponent(large) &&
           APFloat::semanticsMinExponent(small) - int(digits) >=
               APFloat::semanticsMinExponent(large) - int(more);
  }
  auto integer = dyn_cast<IntegerType>(from);
  if (!integer)
    return false;
  unsigned digits = integer.getWidth() - (integer.isUnsigned() ? 0 : 1);
  if (toFloat)
    return digits <= toFloat.getFPMantissaWidth() &&
           digits < unsigned(APFloat::semanticsMaxExponent(
                        toFloat.getFloatSemantics()));
  auto wider = dyn_cast<IntegerType>(to);
  if (!wider || (wider.isUnsigned() && !integer.isUnsigned()))
    return false;
  return digits <= wider.getWidth() - (wider.isUnsigned() ? 0 : 1);
}

/// The value of a number that is known.
static std::optional<double> getNumber(Value value) {
  auto prim = value.getDefiningOp<PrimValueOp>();
  if (!prim)
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(prim.getValue()))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(prim.getValue()))
    return APSInt(number.getValue(), number.getType().isUnsignedInteger())
        .roundToDouble(/*isSigned=*/!number.getType().isUnsignedInteger());
  return std::nullopt;
}

/// The one number of a constant, as a bound of a tensor of floats; null where
/// there are several, or the tensor would be broadcast.
static FloatAttr getBound(Value value, Value tensor) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                           : SplatElementsAttr();
  auto type = dyn_cast<TensorStructInfoType>(tensor.getType());
  if (!elements || elements.getNumElements() != 1 || !type || !type.hasRank() ||
      type.getNdim() < elements.getType().getRank() ||
      type.getDtype() != elements.getElementType() ||
      !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(
          elements.getElementType()))
    return {};
  return FloatAttr::get(Float64Type::get(value.getContext()),
                        elements.getSplatValue<APFloat>().convertToDouble());
}

/// min(max(x, low), high) is one operator.
static LogicalResult makeClip(MinimumOp op, PatternRewriter &rewriter) {
  auto inner =
      dyn_cast_or_null<MaximumOp>(producerOf<MaximumOp>(op.getX1(), op));
  if (!inner || !inner->hasOneUse())
    return failure();
  FloatAttr low = getBound(inner.getX2(), inner.getX1());
  FloatAttr high = getBound(op.getX2(), inner.getX1());
  if (!low || !high)
    return failure();
  auto makePrim = [&](FloatAttr number) -> Value {
    return PrimValueOp::create(rewriter, op.getLoc(), number);
  };
  Value bounds[] = {makePrim(low), makePrim(high)};
  rewriter.replaceOpWithNewOp<ClipOp>(op, op->getResultTypes(), inner.getX1(),
                                      bounds[0], bounds[1]);
  rewriter.eraseOp(inner);
  return success();
}

/// A conversion of floats within bounds that the integers have by themselves,
/// since it saturates.
static LogicalResult dropBounds(AstypeOp op, PatternRewriter &rewriter) {
  auto clip = dyn_cast_or_null<ClipOp>(producerOf<ClipOp>(op.getX(), op));
  auto integer = dyn_cast<IntegerType>(op.getDtype());
  if (!clip || !integer || integer.getWidth() > 16 || integer.getWidth() == 1)
    return failure();
  auto type = dyn_cast<TensorStructInfoType>(clip.getX().getType());
  std::optional<double> min = getNumber(clip.getMin()),
                        max = getNumber(clip.getMax());
  if (!type || !isa_and_nonnull<FloatType>(type.getDtype()) || !min || !max)
    return failure();
  unsigned width = integer.getWidth();
  double low = integer.isUnsigned() ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, integer.isUnsigned() ? width : width - 1) - 1;
  if (!(*min <= low && high <= *max))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(clip.getX()); });
  if (clip->use_empty())
    rewriter.eraseOp(clip);
  return success();
}

/// A conversion to the type that is there, or after one without loss. A float
/// in between saturates where integers wrap around.
static LogicalResult joinConversions(AstypeOp op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getX().getType());
  if (!type || !type.getDtype())
    return failure();
  if (type.getDtype() == op.getDtype())
    return forward(op, op.getX(), rewriter);
  auto first = dyn_cast_or_null<AstypeOp>(producerOf<AstypeOp>(op.getX(), op));
  auto source = first ? dyn_cast<TensorStructInfoType>(first.getX().getType())
                      : TensorStructInfoType();
  if (!source || !source.getDtype() ||
      !isLossless(source.getDtype(), first.getDtype()))
    return failure();
  if (source.getDtype() == op.getDtype())
    return forward(op, first.getX(), rewriter);
  bool maySaturate =
      isa<IntegerType>(source.getDtype()) && isa<FloatType>(first.getDtype()) &&
      isa<IntegerType>(op.getDtype()) && !op.getDtype().isInteger(1) &&
      !isLossless(source.getDtype(), op.getDtype());
  if (maySaturate)
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(first.getX()); });
  return success();
}

void mlir::relax::populateConversionPatterns(RewritePatternSet &patterns) {
  patterns.add(makeClip);
  patterns.add(dropBounds);
  patterns.add(joinConversions);
}
