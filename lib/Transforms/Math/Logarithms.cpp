//===- Logarithms.cpp - Logarithms of each base -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exponent of a float and the logarithm of its mantissa, to the base of
// each function. Also e^x - 1 and log(1 + x) of doubles by their exponentials
// and logarithms.
//
//===----------------------------------------------------------------------===//

#include "ElementaryFunctions.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

/// (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f from sqrt(1/2) to sqrt(2).
constexpr double kLog[] = {
    0.3333331048488617,   -0.24999986588954926, 0.20002226531505585,
    -0.16669251024723053, 0.14218664169311523,  -0.12384336441755295,
    0.11872928589582443,  -0.11789856851100922, 0.0691552460193634};

/// A positive number is 2^exponent * (1 + fraction), and log(1 + fraction) is
/// fraction - square / 2 + cubic.
struct Logarithm {
  Value exponent, fraction, square, cubic;
};

static Logarithm makeLog(MathBuilder &b, Value exponent, Value fraction) {
  Value square = b.mul(fraction, fraction);
  Value cubic = b.mul(b.polynomial(fraction, kLog), b.mul(square, fraction));
  return {exponent, fraction, square, cubic};
}

/// The exponent of a normal number, and the mantissa from sqrt(1/2) to sqrt(2).
static std::pair<Value, Value> splitFloat(MathBuilder &b, Value x) {
  Value bits = b.bits(x);
  Value exponent = b.shiftRight(b.subI(bits, b.bits(b.number(0x1.6a09e6p-1))),
                                b.integer(23));
  Value mantissa =
      b.fromBits(b.subI(bits, b.shiftLeft(exponent, b.integer(23))));
  return {exponent, mantissa};
}

static Logarithm reduceLog(MathBuilder &b, Value x) {
  // Numbers that are not normal become so.
  Value isSmall = b.compare(Pred::OLT, x, b.number(0x1p-126));
  x = b.select(isSmall, b.mul(x, b.number(0x1p23)), x);
  auto [exponent, mantissa] = splitFloat(b, x);
  exponent = b.subI(exponent, b.select(isSmall, b.integer(23), b.integer(0)));
  return makeLog(b, arith::SIToFPOp::create(b, b.f32(), exponent),
                 b.sub(mantissa, b.number(1)));
}

/// The values of logarithms at 0, below it, at infinity and of NaN.
static Value withLimits(MathBuilder &b, Value x, Value result) {
  auto number = [&](double value) { return b.numberLike(x, value); };
  Value infinity = number(kInfinity), zero = number(0);
  result = b.select(b.compare(Pred::OEQ, x, infinity), infinity, result);
  result = b.select(b.compare(Pred::OEQ, x, zero), number(-kInfinity), result);
  // Unordered, too.
  return b.select(b.compare(Pred::ULT, x, zero), number(kNaN), result);
}

static Value sumLog(MathBuilder &b, const Logarithm &log) {
  Value rest = b.mulAdd(log.exponent, b.number(kLn2Low), log.cubic);
  rest = b.mulAdd(log.square, b.number(-0.5), rest);
  return b.mulAdd(log.exponent, b.number(kLn2High), b.add(log.fraction, rest));
}

Value mlir::relax::buildLog(MathBuilder &b, Value x) {
  return withLimits(b, x, sumLog(b, reduceLog(b, x)));
}

/// The part of log(1 + fraction) that is not the fraction.
static Value restOfLog(MathBuilder &b, const Logarithm &log) {
  return b.mulAdd(log.square, b.number(-0.5), log.cubic);
}

Value mlir::relax::buildLog2(MathBuilder &b, Value x) {
  Logarithm log = reduceLog(b, x);
  Value rest = restOfLog(b, log);
  // 1 / ln 2 is 1 and this.
  Value factor = b.number(0x1.c551d94ae0bf8p-2);
  Value sum = b.mulAdd(rest, factor, rest);
  sum = b.add(b.mulAdd(log.fraction, factor, sum), log.fraction);
  return withLimits(b, x, b.add(sum, log.exponent));
}

Value mlir::relax::buildLog10(MathBuilder &b, Value x) {
  Logarithm log = reduceLog(b, x);
  Value rest = restOfLog(b, log);
  // 1 / ln 10 and log10(2), the first bits and the rest.
  Value high = b.number(0.43359375), low = b.number(7.00731903251827651e-4);
  Value sum = b.mul(b.add(log.fraction, rest), low);
  sum = b.mulAdd(log.exponent, b.number(4.60503898119521374e-6), sum);
  sum = b.mulAdd(rest, high, sum);
  sum = b.mulAdd(log.fraction, high, sum);
  return withLimits(b, x,
                    b.mulAdd(log.exponent, b.number(0.301025390625), sum));
}

/// log(u) for u = 1 + x as rounded; what rounding lost goes to the fraction.
Value mlir::relax::buildLog1p(MathBuilder &b, Value x) {
  Value one = b.number(1);
  Value u = b.add(one, x);
  Value lost = b.sub(x, b.sub(u, one));
  lost = b.select(b.compare(Pred::OGT, x, b.number(1e8)), b.number(0), lost);
  auto [exponent, mantissa] = splitFloat(b, u);
  Value most = b.integer(127);
  Value bounded = arith::MinSIOp::create(b, exponent, most);
  lost = b.mul(lost,
               b.fromBits(b.shiftLeft(b.subI(most, bounded), b.integer(23))));
  Logarithm log = makeLog(b, arith::SIToFPOp::create(b, b.f32(), exponent),
                          b.add(b.sub(mantissa, one), lost));
  return unlessTiny(b, x, 1e-8, withLimits(b, u, sumLog(b, log)));
}

