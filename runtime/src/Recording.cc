//===- Recording.cc - The launches of a call --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What hooks of the runtime write down. None of them fails: where there is no
// memory for it, the recording says that it is of no use.
//
//===----------------------------------------------------------------------===//

#include "Recording.h"

using namespace relax_runtime;

static constexpr const char *kNoMemory = "there was no memory to record it";

std::atomic<int> Recording::count{0};
static thread_local Recording *recordingOfThread = nullptr;

Recording *Recording::find() { return recordingOfThread; }

Recording::Recording() {
  recordingOfThread = this;
  count.fetch_add(1, std::memory_order_relaxed);
}

Recording::~Recording() {
  count.fetch_sub(1, std::memory_order_relaxed);
  recordingOfThread = nullptr;
  freeAll();
}

Recording::Pause::Pause() : paused(recordingOfThread) {
  recordingOfThread = nullptr;
}

Recording::Pause::~Pause() { recordingOfThread = paused; }

void Recording::freeAll() noexcept {
  size_t live = 0;
  for (const Memory &each : memory)
    if (each.isFree)
      Pool::free(each.block);
    else
      memory[live++] = each;
  memory.resize(live);
}

void Recording::addLaunch(Device &target, const KernelLaunch &launch) noexcept {
  if (device && device != &target)
    refuse("it launches kernels on several devices");
  device = &target;
  if (refusal)
    return;
  try {
    launches.emplace_back(launch);
  } catch (const std::bad_alloc &) {
    refuse(kNoMemory);
  }
}

void Recording::addConstant(const TVMFFIAny *tensor) noexcept {
  if (refusal)
    return;
  try {
    constants.push_back(owned(tensor));
  } catch (const std::bad_alloc &) {
    refuse(kNoMemory);
  }
}

Recording::Memory *Recording::findMemory(const Block *block) noexcept {
  for (Memory &each : memory)
    if (each.block == block)
      return &each;
  return nullptr;
}

// The newest block of the size that is free, as a pool would give; a new one
// otherwise. One that another thread freed may come back from its pool.
Block *Recording::allocate(Pool &pool, size_t bytes) noexcept {
  if (bytes <= kMaxBytes)
    for (size_t i = memory.size(); i-- > 0;)
      if (memory[i].isFree &&
          memory[i].block->sizeClass == findSizeClass(bytes) &&
          memory[i].block->pool == &pool) {
        memory[i].isFree = false;
        return memory[i].block;
      }
  Block *block = pool.allocate(bytes);
  if (!block) {
    refuse("the device lacks memory for it");
    freeAll();
    block = pool.allocate(bytes);
  }
  if (!block || findMemory(block))
    return block;
  try {
    memory.push_back({static_cast<DeviceBlock *>(block), /*isFree=*/false});
  } catch (const std::bad_alloc &) {
    refuse(kNoMemory);
  }
  return block;
}

bool Recording::free(Block *block) noexcept {
  Memory *found = findMemory(block);
  if (!found)
    return false;
  found->isFree = true;
  return true;
}
