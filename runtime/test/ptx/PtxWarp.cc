//===- PtxWarp.cc - Lanes among themselves, and control ------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shuffles, votes and reductions of a warp, branches and barriers. What names
// the lanes that take part runs when all of them are there: see
// Machine::synchronize.
//
//===----------------------------------------------------------------------===//

#include "PtxFormats.h"
#include "PtxMachine.h"

#include <algorithm>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

namespace {
enum Shuffle : uint8_t { kUpwards, kDownwards, kButterfly, kIndex };
} // namespace

// The lane that one reads, as PTX has it; false where it is out of its segment.
static bool sourceLane(uint8_t mode, int lane, uint32_t b, uint32_t c,
                       int &source) {
  int segment = c >> 8 & 31, clamp = c & 31, by = b & 31;
  int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  switch (mode) {
  case kUpwards:
    source = lane - by;
    return source >= last;
  case kDownwards:
    source = lane + by;
    return source <= last;
  case kButterfly:
    source = lane ^ by;
    return source <= last;
  default:
    source = first | (by & ~segment);
    return source <= last;
  }
}

static void shuffle(Warp &warp, const Instruction &in, Mask mask) {
  const Word *a = lanes(warp, in, 2), *b = lanes(warp, in, 3),
             *c = lanes(warp, in, 4);
  Word result[kLanes];
  Mask inside = 0;
  eachLane(mask, [&](int i) {
    int source;
    if (sourceLane(in.mode, i, uint32_t(b[i]), uint32_t(c[i]), source))
      inside |= Mask(1) << i;
    else
      source = i;
    if (!(mask >> source & 1))
      fault(kLaunchFailed, i, "it reads lane %d, which does not take part",
            source);
    result[i] = a[source];
  });
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [&](int i) { to[i] = result[i]; });
  if (in.slot[1] != kNone)
    setPredicate(warp, in, 1, mask, inside);
}

// In `vector`, instructions of lanes that wait for each other have the number
// of the operand with their mask.
template <uint8_t kMode>
static Handler pickShuffle(const Name &name, Instruction &in) {
  in.mode = kMode;
  in.vector = 5;
  return bitsOf(name.type()) == 32 ? shuffle : nullptr;
}

//===----------------------------------------------------------------------===//
// Votes, matches and reductions
//===----------------------------------------------------------------------===//

namespace {
enum Vote : uint8_t { kAllOf, kAnyOf, kUniform };
} // namespace

static void vote(Warp &warp, const Instruction &in, Mask mask) {
  Mask yes = predicate(warp, in, 1) & mask;
  bool result = in.mode == kAllOf   ? yes == mask
                : in.mode == kAnyOf ? yes != 0
                                    : yes == mask || yes == 0;
  setPredicate(warp, in, 0, mask, result ? kAllLanes : 0);
}
template <uint8_t kMode>
static Handler pickVote(const Name &, Instruction &in) {
  in.mode = kMode;
  in.vector = 2;
  return vote;
}

static void ballot(Warp &warp, const Instruction &in, Mask mask) {
  Mask yes = predicate(warp, in, 1) & mask;
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [=](int i) { to[i] = yes; });
}
static Handler pickBallot(const Name &, Instruction &in) {
  in.vector = 2;
  return ballot;
}

static void activeMask(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [=](int i) { to[i] = mask; });
}
static Handler pickActiveMask(const Name &, Instruction &) {
  return activeMask;
}

static Mask sameAs(const Word *a, int lane, Mask mask) {
  Mask same = 0;
  eachLane(mask, [&](int i) { same |= Mask(a[i] == a[lane] ? 1 : 0) << i; });
  return same;
}
static void matchAny(Warp &warp, const Instruction &in, Mask mask) {
  const Word *a = lanes(warp, in, 1);
  Word result[kLanes];
  eachLane(mask, [&](int i) { result[i] = sameAs(a, i, mask); });
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [&](int i) { to[i] = result[i]; });
}
static void matchAll(Warp &warp, const Instruction &in, Mask mask) {
  Mask same = sameAs(lanes(warp, in, 2), __builtin_ctz(mask), mask);
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [&](int i) { to[i] = same == mask ? mask : 0; });
  if (in.slot[1] != kNone)
    setPredicate(warp, in, 1, mask, same == mask ? kAllLanes : 0);
}
static Handler pickMatchAny(const Name &, Instruction &in) {
  in.vector = 2;
  return matchAny;
}
static Handler pickMatchAll(const Name &, Instruction &in) {
  in.vector = 3;
  return matchAll;
}

