//===- ScalarLoops.h - Loops without vectors --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_SCALARLOOPS_H
#define RELAX_MLIR_ANALYSIS_SCALARLOOPS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::relax {

/// Whether a function has loops and no vectors, so that LLVM should look for
/// vectors in them. Others keep the loops that a kernel class wrote.
bool hasScalarLoops(LLVM::LLVMFuncOp function);

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_SCALARLOOPS_H
