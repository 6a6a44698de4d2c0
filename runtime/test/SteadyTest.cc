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
#include "relax_runtime.hpp"

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

// Returns the calls of the allocator while `run` runs.
template <typename Run> static int64_t countCalls(const Run &run) {
  calls = 0;
  isCounting = true;
  run();
  isCounting = false;
  return calls;
}

static void testCompiled() {
  const auto run = [](int64_t rounds) {
    return countCalls([rounds] {
      int64_t sum = 0;
      CHECK(runProgram(rounds, &sum) == 0 && sum == sumOfProgram(rounds));
    });
  };
  CHECK(run(50) > 0); // the calls are seen
  CHECK(run(50) == 0);
  CHECK(run(20) == 0);
  CHECK(relax_memory_release(kDLCPU, 0) == 0);
  CHECK(run(50) > 0);
  CHECK(run(50) == 0);
}

// Makes values of every kind in bytecode, calls deep, and loops by tail calls
// with more arguments than are passed side by side.
static std::string bytecode() {
  std::string params, args, fields;
  for (int i = 1; i < 40; ++i) {
    params += ", p" + std::to_string(i);
    args += ", %" + std::to_string(i);
    fields += ", %0";
  }
  return R"(
    function loop(n)" +
         params + R"() registers 41 heap 2 {
      site 0 = "argument 'n'", "", ""
      $0 = call builtin prim_int(site 0, %0)
      $1 = call builtin sub($0, 1)
      if $0 else L1
      %0 = call builtin prim_set_int($1)
      %40 = call @loop(%0)" +
         args + R"()
      ret %40
    L1:
      ret %1
    }
    function deep(x, n) registers 4 heap 2 {
      site 0 = "argument 'n'", "", ""
      $0 = call builtin prim_int(site 0, %1)
      if $0 else L1
      $1 = call builtin sub($0, 1)
      %1 = call builtin prim_set_int($1)
      %2 = call @deep(%0, %1)
      %3 = call builtin adt_make(site 0, $0, [%2])
      %2 = call builtin adt_get(site 0, %3, 0)
      ret %2
    L1:
      ret %0
    }
    function captured(a, b, x) registers 4 captures 2 {
      site 0 = "tuple", "", ""
      %3 = call builtin tuple_make(site 0, [%0, %1, %2])
      ret %3
    }
    function main(x, n) registers 10 heap 2 {
      site 0 = "argument 'x'", "", ""
      $0 = call builtin dim(site 0, %0, 0)
      %2 = call @deep(%0, %1)
      %3 = call builtin closure_make(site 0, @captured, [%2, %1], "", [$0])
      %4 = call %3(%0)
      %5 = call packed "relax_mlir.test.steady"(%0)" +
         fields + R"()
      %6 = call builtin tensor_alloc(site 0, [$0, 4], float32, 1, 1)
      %7 = call builtin tensor_view(site 0, %6, [4, $0])
      %8 = call builtin tuple_get(site 0, %4, 2)
      %9 = call @loop(%1)" +
         fields + R"()
      ret %9
    })";
}

static int countArguments(void *, const TVMFFIAny *, int32_t nargs,
                          TVMFFIAny *result) {
  relax_prim_set_int(result, nargs);
  return 0;
}

static void testBytecode() {
  ffi::Function count =
      ffi::Function::FromExternC(nullptr, countArguments, nullptr);
  ffi::Function::SetGlobal("relax_mlir.test.steady", count);
  relax::VirtualMachine vm(relax::Executable::assemble(bytecode()));
  relax::Function main = vm["main"];
  relax::Tensor x = makeTensor({8, 2});
  const auto run = [&](int64_t n) {
    return countCalls([&] { CHECK(main(x, n).same_as(relax::Any(x))); });
  };
  run(300);
  CHECK(run(300) == 0);
  CHECK(run(40) == 0);
}

// Values of every kind, as the tests of the virtual machine make them.
static void testMachine() {
  ffi::Function main = makeVmFunction(kVmProgram, "main");
  const auto run = [&main](int64_t depth) {
    runVm(main, 0); // makes its argument
    return countCalls(
        [&] { CHECK(runVm(main, depth) == expectedOfVm(depth)); });
  };
  CHECK(run(100) > 0);
  CHECK(run(100) == 0);
  CHECK(run(50) == 0);
}

int main() {
  testCompiled();
  testMachine();
  testBytecode();
  return reportChecks();
}
