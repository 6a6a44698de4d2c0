//===- Program.h - A program as it is compiled ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The actions of compiled code on the runtime: calls of every function that
// makes an object.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PROGRAM_H
#define RELAX_RUNTIME_TEST_PROGRAM_H

#include "Test.h"

// The statistics of cpu:`index`.
inline relax_memory_statistics statisticsOf(int32_t index = 0) {
  relax_memory_statistics result = {};
  CHECK(relax_memory_statistics_get(kDLCPU, index, &result) == 0);
  return result;
}

// Runs a program that makes objects of every kind so many times, on cpu:0 and
// cpu:1, and sums up what it reads from them. Returns -1 with an error, as
// compiled code does.
int runProgram(int64_t rounds, int64_t *sum);

// The sum that it should be.
int64_t sumOfProgram(int64_t rounds);

#endif // RELAX_RUNTIME_TEST_PROGRAM_H
