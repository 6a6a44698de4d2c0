//===- PtxAtomic.cc - Atomic accesses and copies of cp.async -- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// atom and red; copies from global to shared memory that are done where they
// are waited for, so that a wait that is missing shows.
//
//===----------------------------------------------------------------------===//

#include "PtxAccess.h"
#include "PtxFormats.h"

#include <algorithm>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {
enum Update : uint8_t {
  kAdd,
  kMin,
  kMax,
  kExchange,
  kCompare,
  kAnd,
  kOr,
  kXor,
  kIncrement,
  kDecrement
};
struct UpdateName {
  const char *name;
  Update update;
};

template <class T> struct Integer {
  static constexpr int kBytes = sizeof(T);
  static Word run(uint8_t update, Word old, Word b, Word c) {
    T x = T(old), y = T(b);
    switch (update) {
    case kAdd:
      return x + Word(y);
    case kMin:
      return Word(std::min(x, y));
    case kMax:
      return Word(std::max(x, y));
    case kExchange:
      return b;
    case kCompare:
      return x == y ? c : old;
    case kAnd:
      return old & b;
    case kOr:
      return old | b;
    case kXor:
      return old ^ b;
    case kIncrement:
      return x >= y ? 0 : Word(x) + 1;
    default:
      return x == 0 || x > y ? b : Word(x) - 1;
    }
  }
};

template <class Format> struct Float {
  static constexpr int kBytes = sizeof(typename Format::Bits);
  static Word run(uint8_t update, Word old, Word b, Word) {
    auto x = Format::get(old), y = Format::get(b);
    if (update == kAdd)
      return Format::put(x + y);
    if (update == kExchange)
      return b;
    return Format::put(update == kMin ? std::fmin(x, y) : std::fmax(x, y));
  }
};

template <class Format> struct Pair {
  static constexpr int kBytes = 4;
  static Word run(uint8_t update, Word old, Word b, Word c) {
    using Half = Float<Format>;
    return Half::run(update, old & 0xffff, b & 0xffff, c) |
           Half::run(update, old >> 16 & 0xffff, b >> 16 & 0xffff, c) << 16;
  }
};
} // namespace

static uint8_t *updateAt(Warp &warp, const Instruction &in, int lane,
                         uint64_t address, uint32_t bytes) {
  Space space = in.space;
  if (space == Space::Generic)
    space = spaceOf(lane, address);
  if (space == Space::Shared)
    return warp.machine->shared.update(sharedPlace(lane, address), bytes,
                                       threadOf(warp, lane));
  if (space != Space::Global)
    fault(kIllegalAddress, lane, "no atomic access to local memory");
  return globalAt(warp, in.view, lane, address, bytes);
}

// One lane after the other; red has no result.
template <class Kind, bool kReturns>
static void update(Warp &warp, const Instruction &in, Mask mask) {
  constexpr int kFirst = kReturns ? 1 : 0;
  const Word *base = warp.file + in.base;
  const Word *b = lanes(warp, in, kFirst);
  const Word *c =
      in.slot[kFirst + 1] == kNone ? b : lanes(warp, in, kFirst + 1);
  eachLane(mask, [&](int i) {
    uint8_t *place =
        updateAt(warp, in, i, base[i] + Word(in.offset), Kind::kBytes);
    Word old = 0;
    std::memcpy(&old, place, Kind::kBytes);
    Word value = Kind::run(in.mode, old, b[i], c[i]);
    std::memcpy(place, &value, Kind::kBytes);
    if (kReturns)
      lanes(warp, in, 0)[i] = old;
  });
}

static const UpdateName kUpdates[] = {
    {"add", kAdd},       {"min", kMin},      {"max", kMax}, {"exch", kExchange},
    {"cas", kCompare},   {"and", kAnd},      {"or", kOr},   {"xor", kXor},
    {"inc", kIncrement}, {"dec", kDecrement}};

template <class Kind> static Handler pickKind(bool returns) {
  return returns ? update<Kind, true> : update<Kind, false>;
}

