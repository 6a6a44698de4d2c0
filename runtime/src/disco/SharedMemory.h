//===- SharedMemory.h - The layout of a session's memory --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A header, a record for each worker, and buffers. Only atomic members change
// after the block was made; a text may be read while it is written, and is then
// of no use, but always ends.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_DISCO_SHAREDMEMORY_H
#define RELAX_RUNTIME_DISCO_SHAREDMEMORY_H

#include "Communicator.h"

namespace relax_runtime {

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "processes can share atomic numbers without locks only");

// How many instructions a worker may be ahead of another one: for so many it is
// known how many steps were made.
constexpr uint64_t kHistory = 64;

struct SharedHeader {
  int64_t numWorkers, groupSize;
  int64_t controller;         // its process
  int64_t timeoutNanoseconds; // 0: none
  alignas(64) std::atomic<uint32_t> bell;
  std::atomic<uint32_t> sleepers;
  std::atomic<uint64_t> interrupted; // the last instruction that is
};

struct SharedWorker {
  static constexpr int64_t kTextBytes = 1024;
  static constexpr int64_t kCallWords = sizeof(CollectiveCall) / 8;

  alignas(64) std::atomic<uint64_t> ended;
  std::atomic<uint64_t> failed; // the last instruction that did
  // The step on a channel: instruction << 32 | number.
  std::atomic<uint64_t> arrived[kNumChannels];
  std::atomic<uint32_t> isDead;
  // The last two calls: a worker may announce the next one while others read
  // the one before.
  std::atomic<int64_t> calls[kNumChannels][2][kCallWords];
  std::atomic<uint32_t> history[kHistory][kNumChannels];
  std::atomic<char> failure[kTextBytes];

  void setFailure(std::string_view text) {
    int64_t size =
        std::min<int64_t>(static_cast<int64_t>(text.size()), kTextBytes - 1);
    for (int64_t i = 0; i < size; ++i)
      failure[i].store(text[static_cast<size_t>(i)], std::memory_order_relaxed);
    failure[size].store('\0', std::memory_order_relaxed);
  }
  std::string getFailure() const {
    std::string text;
    for (int64_t i = 0; i < kTextBytes - 1; ++i) {
      char next = failure[i].load(std::memory_order_relaxed);
      if (!next)
        break;
      text += next;
    }
    return text;
  }
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_DISCO_SHAREDMEMORY_H
