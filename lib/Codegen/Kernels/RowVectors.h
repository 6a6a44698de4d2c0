//===- RowVectors.h - Rows whose elements are lanes -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The innermost loop of a row is vectorized: several vectors at a time, with an
// accumulator each, and what is left one at a time, the last one under a mask.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWVECTORS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWVECTORS_H

#include "RowForm.h"

namespace mlir::relax {

class RowVectors : public RowForm {
public:
  using RowForm::RowForm;

protected:
  /// The number of vectors in flight.
  unsigned getUnroll() const { return plan.cost > 80 ? 2 : 4; }

  /// Whether there are many rows of a few vectors, those of a tail.
  virtual bool hasManyTails() const { return false; }

  SmallVector<Value> startReductions(IndexBuilder &b, const Loop &loop,
                                     const RowGroup &group) const override;
  SmallVector<Value> emitElements(IndexBuilder &b, const Loop &loop,
                                  RowGroup &group, Positions positions,
                                  ValueRange accumulators) const override;
  Value accumulate(IndexBuilder &b, linalg::LinalgOp op, Value result,
                   Value accumulator, RowScope &scope) const override;
  void finishReductions(IndexBuilder &b, const Loop &loop, RowGroup &group,
                        ArrayRef<Value> accumulators) const override;

private:
  /// The elements that a loop goes through.
  struct Span {
    const Loop &loop;
    RowGroup &group;
    const Positions &positions; // of the other loops
    RowRange range;
  };

  SmallVector<Value> emitAt(IndexBuilder &b, const Span &span, Value start,
                            unsigned count, Value mask,
                            ValueRange accumulators) const;
  SmallVector<Value> emitMasked(IndexBuilder &b, const Span &span, Value start,
                                ValueRange accumulators) const;
  void emitKnownRest(IndexBuilder &b, const Span &span, Value begin,
                     int64_t rest, MutableArrayRef<Value> accumulators) const;
  void emitRest(IndexBuilder &b, const Span &span, Value begin,
                MutableArrayRef<Value> accumulators) const;
  void
  update(const Loop &loop, unsigned count, MutableArrayRef<Value> accumulators,
         llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> emit) const;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWVECTORS_H
