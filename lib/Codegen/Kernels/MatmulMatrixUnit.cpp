//===- MatmulMatrixUnit.cpp - Matrix products by a matrix unit --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The micro-kernel of MatmulBlocks.cpp on registers that hold tiles, and the
// packing of the left matrix for it: 16 rows of 16 words lie together, so that
// a tile is one stream. Panels of the right matrix are those of vectors.
//
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr int64_t kSize = MatrixUnit::kSize;

MatmulBlocking MatmulBlocking::forMatrixUnit() const {
  // Of panels that are so deep, the right one stays in the first level of the
  // cache, with 32 KiB.
  constexpr int64_t kDepth = 256;
  MatmulBlocking result = *this;
  result.rows = MatrixUnit::kTiles * kSize;
  result.blockRows =
      blockRows * blockDepth / kDepth / result.rows * result.rows;
  result.blockRows = std::max(result.blockRows, result.rows);
  result.blockDepth = kDepth;
  result.isOfMatrixUnit = true;
  return result;
}

/// Copies rows of the left matrix, which has unit columns, in tiles one after
/// the other along the depth, with zeros where it ends. Rows past the end may
/// have any values.
void MatmulEmitter::packTiles(IndexBuilder &b, const PanelRange &range,
                              Value scratch) {
  const MatrixView &matrix = range.matrix;
  int64_t elements = kSize * wordSize();
  Value begin = b.mul(range.begin, wordSize());
  // Few processors have masks for elements this small, so only the last vector
  // of a row has one.
  Value size = b.min(b.mul(range.depth, wordSize()), b.sub(problem.k, begin));
  Value whole = b.mul(b.floorDiv(size, b.index(elements)), kSize);
  b.loop(b.index(0), range.rows, 1, [&](IndexBuilder &b, Value row) {
    Value place = b.rem(row, b.index(kSize));
    Value to = b.add(b.add(range.offset, b.mul(place, kSize)),
                     b.mul(b.sub(row, place), range.stride));
    Value from = b.add(b.add(matrix.offset, begin),
                       b.mul(b.add(range.row, row), matrix.rowStride));
    auto copy = [&](IndexBuilder &b, Value k, Value mask) {
      Value values = loadElements(b, matrix, b.add(from, b.mul(k, wordSize())),
                                  elements, mask);
      auto type = VectorType::get(kSize, problem.sumType);
      storeSums(b, vector::BitCastOp::create(b, type, values), scratch,
                b.add(to, b.mul(k, kSize)));
    };
    b.loop(b.index(0), whole, kSize,
           [&](IndexBuilder &b, Value k) { copy(b, k, /*mask=*/{}); });
    b.loop(whole, range.depth, kSize, [&](IndexBuilder &b, Value k) {
      Value rest = b.sub(size, b.mul(k, wordSize()));
      copy(b, k, makeMask(b, rest, elements));
    });
  });
}

/// Copies the rows of a panel of the right matrix that are no whole tile to
/// scratch memory, with zeros behind them: others follow them in memory.
void MatmulEmitter::packLastRows(IndexBuilder &b, const MatrixView &panel,
                                 Value depth, Value scratch, Value to) {
  Value rest = b.rem(depth, b.index(kSize)), first = b.sub(depth, rest);
  int64_t width = blocking.columns();
  auto fill = [&](IndexBuilder &b, Value begin, Value end, bool isCopied) {
    b.loop(begin, end, 1, [&](IndexBuilder &b, Value row) {
      Value from = b.add(panel.offset, b.mul(b.add(first, row), width));
      Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
      for (int64_t j = 0; j < width; j += lanes)
        storeSums(b, isCopied ? loadPanel(b, panel, b.add(from, j)) : zeros,
                  scratch, b.add(b.add(to, b.mul(row, width)), j));
    });
  };
  b.branch(b.isBelow(b.index(0), rest), [&](IndexBuilder &b) {
    fill(b, b.index(0), rest, /*isCopied=*/true);
    fill(b, rest, b.index(kSize), /*isCopied=*/false);
  });
}

/// Adds products of two panels to `rows` of sums in scratch memory, or sets
/// these.
void MatmulEmitter::multiplyTiles(IndexBuilder &b, const Panels &panels,
                                  Value scratch, Value sums, Value depth,
                                  Value isFirst, int64_t rows) {
  const MatrixUnit &unit = *problem.matrixUnit;
  int64_t width = blocking.columns(), columns = width / kSize;
  rows /= kSize;
  Value sumStride = b.index(width);
  auto place = [&](IndexBuilder &b, int64_t i, int64_t j) {
    return b.add(sums, i * kSize * width + j * kSize);
  };
  // A step of the right panel, at a place of words.
  auto addStep = [&](IndexBuilder &b, Value k, const MatrixView &right,
                     Value begin, ValueRange carried) {
    int64_t scale = isOfWords(right) ? 1 : wordSize();
    SmallVector<Value> next, factors;
    for (int64_t j = 0; j < columns; ++j)
      factors.push_back(unit.loadWords(b, right.base,
                                       b.mul(b.add(begin, j * kSize), scale),
                                       b.index(width * scale)));
    for (int64_t i = 0; i < rows; ++i) {
      Value panel =
          b.add(panels.lhs.offset, b.mul(panels.lhs.rowStride, i * kSize));
      Value left = unit.loadWords(b, scratch, b.add(panel, b.mul(k, kSize)),
                                  b.index(kSize));
      for (int64_t j = 0; j < columns; ++j)
        next.push_back(
            unit.multiplyAdd(b, left, factors[j], carried[i * columns + j]));
    }
    return next;
  };
  auto compute = [&](IndexBuilder &b, bool isAdded) {
    SmallVector<Value> tiles;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        tiles.push_back(
            isAdded ? unit.loadSums(b, scratch, place(b, i, j), sumStride)
                    : unit.makeZeros(b));
    Value rest = b.rem(depth, b.index(kSize)), whole = b.sub(depth, rest);
    tiles = b.reduce(b.index(0), whole, kSize, tiles,
                     [&](IndexBuilder &b, Value k, ValueRange carried) {
                       if (panels.ahead)
                         for (int64_t i = 0; i < kSize; ++i)
                           prefetchPanel(b, panels.rhs,
                                         b.add(panels.ahead->begin, Step{k, i},
                                               panels.ahead->step));
                       return addStep(b, k, panels.rhs,
                                      b.add(panels.rhs.offset, b.mul(k, width)),
                                      carried);
                     });
    // Once, if there is a rest.
    MatrixView last = {scratch, panels.lastRows, {}, {}};
    if (!isConstantIntValue(rest, 0))
      tiles = b.reduce(whole, depth, kSize, tiles,
                       [&](IndexBuilder &b, Value k, ValueRange carried) {
                         return addStep(b, k, last, last.offset, carried);
                       });
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        unit.storeSums(b, tiles[i * columns + j], scratch, place(b, i, j),
                       sumStride);
  };
  b.branch(
      isFirst, [&](IndexBuilder &b) { compute(b, /*isAdded=*/false); },
      [&](IndexBuilder &b) { compute(b, /*isAdded=*/true); });
}
