//===- Driver.cc - Devices and memory of the driver of tests -- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for the CUDA driver, on machines without a device: kernels of PTX
// are interpreted. Every function wants the context that the real one wants.
//
// Settings of the environment:
//   RELAX_PTX_DEVICES (2)       how many devices there are
//   RELAX_PTX_BYTES (2^30)      the memory of all devices
//   RELAX_PTX_START (0)         the result of cuInit
//   RELAX_PTX_ARCH (80)         the compute capability times ten
//   RELAX_PTX_UNITS (4)         the number of multiprocessors
//   RELAX_PTX_ORDER (forward)   reverse: warps run from the last to the first
//   RELAX_PTX_REMOVE (0)        a line of images that is left out, from 1 on
//   RELAX_PTX_CHECK ()          words with commas between: global looks for
//                               races of blocks in global memory;
//                               unwritten-ok lets kernels read shared and
//                               local memory that was never written
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace relax_ptx;

static constexpr int kMostDevices = 8, kFirstDevice = 100;

static Context contexts[kMostDevices];
static thread_local std::vector<Context *> stack;
static thread_local Result lastResult = kSuccess;
static thread_local std::string lastText;

Driver &relax_ptx::driver() {
  static Driver &result = *new Driver; // devices outlive what uses them
  return result;
}

int64_t relax_ptx::setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

int relax_ptx::deviceArch() {
  return static_cast<int>(setting("RELAX_PTX_ARCH", 80));
}

Context *relax_ptx::currentContext() {
  return stack.empty() ? nullptr : stack.back();
}

Result relax_ptx::wrong(Result result, const std::string &text) {
  lastResult = result;
  lastText = text;
  if (!text.empty())
    std::fprintf(stderr, "relax_ptx: %s\n", text.c_str());
  return result;
}

//===----------------------------------------------------------------------===//
// For tests
//===----------------------------------------------------------------------===//

EXPORT int64_t relax_ptx_bytes() {
  Lock guard(driver().lock);
  return driver().bytesInUse;
}
EXPORT void relax_ptx_fail_copies(bool fail) { driver().copiesFail = fail; }

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
struct ErrorWords {
  Result result;
  const char *name, *text;
};
} // namespace

