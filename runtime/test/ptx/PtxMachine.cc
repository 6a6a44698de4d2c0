//===- PtxMachine.cc - Warps and blocks that run PTX ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches and blocks: warps run in turn up to the next barrier.
//
//===----------------------------------------------------------------------===//

#include "PtxMachine.h"
#include "PtxParser.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

using namespace relax_ptx;

void relax_ptx::fault(int code, int lane, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  throw Fault{code, lane, text};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static bool isReverse() {
  const char *order = std::getenv("RELAX_PTX_ORDER");
  return order && !std::strcmp(order, "reverse");
}

Machine::Machine(const Module &module, const Function &entry, Memory &memory,
                 const void *owner, const LaunchSizes &sizes,
                 std::vector<uint8_t> params)
    : module(module), entry(entry), memory(memory), owner(owner), sizes(sizes),
      params(std::move(params)), views(module.numViews),
      checksGlobal(isChecked("global")), reverse(isReverse()) {
  shared.resize(entry.sharedBytes + sizes.sharedBytes);
}

Word Machine::special(const Warp &warp, int which, uint32_t lane) const {
  uint32_t thread = warp.first + lane;
  const uint32_t *block = sizes.block;
  switch (which) {
  case kThreadX:
    return thread % block[0];
  case kThreadX + 1:
    return thread / block[0] % block[1];
  case kThreadX + 2:
    return thread / block[0] / block[1];
  case kLane:
    return lane;
  case kWarp:
    return warp.first / kLanes;
  case kWarpSize:
    return kLanes;
  case kWarps:
    return warps.size();
  case kMaskEq:
    return Mask(1) << lane;
  case kMaskLt:
    return (Mask(1) << lane) - 1;
  case kMaskLe:
    return Mask((Word(2) << lane) - 1);
  case kMaskGt:
    return Mask(~((Word(2) << lane) - 1));
  case kMaskGe:
    return Mask(~((Word(1) << lane) - 1));
  case kDynamicShared:
    return sizes.sharedBytes;
  case kTotalShared:
    return shared.size();
  case kClock:
    return Mask(steps);
  case kClock64:
    return steps;
  default:
    break;
  }
  if (which >= kBlocksX && which < kBlocksX + 3)
    return sizes.grid[which - kBlocksX];
  if (which >= kBlockX && which < kBlockX + 3)
    return blockAt[which - kBlockX];
  if (which >= kThreadsX && which < kThreadsX + 3)
    return sizes.block[which - kThreadsX];
  return 0;
}

void Machine::fillConstants(Warp &warp, const Function &function) {
  for (const Constant &constant : function.constants) {
    Word value = constant.value;
    if (constant.base == Base::Shared)
      value += static_cast<Word>(entry.sharedPlaces[constant.index]);
    else if (constant.base == Base::Global)
      value += module.globals[constant.index].address;
    else if (constant.base == Base::Frame)
      value += function.frameBase;
    Word *lanes = warp.file + function.fileBase + constant.slot;
    std::fill(lanes, lanes + kLanes, value);
  }
}

void Machine::fillSpecials(Warp &warp, const Function &function) {
  for (const Special &special : function.specials)
    for (int lane = 0; lane < kLanes; ++lane)
      warp.file[function.fileBase + special.slot + lane] =
          this->special(warp, special.which, lane);
}

void Machine::makeWarps() {
  uint32_t threads = sizes.block[0] * sizes.block[1] * sizes.block[2];
  warps.resize((threads + kLanes - 1) / kLanes);
  files.resize(warps.size() * entry.allWords);
  size_t frame = size_t(entry.allFrameBytes) * kLanes;
  frames.resize(warps.size() * frame * 2);
  for (size_t i = 0; i < warps.size(); ++i) {
    Warp &warp = warps[i];
    warp.machine = this;
    warp.file = files.data() + i * entry.allWords;
    warp.frames = frames.data() + i * frame;
    warp.written = frames.data() + (warps.size() + i) * frame;
    warp.first = static_cast<uint32_t>(i) * kLanes;
    warp.returns.resize(module.functions.size() * kLanes);
    for (int index : entry.reached)
      fillConstants(warp, module.functions[index]);
  }
}

void Machine::startBlock() {
  uint32_t threads = sizes.block[0] * sizes.block[1] * sizes.block[2];
  shared.startBlock();
  std::fill(frames.begin(), frames.begin() + frames.size() / 2, 0xff);
  std::fill(frames.begin() + frames.size() / 2, frames.end(), 0);
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  for (Warp &warp : warps) {
    uint32_t count = std::min<uint32_t>(threads - warp.first, kLanes);
    warp.alive = count == kLanes ? kAllLanes : (Mask(1) << count) - 1;
    warp.waiting = warp.parked = 0;
    warp.steps = 0;
    std::fill(warp.pc, warp.pc + kLanes, entry.begin);
    std::fill(warp.stack, warp.stack + kLanes, 0);
    std::fill(warp.committed, warp.committed + kLanes, 0);
    warp.copies.clear();
    warp.products.clear();
    warp.committedProducts = 0;
    warp.isFenced = false;
    for (int index : entry.reached)
      fillSpecials(warp, module.functions[index]);
  }
}

int Machine::run(std::string &message) {
  ++memory.launches;
  makeWarps();
  try {
    uint32_t *at = blockAt;
    for (at[2] = 0; at[2] < sizes.grid[2]; ++at[2])
      for (at[1] = 0; at[1] < sizes.grid[1]; ++at[1])
        for (at[0] = 0; at[0] < sizes.grid[0]; ++at[0], ++blockNumber) {
          startBlock();
          runBlock();
        }
  } catch (const Fault &fault) {
    message = place(fault);
    return fault.code;
  }
  return 0;
}

// kernel 'f', block (1, 0, 0), thread (3, 0, 0), line 7: the text: what
std::string Machine::place(const Fault &fault) const {
  auto three = [](uint32_t x, uint32_t y, uint32_t z) {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " +
           std::to_string(z) + ")";
  };
  std::string text = "kernel '" + entry.name + "', block " +
                     three(blockAt[0], blockAt[1], blockAt[2]);
  if (running) {
    uint32_t lane = fault.lane < 0 ? 0 : static_cast<uint32_t>(fault.lane);
    auto at = [&](int i) {
      return static_cast<uint32_t>(special(*running, kThreadX + i, lane));
    };
    text += fault.lane < 0 ? ", warp of thread " : ", thread ";
    text += three(at(0), at(1), at(2));
    if (running->current) {
      uint32_t line = running->current->line;
      text += ", line " + std::to_string(line) + ": " + module.lineText(line);
    }
  }
  return text + ": " + fault.text;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Machine::runBlock() {
  for (;;) {
    bool ran = false;
    Mask alive = 0;
    for (size_t i = 0; i < warps.size(); ++i) {
      Warp &warp = warps[reverse ? warps.size() - 1 - i : i];
      if (warp.runnable()) {
        running = &warp;
        runWarp(warp);
        ran = true;
      }
      alive |= warp.alive;
    }
    if (!alive)
      return;
    if (!releaseBarriers() && !ran)
      reportDeadlock();
  }
}

// Whole warps count as 32 threads where a barrier counts.
bool Machine::isComplete(unsigned id, uint32_t alive) const {
  uint32_t arrived = barriers[id].arrived, whole = arrived;
  for (const Warp &warp : warps) {
    Mask here = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      if (warp.waiting >> lane & 1 && warp.barrier[lane] == id)
        here |= Mask(1) << lane;
    uint32_t count = static_cast<uint32_t>(__builtin_popcount(here));
    arrived += count;
    whole += here && here == warp.alive ? kLanes : count;
  }
  if (arrived == 0)
    return false;
  return barriers[id].expected ? whole >= barriers[id].expected
                               : arrived >= alive;
}

// Calls f with the lanes that wait at a barrier to reduce predicates.
template <class F> void Machine::eachReduction(unsigned id, F f) {
  for (Warp &warp : warps)
    eachLane(warp.waiting, [&](int lane) {
      const Instruction &in = module.code[warp.pc[lane] - 1];
      if (warp.barrier[lane] == id && in.mode != kNoReduction)
        f(warp, in, lane);
    });
}

void Machine::reduce(unsigned id) {
  uint32_t all = 0, yes = 0;
  eachReduction(id, [&](Warp &warp, const Instruction &in, int lane) {
    ++all;
    yes += predicate(warp, in, 3) >> lane & 1;
  });
  eachReduction(id, [&](Warp &warp, const Instruction &in, int lane) {
    bool result = in.mode == kAllTrue ? yes == all : yes != 0;
    if (in.mode == kCountTrue)
      lanes(warp, in, 0)[lane] = yes;
    else
      setPredicate(warp, in, 0, Mask(1) << lane, result ? kAllLanes : 0);
  });
}

void Machine::release(unsigned id) {
  reduce(id);
  for (Warp &warp : warps) {
    uint32_t pc = kNone;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!(warp.waiting >> lane & 1) || warp.barrier[lane] != id)
        continue;
      warp.waiting &= ~(Mask(1) << lane);
      running = &warp;
      const Instruction &in = module.code[warp.pc[lane] - 1];
      if (pc != kNone && pc != warp.pc[lane] && in.flags & kAligned)
        fault(kLaunchFailed, lane,
              "lanes of a warp wait at different barriers, those of lines %u "
              "and %u",
              module.code[pc - 1].line, in.line);
      pc = warp.pc[lane];
    }
  }
  barriers[id] = Barrier();
  shared.endEpoch();
}

