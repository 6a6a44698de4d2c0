//===- Registration.h - The extension of the transform dialect --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TRANSFORMOPS_REGISTRATION_H
#define RELAX_MLIR_TRANSFORMOPS_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::relax {

/// Adds the operations `transform.relax.*` to the transform dialect, and the
/// constraints `relax.*` to the patterns of `transform.with_pdl_patterns`.
void registerTransformExtension(DialectRegistry &registry);

} // namespace mlir::relax

#endif // RELAX_MLIR_TRANSFORMOPS_REGISTRATION_H
