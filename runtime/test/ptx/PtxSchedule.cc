//===- PtxSchedule.cc - The order in which lanes run ---------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes that part run at the smallest program counter, so that they meet again
// where their ways join; those in a called function before those in the caller.
//
//===----------------------------------------------------------------------===//

#include "PtxMachine.h"

#include <algorithm>
#include <cstring>

using namespace relax_ptx;

// A warp runs so many instructions before others do, and so many before the
// next barrier at most.
static constexpr uint64_t kTurn = 1 << 20, kMostSteps = uint64_t(1) << 34;

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

static void setPlace(Warp &warp, Mask mask, uint32_t pc) {
  eachLane(mask, [&](int lane) { warp.pc[lane] = pc; });
}

// Those that are deepest in calls, and of them those at the smallest place.
static void choose(const Warp &warp, Mask &mask, uint32_t &pc, uint32_t &stop) {
  uint32_t depth = 0;
  mask = 0;
  pc = stop = kNone;
  Mask runnable = warp.runnable();
  for (Mask i = runnable; i; i &= i - 1)
    depth = std::max(depth, warp.stack[__builtin_ctz(i)]);
  for (Mask i = runnable; i; i &= i - 1) {
    int lane = __builtin_ctz(i);
    if (warp.stack[lane] != depth)
      continue;
    if (warp.pc[lane] < pc) {
      stop = pc;
      pc = warp.pc[lane];
      mask = 0;
    }
    if (warp.pc[lane] == pc)
      mask |= Mask(1) << lane;
    else
      stop = std::min(stop, warp.pc[lane]);
  }
}

void Machine::runWarp(Warp &warp) {
  const Instruction *code = module.code.data();
  const uint64_t end = steps + kTurn;
  while (warp.runnable() && steps < end) {
    Group group;
    choose(warp, group.mask, group.pc, group.stop);
    for (;;) {
      const Instruction &in = code[group.pc];
      Mask active = group.mask;
      if (in.guard != kNone) {
        Mask guard = Mask(warp.file[in.guard]);
        active &= in.guardNot ? ~guard : guard;
      }
      warp.current = &in;
      ++steps;
      if (in.flow == Flow::Next) {
        if (active)
          in.run(warp, in, active);
        if (++group.pc < group.stop)
          continue;
        setPlace(warp, group.mask, group.pc);
        break;
      }
      if (!control(warp, in, group, active) || steps >= end)
        break;
    }
  }
  warp.steps += kTurn - (end - steps);
  if (warp.steps > kMostSteps)
    fault(kTimeout, -1, "it does not end");
}

// Those that wait for lanes look again whom they wait for.
static void end(Warp &warp, Mask active) {
  warp.alive &= ~active;
  if (!warp.alive && !warp.products.empty())
    fault(kLaunchFailed, -1, "it ends before a wait for its wgmma");
  warp.parked = 0;
}

// Returns whether the group goes on as it is; its places are set otherwise.
bool Machine::control(Warp &warp, const Instruction &in, Group &group,
                      Mask active) {
  if (in.flow == Flow::Branch)
    return branch(warp, in, group, active);
  setPlace(warp, group.mask, group.pc + 1);
  if (!active)
    return false;
  switch (in.flow) {
  case Flow::BranchIndex:
    branchIndex(warp, in, active);
    break;
  case Flow::Call:
    call(warp, in, active, group.pc);
    break;
  case Flow::Return:
    giveBack(warp, active);
    break;
  case Flow::Exit:
    end(warp, active);
    break;
  case Flow::Sync:
    synchronize(warp, in, active, group.pc);
    break;
  default:
    arrive(warp, in, active);
    break;
  }
  return false;
}

bool Machine::branch(Warp &warp, const Instruction &in, Group &group,
                     Mask active) {
  if (active == group.mask || !active) {
    uint32_t next = active ? in.target : group.pc + 1;
    setPlace(warp, group.mask, next);
    group.pc = next;
    return next < group.stop;
  }
  setPlace(warp, group.mask & ~active, group.pc + 1);
  setPlace(warp, active, in.target);
  return false;
}

void Machine::branchIndex(Warp &warp, const Instruction &in, Mask active) {
  const std::vector<uint32_t> &targets = module.branches[in.target];
  eachLane(active, [&](int lane) {
    Word index = lanes(warp, in, 0)[lane];
    if (index >= targets.size())
      fault(kLaunchFailed, lane, "%llu is past the %zu labels",
            (unsigned long long)index, targets.size());
    warp.pc[lane] = targets[index];
  });
}

