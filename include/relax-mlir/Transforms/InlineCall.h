//===- InlineCall.h - One call of a Relax function --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TRANSFORMS_INLINECALL_H
#define RELAX_MLIR_TRANSFORMS_INLINECALL_H

#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// Whether the place of a call can have the body of the callee: a dataflow
/// block has no control flow.
bool fitsAt(CallOp call, FuncOp callee);

/// Puts the body of the callee in the place of a call. `taken` are the names of
/// shape variables that the caller has, to which those of the body are added.
void inlineCall(CallOp call, FuncOp callee, RewriterBase &rewriter,
                llvm::StringSet<> &taken);

} // namespace mlir::relax

#endif // RELAX_MLIR_TRANSFORMS_INLINECALL_H
