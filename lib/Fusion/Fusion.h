//===- Fusion.h - What the parts of fusion share ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of fusion share beside Outline.h.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_FUSION_FUSION_H
#define RELAX_MLIR_LIB_FUSION_FUSION_H

#include "relax-mlir/Fusion/Outline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// Joins operations on elements of a kernel on tensors where that saves a pass
/// over memory and computes nothing twice that costs.
void fuseLoops(func::FuncOp kernel);

/// Removes conversions of floats to integers and back that change nothing.
void foldConversions(func::FuncOp kernel);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_FUSION_FUSION_H
