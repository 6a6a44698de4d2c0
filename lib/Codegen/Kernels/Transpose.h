//===- Transpose.h - Transposition in registers -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes blocks of vectors, and sums rows, by shuffles.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_TRANSPOSE_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_TRANSPOSE_H

#include "IndexBuilder.h"

namespace mlir::relax {

/// The columns of a matrix, given its rows: as many vectors as are given, each
/// of as many columns as fit. Both numbers are powers of two.
SmallVector<Value> transpose(IndexBuilder &b, SmallVector<Value> rows);

/// Vectors as one array whose size is a power of two, as the number of vectors
/// is: the place of each element is rotated to the left by some bits.
SmallVector<Value> rotatePlaces(IndexBuilder &b, SmallVector<Value> vectors,
                                unsigned bits);

/// Vectors as one array: what comes from which place.
SmallVector<Value> permute(IndexBuilder &b, ArrayRef<Value> vectors,
                           llvm::function_ref<int64_t(int64_t)> getSource);

/// A vector of the sums of the elements of each row, given as many rows as a
/// vector has elements, a power of two.
Value addRows(IndexBuilder &b, SmallVector<Value> rows);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_TRANSPOSE_H
