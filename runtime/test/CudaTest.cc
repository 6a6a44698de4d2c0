//===- CudaTest.cc - CUDA devices, with and without a driver ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory, copies and errors of CUDA devices. The library that
// RELAX_CUDA_DRIVER names decides what is tested: the argument says which it
// is.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <tvm/ffi/extra/c_env_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>

static const std::string kPrefix = "main: argument 'x': ";

static int toDevice(TVMFFIAny *dst, const TVMFFIAny *src, int32_t type,
                    int32_t id) {
  return relax_tensor_to_device(&kSite, dst, src, type, id);
}

static relax_memory_statistics cudaStatistics(int32_t index = 0) {
  relax_memory_statistics result = {};
  CHECK(relax_memory_statistics_get(kDLCUDA, index, &result) == 0);
  return result;
}

static int allocCuda(TVMFFIAny *dst, int64_t bytes, int32_t index = 0) {
  return relax_tensor_alloc(&kSite, dst, 1, &bytes, makeDType(kDLInt, 8),
                            kDLCUDA, index);
}

//===----------------------------------------------------------------------===//
// Without a device
//===----------------------------------------------------------------------===//

// The error for any use of a CUDA device begins so.
static void testAbsent(const std::string &words) {
  Slot slot(makeTensor({2})), copy;
  const std::string prefix = kPrefix + "no device cuda:0: " + words;
  for (int i = 0; i < 2; ++i) { // the second time too
    CHECK(toDevice(copy, slot, kDLCUDA, 0) == -1);
    CHECK_TEXT(takeError().substr(0, prefix.size() + 14),
               "RuntimeError: " + prefix);
  }
  CHECK(allocCuda(copy, 8) == -1);
  CHECK_TEXT(takeError().substr(0, prefix.size() + 14),
             "RuntimeError: " + prefix);
  CHECK(relax_device_synchronize(kDLCUDA, 0) == -1);
  takeError();
  CHECK(relax_memory_release(kDLCUDA, 0) == -1);
  takeError();
}

//===----------------------------------------------------------------------===//
// With the driver of the tests
//===----------------------------------------------------------------------===//

// Another device than cuda:0, where there is one.
static int32_t other = 1;

static int64_t (*bytesInUse)();
static void (*failCopies)(bool);

static void findDriver() {
  void *library = dlopen(std::getenv("RELAX_CUDA_DRIVER"), RTLD_NOW);
  CHECK(library != nullptr);
  void *bytes = dlsym(library, "relax_ptx_bytes");
  void *fail = dlsym(library, "relax_ptx_fail_copies");
  std::memcpy(&bytesInUse, &bytes, sizeof(bytes));
  std::memcpy(&failCopies, &fail, sizeof(fail));
}

static bool areEqual(const Slot &a, const Slot &b) {
  return std::memcmp(a.tensor()->data, b.tensor()->data,
                     ffi::GetDataSize(*a.tensor())) == 0;
}

// VM11: to a device, to another, and back.
static void testCopies() {
  Slot tensor(makeTensor({2, 3})), first, second, again, back;
  CHECK(toDevice(first, tensor, kDLCUDA, 0) == 0);
  CHECK(relax_tensor_check(&kSite, first, 2, kF32, kDLCUDA, 0) == 0);
  CHECK(toDevice(second, first, kDLCUDA, other) == 0);
  CHECK(second.tensor()->device.device_id == other);
  CHECK(toDevice(again, second, kDLCUDA, other) == 0);
  CHECK(again.tensor()->data != second.tensor()->data);
  CHECK(toDevice(back, again, kDLCPU, 3) == 0);
  CHECK(back.tensor()->device.device_id == 3 && areEqual(back, tensor));
  CHECK(relax_device_synchronize(kDLCUDA, other) == 0);
  // A strided tensor is made compact on the host first.
  float data[] = {0, 1, 2, 3, 4, 5}, columns[] = {0, 3, 1, 4, 2, 5};
  CHECK(toDevice(first, View(data, {3, 2}, kF32, {1, 3}), kDLCUDA, 0) == 0);
  CHECK(toDevice(back, first, kDLCPU, 0) == 0);
  CHECK(std::memcmp(back.tensor()->data, columns, sizeof(columns)) == 0);
  // Nothing at all, and tuples.
  CHECK(toDevice(first, View(nullptr, {0}, kF32), kDLCUDA, 0) == 0);
  const TVMFFIAny *fields[] = {tensor, again};
  CHECK(relax_tuple_make(&kSite, first, 2, fields) == 0);
  CHECK(toDevice(second, first, kDLCUDA, 0) == 0);
  CHECK(relax_tuple_get(&kSite, first, second, 1) == 0);
  CHECK(first.tensor()->device.device_type == kDLCUDA);
  CHECK(toDevice(back, first, kDLCPU, 0) == 0 && areEqual(back, tensor));
}

