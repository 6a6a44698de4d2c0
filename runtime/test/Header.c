//===- Header.c - The border is plain C ---------------------------*- C -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the public header as C and calls through it.
//
//===----------------------------------------------------------------------===//

#include "relax_runtime.h"

int64_t readIntegerFromC(int64_t value) {
  TVMFFIAny slot = {0};
  relax_prim_set_int(&slot, value);
  return relax_prim_int(&slot);
}
