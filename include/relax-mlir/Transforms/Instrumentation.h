//===- Instrumentation.h - For passes of MLIR -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TRANSFORMS_INSTRUMENTATION_H
#define RELAX_MLIR_TRANSFORMS_INSTRUMENTATION_H

#include <memory>

namespace mlir {
class PassInstrumentation;

namespace relax {

/// Lets MLIR's --remove-dead-values run on modules of Relax. The pass aborts
/// where a private function has references other than calls, as kernels and
/// functions as values have, and takes results that no call needs, though a
/// function of Relax has one. It leaves public functions alone, so these are
/// public while it runs.
std::unique_ptr<PassInstrumentation> createSignatureKeeper();

} // namespace relax
} // namespace mlir

#endif // RELAX_MLIR_TRANSFORMS_INSTRUMENTATION_H