bool Machine::releaseBarriers() {
  uint32_t alive = 0;
  unsigned used = 0;
  for (const Warp &warp : warps) {
    alive += static_cast<uint32_t>(__builtin_popcount(warp.alive));
    if (warp.waiting)
      eachLane(warp.waiting,
               [&](int lane) { used |= 1u << warp.barrier[lane]; });
  }
  bool released = false;
  for (unsigned id = 0; id < 16; ++id)
    if (used >> id & 1 && isComplete(id, alive)) {
      release(id);
      released = true;
    }
  return released;
}

void Machine::reportDeadlock() {
  std::string text = "threads wait for ever:";
  for (const Warp &warp : warps)
    for (int lane = 0; lane < kLanes; ++lane) {
      Mask bit = Mask(1) << lane;
      if (!(warp.alive & bit))
        continue;
      running = &warp;
      bool isParked = warp.parked & bit;
      uint32_t line = module.code[warp.pc[lane] - (isParked ? 0 : 1)].line;
      std::string more = " thread " + std::to_string(warp.first + lane) +
                         " at line " + std::to_string(line) + ",";
      if (text.find(" at line " + std::to_string(line) + ",") ==
          std::string::npos)
        text += more;
    }
  text.back() = '.';
  const_cast<Warp *>(running)->current = nullptr;
  throw Fault{kLaunchFailed, -1, text};
}
