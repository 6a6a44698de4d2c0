//===- Exponentials.cpp - Exponentials, tanh and erf ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// e^x, 2^x and e^x - 1 by n ln 2 + r; tanh by the last of them; erf by a
// polynomial near 0 and by its complement's logarithm elsewhere. With fewer
// digits, tanh and erf are quotients of polynomials.
//
//===----------------------------------------------------------------------===//

#include "ElementaryFunctions.h"

using namespace mlir;
using namespace mlir::relax;

/// Of ln 2 the first bits, so that products with small integers are exact, and
/// the rest.
constexpr double kLn2High = 0x1.63p-1, kLn2Low = -0x1.bd0106p-13;

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
constexpr double kExp[] = {0.5,
                           0.1666666716337204,
                           0.041666269302368164,
                           0.008333263918757439,
                           0.0013946176040917635,
                           0.000199185247765854};

/// e^r for |r| <= ln(2) / 2. One instruction for each, which is less than what
/// e^r - 1 takes with all of its digits.
constexpr double kWholeExp[] = {1,
                                1,
                                0.4999999403953552,
                                0.1666652113199234,
                                0.04166826233267784,
                                0.00836866907775402,
                                0.0013820887543261051};

/// (2^r - 1) / r for |r| <= 1/2.
constexpr double kExp2[] = {0.6931471824645996,    0.24022650718688965,
                            0.05550410971045494,   0.009618036448955536,
                            0.0013333429815247655, 0.0001546723797218874,
                            1.5315072232624516e-05};

/// The same with fewer digits.
constexpr double kFastExp[] = {0.499992311000824, 0.16667114198207855,
                               0.041890159249305725, 0.008312520571053028};
constexpr double kFastExp2[] = {0.6931470036506653, 0.24022242426872253,
                                0.05550733581185341, 0.009671512991189957,
                                0.001326472731307149};

/// x = n * ln(2) + r, |r| <= ln(2) / 2.
static std::pair<Rounded, Value> splitExponent(MathBuilder &b, Value x) {
  Rounded n =
      roundOf(b, b.mulAdd(x, b.number(0x1.715476p0), b.number(0x1.8p23)));
  if (b.fast)
    return {n, b.mulAdd(n.n, b.number(-0x1.62e43p-1), x)};
  Value r = b.mulAdd(n.n, b.number(-kLn2High), x);
  return {n, b.mulAdd(n.n, b.number(-kLn2Low), r)};
}

namespace {
/// e^x - 1 = 2^n * fraction + (2^n - 1), the fraction being e^r - 1.
struct Exponential {
  Rounded n;
  Value fraction;
};
} // namespace

static Exponential reduceExp(MathBuilder &b, Value x) {
  auto [n, r] = splitExponent(b, x);
  Value rest = b.fast ? b.polynomial(r, kFastExp) : b.polynomial(r, kExp);
  return {n, b.mulAdd(rest, b.mul(r, r), r)};
}

/// x * 2^n in two steps, so that both powers are normal numbers, and results
/// that are not are rounded once.
static Value scale(MathBuilder &b, Value x, Rounded n) {
  if (Value scaled = b.scale(x, n.n))
    return scaled;
  Value half = b.shiftRight(n.number, b.integer(1));
  return b.mul(b.mul(x, b.power2(half)), b.power2(b.subI(n.number, half)));
}

/// (1 + fraction) * 2^n in one step, for n from -126 to 128; what is below
/// 2^-125 is 0.
static Value scaleFast(MathBuilder &b, Value fraction, Rounded n) {
  if (Value scaled = b.scale(b.add(fraction, b.number(1)), n.n))
    return scaled;
  Value two = b.number(2);
  return b.mul(b.mulAdd(fraction, two, two),
               b.power2(b.subI(n.number, b.integer(1))));
}

