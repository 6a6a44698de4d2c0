//===- Functions.h - Packed functions of workers ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operators of workers become in programs. After the attributes come
// the function and the location, for errors, and the tensor of the result.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_DISCO_FUNCTIONS_H
#define RELAX_RUNTIME_DISCO_FUNCTIONS_H

#include "../Internal.h"

namespace relax_runtime {

void runAllReduce(ffi::AnyView x, ffi::String reduction, int64_t inGroup,
                  ffi::String function, ffi::String location,
                  ffi::AnyView result);
void runAllGather(ffi::AnyView x, int64_t numWorkers, int64_t inGroup,
                  ffi::String function, ffi::String location,
                  ffi::AnyView result);
void runBroadcast(ffi::AnyView x, ffi::String function, ffi::String location,
                  ffi::AnyView result);
void runScatter(ffi::AnyView x, int64_t numWorkers, int64_t axis,
                ffi::String function, ffi::String location,
                ffi::AnyView result);

void runTakePart(ffi::AnyView x, int64_t numWorkers, int64_t axis,
                 ffi::String function, ffi::String location,
                 ffi::AnyView result);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_DISCO_FUNCTIONS_H
