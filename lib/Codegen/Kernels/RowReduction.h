//===- RowReduction.h - Reductions that lanes may share ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions in which the order of elements does not matter, so that each lane
// reduces some of them: associative operations, and argmax and argmin, which
// take the first of several.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWREDUCTION_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWREDUCTION_H

#include "RowPlan.h"
#include "VectorBody.h"

namespace mlir::relax {

class RowReduction {
public:
  /// Nothing where an operation is of neither kind.
  static std::optional<RowReduction> match(linalg::LinalgOp op);

  /// Returns the initial value of accumulators, unless it is what results hold
  /// before.
  std::optional<TypedAttr> getNeutral() const;

  /// Combines the accumulators of two parts, scalars or vectors.
  SmallVector<Value> combine(VectorBody &body, ImplicitLocOpBuilder &b,
                             ValueRange lhs, ValueRange rhs) const;

private:
  bool matchBest(linalg::LinalgOp op);
  Value isBetter(VectorBody &body, Value next, Value best) const;

  std::optional<Combiner> combiner;
  /// The condition under which `next` replaces `best`, and what computes it.
  Value condition, next, best;
  SmallVector<Operation *> comparison;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWREDUCTION_H
