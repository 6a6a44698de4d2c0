//===- Powers.cpp - Powers of two operands ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x^y by 2^(y log2(x)) in doubles, and the values at the limits, as pow of C.
//
//===----------------------------------------------------------------------===//

#include "ElementaryFunctions.h"

using namespace mlir;
using namespace mlir::relax;

/// log2(m) / s by s^2, s = (m - 1) / (m + 1), for m from sqrt(1/2) to sqrt(2).
constexpr double kLog2Of[] = {0x1.71547652b824ep+1, 0x1.ec709dc541da3p-1,
                              0x1.2776c28cc2fb0p-1, 0x1.a61a341f62afap-2,
                              0x1.47947313a37a9p-2, 0x1.21be08677daf5p-2};

/// 2^r for |r| <= 1/2.
constexpr double kPower[] = {0x1.ffffffffab122p-1,  0x1.62e42ff1191efp-1,
                             0x1.ebfbe0a5c5ca7p-3,  0x1.c6b08aaaf5258p-5,
                             0x1.3b29db620c139p-7,  0x1.5d8a7307c9a22p-10,
                             0x1.446ad3d743af9p-13, 0x1.fe16a64141a95p-17};

/// log2(x) as a double for x >= 0.
static Value log2Of(MathBuilder &b, Value x) {
  Value wide = b.widen(x), one = b.number64(1);
  auto [exponent, m] = splitDouble(b, wide);
  Value s = b.div(b.sub(m, one), b.add(m, one));
  Value log = b.mul(b.polynomial(b.mul(s, s), kLog2Of), s);
  log = b.add(exponent, log);
  Value infinity = b.number(kInfinity);
  log = b.select(b.compare(Pred::OEQ, x, b.number(0)), b.number64(-kInfinity),
                 log);
  log = b.select(b.compare(Pred::OEQ, x, infinity), b.number64(kInfinity), log);
  return b.select(b.isNaN(x), wide, log);
}

/// 2^(y * log2(x)) for x >= 0, in doubles, as an error of the exponent grows
/// with it.
static Value buildPowerOf(MathBuilder &b, Value x, Value y) {
  if (b.fast)
    return buildExp2(b, b.mul(y, buildLog2(b, x)));
  Value exponent = b.mul(b.widen(y), log2Of(b, x));
  exponent = b.clamp(exponent, b.number64(-200), b.number64(200));
  Rounded n = round64(b, exponent);
  Value power = b.power2Of64(n.number);
  return b.narrow(b.mul(b.polynomial(b.sub(exponent, n.n), kPower), power));
}

Value mlir::relax::buildPow(MathBuilder &b, Value x, Value y) {
  Value magnitude = b.abs(x), zero = b.number(0), one = b.number(1);
  Value result = buildPowerOf(b, magnitude, y);

  auto isWhole = [&](Value value) {
    return b.compare(Pred::OEQ, value, math::FloorOp::create(b, value));
  };
  Value isInteger = isWhole(y), isEven = isWhole(b.mul(y, b.number(0.5)));
  // Odd powers of negative numbers, -0 too, are negative, and those that are no
  // integers are none, except of zero and infinity.
  Value signs = b.select(isEven, magnitude, b.select(isInteger, x, magnitude));
  result = b.withSign(result, signs);
  Value isNegative =
      arith::AndIOp::create(b, b.compare(Pred::OLT, x, zero),
                            b.compare(Pred::OGT, x, b.number(-kInfinity)));
  Value isNone = arith::AndIOp::create(
      b, isNegative, b.compare(Pred::ONE, y, math::FloorOp::create(b, y)));
  result = b.select(isNone, b.number(kNaN), result);
  // Cases where the result is 1 even for NaN and infinity.
  Value isEndless = b.compare(Pred::OEQ, b.abs(y), b.number(kInfinity));
  Value isOne =
      arith::AndIOp::create(b, isEndless, b.compare(Pred::OEQ, magnitude, one));
  isOne = arith::OrIOp::create(b, isOne, b.compare(Pred::OEQ, y, zero));
  isOne = arith::OrIOp::create(b, isOne, b.compare(Pred::OEQ, x, one));
  return b.select(isOne, one, result);
}
