//===- PoolTest.cc - Memory that is used again ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics, memory used again, release, limits, failures, and threads.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

static int allocBytes(TVMFFIAny *dst, int64_t bytes, int32_t device = 0) {
  return relax_tensor_alloc(&kSite, dst, 1, &bytes, makeDType(kDLInt, 8),
                            kDLCPU, device);
}

// Each device has a pool of its own; what is released is used again.
static void testStatistics() {
  constexpr int kDevice = 7;
  relax_memory_statistics none = statisticsOf(kDevice);
  CHECK(none.in_use == 0 && none.cached == 0 && none.peak == 0);
  relax_memory_statistics host = statisticsOf(0);
  {
    Slot one, two;
    CHECK(allocBytes(one, 1 << 20, kDevice) == 0);
    CHECK(allocBytes(two, 100, kDevice) == 0);
    relax_memory_statistics now = statisticsOf(kDevice);
    CHECK(now.in_use == (1 << 20) + 256 + 256 && now.cached == 0);
    CHECK(now.peak == now.in_use && now.allocations == 2);
    CHECK(now.system_allocations == 2 && now.system_releases == 0);
  }
  relax_memory_statistics kept = statisticsOf(kDevice);
  CHECK(kept.in_use == 0 && kept.cached == kept.peak);
  {
    Slot one;
    CHECK(allocBytes(one, 1 << 20, kDevice) == 0);
    relax_memory_statistics again = statisticsOf(kDevice);
    CHECK(again.system_allocations == 2 && again.allocations == 3);
    CHECK(again.in_use == (1 << 20) + 256 && again.peak == kept.peak);
    CHECK(relax_memory_peak_reset(kDLCPU, kDevice) == 0);
    CHECK(statisticsOf(kDevice).peak == again.in_use);
  }
  CHECK(relax_memory_release(kDLCPU, kDevice) == 0);
  relax_memory_statistics last = statisticsOf(kDevice);
  CHECK(last.cached == 0 && last.system_releases == 2);
  CHECK(statisticsOf(0).in_use == host.in_use);
}

// A peak between two looks at the statistics is seen.
static void testPeak() {
  constexpr int kDevice = 8;
  {
    Slot slots[100];
    for (Slot &slot : slots)
      CHECK(allocBytes(slot, 1000, kDevice) == 0);
  }
  Slot one;
  CHECK(allocBytes(one, 1000, kDevice) == 0);
  relax_memory_statistics now = statisticsOf(kDevice);
  CHECK(now.peak == 100 * now.in_use);
}

// Whatever the size: aligned, not in memory of another allocation, and not much
// larger.
static void testSizes() {
  constexpr int kDevice = 9;
  for (int64_t bytes = 1; bytes < (1 << 24); bytes += bytes / 3 + 1) {
    int64_t before = statisticsOf(kDevice).in_use;
    Slot one, two;
    CHECK(allocBytes(one, bytes, kDevice) == 0 &&
          allocBytes(two, bytes, kDevice) == 0);
    auto begin = reinterpret_cast<uintptr_t>(one.tensor()->data);
    auto other = reinterpret_cast<uintptr_t>(two.tensor()->data);
    CHECK(begin % 64 == 0 && other % 64 == 0);
    CHECK(begin + bytes <= other || other + bytes <= begin);
    std::memset(one.tensor()->data, 1, static_cast<size_t>(bytes));
    std::memset(two.tensor()->data, 2, static_cast<size_t>(bytes));
    int64_t each = (statisticsOf(kDevice).in_use - before) / 2;
    CHECK(each >= bytes && each <= bytes + bytes / 8 + 512);
  }
}

// Large tensors begin with a page, and all of their memory can be used.
static void testPages() {
  constexpr int kDevice = 19;
  for (int64_t bytes : {int64_t(64) << 10, int64_t(1) << 20, int64_t(4) << 20,
                        (int64_t(9) << 20) + 1}) {
    Slot one;
    CHECK(allocBytes(one, bytes, kDevice) == 0);
    void *data = one.tensor()->data;
    CHECK(reinterpret_cast<uintptr_t>(data) % 4096 == 0);
    std::memset(data, 1, static_cast<size_t>(bytes));
  }
  CHECK(relax_memory_release(kDLCPU, kDevice) == 0);
  CHECK(statisticsOf(kDevice).cached == 0);
}

