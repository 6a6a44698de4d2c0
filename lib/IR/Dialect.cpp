//===- Dialect.cpp - Registration of the Relax dialect -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"

using namespace mlir;
using namespace mlir::relax;

#include "relax-mlir/IR/RelaxDialect.cpp.inc"
#include "relax-mlir/IR/RelaxOpInterfaces.cpp.inc"

void RelaxDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}
