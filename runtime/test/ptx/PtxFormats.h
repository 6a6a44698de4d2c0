//===- PtxFormats.h - Numbers in registers -------------------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How formats of floats are kept in lanes, and roundings to them.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_FORMATS_H
#define RELAX_RUNTIME_TEST_PTX_FORMATS_H

#include "PtxProgram.h"

#include <cmath>
#include <cstring>

namespace relax_ptx {

template <class To, class From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// The nearest value of a format with so many bits of exponent and mantissa.
template <int kExponent, int kMantissa> inline uint16_t encode(double value) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1, kShift = 52 - kMantissa;
  uint64_t bits = bitCast<uint64_t>(value);
  uint64_t magnitude = bits << 1 >> 1;
  uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  constexpr uint64_t kInfinity = uint64_t(0x7ff) << 52;
  if (magnitude > kInfinity)
    return 0x7fff;
  int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent > kBias)
    return sign | uint16_t(((1 << kExponent) - 1) << kMantissa);
  int shift = kShift;
  if (exponent >= 1 - kBias) {
    magnitude -= uint64_t(1023 - kBias) << 52;
  } else {
    shift += 1 - kBias - exponent;
    if (shift > 54)
      return sign;
    magnitude = (magnitude & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
  }
  uint64_t half = (uint64_t(1) << (shift - 1)) - 1 + (magnitude >> shift & 1);
  return sign | static_cast<uint16_t>((magnitude + half) >> shift);
}

inline float decodeHalf(uint16_t bits) {
  uint32_t magnitude = uint32_t(bits & 0x7fff) << 13;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  if ((bits & 0x7c00) == 0x7c00)
    return bitCast<float>(magnitude | 0x7f800000 | sign);
  float scaled = bitCast<float>(magnitude) * 0x1p112f;
  return bitCast<float>(bitCast<uint32_t>(scaled) | sign);
}

// Each format: the type it is computed in, and how a lane holds it. Sums,
// products and quotients of the small formats are right when they are rounded
// from the wider type.
struct F16 {
  using Value = float;
  using Bits = uint16_t;
  static constexpr Type kType = Type::F16;
  static Value get(Word word) { return decodeHalf(uint16_t(word)); }
  static Word put(double value) { return encode<5, 10>(value); }
};
struct BF16 {
  using Value = float;
  using Bits = uint16_t;
  static constexpr Type kType = Type::BF16;
  static Value get(Word word) {
    return bitCast<float>(uint32_t(uint16_t(word)) << 16);
  }
  static Word put(double value) { return encode<8, 7>(value); }
};
struct F32 {
  using Value = float;
  using Bits = uint32_t;
  static constexpr Type kType = Type::F32;
  static Value get(Word word) { return bitCast<float>(uint32_t(word)); }
  static Word put(Value value) { return bitCast<uint32_t>(value); }
};
struct F64 {
  using Value = double;
  using Bits = uint64_t;
  static constexpr Type kType = Type::F64;
  static Value get(Word word) { return bitCast<double>(word); }
  static Word put(Value value) { return bitCast<uint64_t>(value); }
};

// Denormals are zeros.
inline float flush(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}
inline double flush(double value) { return value; }

template <class T> inline T saturate(T value) {
  return value > 0 ? value < 1 ? value : T(1) : T(0);
}

// The value of a format next to `nearest` where the direction wants it.
template <class Format> inline Word roundTo(double value, uint8_t rounding) {
  using Bits = typename Format::Bits;
  Bits bits = static_cast<Bits>(Format::put(value));
  double nearest = Format::get(bits);
  if (rounding == kNearest || std::isnan(value) || nearest == value)
    return bits;
  constexpr Bits kSign = Bits(1) << (sizeof(Bits) * 8 - 1);
  bool isNegative = std::signbit(value);
  bool wantsUp = rounding == kUp || (rounding == kToZero && isNegative);
  if (wantsUp == (nearest > value))
    return bits;
  // One step up or down: magnitudes are in order as numbers.
  if ((bits & ~kSign) == 0)
    return wantsUp ? 1 : Bits(kSign | 1);
  return static_cast<Bits>(wantsUp == (bits & kSign ? true : false) ? bits - 1
                                                                    : bits + 1);
}

template <class T> inline T roundToInteger(T value, uint8_t rounding) {
  switch (rounding) {
  case kToZero:
    return std::trunc(value);
  case kDown:
    return std::floor(value);
  case kUp:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

// Calls f with the format of a type; nothing for others.
template <class Result, class F> Result withFormat(Type type, F f) {
  switch (type) {
  case Type::F16:
    return f(F16());
  case Type::BF16:
    return f(BF16());
  case Type::F32:
    return f(F32());
  case Type::F64:
    return f(F64());
  default:
    return Result();
  }
}

// Calls f with a zero of the C++ type of an integer type.
template <class Result, class F> Result withInteger(Type type, F f) {
  switch (type) {
  case Type::S8:
    return f(int8_t());
  case Type::S16:
    return f(int16_t());
  case Type::S32:
    return f(int32_t());
  case Type::S64:
    return f(int64_t());
  case Type::U8:
  case Type::B8:
    return f(uint8_t());
  case Type::U16:
  case Type::B16:
    return f(uint16_t());
  case Type::U32:
  case Type::B32:
    return f(uint32_t());
  case Type::U64:
  case Type::B64:
    return f(uint64_t());
  default:
    return Result();
  }
}

// The words .rn, .rz, .rm, .rp, with i after them for integers.
uint8_t roundingOf(const Name &name);
// The flags of .ftz and .sat.
uint8_t flagsOf(const Name &name);

// Instructions that are both of integers and of floats.
Handler pickIntegerAdd(const Name &name, Instruction &in);
Handler pickIntegerSub(const Name &name, Instruction &in);
Handler pickIntegerDiv(const Name &name, Instruction &in);
Handler pickIntegerMin(const Name &name, Instruction &in);
Handler pickIntegerMax(const Name &name, Instruction &in);
Handler pickIntegerNeg(const Name &name, Instruction &in);
Handler pickIntegerAbs(const Name &name, Instruction &in);

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_FORMATS_H
