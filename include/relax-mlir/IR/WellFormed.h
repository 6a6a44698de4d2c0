//===- WellFormed.h - The criteria of the specification -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifiers of operations and types hold most criteria. Here are those that
// look at a module as a whole, and the check of all at once.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_WELLFORMED_H
#define RELAX_MLIR_IR_WELLFORMED_H

#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::relax {

/// Checks everything that the verifiers check, values that are used where they
/// are not bound (WF01-WF03), recursion (WF07, WF08), entry points (WF12,
/// WF13), the rules of calls (WF23) and devices (WF24), and that sizes that are
/// known fit in 64 bits. Reports every violation, with the id of its rule at
/// the end of the message. The module need not be verified.
LogicalResult checkWellFormed(ModuleOp module);

/// Verifies that the attribute `global_symbol` of a function, if present, is
/// its name, and that a relax.func with it is public (WF13).
LogicalResult verifyGlobalSymbol(FunctionOpInterface func);

/// Reports an operation that names a function but is in none.
LogicalResult verifyInFunction(Operation *op);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_WELLFORMED_H
