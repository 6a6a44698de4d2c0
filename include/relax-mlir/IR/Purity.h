//===- Purity.h - Purity of operations --------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_PURITY_H
#define RELAX_MLIR_IR_PURITY_H

#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// Whether impure operations of `function`, a relax.func or relax.closure, are
/// disregarded (`relax.force_pure`).
bool isForcePure(Operation *function);

/// Whether `function` is pure by what it does, not by a promise.
bool isPureFunction(Operation *function);

/// Calls back for each impure operation that runs when `function`, a relax.func
/// or relax.closure, is called: not for those of closures in it (DR15).
void walkImpure(Operation *function,
                llvm::function_ref<void(Operation *)> visit);

/// Reports the impure operations of a pure function (DR15).
LogicalResult verifyPurity(Operation *function);

/// Sets `relax.force_pure` on a function that is pure and, now that calls are
/// lowered, has impure operations.
void forcePurity(Operation *function);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_PURITY_H
