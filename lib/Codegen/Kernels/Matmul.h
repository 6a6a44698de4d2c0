//===- Matmul.h - Kernels that are matrix products --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches a contraction with its producers and its epilogue, and emits it by
// MatmulEmitter.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMUL_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMUL_H

#include "KernelClass.h"
#include "PackedWeights.h"
#include "Winograd.h"

namespace mlir::relax {

/// One contraction of two parameters, and elementwise operations on its result.
std::unique_ptr<KernelEmitter> matchMatmul(func::FuncOp kernel,
                                           const TargetModel &target);

/// Whether such a kernel can have the tile of its schedule: rows and columns.
LogicalResult verifyMatmulTile(func::FuncOp kernel, const TargetModel &target);

/// The same kernels for devices.
std::unique_ptr<KernelEmitter> matchDeviceMatmul(func::FuncOp kernel,
                                                 const TargetModel &target);

/// A parameter that may come in panels: `width` columns of a matrix, row after
/// row, and zeros where it has fewer. With more dimensions than two, the first
/// one makes the columns, and the others are the rows: in `rowOrder`, or in
/// their own where it is empty.
struct PackedMatrix {
  unsigned parameter;
  int64_t columnAxis, width;
  SmallVector<int64_t> rowOrder = {};
  /// Of weights of windows that are transformed before.
  std::optional<WinogradTile> winograd = std::nullopt;
  /// How many elements that follow one another in a column lie together.
  int64_t wordSize = 1;

  /// The dimensions: columns, then rows.
  SmallVector<int64_t> getOrder(int64_t rank) const;
};

/// The parameter of a kernel of this class that is a matrix of known size, with
/// all that is to be known to pack it. Whether the kernel is prepared is all
/// the same.
std::optional<PackedMatrix> findPackable(func::FuncOp kernel,
                                         const TargetModel &target);

/// The right matrix of a kernel of this class that is made of quantized
/// weights, which are packed where they are constants.
std::optional<QuantizedWeights> findQuantizedWeights(func::FuncOp kernel,
                                                     const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMUL_H