template <bool kReturns>
static Handler pickUpdate(const Name &name, Instruction &in) {
  const UpdateName *found = nullptr;
  for (const UpdateName &row : kUpdates)
    if (name.has(row.name))
      found = &row;
  if (!found || name.types.size() != 1)
    return nullptr;
  in.mode = found->update;
  in.space = name.has("global")                              ? Space::Global
             : name.has("shared") || name.has("shared::cta") ? Space::Shared
                                                             : Space::Generic;
  switch (name.type()) {
  case Type::F16x2:
    return pickKind<Pair<F16>>(kReturns);
  case Type::BF16x2:
    return pickKind<Pair<BF16>>(kReturns);
  default:
    break;
  }
  if (isFloat(name.type()))
    return withFormat<Handler>(name.type(), [](auto format) {
      return pickKind<Float<decltype(format)>>(kReturns);
    });
  return withInteger<Handler>(name.type(), [](auto zero) {
    return pickKind<Integer<decltype(zero)>>(kReturns);
  });
}

static const char kWords[] =
    "global shared shared::cta relaxed acquire release acq_rel sys gpu cta "
    "cluster noftz add min max exch cas and or xor inc dec";

static const Row kAtomicRows[] = {
    {"atom", kWords, "d m a a?", pickUpdate<true>, Flow::Next},
    {"red", kWords, "m a", pickUpdate<false>, Flow::Next},
};

Rows relax_ptx::atomicRows() {
  return {std::begin(kAtomicRows), std::end(kAtomicRows)};
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

static void copyAsync(Warp &warp, const Instruction &in, Mask mask) {
  const Word *to = warp.file + in.base, *from = warp.file + in.base2;
  eachLane(mask, [&](int i) {
    uint32_t bytes = uint32_t(lanes(warp, in, 0)[i]);
    uint32_t source =
        in.slot[1] == kNone ? bytes : uint32_t(lanes(warp, in, 1)[i]);
    bool isSize = bytes == 4 || bytes == 8 || bytes == 16;
    if (!isSize || (in.mode && bytes != 16) || source > bytes)
      fault(kLaunchFailed, i, "a copy of %u of %u bytes", source, bytes);
    uint64_t address = from[i] + static_cast<Word>(in.offset2);
    if (address & (bytes - 1))
      faultMisaligned(i, address, bytes);
    if (source) {
      View &view = warp.machine->views[in.view];
      uint64_t offset = address - view.begin;
      if (offset >= view.bytes || view.bytes - offset < source)
        findGlobal(warp, view, i, address, source);
    }
    uint32_t place = sharedPlace(i, to[i] + static_cast<Word>(in.offset));
    warp.machine->shared.expect(place, bytes, threadOf(warp, i));
    warp.copies.push_back(
        {place, bytes, source, address, warp.committed[i], i});
  });
}

static void finish(Warp &warp, const AsyncCopy &copy) {
  uint8_t data[16] = {};
  if (copy.source) {
    const Allocation *found = warp.machine->memory.find(copy.from, copy.source);
    std::memcpy(data, found->host + (copy.from - found->begin), copy.source);
  }
  warp.machine->shared.arrive(copy.to, copy.bytes, data,
                              threadOf(warp, copy.lane));
}

static void commitGroup(Warp &warp, const Instruction &, Mask mask) {
  eachLane(mask, [&](int i) { ++warp.committed[i]; });
}

// Finishes copies but for those of the latest groups; with wait_all also those
// that are in no group yet.
static void waitGroup(Warp &warp, const Instruction &in, Mask mask) {
  uint32_t left = static_cast<uint32_t>(in.offset2);
  auto isDone = [&](const AsyncCopy &copy) {
    if (!(mask >> copy.lane & 1))
      return false;
    if (!(in.flags & kAll) && copy.group + left >= warp.committed[copy.lane])
      return false;
    finish(warp, copy);
    return true;
  };
  auto end = std::remove_if(warp.copies.begin(), warp.copies.end(), isDone);
  warp.copies.erase(end, warp.copies.end());
}

static Handler pickCopy(const Name &name, Instruction &in) {
  in.mode = name.has("cg");
  return name.has("ca") || name.has("cg") ? copyAsync : nullptr;
}
static Handler pickCommit(const Name &, Instruction &) { return commitGroup; }
static Handler pickWait(const Name &, Instruction &) { return waitGroup; }
static Handler pickWaitAll(const Name &, Instruction &in) {
  in.flags |= kAll;
  return waitGroup;
}

static const Row kAsyncRows[] = {
    {"cp.async", "ca cg shared shared::cta global", "m m b b?", pickCopy,
     Flow::Next},
    {"cp.async.commit_group", "", "", pickCommit, Flow::Next},
    {"cp.async.wait_group", "", "i", pickWait, Flow::Next},
    {"cp.async.wait_all", "", "", pickWaitAll, Flow::Next},
};

Rows relax_ptx::asyncRows() {
  return {std::begin(kAsyncRows), std::end(kAsyncRows)};
}
