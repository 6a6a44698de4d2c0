//===- Trigonometry.cpp - Trigonometric functions, inverse ones -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Angles are reduced to a quadrant and a rest: in doubles, for large angles by
// all bits of 2 / pi, with fewer digits in float32.
//
//===----------------------------------------------------------------------===//

#include "ElementaryFunctions.h"

using namespace mlir;
using namespace mlir::relax;

/// 2 / pi in parts of 29 bits, whose products with a float32 are exact. Behind
/// them is less than any float32 needs: the multiple of pi / 2 that is closest
/// to one of them differs from it by 2^-30.
constexpr double kTwoOverPi[] = {
    0x1.45f306dp-1,   0x1.9391054p-30, 0x1.4fe13abp-59, 0x1.d1f534dp-88,
    0x1.b81b6c5p-117, 0x1.5993c4p-148, 0x1.c820ff2p-175};

/// The rest after the first part, as a double.
constexpr double kTwoOverPiRest = 0x1.9391054a7f09dp-30;

/// (sin(y) - y) / y^3 and (cos(y) - 1 + y^2 / 2) / y^4 by y^2 for |y| <= pi
/// / 4.
constexpr double kSin[] = {-0.1666666716337204, 0.008333329111337662,
                           -0.0001983918045880273, 2.7165831397724105e-06};
constexpr double kCos[] = {0.0416666679084301, -0.0013888885732740164,
                           2.4799843231448904e-05, -2.7230768750996504e-07};

/// A number is pi / 2 * (quadrant + rest), |rest| <= 1/2, or with the rest in
/// radians. Of the quadrant the last two bits count.
struct Angle {
  Value quadrant, rest;
};

/// For |x| below 2^24.
static Angle reduceAngle(MathBuilder &b, Value x) {
  Value product = b.mul(x, b.number64(kTwoOverPi[0]));
  Rounded n = round64(b, product);
  Value rest = b.mulAdd(x, b.number64(kTwoOverPiRest), b.sub(product, n.n));
  return {n.number, rest};
}

/// For all x: of each product only what is left of multiples of 4 counts.
static Angle reduceLargeAngle(MathBuilder &b, Value x) {
  Value rest = b.number64(0), quadrants = b.number64(0);
  for (double part : kTwoOverPi) {
    Value product = b.mul(x, b.number64(part));
    Value n = math::RoundEvenOp::create(b, product);
    Value fours = math::RoundEvenOp::create(b, b.mul(n, b.number64(0.25)));
    rest = b.add(rest, b.sub(product, n));
    quadrants = b.add(quadrants, b.sub(n, b.mul(fours, b.number64(4))));
  }
  Rounded n = round64(b, rest);
  return {b.addI(n.number, round64(b, quadrants).number), b.sub(rest, n.n)};
}

/// In float32, for |x| below 2^15: pi / 2 in three parts, products of the first
/// two of which are exact.
static Angle reduceFast(MathBuilder &b, Value x) {
  Rounded n =
      roundOf(b, b.mulAdd(x, b.number(0x1.45f306p-1), b.number(0x1.8p23)));
  Value y = b.mulAdd(n.n, b.number(-0x1.92p0), x);
  y = b.mulAdd(n.n, b.number(-0x1.fbp-12), y);
  return {n.number, b.mulAdd(n.n, b.number(-0x1.5110b4p-22), y)};
}

/// Both as 32 bits, and the rest in radians.
static Angle toRadians(MathBuilder &b, const Angle &angle) {
  return {arith::TruncIOp::create(b, b.i32(), angle.quadrant),
          b.narrow(b.mul(angle.rest, b.number64(0x1.921fb54442d18p0)))};
}

static Value isOdd(MathBuilder &b, const Angle &angle) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                               b.andI(angle.quadrant, b.integer(1)),
                               b.integer(0));
}

