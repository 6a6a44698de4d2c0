//===- Device.cc - Devices of the host --------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The devices of the host, cpu:0 to cpu:1023, which differ in their pools
// alone, and the lookup of devices of other kinds.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "Internal.h"
#include "Pool.h"
#include "Recording.h"

#include <cerrno>

#if defined(__linux__)
#include <sys/mman.h>
#endif

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Huge pages
//===----------------------------------------------------------------------===//

#if defined(__linux__)
// Known to Linux 6.1 and later, others refuse it.
static constexpr int kCollapse = 25;

void relax_runtime::adviseHugePages(void *memory, size_t bytes,
                                    bool isWritten) noexcept {
  if (bytes < kHugeBytes)
    return;
  constexpr uintptr_t kPage = kHugePageBytes;
  uintptr_t start = reinterpret_cast<uintptr_t>(memory);
  uintptr_t begin = (start + kPage - 1) / kPage * kPage;
  uintptr_t end = (start + bytes) / kPage * kPage;
  void *pages = reinterpret_cast<void *>(begin);
  int error = errno;
  if (begin < end && madvise(pages, end - begin, MADV_HUGEPAGE) == 0 &&
      isWritten)
    madvise(pages, end - begin, kCollapse);
  errno = error;
}
#else
void relax_runtime::adviseHugePages(void *, size_t, bool) noexcept {}
#endif

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kPageBytes = 4096;
// From this size on memory is whole pages.
constexpr size_t kPagedBytes = kPageBytes;
// The bytes in front of the elements of a tensor of few dimensions.
constexpr size_t kHeadBytes = 128;
constexpr int32_t kHosts = 1024;

std::align_val_t alignmentOf(size_t bytes) {
  return std::align_val_t(bytes < kHugeBytes ? kPageBytes : kHugePageBytes);
}

class HostDevice final : public Device {
public:
  explicit HostDevice(int32_t index) : Device({kDLCPU, index}), memory(*this) {
    pool = &memory;
  }

  // Tensors of a page or more, which have a head before them, begin with a
  // page, as what others allocate nearly does. Where loops read and write at
  // the same pace, a read just after a write modulo a page would wait for it.
  void *allocate(size_t bytes) noexcept override {
    if (bytes < kPagedBytes)
      return ::operator new(bytes, kAlignment, std::nothrow);
    void *pages =
        ::operator new(bytes + kPageBytes, alignmentOf(bytes), std::nothrow);
    if (!pages)
      return nullptr;
    adviseHugePages(pages, bytes + kPageBytes, /*isWritten=*/false);
    return static_cast<char *>(pages) + kPageBytes - kHeadBytes;
  }
  void release(void *data, size_t bytes) noexcept override {
    if (bytes < kPagedBytes)
      return ::operator delete(data, kAlignment);
    ::operator delete(static_cast<char *>(data) - (kPageBytes - kHeadBytes),
                      alignmentOf(bytes));
  }
  std::string copy(void *to, const Device &, const void *from, const Device &,
                   size_t bytes) override {
    std::memcpy(to, from, bytes);
    return "";
  }
  std::string synchronize() override { return ""; }

private:
  Pool memory;
};

} // namespace

// Never destroyed: objects may be released when the process ends.
static Device *makeHost(int32_t index) { return new HostDevice(index); }

Pool &relax_runtime::hostPool() {
  static Pool &pool = *makeHost(0)->pool;
  return pool;
}

// Throws std::bad_alloc.
RELAX_COLD static Device *addHost(std::atomic<Device *> &entry, int32_t index) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  Device *device = entry.load(std::memory_order_acquire);
  if (!device) {
    device = index == 0 ? &hostPool().device : makeHost(index);
    entry.store(device, std::memory_order_release);
  }
  return device;
}

static Device *findHost(int32_t index, std::string *reason) {
  static std::atomic<Device *> devices[kHosts];
  if (!RELAX_LIKELY(index >= 0 && index < kHosts)) {
    if (reason)
      *reason =
          "expected a device from cpu:0 to cpu:" + std::to_string(kHosts - 1) +
          ", but got cpu:" + std::to_string(index);
    return nullptr;
  }
  Device *device = devices[index].load(std::memory_order_acquire);
  return RELAX_LIKELY(device != nullptr) ? device
                                         : addHost(devices[index], index);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

std::string relax_runtime::sizesText(const Launch &launch) {
  auto text = [](const int64_t *sizes) {
    return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " +
           std::to_string(sizes[2]);
  };
  return text(launch.blocks) + " blocks of " + text(launch.threads) +
         " threads";
}

//===----------------------------------------------------------------------===//
// Devices without kernels
//===----------------------------------------------------------------------===//

static std::string refuse(const Device &device) {
  return "no kernels can be launched on " + deviceText(device.id);
}

std::string Device::load(const char *, void **) { return refuse(*this); }

std::string Device::findKernel(void *, const char *, void **) {
  return refuse(*this);
}

std::string Device::launch(void *, const char *, const Launch &) {
  return refuse(*this);
}

std::unique_ptr<DeviceGraph>
Device::makeGraph(const std::vector<RecordedLaunch> &, std::string &reason) {
  reason = refuse(*this);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// All devices
//===----------------------------------------------------------------------===//

Device *relax_runtime::findDevice(DLDevice id, std::string *reason) {
  if (RELAX_LIKELY(id.device_type == kDLCPU))
    return findHost(id.device_id, reason);
  if (id.device_type == kDLCUDA)
    return findCudaDevice(id.device_id, reason);
  if (id.device_type == kDLOpenCL)
    return findOpenCLDevice(id.device_id, reason);
  if (reason)
    *reason = "no device API for " + deviceText(id) + " in this runtime";
  return nullptr;
}

Device *relax_runtime::getDevice(const relax_site *site, int32_t type,
                                 int32_t id) {
  DLDevice device = TVMFFIDLDeviceFromIntPair(type, id);
  if (Device *found = findDevice(device))
    return found;
  std::string reason;
  findDevice(device, &reason);
  raiseError(site, "RuntimeError", reason);
  return nullptr;
}

// Through memory of the host.
static std::string copyThroughHost(void *to, Device &toDevice, const void *from,
                                   Device &fromDevice, size_t bytes) {
  Device &host = hostPool().device;
  Scratch<char, 64> between(bytes);
  std::string wrong =
      fromDevice.copy(between.data(), host, from, fromDevice, bytes);
  return wrong.empty()
             ? toDevice.copy(to, toDevice, between.data(), host, bytes)
             : wrong;
}

// The device that is not the host knows how to reach it.
std::string relax_runtime::copyBytes(void *to, Device &toDevice,
                                     const void *from, Device &fromDevice,
                                     size_t bytes) {
  if (bytes == 0)
    return "";
  refuseRecording("it copies tensors from or to a device");
  Device &one = toDevice.isHost() ? fromDevice : toDevice;
  if (!one.reaches(fromDevice))
    return copyThroughHost(to, toDevice, from, fromDevice, bytes);
  return one.copy(to, toDevice, from, fromDevice, bytes);
}
