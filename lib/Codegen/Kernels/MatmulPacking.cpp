//===- MatmulPacking.cpp - Packing of matrices ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies matrices to scratch memory, in panels that the micro-kernel reads
// sequentially.
//
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "Transpose.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// Copies rows of a matrix to panels: all `width` elements of a column lie
/// together. Rows past the end have any values, but may be read.
void MatmulEmitter::pack(IndexBuilder &b, const PanelRange &range,
                         Value scratch) {
  if (range.isLhs && blocking.isOfMatrixUnit)
    return packTiles(b, range, scratch);
  if (range.matrix.hasUnitRows())
    return packCopies(b, range, scratch);
  if (range.matrix.hasUnitColumns() && llvm::isPowerOf2_64(lanes))
    return packTransposed(b, range, scratch);
  packScalars(b, range, scratch);
}

/// All panels are written at once, so that the matrix is read in the order of
/// memory.
void MatmulEmitter::packCopies(IndexBuilder &b, const PanelRange &range,
                               Value scratch) {
  int64_t size = std::min(lanes, range.width);
  const MatrixView &matrix = range.matrix;
  Value begin = b.add(matrix.offset, range.row), zero = b.index(0);
  Value rest = b.rem(range.rows, b.index(range.width));
  Value whole = b.sub(range.rows, rest);
  SmallVector<Value> masks;
  for (int64_t i = 0; i < range.width; i += size)
    masks.push_back(makeMask(b, b.sub(rest, b.index(i)), size));
  b.loop(zero, range.depth, 1, [&](IndexBuilder &b, Value k) {
    Value step = b.add(range.begin, k);
    Value row = b.mul(step, wordSize());
    Value from = b.add(begin, b.mul(row, matrix.columnStride));
    Value to = b.add(range.offset, b.mul(k, range.width));
    auto copy = [&](IndexBuilder &b, Value column, bool isWhole) {
      Value target = b.add(to, b.mul(column, range.stride));
      for (auto [i, edge] : llvm::enumerate(masks)) {
        Value mask = isWhole ? makeMask(b, b.index(size), size) : edge;
        bool isFull = isWhole && size == lanes;
        Value place = b.add(b.add(from, column), i * size), values;
        if (hasWords())
          values = packWord(b, range, row, place, [&](Value from) {
            return loadElements(b, matrix, from, size, isFull ? Value() : mask);
          });
        else
          values = isFull ? loadWhole(b, matrix, place, lanes)
                          : loadVector(b, matrix, place, mask);
        storeSums(b, values, scratch, b.add(target, i * size));
      }
    };
    b.loop(zero, whole, range.width,
           [&](IndexBuilder &b, Value row) { copy(b, row, true); });
    b.branch(b.compare(arith::CmpIPredicate::sgt, rest, zero),
             [&](IndexBuilder &b) { copy(b, whole, false); });
  });
}

/// The words of elements from column `column` of the matrix on, the first one
/// of which is at `place`; zeros where it has no more.
Value MatmulEmitter::packWord(IndexBuilder &b, const PanelRange &range,
                              Value column, Value place,
                              llvm::function_ref<Value(Value)> load) {
  SmallVector<Value> elements = {load(place)};
  Value zeros =
      arith::ConstantOp::create(b, b.getZeroAttr(elements[0].getType()));
  for (int64_t i = 1; i < wordSize(); ++i) {
    Value isInside = b.isBelow(b.add(column, i), problem.k);
    Value next = b.createOrFold<arith::SelectOp>(
        isInside, b.add(place, b.mul(range.matrix.columnStride, i)), place);
    elements.push_back(arith::SelectOp::create(b, isInside, load(next), zeros));
  }
  return finishWords(
      b, range,
      words->interleave(b, elements, range.matrix.isUnsigned, problem.sumType));
}

/// Words as the left or the right matrix has them in panels.
Value MatmulEmitter::finishWords(IndexBuilder &b, const PanelRange &range,
                                 Value packed) {
  return range.isLhs && movesLhs() ? words->flipSigns(b, packed) : packed;
}

