//===- MergeKernels.h - One kernel of several calls -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_FUSION_MERGEKERNELS_H
#define RELAX_MLIR_LIB_TRANSFORMS_FUSION_MERGEKERNELS_H

#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// The operations of a function without control flow: those of its block, with
/// those of dataflow blocks in place of them. None where there are others than
/// calls of kernels, tuples and constants.
std::optional<SmallVector<Operation *>> getStraightLine(FuncOp function);

/// Makes one kernel of those that `function` calls, and has its body call that
/// one. The kernel is in no module. Null, and nothing is changed, where it
/// calls less than two or some that cannot be merged, or returns anything but
/// what they compute.
func::FuncOp mergeKernels(FuncOp function, const SymbolTable &symbols);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_FUSION_MERGEKERNELS_H