// Other errors have no words, as those that a driver does not know.
static const ErrorWords kErrors[] = {
    {kNoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no code for the device"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access"},
    {kTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel that does not end"},
    {kMisaligned, "CUDA_ERROR_MISALIGNED_ADDRESS", "a misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "a failure of a kernel"},
};

static const ErrorWords *findError(Result result) {
  for (const ErrorWords &error : kErrors)
    if (error.result == result)
      return &error;
  return nullptr;
}

EXPORT Result cuGetErrorName(Result result, const char **text) {
  const ErrorWords *found = findError(result);
  *text = found ? found->name : nullptr;
  return found ? kSuccess : kInvalid;
}
EXPORT Result cuGetErrorString(Result result, const char **text) {
  const ErrorWords *found = findError(result);
  *text = found ? found->text : nullptr;
  if (found && lastResult == result && !lastText.empty())
    *text = lastText.c_str();
  return found ? kSuccess : kInvalid;
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

EXPORT Result cuInit(unsigned flags) {
  return flags == 0 ? Result(setting("RELAX_PTX_START", 0)) : kInvalid;
}
EXPORT Result cuDriverGetVersion(int *version) {
  *version = kDriverVersion;
  return kSuccess;
}
EXPORT Result cuDeviceGetCount(int *count) {
  *count = static_cast<int>(setting("RELAX_PTX_DEVICES", 2));
  return kSuccess;
}
EXPORT Result cuDeviceGet(int *device, int index) {
  *device = index + kFirstDevice;
  return index >= 0 && index < kMostDevices ? kSuccess : kInvalid;
}
EXPORT Result cuDeviceGetName(char *name, int size, int device) {
  std::snprintf(name, static_cast<size_t>(size), "PTX interpreter %d",
                device - kFirstDevice);
  return kSuccess;
}
EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = static_cast<size_t>(setting("RELAX_PTX_BYTES", 1 << 30));
  return kSuccess;
}

EXPORT Result cuDeviceGetAttribute(int *value, int attribute, int) {
  struct Row {
    int attribute, value;
  };
  int arch = deviceArch();
  const Row rows[] = {{1, 1024},         // threads of a block
                      {2, 1024},         // in x
                      {3, 1024},         // in y
                      {4, 64},           // in z
                      {5, INT32_MAX},    // blocks in x
                      {6, 65535},        // in y
                      {7, 65535},        // in z
                      {8, kSharedBytes}, // shared memory of a block
                      {10, kLanes},      // threads of a warp
                      {12, 65536},       // registers of a block
                      {13, 1000000},     // kHz
                      {16, static_cast<int>(setting("RELAX_PTX_UNITS", 4))},
                      {36, 1000000},   // kHz of the memory
                      {37, 256},       // bits of its bus
                      {38, 4 << 20},   // second cache
                      {39, 2048},      // threads of a multiprocessor
                      {41, 1},         // one space of addresses
                      {75, arch / 10}, // capability
                      {76, arch % 10},
                      {81, 228 << 10}, // shared memory of a multiprocessor
                      {97, kMostSharedBytes}}; // of a block that asks for it
  for (const Row &row : rows)
    if (row.attribute == attribute) {
      *value = row.value;
      return kSuccess;
    }
  *value = 0;
  return attribute > 0 ? kSuccess : kInvalid;
}

EXPORT Result cuDevicePrimaryCtxRetain(Context **context, int device) {
  if (device < kFirstDevice || device >= kFirstDevice + kMostDevices)
    return kInvalid;
  *context = &contexts[device - kFirstDevice];
  (*context)->device = device;
  return kSuccess;
}
EXPORT Result cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
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
EXPORT Result cuCtxSetCurrent(Context *context) {
  if (!stack.empty())
    stack.pop_back();
  if (context)
    stack.push_back(context);
  return kSuccess;
}
EXPORT Result cuCtxGetCurrent(Context **context) {
  *context = currentContext();
  return kSuccess;
}
EXPORT Result cuCtxGetDevice(int *device) {
  if (!currentContext())
    return kContext;
  *device = currentContext()->device;
  return kSuccess;
}
static std::atomic<int> numWaits{0};

// How often a device was waited for.
EXPORT int relax_ptx_waits() { return numWaits; }

EXPORT Result cuCtxSynchronize() {
  ++numWaits;
  return currentContext() ? kSuccess : kContext;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

EXPORT Result cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  if (!currentContext())
    return kContext;
  Driver &state = driver();
  Lock guard(state.lock);
  if (bytes > size_t(INT64_MAX) / 2 ||
      state.bytesInUse + int64_t(bytes) > setting("RELAX_PTX_BYTES", 1 << 30))
    return kOutOfMemory;
  *memory = state.memory.allocate(bytes, currentContext());
  if (!*memory)
    return kOutOfMemory;
  state.bytesInUse += int64_t(bytes);
  return kSuccess;
}

EXPORT Result cuMemFree_v2(uint64_t memory) {
  Driver &state = driver();
  Lock guard(state.lock);
  Allocation *found = state.memory.find(memory, 0);
  if (!currentContext() || !found || found->begin != memory ||
      found->owner != currentContext())
    return kContext;
  state.bytesInUse -= int64_t(found->bytes);
  state.memory.release(memory);
  return kSuccess;
}

EXPORT Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  cuDeviceTotalMem_v2(total, 0);
  *free = *total - static_cast<size_t>(relax_ptx_bytes());
  return kSuccess;
}
EXPORT Result cuMemAllocHost_v2(void **memory, size_t bytes) {
  *memory = std::malloc(bytes ? bytes : 1);
  return *memory ? kSuccess : kOutOfMemory;
}
EXPORT Result cuMemFreeHost(void *memory) {
  std::free(memory);
  return kSuccess;
}

// The bytes at an address of a device; NULL where they are not of one
// allocation.
static void *bytesAt(uint64_t address, size_t bytes) {
  Memory &memory = driver().memory;
  Allocation *found = memory.find(address, bytes);
  if (found)
    return found->host + (address - found->begin);
  if (address & kGlobalTag)
    wrong(kIllegalAddress, std::to_string(bytes) + " bytes at " +
                               memory.describe(address) + " cannot be copied");
  return nullptr;
}

static Result copyBytes(void *to, const void *from, size_t bytes) {
  if (!currentContext())
    return kContext;
  if (driver().copiesFail)
    return wrong(kIllegalAddress, "");
  if (!to || !from)
    return kIllegalAddress;
  std::memmove(to, from, bytes);
  return kSuccess;
}

EXPORT Result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  Lock guard(driver().lock);
  return copyBytes(bytesAt(to, bytes), from, bytes);
}
EXPORT Result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  Lock guard(driver().lock);
  return copyBytes(to, bytesAt(from, bytes), bytes);
}
EXPORT Result cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  Lock guard(driver().lock);
  return copyBytes(bytesAt(to, bytes), bytesAt(from, bytes), bytes);
}
EXPORT Result cuMemcpyPeer(uint64_t to, Context *toContext, uint64_t from,
                           Context *fromContext, size_t bytes) {
  if (!toContext || !fromContext || toContext == fromContext)
    return kContext;
  return cuMemcpyDtoD_v2(to, from, bytes);
}

// Which memory is of a device, its address says.
EXPORT Result cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes,
                            Stream *stream) {
  return enqueue(stream, [=] {
    Lock guard(driver().lock);
    void *there = bytesAt(to, bytes), *here = bytesAt(from, bytes);
    return copyBytes(there ? there : reinterpret_cast<void *>(to),
                     here ? here : reinterpret_cast<void *>(from), bytes);
  });
}
EXPORT Result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                                   Stream *stream) {
  return enqueue(stream, [=] { return cuMemcpyHtoD_v2(to, from, bytes); });
}
EXPORT Result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes,
                                   Stream *stream) {
  return enqueue(stream, [=] { return cuMemcpyDtoH_v2(to, from, bytes); });
}
EXPORT Result cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                                   Stream *stream) {
  return enqueue(stream, [=] { return cuMemcpyDtoD_v2(to, from, bytes); });
}
EXPORT Result cuMemcpyPeerAsync(uint64_t to, Context *toContext, uint64_t from,
                                Context *fromContext, size_t bytes,
                                Stream *stream) {
  return enqueue(stream, [=] {
    return cuMemcpyPeer(to, toContext, from, fromContext, bytes);
  });
}

EXPORT Result cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
  Lock guard(driver().lock);
  void *place = bytesAt(to, bytes);
  if (!currentContext())
    return kContext;
  if (!place)
    return kIllegalAddress;
  std::memset(place, value, bytes);
  return kSuccess;
}
EXPORT Result cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                              Stream *stream) {
  return enqueue(stream, [=] { return cuMemsetD8_v2(to, value, bytes); });
}
