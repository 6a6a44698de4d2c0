//===- PtxCompare.cc - Comparisons and selections ------------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// setp, set, selp, slct and testp.
//
//===----------------------------------------------------------------------===//

#include "PtxFormats.h"
#include "PtxMachine.h"

#include <type_traits>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

namespace {
enum Compare : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kNum, kNan };
constexpr uint8_t kUnordered = 8; // also true where one is a NaN
enum Combine : uint8_t { kAlone, kAnd, kOr, kXor };

struct CompareName {
  const char *name;
  uint8_t mode;
};
} // namespace

static const CompareName kCompares[] = {
    {"eq", kEq},
    {"ne", kNe},
    {"lt", kLt},
    {"le", kLe},
    {"gt", kGt},
    {"ge", kGe},
    {"lo", kLt},
    {"ls", kLe},
    {"hi", kGt},
    {"hs", kGe},
    {"equ", kEq | kUnordered},
    {"neu", kNe | kUnordered},
    {"ltu", kLt | kUnordered},
    {"leu", kLe | kUnordered},
    {"gtu", kGt | kUnordered},
    {"geu", kGe | kUnordered},
    {"num", kNum},
    {"nan", kNan},
};

template <class Get, class F>
static Mask collect(const Word *a, const Word *b, Mask mask, Get get, F f) {
  Mask result = 0;
  eachLane(mask, [&](int i) {
    result |= Mask(f(get(a[i]), get(b[i])) ? 1 : 0) << i;
  });
  return result;
}

template <class Get>
static Mask compareLanes(const Word *a, const Word *b, Mask mask, uint8_t mode,
                         Get get) {
  using T = decltype(get(0));
  switch (mode & ~kUnordered) {
  case kEq:
    return collect(a, b, mask, get, [](T x, T y) { return x == y; });
  case kNe:
    return collect(a, b, mask, get, [](T x, T y) { return x != y; });
  case kLt:
    return collect(a, b, mask, get, [](T x, T y) { return x < y; });
  case kLe:
    return collect(a, b, mask, get, [](T x, T y) { return x <= y; });
  case kGt:
    return collect(a, b, mask, get, [](T x, T y) { return x > y; });
  default:
    return collect(a, b, mask, get, [](T x, T y) { return x >= y; });
  }
}

template <class T> struct OfIntegers {
  static Mask run(const Word *a, const Word *b, Mask mask,
                  const Instruction &in) {
    return compareLanes(a, b, mask, in.mode, [](Word x) { return T(x); });
  }
};

template <class Format> struct OfFloats {
  static Mask run(const Word *a, const Word *b, Mask mask,
                  const Instruction &in) {
    auto get = [&](Word x) {
      return in.flags & kFlushes ? flush(Format::get(x)) : Format::get(x);
    };
    Mask unordered = collect(a, b, mask, get, [](auto x, auto y) {
      return std::isnan(x) || std::isnan(y);
    });
    if (in.mode == kNum || in.mode == kNan)
      return in.mode == kNan ? unordered : mask & ~unordered;
    Mask ordered = compareLanes(a, b, mask, in.mode, get) & ~unordered;
    return in.mode & kUnordered ? ordered | unordered : ordered;
  }
};

static Mask combine(uint8_t how, Mask value, Mask other) {
  switch (how) {
  case kAnd:
    return value & other;
  case kOr:
    return value | other;
  case kXor:
    return value ^ other;
  default:
    return value;
  }
}

// setp p|q, a, b, c: q is of the contrary.
template <class Of>
static void setPredicates(Warp &warp, const Instruction &in, Mask mask) {
  Mask value = Of::run(lanes(warp, in, 2), lanes(warp, in, 3), mask, in);
  Mask other = in.slot[4] == kNone ? 0 : predicate(warp, in, 4);
  setPredicate(warp, in, 0, mask, combine(in.vector, value, other));
  if (in.slot[1] != kNone)
    setPredicate(warp, in, 1, mask, combine(in.vector, ~value, other));
}

// setp of pairs: p is of the lower halves, q of the upper ones.
template <class Format>
static void setPairs(Warp &warp, const Instruction &in, Mask mask) {
  const Word *a = lanes(warp, in, 2), *b = lanes(warp, in, 3);
  Word x[kLanes], y[kLanes];
  Mask other = in.slot[4] == kNone ? 0 : predicate(warp, in, 4);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < kLanes; ++i) {
      x[i] = a[i] >> (16 * half);
      y[i] = b[i] >> (16 * half);
    }
    Mask value = OfFloats<Format>::run(x, y, mask, in);
    if (in.slot[half] != kNone)
      setPredicate(warp, in, half, mask, combine(in.vector, value, other));
  }
}

// set: ones, or 1.0, where it is true.
template <class Of>
static void setWords(Warp &warp, const Instruction &in, Mask mask) {
  Mask value = Of::run(lanes(warp, in, 1), lanes(warp, in, 2), mask, in);
  Mask other = in.slot[3] == kNone ? 0 : predicate(warp, in, 3);
  value = combine(in.vector, value, other);
  Word yes = static_cast<Word>(in.offset);
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [&](int i) { to[i] = value >> i & 1 ? yes : 0; });
}

