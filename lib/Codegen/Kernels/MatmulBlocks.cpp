//===- MatmulBlocks.cpp - Products of many rows -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "Transpose.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Copies rows of a matrix to a panel: all `width` elements of a column lie
/// together. Rows past the end have any values, but may be read.
void MatmulEmitter::pack(IndexBuilder &b, const Panel &panel, Value scratch,
                         Value offset) {
  if (panel.matrix.hasUnitRows())
    return packCopies(b, panel, scratch, offset);
  if (panel.matrix.hasUnitColumns() && llvm::isPowerOf2_64(lanes))
    return packTransposed(b, panel, scratch, offset);
  packScalars(b, panel, scratch, offset);
}

void MatmulEmitter::packCopies(IndexBuilder &b, const Panel &panel,
                               Value scratch, Value offset) {
  int64_t size = std::min(lanes, panel.width);
  SmallVector<Value> masks;
  for (int64_t i = 0; i < panel.width; i += size)
    masks.push_back(makeMask(b, b.sub(panel.rows, b.index(i)), size));
  const MatrixView &matrix = panel.matrix;
  Value begin = b.add(matrix.offset, panel.row);
  b.loop(b.index(0), panel.depth, 1, [&](IndexBuilder &b, Value k) {
    Value column = b.mul(b.add(panel.begin, k), matrix.columnStride);
    Value from = b.add(begin, column);
    Value to = b.add(offset, b.mul(k, panel.width));
    for (auto [i, mask] : llvm::enumerate(masks)) {
      Value values = loadVector(b, matrix.base, b.add(from, i * size), mask);
      storeSums(b, values, scratch, b.add(to, i * size));
    }
  });
}

/// The depth is rounded up to whole vectors, with zeros.
void MatmulEmitter::packTransposed(IndexBuilder &b, const Panel &panel,
                                   Value scratch, Value offset) {
  int64_t size = std::min(lanes, panel.width);
  const MatrixView &matrix = panel.matrix;
  SmallVector<Value> offsets;
  Value last = b.sub(panel.rows, b.index(1));
  for (int64_t i = 0; i < panel.width; ++i) {
    Value row = b.add(panel.row, b.min(b.index(i), last));
    Value begin = b.add(matrix.offset, panel.begin);
    offsets.push_back(b.add(begin, b.mul(row, matrix.rowStride)));
  }
  b.loop(b.index(0), panel.depth, lanes, [&](IndexBuilder &b, Value k) {
    Value mask = makeMask(b, b.sub(panel.depth, k), lanes);
    Value to = b.add(offset, b.mul(k, panel.width));
    for (int64_t group = 0; group < panel.width; group += size) {
      SmallVector<Value> rows;
      for (Value from : ArrayRef(offsets).slice(group, size))
        rows.push_back(loadVector(b, matrix.base, b.add(from, k), mask));
      // Each vector holds lanes / size columns of the panel.
      int64_t stride = size == lanes ? panel.width : lanes;
      for (auto [i, columns] : llvm::enumerate(transpose(b, rows)))
        storeSums(b, columns, scratch, b.add(to, i * stride + group));
    }
  });
}

/// For a matrix neither the rows nor the columns of which are contiguous.
void MatmulEmitter::packScalars(IndexBuilder &b, const Panel &panel,
                                Value scratch, Value offset) {
  const MatrixView &matrix = panel.matrix;
  b.loop(b.index(0), panel.depth, 1, [&](IndexBuilder &b, Value k) {
    Value column = b.mul(b.add(panel.begin, k), matrix.columnStride);
    Value from = b.add(matrix.offset, column);
    Value to = b.add(offset, b.mul(k, panel.width));
    b.loop(b.index(0), panel.rows, 1, [&](IndexBuilder &b, Value i) {
      Value row = b.mul(b.add(panel.row, i), matrix.rowStride);
      memref::StoreOp::create(b, loadScalar(b, matrix.base, b.add(from, row)),
                              scratch, b.add(to, i));
    });
  });
}

//===----------------------------------------------------------------------===//
// Many rows
//===----------------------------------------------------------------------===//

/// How the result is divided into tasks and a task into blocks.
struct MatmulEmitter::Blocks {
  Value rowBlocks, rows;     // rows of a task, whole tiles
  Value columnBlocks, width; // columns of a task, whole tiles
  Value depthBlocks, depth;  // whole vectors
};

