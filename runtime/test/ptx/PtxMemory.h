//===- PtxMemory.h - Memory that watches its users --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of devices, and the shared memory of a block.
//
// Addresses of devices are never given twice and lie apart, so accesses past
// an allocation or after its release are in none. The bytes are elsewhere, and
// start as those of a NaN.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_MEMORY_H
#define RELAX_RUNTIME_TEST_PTX_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace relax_ptx {

// Who used a byte of global memory, where that is checked: a launch in the
// upper half, a block below.
struct GlobalCell {
  uint64_t write = 0, read = 0;
};

struct Allocation {
  uint64_t begin = 0;
  size_t bytes = 0;
  uint8_t *host = nullptr;
  const void *owner = nullptr;
  std::vector<GlobalCell> cells;
};

// A part of memory that was found before.
struct View {
  uint64_t begin = 0, bytes = 0;
  uint8_t *host = nullptr;
  Allocation *allocation = nullptr;
};

class Memory {
public:
  // Returns 0 where the host has no memory.
  uint64_t allocate(size_t bytes, const void *owner);
  bool release(uint64_t address);
  // NULL where the bytes are not in one allocation.
  Allocation *find(uint64_t address, size_t bytes);
  // Says what is at an address that is in no allocation.
  std::string describe(uint64_t address) const;

  uint64_t launches = 0; // so far

private:
  struct Released {
    uint64_t begin;
    size_t bytes;
  };
  std::map<uint64_t, Allocation> live;
  std::deque<Released> released;
  uint64_t next = 1 << 20;
};

// The shared memory of a block. Two threads race where they use a byte in one
// epoch, which ends at a barrier, and one writes; threads of one warp are in
// order also by barriers of the warp.
//
// Each word has two stamps, of its last write and its reads: the epoch, the
// epoch of the warp, a thread, and flags. Words that are used in parts have
// stamps for each byte instead.
class SharedMemory {
public:
  struct Thread {
    uint32_t number;
    uint32_t warpEpoch;
    int lane;
  };

  void resize(size_t bytes);
  size_t size() const { return bytes.size(); }
  // Values of the block before are unwritten again.
  void startBlock();
  void endEpoch() { ++epoch; }

  uint8_t *read(uint32_t at, uint32_t count, Thread thread, bool atomic);
  // Writes of what is there already do not race.
  uint8_t *write(uint32_t at, uint32_t count, const void *data, Thread thread,
                 bool atomic);
  // A read and a write that no other atomic access parts.
  uint8_t *update(uint32_t at, uint32_t count, Thread thread);
  // Marks what cp.async will write, until it does.
  void expect(uint32_t at, uint32_t count, Thread thread);
  void arrive(uint32_t at, uint32_t count, const void *data, Thread thread);
  // fence.proxy.async: tensor cores see what the thread wrote before.
  void fence(Thread thread);
  // A read of tensor cores.
  const uint8_t *readAsync(uint32_t at, uint32_t count, Thread thread);
  // Whether bytes that were read are the same, and nothing will write them.
  bool isUntouched(uint32_t at, uint32_t count, const void *data) const;

private:
  struct Cell {
    uint64_t write = 0, read = 0;
  };
  template <class F>
  void eachCell(uint32_t at, uint32_t count, Thread thread, F f);
  void split(uint32_t word);
  uint64_t stamp(Thread thread) const;
  bool conflicts(uint64_t stamp, uint64_t mine) const;
  void noteRead(Cell &cell, uint64_t mine, uint32_t at, Thread thread,
                bool atomic);
  void noteWrite(Cell &cell, uint64_t mine, uint32_t at, Thread thread,
                 bool atomic, bool isSame);
  [[noreturn]] void reportRace(uint32_t at, Thread thread, const char *does,
                               uint64_t other, const char *did) const;

  std::vector<uint8_t> bytes;
  std::vector<Cell> words, parts;
  std::vector<bool> isSplit;
  bool anySplit = false;
  uint64_t epoch = 1, firstEpoch = 1;
  std::vector<uint64_t> fences; // of each thread, the epoch of the last one
};

// Whether RELAX_PTX_CHECK has a word.
bool isChecked(const char *word);

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_MEMORY_H
