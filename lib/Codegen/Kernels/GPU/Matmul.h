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

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// Emits the launches of products of matrices, which are not packed. Those of
/// f16 or bf16 with sums of f32 are computed by tensor cores, and those of f32
/// where the target says that they may be rounded.
void emitDeviceMatmul(IndexBuilder &b, const MatmulProblem &problem);

/// Whether an operation on memory adds a product of matrices to its result.
bool isDeviceProduct(linalg::GenericOp op);

/// Launches that product in its place.
void launchProduct(linalg::GenericOp op);

/// Whether there is an emitter for elements and sums of these types.
bool isDeviceMatmul(Type lhs, Type rhs, Type sum);

/// Emits a product of few rows by a kernel that reads the right matrix once;
/// `otherwise` is for more rows, and for matrices that are not aligned.
void emitFewRowsOr(IndexBuilder &b, const MatmulProblem &problem,
                   IndexBuilder::Body otherwise);

/// By tensor cores: both matrices have elements of f16 or bf16, or of f32,
/// which are rounded to tf32.
void emitTensorCoreMatmul(IndexBuilder &b, const MatmulProblem &problem);

/// By wgmma where the device of the kernel has it and the product has many
/// tiles; `otherwise` is for the rest. Rows of both matrices are aligned to 16
/// bytes.
void emitWarpgroupMatmulOr(IndexBuilder &b, const MatmulProblem &problem,
                           IndexBuilder::Body otherwise);

/// The place of a result, or of the first one of a block of threads.
struct BlockPlace {
  Value batch, row, column;
};

/// The results that a block computes.
struct TileSize {
  int64_t rows, columns;
};

/// Emits a product by `emit`, whose blocks have such tiles and go through the
/// depth in steps; where that makes few blocks, blocks share the depth of a
/// tile. `emit` heeds `depthRange`.
void emitSplit(IndexBuilder &b, const MatmulProblem &problem, TileSize tile,
               int64_t stepDepth,
               llvm::function_ref<void(const MatmulProblem &)> emit);

/// Where the depth that a product of the batch sums up begins and ends.
std::pair<Value, Value>
getDepthRange(IndexBuilder &b, const MatmulProblem &problem, Value batch);

/// The number of tiles of all products of the batch.
Value countTiles(IndexBuilder &b, const MatmulProblem &problem, TileSize tile);

/// A launch with a block of `threads` threads for each tile of each product.
gpu::LaunchOp
launchTiles(IndexBuilder &b, const MatmulProblem &problem, TileSize tile,
            int64_t threads, TypeRange shared,
            llvm::function_ref<void(IndexBuilder &, const BlockPlace &,
                                    Value thread, ValueRange shared)>
                body);

/// The number of elements in 16 bytes of a matrix.
int64_t getChunk(const MatrixView &matrix);

/// Whether rows of a matrix begin at chunks of so many elements: `width` is the
/// size of the dimension whose elements are contiguous, a factor of all
/// strides.
Value isMatrixAligned(IndexBuilder &b, const MatrixView &matrix, Value width,
                      int64_t chunk);

/// Whether all of `arguments` that are memory begin at a multiple of 16 bytes,
/// and `width` is a multiple of so many elements.
Value areAligned(IndexBuilder &b, ValueRange arguments, Value width,
                 int64_t count);

/// The element of a matrix, or 0 where it has no such row or column.
Value loadInside(IndexBuilder &b, const MatrixView &matrix, Value row,
                 Value column, Value isRow, Value isColumn);

/// What `load` gives, or zeros where the product has no depth, so that matrices
/// may have no memory.
SmallVector<Value>
loadFirst(IndexBuilder &b, const MatmulProblem &problem,
          llvm::function_ref<SmallVector<Value>(IndexBuilder &)> load);

/// Takes a sum, complete.
void finishSum(IndexBuilder &b, const MatmulProblem &problem, Value sum,
               const BlockPlace &place);

/// The same, where it is in the result.
void finishInside(IndexBuilder &b, const MatmulProblem &problem, Value sum,
                  const BlockPlace &place);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_MATMUL_H
