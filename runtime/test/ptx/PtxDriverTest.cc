//===- PtxDriverTest.cc - Functions of the driver of the interpreter  -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors of modules, limits of launches, attributes, streams, events, graphs.
//
//===----------------------------------------------------------------------===//

#include "PtxTest.h"

#include <cstdlib>
#include <cstring>

static void checkLog(const std::string &text, int result,
                     const std::string &log) {
  LoadedModule module(text);
  CHECK(module.result == result);
  CHECK_TEXT(module.log, log);
}

// What is not known is an error with its line, as is what does not fit.
void testModules() {
  checkLog("nothing", 218, "line 1: expected .version");
  checkLog(".version 7.0\n.target sm_80\n.address_size 32\n", 218,
           "line 3: expected addresses of 64 bits");
  checkLog(".version 8.0\n.target sm_90a\n.address_size 64\n", 209,
           "the code is for sm_90, but the device is sm_80");
  setenv("RELAX_PTX_ARCH", "90", 1);
  checkLog(".version 8.0\n.target sm_90a\n.address_size 64\n", 0, "");
  setenv("RELAX_PTX_ARCH", "100", 1);
  checkLog(".version 8.0\n.target sm_90\n.address_size 64\n", 0, "");
  checkLog(".version 8.0\n.target sm_90a\n.address_size 64\n", 209,
           "the code is for sm_90, but the device is sm_100");
  unsetenv("RELAX_PTX_ARCH");
  checkLog(".version 9.0\n.target sm_80\n.address_size 64\n", 0, "");
  checkLog(".version 9.1\n.target sm_80\n.address_size 64\n", 222, "");
  const std::string head = ".version 7.0\n.target sm_80\n.entry f()\n{\n"
                           ".reg .b32 %r<3>;\n.reg .pred %p<2>;\n";
  auto check = [&](const std::string &body, const std::string &log) {
    checkLog(head + body + "\n}\n", 218, "line 7: " + log);
  };
  check("frobnicate.b32 %r1, %r2;", "unknown instruction frobnicate.b32");
  check("add.f99 %r1, %r2;", "unknown instruction add.f99 (.f99)");
  check("add.f32x %r1, %r1, %r2;", "unknown instruction add.f32x (.f32x)");
  check("popc.f32 %r1, %r2;", "unknown instruction popc.f32");
  check("add.u32 %r1, %r2;", "too few operands");
  check("add.u32 %r1, %r2, %r1, %r1;", "too many operands");
  check("add.u32 %r1, %r2, %r3;", "unknown register %r3");
  check("add.u64 %r1, %r1, %r2;",
        "register %r1 has 32 bits, but the instruction wants 64");
  check("add.u32 %r1, %r1, %p1;",
        "register %p1 has 1 bit, but the instruction wants 32");
  check("ld.global.u32 %r1, %r2;", "expected an address");
  check("ld.global.v2.u32 %r1, [%r2];", "unknown instruction ld.global.v2.u32");
  check("bra $nowhere;", "unknown label $nowhere");
  check("mov.u32 %r1, other;", "unknown name other");
  check("@%r1 bra $x;", "expected a predicate, but got %r1");
  check("add.u32 %r1, !%r1, 2;", "only predicates may be negated");
  check("call.uni other;", "unknown function other");
  checkLog(
      head + ".shared .b8 s[50000];\nst.shared.u32 [s], %r1;\n}\n", 218,
      "line 3: kernel f has 50000 bytes of shared memory, more than 49152");
  check(".local .b8 s[-1];", "variable s is too large");
  check(".local .b8 s[99999999][99999999];", "variable s is too large");
  checkLog(".version 7.0\n.target sm_80\n.file 1 \"a\"\n.section .debug_x {\n"
           ".b8 1\n}\n.visible .entry f()\n{\n.loc 1 2 3\n"
           ".pragma \"nounroll\";\n/* a\n comment */ ret;\n}\n",
           0, "");
}

