//===- ScalarBuilder.cpp - Arithmetic of single elements -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No operation here has undefined behaviour for any value of its operands:
// divisors and floats out of range are replaced before they are used.
//
//===----------------------------------------------------------------------===//

#include "Float8.h"

#include "relax-mlir/Conversion/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

/// Whether a scalar or the lanes of a vector are floats.
static bool isFloat(Value x) { return isa<FloatType>(getElementTypeOrSelf(x)); }

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value ScalarBuilder::constant(Type type, double value) {
  if (auto number = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(*this, FloatAttr::get(number, value));
  return arith::ConstantOp::create(
      *this, IntegerAttr::get(type, static_cast<int64_t>(value)));
}

Value ScalarBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value ScalarBuilder::identity(Identity identity, Type type) {
  if (identity == Identity::Zero || identity == Identity::One)
    return constant(type, identity == Identity::One);
  bool lowest = identity == Identity::Lowest;
  if (isa<FloatType>(type))
    return constant(type, lowest ? -INFINITY : INFINITY);
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = isUnsigned() ? (lowest ? APInt::getMinValue(width)
                                       : APInt::getMaxValue(width))
                             : (lowest ? APInt::getSignedMinValue(width)
                                       : APInt::getSignedMaxValue(width));
  return arith::ConstantOp::create(*this, IntegerAttr::get(type, value));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value ScalarBuilder::add(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::AddFOp::create(*this, lhs, rhs);
  return arith::AddIOp::create(*this, lhs, rhs);
}

Value ScalarBuilder::sub(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::SubFOp::create(*this, lhs, rhs);
  return arith::SubIOp::create(*this, lhs, rhs);
}

Value ScalarBuilder::mul(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::MulFOp::create(*this, lhs, rhs);
  return arith::MulIOp::create(*this, lhs, rhs);
}

Value ScalarBuilder::max(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::MaximumFOp::create(*this, lhs, rhs);
  if (isUnsigned())
    return arith::MaxUIOp::create(*this, lhs, rhs);
  return arith::MaxSIOp::create(*this, lhs, rhs);
}

Value ScalarBuilder::min(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::MinimumFOp::create(*this, lhs, rhs);
  if (isUnsigned())
    return arith::MinUIOp::create(*this, lhs, rhs);
  return arith::MinSIOp::create(*this, lhs, rhs);
}

Value ScalarBuilder::neg(Value x) {
  if (isFloat(x))
    return arith::NegFOp::create(*this, x);
  return sub(constant(x, 0), x);
}

Value ScalarBuilder::abs(Value x) {
  if (isFloat(x))
    return math::AbsFOp::create(*this, x);
  return isUnsigned() ? x : Value(math::AbsIOp::create(*this, x));
}

Value ScalarBuilder::sign(Value x) {
  Value zero = constant(x, 0);
  if (!isFloat(x) && isUnsigned())
    return min(x, constant(x, 1));
  Value isNegative = compare(Comparison::Lt, x, zero);
  Value negative = select(isNegative, constant(x, -1), x);
  Value isPositive = compare(Comparison::Gt, x, zero);
  return select(isPositive, constant(x, 1), negative);
}

Value ScalarBuilder::select(Value condition, Value lhs, Value rhs) {
  return arith::SelectOp::create(*this, condition, lhs, rhs);
}

Value ScalarBuilder::compare(Comparison comparison, Value lhs, Value rhs) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  static constexpr I signedInts[] = {I::eq,  I::ne,  I::slt,
                                     I::sle, I::sgt, I::sge};
  static constexpr I unsignedInts[] = {I::eq,  I::ne,  I::ult,
                                       I::ule, I::ugt, I::uge};
  auto index = static_cast<unsigned>(comparison);
  if (isFloat(lhs))
    return arith::CmpFOp::create(*this, floats[index], lhs, rhs);
  return arith::CmpIOp::create(
      *this, isUnsigned() ? unsignedInts[index] : signedInts[index], lhs, rhs);
}

Value ScalarBuilder::sigmoid(Value x) {
  // e^-|x| is never infinite, so that small results keep their digits.
  Value one = constant(x, 1);
  Value power = math::ExpOp::create(*this, neg(abs(x)));
  Value isNegative = compare(Comparison::Lt, x, constant(x, 0));
  Value numerator = select(isNegative, power, one);
  return div(numerator, add(one, power));
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// Whether a divisor is known to be neither 0 nor -1.
static bool isSafeDivisor(Value divisor) {
  std::optional<int64_t> known = getConstantIntValue(divisor);
  return known && *known != 0 && *known != -1;
}

/// The quotient of integers, rounded towards zero. The least integer divided by
/// -1 wraps around.
Value ScalarBuilder::divInts(Value lhs, Value rhs) {
  if (isSafeDivisor(rhs))
    return isUnsigned() ? Value(arith::DivUIOp::create(*this, lhs, rhs))
                        : Value(arith::DivSIOp::create(*this, lhs, rhs));
  Value zero = constant(rhs, 0), one = constant(rhs, 1);
  Value isZero = compare(Comparison::Eq, rhs, zero);
  if (isUnsigned()) {
    Value safe = select(isZero, one, rhs);
    return select(isZero, zero, arith::DivUIOp::create(*this, lhs, safe));
  }
  Value isMinusOne = compare(Comparison::Eq, rhs, constant(rhs, -1));
  Value unsafe = arith::OrIOp::create(*this, isZero, isMinusOne);
  Value quotient = arith::DivSIOp::create(*this, lhs, select(unsafe, one, rhs));
  Value negated = neg(lhs);
  return select(isZero, zero, select(isMinusOne, negated, quotient));
}

/// The remainder with the sign of the dividend; 0 where the divisor is.
Value ScalarBuilder::remInts(Value lhs, Value rhs, Value quotient) {
  if (isSafeDivisor(rhs))
    return isUnsigned() ? Value(arith::RemUIOp::create(*this, lhs, rhs))
                        : Value(arith::RemSIOp::create(*this, lhs, rhs));
  Value product = mul(quotient, rhs);
  Value zero = constant(rhs, 0);
  Value isZero = compare(Comparison::Eq, rhs, zero);
  return select(isZero, zero, sub(lhs, product));
}

/// Whether a quotient rounded towards zero is greater than its floor.
Value ScalarBuilder::floorDiffers(Value rest, Value rhs) {
  Value zero = constant(rest, 0);
  Value isNegative = compare(Comparison::Lt, rest, zero);
  if (isSafeDivisor(rhs) && *getConstantIntValue(rhs) > 0)
    return isNegative;
  Value isBelow = compare(Comparison::Lt, rhs, zero);
  Value differs = arith::XOrIOp::create(*this, isNegative, isBelow);
  Value isRest = compare(Comparison::Ne, rest, zero);
  return arith::AndIOp::create(*this, differs, isRest);
}

Value ScalarBuilder::div(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::DivFOp::create(*this, lhs, rhs);
  return divInts(lhs, rhs);
}

Value ScalarBuilder::divByReciprocal(Value lhs, Value rhs) {
  return arith::DivFOp::create(*this, lhs, rhs, arith::FastMathFlags::arcp);
}

/// As NumPy does it: exact where the quotient of the floats is not. A remainder
/// of 0 has the sign of the divisor, a quotient of 0 that of the division.
ScalarBuilder::DivMod ScalarBuilder::floorDivModFloats(Value lhs, Value rhs) {
  Value zero = constant(lhs, 0), one = constant(lhs, 1);
  Value rest = arith::RemFOp::create(*this, lhs, rhs);
  Value quotient = div(sub(lhs, rest), rhs);
  Value differs = floorDiffers(rest, rhs);
  quotient = select(differs, sub(quotient, one), quotient);
  Value floor = math::FloorOp::create(*this, quotient);
  Value distance = sub(quotient, floor);
  Value isLow = compare(Comparison::Gt, distance, constant(lhs, 0.5));
  floor = select(isLow, add(floor, one), floor);
  Value exact = div(lhs, rhs);
  auto withSignAtZero = [&](Value x, Value sign) {
    Value signedZero = math::CopySignOp::create(*this, zero, sign);
    return select(compare(Comparison::Eq, x, zero), signedZero, x);
  };
  floor = withSignAtZero(floor, exact);
  rest = withSignAtZero(select(differs, add(rest, rhs), rest), rhs);
  Value isDivisorZero = compare(Comparison::Eq, rhs, zero);
  return {select(isDivisorZero, exact, floor), rest};
}

ScalarBuilder::DivMod ScalarBuilder::floorDivMod(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return floorDivModFloats(lhs, rhs);
  Value quotient = divInts(lhs, rhs);
  Value rest = remInts(lhs, rhs, quotient);
  if (isUnsigned())
    return {quotient, rest};
  Value differs = floorDiffers(rest, rhs);
  return {select(differs, sub(quotient, constant(rhs, 1)), quotient),
          select(differs, add(rest, rhs), rest)};
}

Value ScalarBuilder::floorDiv(Value lhs, Value rhs) {
  return floorDivMod(lhs, rhs).quotient;
}

Value ScalarBuilder::mod(Value lhs, Value rhs) {
  return floorDivMod(lhs, rhs).remainder;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value ScalarBuilder::widen(Value x) {
  if (isFloat8(x.getType()))
    return widenFloat8(*this, x);
  if (!isa<FloatType>(x.getType()) || x.getType().getIntOrFloatBitWidth() != 16)
    return x;
  return arith::ExtFOp::create(*this, getF32Type(), x);
}

/// An f64 as f32, rounded to odd: towards zero, and then to the neighbour whose
/// last bit is set where digits are lost. Rounding that to fewer digits is the
/// same as rounding `x`.
static Value roundToOdd(ScalarBuilder &b, Value x) {
  Type bitsType = b.getI32Type();
  auto integer = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value nearest = arith::TruncFOp::create(b, b.getF32Type(), x);
  Value back = arith::ExtFOp::create(b, x.getType(), nearest);
  Value bits = arith::BitcastOp::create(b, bitsType, nearest);
  Value isAway = b.compare(Comparison::Gt, b.abs(back), b.abs(x));
  Value step = arith::ExtUIOp::create(b, bitsType, isAway);
  Value odd =
      arith::OrIOp::create(b, arith::SubIOp::create(b, bits, step), integer(1));
  // Or not comparable: NaN stays NaN.
  Value isExact = arith::CmpFOp::create(b, arith::CmpFPredicate::UEQ, back, x);
  return arith::BitcastOp::create(b, b.getF32Type(),
                                  b.select(isExact, bits, odd));
}

/// Goes through f32 between any other floats and those of 8 or 16 bits.
Value ScalarBuilder::narrow(Value x, Type type) {
  if (!isa<FloatType>(x.getType()) || x.getType() == type)
    return x;
  x = widen(x);
  unsigned width = type.getIntOrFloatBitWidth();
  if (width <= 16 && x.getType().isF64())
    x = roundToOdd(*this, x);
  if (width == 8)
    return narrowToFloat8(*this, x, type);
  unsigned from = x.getType().getIntOrFloatBitWidth();
  if (from == width)
    return x;
  if (from < width)
    return arith::ExtFOp::create(*this, type, x);
  return arith::TruncFOp::create(*this, type, x);
}

/// Only floats in range are converted; the others are replaced by a limit.
/// All integers of the type are floats, too, so that floats are clamped before,
/// by two instructions, which may pass on a signaling NaN.
Value ScalarBuilder::floatToShort(Value x, Type type, bool isUnsigned) {
  int width = type.getIntOrFloatBitWidth();
  double least = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  Value low = constant(x, least);
  Value high = constant(x, std::ldexp(1.0, isUnsigned ? width : width - 1) - 1);
  Value clamped = select(compare(Comparison::Gt, x, low), x, low);
  clamped = select(compare(Comparison::Lt, clamped, high), clamped, high);
  if (least != 0) { // NaN is 0: above it is the least number
    Value isNumber = compare(Comparison::Eq, x, x);
    clamped = select(isNumber, clamped, constant(x, 0));
  }
  Value wide = arith::FPToSIOp::create(*this, getI32Type(), clamped);
  return arith::TruncIOp::create(*this, type, wide);
}

Value ScalarBuilder::floatToInt(Value x, Type to) {
  x = widen(x);
  bool isUnsigned = ScalarBuilder::isUnsigned(to);
  ScalarBuilder ints(*this, getLoc(), to);
  Type type = getKernelElementType(to);
  int width = type.getIntOrFloatBitWidth();
  if (width <= 16)
    return floatToShort(x, type, isUnsigned);
  Value low = constant(x, isUnsigned ? -1.0 : -std::ldexp(1.0, width - 1));
  Value high = constant(x, std::ldexp(1.0, isUnsigned ? width : width - 1));
  Value isLow = compare(Comparison::Le, x, low);
  Value isHigh = compare(Comparison::Ge, x, high);
  Value isAbove = compare(Comparison::Gt, x, low);
  Value isBelow = compare(Comparison::Lt, x, high);
  Value inside = arith::AndIOp::create(*this, isAbove, isBelow);
  Value safe = select(inside, x, constant(x, 0));
  Value result = isUnsigned ? Value(arith::FPToUIOp::create(*this, type, safe))
                            : Value(arith::FPToSIOp::create(*this, type, safe));
  result = select(isHigh, ints.identity(Identity::Highest, type), result);
  return select(isLow, ints.identity(Identity::Lowest, type), result);
}

static Value intToInt(ScalarBuilder &b, Value x, Type from, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  if (width == fromWidth)
    return x;
  if (width < fromWidth)
    return arith::TruncIOp::create(b, type, x);
  if (ScalarBuilder::isUnsigned(from))
    return arith::ExtUIOp::create(b, type, x);
  return arith::ExtSIOp::create(b, type, x);
}

static Value intToFloat(ScalarBuilder &b, Value x, Type from, Type to) {
  // f64 has all integers of 32 bits; what f32 rounds is out of range of f16,
  // and of floats of 8 bits that have a fraction.
  Type type = to;
  bool hasRange = to.isBF16() || isa<Float8E8M0FNUType>(to);
  if (hasRange && from.getIntOrFloatBitWidth() >= 32)
    type = b.getF64Type();
  else if (to.getIntOrFloatBitWidth() <= 16)
    type = b.getF32Type();
  Value result = ScalarBuilder::isUnsigned(from)
                     ? Value(arith::UIToFPOp::create(b, type, x))
                     : Value(arith::SIToFPOp::create(b, type, x));
  return b.narrow(result, to);
}

Value ScalarBuilder::cast(Value x, Type from, Type to) {
  if (from == to)
    return x;
  if (to.isInteger(1)) {
    x = widen(x);
    return compare(Comparison::Ne, x, constant(x, 0));
  }
  if (isa<FloatType>(from))
    return isa<FloatType>(to) ? narrow(x, to) : floatToInt(x, to);
  if (isa<FloatType>(to))
    return intToFloat(*this, x, from, to);
  return intToInt(*this, x, from, getKernelElementType(to));
}
