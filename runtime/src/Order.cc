//===- Order.cc - Places and order of elements ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are looked at as bits: a float is 0 where no bit but that of the
// sign is set, and floats of one sign are in the order of their bits. Keys are
// sorted byte by byte from the lowest one on, which is stable.
//
//===----------------------------------------------------------------------===//

#include "Order.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

using namespace relax_runtime;

template <typename T> static T loadBits(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

static bool hasFloats(DLDataType dtype) {
  return dtype.code == kDLFloat || dtype.code == kDLBfloat;
}

// Calls a function with the bits of an element, which are 0.
template <typename Visit>
static auto visitWidth(DLDataType dtype, Visit visit) {
  switch (dtype.bits) {
  case 8:
    return visit(uint8_t());
  case 16:
    return visit(uint16_t());
  case 32:
    return visit(uint32_t());
  default:
    return visit(uint64_t());
  }
}

// Runs blocks [0, count), by several threads.
template <typename Block> static void forBlocks(int64_t count, Block block) {
  relax_parallel_for(
      [](void *context, int64_t begin, int64_t end) -> int32_t {
        for (int64_t i = begin; i < end; ++i)
          (*static_cast<Block *>(context))(i);
        return 0;
      },
      &block, count, 1);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

constexpr int64_t kPlaceBlock = 1 << 15;
// Elements that are passed over at once where all are 0.
constexpr int64_t kPlaceGroup = 16;

// The bits of a value that are not 0 where it is not 0.
template <typename T> static T maskOf(DLDataType dtype) {
  return hasFloats(dtype) ? T(T(~T(0)) >> 1) : T(~T(0));
}

template <typename T>
static int64_t countNonzero(const char *data, int64_t begin, int64_t end,
                            T mask) {
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i)
    count += (loadBits<T>(data + i * sizeof(T)) & mask) != 0;
  return count;
}

template <typename T>
static void writeNonzero(const char *data, int64_t begin, int64_t end, T mask,
                         int64_t *to, int64_t *last) {
  int64_t i = begin;
  auto isNonzero = [&](int64_t at) {
    return (loadBits<T>(data + at * sizeof(T)) & mask) != 0;
  };
  // A place is written before it is known to hold, so not the last one.
  for (; i + kPlaceGroup <= end && to + kPlaceGroup < last; i += kPlaceGroup) {
    T any = 0;
    for (int64_t k = 0; k < kPlaceGroup; ++k)
      any |= loadBits<T>(data + (i + k) * sizeof(T));
    if ((any & mask) == 0)
      continue;
    for (int64_t k = 0; k < kPlaceGroup; ++k) {
      *to = i + k;
      to += isNonzero(i + k);
    }
  }
  for (; i < end; ++i)
    if (isNonzero(i))
      *to++ = i;
}

NonzeroPlaces::NonzeroPlaces(const char *data, int64_t size, DLDataType dtype)
    : data(data), size(size), dtype(dtype),
      begins((size + kPlaceBlock - 1) / kPlaceBlock + 1) {
  visitWidth(dtype, [&](auto bits) {
    auto mask = maskOf<decltype(bits)>(dtype);
    forBlocks(static_cast<int64_t>(begins.size()) - 1, [&](int64_t block) {
      int64_t begin = block * kPlaceBlock,
              end = std::min(begin + kPlaceBlock, size);
      begins[block + 1] = countNonzero(data, begin, end, mask);
    });
  });
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
}

void NonzeroPlaces::write(int64_t *to) const {
  visitWidth(dtype, [&](auto bits) {
    auto mask = maskOf<decltype(bits)>(dtype);
    forBlocks(static_cast<int64_t>(begins.size()) - 1, [&](int64_t block) {
      int64_t begin = block * kPlaceBlock,
              end = std::min(begin + kPlaceBlock, size);
      writeNonzero(data, begin, end, mask, to + begins[block],
                   to + begins[block + 1]);
    });
  });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

template <typename T> static uint64_t floatKey(T bits, T infinity) {
  constexpr T sign = T(T(1) << (sizeof(T) * 8 - 1));
  T magnitude = T(bits & ~sign);
  if (magnitude > infinity) // not a number
    return std::numeric_limits<uint64_t>::max();
  bool isNegative = (bits & sign) && magnitude != 0;
  return isNegative ? T(sign - 1 - magnitude) : T(sign + magnitude);
}

// The bits of infinity.
static uint64_t infinityOf(DLDataType dtype) {
  if (dtype.bits == 64)
    return 0x7ff0000000000000;
  if (dtype.bits == 32)
    return 0x7f800000;
  return dtype.code == kDLBfloat ? 0x7f80 : 0x7c00;
}

std::vector<uint64_t> relax_runtime::orderKeys(const char *data, int64_t size,
                                               DLDataType dtype) {
  std::vector<uint64_t> keys(size);
  visitWidth(dtype, [&](auto zero) {
    using T = decltype(zero);
    T sign = dtype.code == kDLInt ? T(T(1) << (sizeof(T) * 8 - 1)) : T(0);
    T infinity = T(infinityOf(dtype));
    for (int64_t i = 0; i < size; ++i) {
      T bits = loadBits<T>(data + i * sizeof(T));
      if (hasFloats(dtype))
        keys[i] = floatKey(bits, infinity);
      else if (isBool(dtype))
        keys[i] = bits != 0;
      else
        keys[i] = T(bits ^ sign);
    }
  });
  return keys;
}

std::vector<int64_t>
relax_runtime::sortedPlaces(const std::vector<uint64_t> &keys) {
  constexpr int kBytes = 8;
  struct Entry {
    uint64_t key;
    int64_t place;
  };
  std::vector<Entry> entries(keys.size()), others(keys.size());
  std::array<std::array<size_t, 256>, kBytes> counts = {};
  for (size_t i = 0; i < keys.size(); ++i) {
    entries[i] = {keys[i], static_cast<int64_t>(i)};
    for (int byte = 0; byte < kBytes; ++byte)
      ++counts[byte][keys[i] >> (8 * byte) & 255];
  }
  for (int byte = 0; byte < kBytes; ++byte) {
    std::array<size_t, 256> &begins = counts[byte];
    // Nothing moves where all have the same byte.
    if (keys.empty() || begins[keys[0] >> (8 * byte) & 255] == keys.size())
      continue;
    std::exclusive_scan(begins.begin(), begins.end(), begins.begin(),
                        size_t(0));
    for (const Entry &entry : entries)
      others[begins[entry.key >> (8 * byte) & 255]++] = entry;
    entries.swap(others);
  }
  std::vector<int64_t> places(keys.size());
  std::transform(entries.begin(), entries.end(), places.begin(),
                 [](const Entry &entry) { return entry.place; });
  return places;
}
