//===- RaiseKernels.h - Kernels on memrefs as ones on tensors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_FUSION_RAISEKERNELS_H
#define RELAX_MLIR_LIB_TRANSFORMS_FUSION_RAISEKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// Makes linalg operations of nests of loops with loads and stores, where that
/// is what they compute.
void raiseLoops(func::FuncOp kernel);

/// Has a kernel that writes its last `numOutputs` parameters, which are
/// memrefs, take and return tensors instead. False, and nothing but loops is
/// changed, where it does what there is no counterpart for.
bool raiseToTensors(func::FuncOp kernel, unsigned numOutputs);

/// Raises what kernels of a module can be: those that nothing but
/// `relax.call_tir` calls.
void raiseKernels(ModuleOp module);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_FUSION_RAISEKERNELS_H
