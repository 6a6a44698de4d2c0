//===- TimeEvaluator.h - Run time of a function -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures a function without the cost of calling it from Python.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_TIMEEVALUATOR_H
#define RELAX_RUNTIME_VM_TIMEEVALUATOR_H

#include "../Internal.h"

#include <vector>

namespace relax_runtime::vm {

// After one call that does not count, measures `number` calls `repeat` times;
// `number` grows until they take `minRepeatMs` milliseconds together. Returns
// the seconds that one call took, for each repetition. Throws.
std::vector<double> measure(const ffi::Function &function, int64_t number,
                            int64_t repeat, double minRepeatMs,
                            const ffi::AnyView *args, int32_t nargs);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_TIMEEVALUATOR_H
