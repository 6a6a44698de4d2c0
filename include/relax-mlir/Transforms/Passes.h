//===- Passes.h - Passes from Relax to Relax, and of kernels -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TRANSFORMS_PASSES_H
#define RELAX_MLIR_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::relax {

/// The checks of structural information that a compiled program makes.
enum class CheckMode {
  All,
  /// Those without which reading memory is unsafe: the caller is trusted.
  Necessary
};

/// Simplifies functions. From the bottom to the top it takes a third of the
/// time, since what nothing uses goes first. Where there are branches,
/// `simplifyBlocks` merges blocks and drops their dead arguments; loops and
/// conditions have none, and to look for them takes up to half of the time.
void addTidying(OpPassManager &pm, bool simplifyBlocks = false);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "relax-mlir/Transforms/Passes.h.inc"

} // namespace mlir::relax

#endif // RELAX_MLIR_TRANSFORMS_PASSES_H
