//===- Pool.h - Memory that is used again -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pool for each device. Memory comes in blocks of fixed sizes (8 for each
// power of two). A block that is freed goes to a list of the thread that frees
// it, where that thread finds it again without a lock. A list that grows long
// hands half of its blocks to the list all threads share, one lock for each
// size, and a list that is empty takes some from there. Only where that is
// empty too, the system is asked.
//
// Rationale: a program that runs again at shapes already seen finds every block
// it needs, so makes no call to the system. Blocks have no owner, so those
// that another thread frees come back through the shared lists.
//
// Cached memory is bounded: a thread keeps at most 8 MiB, and before the system
// is asked, the shared lists shrink until the device holds no more than its
// limit (by default twice the most that was ever in use, and 64 MiB).
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_POOL_H
#define RELAX_RUNTIME_POOL_H

#include "Device.h"
#include "Internal.h"

#include <array>
#include <mutex>

namespace relax_runtime {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

// Blocks are multiples of 64 bytes up to 1 KiB. Above, each power of two is
// divided in 8. Above 8 KiB a block has 256 bytes more, so that the header of a
// tensor does not push one of 2^n bytes into the next size.
constexpr size_t kFineBytes = 1024;
constexpr size_t kExtraBytes = 256;
constexpr size_t kPlainBytes = 8192;
constexpr uint32_t kFineClasses = kFineBytes / 64;
// No block is larger.
constexpr size_t kMaxBytes = size_t(1) << 46;
constexpr uint32_t kClasses = kFineClasses + 8 * 36;
// Threads keep blocks of up to 1 MiB.
constexpr uint32_t kThreadClasses = kFineClasses + 8 * 10;

constexpr size_t computeBlockBytes(uint32_t sizeClass) {
  if (sizeClass < kFineClasses)
    return (sizeClass + 1) * 64;
  uint32_t octave = (sizeClass - kFineClasses) / 8;
  uint32_t eighths = (sizeClass - kFineClasses) % 8 + 9;
  size_t bytes = (kFineBytes << octave) / 8 * eighths;
  return bytes > kPlainBytes ? bytes + kExtraBytes : bytes;
}

struct BlockBytes {
  size_t of[kClasses] = {};
  constexpr BlockBytes() {
    for (uint32_t i = 0; i < kClasses; ++i)
      of[i] = computeBlockBytes(i);
  }
};
inline constexpr BlockBytes kBlockBytes;

// The smallest size of block for a number of bytes in [1, kMaxBytes].
inline uint32_t findSizeClass(size_t bytes) {
  if (RELAX_LIKELY(bytes <= kFineBytes))
    return static_cast<uint32_t>((bytes - 1) / 64);
  if (bytes > kPlainBytes)
    bytes = bytes <= kPlainBytes + kExtraBytes ? kPlainBytes + 1
                                               : bytes - kExtraBytes;
  size_t last = bytes - 1;
#if defined(__GNUC__)
  uint32_t log = 63 - __builtin_clzll(last);
#else
  uint32_t log = 10;
  while (last >> (log + 1))
    ++log;
#endif
  return kFineClasses + 8 * (log - 10) + ((last >> (log - 3)) & 7);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

// The head of a block. On a host the memory of the block follows it; for other
// devices the head is alone and `data` points to the memory.
struct Block {
  union {
    Pool *pool;  // of a block in use
    Block *next; // of a block in a list
  };
  uint32_t sizeClass;
  uint32_t unused;

  size_t bytes() const { return kBlockBytes.of[sizeClass]; }
  // The memory after the head on a host.
  void *memory() { return this + 1; }
  static Block *of(void *memory) { return static_cast<Block *>(memory) - 1; }
};
static_assert(sizeof(Block) == 16, "the head of a block has 16 bytes");

struct DeviceBlock : Block {
  void *data;
};

// A list of blocks of one size.
struct BlockList {
  Block *head = nullptr;
  uint32_t count = 0;

  void push(Block *block) {
    block->next = head;
    head = block;
    ++count;
  }
  Block *pop() {
    Block *block = head;
    head = block->next;
    --count;
    return block;
  }
};

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

// The blocks that one thread keeps of one pool, and what it has done since it
// last reported to the pool. Only its thread writes; others read the atomics.
struct ThreadCache {
  explicit ThreadCache(Pool *pool) : pool(pool) {}

  // Counts bytes that came into use (or went out of it, where negative).
  // Returns whether it is time to report to the pool.
  bool count(int64_t bytes) {
    int64_t now = inUse.load(std::memory_order_relaxed) + bytes;
    inUse.store(now, std::memory_order_relaxed);
    if (now > most.load(std::memory_order_relaxed))
      most.store(now, std::memory_order_relaxed);
    return now > kTell || now < -kTell;
  }

  void countAllocation() {
    allocations.store(allocations.load(std::memory_order_relaxed) + 1,
                      std::memory_order_relaxed);
  }

  static constexpr int64_t kTell = 256 << 10;
  static constexpr size_t kMostBytes = 8 << 20;
  static constexpr uint32_t kMostBlocks = 128;

  Pool *const pool;
  size_t heldBytes = 0;
  uint64_t epoch = 0;
  std::atomic<int64_t> inUse{0}, most{0}, allocations{0};
  bool isTaken = true; // by a thread
  ThreadCache *next = nullptr;
  std::array<BlockList, kThreadClasses> lists;
};

class Pool {
public:
  explicit Pool(Device &device);
  Pool(const Pool &) = delete;

  // A block of at least so many bytes, with its head. NULL where no memory is
  // left even after all that was kept went back to the system.
  Block *allocate(size_t bytes) noexcept;
  // Any thread may free a block.
  static void free(Block *block) noexcept;

  // Returns what is kept to the system: the shared lists and those of this
  // thread now, those of other threads when they next free a block.
  void release() noexcept;

  relax_memory_statistics statistics() noexcept;
  // The peak starts again from what is in use now.
  void resetPeak() noexcept;
  // The most bytes to hold before blocks go back to the system; -1: by what was
  // in use.
  void setLimit(int64_t bytes) noexcept { limit = bytes; }

  Device &device;

private:
  friend struct ThreadTable;
  struct Shared {
    std::mutex mutex;
    BlockList list;
  };

  static uint32_t nextIndex();
  ThreadCache *findThreadCache() const noexcept;
  ThreadCache *makeThreadCache() noexcept;
  ThreadCache *threadCache() noexcept;
  void give(ThreadCache *cache) noexcept;

  Block *newBlock(uint32_t sizeClass) noexcept;
  void deleteBlock(Block *block) noexcept;
  Block *allocateSlow(uint32_t sizeClass) noexcept;
  Block *allocateFromSystem(uint32_t sizeClass) noexcept;
  void freeSlow(Block *block) noexcept;

  Block *refill(ThreadCache *cache, uint32_t sizeClass) noexcept;
  void spill(ThreadCache &cache, uint32_t sizeClass, uint32_t keep) noexcept;
  void drop(ThreadCache &cache) noexcept;
  void tidy(ThreadCache &cache, uint32_t sizeClass) noexcept;
  int64_t trim(int64_t bytes) noexcept;
  void releaseSystem() noexcept;

  void count(ThreadCache *cache, int64_t bytes) noexcept;
  void tell(ThreadCache &cache) noexcept;
  void tell(int64_t bytes, int64_t most) noexcept;

  const uint32_t index;
  Pool *next = nullptr; // in the list of all pools
  std::atomic<int64_t> limit{-1};
  std::atomic<uint64_t> epoch{0};
  // Apart from what every thread reads.
  alignas(64) std::atomic<int64_t> inUse{0};
  std::atomic<int64_t> held{0}, peak{0}, highest{0}, allocations{0};
  std::atomic<int64_t> systemAllocations{0}, systemReleases{0};
  std::array<Shared, kClasses> shared;
  std::mutex cachesMutex;
  ThreadCache *caches = nullptr; // linked by `next`, never removed
};

// The pool of cpu:0, which also holds the objects that stand for the memory of
// other devices.
Pool &hostPool();

// The first `count` allocations from now succeed, the next one fails, and then
// all succeed again; -1: none fails. Returns what was left of the last one.
int64_t failAfter(int64_t count);

//===----------------------------------------------------------------------===//
// Memory for the runtime itself
//===----------------------------------------------------------------------===//

// Memory of the pool of cpu:0, aligned to 16 bytes; NULL where none is left.
inline void *allocateHost(size_t bytes) noexcept {
  Block *block = hostPool().allocate(sizeof(Block) + bytes);
  return RELAX_LIKELY(block != nullptr) ? block->memory() : nullptr;
}
// Frees it; NULL is fine.
inline void freeHost(void *memory) noexcept {
  if (memory)
    Pool::free(Block::of(memory));
}

// An array that lives in that pool where it is not small. Throws
// std::bad_alloc.
template <typename T, size_t Few> class Scratch {
public:
  explicit Scratch(size_t count) {
    if (RELAX_LIKELY(count <= Few))
      return;
    elements = static_cast<T *>(allocateHost(sizeof(T) * count));
    if (!elements)
      throw std::bad_alloc();
  }
  Scratch(const Scratch &) = delete;
  ~Scratch() {
    if (elements != few)
      freeHost(elements);
  }
  T *data() { return elements; }
  T &operator[](size_t i) { return elements[i]; }

private:
  static_assert(std::is_trivial_v<T>, "elements are not initialized");
  T few[Few];
  T *elements = few;
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_POOL_H
