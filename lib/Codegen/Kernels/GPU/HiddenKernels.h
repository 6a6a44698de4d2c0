//===- HiddenKernels.h - Kernels that bufferization skips -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that a class of a device has emitted is on memrefs and frees what it
// allocates. The deallocation pass of upstream looks into all functions, and
// refuses barriers and what tensor cores do. So such a kernel waits as a
// function of a gpu.module, and is a declaration meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_HIDDENKERNELS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_HIDDENKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

void hideKernel(func::FuncOp kernel);

/// Gives all kernels of a module their bodies back.
void revealKernels(ModuleOp module);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_HIDDENKERNELS_H
