//===- ControlFlow.h - Loops and branches of kernels ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops and branches that carry values, and how threads share loops.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_CONTROLFLOW_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_CONTROLFLOW_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::relax {

/// Values that a loop carries from one iteration to the next, or a branch
/// returns.
using Carried = SmallVector<Value>;

/// A loop from `begin` to `end`; returns what it carries at the end.
Carried buildLoop(ImplicitLocOpBuilder &b, Value begin, Value end, Value step,
                  ValueRange carried,
                  llvm::function_ref<Carried(Value, ValueRange)> body);

/// A loop over `count` parts of `size` elements, all but the last ones of which
/// have `length`. `body` gets the number of a part, where it begins and ends,
/// and what the loop carries.
Carried buildPartLoop(
    ImplicitLocOpBuilder &b, Value size, Value count, Value length,
    ValueRange carried,
    llvm::function_ref<Carried(Value, Value, Value, ValueRange)> body);

/// The values, of `types`, that the branch returns which `condition` chooses.
Carried buildIf(ImplicitLocOpBuilder &b, TypeRange types, Value condition,
                llvm::function_ref<Carried()> thenBranch,
                llvm::function_ref<Carried()> elseBranch);
/// The same for one value.
Value buildIf(ImplicitLocOpBuilder &b, Type type, Value condition,
              llvm::function_ref<Value()> thenBranch,
              llvm::function_ref<Value()> elseBranch);

/// Whether any lane of a vector of i1 is set.
Value buildAnyLane(ImplicitLocOpBuilder &b, Value lanes);

/// A loop over the lanes of a vector of i1 that are set, in order; a vector
/// without any is passed over. `body` gets the number of a lane.
Carried buildLaneLoop(ImplicitLocOpBuilder &b, Value lanes, ValueRange carried,
                      llvm::function_ref<Carried(Value, ValueRange)> body);

/// Has threads share a loop of which no iteration sees what another one writes,
/// at least `grain` iterations each.
void makeParallel(ImplicitLocOpBuilder &b, Operation *loop, int64_t grain = 1);
/// The same where the places that iterations write are not told by their
/// indices: nothing checks it any more.
void makeIndependent(ImplicitLocOpBuilder &b, Operation *loop,
                     int64_t grain = 1);
/// Has lanes of vectors be iterations of a loop, of which no iteration sees
/// what another one writes.
void makeVectorized(ImplicitLocOpBuilder &b, Operation *loop);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_CONTROLFLOW_H
