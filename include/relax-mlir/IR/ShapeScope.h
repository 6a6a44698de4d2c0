//===- ShapeScope.h - Where shape variables are visible -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_SHAPESCOPE_H
#define RELAX_MLIR_IR_SHAPESCOPE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::relax {

class FuncOp;

/// Checks that every shape variable of `func` is bound before it is used (WF03
/// to WF06, WF14 to WF16). The signature binds for the whole function, a
/// match_cast for the rest of the branch or function around it.
LogicalResult verifyShapeScopes(FuncOp func);

/// Adds the shape variables that are bound where `op` stands: by the signatures
/// of the functions around it and by the casts before it.
void collectScope(Operation *op, llvm::StringSet<> &names);

/// `type`, derived inside of a region of `op`, without the shape variables that
/// are not in scope behind `op` (DR07).
Type eraseOutOfScope(Type type, Operation *op);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_SHAPESCOPE_H
