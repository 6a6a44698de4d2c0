//===- SharedMemory.cc - The memory that workers share ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the block, and lets those sleep that wait for a change in it.
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include <cerrno>
#include <climits>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#define RELAX_HAS_SHARED_MEMORY 1
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#endif

using namespace relax_runtime;

// Two halves of this size for each worker and channel. Larger ones are slower
// in caches, smaller ones make workers meet more often.
constexpr int64_t kSliceBytes = 256 << 10;
constexpr int64_t kPage = 4096;

//===----------------------------------------------------------------------===//
// The layout
//===----------------------------------------------------------------------===//

static int64_t roundToPages(int64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}
static int64_t workersOffset() { return roundToPages(sizeof(SharedHeader)); }
static int64_t buffersOffset(int64_t numWorkers) {
  return workersOffset() +
         roundToPages(numWorkers * static_cast<int64_t>(sizeof(SharedWorker)));
}

int64_t CommunicatorObj::countBytes(int64_t numWorkers) {
  return buffersOffset(numWorkers) +
         numWorkers * kNumChannels * 2 * kSliceBytes;
}

int64_t CommunicatorObj::sliceBytes() { return kSliceBytes; }

SharedWorker &CommunicatorObj::worker(int64_t index) const {
  return reinterpret_cast<SharedWorker *>(static_cast<char *>(block) +
                                          workersOffset())[index];
}

char *CommunicatorObj::buffer(Channel channel, int64_t worker,
                              int64_t half) const {
  int64_t index = (worker * kNumChannels + channel) * 2 + half;
  return static_cast<char *>(block) + buffersOffset(header().numWorkers) +
         index * kSliceBytes;
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

static void *mapBlock(size_t size, int64_t file) {
#ifdef RELAX_HAS_SHARED_MEMORY
  int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void *block = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags,
                     static_cast<int>(file), 0);
  if (block == MAP_FAILED)
    RELAX_THROW(OSError) << "cannot map " << size
                         << " bytes that workers share: "
                         << std::strerror(errno);
  return block;
#else
  (void)size, (void)file;
  RELAX_THROW(RuntimeError) << "this system has no sessions of workers";
#endif
}

static int64_t getProcess() {
#ifdef RELAX_HAS_SHARED_MEMORY
  return getpid();
#else
  return 0;
#endif
}

CommunicatorObj::CommunicatorObj(int64_t numWorkers, int64_t numGroups,
                                 int64_t file, double timeout, bool isNew)
    : size(static_cast<size_t>(countBytes(numWorkers))) {
  block = mapBlock(size, file);
  if (!isNew)
    return;
  // New memory is 0, which is what all the rest begins with.
  header().numWorkers = numWorkers;
  header().groupSize = numWorkers / numGroups;
  header().controller = getProcess();
  header().timeoutNanoseconds = static_cast<int64_t>(timeout * 1e9);
}

CommunicatorObj::~CommunicatorObj() {
#ifdef RELAX_HAS_SHARED_MEMORY
  munmap(block, size);
#endif
}

//===----------------------------------------------------------------------===//
// Waking
//===----------------------------------------------------------------------===//

constexpr int64_t kNapNanoseconds = 50'000'000;

uint32_t CommunicatorObj::readBell() const { return header().bell.load(); }

void CommunicatorObj::ring() {
  SharedHeader &head = header();
  head.bell.fetch_add(1);
  if (head.sleepers.load() == 0)
    return;
#if defined(__linux__)
  syscall(SYS_futex, &head.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
#endif
}

// A worker that rings afterwards sees that somebody sleeps; before, the bell is
// not what was seen any more.
void CommunicatorObj::sleep(uint32_t seen) {
  SharedHeader &head = header();
#if defined(__linux__)
  const timespec nap = {0, kNapNanoseconds};
  head.sleepers.fetch_add(1);
  syscall(SYS_futex, &head.bell, FUTEX_WAIT, seen, &nap, nullptr, 0);
  head.sleepers.fetch_sub(1);
#else
  if (head.bell.load() == seen)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
#endif
}

void CommunicatorObj::interrupt(int64_t instruction) {
  uint64_t last = static_cast<uint64_t>(instruction);
  std::atomic<uint64_t> &interrupted = header().interrupted;
  uint64_t known = interrupted.load();
  while (known < last && !interrupted.compare_exchange_weak(known, last))
    ;
  ring();
}

void CommunicatorObj::markDead(int64_t index, std::string_view why) {
  SharedWorker &dead = worker(index);
  dead.setFailure(why);
  dead.isDead.store(1);
  ring();
}
