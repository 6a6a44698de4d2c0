//===- Communicator.cc - Workers that meet ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions, steps, and the reasons why a worker does not come.
//
// Rationale: what another worker has ended is read before it is looked again
// whether it has come, as it comes first. So a worker that did come is never
// taken for one that did not.
//
//===----------------------------------------------------------------------===//

#include "../Signals.h"
#include "SharedMemory.h"

#include <memory>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

using namespace relax_runtime;

void relax_runtime::throwAt(const relax_site &site, const char *kind,
                            const std::string &text) {
  raiseError(&site, kind, text);
  throw ffi::detail::MoveFromSafeCallRaised();
}

//===----------------------------------------------------------------------===//
// The worker of a thread
//===----------------------------------------------------------------------===//

static thread_local std::unique_ptr<Worker> boundWorker;

Worker *Worker::current() { return boundWorker.get(); }
void Worker::bind(std::unique_ptr<Worker> worker) {
  boundWorker = std::move(worker);
}

Worker::Worker(ffi::ObjectPtr<CommunicatorObj> given, int64_t index)
    : communicator(std::move(given)), ownIndex(index),
      count(communicator->header().numWorkers),
      sizeOfGroup(communicator->header().groupSize) {}

bool Worker::isInterrupted() const noexcept {
  return communicator->header().interrupted.load(std::memory_order_relaxed) >=
         instruction;
}

