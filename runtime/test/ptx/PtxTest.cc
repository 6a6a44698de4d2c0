//===- PtxTest.cc - Tests of the PTX interpreter -------------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small kernels for each group of instructions, through the functions of the
// driver. RELAX_CUDA_DRIVER names the library.
//
//===----------------------------------------------------------------------===//

#include "PtxTest.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

static Driver openDriver() {
  const char *name = std::getenv("RELAX_CUDA_DRIVER");
  void *library = dlopen(name ? name : "", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  Driver result;
  const auto find = [&](auto &function, const char *name) {
    void *symbol = dlsym(library, name);
    CHECK(symbol != nullptr);
    std::memcpy(&function, &symbol, sizeof(symbol));
  };
#define FIND(name) find(result.name, #name)
#define FIND2(name) find(result.name, #name "_v2")
  FIND(cuInit);
  FIND(cuDriverGetVersion);
  FIND(cuGetErrorString);
  FIND(cuDeviceGet);
  FIND(cuDeviceGetAttribute);
  FIND(cuDeviceGetName);
  FIND(cuDevicePrimaryCtxRetain);
  FIND(cuCtxSetCurrent);
  FIND2(cuMemAlloc);
  FIND2(cuMemFree);
  FIND2(cuMemcpyHtoD);
  FIND2(cuMemcpyDtoH);
  FIND2(cuMemcpyDtoDAsync);
  FIND2(cuMemsetD8);
  FIND(cuModuleLoadDataEx);
  FIND(cuModuleUnload);
  FIND(cuModuleGetFunction);
  FIND(cuFuncSetAttribute);
  FIND(cuFuncGetAttribute);
  FIND(cuLaunchKernel);
  FIND(cuStreamCreate);
  FIND2(cuStreamDestroy);
  FIND(cuStreamSynchronize);
  FIND2(cuStreamBeginCapture);
  FIND(cuStreamEndCapture);
  FIND(cuGraphCreate);
  FIND2(cuGraphAddKernelNode);
  FIND2(cuGraphExecKernelNodeSetParams);
  find(result.cuGraphInstantiate, "cuGraphInstantiateWithFlags");
  FIND(cuGraphLaunch);
  FIND(cuGraphExecDestroy);
  FIND(cuGraphDestroy);
  FIND(cuEventCreate);
  FIND(cuEventRecord);
  FIND(cuEventSynchronize);
  FIND(cuEventElapsedTime);
  FIND2(cuEventDestroy);
#undef FIND
#undef FIND2
  find(result.launches, "relax_ptx_launches");
  find(result.reset, "relax_ptx_reset");
  return result;
}

static Driver startDriver() {
  Driver result = openDriver();
  int device = 0;
  void *context = nullptr;
  CHECK(result.cuInit(0) == 0 && result.cuDeviceGet(&device, 0) == 0);
  CHECK(result.cuDevicePrimaryCtxRetain(&context, device) == 0);
  CHECK(result.cuCtxSetCurrent(context) == 0);
  return result;
}

const Driver &driver() {
  static const Driver result = startDriver();
  return result;
}

Buffer::Buffer(size_t bytes) : bytes(bytes) {
  CHECK(driver().cuMemAlloc(&address, bytes) == 0);
}

LoadedModule::LoadedModule(const std::string &text) {
  char buffer[1024] = "";
  int options[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER, its size
  void *values[] = {buffer, reinterpret_cast<void *>(sizeof(buffer))};
  result =
      driver().cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
  log = buffer;
}
LoadedModule::~LoadedModule() {
  if (result == 0)
    driver().cuModuleUnload(module);
}
void *LoadedModule::find(const char *name) const {
  void *kernel = nullptr;
  CHECK(driver().cuModuleGetFunction(&kernel, module, name) == 0);
  return kernel;
}

int launch(void *kernel, Sizes sizes, std::vector<uint64_t> params,
           void *stream) {
  std::vector<void *> pointers;
  for (uint64_t &param : params)
    pointers.push_back(&param);
  return driver().cuLaunchKernel(kernel, sizes.blocks, 1, 1, sizes.threads, 1,
                                 1, sizes.sharedBytes, stream, pointers.data(),
                                 nullptr);
}

std::string errorText(int result) {
  const char *text = nullptr;
  return driver().cuGetErrorString(result, &text) == 0 && text ? text : "";
}

std::string kernelText(const std::string &body, const std::string &outside,
                       const std::string &directives) {
  return ".version 7.8\n.target sm_80\n.address_size 64\n" + outside +
         "\n.visible .entry f(.param .u64 f_in, .param .u64 f_out)\n" +
         directives +
         "{\n"
         ".reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<40>;\n"
         ".reg .f32 %f<40>; .reg .b64 %rd<40>; .reg .f64 %fd<40>;\n"
         ".reg .b32 %t, %i; .reg .b64 %in, %out, %eight;\n"
         "mov.u32 %t, %tid.x;\n"
         "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\n"
         "mad.lo.s32 %i, %r0, %r1, %t;\n"
         "mul.wide.u32 %eight, %i, 8;\n"
         "ld.param.u64 %in, [f_in];\nld.param.u64 %out, [f_out];\n"
         "add.s64 %in, %in, %eight;\nadd.s64 %out, %out, %eight;\n" +
         body + "\nret;\n}\n";
}

Outcome runKernel(const std::string &text, std::vector<uint64_t> in,
                  Sizes sizes) {
  LoadedModule module(text);
  Outcome outcome = {module.result, module.log, {}};
  if (module.result != 0)
    return outcome;
  size_t threads = sizes.blocks * sizes.threads;
  in.resize(threads);
  Buffer from(in), to(std::vector<uint64_t>(threads, 0));
  outcome.result = launch(module.find("f"), sizes, {from.address, to.address});
  outcome.text = outcome.result ? errorText(outcome.result) : "";
  outcome.words = to.get<uint64_t>();
  return outcome;
}

std::vector<uint64_t> runBody(const std::string &body, std::vector<uint64_t> in,
                              Sizes sizes, const std::string &outside) {
  Outcome outcome = runKernel(kernelText(body, outside), std::move(in), sizes);
  CHECK_TEXT(outcome.text, "");
  return outcome.words;
}

void checkFault(const std::string &module, int result, const std::string &words,
                Sizes sizes, const char *file, int line) {
  Outcome outcome = runKernel(module, {}, sizes);
  checkTrue(outcome.result == result, outcome.text.c_str(), file, line);
  if (outcome.text.find(words) == std::string::npos)
    checkText(outcome.text, words, file, line);
}

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
float floatOf(uint64_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
double doubleOf(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

int main() {
  testArithmetic();
  testBits();
  testConversions();
  testAccesses();
  testControl();
  testWarps();
  testTensorCores();
  testBarriers();
  testFaults();
  testModules();
  testDriver();
  return reportChecks();
}
