//===- GenericPlan.h - Vectorization of any operation -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectorizes a linalg operation on memrefs along a parallel dimension in which
// its results are contiguous, whatever its body: several results, reductions,
// gathers. Where there is no such dimension, the lanes of a vector reduce parts
// of a row.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GENERICPLAN_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GENERICPLAN_H

#include "RowReduction.h"

#include "relax-mlir/Analysis/TargetModel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::relax {

/// The value of an index expression: sum of `factors[i] * loop i` and
/// `constant`.
struct LinearIndex {
  SmallVector<int64_t> factors;
  int64_t constant = 0;

  /// Nothing where the expression divides or has symbols.
  static std::optional<LinearIndex> get(AffineExpr expr, unsigned numLoops);
};

/// Whether an operation on memrefs reads elements of its results that another
/// iteration may have written.
bool readsResultsElsewhere(linalg::LinalgOp op);

struct GenericPlan {
  /// Fewer elements than these are not worth a vector.
  static constexpr int64_t kFewest = 8;

  /// Rows shorter than these are not worth lanes that reduce a part each.
  static constexpr int64_t kFewestOfRow = 32;

  /// Nothing where an operation cannot be computed in vectors, or it would be
  /// no faster.
  static std::optional<GenericPlan> make(linalg::LinalgOp op,
                                         const TargetModel &target);

  /// The plan of an operation that reduces short rows: lanes are rows, whose
  /// elements are far apart.
  static std::optional<GenericPlan> makeAcrossRows(linalg::LinalgOp op,
                                                   const TargetModel &target);

  /// Whether an operation reduces rows known to be short, but not so short that
  /// LLVM makes better vectors of loops over elements.
  static bool hasFewPerRow(linalg::LinalgOp op);

  /// The distance of lanes of an operand, in elements: 0 where it is the same
  /// in all lanes, ShapedType::kDynamic where it is not known.
  int64_t getLaneStride(OpOperand &operand) const;
  bool isVarying(Value value) const { return varying.contains(value); }
  /// Whether an operation of the body is the remainder of the index of vectors
  /// by `wrap`.
  bool isWrapped(Operation &inner) const {
    return wrap && getWrap(inner) == wrap;
  }

  linalg::LinalgOp op;
  unsigned vectorDim = 0;
  /// The combination of lanes where the vector loop reduces.
  std::optional<RowReduction> row;
  /// The other loops.
  SmallVector<unsigned> parallel, reductions;
  int64_t lanes = 1;
  /// The number of vectors of results that are reduced together: more of them
  /// read more of each row, one after the other in memory, and need more
  /// registers.
  unsigned unroll = 4;
  /// Loops over vectors end where the index is a multiple of this, so that its
  /// remainder grows step by step; null: of nothing.
  OpFoldResult wrap;
  /// The number of iterations of the innermost other loop that are computed
  /// together, as they read elements at the same indices.
  unsigned jam = 1;
  /// The cost of an element, in additions of vectors.
  int64_t cost = 0;

private:
  bool hasSupportedOperands();
  bool chooseVectorDim(bool isAcrossRows);
  bool chooseRow();
  bool checkBody();
  bool checkBlock(Block &block, bool isConditional);
  bool checkOp(Operation &op, bool isConditional);
  bool checkLoad(Operation &op, bool isConditional);
  bool isStepped(Value index) const;
  bool sharesPlaces(unsigned dim);
  void chooseJam();
  OpFoldResult getWrap(Operation &inner) const;
  void chooseLanes(const TargetModel &target);
  bool finish(const TargetModel &target);

  /// Whether an element is read at a place that is not next to others.
  bool hasGather = false;
  /// Values of the body that differ between lanes.
  llvm::SmallPtrSet<Value, 16> varying;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GENERICPLAN_H