bool relax_runtime::isInterruptedByController() noexcept {
  return boundWorker && boundWorker->isInterrupted();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// Nobody may be so far behind that it asks for steps that are not kept.
void Worker::waitForHistory() {
  if (instruction <= kHistory)
    return;
  uint64_t last = instruction - kHistory;
  for (int64_t i = 0; i < count; ++i) {
    const SharedWorker &other = communicator->worker(i);
    for (;;) {
      uint32_t seen = communicator->readBell();
      if (i == ownIndex || other.isDead.load() || other.ended.load() >= last ||
          isInterrupted())
        break;
      communicator->sleep(seen);
    }
  }
}

void Worker::begin(int64_t number) {
  instruction = static_cast<uint64_t>(number);
  std::fill(std::begin(steps), std::end(steps), 0);
  waitForHistory();
}

void Worker::end(std::string_view failure) {
  SharedWorker &self = communicator->worker(ownIndex);
  if (!failure.empty()) {
    self.setFailure(failure);
    self.failed.store(instruction);
  }
  for (int channel = 0; channel < kNumChannels; ++channel)
    self.history[instruction % kHistory][channel].store(steps[channel]);
  self.ended.store(instruction);
  communicator->ring();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Worker::announce(Channel channel, CollectiveCall call) {
  call.step = static_cast<int64_t>(instruction << 32 | (steps[channel] + 1));
  int64_t words[SharedWorker::kCallWords];
  std::memcpy(words, &call, sizeof(call));
  auto &slot =
      communicator->worker(ownIndex).calls[channel][announced[channel]++ & 1];
  for (int64_t i = 0; i < SharedWorker::kCallWords; ++i)
    slot[i].store(words[i], std::memory_order_relaxed);
}

CollectiveCall Worker::callOf(int64_t worker, Channel channel) const {
  int64_t step = static_cast<int64_t>(instruction << 32 | steps[channel]);
  CollectiveCall last = {};
  for (auto &slot : communicator->worker(worker).calls[channel]) {
    int64_t words[SharedWorker::kCallWords];
    for (int64_t i = 0; i < SharedWorker::kCallWords; ++i)
      words[i] = slot[i].load(std::memory_order_relaxed);
    CollectiveCall call;
    std::memcpy(&call, words, sizeof(call));
    if (call.step == step)
      return call;
    if (call.step > last.step)
      last = call;
  }
  return last;
}

bool Worker::hasArrived(int64_t worker, Channel channel) const {
  const SharedWorker &other = communicator->worker(worker);
  uint64_t step = other.arrived[channel].load();
  if (step >> 32 == instruction)
    return static_cast<uint32_t>(step) >= steps[channel];
  return step >> 32 > instruction &&
         other.history[instruction % kHistory][channel].load() >=
             steps[channel];
}

bool Worker::haveArrived(Channel channel) const {
  for (int64_t i = 0; i < size(channel); ++i)
    if (!hasArrived(first(channel) + i, channel))
      return false;
  return true;
}

void Worker::meet(const relax_site &site, Channel channel) {
  constexpr std::chrono::microseconds kSpin(50);
  SharedWorker &self = communicator->worker(ownIndex);
  ++steps[channel];
  self.arrived[channel].store(instruction << 32 | steps[channel]);
  if (haveArrived(channel))
    return communicator->ring();
  communicator->ring();
  Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < kSpin) {
    for (int i = 0; i < 64; ++i)
      if (haveArrived(channel))
        return;
    std::this_thread::yield(); // the others may need the core
  }
  for (;;) {
    uint32_t seen = communicator->readBell();
    if (haveArrived(channel))
      return;
    checkMembers(site, channel);
    checkPatience(site, begin);
    communicator->sleep(seen);
  }
}

//===----------------------------------------------------------------------===//
// Why a worker does not come
//===----------------------------------------------------------------------===//

// The kind of errors that follow from those of other workers.
static constexpr const char *kConsequence = "CollectiveError";

static std::string nameWorker(int64_t worker) {
  return "worker " + std::to_string(worker);
}

void Worker::checkMember(const relax_site &site, Channel channel,
                         int64_t worker, bool withConsequences) const {
  const SharedWorker &other = communicator->worker(worker);
  bool isDead = other.isDead.load() != 0;
  bool hasEnded = other.ended.load() >= instruction;
  // It waits there for this worker, too.
  uint64_t step = other.arrived[kAllWorkers].load();
  bool isElsewhere = channel == kGroup && step >> 32 == instruction &&
                     static_cast<uint32_t>(step) > steps[kAllWorkers];
  if (hasArrived(worker, channel) || !(isDead || hasEnded || isElsewhere))
    return;
  std::string name = nameWorker(worker);
  if (isDead)
    throwAt(site, kConsequence, name + " has died: " + other.getFailure());
  if (hasEnded && other.failed.load() == instruction) {
    std::string failure = other.getFailure();
    if (!withConsequences && failure.rfind(kConsequence, 0) == 0)
      return;
    throwAt(site, kConsequence, name + " failed: " + failure);
  }
  if (hasEnded)
    throwAt(site, "ValueError",
            "expected all workers to call the same operators, but " + name +
                " has ended the call without coming here");
  throwAt(site, "ValueError",
          "expected the workers of a group to call the same operators, but " +
              name + " called " + describeCall(callOf(worker, kAllWorkers)) +
              " of all workers, and " + nameWorker(ownIndex) + " called " +
              describeCall(callOf(ownIndex, kGroup)) + " of its group");
}

void Worker::checkMembers(const relax_site &site, Channel channel) const {
  // The worker that failed first is the one to name.
  for (bool withConsequences : {false, true})
    for (int64_t i = 0; i < size(channel); ++i)
      checkMember(site, channel, first(channel) + i, withConsequences);
}

// Whether this process belongs to a controller that is gone.
static bool isOrphan(int64_t controller) {
#if defined(__unix__) || defined(__APPLE__)
  return getpid() != controller && getppid() != controller;
#else
  (void)controller;
  return false;
#endif
}

void Worker::checkPatience(const relax_site &site,
                           Clock::time_point begin) const {
  const SharedHeader &header = communicator->header();
  if (isInterrupted())
    throwAt(site, "KeyboardInterrupt",
            "interrupted while it waited for others");
  TVM_FFI_CHECK_SAFE_CALL(relax_signals_check());
  if (isOrphan(header.controller))
    throwAt(site, kConsequence, "the controller of the session has died");
  std::chrono::nanoseconds timeout(header.timeoutNanoseconds);
  if (timeout.count() == 0 || Clock::now() - begin < timeout)
    return;
  throwAt(site, "TimeoutError",
          "waited longer than the timeout of the session for other workers to "
          "come here");
}
