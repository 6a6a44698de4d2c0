//===- InitAll.h - Registration of everything -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_INITALL_H
#define RELAX_MLIR_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::relax {

/// Registers Relax and all of upstream MLIR: dialects, extensions, passes and
/// the translation to LLVM IR.
void registerAll(DialectRegistry &registry);

} // namespace mlir::relax

#endif // RELAX_MLIR_INITALL_H
