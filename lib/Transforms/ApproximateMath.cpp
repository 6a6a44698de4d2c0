//===- ApproximateMath.cpp - Functions as arithmetic -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementary functions of float32 as arithmetic without branches, so that it is
// the same for a number and a vector, and no call of libm is in between.
// docs/dev/math.md has the largest error of each, over all numbers.
//
// Each function is reduced to a small interval, where a polynomial is close.
// Its coefficients make the largest relative error the least (Remez's
// algorithm, in 40 digits). Sums and products of a polynomial may be
// contracted, and need not: errors are small with and without fused
// multiply-add. Operations that must be exact are not marked so.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/TargetModel.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXAPPROXIMATEMATHPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
using Pred = arith::CmpFPredicate;

/// Builds arithmetic of numbers, or of vectors of one shape.
class Arith : public ImplicitLocOpBuilder {
public:
  Arith(Operation *op, bool fast, bool hasScalef)
      : ImplicitLocOpBuilder(op->getLoc(), op), fast(fast),
        shape(dyn_cast<VectorType>(op->getResult(0).getType())),
        hasScalef(hasScalef && shape && shape.getRank() == 1 &&
                  shape.getNumElements() == 16) {}

  /// Whether fewer digits will do.
  const bool fast;

  /// The type of a number, or the vector of it.
  Type typeOf(Type element) {
    return shape ? Type(VectorType::get(shape.getShape(), element)) : element;
  }
  Type f32() { return typeOf(getF32Type()); }
  Type f64() { return typeOf(getF64Type()); }
  Type i32() { return typeOf(getI32Type()); }
  Type i64() { return typeOf(getI64Type()); }

  Value number(double value) { return splat(getF32FloatAttr(value)); }
  Value number64(double value) { return splat(getF64FloatAttr(value)); }
  Value integer(int32_t value) { return splat(getI32IntegerAttr(value)); }
  Value integer64(int64_t value) { return splat(getI64IntegerAttr(value)); }