static void testCudaStorage() {
  Slot storage, tensor, view, back;
  const int64_t dims[] = {4}, square[] = {2, 2};
  CHECK(relax_storage_alloc(&kSite, storage, 64, kDLCUDA, other) == 0);
  CHECK(relax_tensor_from_storage(&kSite, tensor, storage, 32, 1, dims, kF32) ==
        0);
  CHECK(tensor.tensor()->data ==
        static_cast<char *>(relax_storage_data(storage)) + 32);
  CHECK(relax_tensor_view(&kSite, view, tensor, 2, square) == 0);
  CHECK(view.tensor()->device.device_id == other);
  CHECK(toDevice(back, view, kDLCPU, 0) == 0);
  CHECK_RAISES(
      relax_tensor_from_storage(&kSite, tensor, storage, 52, 1, dims, kF32),
      "ValueError",
      kPrefix + "the storage is too small: float32 of shape (4,) needs 16 "
                "bytes at offset 52, but there are 64");
}

// A pool for each device; memory of a device is kept like that of the host.
static void testCudaPool() {
  CHECK(relax_memory_release(kDLCUDA, 0) == 0);
  CHECK(relax_memory_release(kDLCUDA, 1) == 0);
  CHECK(bytesInUse() == 0);
  relax_memory_statistics start = cudaStatistics();
  int64_t host = statisticsOf(0).in_use;
  for (int i = 0; i < 3; ++i) {
    Slot one, two;
    CHECK(allocCuda(one, 1 << 20) == 0 && allocCuda(two, 1000) == 0);
    relax_memory_statistics now = cudaStatistics();
    CHECK(now.system_allocations == start.system_allocations + 2);
    CHECK(now.in_use == bytesInUse() && now.cached == 0);
  }
  CHECK(statisticsOf(0).in_use == host);
  CHECK(cudaStatistics().cached == bytesInUse());
  CHECK(cudaStatistics(1).cached == 0);
  CHECK(relax_memory_release(kDLCUDA, 0) == 0 && bytesInUse() == 0);
}

// Where the device is full, cached memory is released and requested again.
static void testFullDevice() {
  {
    Slot one;
    CHECK(allocCuda(one, 700 << 20) == 0);
  }
  CHECK(cudaStatistics().cached >= 700 << 20);
  Slot two, three;
  CHECK(allocCuda(two, 600 << 20) == 0);
  CHECK_RAISES(allocCuda(three, 500 << 20), "MemoryError",
               kPrefix + "out of memory for a tensor of rank 1, int8, shape "
                         "(524288000,)");
  two = Slot();
  CHECK(allocCuda(three, 500 << 20) == 0);
}

static void testFailedAllocations() {
  relax_memory_statistics host = statisticsOf(0), cuda = cudaStatistics();
  Slot slot;
  for (int i = 0; i < 3; ++i) { // the storage, its memory, the tensor
    relax_alloc_fail_after(i);
    CHECK_RAISES(allocCuda(slot, 100), "MemoryError",
                 kPrefix + "out of memory for a tensor of rank 1, int8, shape "
                           "(100,)");
    CHECK(statisticsOf(0).in_use == host.in_use);
    CHECK(cudaStatistics().in_use == cuda.in_use);
  }
  CHECK(allocCuda(slot, 100) == 0);
}

