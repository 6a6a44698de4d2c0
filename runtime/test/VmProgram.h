//===- VmProgram.h - A program in text assembly -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that makes and drops values of every kind in each round.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_VMPROGRAM_H
#define RELAX_RUNTIME_TEST_VMPROGRAM_H

#include "Test.h"

// main(n, x) counts from n down to 0, each time through a kernel, a closure, a
// tuple, an ADT and a call that is not the last; see expectedOfVm.
extern const char *const kVmProgram;

// A function of a new machine, with the kernel of the program bound. Throws.
ffi::Function makeVmFunction(const std::string &text, const std::string &name);

// main(n, x) of the program; "" or the error, "kind: message".
std::string callVm(const ffi::Function &main, int64_t n, const Slot &tensor);

// The number that main(n, [0]) returns, and the one that it should return.
int64_t runVm(const ffi::Function &main, int64_t n);
int64_t expectedOfVm(int64_t n);

#endif // RELAX_RUNTIME_TEST_VMPROGRAM_H
