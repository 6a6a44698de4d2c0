//===- Checksum.h - CRC-32C -------------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_CHECKSUM_H
#define RELAX_RUNTIME_ARTEFACT_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace relax_runtime {

// The CRC-32C (Castagnoli) of `size` bytes that follow bytes with the checksum
// `before` (0: nothing is before).
uint32_t checksum(const void *data, size_t size, uint32_t before = 0) noexcept;

// The same without instructions of the processor; for tests.
uint32_t checksumPortable(const void *data, size_t size,
                          uint32_t before = 0) noexcept;

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_CHECKSUM_H
