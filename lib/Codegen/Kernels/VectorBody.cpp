//===- VectorBody.cpp - Bodies of linalg operations, vectorized -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isDivisionOfIntegers(Operation &op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
}

static bool isVectorizable(Operation &op) {
  if (isa<linalg::YieldOp, linalg::IndexOp>(op))
    return true;
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (isa<arith::ConstantOp>(op))
    return isScalar(op.getResult(0).getType());
  return OpTrait::hasElementwiseMappableTraits(&op) &&
         op.getNumResults() == 1 && op.getNumRegions() == 0 &&
         isMemoryEffectFree(&op) && isScalar(op.getResult(0).getType()) &&
         llvm::all_of(op.getOperandTypes(), isScalar);
}

bool mlir::relax::isVectorizable(linalg::LinalgOp op) {
  return op->getNumRegions() == 1 && op->getRegion(0).hasOneBlock() &&
         llvm::all_of(op->getRegion(0).front(),
                      [](Operation &inner) { return ::isVectorizable(inner); });
}

/// From what the units of a processor take for a vector, and polynomials for
/// the functions of math.
int64_t mlir::relax::estimateCost(Operation &op) {
  if (isa<arith::ConstantOp, linalg::YieldOp>(op))
    return 0;
  if (isa<math::SqrtOp, arith::DivFOp>(op))
    return 8;
  if (isDivisionOfIntegers(op) || isa<arith::RemFOp>(op))
    return 32;
  if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp, math::CeilOp,
          math::TruncOp, math::CopySignOp, math::RoundEvenOp>(op))
    return 1;
  return isa_and_nonnull<math::MathDialect>(op.getDialect()) ? 20 : 1;
}

int64_t mlir::relax::estimateCost(linalg::LinalgOp op) {
  int64_t cost = 0;
  for (Operation &inner : op->getRegion(0).front())
    cost += estimateCost(inner);
  return cost;
}

Value VectorBody::broadcast(Value value) {
  if (isVector(value))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  return vector::BroadcastOp::create(builder, type, value);
}

bool VectorBody::isShared(Value value) const {
  return !isVector(value) || llvm::is_contained(rowValues, value);
}

static bool allowsReciprocal(Operation &op) {
  auto division = dyn_cast<arith::DivFOp>(op);
  return division && arith::bitEnumContainsAll(division.getFastmath(),
                                               arith::FastMathFlags::arcp);
}

/// A scale keeps the reciprocal of a very small or large number in range.
Value VectorBody::divideBy(Value vector, Value divisor) {
  Type type = getElementTypeOrSelf(divisor);
  auto number = [&](int exponent) -> Value {
    TypedAttr value = FloatAttr::get(type, std::ldexp(1.0, exponent));
    if (auto shape = dyn_cast<VectorType>(divisor.getType()))
      value = DenseElementsAttr::get(shape, value);
    return arith::ConstantOp::create(builder, value);
  };
  int limit = type.isF64() ? 1000 : 100, shift = type.isF64() ? 128 : 64;
  using P = arith::CmpFPredicate;
  Value magnitude = math::AbsFOp::create(builder, divisor);
  Value isSmall =
      arith::CmpFOp::create(builder, P::OLT, magnitude, number(-limit));
  Value isLarge =
      arith::CmpFOp::create(builder, P::OGT, magnitude, number(limit));
  Value scale =
      arith::SelectOp::create(builder, isLarge, number(-shift), number(0));
  scale = arith::SelectOp::create(builder, isSmall, number(shift), scale);
  Value scaled = arith::MulFOp::create(builder, divisor, scale);
  Value reciprocal = arith::DivFOp::create(builder, number(0), scaled);
  Value result = arith::MulFOp::create(builder, vector, broadcast(reciprocal));
  return arith::MulFOp::create(builder, result, broadcast(scale));
}

Value VectorBody::compute(Operation &op, const IRMapping &values) {
  SmallVector<Value> operands =
      llvm::map_to_vector(op.getOperands(), [&](Value operand) {
        return values.lookupOrDefault(operand);
      });
  bool hasVector = llvm::any_of(operands, isVector);
  bool areShared =
      llvm::all_of(operands, [&](Value operand) { return isShared(operand); });
  Type type = op.getResult(0).getType();
  if (allowsReciprocal(op) && useReciprocals && !areShared &&
      isVector(operands[0]) && isShared(operands[1]) &&
      (type.isF32() || type.isF64()))
    return divideBy(operands[0], operands[1]);
  if (hasVector)
    for (Value &operand : operands)
      operand = broadcast(operand);
  if (hasVector && mask && isDivisionOfIntegers(op)) {
    auto type = cast<VectorType>(operands[1].getType());
    Value one = arith::ConstantOp::create(
        builder, DenseElementsAttr::get(
                     type, builder.getIntegerAttr(type.getElementType(), 1)));
    operands[1] = arith::SelectOp::create(builder, mask, operands[1], one);
  }
  IRMapping mapping;
  mapping.map(op.getOperands(), operands);
  Operation *result = builder.clone(op, mapping);
  if (hasVector)
    result->getResult(0).setType(VectorType::get({lanes}, type));
  if (hasVector && areShared)
    rowValues.push_back(result->getResult(0));
  return result->getResult(0);
}

SmallVector<Value> VectorBody::compute(linalg::LinalgOp op,
                                       ValueRange arguments,
                                       const IRMapping &scalars,
                                       IndexOf indexOf) {
  IRMapping values = scalars;
  Block &body = op->getRegion(0).front();
  values.map(body.getArguments(), arguments);
  for (Operation &inner : body.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      values.map(index.getResult(), indexOf(index.getDim()));
    else
      values.map(inner.getResult(0), compute(inner, values));
  }
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return values.lookupOrDefault(value); });
}
