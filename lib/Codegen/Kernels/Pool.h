//===- Pool.h - Kernels that pool images ------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches reductions of sliding windows, and emits them over vectors of
// windows.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_POOL_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_POOL_H

#include "KernelClass.h"

namespace mlir::relax {

/// Reductions of windows of images in NCHW, and elementwise operations on the
/// result.
std::unique_ptr<KernelEmitter> matchPool2d(func::FuncOp kernel,
                                           const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_POOL_H
