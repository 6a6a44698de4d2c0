//===- Trigonometry.cpp - Sine, cosine and arctangent -----------*- C++ -*-===//
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

/// The sine of x + quadrants * pi / 2. Large numbers are rare, so that they are
/// looked for, not computed always.
static Value buildSine(MathBuilder &b, Value x, int32_t quadrants) {
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

  Value y = choice.getResult(1);
  Value square = b.mul(y, y);
  Value sine = b.mulAdd(b.mul(b.polynomial(square, kSin), square), y, y);
  sine = b.withSign(sine, y); // of zeros, too
  Value cosine = b.mulAdd(b.polynomial(square, kCos), b.mul(square, square),
                          b.mulAdd(square, b.number(-0.5), b.number(1)));
  Value quadrant = b.addI(choice.getResult(0), b.integer(quadrants));
  Value isOdd =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                            b.andI(quadrant, b.integer(1)), b.integer(0));
  Value result = b.select(isOdd, cosine, sine);
  // The second bit of the quadrant is the sign.
  Value sign = b.shiftLeft(b.andI(quadrant, b.integer(2)), b.integer(30));
  return b.fromBits(arith::XOrIOp::create(b, b.bits(result), sign));
}

/// Reducing an angle loses the sign of zero.
Value mlir::relax::buildSin(MathBuilder &b, Value x) {
  Value isZero = b.compare(Pred::OEQ, x, b.number(0));
  return b.select(isZero, x, buildSine(b, x, 0));
}

Value mlir::relax::buildCos(MathBuilder &b, Value x) {
  return buildSine(b, x, 1);
}

/// (atan(x) / x - 1) / x^2 by x^2 for |x| <= 1.
constexpr double kAtan[] = {
    -0.3333331346511841,   0.19998842477798462,  -0.14266346395015717,
    0.10958582162857056,   -0.08410654217004776, 0.05791354179382324,
    -0.030991289764642715, 0.010748500004410744, -0.0017437011701986194};

/// atan(x) = pi / 2 - atan(1 / x)
Value mlir::relax::buildAtan(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x), one = b.number(1);
  Value isLarge = b.compare(Pred::OGT, magnitude, one);
  Value y = b.select(isLarge, b.div(one, magnitude), magnitude);
  Value square = b.mul(y, y);
  Value small = b.mulAdd(b.mul(b.polynomial(square, kAtan), square), y, y);
  // Pi / 2 as a float32, and the rest of it.
  Value large =
      b.add(b.sub(b.number(0x1.921fb6p0), small), b.number(-0x1.777a5cp-25));
  return b.withSign(b.select(isLarge, large, small), x);
}
