//===- TargetModel.h - The processor, as kernels see it ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The width of its vectors and the sizes of its caches, from which tiles and
// panels follow.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_TARGETMODEL_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_TARGETMODEL_H

#include "mlir/IR/Types.h"

namespace mlir::relax {

struct TargetModel {
  /// The width of a vector register.
  unsigned vectorBits = 128;
  /// The sizes in bytes of the caches that a core has for itself.
  int64_t l1Bytes = 32 << 10, l2Bytes = 512 << 10;

  /// The processor that this runs on; numbers that are not 0 replace what is
  /// found there.
  static TargetModel get(unsigned vectorBits, int64_t l1Bytes = 0,
                         int64_t l2Bytes = 0);

  /// Returns the number of elements of a type with `bits` that a register
  /// holds.
  int64_t lanes(unsigned bits) const {
    return std::max<int64_t>(vectorBits / bits, 1);
  }
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_TARGETMODEL_H