MatmulEmitter::Blocks MatmulEmitter::divide(IndexBuilder &b) {
  // Threads can share this many tasks, and a task this many panels still pays
  // for packing the rows.
  constexpr int64_t kTasks = 8, kMinPanels = 8, kMaxPanels = 64;
  Value one = b.index(1);
  auto atLeastOne = [&](Value value) { return b.max(value, one); };
  Blocks blocks;
  blocks.rowBlocks = b.ceilDiv(problem.m, b.index(blocking.blockRows));
  blocks.rows = b.roundUp(b.ceilDiv(problem.m, atLeastOne(blocks.rowBlocks)),
                          blocking.rows);
  Value panels = b.ceilDiv(problem.n, b.index(blocking.columns()));
  Value all = b.mul(panels, b.mul(blocks.rowBlocks, problem.batch));
  Value share = b.ceilDiv(all, b.index(kTasks));
  share = b.min(b.max(share, b.index(kMinPanels)), b.index(kMaxPanels));
  blocks.columnBlocks = b.ceilDiv(panels, share);
  blocks.width = b.mul(b.ceilDiv(panels, atLeastOne(blocks.columnBlocks)),
                       blocking.columns());
  blocks.depthBlocks =
      atLeastOne(b.ceilDiv(problem.k, b.index(blocking.blockDepth)));
  blocks.depth =
      b.roundUp(atLeastOne(b.ceilDiv(problem.k, blocks.depthBlocks)), lanes);
  return blocks;
}

void MatmulEmitter::emitPacked(IndexBuilder &b) {
  Blocks blocks = divide(b);
  Value tasks =
      b.mul(problem.batch, b.mul(blocks.rowBlocks, blocks.columnBlocks));
  b.parallel(tasks, /*grain=*/1,
             [&](IndexBuilder &b, Value task) { emitTask(b, blocks, task); });
}

void MatmulEmitter::emitTask(IndexBuilder &b, const Blocks &blocks,
                             Value task) {
  int64_t width = blocking.columns(), height = blocking.rows;
  int64_t tileSize = width * height;
  Value zero = b.index(0);
  Value columnBlock = b.rem(task, blocks.columnBlocks);
  Value other = b.floorDiv(task, blocks.columnBlocks);
  Value rowBlock = b.rem(other, blocks.rowBlocks);
  Value batch = b.floorDiv(other, blocks.rowBlocks);
  Value row = b.mul(rowBlock, blocks.rows);
  Value column = b.mul(columnBlock, blocks.width);
  Value rows = b.min(b.sub(problem.m, row), blocks.rows);
  Value columns = b.min(b.sub(problem.n, column), blocks.width);
  MatrixView lhs = problem.lhs(b, batch);
  MatrixView rhs;
  if (!problem.packRhs)
    rhs = problem.rhs(b, batch).transposed();

  // Scratch memory: sums of one tile, or of all of them where the depth is
  // divided; then the panels.
  Value isWhole = b.isEqual(blocks.depthBlocks, b.index(1));
  Value paddedColumns = b.roundUp(columns, width);
  Value paddedRows = b.roundUp(rows, height);
  Value sumsSize = b.createOrFold<arith::SelectOp>(
      isWhole, b.index(tileSize), b.mul(paddedRows, paddedColumns));
  Value lhsPanels = sumsSize;
  Value rhsPanels = lhsPanels;
  if (!problem.isLhsPacked)
    rhsPanels = b.add(lhsPanels, b.mul(paddedRows, blocks.depth));
  Value size = rhsPanels;
  if (problem.packRhs) // one panel at a time
    size = b.add(rhsPanels, b.mul(blocks.depth, width));
  else if (!problem.isPacked)
    size = b.add(rhsPanels, b.mul(paddedColumns, blocks.depth));
  Value scratch = makeScratch(b, size);

  auto computeBlock = [&](IndexBuilder &b, Value block) {
    Value begin = b.mul(block, blocks.depth);
    Value depth = b.max(b.min(b.sub(problem.k, begin), blocks.depth), zero);
    Value isFirst = b.isEqual(block, zero);
    Value isLast = b.isEqual(b.add(block, 1), blocks.depthBlocks);
    auto packColumns = [&](IndexBuilder &b, Value j) {
      Value count = b.min(b.sub(columns, j), b.index(width));
      pack(b, {rhs, b.add(column, j), count, begin, depth, width}, scratch,
           b.add(rhsPanels, b.mul(j, blocks.depth)));
    };
    if (!problem.isPacked && !problem.packRhs)
      b.loop(zero, columns, width, packColumns);
    auto packRows = [&](IndexBuilder &b, Value i) {
      Value count = b.min(b.sub(rows, i), b.index(height));
      pack(b, {lhs, b.add(row, i), count, begin, depth, height}, scratch,
           b.add(lhsPanels, b.mul(i, blocks.depth)));
    };
    if (!problem.isLhsPacked)
      b.loop(zero, rows, height, packRows);
    b.loop(zero, columns, width, [&](IndexBuilder &b, Value j) {
      Panels panels = {scratch, Value(), scratch, Value()};
      panels.rhsOffset = b.add(rhsPanels, b.mul(j, blocks.depth));
      if (problem.isPacked) {
        Value panel = b.mul(b.add(column, j), problem.k);
        panels.rhs = rhs.base;
        panels.rhsOffset = b.add(b.add(rhs.offset, panel), b.mul(begin, width));
      }
      Value tileColumns = b.min(b.sub(columns, j), b.index(width));
      if (problem.packRhs) {
        panels.rhsOffset = rhsPanels;
        problem.packRhs(b, {batch, b.add(column, j), tileColumns, begin, depth},
                        scratch, rhsPanels);
      }
      b.loop(zero, rows, height, [&](IndexBuilder &b, Value i) {
        panels.lhsOffset = b.add(lhsPanels, b.mul(i, blocks.depth));
        if (problem.isLhsPacked) {
          Value panel = b.mul(b.add(row, i), problem.k);
          panels.lhs = lhs.base;
          panels.lhsOffset =
              b.add(b.add(lhs.offset, panel), b.mul(begin, height));
        }
        Value tileRows = b.min(b.sub(rows, i), b.index(height));
        Value sums = b.createOrFold<arith::SelectOp>(
            isWhole, zero, b.add(b.mul(j, paddedRows), b.mul(i, width)));
        emitPackedTile(b, panels, scratch, sums, depth, isFirst, tileColumns);
        b.branch(isLast, [&](IndexBuilder &b) {
          finishTile(
              b,
              {batch, b.add(row, i), b.add(column, j), tileRows, tileColumns},
              width, scratch, sums);
        });
      });
    });
  };
  if (isConstantIntValue(blocks.depthBlocks, 1))
    computeBlock(b, zero);
  else
    b.loop(zero, blocks.depthBlocks, 1, computeBlock);
}

