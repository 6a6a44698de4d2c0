//===- PatternWalks.h - Patterns that keep what has errors ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_PATTERNWALKS_H
#define RELAX_MLIR_LIB_TRANSFORMS_PATTERNWALKS_H

#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::relax {

/// Applies patterns to the operations below `root` until none matches. Unlike
/// upstream's greedy driver it removes no operation that is not used: an
/// operator outside of a dataflow block may end with an error.
void applyPatternsInWalks(Operation *root,
                          const FrozenRewritePatternSet &patterns);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_PATTERNWALKS_H
