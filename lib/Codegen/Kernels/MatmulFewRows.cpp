//===- MatmulFewRows.cpp - Matrix products of few rows ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix-vector products and thin matrices, bound by memory: the right matrix
// is streamed once.
//
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// So many columns have their sums in the first level of the cache at a time: a
/// page of memory or half of one, which is read from start to end.
static int64_t getStreamWidth(VectorType vector) {
  constexpr int64_t kBits = 8 * 2048;
  return std::max(kBits / vector.getElementTypeBitWidth(),
                  vector.getNumElements());
}

/// At most `rows` rows; those of the right matrix are contiguous, and are read
/// `depth` at a time, since memory is faster where it is read in order.
void MatmulEmitter::emitStream(IndexBuilder &b, int64_t rows, int64_t depth) {
  int64_t width = getStreamWidth(vectorType);
  Value groups = b.ceilDiv(problem.n, b.index(width));
  // No rows, no tasks: row 0 is read.
  Value isAny = b.min(problem.m, b.index(1));
  Value tasks = b.mul(b.mul(problem.batch, groups), isAny);
  b.parallel(tasks, /*grain=*/1, [&](IndexBuilder &b, Value task) {
    Value batch = b.floorDiv(task, groups), zero = b.index(0);
    Value column = b.mul(b.rem(task, groups), width);
    Value columns = b.min(b.sub(problem.n, column), b.index(width));
    Tile tile = {batch, zero, column, problem.m, columns};
    Value scratch = makeScratch(b, b.index(rows * width));
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
    b.loop(zero, b.index(rows * width), lanes,
           [&](IndexBuilder &b, Value i) { storeSums(b, zeros, scratch, i); });
    Value rest = b.rem(problem.k, b.index(depth));
    Value end = b.sub(problem.k, rest);
    b.loop(zero, end, depth, [&](IndexBuilder &b, Value k) {
      emitStreamStep(b, tile, rows, depth, k, scratch);
    });
    b.loop(end, problem.k, 1, [&](IndexBuilder &b, Value k) {
      emitStreamStep(b, tile, rows, 1, k, scratch);
    });
    finishTile(b, tile, width, scratch, zero);
  });
}

/// Adds products with `depth` rows of the right matrix from row `k` on.
void MatmulEmitter::emitStreamStep(IndexBuilder &b, const Tile &tile,
                                   int64_t rows, int64_t depth, Value k,
                                   Value scratch) {
  int64_t width = getStreamWidth(vectorType);
  MatrixView lhs = problem.lhs(b, tile.batch);
  MatrixView rhs = problem.rhs(b, tile.batch);
  Value last = b.sub(problem.m, b.index(1));
  SmallVector<Value> left, right;
  for (int64_t d = 0; d < depth; ++d) {
    Value place = b.add(k, d);
    Value begin = b.add(rhs.offset, b.mul(place, rhs.rowStride));
    right.push_back(b.add(begin, tile.column));
    Value column = b.add(lhs.offset, b.mul(place, lhs.columnStride));
    for (int64_t i = 0; i < rows; ++i) {
      Value row = i == 0 ? b.index(0) : b.min(b.index(i), last);
      Value scalar =
          loadScalar(b, lhs, b.add(column, b.mul(row, lhs.rowStride)));
      left.push_back(vector::BroadcastOp::create(b, vectorType, scalar));
    }
  }
  auto compute = [&](IndexBuilder &b, Value j, Value mask) {
    SmallVector<Value> sums;
    for (int64_t i = 0; i < rows; ++i)
      sums.push_back(loadSums(b, scratch, b.add(j, i * width)));
    for (int64_t d = 0; d < depth; ++d) {
      Value offset = b.add(right[d], j);
      Value vector = mask ? loadVector(b, rhs, offset, mask)
                          : loadWhole(b, rhs, offset, lanes);
      for (int64_t i = 0; i < rows; ++i)
        sums[i] = multiplyAdd(b, left[d * rows + i], vector, sums[i]);
    }
    for (int64_t i = 0; i < rows; ++i)
      storeSums(b, sums[i], scratch, b.add(j, i * width));
  };
  Value rest = b.rem(tile.columns, b.index(lanes));
  Value end = b.sub(tile.columns, rest);
  b.loop(b.index(0), end, lanes,
         [&](IndexBuilder &b, Value j) { compute(b, j, Value()); });
  b.branch(b.compare(arith::CmpIPredicate::sgt, rest, b.index(0)),
           [&](IndexBuilder &b) { compute(b, end, makeMask(b, rest, lanes)); });
}

