//===- RowLaunch.h - Rows by blocks of threads ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ROWLAUNCH_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ROWLAUNCH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// Makes one launch of the first of `ops`, operations one after the other on
/// memrefs, as far as each needs of a row nothing but that row; at least one of
/// them reduces rows. Its loops that are parallel are its first ones. Erases
/// them, and returns their number: 0 where there is no such launch.
size_t launchRows(ArrayRef<linalg::GenericOp> ops);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ROWLAUNCH_H