void Machine::call(Warp &warp, const Instruction &in, Mask active,
                   uint32_t pc) {
  const Function &callee = module.functions[in.target];
  if (!callee.hasBody) {
    runBuiltin(warp, callee, active);
    return;
  }
  eachLane(active, [&](int lane) {
    uint32_t depth = warp.stack[lane]++;
    warp.returns[depth * kLanes + lane] = pc + 1;
    warp.pc[lane] = callee.begin;
  });
}

void Machine::giveBack(Warp &warp, Mask active) {
  eachLane(active, [&](int lane) {
    if (warp.stack[lane] == 0)
      end(warp, Mask(1) << lane);
    else
      warp.pc[lane] = warp.returns[--warp.stack[lane] * kLanes + lane];
  });
}

// Lanes that an instruction names wait for each other, and run it together.
void Machine::synchronize(Warp &warp, const Instruction &in, Mask active,
                          uint32_t pc) {
  setPlace(warp, active, pc);
  warp.parked |= active;
  Mask left = active;
  while (left) {
    int first = __builtin_ctz(left);
    Mask members = warp.alive;
    if (!(in.flags & kAligned))
      members &= Mask(warp.file[in.slot[in.vector] + first]);
    if (!(members >> first & 1))
      fault(kLaunchFailed, first, "the lane is not in its own mask");
    Mask here = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      if (warp.parked >> lane & 1 && warp.pc[lane] == pc)
        here |= Mask(1) << lane;
    left &= ~members;
    if ((here & members) != members)
      continue;
    warp.parked &= ~members;
    in.run(warp, in, members);
    setPlace(warp, members, pc + 1);
  }
  if (!warp.runnable() && warp.parked && !warp.waiting)
    fault(kLaunchFailed, __builtin_ctz(warp.parked),
          "lanes 0x%08x wait for others that never come", warp.parked);
}

void Machine::arrive(Warp &warp, const Instruction &in, Mask active) {
  int first = __builtin_ctz(active);
  Word id = lanes(warp, in, in.vector)[first];
  Word expected = in.flags & kAll ? 0 : lanes(warp, in, in.vector + 1)[first];
  if (id >= 16 || expected % kLanes)
    fault(kLaunchFailed, first, "barrier %llu for %llu threads",
          (unsigned long long)id, (unsigned long long)expected);
  Barrier &barrier = barriers[id];
  barrier.expected = static_cast<uint32_t>(expected);
  if (in.flow == Flow::Arrive) {
    barrier.arrived += active == warp.alive
                           ? kLanes
                           : static_cast<uint32_t>(__builtin_popcount(active));
    return;
  }
  warp.waiting |= active;
  eachLane(active,
           [&](int lane) { warp.barrier[lane] = static_cast<uint8_t>(id); });
}

//===----------------------------------------------------------------------===//
// Functions of CUDA
//===----------------------------------------------------------------------===//

bool relax_ptx::isBuiltin(const std::string &name) {
  return name == "__assertfail" || name == "vprintf";
}

// Text that a kernel prints goes nowhere, and has no length.
static void returnZeros(Warp &warp, const Function &function, Mask mask) {
  size_t frame = warp.machine->entry.allFrameBytes;
  eachLane(mask, [&](int lane) {
    for (const Param &result : function.results) {
      size_t place = lane * frame + function.frameBase + result.offset;
      std::memset(warp.frames + place, 0, result.bytes);
      std::memset(warp.written + place, 1, result.bytes);
    }
  });
}

void relax_ptx::runBuiltin(Warp &warp, const Function &function, Mask mask) {
  if (function.name != "__assertfail")
    return returnZeros(warp, function, mask);
  int lane = __builtin_ctz(mask);
  uint64_t address;
  std::memcpy(&address,
              warp.frames + lane * warp.machine->entry.allFrameBytes +
                  function.frameBase + function.params[0].offset,
              sizeof(address));
  std::string text;
  for (;; ++address) {
    Allocation *found = warp.machine->memory.find(address, 1);
    char c = found ? static_cast<char>(found->host[address - found->begin]) : 0;
    if (!c || text.size() == 200)
      break;
    text += c;
  }
  fault(kLaunchFailed, lane, "an assertion failed: %s", text.c_str());
}
