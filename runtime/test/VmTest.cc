//===- VmTest.cc - The virtual machine from C++ -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases that are hard to see from Python: memory that runs out at every place
// where it can, many threads on one machine, and text with errors at every
// place. The semantics of programs is tested in
// test/python/runtime/test_vm_assembly.py.
//
//===----------------------------------------------------------------------===//

#include "VmProgram.h"

#include <thread>

// RF07, VM01 to VM08: calls, branches, closures, tuples, kernels, recursion.
static void testProgram() {
  ffi::Function main = makeVmFunction(kVmProgram, "main");
  CHECK(runVm(main, 3) == expectedOfVm(3));
  CHECK(runVm(main, 500) == expectedOfVm(500));
}

// Each allocation of a run fails once; the machine stays usable and nothing
// leaks.
static void testOutOfMemory() {
  ffi::Function main = makeVmFunction(kVmProgram, "main");
  Slot tensor(makeTensor({1}));
  CHECK(runVm(main, 5) == expectedOfVm(5));
  int failures = 0;
  for (int64_t count = 0;; ++count) {
    relax_alloc_fail_after(count);
    std::string error = callVm(main, 5, tensor);
    if (relax_alloc_fail_after(-1) >= 0)
      break; // ran to its end before the failure
    ++failures;
    CHECK(error.rfind("MemoryError", 0) == 0);
    CHECK(tensor.uses() == 1);
    CHECK(runVm(main, 5) == expectedOfVm(5));
  }
  CHECK(failures > 10);
}

// VM08: past the limit, again and again.
static void testRecursion() {
  ffi::Function main = makeVmFunction(kVmProgram, "main");
  Slot tensor(makeTensor({1}));
  int64_t limit = relax_recursion_limit_set(50);
  for (int round = 0; round < 3; ++round) {
    CHECK(callVm(main, 200, tensor).rfind("RecursionError", 0) == 0);
    CHECK(tensor.uses() == 1);
    CHECK(runVm(main, 5) == expectedOfVm(5));
  }
  relax_recursion_limit_set(limit);
}

static void testThreads() {
  ffi::Function main = makeVmFunction(kVmProgram, "main");
  std::vector<std::thread> threads;
  for (int id = 0; id < 8; ++id)
    threads.emplace_back([&main, id] {
      for (int64_t round = 0; round < 200; ++round)
        CHECK(runVm(main, id + round % 3) == expectedOfVm(id + round % 3));
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Whether text is assembled or refused with an error, and what is assembled
// runs or raises. Programs that may not end are only assembled.
static void checkText(const std::string &text, bool run) {
  try {
    ffi::Function main = makeVmFunction(text, "main");
    if (run)
      callVm(main, 2, Slot(makeTensor({1})));
  } catch (const ffi::Error &error) {
    CHECK(error.kind() == "ValueError" || error.kind() == "MemoryError");
    CHECK(!error.message().empty());
  }
}

// VM08: text that ends anywhere, and text with a character more, less or other.
static void testErrorsInText() {
  std::string text = kVmProgram;
  for (size_t i = 0; i < text.size(); ++i) {
    checkText(text.substr(0, i), /*run=*/true);
    checkText(text.substr(0, i) + text.substr(i + 1), /*run=*/false);
    for (char c : {'\0', '9', '"', '%', '{', '\n', '-'}) {
      std::string changed = text;
      changed[i] = c;
      checkText(changed, /*run=*/false);
    }
  }
}

void testVm() {
  testProgram();
  testOutOfMemory();
  testRecursion();
  testThreads();
  testErrorsInText();
}
