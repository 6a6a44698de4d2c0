//===- RowLanes.h - Rows that are lanes -------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that are next to each other are the lanes of vectors, several of which
// are computed together.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWLANES_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWLANES_H

#include "RowForm.h"

namespace mlir::relax {

class RowLanes : public RowForm {
public:
  explicit RowLanes(const RowContext &context)
      : RowForm(context), lane(*plan.lane) {}

  void emit(IndexBuilder &b) const override;

protected:
  /// Tasks of `part` rows along the dimension of lanes.
  using RowsBody =
      llvm::function_ref<void(IndexBuilder &, const Positions &, RowRange)>;
  void emitParts(IndexBuilder &b, int64_t part, int64_t numElements,
                 RowsBody body) const;

  /// A vector of rows from `base` on.
  RowScope makeRow(Positions positions, Value base, Value mask = Value(),
                   unsigned number = 0) const;

  SmallVector<Value> startReductions(IndexBuilder &b, const Loop &loop,
                                     const RowGroup &group) const override {
    return makeAccumulators(b, loop, group.rows.size());
  }
  ArrayRef<unsigned> getOuterDims(const Loop &loop) const override {
    return loop.dims;
  }
  SmallVector<Value> emitElements(IndexBuilder &b, const Loop &loop,
                                  RowGroup &group, Positions positions,
                                  ValueRange accumulators) const override;
  void finishReductions(IndexBuilder &b, const Loop &loop, RowGroup &group,
                        ArrayRef<Value> accumulators) const override;

  /// The dimension of lanes.
  const unsigned lane;

private:
  unsigned getUnroll() const;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWLANES_H
