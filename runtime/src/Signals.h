//===- Signals.h - Lets a signal end a run ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for a signal ten times a second, as that may have to wait for Python's
// lock. A run that is shorter than that never looks.
//
// Rationale: a tick is a few instructions, and the clock is read after 1, 2, 4,
// ... 32 ticks, from one again after a tick that was long. So short kernels
// hardly ever read it, and no more kernels run unwatched than ran before.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_SIGNALS_H
#define RELAX_RUNTIME_SIGNALS_H

#include "Internal.h"

namespace relax_runtime {

// Whether this thread is a worker of a session, whose controller has ended what
// it does; see disco/Communicator.h.
bool isInterruptedByController() noexcept;

class SignalCheck {
public:
  // Returns the check of this thread.
  static SignalCheck &get();

  // Before the outermost function of a thread runs.
  void start() {
    untilClock = ticks = 1;
    next = 0;
  }

  // At every call, kernel and jump back. Returns 0, or -1 with the error of a
  // signal.
  int tick() { return RELAX_LIKELY(--untilClock != 0) ? 0 : readClock(); }

private:
  static constexpr uint32_t kMostTicks = 32;
  // In nanoseconds.
  static constexpr int64_t kLong = 10'000'000, kPeriod = 100'000'000;

  int readClock();

  uint32_t untilClock = 1;
  // The number of ticks for which the clock was not read.
  uint32_t ticks = 1;
  int64_t last = 0, next = 0;
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_SIGNALS_H
