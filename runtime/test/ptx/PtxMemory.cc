//===- PtxMemory.cc - Memory that watches its users -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocations with bounds, and the stamps of shared memory.
//
//===----------------------------------------------------------------------===//

#include "PtxMemory.h"
#include "PtxMachine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace relax_ptx;

bool relax_ptx::isChecked(const char *word) {
  const char *words = std::getenv("RELAX_PTX_CHECK");
  return words &&
         (std::string(",") + words + ",").find(std::string(",") + word + ",") !=
             std::string::npos;
}

//===----------------------------------------------------------------------===//
// Bytes of allocations
//===----------------------------------------------------------------------===//

static constexpr size_t kPiece = size_t(4) << 20;
static constexpr uint8_t kNaN = 0xff;

// A file of one piece full of NaN.
static int nanFile() {
  static const int file = [] {
    int result = memfd_create("relax_ptx_nan", 0);
    std::vector<uint8_t> nan(kPiece, kNaN);
    if (result >= 0 && write(result, nan.data(), kPiece) != ssize_t(kPiece))
      return -1;
    return result;
  }();
  return file;
}

static size_t mappedBytes(size_t bytes) {
  return (bytes + kPiece - 1) / kPiece * kPiece;
}

// Maps the file again and again: pages cost memory when they are written only,
// so tests may allocate more than the host has.
static uint8_t *mapNaN(size_t bytes) {
  size_t whole = mappedBytes(bytes);
  void *place =
      mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED || nanFile() < 0)
    return nullptr;
  uint8_t *result = static_cast<uint8_t *>(place);
  for (size_t i = 0; i < whole; i += kPiece)
    if (mmap(result + i, kPiece, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED, nanFile(), 0) == MAP_FAILED) {
      munmap(place, whole);
      return nullptr;
    }
  return result;
}

static uint8_t *makeBytes(size_t bytes) {
  if (bytes >= 2 * kPiece)
    return mapNaN(bytes);
  void *result = std::malloc(bytes + 1);
  return result ? static_cast<uint8_t *>(std::memset(result, kNaN, bytes + 1))
                : nullptr;
}

