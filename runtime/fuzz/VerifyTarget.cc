//===- VerifyTarget.cc - Fuzzing the verifier of bytecode -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any words as the code of a function are either refused with ValueError, or
// are linked and written as text, which assembles to the same words.
//
//===----------------------------------------------------------------------===//

#include "../src/vm/Executable.h"

#include <cstdlib>
#include <cstring>

using namespace relax_runtime;

// Some of everything that code can name.
static vm::ExecutableParts makeParts(std::vector<int64_t> code) {
  vm::ExecutableParts parts;
  vm::FunctionDef main;
  main.name = "main";
  main.params = {"x", "y"};
  main.numRegisters = 6;
  main.numHeapSlots = 4;
  main.codeEnd = static_cast<int64_t>(code.size());
  main.siteEnd = 2;
  vm::FunctionDef native;
  native.name = "native";
  native.kind = vm::FunctionDef::Kind::Native;
  native.params = {"x"};
  parts.functions = {main, native};
  parts.constants = {ffi::Any(int64_t(1)), ffi::Any(0.5),
                     ffi::Any(ffi::Shape({1, 2}))};
  parts.kernels = {"kernel"};
  parts.packed = {"packed"};
  parts.strings = {"text", "ValueError"};
  parts.sites = {{"what", "expected", "place"}, {"", "", ""}};
  parts.code = std::move(code);
  return parts;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<int64_t> code(size / sizeof(int64_t));
  if (!code.empty())
    std::memcpy(code.data(), data, code.size() * sizeof(int64_t));
  try {
    vm::Executable executable(makeParts(code));
    std::string text = vm::disassemble(executable->getParts(), 64, nullptr);
    vm::ExecutableParts again = vm::assemble(text, {});
    if (again.code.size() != code.size())
      std::abort();
  } catch (const ffi::Error &error) {
    if (error.kind() != "ValueError")
      std::abort();
  }
  return 0;
}
