//===- RowTasks.cpp - Rows that one task computes ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is a task, or a part of one that is long and reduces nothing. Rows that
// may be short are computed one after the other by the same task, so that their
// indices are computed once.
//
//===----------------------------------------------------------------------===//

#include "RowForm.h"

using namespace mlir;
using namespace mlir::relax;

Value mlir::relax::getGroupSize(IndexBuilder &b, Value length) {
  length = b.createOrFold<arith::MaxUIOp>(length, b.index(1));
  Value rows = b.floorDiv(b.index(TaskGrid::kChunk), length);
  return b.createOrFold<arith::MaxUIOp>(rows, b.index(1));
}

void RowForm::emitRowRange(IndexBuilder &b, ArrayRef<unsigned> dims,
                           RowRange rows, Positions positions,
                           RowBody body) const {
  // The innermost one comes first.
  SmallVector<Value> starts;
  Value rest = rows.begin;
  for (unsigned dim : llvm::reverse(dims.drop_front())) {
    starts.push_back(b.rem(rest, context.getSize(dim)));
    rest = b.floorDiv(rest, context.getSize(dim));
  }
  if (!starts.empty())
    starts.push_back(rest);
  auto emitOne = [&](IndexBuilder &inside, Value row, ValueRange places) {
    SmallVector<Value> next;
    Value carry;
    for (auto [dim, place] : llvm::zip(llvm::reverse(dims), places)) {
      positions[dim] = place;
      Value stepped = inside.add(place, carry ? carry : inside.index(1));
      if (dim == dims.front()) {
        next.push_back(stepped);
        break;
      }
      Value isOver = inside.compare(arith::CmpIPredicate::uge, stepped,
                                    context.getSize(dim));
      next.push_back(
          arith::SelectOp::create(inside, isOver, inside.index(0), stepped));
      carry =
          arith::IndexCastUIOp::create(inside, inside.getIndexType(), isOver);
    }
    if (places.empty())
      positions[dims.front()] = row;
    body(inside, row, positions);
    return next;
  };
  b.reduce(rows.begin, rows.end, 1, starts, emitOne);
}

/// Whether rows by their number are in the order of data with the layout of the
/// outputs, which is at the number times the length of a row then.
bool RowForm::areInOrder(ArrayRef<unsigned> dims) const {
  SmallVector<unsigned> order(dims);
  order.push_back(plan.loops.front().dims.back());
  return !plan.hasReductions() && space.outputs.front().place.isWhole &&
         order == plan.getOrder();
}

/// Rows along `dims` that follow one another are a task, with `part` of each
/// row if that is not 0.
void RowForm::emitGroups(IndexBuilder &b, ArrayRef<unsigned> dims, int64_t part,
                         bool groupsOneDim) const {
  ArrayRef<unsigned> rowDims = plan.loops.front().dims, together = dims;
  if (groupsOneDim)
    together = dims.take_back(1);
  ArrayRef<unsigned> apart = dims.drop_back(together.size());
  Value length = getSize(b, rowDims), numRows = getSize(b, together);
  Value group = getGroupSize(b, length);
  TaskGrid grid;
  for (unsigned dim : apart)
    grid.add(context.getSize(dim));
  grid.add(b.createOrFold<arith::CeilDivUIOp>(numRows, group));
  if (part)
    grid.add(countParts(b, rowDims.back(), b.index(part)));
  int64_t numElements = TaskGrid::kChunk;
  if (std::optional<int64_t> known = getConstantIntValue(numRows);
      known && groupsOneDim)
    numElements = std::min(numElements, *known * *getConstantIntValue(length));
  if (plan.hasReductions())
    numElements = std::max(numElements, estimateElements());
  bool isInOrder = !groupsOneDim && areInOrder(dims);
  emitTasks(b, grid, numElements,
            [&](IndexBuilder &task, ArrayRef<Value> steps) {
              RowRange range;
              if (part)
                range = getPart(task, rowDims.back(), part, steps.back());
              Value first = task.mul(steps[apart.size()], group);
              RowRange some = {first, getPartEnd(task, first, group, numRows)};
              emitRowRange(
                  task, together, some, getPositions(apart, steps),
                  [&](IndexBuilder &inside, Value row, const Positions &place) {
                    RowGroup rows(RowScope{place});
                    rows.range = range;
                    if (isInOrder)
                      rows.start = inside.mul(row, length);
                    emitRow(inside, rows);
                  });
            });
}

void RowForm::emitRows(IndexBuilder &b, bool groupsOneDim) const {
  SmallVector<unsigned> dims = getTaskDims();
  bool hasElements = !plan.loops.empty();
  unsigned splitDim = 0;
  int64_t part = 0, numElements = estimateElements();
  if (!plan.hasReductions())
    numElements = std::min(numElements, TaskGrid::kChunk);
  if (!plan.hasReductions() && hasElements) {
    splitDim = plan.loops.front().dims.back();
    int64_t size = space.dims[splitDim].getSize();
    if (ShapedType::isDynamic(size) || size > TaskGrid::kChunk)
      part = TaskGrid::kChunk;
  }
  if (hasElements && !dims.empty() && (part || dims.size() > 1))
    return emitGroups(b, dims, part, groupsOneDim && plan.hasKnownRows());
  TaskGrid grid;
  for (unsigned dim : dims)
    grid.add(context.getSize(dim));
  if (part)
    grid.add(countParts(b, splitDim, b.index(part)));
  emitTasks(b, grid, numElements,
            [&](IndexBuilder &task, ArrayRef<Value> steps) {
              RowGroup rows(RowScope{getPositions(dims, steps)});
              if (part)
                rows.range = getPart(task, splitDim, part, steps.back());
              emitRow(task, rows);
            });
}
