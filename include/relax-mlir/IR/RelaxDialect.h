//===- RelaxDialect.h - The dialect and its attributes ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The class of the dialect, and with it the discardable attributes that
// RelaxDialect.td declares: RelaxDialect::GrainAttrHelper(context).getAttr(op).
// For code on kernels, which has no need of the operations.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_RELAXDIALECT_H
#define RELAX_MLIR_IR_RELAXDIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"

#include "relax-mlir/IR/RelaxDialect.h.inc"

#endif // RELAX_MLIR_IR_RELAXDIALECT_H