Value mlir::relax::buildExp(MathBuilder &b, Value x) {
  if (b.fast) {
    // Where small results do not become 0, the least one has to be.
    Value least = b.number(b.flushes() ? -87.33 : -104);
    Exponential e = reduceExp(b, b.clamp(x, least, b.number(89)));
    return scaleFast(b, e.fraction, e.n);
  }
  auto [n, r] = splitExponent(b, b.clamp(x, b.number(-104), b.number(89)));
  return scale(b, b.polynomial(r, kWholeExp), n);
}

Value mlir::relax::buildExp2(MathBuilder &b, Value x) {
  x = b.clamp(x, b.number(b.flushes() ? -126 : -151),
              b.number(b.flushes() ? 128 : 129));
  Rounded n = roundOf(b, b.add(x, b.number(0x1.8p23)));
  Value r = b.sub(x, n.n);
  if (b.fast)
    return scaleFast(b, b.mul(b.polynomial(r, kFastExp2), r), n);
  return scale(b, b.mulAdd(b.polynomial(r, kExp2), r, b.number(1)), n);
}

/// For x in [-87, 89], exact to the sign where |x| is not tiny. Half of 2^n,
/// since 2^128 is none.
static Value expm1Of(MathBuilder &b, Value x) {
  Exponential e = reduceExp(b, x);
  Value power = b.power2(b.subI(e.n.number, b.integer(1)));
  Value half = b.mulAdd(power, e.fraction, b.sub(power, b.number(0.5)));
  return b.add(half, half);
}

/// x where |x| is so small that the function differs less from it than half of
/// its last bit: keeps the sign of zeros, too.
static Value unlessTiny(MathBuilder &b, Value x, double bound, Value result) {
  return b.select(b.compare(Pred::OLT, b.abs(x), b.number(bound)), x, result);
}

Value mlir::relax::buildExpM1(MathBuilder &b, Value x) {
  Value result = expm1Of(b, b.clamp(x, b.number(-87), b.number(89)));
  return unlessTiny(b, x, 1e-8, result);
}

/// |x|, or a bound that it is beyond; NaN stays.
static Value boundedAbs(MathBuilder &b, Value x, double bound) {
  Value magnitude = b.abs(x), most = b.number(bound);
  return b.select(b.compare(Pred::OGT, magnitude, most), most, magnitude);
}

/// tanh(x) / x by x^2 for |x| <= 9, as a quotient with fewer digits.
constexpr double kFastTanh[] = {1,
                                0.140999399,
                                0.00442692301,
                                4.22988992e-05,
                                1.113212e-07,
                                3.68355586e-11};
constexpr double kFastTanhBelow[] = {1,
                                     0.474332732,
                                     0.0292045011,
                                     0.000501021711,
                                     2.60619706e-06,
                                     2.95657348e-09};

/// x * p(x^2) / q(x^2), within -1 and 1, for |x| up to a bound, from which on
/// it is 1.
static Value buildQuotient(MathBuilder &b, Value x, double bound,
                           ArrayRef<double> p, ArrayRef<double> q) {
  x = b.clamp(x, b.number(-bound), b.number(bound));
  Value square = b.mul(x, x);
  Value result =
      b.div(b.mul(x, b.polynomial(square, p)), b.polynomial(square, q));
  return b.clamp(result, b.number(-1), b.number(1));
}

/// (e^2x - 1) / (e^2x + 1)
Value mlir::relax::buildTanh(MathBuilder &b, Value x) {
  if (b.fast)
    return buildQuotient(b, x, 9, kFastTanh, kFastTanhBelow);
  Value y = boundedAbs(b, x, 10);
  Value e = expm1Of(b, b.add(y, y));
  Value result = b.div(e, b.add(e, b.number(2)));
  return b.withSign(unlessTiny(b, y, 1e-5, result), x);
}

/// With t = e^|x| - 1, (t + t / (t + 1)) / 2: of t a quarter, as 2^128 is none.
Value mlir::relax::buildSinh(MathBuilder &b, Value x) {
  Value y = boundedAbs(b, x, 89.5), quarter = b.number(0.25);
  Exponential e = reduceExp(b, y);
  Value power = b.power2(b.subI(e.n.number, b.integer(2)));
  Value t = b.mulAdd(power, e.fraction, b.sub(power, quarter));
  Value above = b.mulAdd(t, b.number(4), b.number(1));
  Value half = b.add(t, b.div(t, above));
  return b.withSign(unlessTiny(b, y, 1e-4, b.add(half, half)), x);
}

