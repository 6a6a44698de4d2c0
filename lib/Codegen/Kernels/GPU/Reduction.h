//===- Reduction.h - Reductions by several threads --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_REDUCTION_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_REDUCTION_H

#include "ElementBody.h"

namespace mlir::relax {

/// An operation that combines elements by one operation for each
/// result.
struct Reduction {
  SmallVector<Operation *> combiners;
  SmallVector<TypedAttr> neutral;

  static std::optional<Reduction> get(linalg::GenericOp op);
};

/// What changes nothing for an operation that combines two values, if it does
/// not matter which of them comes first.
std::optional<TypedAttr> getNeutral(Operation *combiner);

/// What a combiner makes of two values.
Value combine(IndexBuilder &b, Operation *combiner, Value lhs, Value rhs);

/// What a thread makes of its places, from the neutral elements on; it loads
/// `unroll` of them at a time.
SmallVector<Value>
accumulate(IndexBuilder &b, const ElementBody &body, Value begin, Value end,
           Value step, int64_t unroll, ValueRange neutral,
           llvm::function_ref<ElementPlace(IndexBuilder &, Value)> at);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_REDUCTION_H
