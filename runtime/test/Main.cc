//===- Main.cc - Runs the tests of the runtime ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs every group of tests; the exit code is 1 where a check failed.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

extern "C" int64_t readIntegerFromC(int64_t value);

int main() {
  CHECK(readIntegerFromC(-7) == -7);
  testCheck();
  testClosure();
  testConcat();
  testDisco();
  testFrame();
  testFunction();
  testHeader();
  testPacked();
  testParallel();
  testPool();
  testScratch();
  testStorage();
  testStructInfoOfClosures();
  testTensor();
  testValues();
  testVm();
  return reportChecks();
}