// Cached memory stays within the limit.
static void testLimit() {
  constexpr int kDevice = 10;
  CHECK(relax_memory_limit_set(kDLCPU, kDevice, 64 << 20) == 0);
  for (int64_t i = 1; i <= 20; ++i) {
    Slot slot;
    CHECK(allocBytes(slot, i << 21, kDevice) == 0);
    relax_memory_statistics now = statisticsOf(kDevice);
    CHECK(now.in_use + now.cached <= 64 << 20);
  }
  CHECK(statisticsOf(kDevice).system_releases > 0);
  CHECK(relax_memory_limit_set(kDLCPU, kDevice, -1) == 0);
  CHECK(relax_memory_limit_set(kDLCPU, kDevice, -2) == -1);
  CHECK_TEXT(takeError(), "ValueError: expected a limit of at least 0 bytes, "
                          "or -1 for that by use, but got -2");
}

// VM11: devices that are not there.
static void testNoDevice() {
  relax_memory_statistics statistics;
  CHECK(relax_memory_statistics_get(kDLCPU, 1024, &statistics) == -1);
  CHECK_TEXT(takeError(), "RuntimeError: expected a device from cpu:0 to "
                          "cpu:1023, but got cpu:1024");
  CHECK(relax_memory_release(kDLCPU, -1) == -1);
  CHECK_TEXT(takeError(), "RuntimeError: expected a device from cpu:0 to "
                          "cpu:1023, but got cpu:-1");
  CHECK(relax_memory_peak_reset(kDLVulkan, 0) == -1);
  CHECK_TEXT(takeError(),
             "RuntimeError: no device API for vulkan:0 in this runtime");
  CHECK(relax_device_synchronize(kDLCPU, 3) == 0);
}

// A second run at the same shapes asks the system for nothing.
static void testSteadyState() {
  int64_t sum;
  CHECK(runProgram(40, &sum) == 0);
  relax_memory_statistics before = statisticsOf(0), other = statisticsOf(1);
  CHECK(runProgram(40, &sum) == 0 && sum == sumOfProgram(40));
  relax_memory_statistics after = statisticsOf(0);
  CHECK(after.allocations - before.allocations > 500);
  CHECK(after.system_allocations == before.system_allocations);
  CHECK(statisticsOf(1).system_allocations == other.system_allocations);
  CHECK(after.in_use == before.in_use);
}

// Each allocation of a program fails once.
static void testFailures() {
  constexpr int64_t kRounds = 80;
  int64_t sum;
  CHECK(runProgram(kRounds, &sum) == 0);
  relax_memory_statistics first = statisticsOf(0), other = statisticsOf(1);
  CHECK(runProgram(kRounds, &sum) == 0);
  int64_t total = statisticsOf(0).allocations - first.allocations +
                  statisticsOf(1).allocations - other.allocations;
  CHECK(total >= 1000);
  int64_t wrong = 0;
  for (int64_t i = 0; i < total; ++i) {
    relax_alloc_fail_after(i);
    bool failed = runProgram(kRounds, &sum) == -1 &&
                  takeError().rfind("MemoryError: ", 0) == 0;
    wrong += !failed || relax_alloc_fail_after(-1) != -1 ||
             statisticsOf(0).in_use != first.in_use ||
             statisticsOf(1).in_use != other.in_use;
  }
  CHECK(wrong == 0);
  relax_alloc_fail_after(total);
  CHECK(runProgram(kRounds, &sum) == 0 && sum == sumOfProgram(kRounds));
  CHECK(relax_alloc_fail_after(-1) == 0);
}

