//===- Instrument.h - Observers of the calls of a VM ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two observers: a function of the user's, and the profiler.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_INSTRUMENT_H
#define RELAX_RUNTIME_VM_INSTRUMENT_H

#include "Interpreter.h"

namespace relax_runtime::vm {

// Calls a function before and after each call, see Instrument.cc.
std::shared_ptr<Observer> makeInstrument(ffi::Function function);

class VirtualMachine;

// Calls a function of a VM and measures. Returns its result, the nanoseconds
// that it took, a row for each instruction that called something, an event for
// each call up to `maxEvents`, and how many events that left out; see
// Profiler.cc.
ffi::Array<ffi::Any> profile(VirtualMachine vm, std::string_view name,
                             const ffi::AnyView *args, int32_t nargs,
                             int64_t maxEvents);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_INSTRUMENT_H
