//===- InlineDataflow.h - Bindings of a block in its place ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_INLINEDATAFLOW_H
#define RELAX_MLIR_LIB_TRANSFORMS_INLINEDATAFLOW_H

#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// Puts the bindings of a dataflow block in its place, and returns what its
/// results were: under the types that were declared, as others rely on them,
/// which may say less.
SmallVector<Value> inlineDataflow(DataflowOp dataflow, RewriterBase &rewriter);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_INLINEDATAFLOW_H