static void freeBytes(uint8_t *host, size_t bytes) {
  if (bytes >= 2 * kPiece)
    munmap(host, mappedBytes(bytes));
  else
    std::free(host);
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

// At least so many bytes are between two allocations.
static constexpr uint64_t kRedZone = 4096;
static constexpr uint64_t kAlignment = 512;
static constexpr size_t kMostReleased = 4096;
// What is so far from an allocation has nothing to do with it.
static constexpr uint64_t kFar = uint64_t(1) << 32;

uint64_t Memory::allocate(size_t bytes, const void *owner) {
  uint8_t *host = makeBytes(bytes);
  if (!host)
    return 0;
  Allocation allocation;
  allocation.begin = next | kGlobalTag;
  allocation.bytes = bytes;
  allocation.host = host;
  allocation.owner = owner;
  next += (bytes + kAlignment - 1) / kAlignment * kAlignment + kRedZone;
  uint64_t begin = allocation.begin;
  live.emplace(begin, std::move(allocation));
  return begin;
}

bool Memory::release(uint64_t address) {
  auto found = live.find(address);
  if (found == live.end())
    return false;
  freeBytes(found->second.host, found->second.bytes);
  released.push_back({address, found->second.bytes});
  if (released.size() > kMostReleased)
    released.pop_front();
  live.erase(found);
  return true;
}

Allocation *Memory::find(uint64_t address, size_t bytes) {
  auto after = live.upper_bound(address);
  if (after == live.begin())
    return nullptr;
  Allocation &allocation = std::prev(after)->second;
  uint64_t offset = address - allocation.begin;
  bool inside =
      offset <= allocation.bytes && bytes <= allocation.bytes - offset;
  return inside ? &allocation : nullptr;
}

std::string Memory::describe(uint64_t address) const {
  char text[160];
  for (const Released &old : released)
    if (address - old.begin < old.bytes) {
      std::snprintf(text, sizeof(text),
                    "byte %llu of an allocation of %zu bytes that was released",
                    (unsigned long long)(address - old.begin), old.bytes);
      return text;
    }
  auto after = live.upper_bound(address);
  uint64_t past = kFar, before = kFar;
  if (after != live.begin())
    past = address - std::prev(after)->first;
  if (after != live.end())
    before = after->first - address;
  uint64_t bytes = past < kFar ? std::prev(after)->second.bytes : 0;
  if (past < kFar && (past < bytes || past - bytes <= before)) {
    std::snprintf(text, sizeof(text), "byte %llu of an allocation of %llu",
                  (unsigned long long)past, (unsigned long long)bytes);
    return text;
  }
  if (before < kFar) {
    std::snprintf(text, sizeof(text), "%llu bytes before an allocation of %zu",
                  (unsigned long long)before, after->second.bytes);
    return text;
  }
  return "far from any allocation";
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

// A stamp: epoch, epoch of the warp (18 bits), flags, thread (10 bits).
static constexpr uint64_t kByAtomic = 1 << 13, kPending = 1 << 12,
                          kManyWarps = 1 << 11, kManyLanes = 1 << 10;
static constexpr uint64_t kThread = (1 << 10) - 1;
static constexpr uint64_t kWarpEpoch = uint64_t((1 << 18) - 1) << 14;

void SharedMemory::resize(size_t size) {
  bytes.assign(size, kNaN);
  words.assign((size + 3) / 4, Cell());
}

void SharedMemory::startBlock() {
  std::fill(bytes.begin(), bytes.end(), kNaN);
  firstEpoch = ++epoch;
  if (anySplit)
    isSplit.assign(words.size(), false);
  anySplit = false;
}

uint64_t SharedMemory::stamp(Thread thread) const {
  return epoch << 32 | (uint64_t(thread.warpEpoch) << 14 & kWarpEpoch) |
         thread.number;
}

// Whether uses that a stamp stands for may be at the time of mine.
inline bool SharedMemory::conflicts(uint64_t stamp, uint64_t mine) const {
  if (stamp < epoch << 32)
    return false;
  if (stamp & kManyWarps)
    return true;
  if ((stamp ^ mine) & kThread & ~uint64_t(kLanes - 1))
    return true;
  return !((stamp ^ mine) & kWarpEpoch) &&
         (stamp & kManyLanes || (stamp ^ mine) & kThread);
}

void SharedMemory::reportRace(uint32_t at, Thread thread, const char *does,
                              uint64_t other, const char *did) const {
  if (other & kManyWarps)
    fault(kLaunchFailed, thread.lane,
          "a race at byte %u of shared memory: it %s what other threads %s", at,
          does, did);
  fault(kLaunchFailed, thread.lane,
        "a race at byte %u of shared memory: it %s what thread %u %s, without "
        "a barrier between",
        at, does, unsigned(other & kThread), did);
}

inline void SharedMemory::noteRead(Cell &cell, uint64_t mine, uint32_t at,
                                   Thread thread, bool atomic) {
  if (cell.write < firstEpoch << 32) {
    static const bool isAllowed = isChecked("unwritten-ok");
    if (!isAllowed)
      fault(kLaunchFailed, thread.lane,
            "byte %u of shared memory is read but was never written", at);
  }
  if (cell.write & kPending)
    fault(kLaunchFailed, thread.lane,
          "byte %u of shared memory is read before a wait for the cp.async "
          "that writes it",
          at);
  if (conflicts(cell.write, mine) && !(atomic && cell.write & kByAtomic))
    reportRace(at, thread, "reads", cell.write, "wrote");
  uint64_t &read = cell.read;
  if (read < epoch << 32)
    read = mine;
  else if ((read ^ mine) & kThread & ~uint64_t(kLanes - 1))
    read |= kManyWarps;
  else if ((read ^ mine) & kWarpEpoch)
    read = mine | (read & kManyWarps);
  else if ((read ^ mine) & kThread)
    read |= kManyLanes;
}

inline void SharedMemory::noteWrite(Cell &cell, uint64_t mine, uint32_t at,
                                    Thread thread, bool atomic, bool isSame) {
  if (cell.write & kPending && cell.write >= firstEpoch << 32)
    fault(kLaunchFailed, thread.lane,
          "byte %u of shared memory is written before a wait for the cp.async "
          "that writes it",
          at);
  if (!isSame) {
    if (conflicts(cell.write, mine) && !(atomic && cell.write & kByAtomic))
      reportRace(at, thread, "writes", cell.write, "wrote");
    if (conflicts(cell.read, mine) && !atomic)
      reportRace(at, thread, "writes", cell.read, "read");
  }
  cell.write = atomic ? mine | kByAtomic : mine;
}

// Gives the bytes of a word stamps of their own.
void SharedMemory::split(uint32_t word) {
  if (!anySplit) {
    parts.resize(words.size() * 4);
    isSplit.assign(words.size(), false);
    anySplit = true;
  }
  isSplit[word] = true;
  for (int i = 0; i < 4; ++i)
    parts[word * 4 + i] = words[word];
}

// Calls f with the cells of bytes that are in bounds and aligned.
template <class F>
inline void SharedMemory::eachCell(uint32_t at, uint32_t count, Thread thread,
                                   F f) {
  if (at + uint64_t(count) > bytes.size())
    fault(kIllegalAddress, thread.lane,
          "%u bytes at byte %u of shared memory, which has %zu", count, at,
          bytes.size());
  if (at & (count - 1))
    fault(kMisaligned, thread.lane,
          "%u bytes at byte %u of shared memory, which is not a multiple",
          count, at);
  if (count < 4 && !(anySplit && isSplit[at / 4]))
    split(at / 4);
  for (uint32_t i = at, end = at + count; i < end;) {
    if (anySplit && isSplit[i / 4]) {
      f(parts[i], i, 1);
      ++i;
    } else {
      f(words[i / 4], i, 4);
      i += 4;
    }
  }
}

uint8_t *SharedMemory::read(uint32_t at, uint32_t count, Thread thread,
                            bool atomic) {
  uint64_t mine = stamp(thread);
  eachCell(at, count, thread, [&](Cell &cell, uint32_t i, uint32_t) {
    noteRead(cell, mine, i, thread, atomic);
  });
  return &bytes[at];
}

uint8_t *SharedMemory::write(uint32_t at, uint32_t count, const void *data,
                             Thread thread, bool atomic) {
  uint64_t mine = stamp(thread);
  const uint8_t *from = static_cast<const uint8_t *>(data);
  eachCell(at, count, thread, [&](Cell &cell, uint32_t i, uint32_t size) {
    bool isSame = cell.write >= firstEpoch << 32 &&
                  !std::memcmp(&bytes[i], from + (i - at), size);
    noteWrite(cell, mine, i, thread, atomic, isSame);
  });
  std::memcpy(&bytes[at], data, count);
  return &bytes[at];
}

uint8_t *SharedMemory::update(uint32_t at, uint32_t count, Thread thread) {
  uint64_t mine = stamp(thread);
  eachCell(at, count, thread, [&](Cell &cell, uint32_t i, uint32_t) {
    uint64_t read = cell.read;
    noteRead(cell, mine, i, thread, true);
    cell.read = read; // an atomic read is in order with atomic writes
    if (conflicts(cell.read, mine))
      reportRace(i, thread, "updates", cell.read, "read");
    noteWrite(cell, mine, i, thread, true, false);
  });
  return &bytes[at];
}

void SharedMemory::expect(uint32_t at, uint32_t count, Thread thread) {
  uint64_t mine = stamp(thread);
  eachCell(at, count, thread, [&](Cell &cell, uint32_t i, uint32_t) {
    noteWrite(cell, mine, i, thread, false, false);
    cell.write |= kPending;
  });
}

void SharedMemory::arrive(uint32_t at, uint32_t count, const void *data,
                          Thread thread) {
  uint64_t mine = stamp(thread);
  eachCell(at, count, thread,
           [&](Cell &cell, uint32_t, uint32_t) { cell.write = mine; });
  std::memcpy(&bytes[at], data, count);
}

void SharedMemory::fence(Thread thread) {
  if (thread.number >= fences.size())
    fences.resize(thread.number + 1);
  fences[thread.number] = epoch;
}

const uint8_t *SharedMemory::readAsync(uint32_t at, uint32_t count,
                                       Thread thread) {
  uint64_t mine = stamp(thread);
  eachCell(at, count, thread, [&](Cell &cell, uint32_t i, uint32_t) {
    noteRead(cell, mine, i, thread, /*atomic=*/false);
    uint64_t writer = cell.write & kThread;
    if (writer >= fences.size() || fences[writer] < cell.write >> 32)
      fault(kLaunchFailed, thread.lane,
            "byte %u of shared memory is read by wgmma, but thread %u has no "
            "fence.proxy.async after it wrote it",
            i, unsigned(writer));
  });
  return &bytes[at];
}

bool SharedMemory::isUntouched(uint32_t at, uint32_t count,
                               const void *data) const {
  for (uint32_t i = at; i < at + count; i += 4) {
    bool isPart = anySplit && isSplit[i / 4];
    const Cell &cell = isPart ? parts[i] : words[i / 4];
    if (cell.write & kPending && cell.write >= firstEpoch << 32)
      return false;
  }
  return !std::memcmp(&bytes[at], data, count);
}
