//===- SteadyTest.cc - The second run allocates nothing ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for the allocator of the C library, which that of C++ calls too,
// and counts its calls while a program runs at shapes that it ran at before.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "VmProgram.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

static std::atomic<bool> isCounting{false};
static std::atomic<int64_t> calls{0};

static void countCall() {
  if (isCounting.load(std::memory_order_relaxed))
    calls.fetch_add(1, std::memory_order_relaxed);
}

//===----------------------------------------------------------------------===//
// The allocator
//===----------------------------------------------------------------------===//

extern "C" {

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

void *malloc(size_t size) {
  countCall();
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  countCall();
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  countCall();
  return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  countCall();
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  countCall();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  countCall();
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void free(void *memory) {
  countCall();
  __libc_free(memory);
}

} // extern "C"

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

// Returns the calls of the allocator while the program ran.
static int64_t countCalls(int64_t rounds) {
  int64_t sum = 0;
  calls = 0;
  isCounting = true;
  int code = runProgram(rounds, &sum);
  isCounting = false;
  CHECK(code == 0 && sum == sumOfProgram(rounds));
  return calls;
}

// The same of the virtual machine, which calls itself `depth` times.
static int64_t countVmCalls(const ffi::Function &main, int64_t depth) {
  runVm(main, 0); // makes its argument
  calls = 0;
  isCounting = true;
  int64_t result = runVm(main, depth);
  isCounting = false;
  CHECK(result == expectedOfVm(depth));
  return calls;
}

int main() {
  CHECK(countCalls(50) > 0); // the calls are seen
  CHECK(countCalls(50) == 0);
  CHECK(countCalls(20) == 0);
  CHECK(relax_memory_release(kDLCPU, 0) == 0);
  CHECK(countCalls(50) > 0);
  CHECK(countCalls(50) == 0);
  ffi::Function vm = makeVmFunction(kVmProgram, "main");
  CHECK(countVmCalls(vm, 100) > 0);
  CHECK(countVmCalls(vm, 100) == 0);
  CHECK(countVmCalls(vm, 50) == 0);
  return reportChecks();
}
