//===- Calls.h - What schedules and patterns ask of a program ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMOPS_CALLS_H
#define RELAX_MLIR_LIB_TRANSFORMOPS_CALLS_H

#include "relax-mlir/Analysis/OpPattern.h"
#include "relax-mlir/IR/Relax.h"

namespace mlir::transform {
class PDLMatchHooks;
} // namespace mlir::transform

namespace mlir::relax {

/// Whether an operation is an operator: it computes tensors of its operands.
bool isOperator(Operation *op);

/// Whether an operation has no visible side effect.
bool isPureOperation(Operation *op);

/// The function that a call names; null where it is no call, or of something
/// else.
Operation *findCallee(Operation *call);

/// The kind of a name; nothing where there is none.
std::optional<OpPattern> findOpPattern(StringRef name);

/// "elementwise, broadcast, ...": the kinds that kernels may have.
std::string listOpPatterns();

/// Whether a type is a tensor, or a tuple of tensors, each of which `holds`.
bool areTensors(Type type,
                llvm::function_ref<bool(TensorStructInfoType)> holds);

/// Whether all dimensions are known.
bool isStatic(TensorStructInfoType type);

/// Adds the constraints `relax.*`.
void addPDLConstraints(transform::PDLMatchHooks &hooks);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMOPS_CALLS_H