static void testFailureWords() {
  const std::string prefix = "main: argument 'x': out of memory for ";
  const int64_t dims[] = {2, 3};
  Slot slot;
  relax_alloc_fail_after(0);
  CHECK_RAISES(relax_tensor_alloc(&kSite, slot, 2, dims, kF32, kDLCPU, 0),
               "MemoryError",
               prefix + "a tensor of rank 2, float32, shape (2, 3)");
  relax_alloc_fail_after(0);
  CHECK_RAISES(relax_storage_alloc(&kSite, slot, 100, kDLCPU, 1), "MemoryError",
               prefix + "storage of 100 bytes on cpu:1");
  relax_alloc_fail_after(0);
  CHECK_RAISES(relax_tuple_make(&kSite, slot, 0, nullptr), "MemoryError",
               prefix + "a tuple of 0 fields");
  relax_alloc_fail_after(0);
  CHECK_RAISES(relax_shape_make(slot, 2, dims), "MemoryError",
               "out of memory for a shape of rank 2");
  relax_alloc_fail_after(0);
  CHECK_RAISES(relax_string_make(slot, "12345678", 8), "MemoryError",
               "out of memory for a string of 8 bytes");
  relax_alloc_fail_after(0);
  CHECK_RAISES(relax_closure_make(&kSite, slot, nullptr, nullptr, 0, nullptr,
                                  "", 0, nullptr),
               "MemoryError", prefix + "a closure");
  CHECK(slot.any == nullptr);
}

// Memory that one thread allocates and another releases comes back.
static void testProducerConsumer() {
  constexpr int kDevice = 11;
  constexpr int kBatches = 200, kBatch = 50;
  std::mutex mutex;
  std::vector<ffi::Any> batch;
  std::atomic<int> turn{0};
  const auto waitFor = [&turn](int parity) {
    while (turn.load() % 2 != parity)
      std::this_thread::yield();
  };
  std::thread consumer([&] {
    for (int i = 0; i < kBatches; ++i) {
      waitFor(1);
      batch.clear();
      ++turn;
    }
  });
  for (int i = 0; i < kBatches; ++i) {
    waitFor(0);
    for (int j = 0; j < kBatch; ++j) {
      Slot slot;
      CHECK(allocBytes(slot, 300, kDevice) == 0);
      batch.push_back(slot.any);
    }
    ++turn;
  }
  consumer.join();
  relax_memory_statistics now = statisticsOf(kDevice);
  CHECK(now.allocations == kBatches * kBatch && now.in_use == 0);
  CHECK(now.system_allocations <= 400);
}

// Objects outlive the thread that made them, and a thread that comes later
// finds the memory of one that has ended.
static void testThreadsEnd() {
  constexpr int kDevice = 12;
  constexpr int kRounds = 40;
  std::vector<Slot> slots(8);
  for (int round = 0; round < kRounds; ++round) {
    for (Slot &slot : slots)
      std::thread([&slot] {
        CHECK(allocBytes(slot, 5000, kDevice) == 0);
        std::memset(slot.tensor()->data, 5, 5000);
      }).join();
    for (Slot &slot : slots)
      CHECK(static_cast<char *>(slot.tensor()->data)[4999] == 5);
    slots = std::vector<Slot>(8);
  }
  relax_memory_statistics now = statisticsOf(kDevice);
  CHECK(now.in_use == 0 && now.allocations == kRounds * 8);
  CHECK(now.system_allocations <= 200); // 128 are kept by this thread
  for (int i = 0; i < 5; ++i)
    std::thread([] {
      Slot slots[100];
      for (Slot &slot : slots)
        CHECK(allocBytes(slot, 300, kDevice) == 0);
    }).join();
  CHECK(statisticsOf(kDevice).system_allocations ==
        now.system_allocations + 100);
}

namespace {

// Released after the caches of the thread are gone.
struct Late {
  ffi::Any held;
};

} // namespace

static thread_local Late late;

static void testReleaseAtThreadEnd() {
  constexpr int kDevice = 13;
  std::thread([] {
    late.held = nullptr; // constructed before the caches
    Slot slot;
    CHECK(allocBytes(slot, 64, kDevice) == 0);
    late.held = slot.any;
  }).join();
  relax_memory_statistics now = statisticsOf(kDevice);
  CHECK(now.in_use == 0 && now.cached > 0);
}