/// In 32 bits and radians. Large numbers are rare, so that they are looked for,
/// not computed always.
static Angle findAngle(MathBuilder &b, Value x) {
  Value bound = b.number(b.fast ? 0x1p15 : 0x1p24);
  Value isLarge = b.any(b.compare(Pred::OGE, b.abs(x), bound));
  auto choice = scf::IfOp::create(b, TypeRange{b.i32(), b.f32()}, isLarge,
                                  /*withElseRegion=*/true);
  auto fill = [&](Block *block, llvm::function_ref<Angle()> reduce) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    Angle angle = reduce();
    scf::YieldOp::create(b, ValueRange{angle.quadrant, angle.rest});
  };
  fill(choice.thenBlock(),
       [&] { return toRadians(b, reduceLargeAngle(b, b.widen(x))); });
  fill(choice.elseBlock(), [&] {
    return b.fast ? reduceFast(b, x) : toRadians(b, reduceAngle(b, b.widen(x)));
  });
  return {choice.getResult(0), choice.getResult(1)};
}

/// The sine of x + quadrants * pi / 2.
static Value buildSine(MathBuilder &b, Value x, int32_t quadrants) {
  Angle angle = findAngle(b, x);
  angle.quadrant = b.addI(angle.quadrant, b.integer(quadrants));
  Value y = angle.rest, square = b.mul(y, y);
  Value sine = b.mulAdd(b.mul(b.polynomial(square, kSin), square), y, y);
  sine = b.withSign(sine, y); // of zeros, too
  Value cosine = b.mulAdd(b.polynomial(square, kCos), b.mul(square, square),
                          b.mulAdd(square, b.number(-0.5), b.number(1)));
  Value result = b.select(isOdd(b, angle), cosine, sine);
  // The second bit of the quadrant is the sign.
  Value sign = b.shiftLeft(b.andI(angle.quadrant, b.integer(2)), b.integer(30));
  return b.fromBits(arith::XOrIOp::create(b, b.bits(result), sign));
}

/// Reducing an angle loses the sign of zero.
static Value unlessZero(MathBuilder &b, Value x, Value result) {
  return b.select(b.compare(Pred::OEQ, x, b.number(0)), x, result);
}

Value mlir::relax::buildSin(MathBuilder &b, Value x) {
  return unlessZero(b, x, buildSine(b, x, 0));
}

Value mlir::relax::buildCos(MathBuilder &b, Value x) {
  return buildSine(b, x, 1);
}

/// (tan(y) - y) / y^3 by y^2 for |y| <= pi / 4.
constexpr double kTan[] = {0.33333349227905273,  0.13332663476467133,
                           0.05405992642045021,  0.021282140165567398,
                           0.010835937224328518, 8.937926031649113e-05,
                           0.0043763513676822186};

/// In odd quadrants, -1 / tan(y).
Value mlir::relax::buildTan(MathBuilder &b, Value x) {
  Angle angle = findAngle(b, x);
  Value y = angle.rest, square = b.mul(y, y);
  Value even = b.mulAdd(b.mul(b.polynomial(square, kTan), square), y, y);
  Value odd = b.div(b.number(-1), even);
  return unlessZero(b, x, b.select(isOdd(b, angle), odd, even));
}

//===----------------------------------------------------------------------===//
// Inverse functions
//===----------------------------------------------------------------------===//

/// Pi / 2 as a float32, and the rest of it.
constexpr double kHalfPi = 0x1.921fb6p0, kHalfPiRest = -0x1.777a5cp-25;

/// (asin(x) - x) / x^3 by x^2 for |x| <= 1/2.
constexpr double kAsin[] = {0.16666752099990845, 0.07495294511318207,
                            0.045470837503671646, 0.024176927283406258,
                            0.04217112809419632};

namespace {
/// asin(y) where |x| is y up to 1/2, and beyond, where y is sqrt((1 - |x|) /
/// 2), so that asin(|x|) is pi / 2 - 2 asin(y).
struct Arcsine {
  Value isLarge, value;
};
} // namespace

static Arcsine reduceAsin(MathBuilder &b, Value magnitude) {
  Value half = b.number(0.5);
  Value isLarge = b.compare(Pred::OGT, magnitude, half);
  // Of what is beyond 1, the root is none.
  Value rest = b.mulAdd(magnitude, b.number(-0.5), half);
  Value square = b.select(isLarge, rest, b.mul(magnitude, magnitude));
  Value y = b.select(isLarge, math::SqrtOp::create(b, rest), magnitude);
  return {isLarge, b.mulAdd(b.mul(b.polynomial(square, kAsin), square), y, y)};
}

