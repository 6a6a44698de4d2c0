//===- Ops.cpp - Generated definitions of all operations -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing but generated code: it takes long to compile and changes seldom.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::relax;

void RelaxDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "relax-mlir/IR/RelaxOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "relax-mlir/IR/RelaxOps.cpp.inc"