// VM07: tuples and closures that hold each other a million deep take no stack
// when they go.
static void testDeepRelease() {
  int64_t before = statisticsOf(0).in_use;
  {
    Slot chain;
    for (int i = 0; i < 500000; ++i) {
      const TVMFFIAny *fields[] = {chain};
      CHECK(relax_tuple_make(&kSite, chain, 1, fields) == 0);
      CHECK(relax_closure_make(&kSite, chain, nullptr, nullptr, 1, fields, "",
                               0, nullptr) == 0);
    }
  }
  CHECK(statisticsOf(0).in_use == before);
  CHECK(relax_memory_release(kDLCPU, 0) == 0);
  // Parts of a chain may be held elsewhere.
  Slot part, chain;
  for (int i = 0; i < 10; ++i) {
    const TVMFFIAny *fields[] = {chain, chain};
    CHECK(relax_tuple_make(&kSite, chain, 2, fields) == 0);
    if (i == 5)
      part = chain;
  }
  chain = Slot();
  CHECK(part.uses() == 1 && relax_tuple_check(&kSite, part, 2) == 0);
}

//===----------------------------------------------------------------------===//
// Many threads
//===----------------------------------------------------------------------===//

namespace {

// Tensors that all threads swap with each other.
class Exchange {
public:
  ffi::Any swap(size_t index, ffi::Any tensor) {
    std::lock_guard<std::mutex> lock(places[index].mutex);
    std::swap(places[index].tensor, tensor);
    return tensor;
  }
  ffi::Any look(size_t index) {
    std::lock_guard<std::mutex> lock(places[index].mutex);
    return places[index].tensor;
  }
  static constexpr size_t kPlaces = 64;

private:
  struct Place {
    std::mutex mutex;
    ffi::Any tensor;
  };
  Place places[kPlaces];
};

} // namespace

// The elements of a tensor are its size, over and over.
static bool isWhole(const ffi::Any &value) {
  if (value == nullptr)
    return true;
  ffi::Tensor tensor = value.cast<ffi::Tensor>();
  const auto *data = static_cast<const int64_t *>(tensor.data_ptr());
  int64_t size = tensor.size(0);
  return data[0] == size && data[size / 2] == size && data[size - 1] == size;
}

static void runThread(Exchange &exchange, unsigned seed,
                      std::chrono::steady_clock::time_point end,
                      std::atomic<int64_t> &wrong) {
  std::minstd_rand random(seed);
  for (int64_t i = 0; i % 64 != 0 || std::chrono::steady_clock::now() < end;
       ++i) {
    int64_t size = 1 + random() % (random() % 16 == 0 ? 100000 : 500);
    Slot slot;
    if (relax_tensor_alloc(&kSite, slot, 1, &size, kI64, kDLCPU, 14)) {
      ++wrong;
      return;
    }
    std::fill_n(static_cast<int64_t *>(slot.tensor()->data), size, size);
    const int64_t dims[] = {size};
    if (random() % 4 == 0 && relax_tensor_view(&kSite, slot, slot, 1, dims))
      ++wrong;
    ffi::Any taken = exchange.swap(random() % Exchange::kPlaces, slot.any);
    wrong += !isWhole(taken);
    wrong += !isWhole(exchange.look(random() % Exchange::kPlaces));
    if (i % 1000 == 999)
      relax_memory_release(kDLCPU, 14);
    int64_t sum = 0;
    if (i % 100 == 99 && (runProgram(2, &sum) || sum != sumOfProgram(2)))
      ++wrong;
  }
}

// RELAX_STRESS_SECONDS makes it longer.
static void testManyThreads() {
  const char *text = std::getenv("RELAX_STRESS_SECONDS");
  double seconds = text ? std::atof(text) : 0.5;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  relax_memory_statistics host = statisticsOf(0);
  std::atomic<int64_t> wrong{0};
  {
    Exchange exchange;
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 8; ++seed)
      threads.emplace_back(
          [&, seed] { runThread(exchange, seed, end, wrong); });
    for (std::thread &thread : threads)
      thread.join();
    CHECK(statisticsOf(14).in_use > 0);
  }
  CHECK(wrong == 0);
  CHECK(statisticsOf(14).in_use == 0);
  CHECK(statisticsOf(0).in_use == host.in_use);
}

void testPool() {
  testStatistics();
  testPeak();
  testSizes();
  testPages();
  testLimit();
  testNoDevice();
  testSteadyState();
  testFailures();
  testFailureWords();
  testProducerConsumer();
  testThreadsEnd();
  testReleaseAtThreadEnd();
  testDeepRelease();
  testManyThreads();
}