// The first of the lanes is the one.
static void elect(Warp &warp, const Instruction &in, Mask mask) {
  int chosen = __builtin_ctz(mask);
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [=](int i) { to[i] = Word(chosen); });
  setPredicate(warp, in, 1, mask, Mask(1) << chosen);
}
static Handler pickElect(const Name &, Instruction &in) {
  in.vector = 2;
  return elect;
}

namespace {
struct Sum {
  template <class T> static T run(T a, T b) {
    return T(uint32_t(a) + uint32_t(b));
  }
};
struct Least {
  template <class T> static T run(T a, T b) { return std::min(a, b); }
};
struct Most {
  template <class T> static T run(T a, T b) { return std::max(a, b); }
};
struct AllBits {
  template <class T> static T run(T a, T b) { return a & b; }
};
struct AnyBits {
  template <class T> static T run(T a, T b) { return a | b; }
};
struct OddBits {
  template <class T> static T run(T a, T b) { return a ^ b; }
};
} // namespace

template <class T, class Op>
static void reduce(Warp &warp, const Instruction &in, Mask mask) {
  const Word *a = lanes(warp, in, 1);
  int first = __builtin_ctz(mask);
  T result = T(a[first]);
  eachLane(mask & (mask - 1),
           [&](int i) { result = Op::run(result, T(a[i])); });
  Word *to = lanes(warp, in, 0);
  eachLane(mask, [=](int i) { to[i] = uint32_t(result); });
}
template <class Op>
static Handler pickReduce(const Name &name, Instruction &in) {
  in.vector = 2;
  if (bitsOf(name.type()) != 32 || isFloat(name.type()))
    return nullptr;
  return isSigned(name.type()) ? reduce<int32_t, Op> : reduce<uint32_t, Op>;
}

static void warpBarrier(Warp &warp, const Instruction &, Mask) { ++warp.epoch; }
static Handler pickWarpBarrier(const Name &, Instruction &in) {
  in.vector = 0;
  return warpBarrier;
}

static const Row kWarpRows[] = {
    {"shfl.sync.up", "", "d|p? a b b b", pickShuffle<kUpwards>, Flow::Sync},
    {"shfl.sync.down", "", "d|p? a b b b", pickShuffle<kDownwards>, Flow::Sync},
    {"shfl.sync.bfly", "", "d|p? a b b b", pickShuffle<kButterfly>, Flow::Sync},
    {"shfl.sync.idx", "", "d|p? a b b b", pickShuffle<kIndex>, Flow::Sync},
    {"vote.sync.all", "", "p q b", pickVote<kAllOf>, Flow::Sync},
    {"vote.sync.any", "", "p q b", pickVote<kAnyOf>, Flow::Sync},
    {"vote.sync.uni", "", "p q b", pickVote<kUniform>, Flow::Sync},
    {"vote.sync.ballot", "", "e q b", pickBallot, Flow::Sync},
    {"activemask", "", "e", pickActiveMask, Flow::Next},
    {"match.any.sync", "", "e a b", pickMatchAny, Flow::Sync},
    {"match.all.sync", "", "e|p? a b", pickMatchAll, Flow::Sync},
    {"elect.sync", "", "e|p b", pickElect, Flow::Sync},
    {"redux.sync.add", "", "d a b", pickReduce<Sum>, Flow::Sync},
    {"redux.sync.min", "", "d a b", pickReduce<Least>, Flow::Sync},
    {"redux.sync.max", "", "d a b", pickReduce<Most>, Flow::Sync},
    {"redux.sync.and", "", "d a b", pickReduce<AllBits>, Flow::Sync},
    {"redux.sync.or", "", "d a b", pickReduce<AnyBits>, Flow::Sync},
    {"redux.sync.xor", "", "d a b", pickReduce<OddBits>, Flow::Sync},
    {"bar.warp.sync", "", "b", pickWarpBarrier, Flow::Sync},
};

