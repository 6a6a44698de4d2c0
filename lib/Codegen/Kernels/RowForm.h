//===- RowForm.h - Forms of the loops of a row kernel -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All forms of row kernels have the loops of a RowPlan, one after the other. A
// form decides what a task is, what the lanes of vectors are, and how
// accumulators become the result of a reduction. It is a class in a file of its
// own, which makes it: see makeForm in RowKernel.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWFORM_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWFORM_H

#include "RowElements.h"
#include "TaskGrid.h"

namespace mlir::relax {

class RowForm {
public:
  explicit RowForm(const RowContext &context)
      : context(context), plan(context.plan), space(context.space),
        elements(context) {}
  virtual ~RowForm() = default;

  /// Writes the loops of the kernel.
  virtual void emit(IndexBuilder &b) const = 0;

protected:
  using Loop = RowPlan::Loop;
  using Positions = SmallVector<Value>;

  //===--------------------------------------------------------------------===//
  // What a form decides
  //===--------------------------------------------------------------------===//

  /// The accumulators of a loop before its first element.
  virtual SmallVector<Value> startReductions(IndexBuilder &b, const Loop &loop,
                                             const RowGroup &group) const = 0;

  /// The dimensions of a loop that are walked through one index at a time,
  /// outside of what `emitElements` writes: all but the last one.
  virtual ArrayRef<unsigned> getOuterDims(const Loop &loop) const {
    return ArrayRef(loop.dims).drop_back();
  }

  /// Computes elements and returns the accumulators after them. `positions` are
  /// those of the outer dimensions, of the loop too.
  virtual SmallVector<Value> emitElements(IndexBuilder &b, const Loop &loop,
                                          RowGroup &group, Positions positions,
                                          ValueRange accumulators) const = 0;

  /// Takes the result of a reduction for one vector as the next accumulator.
  virtual Value accumulate(IndexBuilder &b, linalg::LinalgOp op, Value result,
                           Value accumulator, RowScope &scope) const;

  /// Puts the results of the reductions of a loop into the rows.
  virtual void finishReductions(IndexBuilder &b, const Loop &loop,
                                RowGroup &group,
                                ArrayRef<Value> accumulators) const = 0;

  //===--------------------------------------------------------------------===//
  // What forms share
  //===--------------------------------------------------------------------===//

  /// Positions in as many of `dims` as there are indices.
  Positions getPositions(ArrayRef<unsigned> dims,
                         ArrayRef<Value> indices) const;

  /// The number of elements along some dimensions.
  Value getSize(IndexBuilder &b, ArrayRef<unsigned> dims) const;

  /// A part of a dimension by its number, and how many there are.
  RowRange getPart(IndexBuilder &b, unsigned dim, int64_t size,
                   Value number) const;
  Value countParts(IndexBuilder &b, unsigned dim, Value size) const;

  /// The outer dimensions but for those that a form treats by itself.
  SmallVector<unsigned> getTaskDims() const;

  /// The number of elements of a row, as far as it is known.
  int64_t estimateElements() const;

  /// A loop over the tasks of a grid, each of so many elements.
  void emitTasks(IndexBuilder &b, const TaskGrid &grid, int64_t elements,
                 TaskGrid::Body body) const;

  /// Rows along some dimensions by their number, in the order of memory. Where
  /// there are several dimensions, the position of a row is counted.
  using RowBody =
      llvm::function_ref<void(IndexBuilder &, Value, const Positions &)>;
  void emitRowRange(IndexBuilder &b, ArrayRef<unsigned> dims, RowRange rows,
                    Positions positions, RowBody body) const;

  /// Tasks that are rows, or parts of a long one: several of them, one after
  /// the other, where they may be short. `groupsOneDim`: only along the
  /// innermost of the outer dimensions where sizes are known.
  void emitRows(IndexBuilder &b, bool groupsOneDim = false) const;

  /// Writes the loops of rows that are computed together.
  void emitRow(IndexBuilder &b, RowGroup group) const;

  /// One vector for each scope: `accumulators` has as many for each reduction.
  /// More of them stay as they are.
  SmallVector<Value> emitVectors(IndexBuilder &b, const Loop &loop,
                                 MutableArrayRef<RowScope> scopes,
                                 ValueRange accumulators) const;

  /// Accumulators that are vectors, `count` for each reduction.
  SmallVector<Value> makeAccumulators(IndexBuilder &b, const Loop &loop,
                                      unsigned count) const;

  /// Puts the result of a reduction into its row, with what it starts from.
  void addStart(IndexBuilder &b, linalg::LinalgOp op, Value result,
                RowScope &row) const;

  const RowContext &context;
  const RowPlan &plan;
  const KernelSpace &space;
  const RowElements elements;

private:
  bool areInOrder(ArrayRef<unsigned> dims) const;
  void emitGroups(IndexBuilder &b, ArrayRef<unsigned> dims, int64_t part,
                  bool groupsOneDim) const;
  RowCopy makeBuffer(IndexBuilder &b, Value value,
                     const RowPlan::Buffer &buffer,
                     const RowGroup &group) const;
  void emitLoop(IndexBuilder &b, const Loop &loop, RowGroup &group) const;
  SmallVector<Value> emitNest(IndexBuilder &b, const Loop &loop,
                              RowGroup &group, ArrayRef<unsigned> dims,
                              Positions positions,
                              ValueRange accumulators) const;
  SmallVector<Value> computeElements(IndexBuilder &b, const Loop &loop,
                                     RowScope &scope, ValueRange accumulators,
                                     SmallVectorImpl<Value> &written) const;
  void storeElements(IndexBuilder &b, const Loop &loop, RowScope &scope,
                     ArrayRef<Value> written) const;
};

/// Combines two accumulators.
Value combine(IndexBuilder &b, const Combiner &combiner, Value lhs, Value rhs);

/// The end of a part of something that ends at `end`.
inline Value getPartEnd(IndexBuilder &b, Value begin, Value part, Value end) {
  return b.createOrFold<arith::MinUIOp>(b.add(begin, part), end);
}

/// Returns the number of rows of a length with as many elements as a part of a
/// long one.
Value getGroupSize(IndexBuilder &b, Value length);

// The forms.
std::unique_ptr<RowForm> makeLongRows(const RowContext &context);
std::unique_ptr<RowForm> makeRowsByElement(const RowContext &context);
std::unique_ptr<RowForm> makeRowsAsRange(const RowContext &context);
std::unique_ptr<RowForm> makeTiledRows(const RowContext &context);
std::unique_ptr<RowForm> makeRowLanes(const RowContext &context);
std::unique_ptr<RowForm> makeShortRows(const RowContext &context);
std::unique_ptr<RowForm> makeReducedBlocks(const RowContext &context);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWFORM_H
