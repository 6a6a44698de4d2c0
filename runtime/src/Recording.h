//===- Recording.h - The launches of a call ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a recording lives, what its thread does with devices is also written
// down: launches, the memory that they use, and what a graph of launches could
// not do again. Memory that is freed meanwhile stays with the recording, which
// hands it out again itself.
//
// Rationale: where no thread records, each hook costs a load.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_RECORDING_H
#define RELAX_RUNTIME_RECORDING_H

#include "Pool.h"

#include <vector>

namespace relax_runtime {

class Recording {
public:
  // Memory of a device that the call took.
  struct Memory {
    DeviceBlock *block;
    bool isFree;

    uintptr_t begin() const { return reinterpret_cast<uintptr_t>(block->data); }
  };

  Recording();
  Recording(const Recording &) = delete;
  // Frees the memory that is still here.
  ~Recording();

  // The recording of this thread; NULL where there is none.
  static Recording *current() {
    return RELAX_LIKELY(count.load(std::memory_order_relaxed) == 0) ? nullptr
                                                                    : find();
  }

  // The call does what its launches alone would not do again; says why. The
  // text is a literal.
  void refuse(const char *why) noexcept {
    if (!refusal)
      refusal = why;
  }

  // A launch is made.
  void addLaunch(Device &device, const KernelLaunch &launch) noexcept;
  // The call uses the copy of a constant on a device.
  void addConstant(const TVMFFIAny *tensor) noexcept;
  // As Pool::allocate and Pool::free do. The latter says whether the block was
  // taken here.
  Block *allocate(Pool &pool, size_t bytes) noexcept;
  bool free(Block *block) noexcept;

  // Memory that was taken from a pool; NULL for any other.
  Memory *findMemory(const Block *block) noexcept;

  const char *refusal = nullptr;
  Device *device = nullptr; // of the launches
  std::vector<RecordedLaunch> launches;
  std::vector<Memory> memory;
  std::vector<ffi::Any> constants;

  // While it lives, what this thread does is not part of the call.
  class Pause;

private:
  static Recording *find();
  void freeAll() noexcept;

  static std::atomic<int> count;
};

class Recording::Pause {
public:
  Pause();
  Pause(const Pause &) = delete;
  ~Pause();

private:
  Recording *paused;
};

// As Pool::allocate and Pool::free do, for memory of devices other than the
// host.
inline Block *allocateRemote(Pool &pool, size_t bytes) noexcept {
  Recording *recording = Recording::current();
  return RELAX_LIKELY(!recording) ? pool.allocate(bytes)
                                  : recording->allocate(pool, bytes);
}
inline void freeRemote(Block *block) noexcept {
  Recording *recording = Recording::current();
  if (RELAX_LIKELY(!recording) || !recording->free(block))
    Pool::free(block);
}

// What a call does now cannot be done by a graph of launches.
inline void refuseRecording(const char *why) noexcept {
  if (Recording *recording = Recording::current())
    recording->refuse(why);
}

} // namespace relax_runtime

#endif // RELAX_RUNTIME_RECORDING_H
