//===- ScratchTest.cc - Memory that a kernel needs --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Alignment, sizes, release in any order, kernels that fail, and threads.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <cstring>
#include <thread>
#include <vector>

static const relax_site kKernel = {"softmax", "scratch", "", ""};

static void *alloc(int64_t bytes, int64_t alignment = 64) {
  return relax_scratch_alloc(&kKernel, bytes, alignment);
}

static void testSizes() {
  int64_t before = statisticsOf(0).in_use;
  for (int64_t bytes : {0, 1, 63, 64, 65, 4096, 1 << 20, (1 << 24) + 1})
    for (int64_t alignment : {1, 64, 128, 4096}) {
      void *one = alloc(bytes, alignment);
      void *two = alloc(bytes, alignment);
      CHECK(one && two && one != two);
      std::memset(one, 1, static_cast<size_t>(bytes));
      std::memset(two, 2, static_cast<size_t>(bytes));
      int64_t aligned = std::max<int64_t>(alignment, 64);
      CHECK(reinterpret_cast<uintptr_t>(one) % aligned == 0);
      CHECK(reinterpret_cast<uintptr_t>(two) % aligned == 0);
      CHECK(bytes == 0 || *static_cast<char *>(one) == 1);
      relax_scratch_free(one);
      relax_scratch_free(two);
    }
  relax_scratch_free(nullptr);
  CHECK(statisticsOf(0).in_use == before);
}

static void testSteady() {
  relax_scratch_free(alloc(100000));
  int64_t before = statisticsOf(0).system_allocations;
  for (int i = 0; i < 100; ++i)
    relax_scratch_free(alloc(100000));
  CHECK(statisticsOf(0).system_allocations == before);
}

// Only what came since the mark goes, whatever was freed in between.
static void testRelease() {
  int64_t before = statisticsOf(0).in_use;
  void *outer = alloc(1000);
  int64_t mark = relax_scratch_mark();
  void *inner[3] = {alloc(1000), alloc(2000), alloc(3000)};
  relax_scratch_free(inner[1]);
  relax_scratch_release(mark);
  int64_t held = statisticsOf(0).in_use;
  CHECK(held > before && held <= before + 1280);
  relax_scratch_release(relax_scratch_mark());
  CHECK(statisticsOf(0).in_use == held);
  // Memory that was there at the mark is freed after it.
  mark = relax_scratch_mark();
  void *late = alloc(1000);
  relax_scratch_free(outer);
  relax_scratch_release(mark);
  (void)late;
  CHECK(statisticsOf(0).in_use == before);
}

static void testFailures() {
  int64_t before = statisticsOf(0).in_use;
  CHECK(!alloc(INT64_MAX));
  CHECK_TEXT(takeError(), "MemoryError: softmax: scratch: out of memory for "
                          "scratch memory of more bytes than can be counted");
  CHECK(!alloc(-1));
  takeError();
  CHECK(!alloc(INT64_MAX - 1, 4096));
  takeError();
  CHECK(!alloc(int64_t(1) << 46));
  CHECK_TEXT(takeError(), "MemoryError: softmax: scratch: out of memory for "
                          "70368744177664 bytes of scratch memory");
  relax_alloc_fail_after(1);
  void *one = alloc(64);
  CHECK(one && !alloc(1));
  CHECK_TEXT(takeError(), "MemoryError: softmax: scratch: out of memory for "
                          "1 byte of scratch memory");
  CHECK(relax_alloc_fail_after(-1) == -1);
  relax_scratch_free(one);
  CHECK(statisticsOf(0).in_use == before);
}

// Each thread has its own.
static void testThreads() {
  void *mine = alloc(5000);
  int64_t mark = relax_scratch_mark();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 1000; ++round) {
        int64_t mark = relax_scratch_mark();
        void *one = alloc(5000);
        std::memset(one, round, 5000);
        void *two = alloc(100);
        std::memset(two, round, 100);
        CHECK(static_cast<unsigned char *>(one)[4999] == round % 256);
        if (round % 2)
          relax_scratch_free(one);
        relax_scratch_release(mark);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(relax_scratch_mark() == mark);
  relax_scratch_free(mine);
}

void testScratch() {
  testSizes();
  testSteady();
  testRelease();
  testFailures();
  testThreads();
}
