//===- PtxConvert.cc - Conversions ---------------------------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cvt between integers and floats, with roundings and limits.
//
//===----------------------------------------------------------------------===//

#include "PtxFormats.h"
#include "PtxMachine.h"

#include <algorithm>
#include <limits>
#include <type_traits>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

// The register may be wider than the type: the sign goes on.
template <class To, class From>
static void integers(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0), keep = in.keep;
  const Word *a = lanes(warp, in, 1);
  if (!(in.flags & kSaturates)) {
    eachLane(mask, [=](int i) { to[i] = Word(To(From(a[i]))) & keep; });
    return;
  }
  eachLane(mask, [=](int i) {
    __int128 value = From(a[i]);
    value = std::clamp<__int128>(value, std::numeric_limits<To>::min(),
                                 std::numeric_limits<To>::max());
    to[i] = Word(To(value)) & keep;
  });
}

template <class Format, class From>
static void toFloat(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1);
  if (in.mode == kNearest) {
    eachLane(mask, [=](int i) { to[i] = Format::put(From(a[i])); });
    return;
  }
  eachLane(mask, [=](int i) {
    // Of 64 bits, the double may be rounded already: it is put right by them.
    double value = double(From(a[i]));
    if (sizeof(From) == 8 && std::fabs(value) < 0x1p63 &&
        (__int128)value != (__int128)From(a[i]) &&
        ((__int128)value > (__int128)From(a[i])) == (in.mode != kUp))
      value = std::nextafter(value, in.mode == kUp ? HUGE_VAL : -HUGE_VAL);
    to[i] = roundTo<Format>(value, in.mode);
  });
}

template <class To, class Format>
static void toInteger(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0), keep = in.keep;
  const Word *a = lanes(warp, in, 1);
  // The first value that is too large, exactly.
  const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
  eachLane(mask, [=](int i) {
    double value = Format::get(a[i]);
    if (in.flags & kFlushes)
      value = flush(static_cast<float>(value));
    value = roundToInteger(value, in.mode);
    To result;
    if (std::isnan(value))
      result = 0;
    else if (value >= end)
      result = std::numeric_limits<To>::max();
    else if (value < double(std::numeric_limits<To>::min()))
      result = std::numeric_limits<To>::min();
    else
      result = static_cast<To>(value);
    to[i] = Word(result) & keep;
  });
}

template <class To, class From>
static Word convertFloat(Word bits, uint8_t flags, uint8_t mode) {
  typename From::Value value = From::get(bits);
  if (flags & kFlushes && From::kType == Type::F32)
    value = flush(value);
  if (flags & kRounds)
    value = roundToInteger(value, mode);
  if (flags & kSaturates)
    value = saturate(value);
  // .relu: a NaN stays one.
  if (flags & kAtomic && value < 0)
    value = 0;
  Word result = mode == kNearest || flags & kRounds ? To::put(value)
                                                    : roundTo<To>(value, mode);
  if (flags & kFlushes && To::kType == Type::F32)
    result = F32::put(flush(F32::get(result)));
  return result;
}

template <class To, class From>
static void floats(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1);
  uint8_t flags = in.flags, mode = in.mode;
  eachLane(mask,
           [=](int i) { to[i] = convertFloat<To, From>(a[i], flags, mode); });
}

// cvt.rn.f16x2.f32 d, a, b: the first is the upper half.
template <class To>
static void toPairs(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1), *b = lanes(warp, in, 2);
  eachLane(mask, [=](int i) {
    to[i] = convertFloat<To, F32>(a[i], in.flags, in.mode) << 16 |
            convertFloat<To, F32>(b[i], in.flags, in.mode);
  });
}

// The mantissa keeps ten bits.
static void toTensorFloat(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  const Word *a = lanes(warp, in, 1);
  eachLane(mask, [=](int i) {
    uint32_t bits = uint32_t(a[i]);
    uint32_t half = in.mode == kAway     ? 0x1000
                    : in.mode == kToZero ? 0
                                         : 0xfff + (bits >> 13 & 1);
    bool isFinite = (bits & 0x7f800000) != 0x7f800000;
    to[i] = (isFinite ? bits + half : bits) & ~uint32_t(0x1fff);
  });
}

//===----------------------------------------------------------------------===//
// Choice of handlers
//===----------------------------------------------------------------------===//

static Handler pickFromFloat(const Name &name) {
  Type to = name.type();
  return withFormat<Handler>(name.type(1), [&](auto from) -> Handler {
    using From = decltype(from);
    if (isFloat(to))
      return withFormat<Handler>(to, [](auto format) -> Handler {
        return &floats<decltype(format), From>;
      });
    return withInteger<Handler>(to, [](auto zero) -> Handler {
      return &toInteger<decltype(zero), From>;
    });
  });
}

static Handler pickFromInteger(const Name &name) {
  Type to = name.type();
  return withInteger<Handler>(name.type(1), [&](auto from) -> Handler {
    using From = decltype(from);
    if (isFloat(to))
      return withFormat<Handler>(to, [](auto format) -> Handler {
        return &toFloat<decltype(format), From>;
      });
    return withInteger<Handler>(to, [](auto zero) -> Handler {
      return &integers<decltype(zero), From>;
    });
  });
}

static Handler pickConvert(const Name &name, Instruction &in) {
  if (name.types.size() != 2)
    return nullptr;
  bool isRounded =
      name.has("rni") || name.has("rzi") || name.has("rmi") || name.has("rpi");
  in.flags = flagsOf(name) | (isRounded ? kRounds : 0) |
             (name.has("relu") ? kAtomic : 0);
  in.mode = roundingOf(name);
  bool isPair = name.type() == Type::F16x2 || name.type() == Type::BF16x2;
  if (isPair != (in.slot[2] != kNone))
    return nullptr;
  if (isPair && name.type(1) != Type::F32)
    return nullptr;
  if (isPair)
    return name.type() == Type::F16x2 ? toPairs<F16> : toPairs<BF16>;
  if (name.type() == Type::TF32)
    return toTensorFloat;
  return isFloat(name.type(1)) ? pickFromFloat(name) : pickFromInteger(name);
}

static const Row kConvertRows[] = {
    {"cvt", "rn rz rm rp rna rni rzi rmi rpi ftz sat relu", "x y y?",
     pickConvert, Flow::Next},
};

Rows relax_ptx::convertRows() {
  return {std::begin(kConvertRows), std::end(kConvertRows)};
}
