//===- FakeCuda.cc - A driver without a device ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for the CUDA driver. Its memory is that of the host under addresses
// that no processor accepts, so what reads it past the driver crashes. Every
// function wants the context that the real one wants.
//
// Settings of the environment: FAKE_CUDA_DEVICES (2), FAKE_CUDA_BYTES (2^30,
// of all devices), FAKE_CUDA_START (0, the result of cuInit).
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Result = int;
constexpr Result kSuccess = 0, kInvalid = 1, kOutOfMemory = 2, kContext = 201,
                 kInvalidPTX = 218, kNotFound = 500, kIllegalAddress = 700;
constexpr uint64_t kTag = uint64_t(1) << 62;
constexpr int kMostDevices = 8;

struct Context {
  int device;
};
Context contexts[kMostDevices];
thread_local std::vector<Context *> stack;

// The head in front of the memory of a device.
struct alignas(64) Head {
  Context *context;
  size_t bytes;
};

std::atomic<int64_t> inUse{0};
std::atomic<bool> copiesFail{false};

int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

Context *current() { return stack.empty() ? nullptr : stack.back(); }

// The bytes at an address of a device; NULL for an address of the host.
char *bytesAt(uint64_t address) {
  return address & kTag ? reinterpret_cast<char *>(address ^ kTag) : nullptr;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int64_t fakeCudaBytes() { return inUse; }
EXPORT void fakeCudaFailCopies(bool fail) { copiesFail = fail; }

EXPORT Result cuInit(unsigned flags) {
  return flags == 0 ? Result(setting("FAKE_CUDA_START", 0)) : kInvalid;
}
EXPORT Result cuGetErrorName(Result error, const char **text) {
  *text = error == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS" : nullptr;
  return *text ? kSuccess : kInvalid;
}
EXPORT Result cuGetErrorString(Result error, const char **text) {
  *text = error == kIllegalAddress ? "an illegal memory access" : nullptr;
  return *text ? kSuccess : kInvalid;
}
EXPORT Result cuDeviceGetCount(int *count) {
  *count = static_cast<int>(setting("FAKE_CUDA_DEVICES", 2));
  return kSuccess;
}
EXPORT Result cuDeviceGet(int *device, int index) {
  *device = index + 100;
  return index < kMostDevices ? kSuccess : kInvalid;
}
EXPORT Result cuDevicePrimaryCtxRetain(Context **context, int device) {
  *context = &contexts[device - 100];
  (*context)->device = device;
  return kSuccess;
}
EXPORT Result cuCtxPushCurrent_v2(Context *context) {
  stack.push_back(context);
  return context ? kSuccess : kContext;
}
EXPORT Result cuCtxPopCurrent_v2(Context **context) {
  if (stack.empty())
    return kContext;
  *context = stack.back();
  stack.pop_back();
  return kSuccess;
}
EXPORT Result cuCtxSynchronize() { return current() ? kSuccess : kContext; }

EXPORT Result cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  if (!current())
    return kContext;
  if (inUse + int64_t(bytes) > setting("FAKE_CUDA_BYTES", 1 << 30))
    return kOutOfMemory;
  char *whole = static_cast<char *>(std::malloc(sizeof(Head) + bytes));
  new (whole) Head{current(), bytes};
  inUse += int64_t(bytes);
  *memory = reinterpret_cast<uint64_t>(whole + sizeof(Head)) | kTag;
  return kSuccess;
}
EXPORT Result cuMemFree_v2(uint64_t memory) {
  if (!current() || !bytesAt(memory))
    return kContext;
  Head *head = reinterpret_cast<Head *>(bytesAt(memory) - sizeof(Head));
  if (head->context != current())
    return kContext;
  inUse -= int64_t(head->bytes);
  std::free(head);
  return kSuccess;
}

static Result copyBytes(void *to, const void *from, size_t bytes) {
  if (!current())
    return kContext;
  if (!to || !from || copiesFail)
    return kIllegalAddress;
  std::memcpy(to, from, bytes);
  return kSuccess;
}

EXPORT Result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  return copyBytes(bytesAt(to), from, bytes);
}
EXPORT Result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  return copyBytes(to, bytesAt(from), bytes);
}
EXPORT Result cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  return copyBytes(bytesAt(to), bytesAt(from), bytes);
}
EXPORT Result cuMemcpyPeer(uint64_t to, Context *toContext, uint64_t from,
                           Context *fromContext, size_t bytes) {
  if (!toContext || !fromContext || toContext == fromContext)
    return kContext;
  return copyBytes(bytesAt(to), bytesAt(from), bytes);
}

//===----------------------------------------------------------------------===//
// Kernels: a launch is kept, for the test to look at
//===----------------------------------------------------------------------===//

namespace {
struct Module {
  std::string text;
};
struct Function {
  Context *context;
  std::string name;
};
std::vector<unsigned> launchSizes;
std::vector<int64_t> launchParams;
std::string launchName;
int numModules = 0;
} // namespace

EXPORT int fakeCudaModules() { return numModules; }
EXPORT const char *fakeCudaLaunchName() { return launchName.c_str(); }
EXPORT const unsigned *fakeCudaLaunchSizes() { return launchSizes.data(); }
EXPORT const int64_t *fakeCudaLaunchParams() { return launchParams.data(); }

EXPORT Result cuModuleLoadDataEx(Module **module, const void *image,
                                 unsigned numOptions, int *options,
                                 void **values) {
  std::string text = static_cast<const char *>(image);
  ++numModules;
  if (text.find(".version") != std::string::npos) {
    *module = new Module{text};
    return current() ? kSuccess : kContext;
  }
  constexpr int kErrorLog = 5;
  for (unsigned i = 0; i < numOptions; ++i)
    if (options[i] == kErrorLog)
      std::strcpy(static_cast<char *>(values[i]), "line 1: expected .version");
  return kInvalidPTX;
}
EXPORT Result cuModuleGetFunction(Function **function, Module *module,
                                  const char *name) {
  if (module->text.find(std::string(".entry ") + name) == std::string::npos)
    return kNotFound;
  *function = new Function{current(), name};
  return kSuccess;
}
EXPORT Result cuFuncSetAttribute(Function *, int, int value) {
  return value <= 227 << 10 ? kSuccess : kInvalid;
}
// All kernels of the test have two parameters.
EXPORT Result cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY,
                             unsigned gridZ, unsigned blockX, unsigned blockY,
                             unsigned blockZ, unsigned sharedBytes, void *,
                             void **params, void **) {
  if (current() != function->context)
    return kContext;
  if (blockX * blockY * blockZ > 1024)
    return kInvalid;
  launchName = function->name;
  launchSizes = {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes};
  launchParams.clear();
  for (int i = 0; i < 2; ++i)
    launchParams.push_back(*static_cast<int64_t *>(params[i]));
  return kSuccess;
}
