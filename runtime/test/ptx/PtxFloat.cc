//===- PtxFloat.cc - Arithmetic of floats --------------------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums, products, quotients and minima, with the common ones as loops without
// questions. What devices approximate is computed as exactly as can be.
//
//===----------------------------------------------------------------------===//

#include "PtxFormats.h"
#include "PtxMachine.h"

#include <cfenv>
#include <limits>

using namespace relax_ptx;

uint8_t relax_ptx::roundingOf(const Name &name) {
  struct Pair {
    const char *name;
    Rounding rounding;
  };
  static const Pair kPairs[] = {{"rz", kToZero},  {"rm", kDown},  {"rp", kUp},
                                {"rzi", kToZero}, {"rmi", kDown}, {"rpi", kUp},
                                {"rna", kAway}};
  for (const Pair &pair : kPairs)
    if (name.has(pair.name))
      return pair.rounding;
  return kNearest;
}

uint8_t relax_ptx::flagsOf(const Name &name) {
  return (name.has("ftz") ? kFlushes : 0) | (name.has("sat") ? kSaturates : 0);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {
struct Add {
  template <class T> static T run(T a, T b) { return a + b; }
};
struct Sub {
  template <class T> static T run(T a, T b) { return a - b; }
};
struct Mul {
  template <class T> static T run(T a, T b) { return a * b; }
};
struct Div {
  template <class T> static T run(T a, T b) { return a / b; }
};
// A NaN gives way to a number; -0 is less than 0.
struct Min {
  template <class T> static T run(T a, T b) {
    if (std::isnan(a))
      return b;
    if (std::isnan(b) || a < b)
      return a;
    return a == b && std::signbit(a) ? a : b;
  }
};
struct Max {
  template <class T> static T run(T a, T b) {
    if (std::isnan(a))
      return b;
    if (std::isnan(b) || a > b)
      return a;
    return a == b && !std::signbit(a) ? a : b;
  }
};
template <class Op> struct WithNaN {
  template <class T> static T run(T a, T b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN()
                                          : Op::run(a, b);
  }
};
template <class Op> struct OfMagnitudes {
  template <class T> static T run(T a, T b) {
    T value = Op::run(std::fabs(a), std::fabs(b));
    return std::signbit(a) != std::signbit(b) ? -value : value;
  }
};
struct Fma {
  static float run(float a, float b, float c) { return std::fma(a, b, c); }
  static double run(double a, double b, double c) { return std::fma(a, b, c); }
};
struct FmaRelu {
  template <class T> static T run(T a, T b, T c) {
    T value = std::fma(a, b, c);
    return std::isnan(value) ? value : std::fmax(value, T(0));
  }
};
struct Neg {
  template <class T> static T run(T a) { return -a; }
};
struct Abs {
  template <class T> static T run(T a) { return std::fabs(a); }
};
struct Rcp {
  template <class T> static T run(T a) { return 1 / a; }
};
struct Sqrt {
  template <class T> static T run(T a) { return std::sqrt(a); }
};
// Of a double, which is rounded to the format.
struct Rsqrt {
  static double run(double a) { return 1 / std::sqrt(a); }
};
struct Exp2 {
  static double run(double a) { return std::exp2(a); }
};
struct Log2 {
  static double run(double a) { return std::log2(a); }
};
struct Sin {
  static double run(double a) { return std::sin(a); }
};
struct Cos {
  static double run(double a) { return std::cos(a); }
};
struct Tanh {
  static double run(double a) { return std::tanh(a); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Shapes of handlers
//===----------------------------------------------------------------------===//

// The plain ones, and those with flags.
template <class Format, class Op, bool kFlags>
static void unary(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1);
  using Value = typename Format::Value;
  uint8_t flags = kFlags ? in.flags : 0;
  eachLane(mask, [=](int i) {
    Value x = Format::get(a[i]);
    if (flags & kFlushes)
      x = flush(x);
    Value value = static_cast<Value>(Op::run(x));
    if (flags & kFlushes)
      value = flush(value);
    to[i] = Format::put(flags & kSaturates ? saturate(value) : value);
  });
}

template <class Format, class Op, bool kFlags>
static void binary(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  using Value = typename Format::Value;
  uint8_t flags = kFlags ? in.flags : 0;
  eachLane(mask, [=](int i) {
    Value x = Format::get(a[i]), y = Format::get(b[i]);
    if (flags & kFlushes) {
      x = flush(x);
      y = flush(y);
    }
    Value value = Op::run(x, y);
    if (flags & kFlushes)
      value = flush(value);
    to[i] = Format::put(flags & kSaturates ? saturate(value) : value);
  });
}

// The type that products and a sum are exact in, where there is one.
template <class Format>
using Exact = std::conditional_t<sizeof(typename Format::Bits) == 2, double,
                                 typename Format::Value>;

template <class Format, class Op, bool kFlags>
static void ternary(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2),
             *c = lanes(warp, in, 3);
  using Value = Exact<Format>;
  uint8_t flags = kFlags ? in.flags : 0;
  eachLane(mask, [=](int i) {
    Value x = Format::get(a[i]), y = Format::get(b[i]), z = Format::get(c[i]);
    if (flags & kFlushes) {
      x = flush(x);
      y = flush(y);
      z = flush(z);
    }
    Value value = Op::run(x, y, z);
    if (flags & kFlushes)
      value = flush(value);
    to[i] = Format::put(flags & kSaturates ? saturate(value) : value);
  });
}

#if defined(__x86_64__)
// The processor's own instruction is many times as fast as the library's.
__attribute__((target("fma"))) static void
fmaSingle(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2),
             *c = lanes(warp, in, 3);
  for (int i = 0; i < kLanes; ++i)
    if (mask >> i & 1)
      to[i] = F32::put(
          __builtin_fmaf(F32::get(a[i]), F32::get(b[i]), F32::get(c[i])));
}
static bool hasFma() { return __builtin_cpu_supports("fma"); }
#else
static constexpr Handler fmaSingle = ternary<F32, Fma, false>;
static bool hasFma() { return false; }
#endif

// Two small floats in a word, one after the other.
template <class Format, Handler kHalf, int kOperands>
static void pairs(Warp &warp, const Instruction &in, Mask mask) {
  Word parts[kOperands + 1][kLanes], results[2][kLanes];
  Instruction half = in;
  Warp part;
  part.file = parts[0];
  for (int k = 0; k <= kOperands; ++k)
    half.slot[k] = static_cast<uint32_t>(k) * kLanes;
  for (int h = 0; h < 2; ++h) {
    for (int k = 1; k <= kOperands; ++k) {
      const Word *from = lanes(warp, in, k);
      for (int i = 0; i < kLanes; ++i)
        parts[k][i] = from[i] >> (16 * h) & 0xffff;
    }
    kHalf(part, half, mask);
    std::copy(parts[0], parts[0] + kLanes, results[h]);
  }
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [&](int i) { to[i] = results[0][i] | results[1][i] << 16; });
}

