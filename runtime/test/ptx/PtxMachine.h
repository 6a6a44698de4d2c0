//===- PtxMachine.h - Warps and blocks that run PTX -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What instructions work on: a warp with its register file and local memory, a
// block with its shared memory, and a launch.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_MACHINE_H
#define RELAX_RUNTIME_TEST_PTX_MACHINE_H

#include "PtxMemory.h"
#include "PtxProgram.h"

#include <memory>
#include <string>
#include <vector>

namespace relax_ptx {

// Results of the driver for what a kernel does.
constexpr int kIllegalAddress = 700, kTimeout = 702, kMisaligned = 716,
              kLaunchFailed = 719;

// What went wrong in a kernel, and in which lane; -1 where it is the warp's.
struct Fault {
  int code;
  int lane;
  std::string text;
};
[[noreturn]] void fault(int code, int lane, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

class Machine;

// A copy of cp.async that was not waited for.
struct AsyncCopy {
  uint32_t to, bytes, source;
  uint64_t from;
  uint32_t group; // those that were committed before
  int lane;
};

// A product of wgmma that was not waited for, and what it reads.
struct AsyncProduct {
  struct Chunk {
    uint32_t at;
    uint8_t bytes[16];
  };
  uint32_t group; // those that were committed before
  std::vector<Chunk> chunks;
};

struct Warp {
  Machine *machine = nullptr;
  const Instruction *current = nullptr;
  Word *file = nullptr;       // [slot][lane]
  uint8_t *frames = nullptr;  // [lane][byte]: local memory
  uint8_t *written = nullptr; // of each byte of the frames
  uint32_t first = 0;         // the number of its first thread
  Mask alive = 0;
  Mask waiting = 0; // at a barrier
  Mask parked = 0;  // at an instruction that wants more lanes
  uint32_t pc[kLanes] = {};
  uint32_t stack[kLanes] = {}; // how many calls each is in
  uint8_t barrier[kLanes] = {};
  Mask carry = 0;     // of add.cc
  uint32_t epoch = 1; // see SharedMemory
  uint64_t steps = 0;
  std::vector<uint32_t> returns; // [call][lane]
  std::vector<AsyncCopy> copies;
  uint32_t committed[kLanes] = {};
  std::vector<AsyncProduct> products;
  uint32_t committedProducts = 0;
  bool isFenced = false; // by wgmma.fence

  Mask runnable() const { return alive & ~waiting & ~parked; }
};

struct LaunchSizes {
  uint32_t grid[3], block[3];
  uint32_t sharedBytes; // dynamic
};

// One launch: its blocks run one after the other, and their warps in turn up to
// the next barrier.
class Machine {
public:
  // Memory of other owners, those of other devices, is not accessible.
  Machine(const Module &module, const Function &entry, Memory &memory,
          const void *owner, const LaunchSizes &sizes,
          std::vector<uint8_t> params);
  // Returns the result of the driver, and what went wrong and where.
  int run(std::string &message);

  const Module &module;
  const Function &entry;
  Memory &memory;
  const void *const owner;
  const LaunchSizes sizes;
  const std::vector<uint8_t> params;
  SharedMemory shared;
  // For each instruction with a global address, where it was last.
  std::vector<View> views;
  uint32_t blockNumber = 0;
  uint64_t steps = 0; // instructions of warps
  const bool checksGlobal;

private:
  // Lanes that run together.
  struct Group {
    Mask mask;
    uint32_t pc;
    uint32_t stop; // where other lanes are
  };
  struct Barrier {
    uint32_t arrived = 0;  // by bar.arrive
    uint32_t expected = 0; // 0: all that live
  };

  void makeWarps();
  void fillConstants(Warp &warp, const Function &function);
  void fillSpecials(Warp &warp, const Function &function);
  Word special(const Warp &warp, int which, uint32_t lane) const;
  void startBlock();
  void runBlock();
  void runWarp(Warp &warp);
  bool control(Warp &warp, const Instruction &in, Group &group, Mask active);
  bool branch(Warp &warp, const Instruction &in, Group &group, Mask active);
  void branchIndex(Warp &warp, const Instruction &in, Mask active);
  void call(Warp &warp, const Instruction &in, Mask active, uint32_t pc);
  void giveBack(Warp &warp, Mask active);
  void synchronize(Warp &warp, const Instruction &in, Mask active, uint32_t pc);
  void arrive(Warp &warp, const Instruction &in, Mask active);
  bool releaseBarriers();
  bool isComplete(unsigned id, uint32_t alive) const;
  template <class F> void eachReduction(unsigned id, F f);
  void reduce(unsigned id);
  void release(unsigned id);
  [[noreturn]] void reportDeadlock();
  std::string place(const Fault &fault) const;

  uint32_t blockAt[3] = {0, 0, 0};
  std::vector<Warp> warps;
  std::vector<Word> files;
  std::vector<uint8_t> frames;
  Barrier barriers[16];
  const Warp *running = nullptr;
  const bool reverse;
};

// Called by the machine: what functions without bodies do.
bool isBuiltin(const std::string &name);
void runBuiltin(Warp &warp, const Function &function, Mask mask);

//===----------------------------------------------------------------------===//
// For the handlers of instructions
//===----------------------------------------------------------------------===//

inline Word *lanes(Warp &warp, const Instruction &in, int operand) {
  return warp.file + in.slot[operand];
}

// A predicate is a mask in the first lane of its place.
inline Mask predicate(Warp &warp, const Instruction &in, int operand) {
  Mask mask = Mask(*lanes(warp, in, operand));
  return in.negated >> operand & 1 ? ~mask : mask;
}
inline void setPredicate(Warp &warp, const Instruction &in, int operand,
                         Mask active, Mask value) {
  Word &old = *lanes(warp, in, operand);
  old = (Mask(old) & ~active) | (value & active);
}

template <class F> inline void eachLane(Mask mask, F f) {
  if (mask == kAllLanes) {
    for (int lane = 0; lane < kLanes; ++lane)
      f(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    f(__builtin_ctz(mask));
}

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_MACHINE_H
