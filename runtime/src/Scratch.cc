//===- Scratch.cc - Memory that a kernel needs while it runs ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of the pool of cpu:0. Each thread lists what it has, the newest first,
// so that a kernel that fails halfway can drop all it took.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Objects.h"
#include "Recording.h"

#include <algorithm>

using namespace relax_runtime;

namespace {

// The head in front of the memory.
struct ScratchHead {
  Block *block;
  ScratchHead *newer, *older;
  int64_t number; // counts what this thread took
  Block *remote;  // of a device, for which the head alone is on the host

  void *memory() { return this + 1; }
  static ScratchHead *of(void *memory) {
    return static_cast<ScratchHead *>(memory) - 1;
  }
};

constexpr size_t kBlockAlignment = 64;
// Of a block, which is aligned.
constexpr size_t kBlockHeadBytes = 64;
static_assert(sizeof(Block) + sizeof(ScratchHead) <= kBlockHeadBytes,
              "both heads fit before the memory");

// The scratch memory of this thread.
struct ScratchList {
  ScratchHead *newest;
  int64_t count;
};

} // namespace

static thread_local ScratchList scratchList;

// Says why there is no memory. Returns NULL.
RELAX_COLD static void *raiseScratch(const relax_site *site,
                                     int64_t bytes) noexcept {
  raiseMemory(site, bytes < 0 || bytes == INT64_MAX
                        ? "scratch memory of more bytes than can be counted"
                        : countText(bytes, "byte") + " of scratch memory");
  return nullptr;
}

// Makes a head in front of memory the newest of this thread.
static ScratchHead *enlist(void *memory, Block *block) noexcept {
  ScratchHead *scratch = ScratchHead::of(memory);
  ScratchList &list = scratchList;
  scratch->block = block;
  scratch->remote = nullptr;
  scratch->newer = nullptr;
  scratch->older = list.newest;
  scratch->number = ++list.count;
  if (list.newest)
    list.newest->newer = scratch;
  list.newest = scratch;
  return scratch;
}

void *relax_scratch_alloc(const relax_site *site, int64_t bytes,
                          int64_t alignment) {
  size_t wanted = static_cast<size_t>(bytes) + kBlockHeadBytes;
  size_t aligned = static_cast<size_t>(alignment);
  if (!RELAX_LIKELY(aligned <= kBlockAlignment))
    wanted += aligned - kBlockAlignment;
  if (!RELAX_LIKELY(bytes >= 0 && wanted <= kMaxBytes && aligned <= kMaxBytes))
    return raiseScratch(site, bytes);
  Block *block = hostPool().allocate(wanted);
  if (!RELAX_LIKELY(block != nullptr))
    return raiseScratch(site, bytes);
  uintptr_t address = reinterpret_cast<uintptr_t>(block) + kBlockHeadBytes;
  if (!RELAX_LIKELY(aligned <= kBlockAlignment))
    address = (address + aligned - 1) / aligned * aligned;
  return enlist(reinterpret_cast<void *>(address), block)->memory();
}

void relax_scratch_free(void *memory) {
  if (!memory)
    return;
  ScratchHead *scratch = ScratchHead::of(memory);
  if (scratch->newer)
    scratch->newer->older = scratch->older;
  else
    scratchList.newest = scratch->older;
  if (scratch->older)
    scratch->older->newer = scratch->newer;
  if (scratch->remote)
    freeRemote(scratch->remote);
  Pool::free(scratch->block);
}

//===----------------------------------------------------------------------===//
// Memory of other devices
//===----------------------------------------------------------------------===//

static void *remoteMemory(const ScratchHead &scratch) {
  return scratch.remote ? static_cast<DeviceBlock *>(scratch.remote)->data
                        : nullptr;
}

void *relax_device_scratch_alloc(const relax_site *site, int64_t bytes,
                                 int32_t device_type, int32_t device_id) {
  Device *device = getDevice(site, device_type, device_id);
  if (!device)
    return nullptr;
  if (bytes < 0 || static_cast<uint64_t>(bytes) > kMaxBytes)
    return raiseScratch(site, bytes);
  void *head = relax_scratch_alloc(site, 0, 1);
  if (!head)
    return nullptr;
  // A launch of an empty kernel has an address to pass, too.
  Block *block = allocateRemote(*device->pool, std::max<int64_t>(bytes, 1));
  if (!block) {
    relax_scratch_free(head);
    return raiseScratch(site, bytes);
  }
  ScratchHead *scratch = ScratchHead::of(head);
  scratch->remote = block;
  return remoteMemory(*scratch);
}

void relax_device_scratch_free(void *memory) {
  // Few are alive at a time.
  for (ScratchHead *scratch = scratchList.newest; scratch;
       scratch = scratch->older)
    if (scratch->remote && remoteMemory(*scratch) == memory)
      return relax_scratch_free(scratch->memory());
}

int64_t relax_scratch_mark(void) { return scratchList.count; }

void relax_scratch_release(int64_t mark) {
  while (scratchList.newest && scratchList.newest->number > mark)
    relax_scratch_free(scratchList.newest->memory());
}
