//===- Launch.cc - Kernels of devices ---------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has one image of kernels for a target. It is loaded on a device
// when a kernel of it is first launched there; what was found is kept in
// variables of the program.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Objects.h"
#include "Recording.h"

#include <mutex>

using namespace relax_runtime;

namespace {

// What an image, or a kernel, is on one device. Lists only grow.
struct Loaded {
  Device *device;
  void *handle;
  Loaded *next;
};

} // namespace

static void *find(void **cache, const Device &device) {
  void *first = atomicCache(cache).load(std::memory_order_acquire);
  for (auto *loaded = static_cast<Loaded *>(first); loaded;
       loaded = loaded->next)
    if (RELAX_LIKELY(loaded->device == &device))
      return loaded->handle;
  return nullptr;
}

static void keep(void **cache, Device &device, void *handle) {
  std::atomic<void *> &list = atomicCache(cache);
  auto *first = static_cast<Loaded *>(list.load(std::memory_order_relaxed));
  list.store(new Loaded{&device, handle, first}, std::memory_order_release);
}

namespace {

// A kernel, and where it is kept.
struct Kernel {
  void **kernelCache, **imageCache;
  const char *image, *name;

  std::string load(Device &device, void **kernel) const;
};

} // namespace

std::string Kernel::load(Device &device, void **kernel) const {
  static std::mutex &mutex = *new std::mutex();
  std::lock_guard<std::mutex> lock(mutex);
  if ((*kernel = find(kernelCache, device)))
    return "";
  void *module = find(imageCache, device);
  if (!module) {
    std::string wrong = device.load(image, &module);
    if (!wrong.empty())
      return wrong;
    keep(imageCache, device, module);
  }
  std::string wrong = device.findKernel(module, name, kernel);
  if (wrong.empty())
    keep(kernelCache, device, *kernel);
  return wrong;
}

int32_t relax_device_launch(const relax_site *site, void **kernel_cache,
                            void **image_cache, const char *image,
                            const char *name, int32_t device_type,
                            int32_t device_id, const int64_t *sizes,
                            const int64_t *args, int32_t num_args,
                            const char *kinds) {
  RELAX_SAFE_CALL_BEGIN();
  Launch launch = {{sizes[0], sizes[1], sizes[2]},
                   {sizes[3], sizes[4], sizes[5]},
                   sizes[6],
                   args,
                   num_args,
                   kinds};
  if (launch.blocks[0] == 0 || launch.blocks[1] == 0 || launch.blocks[2] == 0)
    return 0;
  Device *device = getDevice(site, device_type, device_id);
  if (!RELAX_LIKELY(device != nullptr))
    return -1;
  std::string wrong;
  void *kernel = find(kernel_cache, *device);
  if (!RELAX_LIKELY(kernel != nullptr))
    wrong =
        Kernel{kernel_cache, image_cache, image, name}.load(*device, &kernel);
  if (RELAX_LIKELY(wrong.empty()))
    wrong = device->launch(kernel, name, launch);
  if (Recording *recording = Recording::current())
    recording->addLaunch(*device, {kernel, name, launch});
  if (!RELAX_LIKELY(wrong.empty()))
    return raiseError(site, "RuntimeError", wrong);
  RELAX_SAFE_CALL_END();
}
