//===- LoadTarget.cc - Fuzzing the loader of artefacts ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any bytes either load or raise ValueError. Half of the inputs get the right
// checksums first, as a hostile file would have them; without that, nothing
// would reach the later checks.
//
//===----------------------------------------------------------------------===//

#include "../src/artefact/Artefact.h"
#include "Seal.h"

#include <cstdlib>

using namespace relax_runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  if (size % 2 == 0)
    seal(bytes);
  try {
    Artefact artefact = readArtefact(
        Image::copy(bytes.data(), bytes.size(), "input"), Verify::All);
    vm::Executable executable = std::move(artefact).makeExecutable();
    vm::disassemble(executable->getParts(), /*maxBytes=*/64, nullptr);
  } catch (const ffi::Error &error) {
    if (error.kind() != "ValueError")
      std::abort();
  }
  return 0;
}
