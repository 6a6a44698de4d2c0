//===- CudaGraphTest.cc - Calls that are replayed ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Machines that replay launches, with the driver of the tests: what is
// replayed, what becomes of memory, and what fails on the way.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>

// Two steps with memory between them, or one.
static const char *const kProgram = R"(
function main(x) registers 3 heap 1 {
  site 0 = "result", "something", ""
  $0 = call builtin dim(site 0, %0, 0)
  %1 = call builtin tensor_alloc(site 0, [$0], int64, 2, 0)
  call device_kernel "step"(read %0, write %1)
  %2 = call builtin tensor_alloc(site 0, [$0], int64, 2, 0)
  call device_kernel "step"(read %1, write %2)
  ret %2
}
function foreign(x) registers 2 heap 1 {
  site 0 = "result", "something", ""
  $0 = call builtin dim(site 0, %0, 0)
  %1 = call builtin tensor_alloc(site 0, [$0], int64, 2, 0)
  call device_kernel "foreign"(write %1)
  ret %1
}
)";

static const char *const kImage = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 in, .param .u64 out) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<5>;
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 8;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  add.u64 %rd1, %rd1, %rd0;
  add.u64 %rd2, %rd2, %rd0;
  ld.global.u64 %rd3, [%rd1];
  add.u64 %rd3, %rd3, 1;
  st.global.u64 [%rd2], %rd3;
  ret;
}
)";

// What the driver of the tests saw, and what it is told.
namespace {
struct DriverOfTests {
  long long (*graphLaunches)();
  long long (*graphUpdates)();
  long long (*calls)();
  void (*failGraphs)(bool);
};
} // namespace

static DriverOfTests driver;

static void findDriver() {
  void *library = dlopen(std::getenv("RELAX_CUDA_DRIVER"), RTLD_NOW);
  const auto find = [&](auto &function, const char *name) {
    void *symbol = dlsym(library, name);
    CHECK(symbol != nullptr);
    std::memcpy(&function, &symbol, sizeof(symbol));
  };
  find(driver.graphLaunches, "relax_ptx_graph_launches");
  find(driver.graphUpdates, "relax_ptx_graph_updates");
  find(driver.calls, "relax_ptx_calls");
  find(driver.failGraphs, "relax_ptx_fail_graphs");
}

//===----------------------------------------------------------------------===//
// Kernels and machines
//===----------------------------------------------------------------------===//

static int32_t launchStep(const void *from, void *to, int64_t threads) {
  static void *kernel = nullptr, *image = nullptr;
  const int64_t sizes[] = {1, 1, 1, threads, 1, 1, 0};
  const int64_t params[] = {reinterpret_cast<int64_t>(from),
                            reinterpret_cast<int64_t>(to)};
  return relax_device_launch(&kSite, &kernel, &image, kImage, "step", kDLCUDA,
                             0, sizes, params, 2, "pp");
}

static int32_t step(void *const *data, const int64_t *const *dims,
                    const int64_t *) {
  return launchStep(data[0], data[1], dims[0][0]);
}

// Reads memory that the call does not know of.
static void *foreignMemory = nullptr;
static int32_t foreign(void *const *data, const int64_t *const *dims,
                       const int64_t *) {
  return launchStep(foreignMemory, data[0], dims[0][0]);
}

static ffi::Function find(const char *name) {
  return ffi::Function::GetGlobalRequired(std::string("relax_mlir.vm.") + name);
}

namespace {
// A function of a machine of its own that replays.
struct Machine {
  ffi::Any handle;
  std::string name;
  ffi::Function function;

  explicit Machine(const char *name = "main") : name(name) {
    using Symbols = ffi::Map<ffi::String, int64_t>;
    ffi::Any executable = find("assemble")(kProgram, ffi::Array<ffi::Any>());
    Symbols kernels{{"step", reinterpret_cast<intptr_t>(step)},
                    {"foreign", reinterpret_cast<intptr_t>(foreign)}};
    find("bind")(executable, kernels, Symbols(), nullptr);
    handle = find("create_replaying")(executable);
    function = find("get_function")(handle, name).cast<ffi::Function>();
  }

  // Graphs, replays, bytes, and the reason.
  ffi::Array<ffi::Any> graphs() const {
    return find("graphs")(handle, name).cast<ffi::Array<ffi::Any>>();
  }
  int call(const Slot &argument, Slot &result) const {
    Slot callee(function);
    const TVMFFIAny *args[] = {argument};
    return relax_function_call(&kSite, result, callee, 1, args);
  }
};
} // namespace

static std::vector<int64_t> valuesOf(const Slot &remote) {
  Slot host;
  CHECK(relax_tensor_to_device(&kSite, host, remote, kDLCPU, 0) == 0);
  const int64_t *data = static_cast<const int64_t *>(host.tensor()->data);
  return std::vector<int64_t>(data, data + host.tensor()->shape[0]);
}

static Slot remote(int64_t size, int64_t value) {
  std::vector<int64_t> values(static_cast<size_t>(size), value);
  Slot result;
  CHECK(relax_tensor_to_device(
            &kSite, result, View(values.data(), {size}, makeDType(kDLInt, 64)),
            kDLCUDA, 0) == 0);
  return result;
}

