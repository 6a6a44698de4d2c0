//===- RowScalar.cpp - Rows that are computed one by one --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of rows that are shorter than vectors, one by one, or a few of
// them at a time: elements that are far apart are read faster than gathered,
// and written at once. Rows of known size that are computed element by element
// are grouped along one dimension, of which LLVM makes vectors.
//
//===----------------------------------------------------------------------===//

#include "RowForm.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
class RowsByElement : public RowForm {
public:
  using RowForm::RowForm;

  void emit(IndexBuilder &b) const override {
    emitRows(b, /*groupsOneDim=*/plan.lanes == 1);
  }

private:
  SmallVector<Value> startReductions(IndexBuilder &b, const Loop &loop,
                                     const RowGroup &) const override {
    return llvm::map_to_vector(
        loop.reductions, [&](linalg::LinalgOp op) -> Value {
          return arith::ConstantOp::create(b, getCombiner(op)->neutral);
        });
  }

  SmallVector<Value> emitElements(IndexBuilder &b, const Loop &loop,
                                  RowGroup &group, Positions positions,
                                  ValueRange accumulators) const override;

  void finishReductions(IndexBuilder &b, const Loop &loop, RowGroup &group,
                        ArrayRef<Value> accumulators) const override {
    for (auto [op, result] : llvm::zip_equal(loop.reductions, accumulators))
      addStart(b, op, result, group.rows.front());
  }
};
} // namespace

SmallVector<Value> RowsByElement::emitElements(IndexBuilder &b,
                                               const Loop &loop,
                                               RowGroup &group,
                                               Positions positions,
                                               ValueRange accumulators) const {
  RowRange range = group.range;
  if (!range.begin)
    range = {b.index(0), context.getSize(loop.dims.back())};
  auto emitAt = [&](IndexBuilder &inside, Value position, bool isVector,
                    ValueRange values) {
    positions[loop.dims.back()] = position;
    RowScope scope = group.getElements(0, positions);
    scope.vectorDim = loop.dims.back();
    scope.isVector = isVector;
    return emitVectors(inside, loop, scope, values);
  };
  if (plan.lanes > 1) {
    Value length = b.sub(range.end, range.begin);
    Value rest = b.rem(length, b.index(plan.lanes));
    Value first = std::exchange(range.begin, b.sub(range.end, rest));
    b.loop(first, range.begin, plan.lanes,
           [&](IndexBuilder &inside, Value position) {
             emitAt(inside, position, /*isVector=*/true, {});
           });
  }
  return b.reduce(range.begin, range.end, 1, accumulators,
                  [&](IndexBuilder &inside, Value position, ValueRange values) {
                    return emitAt(inside, position, /*isVector=*/false, values);
                  });
}

std::unique_ptr<RowForm>
mlir::relax::makeRowsByElement(const RowContext &context) {
  return std::make_unique<RowsByElement>(context);
}
