//===- PtxTest.h - Helpers of the tests of the PTX interpreter  -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of the driver, and kernels that are made around a few
// instructions.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_TEST_H
#define RELAX_RUNTIME_TEST_PTX_TEST_H

#include "../Test.h"

#include <cstdint>
#include <string>
#include <vector>

// The driver, as its stable binary interface has it.
struct Driver {
  int (*cuInit)(unsigned);
  int (*cuDriverGetVersion)(int *);
  int (*cuGetErrorString)(int, const char **);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetAttribute)(int *, int, int);
  int (*cuDeviceGetName)(char *, int, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuMemAlloc)(uint64_t *, size_t);
  int (*cuMemFree)(uint64_t);
  int (*cuMemcpyHtoD)(uint64_t, const void *, size_t);
  int (*cuMemcpyDtoH)(void *, uint64_t, size_t);
  int (*cuMemcpyDtoDAsync)(uint64_t, uint64_t, size_t, void *);
  int (*cuMemsetD8)(uint64_t, unsigned char, size_t);
  int (*cuModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  int (*cuModuleUnload)(void *);
  int (*cuModuleGetFunction)(void **, void *, const char *);
  int (*cuFuncSetAttribute)(void *, int, int);
  int (*cuFuncGetAttribute)(int *, int, void *);
  int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, unsigned, void *, void **, void **);
  int (*cuStreamCreate)(void **, unsigned);
  int (*cuStreamDestroy)(void *);
  int (*cuStreamSynchronize)(void *);
  int (*cuStreamBeginCapture)(void *, int);
  int (*cuStreamEndCapture)(void *, void **);
  int (*cuGraphCreate)(void **, unsigned);
  int (*cuGraphAddKernelNode)(void **, void *, void *const *, size_t,
                              const void *);
  int (*cuGraphExecKernelNodeSetParams)(void *, void *, const void *);
  int (*cuGraphInstantiate)(void **, void *, unsigned long long);
  int (*cuGraphLaunch)(void *, void *);
  int (*cuGraphExecDestroy)(void *);
  int (*cuGraphDestroy)(void *);
  int (*cuEventCreate)(void **, unsigned);
  int (*cuEventRecord)(void *, void *);
  int (*cuEventSynchronize)(void *);
  int (*cuEventElapsedTime)(float *, void *, void *);
  int (*cuEventDestroy)(void *);
  long long (*launches)();
  void (*reset)();
};

// The driver with a context of the first device.
const Driver &driver();

// Memory of the device; begins as a copy.
struct Buffer {
  uint64_t address = 0;
  size_t bytes;
  explicit Buffer(size_t bytes);
  template <class T>
  explicit Buffer(const std::vector<T> &values)
      : Buffer(values.size() * sizeof(T)) {
    driver().cuMemcpyHtoD(address, values.data(), bytes);
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { driver().cuMemFree(address); }
  template <class T> std::vector<T> get() const {
    std::vector<T> values(bytes / sizeof(T));
    CHECK(driver().cuMemcpyDtoH(values.data(), address, bytes) == 0);
    return values;
  }
};

struct LoadedModule {
  void *module = nullptr;
  int result;
  std::string log;
  explicit LoadedModule(const std::string &text);
  LoadedModule(const LoadedModule &) = delete;
  ~LoadedModule();
  void *find(const char *name) const;
};

struct Sizes {
  unsigned blocks = 1, threads = 32, sharedBytes = 0;
};

// Launches with parameters of 64 bits. Returns the result.
int launch(void *kernel, Sizes sizes, std::vector<uint64_t> params,
           void *stream = nullptr);
// What the driver says about an error.
std::string errorText(int result);

// A module with variables and functions, and the kernel f(in, out). Its
// threads have their number in %t (of the block) and %i (of the launch), the
// addresses of what they read and write at %in and %out, 8 bytes for each, and
// the registers %p, %h, %r, %f, %rd and %fd from 0 to 39.
std::string kernelText(const std::string &body, const std::string &outside = "",
                       const std::string &directives = "");

// Runs such a kernel on a word for each thread. Returns the words that it
// writes, or what went wrong as the only text.
struct Outcome {
  int result;
  std::string text;
  std::vector<uint64_t> words;
};
Outcome runKernel(const std::string &module, std::vector<uint64_t> in,
                  Sizes sizes = {});
// The words of a kernel that must not fail.
std::vector<uint64_t> runBody(const std::string &body,
                              std::vector<uint64_t> in = {}, Sizes sizes = {},
                              const std::string &outside = "");

// Checks that a launch fails so: the words must be in its text.
void checkFault(const std::string &module, int result, const std::string &words,
                Sizes sizes = {}, const char *file = "", int line = 0);
#define CHECK_FAULT(module, result, words, ...)                                \
  checkFault((module), (result), (words), Sizes{__VA_ARGS__}, __FILE__,        \
             __LINE__)

uint32_t bitsOf(float value);
uint64_t bitsOf(double value);
float floatOf(uint64_t bits);
double doubleOf(uint64_t bits);

void testAccesses();
void testArithmetic();
void testBarriers();
void testBits();
void testControl();
void testConversions();
void testDriver();
void testFaults();
void testModules();
void testTensorCores();
void testWarps();

#endif // RELAX_RUNTIME_TEST_PTX_TEST_H
