//===- DropChecks.h - Remove checks of structural information -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_DROPCHECKS_H
#define RELAX_MLIR_LIB_TRANSFORMS_DROPCHECKS_H

#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// Removes all checks of a function whose shapes were lowered but those that
/// keep reads of memory safe: before a value is read, that it is of the kind
/// and rank that its type says.
void dropChecks(FuncOp func);

/// The value behind casts that were checked.
Value stripCasts(Value value);

/// Removes operations without uses that only read dimensions or compute with
/// them.
void eraseDeadDims(FuncOp func);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_DROPCHECKS_H