Value mlir::relax::buildAsin(MathBuilder &b, Value x) {
  auto [isLarge, y] = reduceAsin(b, b.abs(x));
  Value large = b.add(b.mulAdd(y, b.number(-2), b.number(kHalfPi)),
                      b.number(kHalfPiRest));
  return b.withSign(b.select(isLarge, large, y), x);
}

/// pi / 2 - asin(x), or 2 asin(y), or pi less that.
Value mlir::relax::buildAcos(MathBuilder &b, Value x) {
  auto [isLarge, y] = reduceAsin(b, b.abs(x));
  Value isBelow = b.compare(Pred::OLT, x, b.number(0));
  Value zero = b.number(0), whole = b.number(2 * kHalfPi);
  Value start =
      b.select(isLarge, b.select(isBelow, whole, zero), b.number(kHalfPi));
  Value rest =
      b.select(isLarge, b.select(isBelow, b.number(2 * kHalfPiRest), zero),
               b.number(kHalfPiRest));
  Value angle = b.select(isLarge, b.add(y, y), y);
  // Of a negative x the arcsine is -asin(|x|).
  Value isAdded = arith::XOrIOp::create(b, isLarge, isBelow);
  angle = b.select(isAdded, angle, arith::NegFOp::create(b, angle));
  return b.add(start, b.add(angle, rest));
}

/// (atan(x) / x - 1) / x^2 by x^2 for |x| <= 1.
constexpr double kAtan[] = {
    -0.3333331346511841,   0.19998842477798462,  -0.14266346395015717,
    0.10958582162857056,   -0.08410654217004776, 0.05791354179382324,
    -0.030991289764642715, 0.010748500004410744, -0.0017437011701986194};

/// For x from 0 to 1.
static Value smallAtan(MathBuilder &b, Value x) {
  Value square = b.mul(x, x);
  return b.mulAdd(b.mul(b.polynomial(square, kAtan), square), x, x);
}

/// atan(x) = pi / 2 - atan(1 / x)
Value mlir::relax::buildAtan(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x), one = b.number(1);
  Value isLarge = b.compare(Pred::OGT, magnitude, one);
  Value y = b.select(isLarge, b.div(one, magnitude), magnitude);
  Value small = smallAtan(b, y);
  Value large = b.add(b.sub(b.number(kHalfPi), small), b.number(kHalfPiRest));
  return b.withSign(b.select(isLarge, large, small), x);
}

/// The angle of the shorter side to the longer one, which is at most pi / 4, is
/// added to a multiple of pi / 2, or taken from it.
Value mlir::relax::buildAtan2(MathBuilder &b, Value y, Value x) {
  Value width = b.abs(x), height = b.abs(y), zero = b.number(0);
  Value isSteep = b.compare(Pred::OGT, height, width);
  Value longer = b.select(isSteep, height, width);
  Value shorter = b.select(isSteep, width, height);
  Value ratio = b.div(shorter, longer);
  // 0 / 0 is 0 here, and infinities are equal.
  ratio = b.select(b.compare(Pred::OEQ, longer, zero), zero, ratio);
  ratio = b.select(b.compare(Pred::OEQ, shorter, b.number(kInfinity)),
                   b.number(1), ratio);
  Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                         b.bits(x), b.integer(0));
  auto multiple = [&](double halfPi) {
    Value flat = b.select(isBehind, b.number(2 * halfPi), zero);
    return b.select(isSteep, b.number(halfPi), flat);
  };
  Value angle = smallAtan(b, ratio);
  angle = b.select(arith::XOrIOp::create(b, isSteep, isBehind),
                   arith::NegFOp::create(b, angle), angle);
  angle = b.add(multiple(kHalfPi), b.add(angle, multiple(kHalfPiRest)));
  Value isNone = b.compare(Pred::UNO, x, y);
  return b.select(isNone, b.number(kNaN), b.withSign(angle, y));
}
