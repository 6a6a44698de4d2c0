//===- Parallel.cc - Loops over several threads -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pool of threads for the process, and one for each thread that has a share
// of the cores, as the workers of a session have. A loop is cut into chunks,
// which depend on its size, its grain and the number of threads only. Each
// thread has a lane of neighbouring chunks; a thread that is done with its own
// helps with those of others, so a thread that comes late, or never, costs time
// but not the result.
//
// Rationale: a loop in a kernel takes microseconds, so threads that have worked
// look for the next loop for a short time before they sleep, and a loop begins
// with one store that they all see.
//
// One loop at a time uses the threads of a pool. Any other, nested or of
// another thread, runs its chunks one after the other where it is: threads are
// never more than asked for, and no two threads wait for each other.
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <tvm/ffi/reflection/registry.h>

#if defined(__unix__) || defined(__APPLE__)
#define RELAX_HAS_PTHREADS 1
#include <pthread.h>
#include <signal.h>
#endif
#if defined(__linux__)
#include <fstream>
#include <sched.h>
#endif

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// The number of threads
//===----------------------------------------------------------------------===//

constexpr int32_t kMostThreads = 512;

#if defined(__linux__)
// Returns the processors that share a core with `cpu`, as text.
static std::string coreOf(int cpu) {
  std::string text;
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                     "/topology/thread_siblings_list");
  return std::getline(file, text) ? text : std::to_string(cpu);
}
#endif

// The cores that this process may use; two threads of one core compute no
// faster than one.
static int32_t countCores() {
#if defined(__linux__)
  constexpr int kMostCpus = 8192;
  if (cpu_set_t *cpus = CPU_ALLOC(kMostCpus)) {
    size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
    CPU_ZERO_S(bytes, cpus);
    std::set<std::string> cores;
    if (sched_getaffinity(0, bytes, cpus) == 0)
      for (int cpu = 0; cpu < kMostCpus; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, cpus))
          cores.insert(coreOf(cpu));
    CPU_FREE(cpus);
    if (!cores.empty())
      return static_cast<int32_t>(cores.size());
  }
#endif
  return static_cast<int32_t>(std::thread::hardware_concurrency());
}

// Returns the number that the environment asks for, or else that of cores.
static int32_t countDefaultThreads() {
  if (const char *text = std::getenv("RELAX_MLIR_NUM_THREADS")) {
    char *end = nullptr;
    long count = std::strtol(text, &end, 10);
    if (*text && !*end && count >= 1 && count <= kMostThreads)
      return static_cast<int32_t>(count);
    if (*text)
      std::fprintf(stderr,
                   "relax: RELAX_MLIR_NUM_THREADS: expected a number from 1 to "
                   "%d, but got '%s'\n",
                   kMostThreads, text);
  }
  return std::clamp(countCores(), 1, kMostThreads);
}

// 0: not yet known.
static std::atomic<int32_t> threadCount{0};

RELAX_COLD static int32_t initThreadCount() noexcept {
  int32_t count = 1;
  try {
    count = countDefaultThreads();
  } catch (...) { // memory is short
  }
  int32_t unknown = 0;
  return threadCount.compare_exchange_strong(unknown, count) ? count : unknown;
}

// The number of threads of this thread's own pool; 0: it uses that of the
// process.
static thread_local int32_t shareCount = 0;

