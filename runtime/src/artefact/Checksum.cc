//===- Checksum.cc - CRC-32C ------------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eight bytes at a time: with the instruction of x86-64 where the processor has
// it, elsewhere with eight tables, one for each place of a byte.
//
// Rationale: constants of gigabytes are checked when they are loaded, so the
// checksum must not be slower than the disk. A CRC finds every flip of one bit,
// and every burst of up to 32.
//
//===----------------------------------------------------------------------===//

#include "Checksum.h"

#include <array>
#include <cstring>

using namespace relax_runtime;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

static constexpr uint32_t kPolynomial = 0x82f63b78; // reflected

static constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (size_t i = 1; i < 8; ++i)
      tables[i][byte] =
          (tables[i - 1][byte] >> 8) ^ tables[0][tables[i - 1][byte] & 0xff];
  return tables;
}

static constexpr Tables kTables = makeTables();

static uint32_t addByte(uint32_t crc, uint8_t byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xff];
}

// Eight bytes, the first of them lowest.
static uint64_t readWord(const uint8_t *bytes) {
  uint64_t word = 0;
  for (int i = 0; i < 8; ++i)
    word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return word;
}

uint32_t relax_runtime::checksumPortable(const void *data, size_t size,
                                         uint32_t before) noexcept {
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  uint32_t crc = ~before;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word = readWord(bytes) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i)
      crc ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; size != 0; ++bytes, --size)
    crc = addByte(crc, *bytes);
  return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("sse4.2"))) static uint32_t
checksumNative(const uint8_t *bytes, size_t size, uint32_t before) {
  uint64_t crc = ~before;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    crc = __builtin_ia32_crc32di(crc, word);
  }
  for (; size != 0; ++bytes, --size)
    crc = __builtin_ia32_crc32qi(static_cast<uint32_t>(crc), *bytes);
  return ~static_cast<uint32_t>(crc);
}

uint32_t relax_runtime::checksum(const void *data, size_t size,
                                 uint32_t before) noexcept {
  static const bool isNative = __builtin_cpu_supports("sse4.2");
  if (isNative)
    return checksumNative(static_cast<const uint8_t *>(data), size, before);
  return checksumPortable(data, size, before);
}
#else
uint32_t relax_runtime::checksum(const void *data, size_t size,
                                 uint32_t before) noexcept {
  return checksumPortable(data, size, before);
}
#endif
