//===- Device.h - Devices and their memory ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The services of a device for the runtime: memory, copies, synchronization.
// Devices are found by their DLPack number and live as long as the process.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_DEVICE_H
#define RELAX_RUNTIME_DEVICE_H

#include "relax_runtime.h"

#include <cstddef>
#include <memory>
#include <string>
#include <tvm/ffi/tvm_ffi.h>
#include <vector>

namespace relax_runtime {

class Pool;

constexpr DLDevice kHost{kDLCPU, 0};

// From this size on memory of the host is to be of pages of 2 MiB, where the
// system has them: long reads then seldom wait for the address of a page.
constexpr size_t kHugeBytes = size_t(4) << 20;
constexpr size_t kHugePageBytes = size_t(2) << 20;
// Asks for them, at once where the memory is written already.
void adviseHugePages(void *memory, size_t bytes, bool isWritten) noexcept;

// The sizes and parameters of a launch; a parameter lies in the low bytes of
// its number, and has its kind: see relax_device_launch.
struct Launch {
  int64_t blocks[3], threads[3], sharedBytes;
  const int64_t *args;
  int32_t numArgs;
  const char *kinds;
};

// "2 x 1 x 1 blocks of 256 x 1 x 1 threads".
std::string sizesText(const Launch &launch);

// A launch of a kernel that was found.
struct KernelLaunch {
  void *kernel;
  const char *name;
  Launch launch;
};

// A launch that keeps its parameters.
struct RecordedLaunch {
  explicit RecordedLaunch(const KernelLaunch &given)
      : kernel(given.kernel), name(given.name), kinds(given.launch.kinds),
        args(given.launch.args, given.launch.args + given.launch.numArgs),
        sizes(given.launch) {}

  KernelLaunch get() const {
    Launch launch = sizes;
    launch.args = args.data();
    launch.kinds = kinds.c_str();
    return {kernel, name.c_str(), launch};
  }
  bool isAddress(size_t index) const { return kinds[index] == 'p'; }

  void *kernel;
  std::string name, kinds;
  std::vector<int64_t> args;

private:
  Launch sizes;
};

// Launches, one after the other, that a device makes at once. Its functions
// return what went wrong.
class DeviceGraph {
public:
  virtual ~DeviceGraph() = default;
  // Gives a launch other parameters, from the next run on.
  virtual std::string update(size_t index, const KernelLaunch &launch) = 0;
  // Makes all launches, after what was launched before, and does not wait.
  virtual std::string launch() = 0;
};

class Device {
public:
  explicit Device(DLDevice id) : id(id) {}
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  // Whether the host can read and write the memory through its pointers.
  bool isHost() const { return id.device_type == kDLCPU; }

  // Memory from the system, aligned to 64 bytes; NULL where there is none.
  virtual void *allocate(size_t bytes) noexcept = 0;
  virtual void release(void *memory, size_t bytes) noexcept = 0;

  // Whether `copy` can copy from and to the memory of another device.
  virtual bool reaches(const Device &other) const {
    return &other == this || other.isHost();
  }

  // Copies bytes between two addresses, at least one of them on this device,
  // and waits until it is done. Returns an error message, "" where there is
  // none.
  virtual std::string copy(void *to, const Device &toDevice, const void *from,
                           const Device &fromDevice, size_t bytes) = 0;

  // Waits for all work on the device. Returns what went wrong.
  virtual std::string synchronize() = 0;

  // Lets work that others put on the stream of this thread, which is returned,
  // come after that of other streams. Returns what went wrong.
  virtual std::string follow(void **stream) {
    *stream = nullptr;
    return "";
  }

  // Loads an image of kernels: PTX for CUDA, as text that ends with a zero;
  // SPIR-V for OpenCL, after its size in 8 bytes. It stays until the process
  // ends. Returns what went wrong.
  virtual std::string load(const char *image, void **module);
  // Finds a kernel of an image that was loaded.
  virtual std::string findKernel(void *module, const char *name, void **kernel);
  // Launches a kernel, after what was launched before, and does not wait.
  virtual std::string launch(void *kernel, const char *name,
                             const Launch &launch);

  // Whether the device can make graphs.
  virtual bool hasGraphs() const { return false; }
  // NULL where it cannot make this one; then says why.
  virtual std::unique_ptr<DeviceGraph>
  makeGraph(const std::vector<RecordedLaunch> &launches, std::string &reason);

  const DLDevice id;
  // The pool of this device. Never NULL.
  Pool *pool = nullptr;

protected:
  ~Device() = default;
};

// The device with a number, made on first use. NULL where there is none; then
// says why in *reason where that is given.
Device *findDevice(DLDevice id, std::string *reason = nullptr);

// The same; NULL with an error that names the place in the program.
Device *getDevice(const relax_site *site, int32_t type, int32_t id);

// The CUDA device with an index, loaded with the driver on first use.
Device *findCudaDevice(int32_t index, std::string *reason);

// The same for OpenCL.
Device *findOpenCLDevice(int32_t index, std::string *reason);

// Copies between two devices and waits. Returns what went wrong.
std::string copyBytes(void *to, Device &toDevice, const void *from,
                      Device &fromDevice, size_t bytes);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_DEVICE_H
