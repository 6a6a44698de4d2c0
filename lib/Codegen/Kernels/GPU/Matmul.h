//===- Matmul.h - Products of matrices on GPUs ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_MATMUL_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_MATMUL_H

#include "MatmulEmitter.h"

namespace mlir::relax {

/// Emits the launches of products of matrices, which are not packed. Those of
/// f16 or bf16 with sums of f32 are computed by tensor cores.
void emitDeviceMatmul(IndexBuilder &b, const MatmulProblem &problem);

/// Whether there is an emitter for elements and sums of these types.
bool isDeviceMatmul(Type lhs, Type rhs, Type sum);

/// By tensor cores: both matrices have elements of f16 or bf16.
void emitTensorCoreMatmul(IndexBuilder &b, const MatmulProblem &problem);

/// The place of a block of threads in a product.
struct BlockPlace {
  Value batch, row, column;
};

/// A launch with a block of `threads` threads for each `tile` x `tile` results
/// of each product.
void launchTiles(IndexBuilder &b, const MatmulProblem &problem, int64_t tile,
                 int64_t threads, TypeRange shared,
                 llvm::function_ref<void(IndexBuilder &, const BlockPlace &,
                                         Value thread, ValueRange shared)>
                     body);

/// The element of a matrix, 0 outside of it.
Value loadInside(IndexBuilder &b, const MatrixView &matrix, Value row,
                 Value column, Value numRows, Value numColumns);

/// Takes a sum, where it is in the result.
void finishInside(IndexBuilder &b, const MatmulProblem &problem, Value sum,
                  Value batch, Value row, Value column);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_MATMUL_H
