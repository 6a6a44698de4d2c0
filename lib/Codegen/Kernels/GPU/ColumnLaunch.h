//===- ColumnLaunch.h - Columns by blocks of threads ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_COLUMNLAUNCH_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_COLUMNLAUNCH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// A launch of an operation that reduces, whose first `numParallel` loops are
/// parallel, in place of it: for rows that do not lie in memory one after the
/// other. False where it is no reduction by one operation for each result.
bool launchColumns(linalg::GenericOp op, unsigned numParallel);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_COLUMNLAUNCH_H
