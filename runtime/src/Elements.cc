//===- Elements.cc - Elements of tensors as numbers -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases: integers by their width; floats of the machine; floats of 16 bits, by
// the number of bits of their fraction.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include <charconv>
#include <cmath>
#include <limits>

using namespace relax_runtime;

namespace {
// A float of 16 bits: a sign, an exponent, and a fraction of so many bits.
struct Half {
  int fractionBits;

  int exponentBits() const { return 15 - fractionBits; }
  int bias() const { return (1 << (exponentBits() - 1)) - 1; }
  int largestExponent() const { return (1 << exponentBits()) - 1; }

  double decode(uint16_t bits) const;
  uint16_t encode(double value) const;
};
} // namespace

constexpr Half kFloat16 = {10}, kBFloat16 = {7};

double Half::decode(uint16_t bits) const {
  int exponent = (bits >> fractionBits) & largestExponent();
  int fraction = bits & ((1 << fractionBits) - 1);
  double value;
  if (exponent == largestExponent())
    value = fraction ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, 1 - bias() - fractionBits);
  else
    value = std::ldexp(fraction + (1 << fractionBits),
                       exponent - bias() - fractionBits);
  return bits & 0x8000 ? -value : value;
}

uint16_t Half::encode(double value) const {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  int infinity = largestExponent() << fractionBits;
  if (std::isnan(value))
    return static_cast<uint16_t>(sign | infinity | 1 << (fractionBits - 1));
  if (std::isinf(value))
    return static_cast<uint16_t>(sign | infinity);
  int exponent = value == 0 ? 0 : std::ilogb(value) + bias();
  exponent = std::max(exponent, 1); // numbers below 2^(1 - bias) are subnormal
  // The fraction with the bit before the point; rounding may carry into the
  // exponent, which gives the next power of 2, or infinity.
  double scaled =
      std::ldexp(std::fabs(value), fractionBits + bias() - exponent);
  auto fraction = static_cast<int64_t>(std::nearbyint(scaled));
  int64_t bits =
      (static_cast<int64_t>(exponent - 1) << fractionBits) + fraction;
  return static_cast<uint16_t>(sign | std::min<int64_t>(bits, infinity));
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

bool relax_runtime::hasElements(DLDataType dtype) {
  if (dtype.lanes != 1)
    return false;
  switch (dtype.code) {
  case kDLBool:
    return dtype.bits == 8;
  case kDLInt:
  case kDLUInt:
    return dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 ||
           dtype.bits == 64;
  case kDLFloat:
    return dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
  case kDLBfloat:
    return dtype.bits == 16;
  default:
    return false;
  }
}

template <typename T> static T load(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T> static void store(char *to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Calls `visit` with a 0 of the C type that elements other than floats of 16
// bits have in memory.
template <typename Visit>
static auto visitType(DLDataType dtype, Visit visit) -> decltype(visit(0)) {
  switch (dtype.code << 8 | dtype.bits) {
  case kDLInt << 8 | 8:
    return visit(int8_t());
  case kDLInt << 8 | 16:
    return visit(int16_t());
  case kDLInt << 8 | 32:
    return visit(int32_t());
  case kDLInt << 8 | 64:
    return visit(int64_t());
  case kDLUInt << 8 | 16:
    return visit(uint16_t());
  case kDLUInt << 8 | 32:
    return visit(uint32_t());
  case kDLUInt << 8 | 64:
    return visit(uint64_t());
  case kDLFloat << 8 | 32:
    return visit(float());
  case kDLFloat << 8 | 64:
    return visit(double());
  default: // uint8 and Booleans
    return visit(uint8_t());
  }
}

static const Half *findHalf(DLDataType dtype) {
  if (dtype.bits != 16)
    return nullptr;
  if (dtype.code == kDLBfloat)
    return &kBFloat16;
  return dtype.code == kDLFloat ? &kFloat16 : nullptr;
}

Element relax_runtime::readElement(const char *from, DLDataType dtype) {
  if (const Half *half = findHalf(dtype))
    return half->decode(load<uint16_t>(from));
  if (isBool(dtype))
    return uint64_t(*from != 0);
  return visitType(dtype, [&](auto zero) -> Element {
    using T = decltype(zero);
    T value = load<T>(from);
    if constexpr (std::is_floating_point_v<T>)
      return double(value);
    else if constexpr (std::is_signed_v<T>)
      return int64_t(value);
    else
      return uint64_t(value);
  });
}

// Whether a number is one of type T once its fraction is dropped.
template <typename T> static bool fits(int64_t value) {
  if constexpr (std::is_signed_v<T>)
    return value >= std::numeric_limits<T>::min() &&
           value <= std::numeric_limits<T>::max();
  else
    return value >= 0 && uint64_t(value) <= std::numeric_limits<T>::max();
}
template <typename T> static bool fits(uint64_t value) {
  return value <= uint64_t(std::numeric_limits<T>::max());
}
template <typename T> static bool fits(double value) {
  // Powers of 2, which doubles hold exactly.
  double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  double begin = std::is_signed_v<T> ? -end : 0;
  double whole = std::trunc(value);
  return whole >= begin && whole < end;
}

bool relax_runtime::writeElement(char *to, Element value, DLDataType dtype) {
  if (isBool(dtype)) {
    *to = !isZero(value);
    return true;
  }
  if (const Half *half = findHalf(dtype)) {
    double number = std::visit([](auto x) { return double(x); }, value);
    store(to, half->encode(number));
    return true;
  }
  return visitType(dtype, [&](auto zero) {
    using T = decltype(zero);
    return std::visit(
        [&](auto number) {
          if constexpr (!std::is_floating_point_v<T>)
            if (!fits<T>(number))
              return false;
          store(to, static_cast<T>(number));
          return true;
        },
        value);
  });
}

//===----------------------------------------------------------------------===//
// Comparison and text
//===----------------------------------------------------------------------===//

bool relax_runtime::isNaN(Element element) {
  const double *number = std::get_if<double>(&element);
  return number && std::isnan(*number);
}

bool relax_runtime::isZero(Element element) {
  return std::visit([](auto value) { return value == 0; }, element);
}

int relax_runtime::compareElements(Element lhs, Element rhs) {
  if (isNaN(lhs) || isNaN(rhs))
    return int(isNaN(lhs)) - int(isNaN(rhs));
  return lhs < rhs ? -1 : rhs < lhs ? 1 : 0;
}

std::string relax_runtime::elementText(Element element, DLDataType dtype) {
  if (isBool(dtype))
    return isZero(element) ? "False" : "True";
  if (isNaN(element))
    return "nan";
  // The shortest text that gives the number back.
  char text[32];
  auto write = [&](auto value) {
    return std::string(text, std::to_chars(text, std::end(text), value).ptr);
  };
  return std::visit(
      [&](auto value) -> std::string {
        if constexpr (!std::is_same_v<decltype(value), double>)
          return write(value);
        else if (dtype.bits <= 32)
          return write(static_cast<float>(value));
        else
          return write(value);
      },
      element);
}