// Changes the rounding of the processor meanwhile.
template <Handler kHandler>
static void directed(Warp &warp, const Instruction &in, Mask mask) {
  static const int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                               FE_UPWARD};
  std::fesetround(kModes[in.mode]);
  kHandler(warp, in, mask);
  std::fesetround(FE_TONEAREST);
}

//===----------------------------------------------------------------------===//
// Choice of handlers
//===----------------------------------------------------------------------===//

template <class Op, int kOperands> struct Shape;
template <class Op> struct Shape<Op, 1> {
  template <class Format, bool kFlags>
  static constexpr Handler kRun = unary<Format, Op, kFlags>;
};
template <class Op> struct Shape<Op, 2> {
  template <class Format, bool kFlags>
  static constexpr Handler kRun = binary<Format, Op, kFlags>;
};
template <class Op> struct Shape<Op, 3> {
  template <class Format, bool kFlags>
  static constexpr Handler kRun = ternary<Format, Op, kFlags>;
};

template <class Op, int kOperands>
static Handler pick(const Name &name, Instruction &in) {
  using Run = Shape<Op, kOperands>;
  in.flags = flagsOf(name);
  in.mode = roundingOf(name);
  if (name.types.size() != 1)
    return nullptr;
  if (in.mode != kNearest) {
    if (name.type() == Type::F32)
      return directed<Run::template kRun<F32, true>>;
    return name.type() == Type::F64 ? &directed<Run::template kRun<F64, true>>
                                    : nullptr;
  }
  switch (name.type()) {
  case Type::F16x2:
    return pairs<F16, Run::template kRun<F16, true>, kOperands>;
  case Type::BF16x2:
    return pairs<BF16, Run::template kRun<BF16, true>, kOperands>;
  default:
    return withFormat<Handler>(name.type(), [&](auto format) {
      using Format = decltype(format);
      return in.flags ? Run::template kRun<Format, true>
                      : Run::template kRun<Format, false>;
    });
  }
}

