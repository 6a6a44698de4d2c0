//===- PtxAccess.cc - Loads and stores ------------------------ -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ld and st of all state spaces, and conversions of addresses.
//
//===----------------------------------------------------------------------===//

#include "PtxAccess.h"
#include "PtxFormats.h"

#include <algorithm>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

void relax_ptx::findGlobal(Warp &warp, View &view, int lane, uint64_t address,
                           uint32_t bytes) {
  Memory &memory = warp.machine->memory;
  Allocation *found = memory.find(address, bytes);
  if (!found)
    fault(kIllegalAddress, lane, "%u bytes at 0x%llx of global memory: %s",
          bytes, (unsigned long long)address, memory.describe(address).c_str());
  if (found->owner != warp.machine->owner)
    fault(kIllegalAddress, lane, "%u bytes at 0x%llx are of another device",
          bytes, (unsigned long long)address);
  view = {found->begin, found->bytes, found->host, found};
}

void relax_ptx::faultMisaligned(int lane, uint64_t address, uint32_t bytes) {
  fault(kMisaligned, lane, "%u bytes at 0x%llx, which is not a multiple", bytes,
        (unsigned long long)address);
}

uint32_t relax_ptx::sharedPlace(int lane, uint64_t address) {
  if (address >> 32)
    fault(kIllegalAddress, lane, "0x%llx is no address of shared memory",
          (unsigned long long)address);
  return static_cast<uint32_t>(address);
}

Space relax_ptx::spaceOf(int lane, uint64_t &address) {
  struct Tag {
    Word bit;
    Space space;
  };
  static const Tag kTags[] = {{kGlobalTag, Space::Global},
                              {kSharedTag, Space::Shared},
                              {kLocalTag, Space::Local},
                              {kParamTag, Space::Param}};
  for (const Tag &tag : kTags)
    if (address & tag.bit) {
      if (tag.space != Space::Global)
        address &= ~tag.bit;
      return tag.space;
    }
  fault(kIllegalAddress, lane, "0x%llx is no address of a device",
        (unsigned long long)address);
}

static size_t localPlace(Warp &warp, int lane, uint64_t address,
                         uint32_t bytes) {
  size_t size = warp.machine->entry.allFrameBytes;
  if (address > size || size - address < bytes)
    fault(kIllegalAddress, lane,
          "%u bytes at byte %llu of local memory, which "
          "has %zu",
          bytes, (unsigned long long)address, size);
  if (address & (bytes - 1))
    faultMisaligned(lane, address, bytes);
  return lane * size + address;
}

static const uint8_t *readLocal(Warp &warp, int lane, uint64_t address,
                                uint32_t bytes) {
  size_t place = localPlace(warp, lane, address, bytes);
  for (uint32_t i = 0; i < bytes; ++i)
    if (!warp.written[place + i]) {
      static const bool isAllowed = isChecked("unwritten-ok");
      if (!isAllowed)
        fault(kLaunchFailed, lane,
              "byte %llu of local memory is read but was never written",
              (unsigned long long)(address + i));
    }
  return warp.frames + place;
}

static void writeLocal(Warp &warp, int lane, uint64_t address, const void *data,
                       uint32_t bytes) {
  size_t place = localPlace(warp, lane, address, bytes);
  std::memcpy(warp.frames + place, data, bytes);
  std::memset(warp.written + place, 1, bytes);
}

static const uint8_t *readParam(Warp &warp, int lane, uint64_t address,
                                uint32_t bytes) {
  const std::vector<uint8_t> &params = warp.machine->params;
  if (address > params.size() || params.size() - address < bytes)
    fault(kIllegalAddress, lane, "%u bytes at byte %llu of the parameters",
          bytes, (unsigned long long)address);
  return params.data() + address;
}

static GlobalCell *cellsAt(Warp &warp, const Instruction &in,
                           uint64_t address) {
  Allocation &allocation = *warp.machine->views[in.view].allocation;
  if (allocation.cells.empty())
    allocation.cells.resize(allocation.bytes);
  return &allocation.cells[address - allocation.begin];
}

// A stamp has the launch and the block; this bit where there were more.
static constexpr uint64_t kManyBlocks = uint64_t(1) << 31;

static void checkBlock(int lane, uint64_t address, uint64_t stamp,
                       uint64_t mine, const char *does, const char *did) {
  if (stamp >> 32 != mine >> 32 || stamp == mine)
    return;
  fault(kLaunchFailed, lane,
        "a race at 0x%llx of global memory: it %s what block %u%s %s",
        (unsigned long long)address, does, unsigned(stamp & (kManyBlocks - 1)),
        stamp & kManyBlocks ? " and more" : "", did);
}

static uint64_t blockStamp(const Warp &warp) {
  return warp.machine->memory.launches << 32 |
         (warp.machine->blockNumber & (kManyBlocks - 1));
}

