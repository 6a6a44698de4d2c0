//===- HostProgram.h - Questions about lowered functions --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What bytecode and machine code have to know of a function whose memory and
// shapes are lowered.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_HOSTPROGRAM_H
#define RELAX_MLIR_ANALYSIS_HOSTPROGRAM_H

#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// Verifies that a function can become a program of the host: its shapes are
/// lowered, and target 'llvm' can run it on the devices that it names.
LogicalResult verifyHostProgram(FuncOp func);

/// Whether nothing but the end of the function comes after the operation that
/// defines `result`, and returns it: out of the branches of `relax.if`, too.
bool isReturned(Value result);

/// Whether a copy on a device may be the constant that it copies: kernels,
/// which only read it, read the memory of any device of target 'llvm'.
bool mayAliasConstant(ToDeviceOp op);

/// The kernel that a call names, or a failure, with an error, where the call
/// does not fit it: the number of values, a scalar for each primitive value, a
/// memref (a tensor, where kernels are not bufferized yet) of the same rank for
/// each tensor.
FailureOr<func::FuncOp> getKernel(CallKernelOp op);

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_HOSTPROGRAM_H
