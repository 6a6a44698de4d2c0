//===- Signals.cc - Lets a signal end a run ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clock, and what a signal raises.
//
//===----------------------------------------------------------------------===//

#include "Signals.h"

#include <algorithm>
#include <chrono>
#if defined(__linux__)
#include <time.h>
#endif
#include <tvm/ffi/extra/c_env_api.h>

using namespace relax_runtime;

// In nanoseconds; a few milliseconds late where that is cheaper.
static int64_t readNanoseconds() noexcept {
#if defined(__linux__)
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0)
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
#endif
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

RELAX_NOINLINE int SignalCheck::readClock() {
  int64_t now = readNanoseconds();
  ticks = now - last > kLong ? 1 : std::min(2 * ticks, kMostTicks);
  untilClock = ticks;
  last = now;
  if (next == 0)
    next = now + kPeriod;
  if (now < next)
    return 0;
  next = now + kPeriod;
  if (isInterruptedByController()) {
    raiseText("KeyboardInterrupt", "interrupted by the controller");
    return -1;
  }
  if (TVMFFIEnvCheckSignals() == 0)
    return 0;
  // The kind that tvm-ffi gives an error that Python already knows.
  TVMFFIErrorSetRaisedFromCStr("EnvErrorAlreadySet", "");
  return -1;
}

int relax_signals_check(void) { return SignalCheck::get().tick(); }