  Value add(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }
  Value abs(Value a) { return math::AbsFOp::create(*this, a); }
  /// a * b + c, rounded once or twice.
  Value mulAdd(Value a, Value b, Value c) {
    auto contract = arith::FastMathFlags::contract;
    Value product = arith::MulFOp::create(*this, a, b, contract);
    return arith::AddFOp::create(*this, product, c, contract);
  }
  /// c[0] + c[1] * x + ...
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    bool isDouble = getElementTypeOrSelf(x.getType()).isF64();
    auto coefficient = [&](double value) {
      return isDouble ? number64(value) : number(value);
    };
    Value result = coefficient(coefficients.back());
    for (double value : llvm::reverse(coefficients.drop_back()))
      result = mulAdd(result, x, coefficient(value));
    return result;
  }

  Value compare(Pred pred, Value a, Value b) {
    return arith::CmpFOp::create(*this, pred, a, b);
  }
  Value select(Value flag, Value a, Value b) {
    return arith::SelectOp::create(*this, flag, a, b);
  }
  Value isNaN(Value x) { return compare(Pred::UNO, x, x); }
  /// x within bounds; NaN stays.
  Value clamp(Value x, Value low, Value high) {
    x = select(compare(Pred::OGT, x, high), high, x);
    return select(compare(Pred::OLT, x, low), low, x);
  }

  Value addI(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value subI(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
  Value andI(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value shiftLeft(Value a, Value b) {
    return arith::ShLIOp::create(*this, a, b);
  }
  Value shiftRight(Value a, Value b) {
    return arith::ShRSIOp::create(*this, a, b);
  }
  Value bits(Value x) {
    return arith::BitcastOp::create(
        *this, getElementTypeOrSelf(x.getType()).isF64() ? i64() : i32(), x);
  }
  Value fromBits(Value x) {
    return arith::BitcastOp::create(
        *this, getElementTypeOrSelf(x.getType()).isInteger(64) ? f64() : f32(),
        x);
  }
  /// 2^n for integers with a normal power.
  Value power2(Value n) {
    return fromBits(shiftLeft(addI(n, integer(127)), integer(23)));
  }
  /// Whether exponentials below 2^-125 become 0.
  bool flushes() const { return fast && !hasScalef; }
  /// x * 2^n for whole numbers n, rounded once; null where no instruction does
  /// it.
  Value scale(Value x, Value n) {
    if (!hasScalef)
      return nullptr;
    Value all =
        LLVM::ConstantOp::create(*this, getIntegerAttr(getI16Type(), -1));
    Value currentRounding =
        LLVM::ConstantOp::create(*this, getI32IntegerAttr(4));
    return LLVM::CallIntrinsicOp::create(
               *this, f32(),
               getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
               ValueRange{x, n, x, all, currentRounding})
        .getResults();
  }
  /// A number that is not negative, with the sign of another.
  Value withSign(Value magnitude, Value sign) {
    return math::CopySignOp::create(*this, magnitude, sign);
  }
  Value widen(Value x) { return arith::ExtFOp::create(*this, f64(), x); }
  Value narrow(Value x) { return arith::TruncFOp::create(*this, f32(), x); }

  /// Whether a flag holds, for one element at least.
  Value any(Value flags) {
    if (!shape)
      return flags;
    if (shape.getRank() != 1)
      flags = vector::ShapeCastOp::create(
          *this, VectorType::get({shape.getNumElements()}, getI1Type()), flags);
    return vector::ReductionOp::create(*this, vector::CombiningKind::OR, flags);
  }

private:
  Value splat(TypedAttr value) {
    if (!shape)
      return arith::ConstantOp::create(*this, value);
    return arith::ConstantOp::create(
        *this, DenseElementsAttr::get(cast<ShapedType>(typeOf(value.getType())),
                                      Attribute(value)));
  }

  VectorType shape;
  bool hasScalef;
};

/// A number as n + fraction, |fraction| <= 1/2, where n is small.
struct Rounded {
  Value n;      // as a float
  Value number; // as an integer
};
} // namespace

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The sum of a small number and 1.5 * 2^23 has no fraction, and the integer in
/// its last bits. Nothing is undefined where the number is a NaN.
static Rounded roundOf(Arith &b, Value shifted) {
  Value shift = b.number(0x1.8p23);
  return {b.sub(shifted, shift), b.subI(b.bits(shifted), b.bits(shift))};
}

static Rounded round64(Arith &b, Value x) {
  Value shift = b.number64(0x1.8p52);
  Value shifted = b.add(x, shift);
  return {b.sub(shifted, shift), b.subI(b.bits(shifted), b.bits(shift))};
}

//===----------------------------------------------------------------------===//
// Exponential functions
//===----------------------------------------------------------------------===//

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
static std::pair<Rounded, Value> splitExponent(Arith &b, Value x) {
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

static Exponential reduceExp(Arith &b, Value x) {
  auto [n, r] = splitExponent(b, x);
  Value rest = b.fast ? b.polynomial(r, kFastExp) : b.polynomial(r, kExp);
  return {n, b.mulAdd(rest, b.mul(r, r), r)};
}

/// x * 2^n in two steps, so that both powers are normal numbers, and results
/// that are not are rounded once.
static Value scale(Arith &b, Value x, Rounded n) {
  if (Value scaled = b.scale(x, n.n))
    return scaled;
  Value half = b.shiftRight(n.number, b.integer(1));
  return b.mul(b.mul(x, b.power2(half)), b.power2(b.subI(n.number, half)));
}

/// (1 + fraction) * 2^n in one step, for n from -126 to 128; what is below
/// 2^-125 is 0.
static Value scaleFast(Arith &b, Value fraction, Rounded n) {
  if (Value scaled = b.scale(b.add(fraction, b.number(1)), n.n))
    return scaled;
  Value two = b.number(2);
  return b.mul(b.mulAdd(fraction, two, two),
               b.power2(b.subI(n.number, b.integer(1))));
}

static Value buildExp(Arith &b, Value x) {
  if (b.fast) {
    // Where small results do not become 0, the least one has to be.
    Value least = b.number(b.flushes() ? -87.33 : -104);
    Exponential e = reduceExp(b, b.clamp(x, least, b.number(89)));
    return scaleFast(b, e.fraction, e.n);
  }
  auto [n, r] = splitExponent(b, b.clamp(x, b.number(-104), b.number(89)));
  return scale(b, b.polynomial(r, kWholeExp), n);
}

static Value buildExp2(Arith &b, Value x) {
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
static Value expm1Of(Arith &b, Value x) {
  Exponential e = reduceExp(b, x);
  Value power = b.power2(b.subI(e.n.number, b.integer(1)));
  Value half = b.mulAdd(power, e.fraction, b.sub(power, b.number(0.5)));
  return b.add(half, half);
}

/// x where |x| is so small that the function differs less from it than half of
/// its last bit: keeps the sign of zeros, too.
static Value unlessTiny(Arith &b, Value x, double bound, Value result) {
  return b.select(b.compare(Pred::OLT, b.abs(x), b.number(bound)), x, result);
}

static Value buildExpM1(Arith &b, Value x) {
  Value result = expm1Of(b, b.clamp(x, b.number(-87), b.number(89)));
  return unlessTiny(b, x, 1e-8, result);
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
static Value buildQuotient(Arith &b, Value x, double bound, ArrayRef<double> p,
                           ArrayRef<double> q) {
  x = b.clamp(x, b.number(-bound), b.number(bound));
  Value square = b.mul(x, x);
  Value result =
      b.div(b.mul(x, b.polynomial(square, p)), b.polynomial(square, q));
  return b.clamp(result, b.number(-1), b.number(1));
}

/// (e^2x - 1) / (e^2x + 1)
static Value buildTanh(Arith &b, Value x) {
  if (b.fast)
    return buildQuotient(b, x, 9, kFastTanh, kFastTanhBelow);
  Value magnitude = b.abs(x), most = b.number(10);
  Value y = b.select(b.compare(Pred::OGT, magnitude, most), most, magnitude);
  Value e = expm1Of(b, b.add(y, y));
  Value result = b.div(e, b.add(e, b.number(2)));
  return b.withSign(unlessTiny(b, magnitude, 1e-5, result), x);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

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

static Logarithm makeLog(Arith &b, Value exponent, Value fraction) {
  Value square = b.mul(fraction, fraction);
  Value cubic = b.mul(b.polynomial(fraction, kLog), b.mul(square, fraction));
  return {exponent, fraction, square, cubic};
}

/// The exponent of a normal number, and the mantissa from sqrt(1/2) to sqrt(2).
static std::pair<Value, Value> splitFloat(Arith &b, Value x) {
  Value bits = b.bits(x);
  Value exponent = b.shiftRight(b.subI(bits, b.bits(b.number(0x1.6a09e6p-1))),
                                b.integer(23));
  Value mantissa =
      b.fromBits(b.subI(bits, b.shiftLeft(exponent, b.integer(23))));
  return {exponent, mantissa};
}

static Logarithm reduceLog(Arith &b, Value x) {
  // Numbers that are not normal become so.
  Value isSmall = b.compare(Pred::OLT, x, b.number(0x1p-126));
  x = b.select(isSmall, b.mul(x, b.number(0x1p23)), x);
  auto [exponent, mantissa] = splitFloat(b, x);
  exponent = b.subI(exponent, b.select(isSmall, b.integer(23), b.integer(0)));
  return makeLog(b, arith::SIToFPOp::create(b, b.f32(), exponent),
                 b.sub(mantissa, b.number(1)));
}

/// The values of logarithms at 0, below it, at infinity and of NaN.
static Value withLimits(Arith &b, Value x, Value result) {
  Value infinity = b.number(kInfinity), zero = b.number(0);
  result = b.select(b.compare(Pred::OEQ, x, infinity), infinity, result);
  result =
      b.select(b.compare(Pred::OEQ, x, zero), b.number(-kInfinity), result);
  // Unordered, too.
  return b.select(b.compare(Pred::ULT, x, zero), b.number(kNaN), result);
}

static Value sumLog(Arith &b, const Logarithm &log) {
  Value rest = b.mulAdd(log.exponent, b.number(kLn2Low), log.cubic);
  rest = b.mulAdd(log.square, b.number(-0.5), rest);
  return b.mulAdd(log.exponent, b.number(kLn2High), b.add(log.fraction, rest));
}

static Value buildLog(Arith &b, Value x) {
  return withLimits(b, x, sumLog(b, reduceLog(b, x)));
}

/// The part of log(1 + fraction) that is not the fraction.
static Value restOfLog(Arith &b, const Logarithm &log) {
  return b.mulAdd(log.square, b.number(-0.5), log.cubic);
}

static Value buildLog2(Arith &b, Value x) {
  Logarithm log = reduceLog(b, x);
  Value rest = restOfLog(b, log);
  // 1 / ln 2 is 1 and this.
  Value factor = b.number(0x1.c551d94ae0bf8p-2);
  Value sum = b.mulAdd(rest, factor, rest);
  sum = b.add(b.mulAdd(log.fraction, factor, sum), log.fraction);
  return withLimits(b, x, b.add(sum, log.exponent));
}

static Value buildLog10(Arith &b, Value x) {
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
static Value buildLog1p(Arith &b, Value x) {
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

static Value buildErf(Arith &b, Value x) {
  if (b.fast)
    return buildQuotient(b, x, 3.9, kFastErf, kFastErfBelow);
  Value magnitude = b.abs(x), one = b.number(1), most = b.number(4);
  Value small = b.mulAdd(b.polynomial(b.mul(x, x), kErf), x, x);
  Value y = b.select(b.compare(Pred::OGT, magnitude, most), most, magnitude);
  Exponential e = reduceExp(b, b.polynomial(y, kLogErfc));
  Value complement = b.mul(b.add(e.fraction, one), b.power2(e.n.number));
  Value large = b.withSign(b.sub(one, complement), x);
  // NaN takes the way of small numbers.
  return b.select(b.compare(Pred::OGE, magnitude, one), large, small);
}

/// log2(1 - erf(x)) / x for x from 0 to 9.5. From 4 on, where the difference is
/// less than 2^-25, it only goes below the logarithm of all floats.
constexpr double kLog2Erfc[] = {-1.6279072761535645,    -0.9184429049491882,
                                -0.14830756187438965,   0.027721332386136055,
                                0.00010184866550844163, -0.0023153445217758417,
                                0.0008950085612013936,  -0.0001805207721190527,
                                1.955633342731744e-05,  -8.864425922183727e-07};

/// 1 + erf(x), within 2^-23, in half of the instructions: the digits of erf
/// near 0 do not count.
static Value buildOnePlusErf(Arith &b, Value x) {
  Value magnitude = b.abs(x), most = b.number(9.5);
  Value y = b.select(b.compare(Pred::OGT, magnitude, most), most, magnitude);
  Value complement = buildExp2(b, b.mul(b.polynomial(y, kLog2Erfc), y));
  Value above = b.sub(b.number(2), complement);
  return b.select(b.compare(Pred::OLT, x, b.number(0)), complement, above);
}

/// The error function that an operation adds 1 to, as GELU does, if nothing
/// else needs it.
static math::ErfOp matchOnePlusErf(Operation *op) {
  auto sum = dyn_cast_or_null<arith::AddFOp>(op);
  if (!sum)
    return {};
  for (auto [term, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                             std::pair(sum.getRhs(), sum.getLhs())}) {
    auto erf = term.getDefiningOp<math::ErfOp>();
    if (erf && erf->hasOneUse() && matchPattern(other, m_OneFloat()))
      return erf;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Trigonometric functions
//===----------------------------------------------------------------------===//

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
static Angle reduceAngle(Arith &b, Value x) {
  Value product = b.mul(x, b.number64(kTwoOverPi[0]));
  Rounded n = round64(b, product);
  Value rest = b.mulAdd(x, b.number64(kTwoOverPiRest), b.sub(product, n.n));
  return {n.number, rest};
}

/// For all x: of each product only what is left of multiples of 4 counts.
static Angle reduceLargeAngle(Arith &b, Value x) {
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
static Angle reduceFast(Arith &b, Value x) {
  Rounded n =
      roundOf(b, b.mulAdd(x, b.number(0x1.45f306p-1), b.number(0x1.8p23)));
  Value y = b.mulAdd(n.n, b.number(-0x1.92p0), x);
  y = b.mulAdd(n.n, b.number(-0x1.fbp-12), y);
  return {n.number, b.mulAdd(n.n, b.number(-0x1.5110b4p-22), y)};
}

/// Both as 32 bits, and the rest in radians.
static Angle toRadians(Arith &b, const Angle &angle) {
  return {arith::TruncIOp::create(b, b.i32(), angle.quadrant),
          b.narrow(b.mul(angle.rest, b.number64(0x1.921fb54442d18p0)))};
}

/// The sine of x + quadrants * pi / 2. Large numbers are rare, so that they are
/// looked for, not computed always.
static Value buildSine(Arith &b, Value x, int32_t quadrants) {
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
static Value buildSin(Arith &b, Value x) {
  Value isZero = b.compare(Pred::OEQ, x, b.number(0));
  return b.select(isZero, x, buildSine(b, x, 0));
}

static Value buildCos(Arith &b, Value x) { return buildSine(b, x, 1); }

/// (atan(x) / x - 1) / x^2 by x^2 for |x| <= 1.
constexpr double kAtan[] = {
    -0.3333331346511841,   0.19998842477798462,  -0.14266346395015717,
    0.10958582162857056,   -0.08410654217004776, 0.05791354179382324,
    -0.030991289764642715, 0.010748500004410744, -0.0017437011701986194};

/// atan(x) = pi / 2 - atan(1 / x)
static Value buildAtan(Arith &b, Value x) {
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

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

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
static Value log2Of(Arith &b, Value x) {
  Value wide = b.widen(x), shift = b.integer64(52);
  Value bits = b.bits(wide);
  Value exponent = b.shiftRight(
      b.subI(bits, b.bits(b.number64(0x1.6a09e667f3bcdp-1))), shift);
  Value m = b.fromBits(b.subI(bits, b.shiftLeft(exponent, shift)));
  Value one = b.number64(1);
  Value s = b.div(b.sub(m, one), b.add(m, one));
  Value log = b.mul(b.polynomial(b.mul(s, s), kLog2Of), s);
  // The exponent is small.
  exponent = arith::SIToFPOp::create(
      b, b.f64(), arith::TruncIOp::create(b, b.i32(), exponent));
  log = b.add(exponent, log);
  Value infinity = b.number(kInfinity);
  log = b.select(b.compare(Pred::OEQ, x, b.number(0)), b.number64(-kInfinity),
                 log);
  log = b.select(b.compare(Pred::OEQ, x, infinity), b.number64(kInfinity), log);
  return b.select(b.isNaN(x), wide, log);
}

/// 2^(y * log2(x)) for x >= 0, in doubles, as an error of the exponent grows
/// with it.
static Value buildPowerOf(Arith &b, Value x, Value y) {
  if (b.fast)
    return buildExp2(b, b.mul(y, buildLog2(b, x)));
  Value exponent = b.mul(b.widen(y), log2Of(b, x));
  exponent = b.clamp(exponent, b.number64(-200), b.number64(200));
  Rounded n = round64(b, exponent);
  Value power = b.fromBits(
      b.shiftLeft(b.addI(n.number, b.integer64(1023)), b.integer64(52)));
  return b.narrow(b.mul(b.polynomial(b.sub(exponent, n.n), kPower), power));
}

static Value buildPow(Arith &b, Value x, Value y) {
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

//===----------------------------------------------------------------------===//
// Doubles
//===----------------------------------------------------------------------===//

/// The formulas of upstream for these two, the exponential less 1 and the
/// logarithm of 1 and x, lose all digits near 0. The errors of u = e^x and
/// log(u) cancel, and so do those of u = 1 + x and u - 1.
static Value buildExpM1OfDouble(Arith &b, Value x) {
  Value one = b.number64(1), minusOne = b.number64(-1);
  Value u = math::ExpOp::create(b, x), difference = b.sub(u, one);
  Value result = b.div(b.mul(difference, x), Value(math::LogOp::create(b, u)));
  Value isSaturated =
      arith::OrIOp::create(b, b.compare(Pred::OEQ, difference, minusOne),
                           b.compare(Pred::OEQ, u, b.number64(kInfinity)));
  result = b.select(isSaturated, difference, result);
  return b.select(b.compare(Pred::OEQ, u, one), x, result);
}

static Value buildLog1pOfDouble(Arith &b, Value x) {
  Value one = b.number64(1), u = b.add(one, x);
  Value log = math::LogOp::create(b, u);
  Value result = b.div(b.mul(log, x), b.sub(u, one));
  Value isEndless = b.compare(Pred::OEQ, u, b.number64(kInfinity));
  result = b.select(isEndless, log, result);
  return b.select(b.compare(Pred::OEQ, u, one), x, result);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

using Function = Value (*)(Arith &, ValueRange);

template <Value (*buildOf)(Arith &, Value)>
static Value buildUnary(Arith &b, ValueRange operands) {
  return buildOf(b, operands[0]);
}

static Value buildPower(Arith &b, ValueRange operands) {
  return buildPow(b, operands[0], operands[1]);
}

/// Returns the approximation of an operation at float32 operands; null where
/// libm computes it.
static Function findFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](arith::AddFOp sum) {
        return matchOnePlusErf(sum) ? buildUnary<buildOnePlusErf> : nullptr;
      })
      .Case([](math::AtanOp) { return buildUnary<buildAtan>; })
      .Case([](math::CosOp) { return buildUnary<buildCos>; })
      .Case([](math::ErfOp) { return buildUnary<buildErf>; })
      .Case([](math::ExpOp) { return buildUnary<buildExp>; })
      .Case([](math::Exp2Op) { return buildUnary<buildExp2>; })
      .Case([](math::ExpM1Op) { return buildUnary<buildExpM1>; })
      .Case([](math::LogOp) { return buildUnary<buildLog>; })
      .Case([](math::Log10Op) { return buildUnary<buildLog10>; })
      .Case([](math::Log1pOp) { return buildUnary<buildLog1p>; })
      .Case([](math::Log2Op) { return buildUnary<buildLog2>; })
      .Case([](math::SinOp) { return buildUnary<buildSin>; })
      .Case([](math::TanhOp) { return buildUnary<buildTanh>; })
      .Case([](math::PowFOp) { return buildPower; })
      .Default(Function());
}

/// The same for doubles.
static Function findFunctionOfDouble(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](math::ExpM1Op) { return buildUnary<buildExpM1OfDouble>; })
      .Case([](math::Log1pOp) { return buildUnary<buildLog1pOfDouble>; })
      .Default(Function());
}

/// The same for the type of the operation.
static Function findFunctionOfType(Operation *op) {
  if (op->getNumResults() != 1)
    return nullptr;
  Type type = op->getResult(0).getType();
  if (auto vector = dyn_cast<VectorType>(type); vector && vector.isScalable())
    return nullptr;
  Type element = getElementTypeOrSelf(type);
  if (!isa<VectorType, FloatType>(type))
    return nullptr;
  if (element.isF64())
    return findFunctionOfDouble(op);
  if (element.isF32() || element.isF16() || element.isBF16())
    return findFunction(op);
  return nullptr;
}

/// Whether `value` is what a loop has accumulated when `update` adds to it: a
/// value that the loop carries, or an element that is loaded and stored again.
static bool isAccumulator(Value value, Operation *update) {
  if (!update->hasOneUse())
    return false;
  OpOperand &use = *update->use_begin();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument != loop.getInductionVar() &&
           isa<scf::YieldOp>(use.getOwner()) &&
           loop.getTiedLoopYieldedValue(argument) == &use;
  }
  auto load = value.getDefiningOp<memref::LoadOp>();
  auto store = dyn_cast<memref::StoreOp>(use.getOwner());
  return load && store && load.getMemRef() == store.getMemRef() &&
         load.getIndices() == store.getIndices();
}

/// Allows LLVM to compute the sums and products of loops in any order, and to
/// ignore the signs of zeros. No other arithmetic may be reassociated: x - x is
/// 0 then, where infinities and NaN have to stay what they are.
static void relaxArithmetic(func::FuncOp function) {
  function.walk([&](arith::ArithFastMathInterface op) {
    auto flags = arith::FastMathFlags::nsz | arith::FastMathFlags::contract;
    if (isa<arith::AddFOp, arith::MulFOp>(op) &&
        llvm::any_of(op->getOperands(),
                     [&](Value value) { return isAccumulator(value, op); }))
      flags = flags | arith::FastMathFlags::reassoc;
    arith::FastMathFlagsAttr given = op.getFastMathFlagsAttr();
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(
                    op.getContext(), given ? given.getValue() | flags : flags));
  });
}

/// Whether an operation alone may have fewer digits.
static bool isApproximate(Operation *op) {
  auto function = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr given =
      function ? function.getFastMathFlagsAttr() : nullptr;
  return given &&
         bitEnumContainsAny(given.getValue(), arith::FastMathFlags::afn);
}

/// LLVM's reciprocals overflow where those of kernels are scaled.
static void forbidReciprocals(func::FuncOp function) {
  function.walk([](arith::DivFOp op) {
    op.setFastmath(
        arith::bitEnumClear(op.getFastmath(), arith::FastMathFlags::arcp));
  });
}

/// Rounds to bf16 by an instruction, which takes what is not normal for 0.
static void roundByInstruction(func::FuncOp function) {
  function.walk([](arith::TruncFOp op) {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!from || !getElementTypeOrSelf(op.getType()).isBF16() ||
        from != VectorType::get(16, Float32Type::get(op.getContext())))
      return;
    OpBuilder b(op);
    auto call = LLVM::CallIntrinsicOp::create(
        b, op.getLoc(), op.getType(),
        b.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"), op.getIn());
    op.replaceAllUsesWith(call.getResults());
    op.erase();
  });
}

namespace {
struct RelaxApproximateMathPass
    : relax::impl::RelaxApproximateMathPassBase<RelaxApproximateMathPass> {
  using RelaxApproximateMathPassBase::RelaxApproximateMathPassBase;

  void runOnOperation() override {
    forbidReciprocals(getOperation());
    // Before there are polynomials, which rely on the order of operations.
    if (fast)
      relaxArithmetic(getOperation());
    auto target = relax::TargetModel::get(getOperation());
    bool hasScalef = target.has("avx512f");
    SmallVector<std::pair<Operation *, Function>> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (Function function = findFunctionOfType(op))
        ops.emplace_back(op, function);
    });
    // From the last on: what takes another one in needs no code of that.
    for (auto [op, function] : llvm::reverse(ops)) {
      if (op->use_empty()) {
        op->erase();
        continue;
      }
      Arith b(op, fast || isApproximate(op), hasScalef);
      Type type = op->getResult(0).getType();
      math::ErfOp erf = matchOnePlusErf(op);
      SmallVector<Value> operands((erf ? erf : op)->getOperands());
      bool isNarrow = type != b.f32() && type != b.f64();
      if (isNarrow)
        for (Value &operand : operands)
          operand = arith::ExtFOp::create(b, b.f32(), operand);
      Value result = function(b, operands);
      if (isNarrow)
        result = arith::TruncFOp::create(b, type, result);
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
    if (flushBF16 && target.has("avx512bf16"))
      roundByInstruction(getOperation());
  }
};
} // namespace
