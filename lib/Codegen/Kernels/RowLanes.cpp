//===- RowLanes.cpp - Rows that are lanes -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLanes.h"

#include "VectorBody.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Loops of rows
//===----------------------------------------------------------------------===//

RowScope RowLanes::makeRow(Positions positions, Value base, Value mask,
                           unsigned number) const {
  RowScope row{std::move(positions), lane, /*isVector=*/true, mask};
  row.positions[lane] = base;
  row.number = number;
  return row;
}

/// An element of each row.
SmallVector<Value> RowLanes::emitElements(IndexBuilder &b, const Loop &loop,
                                          RowGroup &group, Positions positions,
                                          ValueRange accumulators) const {
  SmallVector<RowScope, 0> scopes;
  for (auto [number, row] : llvm::enumerate(group.rows)) {
    positions[lane] = row.positions[lane];
    RowScope &scope = scopes.emplace_back(
        makeRow(positions, row.positions[lane], row.mask, number));
    scope.row = &row;
    scope.group = &group;
  }
  return emitVectors(b, loop, scopes, accumulators);
}

/// Rows that are computed together have an accumulator each.
void RowLanes::finishReductions(IndexBuilder &b, const Loop &loop,
                                RowGroup &group,
                                ArrayRef<Value> accumulators) const {
  VectorBody body(b, plan.lanes);
  for (linalg::LinalgOp op : loop.reductions) {
    OpOperand &start = *op.getDpsInitOperand(0);
    for (auto [row, value] : llvm::zip(group.rows, accumulators)) {
      Value first = body.broadcast(elements.evaluateOperand(b, start, row));
      row.values[op->getResult(0)] = combine(b, *getCombiner(op), first, value);
    }
    accumulators = accumulators.drop_front(group.rows.size());
  }
}

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

/// Returns the number of vectors in flight. Lanes that are rows step over
/// memory: more of them read more of it at a time.
unsigned RowLanes::getUnroll() const {
  if (plan.cost > 80)
    return 2;
  bool isOneSum = plan.loops.size() == 1 &&
                  plan.loops.front().reductions.size() == 1 &&
                  plan.loops.front().reductions.front()->getNumResults() == 1;
  return isOneSum && plan.cost <= 12 ? 16 : 4;
}

void RowLanes::emitParts(IndexBuilder &b, int64_t part, int64_t numElements,
                         RowsBody body) const {
  SmallVector<unsigned> dims = getTaskDims();
  TaskGrid grid;
  for (unsigned dim : dims)
    grid.add(context.getSize(dim));
  grid.add(countParts(b, lane, b.index(part)));
  emitTasks(b, grid, numElements,
            [&](IndexBuilder &task, ArrayRef<Value> steps) {
              body(task, getPositions(dims, steps),
                   getPart(task, lane, part, steps.back()));
            });
}

/// A task is several vectors of rows, or, where there are fewer, four by four,
/// and one after the other under a mask.
void RowLanes::emit(IndexBuilder &b) const {
  constexpr unsigned kFew = 4;
  unsigned unroll = getUnroll();
  int64_t part = plan.lanes * unroll;
  auto emitRows = [&](IndexBuilder &b, const Positions &positions, Value base,
                      unsigned count, Value mask = Value()) {
    SmallVector<RowScope, 0> rows;
    for (unsigned number = 0; number < count; ++number)
      rows.push_back(
          makeRow(positions, b.add(base, number * plan.lanes), mask, number));
    RowGroup group(std::move(rows));
    group.sharesDivisors = true;
    emitRow(b, std::move(group));
  };
  auto emitRest = [&](IndexBuilder &b, const Positions &positions,
                      RowRange rows, Value length) {
    Value middle = rows.begin;
    if (unroll > kFew) {
      int64_t step = kFew * plan.lanes;
      middle = b.add(rows.begin, b.sub(length, b.rem(length, b.index(step))));
      b.loop(rows.begin, middle, step, [&](IndexBuilder &inside, Value base) {
        emitRows(inside, positions, base, kFew);
      });
    }
    b.loop(middle, rows.end, plan.lanes, [&](IndexBuilder &inside, Value base) {
      Value mask = context.makeMask(inside, inside.sub(rows.end, base));
      emitRows(inside, positions, base, 1, mask);
    });
  };
  emitParts(b, part, estimateElements() * part,
            [&](IndexBuilder &task, const Positions &positions, RowRange rows) {
              Value length = task.sub(rows.end, rows.begin);
              task.branch(
                  task.isEqual(length, task.index(part)),
                  [&](IndexBuilder &inside) {
                    emitRows(inside, positions, rows.begin, unroll);
                  },
                  [&](IndexBuilder &inside) {
                    emitRest(inside, positions, rows, length);
                  });
            });
}

std::unique_ptr<RowForm> mlir::relax::makeRowLanes(const RowContext &context) {
  return std::make_unique<RowLanes>(context);
}
