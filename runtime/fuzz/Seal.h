//===- Seal.h - Checksums that fit ------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_FUZZ_SEAL_H
#define RELAX_RUNTIME_FUZZ_SEAL_H

#include "../src/artefact/Checksum.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace relax_runtime {

inline uint64_t getNumber(const std::string &bytes, size_t offset, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[offset + i]))
             << (8 * i);
  return value;
}

inline void putNumber(std::string &bytes, size_t offset, uint64_t value,
                      int count) {
  for (int i = 0; i < count; ++i)
    bytes[offset + i] = static_cast<char>(value >> (8 * i));
}

// Gives an artefact the checksums and the size that it should have, where it
// still has a header.
inline void seal(std::string &bytes) {
  if (bytes.size() < 64)
    return;
  putNumber(bytes, 16, bytes.size(), 8);
  size_t count =
      std::min<uint64_t>(getNumber(bytes, 24, 4), (bytes.size() - 64) / 48);
  for (size_t i = 0; i < count; ++i) {
    size_t entry = 64 + 48 * i;
    uint64_t offset = getNumber(bytes, entry + 16, 8);
    uint64_t size = getNumber(bytes, entry + 24, 8);
    if (offset <= bytes.size() && size <= bytes.size() - offset)
      putNumber(bytes, entry + 32, checksum(bytes.data() + offset, size), 4);
  }
  putNumber(bytes, 28, checksum(bytes.data() + 64, 48 * count), 4);
  putNumber(bytes, 60, checksum(bytes.data(), 60), 4);
}

} // namespace relax_runtime

#endif // RELAX_RUNTIME_FUZZ_SEAL_H
