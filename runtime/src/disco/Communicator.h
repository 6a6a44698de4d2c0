//===- Communicator.h - What the workers of a session share -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session has a controller and workers, which are threads of its process or
// processes of the same machine. All workers execute the same instructions, one
// after the other, numbered from 1. Within an instruction they meet at steps,
// on one of two channels: that of all workers, or that of their group.
//
// Everything they share lies in one block of memory: for each worker which
// instructions it has begun and ended, the step that it has come to, and what
// it calls there; and buffers for data. So a worker that waits sees why another
// one will never come: it has ended the instruction, with an error or without,
// its process has died, or it waits on the other channel for this one.
//
// Rationale: a step is named by its instruction and its number in there, not by
// a count from the start. So workers that have not come equally far when an
// instruction fails meet again in the next one.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_DISCO_COMMUNICATOR_H
#define RELAX_RUNTIME_DISCO_COMMUNICATOR_H

#include "../Internal.h"

#include <chrono>
#include <string_view>

namespace relax_runtime {

// The workers that meet: all, or those of a group.
enum Channel { kAllWorkers, kGroup, kNumChannels };

constexpr int64_t kMostWorkers = 256;

// What a worker calls, as numbers, which others compare with what they call.
struct CollectiveCall {
  static constexpr int64_t kMostDims = 8;

  int64_t kind, reduction, dtype, ndim;
  int64_t dims[kMostDims]; // the first ones
  int64_t count;           // of elements
  int64_t half;            // of the buffer that it begins with
  int64_t step;            // at which it meets others first
};

//===----------------------------------------------------------------------===//
// The block of memory
//===----------------------------------------------------------------------===//

struct SharedHeader;
struct SharedWorker;

class CommunicatorObj : public ffi::Object {
public:
  // Maps the block of a file, or where `file` is -1 memory of this process.
  // `isNew` says whether the block is to be initialized.
  CommunicatorObj(int64_t numWorkers, int64_t numGroups, int64_t file,
                  double timeout, bool isNew);
  ~CommunicatorObj();
  CommunicatorObj(const CommunicatorObj &) = delete;
  CommunicatorObj &operator=(const CommunicatorObj &) = delete;

  // The bytes of the block for so many workers.
  static int64_t countBytes(int64_t numWorkers);
  // The bytes of each of the two halves of a buffer.
  static int64_t sliceBytes();

  SharedHeader &header() const { return *static_cast<SharedHeader *>(block); }
  SharedWorker &worker(int64_t index) const;
  char *buffer(Channel channel, int64_t worker, int64_t half) const;

  // Ends all instructions up to this one with KeyboardInterrupt.
  void interrupt(int64_t instruction);
  // Notes that a worker will execute nothing any more.
  void markDead(int64_t worker, std::string_view why);
  // Wakes all that wait.
  void ring();
  // Sleeps until somebody rings after `seen` was read off the bell, or for 50
  // ms.
  void sleep(uint32_t seen);
  uint32_t readBell() const;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax_mlir.Communicator", CommunicatorObj,
                                    ffi::Object);

private:
  void *block;
  size_t size;
};

//===----------------------------------------------------------------------===//
// A worker
//===----------------------------------------------------------------------===//

// The worker that a thread is, with what only that thread knows.
class Worker {
public:
  Worker(ffi::ObjectPtr<CommunicatorObj> communicator, int64_t index);

  // The worker of this thread; NULL where it is none.
  static Worker *current();
  // Makes this thread a worker, or with NULL none.
  static void bind(std::unique_ptr<Worker> worker);

  int64_t index() const { return ownIndex; }
  int64_t numWorkers() const { return count; }
  int64_t groupSize() const { return sizeOfGroup; }
  // The workers [first, first + size) of a channel.
  int64_t first(Channel channel) const {
    return channel == kGroup ? ownIndex / sizeOfGroup * sizeOfGroup : 0;
  }
  int64_t size(Channel channel) const {
    return channel == kGroup ? sizeOfGroup : count;
  }
  CommunicatorObj &shared() const { return *communicator; }

  // An instruction begins, and ends: with an error where there is a text.
  void begin(int64_t instruction);
  void end(std::string_view failure);
  // Whether the controller has ended this instruction.
  bool isInterrupted() const noexcept;

  // Publishes what this worker calls on a channel, before it meets others.
  void announce(Channel channel, CollectiveCall call);
  // What a worker calls that has come to the step where this one is; where it
  // has not, what it called last.
  CollectiveCall callOf(int64_t worker, Channel channel) const;
  // Comes to the next step on a channel, and waits until all are there. Throws
  // an error of `site` where that will not happen.
  void meet(const relax_site &site, Channel channel);

  // The half of the buffer of a channel that is next.
  int64_t halves[kNumChannels] = {};

private:
  using Clock = std::chrono::steady_clock;

  void waitForHistory();
  bool haveArrived(Channel channel) const;
  bool hasArrived(int64_t worker, Channel channel) const;
  void checkMembers(const relax_site &site, Channel channel) const;
  void checkMember(const relax_site &site, Channel channel, int64_t worker,
                   bool withConsequences) const;
  void checkPatience(const relax_site &site, Clock::time_point begin) const;

  ffi::ObjectPtr<CommunicatorObj> communicator;
  int64_t ownIndex, count, sizeOfGroup;
  uint64_t instruction = 0;
  uint32_t steps[kNumChannels] = {};
  uint64_t announced[kNumChannels] = {};
};

// Throws an error of a place.
[[noreturn]] void throwAt(const relax_site &site, const char *kind,
                          const std::string &text);

// "allreduce \"sum\" of float32 (2, 3)".
std::string describeCall(const CollectiveCall &call);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_DISCO_COMMUNICATOR_H
