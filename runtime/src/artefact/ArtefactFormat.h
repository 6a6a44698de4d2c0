//===- ArtefactFormat.h - Names in an artefact ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_ARTEFACTFORMAT_H
#define RELAX_RUNTIME_ARTEFACT_ARTEFACTFORMAT_H

#include <cstddef>
#include <cstdint>

namespace relax_runtime {

// The sections.
constexpr const char *kMetadata = "metadata", *kFunctions = "functions",
                     *kNames = "names", *kSites = "sites", *kCode = "code",
                     *kConstants = "constants", *kPayloads = "payloads",
                     *kNative = "native", *kObject = "object";

// Flags of a function, and the least that it takes in its section.
constexpr uint8_t kIsNative = 1, kIsPrivate = 2;
constexpr size_t kFunctionBytes = 9 * 8 + 17;

// The tail of a library.
constexpr uint8_t kTailMagic[8] = {0x89, 'R', 'L', 'X', 'L', 'I', 'B', '\n'};
constexpr size_t kTailSize = 64;

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_ARTEFACTFORMAT_H