void relax_ptx::noteGlobalRead(Warp &warp, const Instruction &in, int lane,
                               uint64_t address, uint32_t bytes) {
  GlobalCell *cells = cellsAt(warp, in, address);
  uint64_t mine = blockStamp(warp);
  for (uint32_t i = 0; i < bytes; ++i) {
    checkBlock(lane, address, cells[i].write, mine, "reads", "wrote");
    bool isOther = cells[i].read >> 32 == mine >> 32 && cells[i].read != mine;
    cells[i].read = isOther ? cells[i].read | kManyBlocks : mine;
  }
}

void relax_ptx::noteGlobalWrite(Warp &warp, const Instruction &in, int lane,
                                uint64_t address, const void *data,
                                uint32_t bytes) {
  GlobalCell *cells = cellsAt(warp, in, address);
  uint64_t mine = blockStamp(warp);
  const uint8_t *old = globalAt(warp, in.view, lane, address, bytes);
  bool isSame = !std::memcmp(old, data, bytes);
  for (uint32_t i = 0; i < bytes; ++i) {
    if (!isSame) {
      checkBlock(lane, address, cells[i].write, mine, "writes", "wrote");
      checkBlock(lane, address, cells[i].read, mine, "writes", "read");
    }
    cells[i].write = mine;
  }
}

template <Space kSpace>
static const uint8_t *readAt(Warp &warp, const Instruction &in, int lane,
                             uint64_t address, uint32_t bytes) {
  Space space = kSpace == Space::Generic ? spaceOf(lane, address) : kSpace;
  switch (space) {
  case Space::Shared:
    return warp.machine->shared.read(sharedPlace(lane, address), bytes,
                                     threadOf(warp, lane), in.flags & kAtomic);
  case Space::Local:
    return readLocal(warp, lane, address, bytes);
  case Space::Param:
    return readParam(warp, lane, address, bytes);
  default:
    break;
  }
  uint8_t *data = globalAt(warp, in.view, lane, address, bytes);
  if (warp.machine->checksGlobal && !(in.flags & kAtomic))
    noteGlobalRead(warp, in, lane, address, bytes);
  return data;
}

