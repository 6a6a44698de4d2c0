//===- Pool.cc - Memory that is used again ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lists of threads and the shared lists of each pool, and what is counted.
// A thread that ends hands its blocks to the shared lists; objects that are
// released after that, as those of other thread-local variables, go to the
// shared lists directly. Pools are never destroyed.
//
//===----------------------------------------------------------------------===//

#include "Pool.h"

#include <algorithm>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define RELAX_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RELAX_HAS_ASAN 1
#endif
#endif
#ifdef RELAX_HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

using namespace relax_runtime;

static_assert(computeBlockBytes(kClasses - 1) >= kMaxBytes,
              "the largest size of block holds the most bytes");

//===----------------------------------------------------------------------===//
// Failures for tests
//===----------------------------------------------------------------------===//

static std::atomic<int64_t> allocationsToFailure{-1};

int64_t relax_runtime::failAfter(int64_t count) {
  return allocationsToFailure.exchange(std::max<int64_t>(count, -1));
}

static bool mayFail() {
  return allocationsToFailure.load(std::memory_order_relaxed) >= 0;
}

// Whether this allocation is the one that fails.
RELAX_COLD static bool fails() noexcept {
  int64_t left = allocationsToFailure.load();
  while (left >= 0)
    if (allocationsToFailure.compare_exchange_weak(left, left - 1))
      return left == 0;
  return false;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

// Under AddressSanitizer no code may touch the blocks in a list.
static void forbid(Block *block, bool isHost) {
#ifdef RELAX_HAS_ASAN
  if (isHost)
    ASAN_POISON_MEMORY_REGION(block + 1, block->bytes() - sizeof(Block));
#else
  (void)block;
  (void)isHost;
#endif
}
static void allow(Block *block, bool isHost) {
#ifdef RELAX_HAS_ASAN
  if (isHost)
    ASAN_UNPOISON_MEMORY_REGION(block + 1, block->bytes() - sizeof(Block));
#else
  (void)block;
  (void)isHost;
#endif
}

Block *Pool::newBlock(uint32_t sizeClass) noexcept {
  size_t bytes = kBlockBytes.of[sizeClass];
  Block *block;
  if (device.isHost()) {
    block = static_cast<Block *>(device.allocate(bytes));
    if (!block)
      return nullptr;
  } else {
    auto *remote = new (std::nothrow) DeviceBlock();
    if (!remote)
      return nullptr;
    remote->data = device.allocate(bytes);
    if (!remote->data) {
      delete remote;
      return nullptr;
    }
    block = remote;
  }
  block->sizeClass = sizeClass;
  block->unused = 0;
  forbid(block, device.isHost());
  held.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  systemAllocations.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void Pool::deleteBlock(Block *block) noexcept {
  size_t bytes = block->bytes();
  held.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  systemReleases.fetch_add(1, std::memory_order_relaxed);
  allow(block, device.isHost());
  if (device.isHost())
    return device.release(block, bytes);
  auto *remote = static_cast<DeviceBlock *>(block);
  device.release(remote->data, bytes);
  delete remote;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

namespace relax_runtime {

// The caches of this thread, by the index of their pool. Without a constructor
// or destructor, so that it can be read at any time.
struct ThreadTable {
  ThreadCache **caches;
  uint32_t size;
  bool isOver;

  ThreadCache *find(uint32_t index) const {
    return RELAX_LIKELY(index < size) ? caches[index] : nullptr;
  }
  bool reserve(uint32_t index) noexcept;
  void leave() noexcept;
};

} // namespace relax_runtime

static thread_local ThreadTable threadTable;

namespace {

struct AtThreadEnd {
  bool isArmed = false;
  ~AtThreadEnd() { threadTable.leave(); }
};

} // namespace

static thread_local AtThreadEnd atThreadEnd;

bool ThreadTable::reserve(uint32_t index) noexcept {
  if (index < size)
    return true;
  uint32_t wanted = index + 4;
  void *grown = std::realloc(caches, wanted * sizeof(ThreadCache *));
  if (!grown)
    return false;
  caches = static_cast<ThreadCache **>(grown);
  std::fill(caches + size, caches + wanted, nullptr);
  size = wanted;
  return true;
}

void ThreadTable::leave() noexcept {
  ThreadCache **held = caches;
  uint32_t count = size;
  caches = nullptr;
  size = 0;
  isOver = true;
  for (uint32_t i = 0; i < count; ++i)
    if (held[i])
      held[i]->pool->give(held[i]);
  std::free(held);
}

ThreadCache *Pool::findThreadCache() const noexcept {
  return threadTable.find(index);
}

// The cache of this thread, taken from a thread that has ended or made. NULL
// where this thread is about to end or memory is short.
RELAX_COLD ThreadCache *Pool::makeThreadCache() noexcept {
  if (threadTable.isOver || !threadTable.reserve(index))
    return nullptr;
  atThreadEnd.isArmed = true;
  std::lock_guard<std::mutex> lock(cachesMutex);
  ThreadCache *cache = caches;
  while (cache && cache->isTaken)
    cache = cache->next;
  if (cache) {
    cache->isTaken = true;
  } else {
    cache = new (std::nothrow) ThreadCache(this);
    if (!cache)
      return nullptr;
    cache->next = caches;
    caches = cache;
  }
  cache->epoch = epoch.load(std::memory_order_relaxed);
  threadTable.caches[index] = cache;
  return cache;
}

ThreadCache *Pool::threadCache() noexcept {
  ThreadCache *cache = findThreadCache();
  return RELAX_LIKELY(cache != nullptr) ? cache : makeThreadCache();
}

// A thread ends: its blocks go to the shared lists, its cache to the next
// thread that comes.
void Pool::give(ThreadCache *cache) noexcept {
  tell(*cache);
  for (uint32_t i = 0; i < kThreadClasses; ++i)
    spill(*cache, i, 0);
  std::lock_guard<std::mutex> lock(cachesMutex);
  cache->isTaken = false;
}

//===----------------------------------------------------------------------===//
// Shared lists
//===----------------------------------------------------------------------===//

// Takes a block from the shared list, and some more for the thread. NULL where
// there is none.
Block *Pool::refill(ThreadCache *cache, uint32_t sizeClass) noexcept {
  constexpr size_t kRefillBytes = 64 << 10;
  size_t bytes = kBlockBytes.of[sizeClass];
  Shared &from = shared[sizeClass];
  std::lock_guard<std::mutex> lock(from.mutex);
  if (!from.list.head)
    return nullptr;
  Block *block = from.list.pop();
  if (!cache || sizeClass >= kThreadClasses)
    return block;
  for (size_t more = std::min<size_t>(kRefillBytes / bytes, 32);
       more > 1 && from.list.head; --more) {
    cache->lists[sizeClass].push(from.list.pop());
    cache->heldBytes += bytes;
  }
  return block;
}

// Moves all but `keep` blocks of a size from a thread to the shared list.
void Pool::spill(ThreadCache &cache, uint32_t sizeClass,
                 uint32_t keep) noexcept {
  BlockList &list = cache.lists[sizeClass];
  if (list.count <= keep)
    return;
  cache.heldBytes -= (list.count - keep) * kBlockBytes.of[sizeClass];
  Shared &to = shared[sizeClass];
  std::lock_guard<std::mutex> lock(to.mutex);
  while (list.count > keep)
    to.list.push(list.pop());
}

void Pool::drop(ThreadCache &cache) noexcept {
  for (BlockList &list : cache.lists)
    while (list.head)
      deleteBlock(list.pop());
  cache.heldBytes = 0;
  cache.epoch = epoch.load(std::memory_order_relaxed);
}

// A thread has much, or is asked to let go.
RELAX_NOINLINE void Pool::tidy(ThreadCache &cache,
                               uint32_t sizeClass) noexcept {
  tell(cache);
  if (cache.epoch != epoch.load(std::memory_order_relaxed))
    return drop(cache);
  if (cache.lists[sizeClass].count > ThreadCache::kMostBlocks)
    spill(cache, sizeClass, ThreadCache::kMostBlocks / 2);
  if (cache.heldBytes <= ThreadCache::kMostBytes)
    return;
  spill(cache, sizeClass, 0);
  for (uint32_t i = kThreadClasses;
       i-- > 0 && cache.heldBytes > ThreadCache::kMostBytes / 2;)
    spill(cache, i, 0);
}

// Returns blocks of the shared lists to the system, large ones first, until
// there are so many bytes less. Returns how many are left to go.
int64_t Pool::trim(int64_t bytes) noexcept {
  for (uint32_t i = kClasses; i-- > 0 && bytes > 0;) {
    std::lock_guard<std::mutex> lock(shared[i].mutex);
    for (BlockList &list = shared[i].list; list.head && bytes > 0;
         bytes -= static_cast<int64_t>(kBlockBytes.of[i]))
      deleteBlock(list.pop());
  }
  return bytes;
}

void Pool::release() noexcept {
  epoch.fetch_add(1, std::memory_order_relaxed);
  if (ThreadCache *cache = findThreadCache()) {
    tell(*cache);
    drop(*cache);
  }
  trim(INT64_MAX);
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

// All pools, linked by `next`.
static std::atomic<Pool *> pools{nullptr};

Pool::Pool(Device &device) : device(device), index(nextIndex()) {
  next = pools.load();
  while (!pools.compare_exchange_weak(next, this))
    ;
}

uint32_t Pool::nextIndex() {
  static std::atomic<uint32_t> count{0};
  return count++;
}

// All pools of the host cache the same memory.
void Pool::releaseSystem() noexcept {
  if (!device.isHost())
    return release();
  for (Pool *pool = pools.load(); pool; pool = pool->next)
    if (pool->device.isHost())
      pool->release();
}

Block *Pool::allocateFromSystem(uint32_t sizeClass) noexcept {
  constexpr int64_t kSpare = 64 << 20;
  int64_t bytes = static_cast<int64_t>(kBlockBytes.of[sizeClass]);
  int64_t most = limit.load(std::memory_order_relaxed);
  if (most < 0)
    most = 2 * (highest.load(std::memory_order_relaxed) + bytes) + kSpare;
  int64_t after = held.load(std::memory_order_relaxed) + bytes;
  ThreadCache *cache = findThreadCache();
  if (after > most && trim(after - most) > 0 && cache)
    drop(*cache);
  if (Block *block = newBlock(sizeClass))
    return block;
  releaseSystem();
  return newBlock(sizeClass);
}

RELAX_NOINLINE Block *Pool::allocateSlow(uint32_t sizeClass) noexcept {
  if (mayFail() && fails())
    return nullptr;
  ThreadCache *cache = threadCache();
  Block *block = nullptr;
  if (cache && sizeClass < kThreadClasses && cache->lists[sizeClass].head) {
    block = cache->lists[sizeClass].pop();
    cache->heldBytes -= kBlockBytes.of[sizeClass];
  }
  if (!block)
    block = refill(cache, sizeClass);
  if (!block)
    block = allocateFromSystem(sizeClass);
  if (!block)
    return nullptr;
  allow(block, device.isHost());
  block->pool = this;
  count(cache, static_cast<int64_t>(block->bytes()));
  return block;
}

Block *Pool::allocate(size_t bytes) noexcept {
  if (!RELAX_LIKELY(bytes <= kMaxBytes))
    return nullptr;
  uint32_t sizeClass = findSizeClass(bytes);
  ThreadCache *cache = findThreadCache();
  if (!RELAX_LIKELY(cache && sizeClass < kThreadClasses &&
                    cache->lists[sizeClass].head && !mayFail()))
    return allocateSlow(sizeClass);
  Block *block = cache->lists[sizeClass].pop();
  size_t size = kBlockBytes.of[sizeClass];
  cache->heldBytes -= size;
  allow(block, device.isHost());
  block->pool = this;
  cache->countAllocation();
  if (!RELAX_LIKELY(!cache->count(static_cast<int64_t>(size))))
    tell(*cache);
  return block;
}

RELAX_NOINLINE void Pool::freeSlow(Block *block) noexcept {
  ThreadCache *cache = threadCache();
  uint32_t sizeClass = block->sizeClass;
  int64_t bytes = static_cast<int64_t>(block->bytes());
  forbid(block, device.isHost());
  if (!cache || sizeClass >= kThreadClasses) {
    {
      std::lock_guard<std::mutex> lock(shared[sizeClass].mutex);
      shared[sizeClass].list.push(block);
    }
    tell(-bytes, 0);
    return;
  }
  cache->lists[sizeClass].push(block);
  cache->heldBytes += static_cast<size_t>(bytes);
  cache->count(-bytes);
  tidy(*cache, sizeClass);
}

void Pool::free(Block *block) noexcept {
  Pool *pool = block->pool;
  uint32_t sizeClass = block->sizeClass;
  ThreadCache *cache = pool->findThreadCache();
  if (!RELAX_LIKELY(cache && sizeClass < kThreadClasses))
    return pool->freeSlow(block);
  forbid(block, pool->device.isHost());
  BlockList &list = cache->lists[sizeClass];
  list.push(block);
  size_t bytes = kBlockBytes.of[sizeClass];
  cache->heldBytes += bytes;
  bool isTime = cache->count(-static_cast<int64_t>(bytes));
  if (!RELAX_LIKELY(!isTime && list.count <= ThreadCache::kMostBlocks &&
                    cache->heldBytes <= ThreadCache::kMostBytes &&
                    cache->epoch ==
                        pool->epoch.load(std::memory_order_relaxed)))
    pool->tidy(*cache, sizeClass);
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

static void raise(std::atomic<int64_t> &most, int64_t value) {
  int64_t now = most.load(std::memory_order_relaxed);
  while (now < value &&
         !most.compare_exchange_weak(now, value, std::memory_order_relaxed))
    ;
}

// `bytes` came into use since the last time, `most` at one moment between.
void Pool::tell(int64_t bytes, int64_t most) noexcept {
  int64_t before = inUse.fetch_add(bytes, std::memory_order_relaxed);
  raise(peak, before + most);
  raise(highest, before + most);
}

RELAX_NOINLINE void Pool::tell(ThreadCache &cache) noexcept {
  int64_t bytes = cache.inUse.load(std::memory_order_relaxed);
  int64_t most = cache.most.load(std::memory_order_relaxed);
  cache.inUse.store(0, std::memory_order_relaxed);
  cache.most.store(0, std::memory_order_relaxed);
  tell(bytes, most);
}

void Pool::count(ThreadCache *cache, int64_t bytes) noexcept {
  if (!cache) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    return tell(bytes, bytes);
  }
  cache->countAllocation();
  if (cache->count(bytes))
    tell(*cache);
}

relax_memory_statistics Pool::statistics() noexcept {
  if (ThreadCache *cache = findThreadCache())
    tell(*cache);
  std::lock_guard<std::mutex> lock(cachesMutex);
  relax_memory_statistics result = {};
  result.in_use = inUse.load(std::memory_order_relaxed);
  result.allocations = allocations.load(std::memory_order_relaxed);
  int64_t most = 0;
  for (ThreadCache *cache = caches; cache; cache = cache->next) {
    result.in_use += cache->inUse.load(std::memory_order_relaxed);
    result.allocations += cache->allocations.load(std::memory_order_relaxed);
    most = std::max(most, cache->most.load(std::memory_order_relaxed));
  }
  raise(peak,
        std::max(inUse.load(std::memory_order_relaxed) + most, result.in_use));
  result.peak = peak.load(std::memory_order_relaxed);
  result.cached = held.load(std::memory_order_relaxed) - result.in_use;
  result.system_allocations = systemAllocations.load(std::memory_order_relaxed);
  result.system_releases = systemReleases.load(std::memory_order_relaxed);
  return result;
}

void Pool::resetPeak() noexcept {
  int64_t now = statistics().in_use;
  std::lock_guard<std::mutex> lock(cachesMutex);
  for (ThreadCache *cache = caches; cache; cache = cache->next)
    cache->most.store(cache->inUse.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  peak.store(now, std::memory_order_relaxed);
}
