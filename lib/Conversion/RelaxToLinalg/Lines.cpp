//===- Lines.cpp - Loops over the lines of a tensor -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::relax;

Value LineLoops::count() const {
  Value count = b.index(1);
  for (int64_t dim = 0; dim < b.getRank(data); ++dim)
    if (dim != axis)
      count = arith::MulIOp::create(b, count, b.dimValue(data, dim));
  return count;
}

Carried LineLoops::overLines(ValueRange tensors, Line line) const {
  SmallVector<Value> place(b.getRank(data));
  return overDims(tensors, place, 0, line, nullptr);
}

Carried LineLoops::overBlocks(ValueRange tensors, int64_t width, Line block,
                              Line line) const {
  SmallVector<Value> place(b.getRank(data));
  Block blocks = {width, block};
  return overDims(tensors, place, 0, line, &blocks);
}

Carried LineLoops::alongLine(
    ValueRange carried,
    llvm::function_ref<Carried(Value, ValueRange)> body) const {
  Value zero = b.index(0);
  Value one = b.index(1);
  return buildLoop(b, zero, b.dimValue(data, axis), one, carried, body);
}

/// Loops over the dimensions other than the axis, from `depth` on.
Carried LineLoops::overDims(ValueRange tensors, SmallVectorImpl<Value> &place,
                            int64_t depth, Line line,
                            const Block *block) const {
  if (depth == axis)
    ++depth;
  if (depth >= b.getRank(data))
    return line(tensors, place);
  Value zero = b.index(0);
  Value size = b.dimValue(data, depth);
  auto inner = [&](Value index, ValueRange carried) {
    place[depth] = index;
    return overDims(carried, place, depth + 1, line, block);
  };
  if (!block || depth + 1 < b.getRank(data))
    return overDim(tensors, depth, zero, size, 1, inner);
  Value width = b.index(block->width);
  Value blocks = arith::DivUIOp::create(b, size, width);
  Carried written = overDim(tensors, depth, zero, blocks, block->width,
                            [&](Value number, ValueRange carried) {
                              place[depth] =
                                  arith::MulIOp::create(b, number, width);
                              return block->write(carried, place);
                            });
  Value rest = arith::MulIOp::create(b, blocks, width);
  return overDim(written, depth, rest, size, 1, inner);
}

Carried
LineLoops::overDim(ValueRange tensors, int64_t depth, Value begin, Value end,
                   int64_t width,
                   llvm::function_ref<Carried(Value, ValueRange)> body) const {
  Value one = b.index(1);
  Carried results = buildLoop(b, begin, end, one, tensors, body);
  if (isShared && depth == (axis == 0 ? 1 : 0))
    makeParallel(b, results.front().getDefiningOp(),
                 llvm::divideCeil(getGrain(depth), width));
  return results;
}

int64_t LineLoops::getGrain(int64_t depth) const {
  int64_t elements = cost;
  for (auto [dim, size] : llvm::enumerate(b.getType(data).getShape()))
    if (static_cast<int64_t>(dim) != depth)
      elements *= ShapedType::isDynamic(size) ? 64 : size;
  return std::max<int64_t>(4096 / std::max<int64_t>(elements, 1), 1);
}