/// With t = e^|x| / 2, t + 1 / 4t.
Value mlir::relax::buildCosh(MathBuilder &b, Value x) {
  auto [n, r] = splitExponent(b, boundedAbs(b, x, 89.5));
  Value one = b.number(1);
  Rounded before = {b.sub(n.n, one), b.subI(n.number, b.integer(1))};
  Value t = scale(b, b.polynomial(r, kWholeExp), before);
  return b.add(t, b.div(b.number(0.25), t));
}

//===----------------------------------------------------------------------===//
// The error function
//===----------------------------------------------------------------------===//

/// erf(x) / x - 1 by x^2 for |x| < 1.
constexpr double kErf[] = {0.12837916612625122,    -0.37612637877464294,
                           0.11283782869577408,    -0.02686544507741928,
                           0.005221074912697077,   -0.0008484711870551109,
                           0.00011270546383457258, -9.680140465206932e-06};

/// log(1 - erf(x)) for x from 0.95 to 4, where erf is 1.
constexpr double kLogErfc[] = {
    0.00017812316946219653, -1.1295273303985596,     -0.6333328485488892,
    -0.10827846825122833,   0.02510174922645092,     -0.00415377039462328,
    0.00042650371324270964, -1.9262453861301765e-05, -1.6976578365301975e-07};

/// erf(x) / x by x^2 for |x| <= 3.9, as a quotient with fewer digits.
constexpr double kFastErf[] = {1.12837915,    0.189654973,    0.0526663496,
                               0.00373779811, 0.000285043373, 2.06647588e-06};
constexpr double kFastErfBelow[] = {
    1, 0.501410128, 0.113813911, 0.0149131771, 0.00115723161, 3.82690707e-05};

Value mlir::relax::buildErf(MathBuilder &b, Value x) {
  if (b.fast)
    return buildQuotient(b, x, 3.9, kFastErf, kFastErfBelow);
  Value y = boundedAbs(b, x, 4), one = b.number(1);
  Value small = b.mulAdd(b.polynomial(b.mul(x, x), kErf), x, x);
  Exponential e = reduceExp(b, b.polynomial(y, kLogErfc));
  Value complement = b.mul(b.add(e.fraction, one), b.power2(e.n.number));
  Value large = b.withSign(b.sub(one, complement), x);
  // NaN takes the way of small numbers.
  return b.select(b.compare(Pred::OGE, y, one), large, small);
}

/// log2(1 - erf(x)) / x for x from 0 to 9.5. From 4 on, where the difference is
/// less than 2^-25, it only goes below the logarithm of all floats.
constexpr double kLog2Erfc[] = {-1.6279072761535645,    -0.9184429049491882,
                                -0.14830756187438965,   0.027721332386136055,
                                0.00010184866550844163, -0.0023153445217758417,
                                0.0008950085612013936,  -0.0001805207721190527,
                                1.955633342731744e-05,  -8.864425922183727e-07};

Value mlir::relax::buildOnePlusErf(MathBuilder &b, Value x) {
  Value y = boundedAbs(b, x, 9.5);
  Value complement = buildExp2(b, b.mul(b.polynomial(y, kLog2Erfc), y));
  Value above = b.sub(b.number(2), complement);
  return b.select(b.compare(Pred::OLT, x, b.number(0)), complement, above);
}

//===----------------------------------------------------------------------===//
// GELU
//===----------------------------------------------------------------------===//

