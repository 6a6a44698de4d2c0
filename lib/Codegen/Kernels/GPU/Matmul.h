//===- Matmul.h - Products of matrices on GPUs -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_MATMUL_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_MATMUL_H

#include "KernelClass.h"

namespace mlir::relax {

/// A contraction of two matrices, or batches of them, of f16 or bf16, and
/// elementwise operations on its result: see KernelClass::match.
std::unique_ptr<KernelEmitter> matchDeviceMatmul(func::FuncOp kernel,
                                                 const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_MATMUL_H