static void testLimits() {
  LoadedModule module(kernelText("") +
                      ".entry few()\n.maxntid 64, 2, 1\n{\nret;\n}\n"
                      ".entry just()\n.reqntid 32\n{\nret;\n}\n"
                      ".entry g()\n{\n.reg .b32 %r;\n.shared .b8 s[1000];\n"
                      "st.shared.u32 [s], %r;\nret;\n}\n");
  void *f = module.find("f"), *few = module.find("few"),
       *just = module.find("just"), *g = module.find("g"), *none = nullptr;
  CHECK(driver().cuModuleGetFunction(&none, module.module, "h") == 500);
  Buffer buffer(8 << 10);
  std::vector<uint64_t> params = {buffer.address, buffer.address};
  CHECK(launch(f, {1, 1024}, params) == 0);
  CHECK(launch(f, {1, 1025}, params) == 1);
  CHECK(launch(f, {0, 32}, params) == 1);
  CHECK(launch(f, {1, 0}, params) == 1);
  CHECK(launch(few, {1, 128}, {}) == 0 && launch(few, {1, 129}, {}) == 1);
  CHECK(launch(just, {1, 32}, {}) == 0 && launch(just, {1, 31}, {}) == 1);
  void *pointers[] = {&params[0], &params[1]};
  CHECK(driver().cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, nullptr, pointers,
                                nullptr) == 1);
  CHECK(driver().cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, nullptr, pointers,
                                nullptr) == 1);
  // Shared memory: 48 KiB, or as much as the attribute says.
  const unsigned kKilo = 1 << 10;
  int value = 0;
  CHECK(launch(f, {1, 32, 48 * kKilo}, params) == 0);
  CHECK(launch(f, {1, 32, 49 * kKilo}, params) == 1);
  CHECK(driver().cuFuncSetAttribute(f, 8, 227 * kKilo) == 0);
  CHECK(launch(f, {1, 32, 227 * kKilo}, params) == 0);
  CHECK(driver().cuFuncSetAttribute(f, 8, 228 * kKilo) == 1);
  CHECK(driver().cuFuncSetAttribute(g, 8, 227 * kKilo) == 1);
  CHECK(driver().cuFuncGetAttribute(&value, 1, g) == 0 && value == 1008);
  CHECK(driver().cuFuncGetAttribute(&value, 0, few) == 0 && value == 128);
}

static void testAttributes() {
  int value = 0, device = 0;
  char name[64] = "";
  CHECK(driver().cuDriverGetVersion(&value) == 0 && value >= 11000);
  CHECK(driver().cuDeviceGet(&device, 0) == 0);
  auto attribute = [&](int which) {
    CHECK(driver().cuDeviceGetAttribute(&value, which, device) == 0);
    return value;
  };
  CHECK(attribute(75) == 8 && attribute(76) == 0);
  CHECK(attribute(1) == 1024 && attribute(10) == 32 && attribute(16) > 0);
  CHECK(attribute(97) == 227 << 10);
  CHECK(driver().cuDeviceGetName(name, sizeof(name), device) == 0 && *name);
}

// A captured launch is not done; a graph does it, with the parameters of then.
static void testGraphs() {
  LoadedModule module(
      kernelText("ld.global.u64 %rd0, [%in];\nadd.u64 %rd0, %rd0, 1;\n"
                 "st.global.u64 [%out], %rd0;"));
  Buffer from(std::vector<uint64_t>(32, 5)), to(std::vector<uint64_t>(32, 0)),
      copy(std::vector<uint64_t>(32, 0));
  void *stream = nullptr, *graph = nullptr, *executable = nullptr;
  driver().reset();
  CHECK(driver().cuStreamCreate(&stream, 0) == 0);
  CHECK(driver().cuStreamBeginCapture(stream, 0) == 0);
  CHECK(launch(module.find("f"), {}, {from.address, to.address}, stream) == 0);
  CHECK(driver().cuMemcpyDtoDAsync(copy.address, to.address, 256, stream) == 0);
  CHECK(driver().cuStreamSynchronize(stream) == 900);
  CHECK(driver().cuStreamEndCapture(stream, &graph) == 0);
  CHECK(driver().launches() == 0 && copy.get<uint64_t>()[3] == 0);
  CHECK(driver().cuGraphInstantiate(&executable, graph, 0) == 0);
  CHECK(driver().cuGraphDestroy(graph) == 0);
  for (int i = 1; i < 4; ++i) {
    CHECK(driver().cuGraphLaunch(executable, stream) == 0);
    CHECK(driver().cuStreamSynchronize(stream) == 0);
    CHECK(driver().launches() == i && copy.get<uint64_t>()[31] == 6);
  }
  CHECK(driver().cuGraphExecDestroy(executable) == 0);
  CHECK(driver().cuStreamDestroy(stream) == 0);
}

// The parameters of a node, as CUDA_KERNEL_NODE_PARAMS_v2 has them.
namespace {
struct NodeParams {
  NodeParams(void *function, uint64_t from, uint64_t to)
      : function(function), words{from, to} {}

