//===- AssembleTarget.cc - Fuzzing the assembler ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any text is either refused with ValueError, by the assembler or the verifier,
// or gives a program whose text assembles to the same text again.
//
//===----------------------------------------------------------------------===//

#include "../src/vm/Executable.h"

#include <cstdlib>

using namespace relax_runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    vm::ExecutableParts parts = vm::assemble(text, {ffi::Any(int64_t(7))});
    vm::verify(parts);
    std::string written = vm::disassemble(parts, /*maxBytes=*/1 << 20, nullptr);
    vm::ExecutableParts again = vm::assemble(written, {});
    if (vm::disassemble(again, 1 << 20, nullptr) != written)
      std::abort();
  } catch (const ffi::Error &error) {
    if (error.kind() != "ValueError")
      std::abort();
  }
  return 0;
}
