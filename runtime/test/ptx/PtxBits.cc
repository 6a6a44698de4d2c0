//===- PtxBits.cc - Shifts, fields of bits and moves ---------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions on bits, and moves that take words apart or put them together.
//
//===----------------------------------------------------------------------===//

#include "PtxFormats.h"
#include "PtxMachine.h"

#include <algorithm>
#include <type_traits>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Shapes of handlers: an operation has `run` of words
//===----------------------------------------------------------------------===//

template <class Op>
static void words1(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1);
  eachLane(mask, [=](int i) { to[i] = Op::run(a[i]); });
}
template <class Op>
static void words2(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  eachLane(mask, [=](int i) { to[i] = Op::run(a[i], b[i]); });
}
template <class Op>
static void words3(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2),
             *c = lanes(warp, in, 3);
  eachLane(mask, [=](int i) { to[i] = Op::run(a[i], b[i], c[i]); });
}

template <template <class> class Op>
static Handler pick1(const Name &name, Instruction &) {
  return withInteger<Handler>(name.type(), [](auto zero) -> Handler {
    return &words1<Op<decltype(zero)>>;
  });
}
template <template <class> class Op>
static Handler pick2(const Name &name, Instruction &) {
  return withInteger<Handler>(name.type(), [](auto zero) -> Handler {
    return &words2<Op<decltype(zero)>>;
  });
}
template <template <class> class Op>
static Handler pick3(const Name &name, Instruction &) {
  return withInteger<Handler>(name.type(), [](auto zero) -> Handler {
    return &words3<Op<decltype(zero)>>;
  });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

template <class T> static constexpr uint32_t kBits = sizeof(T) * 8;
template <class T> static Word plain(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

namespace {

// Shifts by more than there are bits give zero, or the sign.
template <class T> struct Shl {
  static Word run(Word a, Word b) {
    return uint32_t(b) >= kBits<T> ? 0 : plain(T(a << uint32_t(b)));
  }
};
template <class T> struct Shr {
  static Word run(Word a, Word b) {
    uint32_t by = std::min<uint32_t>(uint32_t(b), kBits<T>);
    if (by == kBits<T>)
      return plain(T(T(a) < 0 ? -1 : 0));
    return plain(T(T(a) >> by));
  }
};
template <class T> struct Popc {
  static Word run(Word a) { return Word(__builtin_popcountll(plain(T(a)))); }
};
template <class T> struct Clz {
  static Word run(Word a) {
    Word value = plain(T(a));
    return value ? Word(__builtin_clzll(value)) - (64 - kBits<T>) : kBits<T>;
  }
};
// The place of the highest bit that is not the sign.
template <class T> struct Bfind {
  static Word run(Word a) {
    T value = T(a);
    Word bits = plain(value < 0 ? T(~value) : value);
    return bits ? 63 - Word(__builtin_clzll(bits)) : 0xffffffff;
  }
};
template <class T> struct BfindShift {
  static Word run(Word a) {
    Word place = Bfind<T>::run(a);
    return place == 0xffffffff ? place : kBits<T> - 1 - place;
  }
};
template <class T> struct Brev {
  static Word run(Word a) {
    Word result = 0;
    for (uint32_t i = 0; i < kBits<T>; ++i)
      result |= (a >> i & 1) << (kBits<T> - 1 - i);
    return result;
  }
};
template <class T> struct Bfe {
  static Word run(Word a, Word b, Word c) {
    uint32_t place = b & 0xff, length = c & 0xff;
    Word value = plain(T(a)), result = 0;
    if (length == 0)
      return 0;
    uint32_t last = std::min(place + length - 1, kBits<T> - 1);
    Word sign = std::is_signed<T>::value ? value >> last & 1 : 0;
    for (uint32_t i = 0; i < kBits<T>; ++i) {
      bool inside = i < length && place + i < kBits<T>;
      result |= (inside ? value >> (place + i) & 1 : sign) << i;
    }
    return result;
  }
};
template <class T> struct Bfi {
  static Word run(Word a, Word b, Word place, Word length) {
    uint32_t begin = place & 0xff, count = length & 0xff;
    Word result = plain(T(b));
    for (uint32_t i = 0; i < count && begin + i < kBits<T>; ++i)
      result = (result & ~(Word(1) << (begin + i))) | (a >> i & 1)
                                                          << (begin + i);
    return result;
  }
};
template <bool kLeft, bool kWrap> struct Funnel {
  static Word run(Word low, Word high, Word by) {
    uint32_t n = kWrap ? by & 31 : std::min<uint32_t>(uint32_t(by), 32);
    Word both = high << 32 | uint32_t(low);
    return uint32_t(kLeft ? both << n >> 32 : both >> n);
  }
};
struct Permute {
  static Word run(Word a, Word b, Word selector) {
    Word both = b << 32 | uint32_t(a), result = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t which = selector >> (4 * i) & 15;
      uint8_t byte = uint8_t(both >> (8 * (which & 7)));
      if (which & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= Word(byte) << (8 * i);
    }
    return result;
  }
};
// .clamp of bmsk and szext.
struct MaskOf {
  static Word run(Word place, Word length) {
    uint32_t begin = std::min<uint32_t>(uint32_t(place), 32),
             count = std::min<uint32_t>(uint32_t(length), 32);
    return uint32_t(((Word(1) << count) - 1) << begin);
  }
};
template <class T> struct Extend {
  static Word run(Word a, Word count) {
    uint32_t n = std::min<uint32_t>(uint32_t(count), 32);
    if (n == 0)
      return 0;
    return uint32_t(T(uint32_t(a) << (32 - n)) >> (32 - n));
  }
};
template <class A, class B, int kParts, int kShift> struct DotProduct {
  static Word run(Word a, Word b, Word c) {
    constexpr int kStep = 8 * 4 / kParts;
    int64_t sum = int32_t(c);
    for (int i = 0; i < kParts; ++i)
      sum += int64_t(kParts == 4
                         ? A(a >> 8 * i)
                         : std::conditional_t<std::is_signed<A>::value, int16_t,
                                              uint16_t>(a >> kStep * i)) *
             B(b >> (8 * i + kShift));
    return uint32_t(sum);
  }
};

} // namespace

template <class T>
static void insertField(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2),
             *c = lanes(warp, in, 3), *d = lanes(warp, in, 4);
  eachLane(mask, [=](int i) { to[i] = Bfi<T>::run(a[i], b[i], c[i], d[i]); });
}

// Each bit of the result is that of the table at the bits of a, b and c.
static void lop3(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2),
             *c = lanes(warp, in, 3);
  unsigned table = static_cast<unsigned>(in.offset2);
  eachLane(mask, [=](int i) {
    uint32_t result = 0;
    for (unsigned k = 0; k < 8; ++k)
      if (table >> k & 1)
        result |= (k & 4 ? uint32_t(a[i]) : ~uint32_t(a[i])) &
                  (k & 2 ? uint32_t(b[i]) : ~uint32_t(b[i])) &
                  (k & 1 ? uint32_t(c[i]) : ~uint32_t(c[i]));
    to[i] = result;
  });
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static void move(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *from = lanes(warp, in, 1);
  eachLane(mask, [=](int i) { to[i] = from[i]; });
}

static void movePredicate(Warp &warp, const Instruction &in, Mask mask) {
  setPredicate(warp, in, 0, mask, predicate(warp, in, 1));
}

static Word lowBits(int bits) {
  return bits == 64 ? ~Word(0) : (Word(1) << bits) - 1;
}

// mov {a, b}, c: the first has the low bits.
static void unpack(Warp &warp, const Instruction &in, Mask mask) {
  int count = in.count[0], bits = in.mode;
  const Word *from = lanes(warp, in, count);
  Word copy[kLanes]; // a part may be where the whole is
  std::copy(from, from + kLanes, copy);
  for (int k = 0; k < count; ++k) {
    Word *to = lanes(warp, in, k);
    eachLane(mask, [&](int i) {
      to[i] = copy[i] >> (bits * k % 64) & lowBits(bits);
    });
  }
}

static void pack(Warp &warp, const Instruction &in, Mask mask) {
  int count = in.count[1], bits = in.mode;
  Word result[kLanes] = {};
  for (int k = 0; k < count; ++k) {
    const Word *from = lanes(warp, in, 1 + k);
    eachLane(mask, [&](int i) {
      result[i] |= (from[i] & lowBits(bits)) << (bits * k % 64);
    });
  }
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [&](int i) { to[i] = result[i]; });
}

