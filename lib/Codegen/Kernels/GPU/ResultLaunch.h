//===- ResultLaunch.h - Threads for results ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_RESULTLAUNCH_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_RESULTLAUNCH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// Makes a structured operation whose parallel loops come first, and are all
/// that its results depend on, a launch of a thread for each place of these
/// loops.
void launchResults(linalg::GenericOp op);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_RESULTLAUNCH_H