/// Brings at most `rows` rows of each left matrix of the batch into panels.
MatrixView MatmulEmitter::packFewRows(IndexBuilder &b, int64_t rows) {
  Value stride = b.roundUp(countSteps(b), lanes);
  MatrixView panels;
  panels.rowStride = b.mul(stride, rows); // of the batch
  panels.base = makeScratch(b, b.mul(problem.batch, panels.rowStride));
  b.parallel(problem.batch, /*grain=*/4, [&](IndexBuilder &b, Value batch) {
    PanelRange range = {problem.lhs(b, batch),
                        b.index(0),
                        problem.m,
                        b.index(0),
                        countSteps(b),
                        rows,
                        b.mul(batch, panels.rowStride),
                        stride,
                        /*isLhs=*/true};
    pack(b, range, panels.base);
  });
  return panels;
}

/// At most `rows` rows; those of the right matrix are contiguous, or in panels,
/// `panels` of which are read side by side. Of words, rows are packed before.
void MatmulEmitter::emitDirect(IndexBuilder &b, int64_t rows, int64_t vectors,
                               int64_t panels) {
  // Two pages: while many rows are multiplied, too few lines of a panel are on
  // their way from memory.
  constexpr int64_t kAheadBits = 8 * 8192, kFetchedRows = 8;
  bool isFetched = problem.isPacked && rows >= kFetchedRows;
  int64_t ahead = kAheadBits / problem.sumType.getIntOrFloatBitWidth();
  int64_t panelWidth = vectors * lanes, width = panels * panelWidth;
  Value groups = b.ceilDiv(problem.n, b.index(width));
  // No rows, no tasks: row 0 is read.
  Value isAny = b.min(problem.m, b.index(1));
  Value tasks = b.mul(b.mul(problem.batch, groups), isAny);
  bool hasPanels = problem.isPacked && hasWords();
  MatrixView left = hasPanels ? packFewRows(b, rows) : MatrixView();
  int64_t grain = llvm::divideCeil(4, panels);
  b.parallel(tasks, grain, [&](IndexBuilder &b, Value task) {
    Value batch = b.floorDiv(task, groups);
    Value column = b.mul(b.rem(task, groups), width);
    MatrixView lhs = problem.lhs(b, batch), rhs = problem.rhs(b, batch);
    Value steps = problem.isPacked ? countSteps(b) : problem.k;
    Value columns = b.min(b.sub(problem.n, column), b.index(width));
    Value last = b.sub(problem.m, b.index(1));
    SmallVector<Value> rowOffsets, columnOffsets, masks;
    for (int64_t i = 0; i < rows; ++i)
      rowOffsets.push_back(
          i == 0 ? lhs.offset
                 : b.add(lhs.offset,
                         b.mul(b.min(b.index(i), last), lhs.rowStride)));
    for (int64_t j = 0; j < panels * vectors; ++j) {
      Value begin = b.index(j * lanes);
      Value offset = b.add(column, begin);
      if (problem.isPacked) {
        Value panel = b.add(column, j / vectors * panelWidth);
        offset = b.add(b.mul(panel, steps), j % vectors * lanes);
      }
      columnOffsets.push_back(b.add(rhs.offset, offset));
      masks.push_back(makeMask(b, b.sub(columns, begin), lanes));
    }
    // One row more for what sums have too much.
    int64_t tileRows = rows + (hasPanels && movesLhs());
    Value panel = hasPanels ? b.mul(batch, left.rowStride) : Value();
    // One row is finished in registers.
    bool isRow = rows == 1;
    Value scratch = isRow ? Value() : makeScratch(b, b.index(rows * width));
    auto fetch = [&](IndexBuilder &b, const Step &k) {
      Value place = b.add(b.add(columnOffsets[0], k, panelWidth), ahead);
      for (int64_t j = 0; j < vectors; ++j)
        prefetchPanel(b, rhs, b.add(place, j * getLineSize()));
    };
    auto compute = [&](IndexBuilder &b, int64_t count) {
      int64_t vectors = count / lanes;
      SmallVector<Value> sums = computeTile(
          b, tileRows, vectors, steps,
          [&](IndexBuilder &b, int64_t i, const Step &k) -> Value {
            if (i == rows)
              return words->getOffset(b, vectorType);
            if (hasPanels)
              return loadStep(b, left, b.add(b.add(panel, k, rows), i));
            Value offset = b.add(rowOffsets[i], k, lhs.columnStride);
            return loadScalar(b, lhs, offset);
          },
          [&](IndexBuilder &b, int64_t j, const Step &k) {
            if (problem.isPacked)
              return loadPanel(b, rhs, b.add(columnOffsets[j], k, panelWidth));
            Value offset = b.add(columnOffsets[j], k, rhs.rowStride);
            return loadVector(b, rhs, offset, masks[j]);
          },
          hasPanels ? &MatmulEmitter::multiplyAddWords
                    : &MatmulEmitter::multiplyAdd,
          isFetched ? Prefetch(fetch) : Prefetch());
      for (int64_t index = 0; index < rows * vectors; ++index) {
        int64_t i = index / vectors, j = index % vectors;
        Value sum = sums[index];
        if (tileRows > rows)
          sum = arith::SubIOp::create(b, sum, sums[rows * vectors + j]);
        Value begin = b.index(j * lanes);
        auto finish = [&](IndexBuilder &b) {
          problem.finish(b, sum,
                         {batch, b.index(0), b.add(column, begin), masks[j]});
        };
        if (!isRow)
          storeSums(b, sum, scratch, b.index(i * width + j * lanes));
        else if (j == 0)
          finish(b);
        else
          b.branch(b.isBelow(begin, columns), finish);
      }
    };
    // Code for each number of vectors that there may be would be much.
    SmallVector<int64_t> sizes = {width};
    if (getConstantIntValue(problem.n))
      sizes = getTileSizes(problem.n, width, lanes);
    branchBySize(b, columns, sizes, compute);
    if (!isRow)
      finishTile(b, {batch, b.index(0), column, problem.m, columns}, width,
                 scratch, b.index(0));
  });
}

