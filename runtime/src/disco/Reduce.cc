//===- Reduce.cc - Reductions over workers ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A format says how elements lie in memory and what they are computed in. Some
// elements at a time are reduced in a buffer, so that the loops are short ones
// over arrays, which compilers vectorize.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#include <algorithm>
#include <cmath>

using namespace relax_runtime;

static constexpr std::string_view kReductionNames[] = {"sum", "prod", "min",
                                                       "max", "avg"};

std::string_view relax_runtime::nameOf(Reduction reduction) {
  return kReductionNames[static_cast<int64_t>(reduction)];
}

std::optional<Reduction> relax_runtime::findReduction(std::string_view name) {
  for (size_t i = 0; i < std::size(kReductionNames); ++i)
    if (kReductionNames[i] == name)
      return static_cast<Reduction>(i);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

namespace {
template <typename Stored, typename Wide> struct PlainFormat {
  using Element = Stored;
  using Number = Wide;
  static Number load(Element value) { return static_cast<Number>(value); }
  static Element store(Number value) { return static_cast<Element>(value); }
};

struct BFloat16Format {
  using Element = uint16_t;
  using Number = float;
  static Number load(Element value) {
    uint32_t bits = static_cast<uint32_t>(value) << 16;
    return bitsAs<float>(bits);
  }
  static Element store(Number value) {
    auto bits = bitsAs<uint32_t>(value);
    uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    return static_cast<Element>(value != value ? bits >> 16 | 0x40 : rounded);
  }

  template <typename To, typename From> static To bitsAs(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
  }
};

struct Float16Format {
  using Element = uint16_t;
  using Number = float;

  // The exponent is moved by a product, which is exact for subnormal numbers
  // too; infinity and NaN get the largest one.
  static Number load(Element value) {
    uint32_t sign = static_cast<uint32_t>(value & 0x8000) << 16;
    uint32_t magnitude = static_cast<uint32_t>(value & 0x7FFF) << 13;
    float scaled = asFloat(magnitude) * asFloat(kScale);
    uint32_t bits =
        (value & 0x7C00) == 0x7C00 ? magnitude | 0x7F800000 : asBits(scaled);
    return asFloat(bits | sign);
  }
  // To nearest, ties to even. A sum with a power of 2 rounds subnormal numbers.
  static Element store(Number value) {
    uint32_t bits = asBits(value), sign = (bits >> 16) & 0x8000,
             magnitude = bits & 0x7FFFFFFF;
    uint32_t normal = (magnitude + 0xC8000FFF + ((magnitude >> 13) & 1)) >> 13;
    uint32_t subnormal =
        asBits(asFloat(magnitude) + asFloat(kSubnormal)) - kSubnormal;
    uint32_t special = magnitude > 0x7F800000 ? 0x7E00 : 0x7C00;
    uint32_t result = magnitude >= 0x47800000  ? special
                      : magnitude < 0x38800000 ? subnormal
                                               : normal;
    return static_cast<Element>(result | sign);
  }

  static constexpr uint32_t kScale = 0x77800000;     // 2^112
  static constexpr uint32_t kSubnormal = 0x3F000000; // 0.5
  static float asFloat(uint32_t bits) {
    return BFloat16Format::bitsAs<float>(bits);
  }
  static uint32_t asBits(float value) {
    return BFloat16Format::bitsAs<uint32_t>(value);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

// Signed integers wrap around as unsigned ones do.
template <typename T> static T sumOf(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <typename T> static T productOf(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

// A comparison with NaN does not hold, so a NaN that comes first stays, and one
// that comes second is taken.
template <typename T> static T leastOf(T a, T b) {
  return a < b || a != a ? a : b;
}
template <typename T> static T greatestOf(T a, T b) {
  return a > b || a != a ? a : b;
}

template <typename Format, typename Combine>
static void reduceFormat(const std::vector<const char *> &from, char *to,
                         int64_t count, bool isAverage, Combine combine) {
  using Number = typename Format::Number;
  using Element = typename Format::Element;
  constexpr int64_t kBlock = 1024;
  constexpr int64_t kBytes = sizeof(Element);
  Number total[kBlock];
  Element elements[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int64_t size = std::min(kBlock, count - begin);
    auto bytes = static_cast<size_t>(size * kBytes);
    for (size_t worker = 0; worker < from.size(); ++worker) {
      std::memcpy(elements, from[worker] + begin * kBytes, bytes);
      if (worker == 0)
        for (int64_t i = 0; i < size; ++i)
          total[i] = Format::load(elements[i]);
      else
        for (int64_t i = 0; i < size; ++i)
          total[i] = combine(total[i], Format::load(elements[i]));
    }
    if (isAverage)
      for (int64_t i = 0; i < size; ++i)
        total[i] /= static_cast<Number>(from.size());
    for (int64_t i = 0; i < size; ++i)
      elements[i] = Format::store(total[i]);
    std::memcpy(to + begin * kBytes, elements, bytes);
  }
}

template <typename Format>
static void reduceIn(Reduction reduction, const std::vector<const char *> &from,
                     char *to, int64_t count) {
  using Number = typename Format::Number;
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Avg:
    return reduceFormat<Format>(from, to, count, reduction == Reduction::Avg,
                                [](Number a, Number b) { return sumOf(a, b); });
  case Reduction::Prod:
    return reduceFormat<Format>(from, to, count, false, [](Number a, Number b) {
      return productOf(a, b);
    });
  case Reduction::Min:
    return reduceFormat<Format>(from, to, count, false, [](Number a, Number b) {
      return leastOf(a, b);
    });
  case Reduction::Max:
    return reduceFormat<Format>(from, to, count, false, [](Number a, Number b) {
      return greatestOf(a, b);
    });
  }
}

// Calls `visit` with the format of a data type; false where there is none.
template <typename Visit>
static bool visitFormat(DLDataType dtype, Visit visit) {
  if (dtype.lanes != 1)
    return false;
  switch (dtype.code << 8 | dtype.bits) {
  case kDLInt << 8 | 8:
    return visit(PlainFormat<int8_t, int64_t>()), true;
  case kDLInt << 8 | 16:
    return visit(PlainFormat<int16_t, int64_t>()), true;
  case kDLInt << 8 | 32:
    return visit(PlainFormat<int32_t, int64_t>()), true;
  case kDLInt << 8 | 64:
    return visit(PlainFormat<int64_t, int64_t>()), true;
  case kDLUInt << 8 | 8:
    return visit(PlainFormat<uint8_t, uint64_t>()), true;
  case kDLUInt << 8 | 16:
    return visit(PlainFormat<uint16_t, uint64_t>()), true;
  case kDLUInt << 8 | 32:
    return visit(PlainFormat<uint32_t, uint64_t>()), true;
  case kDLUInt << 8 | 64:
    return visit(PlainFormat<uint64_t, uint64_t>()), true;
  case kDLFloat << 8 | 16:
    return visit(Float16Format()), true;
  case kDLFloat << 8 | 32:
    return visit(PlainFormat<float, float>()), true;
  case kDLFloat << 8 | 64:
    return visit(PlainFormat<double, double>()), true;
  case kDLBfloat << 8 | 16:
    return visit(BFloat16Format()), true;
  default:
    return false;
  }
}

bool relax_runtime::isReducible(DLDataType dtype) {
  return visitFormat(dtype, [](auto) {});
}

void relax_runtime::reduceInOrder(Reduction reduction, DLDataType dtype,
                                  const std::vector<const char *> &from,
                                  char *to, int64_t count) {
  visitFormat(dtype, [&](auto format) {
    reduceIn<decltype(format)>(reduction, from, to, count);
  });
}
