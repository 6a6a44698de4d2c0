//===- Operands.h - Operands of a call as values ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands of a call in the form that instruments and the profiler show.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_OPERANDS_H
#define RELAX_RUNTIME_VM_OPERANDS_H

#include "Interpreter.h"

namespace relax_runtime::vm {

// The operands of a call without sites: a list of integers is a shape, a list
// of values a tuple, a function its name. Throws.
std::vector<ffi::Any> getOperands(const Frame &frame, const Step &step);

// The function that a call calls, where it is a value; None for kernels and
// builtins. Throws.
ffi::Any getCallee(const Frame &frame, const Step &step);

// The result of a call that ran; None where it has none.
ffi::Any getResult(const Frame &frame, const Step &step);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_OPERANDS_H