/// Few rows; those of the left and the columns of the right matrix are
/// contiguous.
void MatmulEmitter::emitDots(IndexBuilder &b, int64_t rows, int64_t columns) {
  Value groups = b.ceilDiv(problem.n, b.index(lanes));
  Value isAny = b.min(problem.m, b.index(1));
  Value tasks = b.mul(b.mul(problem.batch, groups), isAny);
  b.parallel(tasks, /*grain=*/4, [&](IndexBuilder &b, Value task) {
    Value batch = b.floorDiv(task, groups), zero = b.index(0);
    Value column = b.mul(b.rem(task, groups), lanes);
    Value count = b.min(b.sub(problem.n, column), b.index(lanes));
    Value scratch = makeScratch(b, b.mul(problem.m, lanes));
    Tile group = {batch, zero, column, problem.m, count};
    b.loop(zero, count, columns, [&](IndexBuilder &b, Value j) {
      b.loop(zero, problem.m, rows, [&](IndexBuilder &b, Value i) {
        emitDotTile(b, {batch, i, j, problem.m, b.add(column, j)}, rows,
                    columns, scratch);
      });
    });
    finishTile(b, group, lanes, scratch, zero);
  });
}

/// Writes rows x columns dot products to row `tile.row`, column `tile.column`
/// of the scratch memory. Rows and columns past the end repeat the last one.
void MatmulEmitter::emitDotTile(IndexBuilder &b, const Tile &tile, int64_t rows,
                                int64_t columns, Value scratch) {
  MatrixView lhs = problem.lhs(b, tile.batch);
  MatrixView rhs = problem.rhs(b, tile.batch).transposed();
  auto offsets = [&](const MatrixView &matrix, Value first, Value end,
                     int64_t count) {
    SmallVector<Value> result;
    for (int64_t i = 0; i < count; ++i) {
      Value row = b.min(b.add(first, i), b.sub(end, b.index(1)));
      result.push_back(b.add(matrix.offset, b.mul(row, matrix.rowStride)));
    }
    return result;
  };
  SmallVector<Value> left = offsets(lhs, tile.row, problem.m, rows);
  SmallVector<Value> right = offsets(rhs, tile.columns, problem.n, columns);
  auto step = [&](IndexBuilder &b, Value k, ValueRange carried, Value mask) {
    SmallVector<Value> sums = llvm::to_vector(carried), vectors;
    for (Value offset : right)
      vectors.push_back(loadVector(b, rhs, b.add(offset, k), mask));
    for (int64_t i = 0; i < rows; ++i) {
      Value row = loadVector(b, lhs, b.add(left[i], k), mask);
      for (int64_t j = 0; j < columns; ++j) {
        Value &sum = sums[i * columns + j];
        sum = multiplyAdd(b, row, vectors[j], sum);
      }
    }
    return sums;
  };
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  SmallVector<Value> inits(rows * columns, zeros);
  Value rest = b.rem(problem.k, b.index(lanes));
  Value end = b.sub(problem.k, rest);
  Value all = makeMask(b, b.index(lanes), lanes);
  SmallVector<Value> sums =
      b.reduce(b.index(0), end, lanes, inits,
               [&](IndexBuilder &b, Value k, ValueRange carried) {
                 return step(b, k, carried, all);
               });
  sums = step(b, end, sums, makeMask(b, rest, lanes));
  for (int64_t i = 0; i < rows; ++i) {
    auto store = [&](IndexBuilder &b) {
      for (int64_t j = 0; j < columns; ++j) {
        Value sum = vector::ReductionOp::create(
            b, vector::CombiningKind::ADD, sums[i * columns + j],
            isa<FloatType>(problem.sumType) ? arith::FastMathFlags::reassoc
                                            : arith::FastMathFlags::none);
        Value row = b.mul(b.add(tile.row, i), lanes);
        memref::StoreOp::create(b, sum, scratch,
                                b.add(row, b.add(tile.column, j)));
      }
    };
    b.branch(b.isBelow(b.add(tile.row, i), problem.m), store);
  }
}
