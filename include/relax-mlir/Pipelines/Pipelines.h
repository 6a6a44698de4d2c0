//===- Pipelines.h - The phases of compilation -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_PIPELINES_PIPELINES_H
#define RELAX_MLIR_PIPELINES_PIPELINES_H

#include "relax-mlir/Codegen/VM.h"
#include "relax-mlir/Transforms/Passes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace mlir::relax {

/// The choices of a user; each pipeline takes them as options.
struct CompileOptions {
  CheckMode checks = CheckMode::All;
  ExecMode execMode = ExecMode::Compiled;
  /// Whether tensors share memory, reshapes are views and kernels write over
  /// inputs that die.
  bool planMemory = true;
  /// Whether kernels that are called one after the other become one.
  bool fuse = true;
  /// Whether kernels of known classes are written as loops over vectors.
  bool emitKernels = true;
  /// The width of their vectors in bits, and the caches of a core in bytes; 0
  /// means those of this processor.
  unsigned vectorBits = 0;
  int64_t l1Bytes = 0, l2Bytes = 0;
  /// Whether results may be less accurate.
  bool fastMath = false;
  /// Whether the processor has the instruction vscalefps of AVX-512.
  bool hasScalef = false;
  /// Whether constant weights of convolutions may be transformed for the
  /// algorithm of Winograd.
  bool winograd = true;
};

/// A named phase of compilation: a pipeline `relax-phase-<name>`.
struct Phase {
  const char *name;
  const char *description;
  void (*build)(OpPassManager &pm, const CompileOptions &options);
};

/// The phases from a Relax module to the LLVM dialect, in order.
llvm::ArrayRef<Phase> getPhases();

/// Registers the passes, one pipeline for each phase, and `relax-to-llvm`,
/// which runs them all.
void registerPassesAndPipelines();

} // namespace mlir::relax

#endif // RELAX_MLIR_PIPELINES_PIPELINES_H
