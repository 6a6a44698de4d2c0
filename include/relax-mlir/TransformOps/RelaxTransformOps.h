//===- RelaxTransformOps.h - Schedules of Relax -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of RelaxTransformOps.td. To register them, Registration.h is
// enough.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TRANSFORMOPS_RELAXTRANSFORMOPS_H
#define RELAX_MLIR_TRANSFORMOPS_RELAXTRANSFORMOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/MatchInterfaces.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "relax-mlir/TransformOps/RelaxTransformOps.h.inc"

#endif // RELAX_MLIR_TRANSFORMOPS_RELAXTRANSFORMOPS_H
