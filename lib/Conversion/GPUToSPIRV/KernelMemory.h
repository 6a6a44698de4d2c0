//===- KernelMemory.h - Memrefs as pointers of SPIR-V -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_GPUTOSPIRV_KERNELMEMORY_H
#define RELAX_MLIR_LIB_CONVERSION_GPUTOSPIRV_KERNELMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace mlir::relax {

/// The integer that has the bits of an element of memory which SPIR-V has no
/// type for, such as bf16; any other type as it is.
Type getElementBits(Type type);

/// Moves a kernel to a module of SPIR-V, as a function whose memory is
/// pointers. Its parameters are addresses and words of 64 bits, in the order of
/// `relax-lower-launches`. Everything but memory stays as it is.
FailureOr<spirv::FuncOp> lowerKernelMemory(gpu::GPUFuncOp kernel,
                                           spirv::ModuleOp module);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_GPUTOSPIRV_KERNELMEMORY_H
