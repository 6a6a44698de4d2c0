//===- Calls.h - What verifiers of calls share ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_IR_CALLS_H
#define RELAX_MLIR_LIB_IR_CALLS_H

#include "mlir/IR/Operation.h"

namespace mlir::relax {

/// A callee by name, or a function value.
LogicalResult verifyCallee(Operation *call, Attribute callee, Value function);

/// OP03, OP05, OP06: what is called is a packed function, never a closure.
LogicalResult verifyPackedCallee(Operation *call, Attribute callee,
                                 Value function);

/// OP02, OP06: indices are -1 or distinct positions of `numArgs` arguments.
LogicalResult verifyIndices(Operation *op, ArrayRef<int64_t> indices,
                            int64_t numArgs);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_IR_CALLS_H