static Handler pickMove(const Name &name, Instruction &in) {
  int parts = std::max(in.count[0], in.count[1]);
  if (name.types.size() != 1 || std::min(in.count[0], in.count[1]) != 1)
    return nullptr;
  if (name.type() == Type::Pred)
    return parts == 1 ? movePredicate : nullptr;
  if (parts == 1)
    return move;
  in.mode = static_cast<uint8_t>(bitsOf(name.type()) / parts);
  return in.count[0] > 1 ? unpack : pack;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

template <class Op> static Handler just2(const Name &, Instruction &) {
  return words2<Op>;
}
template <class Op> static Handler just3(const Name &, Instruction &) {
  return words3<Op>;
}
static Handler pickBfi(const Name &name, Instruction &) {
  return bitsOf(name.type()) == 64 ? insertField<uint64_t>
                                   : insertField<uint32_t>;
}
template <bool kLeft>
static Handler pickFunnel(const Name &name, Instruction &) {
  return name.has("wrap") ? &words3<Funnel<kLeft, true>>
                          : &words3<Funnel<kLeft, false>>;
}
static Handler pickLop3(const Name &, Instruction &) { return lop3; }
static Handler pickSzext(const Name &name, Instruction &) {
  return isSigned(name.type()) ? words2<Extend<int32_t>>
                               : words2<Extend<uint32_t>>;
}

template <class A, class B>
static Handler dotProduct(const Name &name, bool isTwo) {
  if (!isTwo)
    return words3<DotProduct<A, B, 4, 0>>;
  return name.has("hi") ? &words3<DotProduct<A, B, 2, 16>>
                        : &words3<DotProduct<A, B, 2, 0>>;
}
template <bool kTwo> static Handler pickDot(const Name &name, Instruction &) {
  bool a = isSigned(name.type(0)), b = isSigned(name.type(1));
  return a   ? b ? dotProduct<int8_t, int8_t>(name, kTwo)
                 : dotProduct<int8_t, uint8_t>(name, kTwo)
         : b ? dotProduct<uint8_t, int8_t>(name, kTwo)
             : dotProduct<uint8_t, uint8_t>(name, kTwo);
}

static const Row kBitRows[] = {
    {"mov", "", "D A", pickMove, Flow::Next},
    {"shl", "", "d a b", pick2<Shl>, Flow::Next},
    {"shr", "", "d a b", pick2<Shr>, Flow::Next},
    {"shf.l", "wrap clamp", "d a a b", pickFunnel<true>, Flow::Next},
    {"shf.r", "wrap clamp", "d a a b", pickFunnel<false>, Flow::Next},
    {"popc", "", "e a", pick1<Popc>, Flow::Next},
    {"clz", "", "e a", pick1<Clz>, Flow::Next},
    {"bfind", "", "e a", pick1<Bfind>, Flow::Next},
    {"bfind.shiftamt", "", "e a", pick1<BfindShift>, Flow::Next},
    {"brev", "", "d a", pick1<Brev>, Flow::Next},
    {"bfe", "", "d a b b", pick3<Bfe>, Flow::Next},
    {"bfi", "", "d a a b b", pickBfi, Flow::Next},
    {"prmt", "", "d a a b", just3<Permute>, Flow::Next},
    {"lop3", "", "d a a a i", pickLop3, Flow::Next},
    {"bmsk.clamp", "", "d a b", just2<MaskOf>, Flow::Next},
    {"szext.clamp", "", "d a b", pickSzext, Flow::Next},
    {"dp4a", "", "e a a b", pickDot<false>, Flow::Next},
    {"dp2a", "lo hi", "e a a b", pickDot<true>, Flow::Next},
};

Rows relax_ptx::bitRows() { return {std::begin(kBitRows), std::end(kBitRows)}; }
