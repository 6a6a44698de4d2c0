//===- ParallelTest.cc - Loops over several threads -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every iteration runs once, in the same chunks; loops in loops, of several
// threads at once, that fail, and in the child of a fork.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

using Chunks = std::vector<std::pair<int64_t, int64_t>>;

struct Record {
  std::mutex mutex;
  Chunks chunks;
  std::set<std::thread::id> threads;
};

// A loop whose body is a function object.
template <typename Body>
int32_t parallelFor(int64_t size, int64_t grain, const Body &body) {
  return relax_parallel_for(
      [](void *context, int64_t begin, int64_t end) -> int32_t {
        return (*static_cast<const Body *>(context))(begin, end);
      },
      const_cast<Body *>(&body), size, grain);
}

// The chunks of a loop in order.
Chunks chunksOf(int64_t size, int64_t grain) {
  Record record;
  CHECK(parallelFor(size, grain, [&](int64_t begin, int64_t end) {
          std::lock_guard<std::mutex> lock(record.mutex);
          record.chunks.emplace_back(begin, end);
          return 0;
        }) == 0);
  std::sort(record.chunks.begin(), record.chunks.end());
  return record.chunks;
}

// Sums 0 + 1 + ... in an array, an element an iteration.
bool sums(int64_t size, int64_t grain = 1) {
  std::vector<int64_t> values(static_cast<size_t>(size), 0);
  int32_t status = parallelFor(size, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      values[static_cast<size_t>(i)] += i;
    return 0;
  });
  return status == 0 && std::accumulate(values.begin(), values.end(),
                                        int64_t(0)) == size * (size - 1) / 2;
}

int32_t fail(const char *message) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", message);
  return -1;
}

} // namespace

// The chunks cover the loop, are no smaller than the grain, and are the same
// every time.
static void testChunks() {
  for (int32_t threads : {1, 2, 3, 8})
    for (int64_t size : {0, 1, 2, 7, 64, 1000})
      for (int64_t grain : {-1, 0, 1, 3, 100, 5000}) {
        CHECK(relax_num_threads_set(threads) == 0);
        Chunks chunks = chunksOf(size, grain);
        int64_t next = 0;
        for (auto [begin, end] : chunks) {
          CHECK(begin == next && end > begin);
          CHECK(end - begin >= std::min(grain, size));
          next = end;
        }
        CHECK(next == size);
        CHECK(chunks.size() <= static_cast<size_t>(threads) * 4);
        CHECK(chunks == chunksOf(size, grain));
      }
  CHECK(relax_num_threads_set(1) == 0);
  CHECK((chunksOf(10, 1) == Chunks{{0, 10}}));
}

// The threads that are asked for are there, and no others. No chunk ends before
// two have begun, so two threads take one each.
static void testThreadsWork() {
  CHECK(relax_num_threads_set(2) == 0);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun{0};
    Record record;
    CHECK(parallelFor(2, 1, [&](int64_t, int64_t) {
            ++begun;
            while (begun < 2)
              std::this_thread::yield();
            std::lock_guard<std::mutex> lock(record.mutex);
            record.threads.insert(std::this_thread::get_id());
            return 0;
          }) == 0);
    CHECK(record.threads.size() == 2);
    CHECK(record.threads.count(std::this_thread::get_id()) == 1);
    // Now and then the other one sleeps.
    if (round % 5 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// A loop in a loop runs where it is, in the same chunks.
static void testNested() {
  CHECK(relax_num_threads_set(4) == 0);
  Chunks expected = chunksOf(100, 1);
  std::atomic<int> good{0};
  CHECK(parallelFor(16, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            Record record;
            parallelFor(100, 1, [&](int64_t begin, int64_t end) {
              record.chunks.emplace_back(begin, end);
              record.threads.insert(std::this_thread::get_id());
              return 0;
            });
            good += record.chunks == expected && record.threads.size() == 1;
          }
          return 0;
        }) == 0);
  CHECK(good == 16);
}

// Several threads have loops at once, while the number of threads changes.
static void testCallers() {
  CHECK(relax_num_threads_set(3) == 0);
  std::atomic<int> good{0};
  std::atomic<bool> isOver{false};
  std::thread changes([&] {
    for (int32_t i = 0; !isOver; ++i)
      CHECK(relax_num_threads_set(i % 5 + 1) == 0);
  });
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      for (int round = 0; round < 300; ++round)
        good += sums(i * 100 + round);
    });
  for (std::thread &caller : callers)
    caller.join();
  isOver = true;
  changes.join();
  CHECK(good == 1200);
}

// The error of a chunk becomes that of the loop, whatever thread it was on.
static void testErrors() {
  CHECK(relax_num_threads_set(3) == 0);
  for (int64_t failing = 0; failing < 12; ++failing) {
    int32_t status = parallelFor(12, 1, [&](int64_t begin, int64_t end) {
      return begin <= failing && failing < end ? fail("no luck") : 0;
    });
    CHECK_RAISES(status, "ValueError", "no luck");
    CHECK(sums(100));
  }
  CHECK_RAISES(
      parallelFor(12, 1, [](int64_t, int64_t) { return fail("never"); }),
      "ValueError", "never");
  CHECK(relax_num_threads_set(1) == 0);
  CHECK_RAISES(
      parallelFor(12, 1, [](int64_t, int64_t) { return fail("never"); }),
      "ValueError", "never");
}

static void testCount() {
  for (int32_t count : {1, 7, 512}) {
    CHECK(relax_num_threads_set(count) == 0);
    CHECK(relax_num_threads_get() == count);
  }
  for (int32_t count : {-1, 513})
    CHECK_RAISES(relax_num_threads_set(count), "ValueError",
                 "expected a number of threads from 1 to 512, or 0 for the "
                 "default, but got " +
                     std::to_string(count));
  CHECK(relax_num_threads_get() == 512);
  CHECK(relax_num_threads_set(0) == 0);
  int32_t cores = relax_num_threads_get();
  CHECK(cores >= 1 &&
        cores <= static_cast<int32_t>(std::thread::hardware_concurrency()));
}

// The child has none of the threads of its parent, and makes its own.
static void testFork() {
#if defined(__linux__) && !defined(__SANITIZE_THREAD__) &&                     \
    !defined(RELAX_RUNTIME_EMULATED)
  CHECK(relax_num_threads_set(3) == 0);
  CHECK(sums(1000));
  pid_t child = fork();
  if (child == 0)
    _exit(sums(1000) && sums(10) ? 0 : 1);
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(sums(1000));
#endif
}

void testParallel() {
  testChunks();
  testThreadsWork();
  testNested();
  testCallers();
  testErrors();
  testFork();
  testCount();
}
