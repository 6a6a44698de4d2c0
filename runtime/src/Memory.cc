//===- Memory.cc - Statistics and limits of pools ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pools of the devices for C and Python: statistics, limits, release.
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;

// Calls `use` with a device, or raises RuntimeError where there is none.
template <typename Use>
static int withDevice(int32_t type, int32_t id, const Use &use) {
  RELAX_SAFE_CALL_BEGIN();
  std::string reason;
  Device *device = findDevice(TVMFFIDLDeviceFromIntPair(type, id), &reason);
  if (!device) {
    raiseText("RuntimeError", reason.c_str());
    return -1;
  }
  return use(*device);
  RELAX_SAFE_CALL_END();
}

int relax_memory_statistics_get(int32_t device_type, int32_t device_id,
                                relax_memory_statistics *statistics) {
  return withDevice(device_type, device_id, [&](Device &device) {
    *statistics = device.pool->statistics();
    return 0;
  });
}

int relax_memory_peak_reset(int32_t device_type, int32_t device_id) {
  return withDevice(device_type, device_id, [](Device &device) {
    device.pool->resetPeak();
    return 0;
  });
}

int relax_memory_release(int32_t device_type, int32_t device_id) {
  return withDevice(device_type, device_id, [](Device &device) {
    device.pool->release();
    return 0;
  });
}

int relax_memory_limit_set(int32_t device_type, int32_t device_id,
                           int64_t bytes) {
  return withDevice(device_type, device_id, [&](Device &device) {
    if (bytes < -1) {
      raiseText("ValueError",
                ("expected a limit of at least 0 bytes, or -1 for that "
                 "by use, but got " +
                 std::to_string(bytes))
                    .c_str());
      return -1;
    }
    device.pool->setLimit(bytes);
    return 0;
  });
}

int relax_device_synchronize(int32_t device_type, int32_t device_id) {
  return withDevice(device_type, device_id, [](Device &device) {
    std::string wrong = device.synchronize();
    if (wrong.empty())
      return 0;
    raiseText("RuntimeError", wrong.c_str());
    return -1;
  });
}

int64_t relax_alloc_fail_after(int64_t count) { return failAfter(count); }

//===----------------------------------------------------------------------===//
// Python
//===----------------------------------------------------------------------===//

// The statistics in the order of relax_memory_statistics.
static ffi::Shape getStatistics(DLDevice device) {
  relax_memory_statistics result;
  TVM_FFI_CHECK_SAFE_CALL(relax_memory_statistics_get(
      device.device_type, device.device_id, &result));
  return {result.in_use,
          result.cached,
          result.peak,
          result.allocations,
          result.system_allocations,
          result.system_releases};
}

static void resetPeak(DLDevice device) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_memory_peak_reset(device.device_type, device.device_id));
}

static void releaseMemory(DLDevice device) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_memory_release(device.device_type, device.device_id));
}

static void setLimit(DLDevice device, int64_t bytes) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_memory_limit_set(device.device_type, device.device_id, bytes));
}

static void synchronize(DLDevice device) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_device_synchronize(device.device_type, device.device_id));
}

// The address of the stream of this thread, whose work comes after all else
// that the device has to do.
static int64_t followStreams(DLDevice device) {
  void *stream = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(
      withDevice(device.device_type, device.device_id, [&](Device &found) {
        std::string wrong = found.follow(&stream);
        if (wrong.empty())
          return 0;
        raiseText("RuntimeError", wrong.c_str());
        return -1;
      }));
  return reinterpret_cast<intptr_t>(stream);
}

static bool hasDevice(DLDevice device) { return findDevice(device) != nullptr; }

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("relax_mlir.runtime.memory_stats", getStatistics)
      .def("relax_mlir.runtime.reset_peak_memory", resetPeak)
      .def("relax_mlir.runtime.release_memory", releaseMemory)
      .def("relax_mlir.runtime.set_memory_limit", setLimit)
      .def("relax_mlir.runtime.synchronize", synchronize)
      .def("relax_mlir.runtime.follow_streams", followStreams)
      .def("relax_mlir.runtime.has_device", hasDevice)
      .def("relax_mlir.runtime.fail_allocation_after", failAfter);
}
