//===- KernelTile.h - Tiles that users ask for ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `relax.schedule` may have the sizes of the tile of sums that stay in
// registers, for classes whose models choose it. What cannot be used is ignored
// until the kernel is emitted, which is where it is reported.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELTILE_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELTILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// The loops that a tile is for, by the dimension that is the lanes of vectors.
enum class TileKind {
  /// Rows, a power of two, x vectors of columns: those of a matrix product.
  RowsByVectors,
  /// Vectors of output channels x pixels: those of a direct convolution.
  VectorsByPixels
};

/// Whether the loops can have a tile, with vectors of so many lanes.
bool isTile(ArrayRef<int64_t> tile, TileKind kind, int64_t lanes);

/// Reports, at the kernel, that the tile of its schedule is none. `first` and
/// `second` are what its sizes count.
LogicalResult verifyTile(func::FuncOp kernel, TileKind kind, int64_t lanes,
                         StringRef first, StringRef second);

/// Reports a tile of loops that have none.
LogicalResult rejectTile(func::FuncOp kernel, StringRef loops);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELTILE_H
