//===- RowKernel.h - Elementwise kernels, reductions of rows ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches kernels whose operations share one iteration space and reduce only
// its innermost dimensions: elementwise chains, softmax, norms, sums.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWKERNEL_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWKERNEL_H

#include "KernelClass.h"

namespace mlir::relax {

/// Kernels without reductions: elementwise, broadcast, transposed.
std::unique_ptr<KernelEmitter> matchElementwise(func::FuncOp kernel,
                                                const TargetModel &target);

/// Kernels all of whose reductions are over the same rows, such as softmax, and
/// what is computed from these and the elements of the row.
std::unique_ptr<KernelEmitter> matchRows(func::FuncOp kernel,
                                         const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWKERNEL_H
