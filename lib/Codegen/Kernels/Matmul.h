//===- Matmul.h - Kernels that are matrix products --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMUL_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMUL_H

#include "KernelClass.h"

namespace mlir::relax {

/// One contraction of two parameters, and elementwise operations on its result.
std::unique_ptr<KernelEmitter> matchMatmul(func::FuncOp kernel,
                                           const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMUL_H