static int32_t getThreadCount() {
  if (shareCount != 0)
    return shareCount;
  int32_t count = threadCount.load(std::memory_order_relaxed);
  return RELAX_LIKELY(count != 0) ? count : initThreadCount();
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static void relaxProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

namespace {

using Clock = std::chrono::steady_clock;

// The time that a thread looks for work before it sleeps.
constexpr std::chrono::microseconds kSpin(100);

// Looks for something to become true until `end`; returns whether it did.
template <typename Condition>
bool spinUntil(Clock::time_point end, const Condition &isTrue) {
  do {
    for (int i = 0; i < 32; ++i) {
      if (isTrue())
        return true;
      relaxProcessor();
    }
  } while (Clock::now() < end);
  return isTrue();
}

// The place where one thread sleeps. The state that it waits for changes, in
// sequential order, before wake, which costs one load while no thread sleeps.
class Bed {
public:
  template <typename Condition> void sleepUntil(const Condition &isTrue) {
    isTaken.store(true);
    {
      std::unique_lock<std::mutex> lock(mutex);
      condition.wait(lock, isTrue);
    }
    isTaken.store(false, std::memory_order_relaxed);
  }
  void wake() {
    if (RELAX_LIKELY(!isTaken.load()))
      return;
    // A thread that has seen the old state sleeps when the lock is free.
    {
      std::lock_guard<std::mutex> lock(mutex);
    }
    condition.notify_one();
  }

private:
  std::atomic<bool> isTaken{false};
  std::mutex mutex;
  std::condition_variable condition;
};

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

struct Loop {
  relax_parallel_body body;
  void *context;
  int64_t size, numChunks;

  int32_t run(int64_t chunk) const {
    return body(context, begin(chunk), begin(chunk + 1));
  }
  // Chunks that have one iteration more are spread over all of them, so that
  // lanes have as many.
  int64_t begin(int64_t chunk) const {
    return size / numChunks * chunk + size % numChunks * chunk / numChunks;
  }
};

// The next chunk of a lane and the end of its chunks, in one word: a thread
// that takes a chunk sees both of the same loop.
struct alignas(64) Lane {
  std::atomic<uint64_t> chunks{0};

  void set(uint64_t begin, uint64_t end) {
    chunks.store(end << 32 | begin, std::memory_order_release);
  }
  bool take(int64_t *chunk) {
    if (isDone(chunks.load(std::memory_order_relaxed)))
      return false;
    uint64_t taken = chunks.fetch_add(1, std::memory_order_acq_rel);
    *chunk = static_cast<int64_t>(taken & UINT32_MAX);
    return !isDone(taken);
  }
  static bool isDone(uint64_t chunks) {
    return (chunks & UINT32_MAX) >= chunks >> 32;
  }
};

class ThreadPool {
public:
  // Runs a loop by so many threads, that of the caller included. False where
  // another loop has them.
  bool run(const Loop &loop, int32_t count, int32_t *status) noexcept;
  // Ends the threads that are not needed for so many.
  void shrink(int32_t count) noexcept;

  // Of pools that no thread has.
  ThreadPool *nextIdle = nullptr;

private:
  struct alignas(64) Worker {
    Bed bed;
    bool isAlive = false; // under the lock
  };

  void start(int32_t count) noexcept;
  void live(int32_t index, uint32_t seen) noexcept;
  bool leave(int32_t index) noexcept;
  void work(int32_t index) noexcept;
  void runChunk(int64_t chunk) noexcept;

  // Read by all in each loop, written by the thread that begins one.
  alignas(64) std::atomic<uint32_t> numLoops{0};
  std::atomic<int32_t> numLanes{0};
  Loop loop = {};
  // Written by all.
  alignas(64) std::atomic<int64_t> chunksLeft{0};
  std::atomic<bool> hasFailed{false};
  std::atomic<TVMFFIObjectHandle> error{nullptr};
  Bed callerBed;
  alignas(64) std::atomic<bool> isBusy{false};
  std::atomic<int32_t> numWorkers{0}; // at least those with an index below
  std::atomic<int32_t> wanted{kMostThreads};
  std::mutex mutex; // of starting and ending threads
  Lane lanes[kMostThreads];
  Worker workers[kMostThreads]; // the first one stands for the caller
};

} // namespace

// Whether this thread is in a loop already.
static thread_local bool isInLoop = false;

void ThreadPool::runChunk(int64_t chunk) noexcept {
  // Until the chunk is counted, the loop does not change.
  if (!hasFailed.load(std::memory_order_relaxed) && loop.run(chunk) != 0) {
    TVMFFIObjectHandle raised = nullptr;
    TVMFFIErrorMoveFromRaised(&raised);
    TVMFFIObjectHandle none = nullptr;
    if (!error.compare_exchange_strong(none, raised) && raised)
      TVMFFIObjectDecRef(raised);
    hasFailed.store(true, std::memory_order_relaxed);
  }
  if (chunksLeft.fetch_sub(1) == 1)
    callerBed.wake();
}

void ThreadPool::work(int32_t index) noexcept {
  int32_t count = numLanes.load(std::memory_order_relaxed);
  for (int32_t i = 0; i < count; ++i) {
    Lane &lane = lanes[(index + i) % count];
    for (int64_t chunk; lane.take(&chunk);)
      runChunk(chunk);
  }
}

// Whether a thread that is not wanted is gone.
bool ThreadPool::leave(int32_t index) noexcept {
  if (RELAX_LIKELY(index < wanted.load(std::memory_order_relaxed)))
    return false;
  std::lock_guard<std::mutex> lock(mutex);
  if (index < wanted.load(std::memory_order_relaxed))
    return false;
  workers[index].isAlive = false;
  return true;
}

void ThreadPool::live(int32_t index, uint32_t seen) noexcept {
  isInLoop = true;
  const auto isNew = [&] { return numLoops.load() != seen; };
  Clock::time_point end = Clock::now() + kSpin;
  while (!leave(index)) {
    if (!spinUntil(end, isNew))
      workers[index].bed.sleepUntil(isNew);
    seen = numLoops.load();
    if (index >= numLanes.load(std::memory_order_relaxed))
      continue;
    work(index);
    end = Clock::now() + kSpin;
  }
}

// Makes the threads that are missing. Where the system has none left, those
// that are there do the work.
RELAX_COLD void ThreadPool::start(int32_t count) noexcept {
  std::lock_guard<std::mutex> lock(mutex);
#ifdef RELAX_HAS_PTHREADS
  // Signals are for the threads of the program.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
#endif
  uint32_t seen = numLoops.load();
  try {
    for (int32_t i = 1; i < count; ++i) {
      if (workers[i].isAlive)
        continue;
      std::thread([this, i, seen] { live(i, seen); }).detach();
      workers[i].isAlive = true;
    }
  } catch (...) {
  }
#ifdef RELAX_HAS_PTHREADS
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
#endif
  numWorkers.store(count, std::memory_order_relaxed);
}

void ThreadPool::shrink(int32_t count) noexcept {
  std::lock_guard<std::mutex> lock(mutex);
  wanted.store(count);
  numWorkers.store(0, std::memory_order_relaxed);
  numLoops.fetch_add(1);
  for (int32_t i = count; i < kMostThreads; ++i)
    if (workers[i].isAlive)
      workers[i].bed.wake();
}

bool ThreadPool::run(const Loop &given, int32_t count,
                     int32_t *status) noexcept {
  if (isBusy.load(std::memory_order_relaxed) ||
      isBusy.exchange(true, std::memory_order_acquire))
    return false;
  if (!RELAX_LIKELY(numWorkers.load(std::memory_order_relaxed) >= count))
    start(count);
  loop = given;
  hasFailed.store(false, std::memory_order_relaxed);
  chunksLeft.store(given.numChunks, std::memory_order_relaxed);
  numLanes.store(count, std::memory_order_relaxed);
  const Loop byLane = {nullptr, nullptr, given.numChunks, count};
  for (int32_t i = 0; i < count; ++i)
    lanes[i].set(byLane.begin(i), byLane.begin(i + 1));
  numLoops.fetch_add(1);
  for (int32_t i = 1; i < count; ++i)
    workers[i].bed.wake();

  isInLoop = true;
  work(0);
  isInLoop = false;
  const auto isDone = [&] { return chunksLeft.load() == 0; };
  if (!isDone() && !spinUntil(Clock::now() + kSpin, isDone))
    callerBed.sleepUntil(isDone);

  *status = 0;
  if (!RELAX_LIKELY(!hasFailed.load(std::memory_order_relaxed))) {
    *status = -1;
    if (TVMFFIObjectHandle raised = error.exchange(nullptr)) {
      TVMFFIErrorSetRaised(raised);
      TVMFFIObjectDecRef(raised);
    }
  }
  isBusy.store(false, std::memory_order_release);
  return true;
}

//===----------------------------------------------------------------------===//
// The pool
//===----------------------------------------------------------------------===//

// Made for the first loop, never destroyed: threads may sleep in it when the
// process ends.
static std::atomic<ThreadPool *> threadPool{nullptr};

// That of this thread, made for its first loop. Pools that nobody has any more
// are used again.
static thread_local ThreadPool *sharePool = nullptr;
static std::mutex idlePoolsMutex;
static ThreadPool *idlePools = nullptr;

// The child of a fork has none of the threads, and locks may be held by them.
#ifdef RELAX_HAS_PTHREADS
static void forgetThreads() {
  threadPool.store(nullptr);
  sharePool = idlePools = nullptr;
  new (&idlePoolsMutex) std::mutex();
  isInLoop = false;
}
#endif

static void watchForks() noexcept {
#ifdef RELAX_HAS_PTHREADS
  static std::atomic<bool> isArmed{false};
  if (!isArmed.exchange(true))
    pthread_atfork(nullptr, nullptr, forgetThreads);
#endif
}

RELAX_COLD static ThreadPool *makeThreadPool() noexcept {
  watchForks();
  auto *made = new (std::nothrow) ThreadPool();
  ThreadPool *other = nullptr;
  if (!made || threadPool.compare_exchange_strong(other, made))
    return made;
  delete made;
  return other;
}

RELAX_COLD static ThreadPool *makeSharePool() noexcept {
  watchForks();
  std::lock_guard<std::mutex> lock(idlePoolsMutex);
  sharePool = idlePools;
  if (sharePool)
    idlePools = sharePool->nextIdle;
  else
    sharePool = new (std::nothrow) ThreadPool();
  if (sharePool)
    sharePool->shrink(shareCount);
  return sharePool;
}

static void dropSharePool() {
  if (!sharePool)
    return;
  sharePool->shrink(1);
  std::lock_guard<std::mutex> lock(idlePoolsMutex);
  sharePool->nextIdle = idlePools;
  idlePools = sharePool;
  sharePool = nullptr;
}

static ThreadPool *getThreadPool() {
  if (shareCount != 0)
    return sharePool ? sharePool : makeSharePool();
  ThreadPool *pool = threadPool.load(std::memory_order_acquire);
  return RELAX_LIKELY(pool != nullptr) ? pool : makeThreadPool();
}

int32_t relax_parallel_for(relax_parallel_body body, void *context,
                           int64_t size, int64_t grain) {
  // A thread that ends early has time to help; more chunks than that cost more
  // than they gain.
  constexpr int64_t kChunksOfThread = 4;
  if (size <= 0)
    return 0;
  int64_t most = std::max<int64_t>(size / std::max<int64_t>(grain, 1), 1);
  int32_t count =
      static_cast<int32_t>(std::min<int64_t>(getThreadCount(), most));
  if (count == 1)
    return body(context, 0, size);
  int64_t numChunks = std::min(most, count * kChunksOfThread);
  // Lanes of as many chunks are equal; single iterations are shared as they
  // end.
  if (numChunks < size)
    numChunks -= numChunks % count;
  Loop loop = {body, context, size, numChunks};
  int32_t status = 0;
  if (!isInLoop)
    if (ThreadPool *pool = getThreadPool())
      if (pool->run(loop, count, &status))
        return status;
  for (int64_t chunk = 0; chunk < loop.numChunks; ++chunk)
    if (int32_t status = loop.run(chunk))
      return status;
  return 0;
}

int32_t relax_num_threads_get(void) { return getThreadCount(); }

int relax_num_threads_set(int32_t count) {
  if (count < 0 || count > kMostThreads) {
    raiseText("ValueError",
              ("expected a number of threads from 1 to " +
               std::to_string(kMostThreads) +
               ", or 0 for the default, but got " + std::to_string(count))
                  .c_str());
    return -1;
  }
  RELAX_SAFE_CALL_BEGIN();
  if (count == 0)
    count = countDefaultThreads();
  threadCount.store(count);
  if (ThreadPool *pool = threadPool.load())
    pool->shrink(count);
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Python
//===----------------------------------------------------------------------===//

// The number of threads that loops of this thread use; 0: those of the process.
static void setThreadShare(int64_t count) {
  dropSharePool();
  shareCount =
      static_cast<int32_t>(std::clamp<int64_t>(count, 0, kMostThreads));
}

static int64_t getNumThreads() { return getThreadCount(); }

static void setNumThreads(int64_t count) {
  TVM_FFI_CHECK_SAFE_CALL(relax_num_threads_set(
      static_cast<int32_t>(std::clamp<int64_t>(count, -1, kMostThreads + 1))));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("relax_mlir.runtime.get_num_threads", getNumThreads)
      .def("relax_mlir.runtime.set_num_threads", setNumThreads)
      .def("relax_mlir.runtime.set_thread_share", setThreadShare);
}