static void testCudaRaises() {
  Slot tensor(makeTensor({2})), remote, copy;
  CHECK_RAISES(toDevice(copy, tensor, kDLCUDA, 2), "RuntimeError",
               kPrefix + "expected a device from cuda:0 to cuda:1, but got "
                         "cuda:2");
  CHECK_RAISES(toDevice(copy, tensor, kDLCUDA, -1), "RuntimeError",
               kPrefix + "expected a device from cuda:0 to cuda:1, but got "
                         "cuda:-1");
  CHECK(toDevice(remote, tensor, kDLCUDA, 0) == 0);
  failCopies(true);
  CHECK_RAISES(toDevice(copy, remote, kDLCPU, 0), "RuntimeError",
               kPrefix + "cuda:0: cannot copy: CUDA_ERROR_ILLEGAL_ADDRESS "
                         "(700): an illegal memory access");
  failCopies(false);
  void *data = nullptr;
  CHECK_RAISES(relax_tensor_data_inplace(&kSite, remote, &data), "RuntimeError",
               kPrefix + "cannot update a tensor on cuda:0; only cpu is "
                         "supported");
  CHECK_RAISES(relax_tensor_data(&kSite, remote, copy, &data), "RuntimeError",
               kPrefix + "cannot read a tensor on cuda:0; only cpu is "
                         "supported");
  remote.tensor()->strides[0] = 2;
  CHECK_RAISES(toDevice(copy, remote, kDLCPU, 0), "RuntimeError",
               kPrefix + "cannot copy a strided view of a tensor on cuda:0; "
                         "only cpu is supported");
  CHECK(copy.any == nullptr);
}

// A condition is read from where it is.
static void testCudaBoolean() {
  uint8_t data[2] = {0, 1};
  int32_t result = -1;
  Slot remote;
  for (int i : {1, 0}) {
    CHECK(toDevice(remote, View(data + i, {}, kBool), kDLCUDA, other) == 0);
    CHECK(relax_tensor_bool(&kSite, remote, &result) == 0 && result == i);
  }
  CHECK(toDevice(remote, View(data, {2}, kBool), kDLCUDA, other) == 0);
  CHECK_RAISES(relax_tensor_bool(&kSite, remote, &result), "ValueError",
               kPrefix + "expected one Boolean, but got a tensor of rank 1, "
                         "bool, shape (2,)");
}

static void testCudaThreads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      for (int j = 0; j < 200; ++j) {
        Slot tensor(makeTensor({1 + j})), remote, back;
        CHECK(toDevice(remote, tensor, kDLCUDA, (i + j) % 2 * other) == 0);
        CHECK(toDevice(back, remote, kDLCPU, 0) == 0);
        CHECK(areEqual(tensor, back));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(cudaStatistics(0).in_use == 0 && cudaStatistics(other).in_use == 0);
}

// On the device of the machine. Returns 77, which skips the test, where there
// is none.
static int testDevice() {
  relax_memory_statistics none;
  if (relax_memory_statistics_get(kDLCUDA, 0, &none)) {
    std::printf("skipped: %s\n", takeError().c_str());
    return 77;
  }
  other = relax_memory_statistics_get(kDLCUDA, 1, &none) == 0 ? 1 : 0;
  if (other == 0)
    takeError();
  testCopies();
  testCudaStorage();
  testCudaBoolean();
  testCudaThreads();
  return reportChecks();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
// What the driver of the tests saw of launches.
struct Launches {
  int (*modules)();
  const char *(*name)();
  const unsigned *(*sizes)();
  const int64_t *(*params)();
  void *(*stream)();
  int (*waits)();
  void *(*makeStream)();
};

// The variables of a program for one kernel.
struct Caches {
  void *kernel = nullptr, *image = nullptr;

  int32_t launch(const char *image, const char *name, const int64_t *sizes,
                 int32_t device = 0) {
    const int64_t params[] = {7, -1};
    return relax_device_launch(&kSite, &kernel, &this->image, image, name,
                               kDLCUDA, device, sizes, params, 2, "vv");
  }
};
} // namespace

