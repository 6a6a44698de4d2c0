//===- Inliner.h - Functions that may be inlined ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_INLINER_H
#define RELAX_MLIR_IR_INLINER_H

#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// Whether the body of a function may take the place of a call of it, wherever
/// that is: it says nothing that would be lost, such as bounds of its variables
/// or that a library has it.
bool mayInline(FuncOp callee);

/// The same where nothing is lost with a function that was to become one kernel
/// (`Primitive`).
bool mayInlineFused(FuncOp callee);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_INLINER_H