  void *function;
  unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1}, sharedBytes = 0;
  void **params = pointers, **extra = nullptr;
  void *kernel = nullptr, *context = nullptr;
  uint64_t words[2];
  void *pointers[2] = {&words[0], &words[1]};
};
} // namespace

// A graph of nodes, which run after those that they wait for; the parameters
// of one are others later. Handles that are gone are noticed.
static void testNodes() {
  LoadedModule module(
      kernelText("ld.global.u64 %rd0, [%in];\nadd.u64 %rd0, %rd0, 1;\n"
                 "st.global.u64 [%out], %rd0;"));
  void *f = module.find("f");
  Buffer one(std::vector<uint64_t>(32, 5)), two(std::vector<uint64_t>(32, 0)),
      three(std::vector<uint64_t>(32, 0));
  NodeParams first(f, one.address, two.address),
      second(f, two.address, three.address), late(f, one.address, one.address);
  auto make = [&](bool isOrdered, void **nodes, void **graph) {
    void *executable = nullptr;
    CHECK(driver().cuGraphCreate(graph, 0) == 0);
    CHECK(driver().cuGraphAddKernelNode(&nodes[0], *graph, nullptr, 0,
                                        &first) == 0);
    CHECK(driver().cuGraphAddKernelNode(&nodes[1], *graph, nodes, isOrdered,
                                        &second) == 0);
    CHECK(driver().cuGraphInstantiate(&executable, *graph, 0) == 0);
    return executable;
  };
  void *nodes[2] = {}, *others[2] = {}, *graph = nullptr, *other = nullptr;
  void *unordered = make(false, others, &other);
  CHECK(driver().cuGraphLaunch(unordered, nullptr) == 0);
  CHECK(three.get<uint64_t>()[0] == 1 && two.get<uint64_t>()[0] == 6);
  void *executable = make(true, nodes, &graph);
  CHECK(driver().cuGraphLaunch(executable, nullptr) == 0);
  CHECK(three.get<uint64_t>()[31] == 7);
  CHECK(driver().cuGraphExecKernelNodeSetParams(executable, nodes[0], &late) ==
        0);
  CHECK(driver().cuGraphLaunch(executable, nullptr) == 0);
  CHECK(one.get<uint64_t>()[31] == 6 && three.get<uint64_t>()[31] == 7);
  CHECK(driver().cuGraphExecKernelNodeSetParams(executable, others[0], &late) ==
        400);
  CHECK(driver().cuGraphAddKernelNode(&nodes[0], graph, others, 1, &first) ==
        400);
  CHECK(driver().cuGraphDestroy(graph) == 0);
  CHECK(driver().cuGraphDestroy(graph) == 400);
  CHECK(driver().cuGraphExecKernelNodeSetParams(executable, nodes[0], &late) ==
        400);
  CHECK(driver().cuGraphLaunch(executable, nullptr) == 0);
  CHECK(driver().cuGraphExecDestroy(executable) == 0);
  CHECK(driver().cuGraphLaunch(executable, nullptr) == 400);
  CHECK(driver().cuGraphExecDestroy(executable) == 400);
  CHECK(driver().cuGraphExecDestroy(unordered) == 0);
  CHECK(driver().cuGraphDestroy(other) == 0);
}

static void testEvents() {
  void *begin = nullptr, *end = nullptr;
  float milliseconds = -1;
  CHECK(driver().cuEventCreate(&begin, 0) == 0);
  CHECK(driver().cuEventCreate(&end, 0) == 0);
  CHECK(driver().cuEventRecord(begin, nullptr) == 0);
  CHECK(driver().cuEventRecord(end, nullptr) == 0);
  CHECK(driver().cuEventSynchronize(end) == 0);
  CHECK(driver().cuEventElapsedTime(&milliseconds, begin, end) == 0);
  CHECK(milliseconds >= 0 && milliseconds < 1000);
  CHECK(driver().cuEventDestroy(begin) == 0);
  CHECK(driver().cuEventDestroy(end) == 0);
}

static void testMemory() {
  Buffer buffer(64);
  CHECK(driver().cuMemsetD8(buffer.address, 7, 64) == 0);
  CHECK(buffer.get<uint8_t>()[63] == 7);
  CHECK(driver().cuMemsetD8(buffer.address + 1, 7, 64) == 700);
  std::vector<char> bytes(65);
  CHECK(driver().cuMemcpyDtoH(bytes.data(), buffer.address, 65) == 700);
  CHECK(errorText(700).find("65 bytes at byte 0 of an allocation of 64") == 0);
}

void testDriver() {
  testLimits();
  testAttributes();
  testGraphs();
  testNodes();
  testEvents();
  testMemory();
}