/// Adds products of two panels to the sums of a tile, as many vectors as the
/// result has.
void MatmulEmitter::emitPackedTile(IndexBuilder &b, const Panels &panels,
                                   Value scratch, Value sums, Value depth,
                                   Value isFirst, Value columns) {
  int64_t width = blocking.columns();
  auto compute = [&](IndexBuilder &b, int64_t vectors) {
    SmallVector<Value> tile = computeTile(
        b, blocking.rows, vectors, depth,
        [&](IndexBuilder &b, int64_t i, Value k) -> Value {
          Value column = b.add(panels.lhsOffset, b.mul(k, blocking.rows));
          return memref::LoadOp::create(b, panels.lhs, b.add(column, i));
        },
        [&](IndexBuilder &b, int64_t j, Value k) {
          Value row = b.add(panels.rhsOffset, b.mul(k, width));
          return loadWhole(b, panels.rhs, b.add(row, j * lanes));
        });
    auto store = [&](IndexBuilder &b, bool add) {
      for (auto [index, sum] : llvm::enumerate(tile)) {
        int64_t i = index / vectors, j = index % vectors;
        Value offset = b.add(sums, i * width + j * lanes), result = sum;
        if (add)
          result = arith::AddFOp::create(b, loadSums(b, scratch, offset), sum);
        storeSums(b, result, scratch, offset);
      }
    };
    b.branch(
        isFirst, [&](IndexBuilder &b) { store(b, false); },
        [&](IndexBuilder &b) { store(b, true); });
  };
  std::function<void(IndexBuilder &, int64_t)> choose = [&](IndexBuilder &b,
                                                            int64_t vectors) {
    if (vectors == blocking.vectors)
      return compute(b, vectors);
    b.branch(
        b.isAtMost(columns, vectors * lanes),
        [&](IndexBuilder &b) { compute(b, vectors); },
        [&](IndexBuilder &b) { choose(b, vectors + 1); });
  };
  choose(b, 1);
}
