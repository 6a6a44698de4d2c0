//===- Executable.cc - A program for the VM ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Making an executable, and binding machine code to it.
//
//===----------------------------------------------------------------------===//

#include "Executable.h"

#include "Program.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

// Verifies before the program is linked.
static ExecutableParts verified(ExecutableParts parts) {
  verify(parts);
  return parts;
}

ExecutableObj::ExecutableObj(ExecutableParts given)
    : parts(verified(std::move(given))),
      program(std::make_unique<Program>(parts)),
      kernelEntries(new std::atomic<KernelEntry>[parts.kernels.size()]()),
      nativeEntries(
          new std::atomic<TVMFFISafeCallType>[parts.functions.size()]()) {
  for (size_t i = 0; i < parts.functions.size(); ++i)
    functionsByName[parts.functions[i].name] = static_cast<int64_t>(i);
}

ExecutableObj::~ExecutableObj() = default;

int64_t ExecutableObj::findFunction(std::string_view name) const {
  auto found = functionsByName.find(name);
  return found == functionsByName.end() ? -1 : found->second;
}

static void checkAddress(const std::string &name, const void *address) {
  if (!address)
    RELAX_THROW(ValueError)
        << "expected an address for '" << name << "', but got 0";
}

int64_t ExecutableObj::bind(
    const std::vector<std::pair<std::string, void *>> &kernels,
    const std::vector<std::pair<std::string, void *>> &functions,
    ffi::Any keepAlive) {
  for (const auto *symbols : {&kernels, &functions})
    for (const auto &[name, address] : *symbols)
      checkAddress(name, address);
  std::lock_guard<std::mutex> lock(bindMutex);
  kept.push_back(std::move(keepAlive));
  int64_t known = 0;
  for (const auto &[name, address] : kernels)
    for (size_t i = 0; i < parts.kernels.size(); ++i)
      if (parts.kernels[i] == name) {
        kernelEntries[i] = reinterpret_cast<KernelEntry>(address);
        ++known;
      }
  for (const auto &[name, address] : functions) {
    int64_t index = findFunction(name);
    if (index < 0 || parts.functions[index].kind != FunctionDef::Kind::Native)
      continue;
    nativeEntries[index] = reinterpret_cast<TVMFFISafeCallType>(address);
    ++known;
  }
  return known;
}
