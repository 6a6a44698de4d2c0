//===- Support.h - Helpers for kernels of operators -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small helpers of the functions that write kernels.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_SUPPORT_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_SUPPORT_H

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

using KernelResult = FailureOr<SmallVector<Value>>;

/// The result of a kernel with one output.
inline KernelResult one(Value value) { return SmallVector<Value>{value}; }

/// Axes that the verifier has accepted, counted from 0.
inline SmallVector<int64_t> getAxes(ArrayRef<int64_t> axes, int64_t ndim) {
  return *normalizeAxes(std::nullopt, axes, ndim);
}

inline int64_t getAxis(int64_t axis, int64_t ndim) {
  return axis < 0 ? axis + ndim : axis;
}

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_SUPPORT_H
