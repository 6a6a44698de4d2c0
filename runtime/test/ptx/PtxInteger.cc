//===- PtxInteger.cc - Integers and bits ---------------------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic of integers.
//
//===----------------------------------------------------------------------===//

#include "PtxFormats.h"
#include "PtxMachine.h"

#include <algorithm>
#include <limits>
#include <type_traits>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Shapes of handlers
//===----------------------------------------------------------------------===//

template <class T> static Word asWord(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

template <class T, class Op>
static void unary(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1);
  eachLane(mask, [=](int i) { to[i] = asWord(Op::run(T(a[i]))); });
}

template <class T, class Op>
static void binary(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  eachLane(mask, [=](int i) { to[i] = asWord(Op::run(T(a[i]), T(b[i]))); });
}

template <class T, class Op>
static void ternary(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2),
             *c = lanes(warp, in, 3);
  eachLane(mask,
           [=](int i) { to[i] = asWord(Op::run(T(a[i]), T(b[i]), T(c[i]))); });
}

// Of all predicates at once.
template <class Op>
static void masks(Warp &warp, const Instruction &in, Mask mask) {
  Mask b = in.slot[2] == kNone ? 0 : predicate(warp, in, 2);
  setPredicate(warp, in, 0, mask, Op::run(predicate(warp, in, 1), b));
}