/// The depth is rounded up to whole vectors, with zeros. As many rows as a
/// vector has lanes, or a panel has rows, are transposed at a time.
void MatmulEmitter::packTransposed(IndexBuilder &b, const PanelRange &range,
                                   Value scratch) {
  int64_t size = std::min(lanes, range.width);
  const MatrixView &matrix = range.matrix;
  Value zero = b.index(0), last = b.sub(range.rows, b.index(1));
  Value end = b.roundUp(range.rows, range.width);
  b.loop(zero, end, size, [&](IndexBuilder &b, Value group) {
    Value place = b.rem(group, b.index(range.width));
    Value panel = b.mul(b.sub(group, place), range.stride);
    Value target = b.add(range.offset, b.add(panel, place));
    SmallVector<Value> offsets;
    for (int64_t i = 0; i < size; ++i) {
      Value row = b.add(range.row, b.min(b.add(group, i), last));
      Value begin = b.mul(range.begin, wordSize());
      offsets.push_back(
          b.add(b.add(matrix.offset, begin), b.mul(row, matrix.rowStride)));
    }
    auto copy = [&](IndexBuilder &b, Value k,
                    llvm::function_ref<Value(Value)> load) {
      Value to = b.add(target, b.mul(k, range.width));
      SmallVector<Value> rows;
      for (Value from : offsets)
        rows.push_back(load(from));
      // Each vector holds lanes / size columns of the panel.
      int64_t stride = size == lanes ? range.width : lanes;
      for (auto [i, columns] : llvm::enumerate(transpose(b, rows)))
        storeSums(b, columns, scratch, b.add(to, i * stride));
    };
    if (hasWords())
      return packWords(b, range, copy);
    b.loop(zero, range.depth, lanes, [&](IndexBuilder &b, Value k) {
      Value mask = makeMask(b, b.sub(range.depth, k), lanes);
      copy(b, k, [&](Value from) {
        return loadVector(b, matrix, b.add(from, k), mask);
      });
    });
  });
}

/// Calls `copy` for each vector of words along the depth, with what loads it of
/// a row at an offset.
void MatmulEmitter::packWords(IndexBuilder &b, const PanelRange &range,
                              CopyRows copy) {
  int64_t size = wordSize(), elements = size * lanes;
  const MatrixView &matrix = range.matrix;
  Value rest = b.sub(problem.k, b.mul(range.begin, size));
  auto load = [&](IndexBuilder &b, Value from, Value k, Value mask) {
    Value values =
        loadElements(b, matrix, b.add(from, b.mul(k, size)), elements, mask);
    return finishWords(
        b, range, words->make(b, values, matrix.isUnsigned, problem.sumType));
  };
  // Few processors have masks for elements this small, so only the last vector
  // has one.
  Value whole = b.mul(
      b.floorDiv(b.min(b.mul(range.depth, size), rest), b.index(elements)),
      lanes);
  b.loop(b.index(0), whole, lanes, [&](IndexBuilder &b, Value k) {
    copy(b, k, [&](Value from) { return load(b, from, k, /*mask=*/{}); });
  });
  b.loop(whole, range.depth, lanes, [&](IndexBuilder &b, Value k) {
    Value mask = makeMask(b, b.sub(rest, b.mul(k, size)), elements);
    copy(b, k, [&](Value from) { return load(b, from, k, mask); });
  });
}

/// For a matrix neither the rows nor the columns of which are contiguous.
void MatmulEmitter::packScalars(IndexBuilder &b, const PanelRange &range,
                                Value scratch) {
  const MatrixView &matrix = range.matrix;
  Value zero = b.index(0), width = b.index(range.width);
  b.loop(zero, range.rows, 1, [&](IndexBuilder &b, Value row) {
    Value place = b.rem(row, width);
    Value panel = b.mul(b.sub(row, place), range.stride);
    Value to = b.add(range.offset, b.add(panel, place));
    Value from =
        b.add(matrix.offset, b.mul(b.add(range.row, row), matrix.rowStride));
    b.loop(zero, range.depth, 1, [&](IndexBuilder &b, Value k) {
      Value column = b.mul(b.add(range.begin, k), wordSize());
      Value place = b.add(from, b.mul(column, matrix.columnStride));
      Value element =
          hasWords()
              ? packWord(b, range, column, place,
                         [&](Value from) -> Value {
                           return memref::LoadOp::create(b, matrix.base, from);
                         })
              : loadScalar(b, matrix, place);
      memref::StoreOp::create(b, element, scratch, b.add(to, b.mul(k, width)));
    });
  });
}

/// Panels of columns of the right matrix, with all of the depth. Threads share
/// the work.
void MatmulEmitter::packTogether(IndexBuilder &b, const RightMatrix &right) {
  // So many rows of so many panels at a time.
  constexpr int64_t kPanels = 16;
  int64_t step = std::max<int64_t>(lanes, 64), width = blocking.columns();
  Value columns = b.index(kPanels * width);
  Value chunks = b.ceilDiv(countSteps(b), b.index(step));
  Value groups = b.ceilDiv(right.columns, columns);
  b.parallel(
      b.mul(chunks, groups), /*grain=*/1, [&](IndexBuilder &b, Value task) {
        Value begin = b.mul(b.floorDiv(task, groups), step);
        Value column = b.mul(b.rem(task, groups), columns);
        PanelRange range;
        range.matrix = problem.rhs(b, b.index(0)).transposed();
        range.row = b.add(right.first, column);
        range.rows = b.min(b.sub(right.columns, column), columns);
        range.begin = begin;
        range.depth = b.min(b.sub(countSteps(b), begin), b.index(step));
        range.width = width;
        range.offset = b.add(b.add(right.panels.offset, b.mul(begin, width)),
                             b.mul(column, right.stride));
        range.stride = right.stride;
        pack(b, range, right.panels.base);
      });
}