Rows relax_ptx::warpRows() {
  return {std::begin(kWarpRows), std::end(kWarpRows)};
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

static void nothing(Warp &, const Instruction &, Mask) {}
static Handler pickNothing(const Name &, Instruction &) { return nothing; }

static void trap(Warp &, const Instruction &, Mask mask) {
  fault(kLaunchFailed, __builtin_ctz(mask), "a trap");
}
static Handler pickTrap(const Name &, Instruction &) { return trap; }

// bar.* is by whole warps, as barrier.* is with .aligned. In `vector` is the
// number of the operand that names the barrier; after it comes the count, and
// after that the predicate of a reduction.
template <bool kIsAligned, uint8_t kReduction>
static Handler pickBarrier(const Name &name, Instruction &in) {
  in.mode = kReduction;
  in.vector = kReduction == kNoReduction ? 0 : 1;
  if (kIsAligned || name.has("aligned"))
    in.flags |= kAligned;
  if (in.slot[in.vector + 1] == kNone)
    in.flags |= kAll;
  return nothing;
}
static constexpr auto pickBar = pickBarrier<true, kNoReduction>;
static constexpr auto pickAny = pickBarrier<false, kNoReduction>;

static const char kFences[] =
    "cta gpu sys cluster gl sc acq_rel acquire release proxy alias async "
    "async::generic mbarrier_init sync_restrict::shared::cta";

static const Row kControlRows[] = {
    {"bra", "uni", "l", pickNothing, Flow::Branch},
    {"brx.idx", "uni", "b t", pickNothing, Flow::BranchIndex},
    {"ret", "uni", "", pickNothing, Flow::Return},
    {"exit", "", "", pickNothing, Flow::Exit},
    {"trap", "", "", pickTrap, Flow::Next},
    {"brkpt", "", "", pickTrap, Flow::Next},
    {"bar.sync", "", "b b?", pickBar, Flow::Barrier},
    {"bar.cta.sync", "", "b b?", pickBar, Flow::Barrier},
    {"bar.arrive", "", "b b", pickBar, Flow::Arrive},
    {"bar.cta.arrive", "", "b b", pickBar, Flow::Arrive},
    {"barrier.sync", "aligned", "b b?", pickAny, Flow::Barrier},
    {"barrier.cta.sync", "aligned", "b b?", pickAny, Flow::Barrier},
    {"barrier.arrive", "aligned", "b b", pickAny, Flow::Arrive},
    {"barrier.cta.arrive", "aligned", "b b", pickAny, Flow::Arrive},
    {"bar.red.popc", "", "d b b? q", pickBarrier<true, kCountTrue>,
     Flow::Barrier},
    {"bar.red.and", "", "p b b? q", pickBarrier<true, kAllTrue>, Flow::Barrier},
    {"bar.red.or", "", "p b b? q", pickBarrier<true, kAnyTrue>, Flow::Barrier},
    {"bar.cta.red.popc", "", "d b b? q", pickBarrier<true, kCountTrue>,
     Flow::Barrier},
    {"bar.cta.red.and", "", "p b b? q", pickBarrier<true, kAllTrue>,
     Flow::Barrier},
    {"bar.cta.red.or", "", "p b b? q", pickBarrier<true, kAnyTrue>,
     Flow::Barrier},
    {"barrier.red.popc", "aligned", "d b b? q", pickBarrier<false, kCountTrue>,
     Flow::Barrier},
    {"barrier.red.and", "aligned", "p b b? q", pickBarrier<false, kAllTrue>,
     Flow::Barrier},
    {"barrier.red.or", "aligned", "p b b? q", pickBarrier<false, kAnyTrue>,
     Flow::Barrier},
    {"barrier.cta.red.popc", "aligned", "d b b? q",
     pickBarrier<false, kCountTrue>, Flow::Barrier},
    {"barrier.cta.red.and", "aligned", "p b b? q", pickBarrier<false, kAllTrue>,
     Flow::Barrier},
    {"barrier.cta.red.or", "aligned", "p b b? q", pickBarrier<false, kAnyTrue>,
     Flow::Barrier},
    {"membar", kFences, "", pickNothing, Flow::Next},
    {"fence", kFences, "", pickNothing, Flow::Next},
    {"nanosleep", "", "b", pickNothing, Flow::Next},
    {"griddepcontrol", "launch_dependents wait", "", pickNothing, Flow::Next},
};

Rows relax_ptx::controlRows() {
  return {std::begin(kControlRows), std::end(kControlRows)};
}