/// (1 + log2(q(x))) / x for x from 0 to 6, where q(x) is the probability of
/// more than x, (1 - erf(x / sqrt(2))) / 2, within 2^-27. Beyond, it only goes
/// below the logarithm of all floats, which it is from 11 on.
constexpr double kTail[] = {-1.1511040925979614,    -0.4592234790325165,
                            -0.052423711866140366,  0.006902695167809725,
                            5.5029951909091324e-05, -0.00031738472171127796,
                            9.128773672273383e-05,  -1.4282826668932103e-05,
                            1.2488465017668204e-06, -4.7490605226130356e-08};
/// (2^r - 1) / r for |r| <= 1/2, within 2^-28.
constexpr double kTailExp2[] = {0.6931471824645996,    0.24022647738456726,
                                0.055503323674201965,  0.00961843691766262,
                                0.0013398873852565885, 0.00015353366325143725};

/// The same for results of eight bits: q(x) within 2^-12 of itself for x from 0
/// to 5, and 0 from 13.2 on.
constexpr double kShortTail[] = {-1.1487699747085571, -0.46576976776123047,
                                 -0.04685094580054283, 0.005405329167842865,
                                 -0.00027786317514255643};
constexpr double kShortTailExp2[] = {0.6932829022407532, 0.24221093952655792,
                                     0.055008985102176666};

/// max(x, 0) - |x| q(|x|), in which no digits cancel. q is 0 from `end` on.
static Value buildGeluBy(MathBuilder &b, Value x, double end,
                         ArrayRef<double> tail, ArrayRef<double> exp2) {
  Value last = b.number(end), zero = b.number(-0.0);
  auto limit = [&](Value value) {
    return b.select(b.compare(Pred::OGT, value, last), last, value);
  };
  // Of infinities only the negative one stays, since its product with 0 is NaN.
  Value magnitude = b.abs(limit(x)), y = limit(magnitude);
  Value exponent = b.mulAdd(b.polynomial(y, tail), y, b.number(-1));
  Rounded n = roundOf(b, b.add(exponent, b.number(0x1.8p23)));
  Value r = b.sub(exponent, n.n);
  Value q = scale(b, b.mulAdd(b.polynomial(r, exp2), r, b.number(1)), n);
  Value above = b.select(b.compare(Pred::OLT, x, zero), zero, x);
  return b.mulAdd(arith::NegFOp::create(b, magnitude), q, above);
}

Value mlir::relax::buildGelu(MathBuilder &b, Value x) {
  return buildGeluBy(b, x, 11, kTail, kTailExp2);
}

Value mlir::relax::buildShortGelu(MathBuilder &b, Value x) {
  return buildGeluBy(b, x, 13.2, kShortTail, kShortTailExp2);
}

//===----------------------------------------------------------------------===//
// Doubles
//===----------------------------------------------------------------------===//

/// e^r for |r| <= ln(2) / 2, within 2^-58.
constexpr double kExpOfDouble[] = {
    0x1.0000000000000p+0,  0x1.0000000000000p+0,  0x1.0000000000010p-1,
    0x1.55555555554a2p-3,  0x1.555555554f35ap-5,  0x1.1111111130df3p-7,
    0x1.6c16c18785787p-10, 0x1.a01a011053468p-13, 0x1.a01992c5421a6p-16,
    0x1.71df451ce8179p-19, 0x1.28b31c9f1bf2cp-22, 0x1.ad66368069c58p-26};

Value mlir::relax::buildExpOfDouble(MathBuilder &b, Value x) {
  x = b.clamp(x, b.number64(-746), b.number64(710));
  Rounded n = round64(b, b.mul(x, b.number64(0x1.71547652b82fep+0)));
  // Products with the first part are exact.
  Value r = b.mulAdd(n.n, b.number64(-0x1.62e42fefa38p-1), x);
  r = b.mulAdd(n.n, b.number64(-0x1.ef35793c7673p-45), r);
  Value power = b.polynomial(r, kExpOfDouble);
  if (Value scaled = b.scale(power, n.n))
    return scaled;
  // In two steps, as numbers of 32 bits.
  Value half = round64(b, b.mul(n.n, b.number64(0.5))).number;
  return b.mul(b.mul(power, b.power2Of64(half)),
               b.power2Of64(b.subI(n.number, half)));
}