static Launches findLaunches() {
  void *library = dlopen(std::getenv("RELAX_CUDA_DRIVER"), RTLD_NOW);
  const auto find = [&](auto &function, const char *name) {
    void *symbol = dlsym(library, name);
    CHECK(symbol != nullptr);
    std::memcpy(&function, &symbol, sizeof(symbol));
  };
  Launches result;
  find(result.modules, "relax_ptx_modules");
  find(result.name, "relax_ptx_launch_name");
  find(result.sizes, "relax_ptx_launch_sizes");
  find(result.params, "relax_ptx_launch_params");
  find(result.stream, "relax_ptx_launch_stream");
  find(result.waits, "relax_ptx_waits");
  find(result.makeStream, "relax_ptx_make_stream");
  return result;
}

static constexpr const char *kImage = ".version 7.0\n.entry f()\n.entry g()\n";

// An image is loaded once for each device; a launch has its sizes and
// parameters.
static void testLaunches() {
  Launches seen = findLaunches();
  const int64_t sizes[] = {3, 2, 1, 32, 4, 1, 100};
  Caches caches;
  int before = seen.modules();
  for (int i = 0; i < 3; ++i)
    CHECK(caches.launch(kImage, "f", sizes) == 0);
  CHECK(seen.modules() == before + 1);
  CHECK(std::equal(sizes, sizes + 7, seen.sizes()));
  CHECK(seen.params()[0] == 7 && seen.params()[1] == -1);
  Caches second;
  second.image = caches.image;
  CHECK(second.launch(kImage, "g", sizes) == 0);
  CHECK(seen.modules() == before + 1);
  CHECK_TEXT(seen.name(), "g");
  CHECK(caches.launch(kImage, "f", sizes, other) == 0);
  CHECK(seen.modules() == before + (other ? 2 : 1));
}

static void setStream(void *stream) {
  CHECK(TVMFFIEnvSetStream(kDLCUDA, 0, stream, nullptr) == 0);
}

// Work goes to the stream of the caller. Where another one is next, the device
// is waited for, since memory of the work before may be used again.
static void testStreams() {
  Launches seen = findLaunches();
  void *first = seen.makeStream(), *second = seen.makeStream();
  const int64_t sizes[] = {1, 1, 1, 32, 1, 1, 0};
  Caches caches;
  int before = seen.waits();
  auto check = [&](void *stream, int waits) {
    CHECK(caches.launch(kImage, "f", sizes) == 0);
    CHECK(seen.stream() == stream);
    CHECK(seen.waits() == before + waits);
  };
  check(nullptr, 0);
  setStream(first);
  check(first, 1);
  check(first, 1);
  setStream(second);
  check(second, 2);
  Slot slot(makeTensor({2})), moved, copy;
  CHECK(toDevice(moved, slot, kDLCUDA, 0) == 0);
  CHECK(toDevice(copy, moved, kDLCPU, 0) == 0);
  check(second, 2);
  std::thread([&] { check(nullptr, 3); }).join(); // a stream is of a thread
  check(second, 4);
  setStream(nullptr);
  check(nullptr, 5);
}

static void checkLaunchFails(const char *image, const char *name,
                             const int64_t *sizes, const std::string &words) {
  Caches caches;
  CHECK(caches.launch(image, name, sizes) == -1);
  CHECK_TEXT(takeError(), "RuntimeError: " + kPrefix + words);
}

