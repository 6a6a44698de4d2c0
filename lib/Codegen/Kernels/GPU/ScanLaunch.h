//===- ScanLaunch.h - Scans by blocks of threads ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_SCANLAUNCH_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_SCANLAUNCH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// Launches an operation that writes what it has combined so far to each place
/// of a line, and the total to a second result. Its parallel loops are the
/// first ones. Returns false, and leaves it as it is, where it is no such one.
bool launchScan(linalg::GenericOp op);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_SCANLAUNCH_H