template <class Op, Handler (*kOther)(const Name &, Instruction &)>
static Handler pickBoth(const Name &name, Instruction &in) {
  return isFloat(name.type()) ? pick<Op, 2>(name, in) : kOther(name, in);
}
template <class Op, Handler (*kOther)(const Name &, Instruction &)>
static Handler pickBoth1(const Name &name, Instruction &in) {
  return isFloat(name.type()) ? pick<Op, 1>(name, in) : kOther(name, in);
}

template <class Op, Handler (*kOther)(const Name &, Instruction &)>
static Handler pickMinMax(const Name &name, Instruction &in) {
  if (!isFloat(name.type()))
    return kOther(name, in);
  if (name.has("abs"))
    return name.has("NaN") ? pick<OfMagnitudes<WithNaN<Op>>, 2>(name, in)
                           : pick<OfMagnitudes<Op>, 2>(name, in);
  return name.has("NaN") ? pick<WithNaN<Op>, 2>(name, in)
                         : pick<Op, 2>(name, in);
}

static Handler pickFma(const Name &name, Instruction &in) {
  if (name.has("relu"))
    return pick<FmaRelu, 3>(name, in);
  Handler handler = pick<Fma, 3>(name, in);
  bool isPlain = name.type() == Type::F32 && !in.flags && in.mode == kNearest;
  return isPlain && hasFma() ? fmaSingle : handler;
}

// Copies the sign of the first to the second.
static void copySign(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  Word sign = (in.keep >> 1) + 1;
  eachLane(mask, [=](int i) { to[i] = (a[i] & sign) | (b[i] & (sign - 1)); });
}
static Handler pickCopySign(const Name &name, Instruction &) {
  return isFloat(name.type()) ? copySign : nullptr;
}

static const char kWords[] = "rn rz rm rp ftz sat";

static const Row kFloatRows[] = {
    {"add", kWords, "d a a", pickBoth<Add, pickIntegerAdd>, Flow::Next},
    {"sub", kWords, "d a a", pickBoth<Sub, pickIntegerSub>, Flow::Next},
    {"mul", kWords, "d a a", pick<Mul, 2>, Flow::Next},
    {"div", "rn rz rm rp ftz approx full", "d a a",
     pickBoth<Div, pickIntegerDiv>, Flow::Next},
    {"min", "ftz NaN abs xorsign", "d a a", pickMinMax<Min, pickIntegerMin>,
     Flow::Next},
    {"max", "ftz NaN abs xorsign", "d a a", pickMinMax<Max, pickIntegerMax>,
     Flow::Next},
    {"fma", "rn rz rm rp ftz sat relu", "d a a a", pickFma, Flow::Next},
    {"mad", kWords, "d a a a", pickFma, Flow::Next},
    {"copysign", "", "d a a", pickCopySign, Flow::Next},
};

Rows relax_ptx::floatRows() {
  return {std::begin(kFloatRows), std::end(kFloatRows)};
}

static const Row kMathRows[] = {
    {"neg", "ftz", "d a", pickBoth1<Neg, pickIntegerNeg>, Flow::Next},
    {"abs", "ftz", "d a", pickBoth1<Abs, pickIntegerAbs>, Flow::Next},
    {"rcp", "rn rz rm rp ftz approx", "d a", pick<Rcp, 1>, Flow::Next},
    {"sqrt", "rn rz rm rp ftz approx", "d a", pick<Sqrt, 1>, Flow::Next},
    {"rsqrt", "ftz approx", "d a", pick<Rsqrt, 1>, Flow::Next},
    {"ex2", "ftz approx", "d a", pick<Exp2, 1>, Flow::Next},
    {"lg2", "ftz approx", "d a", pick<Log2, 1>, Flow::Next},
    {"sin", "ftz approx", "d a", pick<Sin, 1>, Flow::Next},
    {"cos", "ftz approx", "d a", pick<Cos, 1>, Flow::Next},
    {"tanh", "approx", "d a", pick<Tanh, 1>, Flow::Next},
};

Rows relax_ptx::mathRows() {
  return {std::begin(kMathRows), std::end(kMathRows)};
}