// set of pairs: a half of the result for each.
template <class Format>
static void setHalves(Warp &warp, const Instruction &in, Mask mask) {
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  Word x[kLanes], y[kLanes], result[kLanes] = {};
  Mask other = in.slot[3] == kNone ? 0 : predicate(warp, in, 3);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < kLanes; ++i) {
      x[i] = a[i] >> (16 * half);
      y[i] = b[i] >> (16 * half);
    }
    Mask value = OfFloats<Format>::run(x, y, mask, in);
    value = combine(in.vector, value, other);
    eachLane(value & mask, [&](int i) {
      result[i] |= static_cast<Word>(in.offset) << (16 * half);
    });
  }
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [&](int i) { to[i] = result[i]; });
}

static bool readCompare(const Name &name, Instruction &in) {
  in.flags = flagsOf(name);
  in.vector = name.has("and")   ? kAnd
              : name.has("or")  ? kOr
              : name.has("xor") ? kXor
                                : kAlone;
  for (const CompareName &row : kCompares)
    if (name.has(row.name)) {
      in.mode = row.mode;
      return true;
    }
  return false;
}

// Calls f with what compares values of a type.
template <class F> static Handler withCompare(Type type, F f) {
  if (isFloat(type))
    return withFormat<Handler>(
        type, [&](auto format) { return f(OfFloats<decltype(format)>()); });
  return withInteger<Handler>(
      type, [&](auto zero) { return f(OfIntegers<decltype(zero)>()); });
}

static Handler pickSetp(const Name &name, Instruction &in) {
  if (!readCompare(name, in))
    return nullptr;
  if (name.type() == Type::F16x2)
    return setPairs<F16>;
  if (name.type() == Type::BF16x2)
    return setPairs<BF16>;
  return withCompare(name.type(), [](auto of) -> Handler {
    return &setPredicates<decltype(of)>;
  });
}

static Handler pickSet(const Name &name, Instruction &in) {
  if (!readCompare(name, in) || name.types.size() != 2)
    return nullptr;
  switch (name.type()) {
  case Type::F32:
    in.offset = 0x3f800000;
    break;
  case Type::F16:
    in.offset = 0x3c00;
    break;
  case Type::BF16:
    in.offset = 0x3f80;
    break;
  default:
    in.offset = 0xffffffff;
    break;
  }
  Type from = name.type(1);
  if (from == Type::F16x2 || from == Type::BF16x2) {
    in.offset = name.type() == Type::F16x2    ? 0x3c00
                : name.type() == Type::BF16x2 ? 0x3f80
                                              : 0xffff;
    return from == Type::F16x2 ? setHalves<F16> : setHalves<BF16>;
  }
  return withCompare(
      name.type(1), [](auto of) -> Handler { return &setWords<decltype(of)>; });
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

static void select(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  Mask which = predicate(warp, in, 3);
  eachLane(mask, [=](int i) { to[i] = which >> i & 1 ? a[i] : b[i]; });
}
static Handler pickSelect(const Name &, Instruction &) { return select; }

template <bool kFloat>
static void selectBySign(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2),
             *c = lanes(warp, in, 3);
  eachLane(mask, [=](int i) {
    bool first = kFloat ? F32::get(c[i]) >= 0 : int32_t(c[i]) >= 0;
    to[i] = first ? a[i] : b[i];
  });
}
static Handler pickSelectBySign(const Name &name, Instruction &) {
  return name.type(1) == Type::F32 ? selectBySign<true> : selectBySign<false>;
}

template <class Format>
static void testKind(Warp &warp, const Instruction &in, Mask mask) {
  const Word *a = lanes(warp, in, 1);
  Mask value = 0;
  eachLane(mask, [&](int i) {
    int kind = std::fpclassify(Format::get(a[i]));
    value |= Mask(in.mode >> (kind == FP_NAN         ? 0
                              : kind == FP_INFINITE  ? 1
                              : kind == FP_SUBNORMAL ? 2
                              : kind == FP_ZERO      ? 3
                                                     : 4) &
                  1)
             << i;
  });
  setPredicate(warp, in, 0, mask, value);
}

// The mode has a bit for each kind of number.
static Handler pickTestp(const Name &name, Instruction &in) {
  in.mode = name.has("finite")       ? 0b11100
            : name.has("infinite")   ? 0b00010
            : name.has("number")     ? 0b11110
            : name.has("notanumber") ? 0b00001
            : name.has("normal")     ? 0b10000
            : name.has("subnormal")  ? 0b00100
                                     : 0;
  if (name.type() == Type::F32)
    return testKind<F32>;
  return name.type() == Type::F64 ? testKind<F64> : nullptr;
}

static const char kWords[] =
    "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor "
    "ftz";

static const Row kCompareRows[] = {
    {"setp", kWords, "p|p? a a q?", pickSetp, Flow::Next},
    {"set", kWords, "d s s q?", pickSet, Flow::Next},
    {"selp", "", "d a a q", pickSelect, Flow::Next},
    {"slct", "ftz", "d a a s", pickSelectBySign, Flow::Next},
    {"testp", "finite infinite number notanumber normal subnormal", "p a",
     pickTestp, Flow::Next},
};

Rows relax_ptx::compareRows() {
  return {std::begin(kCompareRows), std::end(kCompareRows)};
}
