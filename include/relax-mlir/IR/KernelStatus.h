//===- KernelStatus.h - Names and status of kernels -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that may fail returns, after its other results, an i32: 0, or -1
// with an error in the error slot of tvm-ffi. Errors and profiles call it by
// the name that it had before the phase `shapes` made its name distinct.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_KERNELSTATUS_H
#define RELAX_MLIR_IR_KERNELSTATUS_H

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// The runtime function that runs the body of a parallel loop.
constexpr StringLiteral kParallelFor = "relax_parallel_for";

/// The runtime function that launches a kernel of a device. It returns a
/// status.
constexpr StringLiteral kDeviceLaunch = "relax_device_launch";

/// What the names of kernels begin with when functions are lowered.
constexpr StringLiteral kKernelPrefix = "relax.kernel.";

/// The name of a kernel for people.
inline StringRef getKernelLabel(StringRef symbol) {
  symbol.consume_front(kKernelPrefix);
  return symbol;
}

/// Whether the last result of a kernel is a status.
inline bool returnsStatus(func::FuncOp kernel) {
  return RelaxDialect::StatusAttrHelper(kernel.getContext())
      .isAttrPresent(kernel);
}

inline void setReturnsStatus(func::FuncOp kernel) {
  RelaxDialect::StatusAttrHelper(kernel.getContext())
      .setAttr(kernel, UnitAttr::get(kernel.getContext()));
}

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_KERNELSTATUS_H
