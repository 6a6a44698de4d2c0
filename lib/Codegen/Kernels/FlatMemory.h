//===- FlatMemory.h - Memrefs in one dimension ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels address the elements of a memref of any rank in one dimension: an
// address is the sum of an offset and of indices times strides. Sizes and
// strides that types tell are constants.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_FLATMEMORY_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_FLATMEMORY_H

#include "IndexBuilder.h"

namespace mlir::relax {

struct FlatMemory {
  /// Of a memref of the identity layout, whose strides follow from its sizes.
  static FlatMemory get(IndexBuilder &b, Value memref);

  /// Of a memref with any strides and any offset.
  static FlatMemory getStrided(IndexBuilder &b, Value memref);

  /// The memref in one dimension.
  Value elements;
  Value offset;
  SmallVector<Value> sizes, strides;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_FLATMEMORY_H
