//===- Kernels.h - Kernels with a class of their own ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_CODEGEN_KERNELS_H
#define RELAX_MLIR_CODEGEN_KERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// Whether a kernel on tensors is softmax(queries * keys^T) * values, with
/// operations on elements of the scores, of the class "attention", and better
/// off as one kernel than as several. Fusion makes such kernels.
bool isAttentionKernel(func::FuncOp kernel);

/// Whether there is a class of kernels of this name, which a `relax.schedule`
/// may ask for; "none" is one.
bool isKernelClass(StringRef name);

/// Their names: "elementwise, attention, ...".
std::string listKernelClasses();

} // namespace mlir::relax

#endif // RELAX_MLIR_CODEGEN_KERNELS_H