template <class Op> static Handler pickUnary(const Name &name, Instruction &) {
  return withInteger<Handler>(name.type(), [](auto zero) -> Handler {
    return &unary<decltype(zero), Op>;
  });
}
template <class Op> static Handler pickBinary(const Name &name, Instruction &) {
  return withInteger<Handler>(name.type(), [](auto zero) -> Handler {
    return &binary<decltype(zero), Op>;
  });
}
template <class Op>
static Handler pickTernary(const Name &name, Instruction &) {
  return withInteger<Handler>(name.type(), [](auto zero) -> Handler {
    return &ternary<decltype(zero), Op>;
  });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

// Sums wrap around, so they are those of unsigned numbers.
template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 8,
    std::conditional_t<std::is_signed<T>::value, __int128, unsigned __int128>,
    std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>>;

namespace {
struct Add {
  template <class T> static T run(T a, T b) { return T(Word(a) + Word(b)); }
};
struct Sub {
  template <class T> static T run(T a, T b) { return T(Word(a) - Word(b)); }
};
template <class Op> struct Saturated {
  static int32_t run(int32_t a, int32_t b) {
    int64_t value = Op::run(int64_t(a), int64_t(b));
    return static_cast<int32_t>(
        std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
  }
};
struct MulLow {
  template <class T> static T run(T a, T b) { return T(Word(a) * Word(b)); }
};
struct MulHigh {
  template <class T> static T run(T a, T b) {
    return T((Wide<T>(a) * Wide<T>(b)) >> (sizeof(T) * 8));
  }
};
struct MadLow {
  template <class T> static T run(T a, T b, T c) {
    return T(Word(a) * Word(b) + Word(c));
  }
};
struct MadHigh {
  template <class T> static T run(T a, T b, T c) {
    return Add::run(MulHigh::run(a, b), c);
  }
};
// What devices give for a division by zero is all ones.
struct Div {
  template <class T> static T run(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if (std::is_signed<T>::value && b == T(-1))
      return Sub::run(T(0), a);
    return T(a / b);
  }
};
struct Rem {
  template <class T> static T run(T a, T b) {
    if (b == 0)
      return a;
    if (std::is_signed<T>::value && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Min {
  template <class T> static T run(T a, T b) { return std::min(a, b); }
};
struct Max {
  template <class T> static T run(T a, T b) { return std::max(a, b); }
};
struct Neg {
  template <class T> static T run(T a) { return Sub::run(T(0), a); }
};
struct Abs {
  template <class T> static T run(T a) { return a < 0 ? Neg::run(a) : a; }
};
struct Sad {
  template <class T> static T run(T a, T b, T c) {
    return T(Word(c) + (a < b ? Word(b) - Word(a) : Word(a) - Word(b)));
  }
};
struct And {
  template <class T> static T run(T a, T b) { return a & b; }
};
struct Or {
  template <class T> static T run(T a, T b) { return a | b; }
};
struct Xor {
  template <class T> static T run(T a, T b) { return a ^ b; }
};
struct Not {
  template <class T> static T run(T a) { return T(~a); }
  template <class T> static T run(T a, T) { return T(~a); }
};
struct Cnot {
  template <class T> static T run(T a) { return a == 0; }
};
} // namespace

// mul.wide, mad.wide: the result is twice as wide.
template <class T>
static void mulWide(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  const Word *c = in.slot[3] == kNone ? nullptr : lanes(warp, in, 3);
  Word keep = sizeof(T) == 4 ? ~Word(0) : 0xffffffff;
  eachLane(mask, [=](int i) {
    Word product = Word(Wide<T>(T(a[i])) * Wide<T>(T(b[i])));
    to[i] = (product + (c ? c[i] : 0)) & keep;
  });
}
static Handler pickWide(const Name &name, Instruction &) {
  switch (name.type()) {
  case Type::S16:
    return mulWide<int16_t>;
  case Type::U16:
    return mulWide<uint16_t>;
  case Type::S32:
    return mulWide<int32_t>;
  case Type::U32:
    return mulWide<uint32_t>;
  default:
    return nullptr;
  }
}

// mul24, mad24: the low or high 32 bits of products of 24 bits.
template <class T>
static void mul24(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  const Word *c = in.slot[3] == kNone ? nullptr : lanes(warp, in, 3);
  auto part = [](Word word) { return Wide<T>(T(uint32_t(word) << 8) >> 8); };
  eachLane(mask, [=](int i) {
    to[i] = uint32_t(uint32_t(part(a[i]) * part(b[i])) + (c ? c[i] : 0));
  });
}
static Handler pickMul24(const Name &name, Instruction &) {
  return isSigned(name.type()) ? mul24<int32_t> : mul24<uint32_t>;
}

template <class Op>
static Handler pickLogic(const Name &name, Instruction &in) {
  return name.type() == Type::Pred ? &masks<Op> : pickBinary<Op>(name, in);
}
static Handler pickNot(const Name &name, Instruction &in) {
  return name.type() == Type::Pred ? &masks<Not> : pickUnary<Not>(name, in);
}

// Two integers of 16 bits in a word.
template <class T, class Op>
static void pairs(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  eachLane(mask, [=](int i) {
    to[i] = asWord(Op::run(T(a[i]), T(b[i]))) |
            asWord(Op::run(T(a[i] >> 16), T(b[i] >> 16))) << 16;
  });
}

// Add, sub, min, ... are also those of floats: see PtxFloat.cc.
template <class Op>
static Handler pickPlain(const Name &name, Instruction &in) {
  if (name.type() == Type::S16x2)
    return pairs<int16_t, Op>;
  if (name.type() == Type::U16x2)
    return pairs<uint16_t, Op>;
  return pickBinary<Op>(name, in);
}
template <class Op>
static Handler pickSaturated(const Name &name, Instruction &in) {
  if (!name.has("sat"))
    return pickPlain<Op>(name, in);
  return name.type() == Type::S32 ? &binary<int32_t, Saturated<Op>> : nullptr;
}
Handler relax_ptx::pickIntegerAdd(const Name &name, Instruction &in) {
  return pickSaturated<Add>(name, in);
}
Handler relax_ptx::pickIntegerSub(const Name &name, Instruction &in) {
  return pickSaturated<Sub>(name, in);
}
Handler relax_ptx::pickIntegerDiv(const Name &name, Instruction &in) {
  return pickBinary<Div>(name, in);
}
Handler relax_ptx::pickIntegerMin(const Name &name, Instruction &in) {
  return pickPlain<Min>(name, in);
}
Handler relax_ptx::pickIntegerMax(const Name &name, Instruction &in) {
  return pickPlain<Max>(name, in);
}
Handler relax_ptx::pickIntegerNeg(const Name &name, Instruction &in) {
  return pickUnary<Neg>(name, in);
}
Handler relax_ptx::pickIntegerAbs(const Name &name, Instruction &in) {
  return pickUnary<Abs>(name, in);
}

// add.cc, mad.lo.cc, ... set the carry that addc, madc.lo, ... take; each
// thread has one.
namespace {
enum CarryKind { kSum, kDifference, kLowProduct, kHighProduct };
enum CarryMode : uint8_t { kTakes = 1, kSets = 2 };
} // namespace

template <class T, CarryKind kKind>
static void withCarry(Warp &warp, const Instruction &in, Mask mask) {
  constexpr bool kIsProduct = kKind == kLowProduct || kKind == kHighProduct;
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  const Word *c = kIsProduct ? lanes(warp, in, 3) : b;
  using U = Unsigned<T>;
  eachLane(mask, [&](int i) {
    unsigned __int128 x = U(a[i]), y = U(c[i]);
    if (kIsProduct)
      x = U(kKind == kLowProduct ? MulLow::run(T(a[i]), T(b[i]))
                                 : MulHigh::run(T(a[i]), T(b[i])));
    unsigned carry = in.mode & kTakes ? warp.carry >> i & 1 : 0;
    unsigned __int128 value =
        kKind == kDifference ? x - y - carry : x + y + carry;
    to[i] = U(value);
    if (in.mode & kSets)
      warp.carry = (warp.carry & ~(Mask(1) << i)) |
                   Mask(value >> (sizeof(T) * 8) & 1) << i;
  });
}

template <CarryKind kKind, uint8_t kMode>
static Handler pickCarry(const Name &name, Instruction &in) {
  in.mode = kMode | (name.has("cc") ? kSets : 0);
  if (bitsOf(name.type()) < 32)
    return nullptr;
  return withInteger<Handler>(name.type(), [](auto zero) -> Handler {
    return &withCarry<decltype(zero), kKind>;
  });
}

static const char kTwo[] = "d a a", kThree[] = "d a a a";

static const Row kIntegerRows[] = {
    {"mul.lo", "", kTwo, pickBinary<MulLow>, Flow::Next},
    {"mul.hi", "", kTwo, pickBinary<MulHigh>, Flow::Next},
    {"mul.wide", "", "w a a", pickWide, Flow::Next},
    {"mad.lo", "", kThree, pickTernary<MadLow>, Flow::Next},
    {"mad.hi", "", kThree, pickTernary<MadHigh>, Flow::Next},
    {"mad.wide", "", "w a a W", pickWide, Flow::Next},
    {"mul24.lo", "", "d a a", pickMul24, Flow::Next},
    {"mad24.lo", "", kThree, pickMul24, Flow::Next},
    {"rem", "", kTwo, pickBinary<Rem>, Flow::Next},
    {"sad", "", kThree, pickTernary<Sad>, Flow::Next},
    {"and", "", "d a a", pickLogic<And>, Flow::Next},
    {"or", "", "d a a", pickLogic<Or>, Flow::Next},
    {"xor", "", "d a a", pickLogic<Xor>, Flow::Next},
    {"not", "", "d a", pickNot, Flow::Next},
    {"cnot", "", "d a", pickUnary<Cnot>, Flow::Next},
    {"add.cc", "", kTwo, pickCarry<kSum, kSets>, Flow::Next},
    {"addc", "cc", kTwo, pickCarry<kSum, kTakes>, Flow::Next},
    {"sub.cc", "", kTwo, pickCarry<kDifference, kSets>, Flow::Next},
    {"subc", "cc", kTwo, pickCarry<kDifference, kTakes>, Flow::Next},
    {"mad.lo.cc", "", kThree, pickCarry<kLowProduct, kSets>, Flow::Next},
    {"mad.hi.cc", "", kThree, pickCarry<kHighProduct, kSets>, Flow::Next},
    {"madc.lo", "cc", kThree, pickCarry<kLowProduct, kTakes>, Flow::Next},
    {"madc.hi", "cc", kThree, pickCarry<kHighProduct, kTakes>, Flow::Next},
};

Rows relax_ptx::integerRows() {
  return {std::begin(kIntegerRows), std::end(kIntegerRows)};
}
