//===- TimeEvaluator.cc - Run time of a function ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop that measures. Devices are waited for, those of the arguments.
//
//===----------------------------------------------------------------------===//

#include "TimeEvaluator.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace relax_runtime;
using namespace relax_runtime::vm;

using Clock = std::chrono::steady_clock;

static void waitForDevices(const ffi::AnyView *args, int32_t nargs) {
  for (int32_t i = 0; i < nargs; ++i)
    if (const DLTensor *tensor =
            getTensor(reinterpret_cast<const TVMFFIAny *>(&args[i])))
      if (tensor->device.device_type != kDLCPU)
        TVM_FFI_CHECK_SAFE_CALL(relax_device_synchronize(
            tensor->device.device_type, tensor->device.device_id));
}

static double secondsOf(const ffi::Function &function, int64_t number,
                        const ffi::AnyView *args, int32_t nargs) {
  ffi::Any result;
  waitForDevices(args, nargs);
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < number; ++i)
    function.CallPacked(args, nargs, &result);
  waitForDevices(args, nargs);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<double> relax_runtime::vm::measure(const ffi::Function &function,
                                               int64_t number, int64_t repeat,
                                               double minRepeatMs,
                                               const ffi::AnyView *args,
                                               int32_t nargs) {
  if (number < 1 || repeat < 1)
    RELAX_THROW(ValueError)
        << "expected a number and a repeat of at least 1, but got " << number
        << " and " << repeat;
  if (!(minRepeatMs >= 0) || std::isinf(minRepeatMs))
    RELAX_THROW(ValueError)
        << "expected at least 0 milliseconds, but got " << minRepeatMs;
  secondsOf(function, 1, args, nargs);
  std::vector<double> results;
  for (int64_t i = 0; i < repeat; ++i) {
    double seconds = secondsOf(function, number, args, nargs);
    // Aims a little beyond, and at most ten times as far at once.
    while (seconds * 1e3 < minRepeatMs) {
      double factor = minRepeatMs / std::max(seconds * 1e3, 1e-6) * 1.1;
      number = static_cast<int64_t>(
          std::ceil(double(number) * std::min(std::max(factor, 1.5), 10.0)));
      seconds = secondsOf(function, number, args, nargs);
    }
    results.push_back(seconds / double(number));
  }
  return results;
}