template <Space kSpace>
static void writeAt(Warp &warp, const Instruction &in, int lane,
                    uint64_t address, const void *data, uint32_t bytes) {
  Space space = kSpace == Space::Generic ? spaceOf(lane, address) : kSpace;
  if (space == Space::Shared) {
    warp.machine->shared.write(sharedPlace(lane, address), bytes, data,
                               threadOf(warp, lane), in.flags & kAtomic);
    return;
  }
  if (space == Space::Local)
    return writeLocal(warp, lane, address, data, bytes);
  if (space == Space::Param)
    fault(kIllegalAddress, lane, "parameters cannot be written");
  uint8_t *to = globalAt(warp, in.view, lane, address, bytes);
  if (warp.machine->checksGlobal && !(in.flags & kAtomic))
    noteGlobalWrite(warp, in, lane, address, data, bytes);
  std::memcpy(to, data, bytes);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

constexpr int kMostElements = 8;

template <class T, Space kSpace>
static void load(Warp &warp, const Instruction &in, Mask mask) {
  const Word *base = warp.file + in.base;
  const Word offset = static_cast<Word>(in.offset), keep = in.keep;
  if (in.vector == 1) {
    Word *to = lanes(warp, in, 0);
    eachLane(mask, [&](int i) {
      T value;
      std::memcpy(&value,
                  readAt<kSpace>(warp, in, i, base[i] + offset, sizeof(T)),
                  sizeof(T));
      to[i] = Word(value) & keep;
    });
    return;
  }
  const uint32_t count = in.vector;
  eachLane(mask, [&](int i) {
    T values[kMostElements];
    std::memcpy(
        values,
        readAt<kSpace>(warp, in, i, base[i] + offset, count * sizeof(T)),
        count * sizeof(T));
    for (uint32_t k = 0; k < count; ++k)
      lanes(warp, in, static_cast<int>(k))[i] = Word(values[k]) & keep;
  });
}

template <class T, Space kSpace>
static void store(Warp &warp, const Instruction &in, Mask mask) {
  const Word *base = warp.file + in.base;
  const Word offset = static_cast<Word>(in.offset);
  const uint32_t count = in.vector;
  eachLane(mask, [&](int i) {
    T values[kMostElements];
    for (uint32_t k = 0; k < count; ++k)
      values[k] = T(lanes(warp, in, static_cast<int>(k))[i]);
    writeAt<kSpace>(warp, in, i, base[i] + offset, values, count * sizeof(T));
  });
}

template <class T> static Handler pickLoad(Space space) {
  switch (space) {
  case Space::Generic:
    return load<T, Space::Generic>;
  case Space::Global:
    return load<T, Space::Global>;
  case Space::Shared:
    return load<T, Space::Shared>;
  case Space::Local:
    return load<T, Space::Local>;
  case Space::Param:
    return load<T, Space::Param>;
  }
  return nullptr;
}

template <class T> static Handler pickStore(Space space) {
  switch (space) {
  case Space::Generic:
    return store<T, Space::Generic>;
  case Space::Global:
    return store<T, Space::Global>;
  case Space::Shared:
    return store<T, Space::Shared>;
  case Space::Local:
    return store<T, Space::Local>;
  case Space::Param:
    return nullptr;
  }
  return nullptr;
}

// The space that a name has; where it is .param, that of the variable.
static void readSpace(const Name &name, Instruction &in) {
  if (name.has("global") || name.has("const"))
    in.space = Space::Global;
  else if (name.has("shared") || name.has("shared::cta"))
    in.space = Space::Shared;
  else if (name.has("local"))
    in.space = Space::Local;
  else if (name.has("param") || name.has("param::entry"))
    in.space = in.space == Space::Local ? Space::Local : Space::Param;
  else
    in.space = Space::Generic;
}

// How many elements a name says.
static bool readVector(const Name &name, Instruction &in) {
  in.vector = name.has("v2") ? 2 : name.has("v4") ? 4 : name.has("v8") ? 8 : 1;
  return in.count[0] == in.vector || in.count[1] == in.vector;
}

static Handler pickAccess(const Name &name, Instruction &in, bool isLoad) {
  readSpace(name, in);
  if (!readVector(name, in) || name.types.size() != 1)
    return nullptr;
  for (const char *word : {"volatile", "relaxed", "acquire", "release"})
    if (name.has(word))
      in.flags |= kAtomic;
  Type type = name.type();
  if (isFloat(type)) {
    int bits = bitsOf(type);
    type = bits == 16 ? Type::B16 : bits == 32 ? Type::B32 : Type::B64;
  }
  return withInteger<Handler>(type, [&](auto zero) {
    using T = decltype(zero);
    return isLoad ? pickLoad<T>(in.space) : pickStore<T>(in.space);
  });
}

static Handler pickLoadOf(const Name &name, Instruction &in) {
  return pickAccess(name, in, /*isLoad=*/true);
}
static Handler pickStoreOf(const Name &name, Instruction &in) {
  return pickAccess(name, in, /*isLoad=*/false);
}

//===----------------------------------------------------------------------===//
// Conversions of addresses
//===----------------------------------------------------------------------===//

static Word tagOf(const Name &name) {
  if (name.has("shared") || name.has("shared::cta"))
    return kSharedTag;
  if (name.has("local"))
    return kLocalTag;
  return name.has("param") ? kParamTag : 0;
}

static void addTag(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0), tag = static_cast<Word>(in.offset);
  const Word *a = lanes(warp, in, 1);
  eachLane(mask, [=](int i) { to[i] = a[i] | tag; });
}
static void dropTag(Warp &warp, const Instruction &in, Mask mask) {
  Word *to = lanes(warp, in, 0), tag = static_cast<Word>(in.offset);
  const Word *a = lanes(warp, in, 1);
  eachLane(mask, [=](int i) { to[i] = a[i] & ~tag; });
}
static Handler pickCvta(const Name &name, Instruction &in) {
  in.offset = static_cast<int64_t>(tagOf(name));
  if (name.type() != Type::U64)
    return nullptr;
  return name.has("to") ? dropTag : addTag;
}

static void testSpace(Warp &warp, const Instruction &in, Mask mask) {
  const Word *a = lanes(warp, in, 1);
  Word tag = static_cast<Word>(in.offset);
  Mask value = 0;
  eachLane(mask, [&](int i) { value |= Mask(a[i] & tag ? 1 : 0) << i; });
  setPredicate(warp, in, 0, mask, value);
}
static Handler pickTestSpace(const Name &name, Instruction &in) {
  Word tag = name.has("const") ? 0 : tagOf(name);
  in.offset = static_cast<int64_t>(name.has("global") ? kGlobalTag : tag);
  return testSpace;
}

static void nothing(Warp &, const Instruction &, Mask) {}
static Handler pickNothing(const Name &, Instruction &) { return nothing; }

static const char kWords[] =
    "volatile weak relaxed acquire release sys gpu cta cluster mmio global "
    "shared shared::cta local param param::entry param::func const nc ca cg cs "
    "lu cv wb wt unified v2 v4 v8";
static const char kSpaces[] = "global shared shared::cta local param const to";

static const Row kAccessRows[] = {
    {"ld", kWords, "D m", pickLoadOf, Flow::Next},
    {"ldu", kWords, "D m", pickLoadOf, Flow::Next},
    {"st", kWords, "m A", pickStoreOf, Flow::Next},
    {"cvta", kSpaces, "d a", pickCvta, Flow::Next},
    {"isspacep", kSpaces, "p a", pickTestSpace, Flow::Next},
    {"prefetch", "global local L1 L2", "m", pickNothing, Flow::Next},
    {"prefetchu", "L1", "m", pickNothing, Flow::Next},
};

Rows relax_ptx::accessRows() {
  return {std::begin(kAccessRows), std::end(kAccessRows)};
}