static void check(const Machine &machine, int64_t size, int64_t value) {
  Slot result;
  CHECK(machine.call(remote(size, value), result) == 0);
  CHECK(valuesOf(result) ==
        std::vector<int64_t>(static_cast<size_t>(size), value + 2));
}

static int64_t inUse() {
  relax_memory_statistics result = {};
  CHECK(relax_memory_statistics_get(kDLCUDA, 0, &result) == 0);
  return result.in_use;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

static void testReplays() {
  Machine machine;
  long long graphs = driver.graphLaunches(), calls = driver.calls();
  for (int64_t i = 0; i < 6; ++i)
    check(machine, 4, 10 * i);
  CHECK(driver.graphLaunches() == graphs + 4 && driver.calls() == calls + 4);
  CHECK(machine.graphs()[0].cast<int64_t>() == 1);
  CHECK(machine.graphs()[1].cast<int64_t>() == 4);
  // Of the same sizes and data, but for an address that is not aligned alike.
  Slot large = remote(8, 3), shifted, result;
  const int64_t dims[] = {4};
  Slot storage;
  CHECK(relax_storage_alloc(&kSite, storage, 64, kDLCUDA, 0) == 0);
  CHECK(relax_tensor_from_storage(&kSite, shifted, storage, 8, 1, dims,
                                  makeDType(kDLInt, 64)) == 0);
  CHECK(launchStep(large.tensor()->data, shifted.tensor()->data, 4) == 0);
  graphs = driver.graphLaunches();
  CHECK(machine.call(shifted, result) == 0);
  CHECK(valuesOf(result) == std::vector<int64_t>(4, 6));
  CHECK(driver.graphLaunches() == graphs);
}

// Results stay what they are, and nobody else gets the memory of a graph.
static void testMemoryIsApart() {
  int64_t before = inUse();
  {
    Machine machine;
    std::vector<Slot> results(8);
    for (size_t i = 0; i < results.size(); ++i) {
      CHECK(machine.call(remote(4, int64_t(i)), results[i]) == 0);
      std::vector<Slot> others;
      for (int j = 0; j < 8; ++j)
        others.push_back(remote(4, -1));
    }
    for (size_t i = 0; i < results.size(); ++i)
      CHECK(valuesOf(results[i]) == std::vector<int64_t>(4, int64_t(i) + 2));
    results.clear();
    CHECK(machine.graphs()[2].cast<int64_t>() > 0);
    CHECK(inUse() == before + machine.graphs()[2].cast<int64_t>());
  }
  CHECK(inUse() == before);
}

static void testForeignMemory() {
  Slot memory = remote(4, 7), result;
  foreignMemory = memory.tensor()->data;
  Machine machine("foreign");
  for (int i = 0; i < 3; ++i) {
    CHECK(machine.call(remote(4, 0), result) == 0);
    CHECK(valuesOf(result) == std::vector<int64_t>(4, 8));
  }
  CHECK(machine.graphs()[0].cast<int64_t>() == 0);
  CHECK_TEXT(machine.graphs()[3].cast<ffi::String>(),
             "a kernel uses memory that is not of the call");
}

// Each allocation of each of some calls fails once; memory does not leak.
static void testFailedCalls() {
  Slot argument = remote(4, 1);
  for (int before = 0; before < 4; ++before)
    for (int64_t i = 0; i < 8; ++i) {
      int64_t bytes = inUse();
      {
        Machine machine;
        for (int j = 0; j < before; ++j)
          check(machine, 4, j);
        Slot result;
        relax_alloc_fail_after(i);
        int status = machine.call(argument, result);
        relax_alloc_fail_after(-1);
        if (status)
          CHECK_TEXT(takeError().substr(0, 12), "MemoryError:");
        for (int j = 0; j < 4; ++j)
          check(machine, 4, j);
        CHECK(machine.graphs()[0].cast<int64_t>() == 1 || before == 1);
      }
      CHECK(inUse() == bytes);
    }
}

// A graph that fails is made anew.
static void testFailedGraphs() {
  Machine machine;
  for (int i = 0; i < 3; ++i)
    check(machine, 4, i);
  Slot result;
  driver.failGraphs(true);
  CHECK(machine.call(remote(4, 0), result) == -1);
  CHECK_TEXT(takeError(),
             "RuntimeError: main: cuda:0: cannot launch a graph of 2 kernels: "
             "CUDA_ERROR_LAUNCH_FAILED (719): a failure of a kernel");
  driver.failGraphs(false);
  long long graphs = driver.graphLaunches();
  for (int i = 0; i < 3; ++i)
    check(machine, 4, i);
  CHECK(driver.graphLaunches() == graphs + 2);
}

static void testThreads() {
  Machine machine;
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 4; ++i)
    threads.emplace_back([&machine, i] {
      for (int64_t j = 0; j < 50; ++j)
        check(machine, 1 + j % 3, 100 * i + j);
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(machine.graphs()[0].cast<int64_t>() == 3);
  CHECK(machine.graphs()[1].cast<int64_t>() > 100);
}

int main() {
  findDriver();
  testReplays();
  testMemoryIsApart();
  testForeignMemory();
  testFailedCalls();
  testFailedGraphs();
  testThreads();
  return reportChecks();
}
