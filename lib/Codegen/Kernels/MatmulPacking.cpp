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
    Value column = b.mul(b.add(range.begin, k), matrix.columnStride);
    Value from = b.add(begin, column);
    Value to = b.add(range.offset, b.mul(k, range.width));
    auto copy = [&](IndexBuilder &b, Value row, bool isWhole) {
      Value source = b.add(from, row);
      Value target = b.add(to, b.mul(row, range.stride));
      for (auto [i, mask] : llvm::enumerate(masks)) {
        Value place = b.add(source, i * size);
        Value values =
            isWhole && size == lanes
                ? loadWhole(b, matrix.base, place)
                : loadVector(b, matrix.base, place,
                             isWhole ? makeMask(b, b.index(size), size) : mask);
        storeSums(b, values, scratch, b.add(target, i * size));
      }
    };
    b.loop(zero, whole, range.width,
           [&](IndexBuilder &b, Value row) { copy(b, row, true); });
    b.branch(b.compare(arith::CmpIPredicate::sgt, rest, zero),
             [&](IndexBuilder &b) { copy(b, whole, false); });
  });
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
      Value begin = b.add(matrix.offset, range.begin);
      offsets.push_back(b.add(begin, b.mul(row, matrix.rowStride)));
    }
    b.loop(zero, range.depth, lanes, [&](IndexBuilder &b, Value k) {
      Value mask = makeMask(b, b.sub(range.depth, k), lanes);
      Value to = b.add(target, b.mul(k, range.width));
      SmallVector<Value> rows;
      for (Value from : offsets)
        rows.push_back(loadVector(b, matrix.base, b.add(from, k), mask));
      // Each vector holds lanes / size columns of the panel.
      int64_t stride = size == lanes ? range.width : lanes;
      for (auto [i, columns] : llvm::enumerate(transpose(b, rows)))
        storeSums(b, columns, scratch, b.add(to, i * stride));
    });
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
      Value column = b.mul(b.add(range.begin, k), matrix.columnStride);
      memref::StoreOp::create(b,
                              loadScalar(b, matrix.base, b.add(from, column)),
                              scratch, b.add(to, b.mul(k, width)));
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
  Value chunks = b.ceilDiv(problem.k, b.index(step));
  Value groups = b.ceilDiv(right.columns, columns);
  b.parallel(b.mul(chunks, groups), /*grain=*/1,
             [&](IndexBuilder &b, Value task) {
               Value begin = b.mul(b.floorDiv(task, groups), step);
               Value column = b.mul(b.rem(task, groups), columns);
               PanelRange range;
               range.matrix = problem.rhs(b, b.index(0)).transposed();
               range.row = b.add(right.first, column);
               range.rows = b.min(b.sub(right.columns, column), columns);
               range.begin = begin;
               range.depth = b.min(b.sub(problem.k, begin), b.index(step));
               range.width = width;
               range.offset = b.add(b.add(right.offset, b.mul(begin, width)),
                                    b.mul(column, right.stride));
               range.stride = right.stride;
               pack(b, range, right.panels);
             });
}
