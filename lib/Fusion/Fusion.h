//===- Fusion.h - Functions that become one kernel -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `relax-fuse-ops` puts calls of kernels into functions, `relax-fuse-tir` makes
// a kernel of each of them. The attribute is what they agree on.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_FUSION_FUSION_H
#define RELAX_MLIR_LIB_FUSION_FUSION_H

#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// On a function whose calls of kernels are to become one kernel: true, or an
/// integer that is not 0. The name is TVM's.
inline constexpr llvm::StringLiteral kPrimitive = "Primitive";

bool isPrimitive(FuncOp function);

/// Joins operations on elements of a kernel on tensors where that saves a pass
/// over memory and computes nothing twice that costs.
void fuseLoops(func::FuncOp kernel);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_FUSION_FUSION_H