/// log(1 + t), or log(2 t) for t from 2^24 on, where 1 is less than a digit.
static Value logOfTwice(MathBuilder &b, Value t, Value isLarge) {
  Value ln2 = b.select(isLarge, b.number(M_LN2), b.number(0));
  return b.add(buildLog1p(b, t), ln2);
}

/// t = |x| + x^2 / (1 + sqrt(1 + x^2)), or |x| where that is half of it.
Value mlir::relax::buildAsinh(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x), one = b.number(1);
  Value isLarge = b.compare(Pred::OGE, magnitude, b.number(0x1p24));
  Value square = b.mul(x, x);
  Value root = math::SqrtOp::create(b, b.add(square, one));
  Value rest = b.div(square, b.add(root, one));
  Value t = b.select(isLarge, magnitude, b.add(magnitude, rest));
  Value result = logOfTwice(b, t, isLarge);
  return b.withSign(unlessTiny(b, magnitude, 1e-4, result), x);
}

/// With y = x - 1, t = y + sqrt(y (y + 2)), or x where that is half of it.
Value mlir::relax::buildAcosh(MathBuilder &b, Value x) {
  Value isLarge = b.compare(Pred::OGE, x, b.number(0x1p24));
  Value one = b.number(1), isNone = b.compare(Pred::OLT, x, one);
  Value y = b.select(isNone, b.number(kNaN), b.sub(x, one));
  Value square = b.mul(y, b.add(y, b.number(2)));
  Value t = b.add(y, Value(math::SqrtOp::create(b, square)));
  return logOfTwice(b, b.select(isLarge, x, t), isLarge);
}

/// log(1 + 2 |x| / (1 - |x|)) / 2
Value mlir::relax::buildAtanh(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x);
  Value t = b.div(b.add(magnitude, magnitude), b.sub(b.number(1), magnitude));
  Value result = b.mul(buildLog1p(b, t), b.number(0.5));
  return b.withSign(unlessTiny(b, magnitude, 1e-4, result), x);
}

//===----------------------------------------------------------------------===//
// Doubles
//===----------------------------------------------------------------------===//

/// (log(1 + f) / s - 2) / s^2 by s^2, s = f / (2 + f), for 1 + f from sqrt(1/2)
/// to sqrt(2), within 2^-59 of the logarithm.
constexpr double kLogOfDouble[] = {0x1.5555555555592p-1, 0x1.999999997fdbcp-2,
                                   0x1.24924941f0fb3p-2, 0x1.c71c520974956p-3,
                                   0x1.74663ee58004dp-3, 0x1.39a1bad676fbbp-3,
                                   0x1.2f0563e28e8a3p-3};

/// log(1 + f) is 2 s + s^3 p, of which f - f^2 / 2 + s (f^2 / 2 + s^2 p) keeps
/// all digits.
Value mlir::relax::buildLogOfDouble(MathBuilder &b, Value x) {
  Value isSmall = b.compare(Pred::OLT, x, b.number64(0x1p-1022));
  Value y = b.select(isSmall, b.mul(x, b.number64(0x1p54)), x);
  auto [n, mantissa] = splitDouble(b, y);
  n = b.sub(n, b.select(isSmall, b.number64(54), b.number64(0)));
  Value f = b.sub(mantissa, b.number64(1));
  Value s = b.div(f, b.add(f, b.number64(2)));
  Value half = b.mul(b.mul(f, f), b.number64(0.5)), square = b.mul(s, s);
  Value rest = b.mulAdd(b.polynomial(square, kLogOfDouble), square, half);
  rest = b.mulAdd(n, b.number64(0x1.ef35793c7673p-45), b.mul(s, rest));
  Value sum = b.add(f, b.sub(rest, half));
  // Products with the first part of ln 2 are exact.
  sum = b.mulAdd(n, b.number64(0x1.62e42fefa38p-1), sum);
  return withLimits(b, x, sum);
}

/// The errors of u = e^x and log(u) cancel, and so do those of u = 1 + x and
/// u - 1.
Value mlir::relax::buildExpM1OfDouble(MathBuilder &b, Value x) {
  Value one = b.number64(1), minusOne = b.number64(-1);
  Value u = buildExpOfDouble(b, x), difference = b.sub(u, one);
  Value result = b.div(b.mul(difference, x), buildLogOfDouble(b, u));
  Value isSaturated =
      arith::OrIOp::create(b, b.compare(Pred::OEQ, difference, minusOne),
                           b.compare(Pred::OEQ, u, b.number64(kInfinity)));
  result = b.select(isSaturated, difference, result);
  return b.select(b.compare(Pred::OEQ, u, one), x, result);
}

Value mlir::relax::buildLog1pOfDouble(MathBuilder &b, Value x) {
  Value one = b.number64(1), u = b.add(one, x);
  Value log = buildLogOfDouble(b, u);
  Value result = b.div(b.mul(log, x), b.sub(u, one));
  Value isEndless = b.compare(Pred::OEQ, u, b.number64(kInfinity));
  result = b.select(isEndless, log, result);
  return b.select(b.compare(Pred::OEQ, u, one), x, result);
}