static void testFailedLaunches() {
  const int64_t sizes[] = {1, 1, 1, 32, 1, 1, 0};
  checkLaunchFails("nothing", "f", sizes,
                   "cuda:0: cannot load kernels: an unknown error (218): no "
                   "words for it\nline 1: expected .version");
  checkLaunchFails(
      ".version 8.0\n.target sm_90a\n", "f", sizes,
      "cuda:0: cannot load kernels: CUDA_ERROR_NO_BINARY_FOR_GPU (209): no "
      "code for the device\nthe code is for sm_90, but the device is sm_80\n"
      "the program is for sm_90a, but the device is sm_80: compile it with "
      "-arch=sm_80");
  checkLaunchFails(".version 9.1\n.target sm_80\n", "f", sizes,
                   "cuda:0: cannot load kernels: an unknown error (222): no "
                   "words for it\nthe program is PTX 9.1, but the driver is "
                   "older, of CUDA 13.0: install a newer driver");
  checkLaunchFails(kImage, "h", sizes,
                   "cuda:0: cannot find kernel 'h': an unknown error (500): no "
                   "words for it");
  const int64_t tooManyBlocks[] = {1, 65536, 1, 32, 1, 1, 0};
  checkLaunchFails(kImage, "f", tooManyBlocks,
                   "cuda:0: cannot launch kernel 'f': 1 x 65536 x 1 blocks of "
                   "32 x 1 x 1 threads are more than a device can have");
  const int64_t tooManyThreads[] = {1, 1, 1, 1024, 2, 1, 0};
  checkLaunchFails(kImage, "f", tooManyThreads,
                   "cuda:0: cannot launch kernel 'f' with 1 x 1 x 1 blocks of "
                   "1024 x 2 x 1 threads: an unknown error (1): no words for "
                   "it");
  // Nothing to do needs no image.
  const int64_t none[] = {0, 1, 1, 32, 1, 1, 0};
  Caches caches;
  CHECK(caches.launch("nothing", "f", none) == 0);
}

// Scratch memory of a device goes back with that of its thread.
static void testDeviceScratch() {
  int64_t before = cudaStatistics().in_use;
  int64_t mark = relax_scratch_mark();
  void *first = relax_device_scratch_alloc(&kSite, 1000, kDLCUDA, 0);
  void *second = relax_device_scratch_alloc(&kSite, 0, kDLCUDA, 0);
  CHECK(first && second && first != second);
  CHECK(cudaStatistics().in_use > before);
  relax_device_scratch_free(first);
  relax_scratch_release(mark);
  CHECK(cudaStatistics().in_use == before);
  CHECK(!relax_device_scratch_alloc(&kSite, INT64_MAX, kDLCUDA, 0));
  CHECK_TEXT(takeError(), "MemoryError: " + kPrefix +
                              "out of memory for scratch memory of more bytes "
                              "than can be counted");
}

// A constant is copied to a device once.
static void testConstantCopies() {
  Slot constant(makeTensor({2})), first, second;
  CHECK(relax_constant_to_device(&kSite, first, constant, kDLCUDA, 0) == 0);
  CHECK(relax_constant_to_device(&kSite, second, constant, kDLCUDA, 0) == 0);
  void *one, *two;
  CHECK(relax_tensor_device_data(&kSite, first, &one) == 0);
  CHECK(relax_tensor_device_data(&kSite, second, &two) == 0);
  CHECK(one == two);
  CHECK(relax_tensor_device_data(&kSite, constant, &one) == -1);
  CHECK_TEXT(takeError(), "RuntimeError: " + kPrefix +
                              "a kernel of another device cannot read a tensor "
                              "on cpu:0");
}

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "device")
    return testDevice();
  if (what == "missing") {
    testAbsent("the CUDA driver could not be loaded: ");
  } else if (what == "foreign") {
    testAbsent("the CUDA driver libm.so.6 has no function cuInit");
  } else if (what == "empty") {
    testAbsent("the CUDA driver finds no device");
  } else if (what == "broken") {
    testAbsent("cuda:0: cannot start: an unknown error (999): no words for it");
  } else {
    findDriver();
    testCopies();
    testCudaStorage();
    testCudaPool();
    testFullDevice();
    testFailedAllocations();
    testCudaRaises();
    testCudaBoolean();
    testCudaThreads();
    testLaunches();
    testStreams();
    testFailedLaunches();
    testDeviceScratch();
    testConstantCopies();
  }
  return reportChecks();
}
