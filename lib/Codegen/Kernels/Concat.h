//===- Concat.h - Tensors one after another ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches concatenations along an axis, and emits them as one call of the
// runtime, which copies as fast as memory allows: loops of each operand would
// be much code for networks that concatenate dozens of tensors.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_CONCAT_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_CONCAT_H

#include "KernelClass.h"

namespace mlir::relax {

/// Parameters that are copied into slices of the result, one after another
/// along an axis.
std::unique_ptr<KernelEmitter> matchConcat(func::FuncOp kernel,
                                           const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_CONCAT_H
