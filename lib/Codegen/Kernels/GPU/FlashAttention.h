//===- FlashAttention.h - Attention on GPUs ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_FLASHATTENTION_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_FLASHATTENTION_H

#include "KernelClass.h"

namespace mlir::relax {

/// Attention of parameters of f16 or bf16, in one pass over the keys.
std::unique_ptr<KernelEmitter> matchDeviceAttention(func::FuncOp kernel,
                                                    const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_FLASHATTENTION_H
