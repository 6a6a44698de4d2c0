//===- MatmulFewRows.cpp - Products of few rows on GPUs ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of few rows takes as long as its right matrix takes to be read.
// Each element of it is read once, by 16 bytes a thread where rows of it are
// contiguous along the depth:
//
// - Contiguous along the depth (the weights of a linear layer): a warp has a
//   few columns, and its lanes share the depth.
// - Contiguous columns: a lane has two columns, and the warps of a block share
//   the depth.
//
// Partial sums of float32 meet in shared memory.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "Matmul.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// A block has `numRows` rows of some columns.
class FewRows {
public:
  FewRows(const MatmulProblem &problem, int64_t numRows, bool isAlongDepth,
          int64_t chunk)
      : problem(problem), numRows(numRows), isAlongDepth(isAlongDepth),
        chunk(chunk) {}
  void emit(IndexBuilder &b);

private:
  /// Sums of `numRows` rows of as many columns as a thread has.
  using Sums = SmallVector<Value>;

  /// A thread of 16 warps has not the registers for several rows of f32.
  int64_t numWarps() const {
    return isAlongDepth ? 8 : numRows > 1 && chunk == 4 ? 12 : 16;
  }
  /// The columns of a thread. Fewer of them make more blocks; with more of them
  /// elements of the left matrix are loaded less often.
  int64_t numColumns() const {
    if (numRows > 1)
      return isAlongDepth ? 4 : 2;
    return isAlongDepth || chunk > 4 ? 2 : 1;
  }
  int64_t numBlockColumns() const {
    return numColumns() * (isAlongDepth ? numWarps() : kWarp);
  }
  /// Shared memory has so many sums of each result.
  int64_t numParts() const { return isAlongDepth ? 1 : numWarps(); }

  using Elements = SmallVector<Value>;
  Elements load(IndexBuilder &in, const MatrixView &matrix, Value row,
                Value column, int64_t count);
  SmallVector<Elements> loadColumns(IndexBuilder &in, Value depth);
  void multiply(IndexBuilder &in, Value depth, ArrayRef<Elements> columns,
                Sums &sums);
  Sums sumUp(IndexBuilder &in);
  void keep(IndexBuilder &in, ArrayRef<Value> sums);
  void finish(IndexBuilder &in);

  const MatmulProblem &problem;
  int64_t numRows;
  bool isAlongDepth;
  /// So many elements of a row are loaded at a time.
  int64_t chunk;
  BlockPlace place;
  MatrixView left, right;
  Value thread, lane, warp, partial;
  Value firstColumn; // of the thread
};
} // namespace

/// The elements of a vector as f32. Two of bf16 are the halves of a word.
static SmallVector<Value> extend(IndexBuilder &in, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t count = type.getNumElements();
  SmallVector<Value> result;
  if (!type.getElementType().isBF16() || count % 2 != 0) {
    if (!type.getElementType().isF32())
      vector = arith::ExtFOp::create(
          in, VectorType::get(count, in.getF32Type()), vector);
    for (int64_t i = 0; i < count; ++i)
      result.push_back(vector::ExtractOp::create(in, vector, i));
    return result;
  }
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(in, in.getI32IntegerAttr(value));
  };
  Value words = vector::BitCastOp::create(
      in, VectorType::get(count / 2, in.getI32Type()), vector);
  for (int64_t i = 0; i < count / 2; ++i) {
    Value word = vector::ExtractOp::create(in, words, i);
    Value low = arith::ShLIOp::create(in, word, constant(16)),
          high = arith::AndIOp::create(in, word, constant(0xffff0000));
    for (Value half : {low, high})
      result.push_back(arith::BitcastOp::create(in, in.getF32Type(), half));
  }
  return result;
}

/// Elements of a row.
FewRows::Elements FewRows::load(IndexBuilder &in, const MatrixView &matrix,
                                Value row, Value column, int64_t count) {
  Type element = cast<MemRefType>(matrix.base.getType()).getElementType();
  int64_t bytes = count * element.getIntOrFloatBitWidth() / 8;
  Value at =
      in.add(matrix.offset, in.add(in.mul(row, matrix.rowStride), column));
  return extend(in, vector::LoadOp::create(
                        in, VectorType::get(count, element), matrix.base,
                        ValueRange(at), /*nontemporal=*/false,
                        llvm::MaybeAlign(std::min<int64_t>(bytes, 16))));
}

/// A chunk of the depth of the columns of a thread: vectors along the depth, or
/// along the columns.
SmallVector<FewRows::Elements> FewRows::loadColumns(IndexBuilder &in,
                                                    Value depth) {
  SmallVector<Elements> columns;
  Value one = in.index(1);
  if (isAlongDepth) {
    for (int64_t i = 0; i < numColumns(); ++i) {
      // What is computed of columns beyond the last one is not used.
      Value column =
          in.min(in.add(firstColumn, in.index(i)), in.sub(problem.n, one));
      columns.push_back(load(in, right.transposed(), column, depth, chunk));
    }
    return columns;
  }
  Value column = in.min(firstColumn, in.sub(problem.n, in.index(numColumns())));
  for (int64_t i = 0; i < chunk; ++i)
    columns.push_back(
        load(in, right, in.add(depth, in.index(i)), column, numColumns()));
  return columns;
}

void FewRows::multiply(IndexBuilder &in, Value depth,
                       ArrayRef<Elements> columns, Sums &sums) {
  Value last = in.sub(problem.m, in.index(1));
  for (int64_t row = 0; row < numRows; ++row) {
    Elements elements = load(
        in, left, in.min(in.add(place.row, in.index(row)), last), depth, chunk);
    for (int64_t i = 0; i < chunk; ++i)
      for (int64_t j = 0; j < numColumns(); ++j) {
        Value other = isAlongDepth ? columns[j][i] : columns[i][j];
        Value &sum = sums[row * numColumns() + j];
        sum = math::FmaOp::create(in, elements[i], other, sum);
      }
  }
}

FewRows::Sums FewRows::sumUp(IndexBuilder &in) {
  Value zero = arith::ConstantOp::create(in, in.getZeroAttr(problem.sumType));
  Sums zeros(numRows * numColumns(), zero);
  // The depth is a multiple of a chunk.
  Value numChunks = in.floorDiv(problem.k, in.index(chunk));
  Value first = isAlongDepth ? lane : warp;
  int64_t step = isAlongDepth ? kWarp : numWarps();
  int64_t unroll = isAlongDepth ? 2 : 16 / chunk;
  return loopUnrolled(
      in, first, numChunks, in.index(step), unroll, zeros,
      [&](IndexBuilder &loop, ArrayRef<Value> chunks, ValueRange carried) {
        SmallVector<Value> depths;
        SmallVector<SmallVector<Elements>> columns;
        for (Value each : chunks) {
          depths.push_back(loop.mul(each, chunk));
          columns.push_back(loadColumns(loop, depths.back()));
        }
        Sums sums(carried);
        for (auto [depth, each] : llvm::zip_equal(depths, columns))
          multiply(loop, depth, each, sums);
        return sums;
      });
}

/// Brings the sums of a thread, or of a warp, to shared memory:
/// [part][row][column].
void FewRows::keep(IndexBuilder &in, ArrayRef<Value> sums) {
  Value column = in.sub(firstColumn, place.column);
  Value begin = isAlongDepth
                    ? column
                    : in.add(in.mul(warp, numRows * numBlockColumns()), column);
  auto store = [&](IndexBuilder &at, ArrayRef<Value> values) {
    for (auto [i, value] : llvm::enumerate(values)) {
      int64_t row = i / numColumns(), j = i % numColumns();
      memref::StoreOp::create(
          at, value, partial,
          at.add(begin, at.index(row * numBlockColumns() + j)));
    }
  };
  if (!isAlongDepth)
    return store(in, sums);
  SmallVector<Value> totals;
  for (Value sum : sums)
    totals.push_back(reduceWarp(
        in, sum, [](IndexBuilder &at, Value lhs, Value rhs) -> Value {
          return arith::AddFOp::create(at, lhs, rhs);
        }));
  in.branch(in.isEqual(lane, in.index(0)),
            [&](IndexBuilder &first) { store(first, totals); });
}

void FewRows::finish(IndexBuilder &in) {
  int64_t count = numRows * numBlockColumns();
  in.loop(thread, in.index(count), numWarps() * kWarp,
          [&](IndexBuilder &loop, Value at) {
            Value sum = memref::LoadOp::create(loop, partial, at);
            for (int64_t part = 1; part < numParts(); ++part) {
              Value other = memref::LoadOp::create(
                  loop, partial, loop.add(at, loop.index(part * count)));
              sum = arith::AddFOp::create(loop, sum, other);
            }
            Value width = loop.index(numBlockColumns());
            finishInside(loop, problem, sum,
                         {place.batch,
                          loop.add(place.row, loop.floorDiv(at, width)),
                          loop.add(place.column, loop.rem(at, width))});
          });
}

void FewRows::emit(IndexBuilder &b) {
  Type shared =
      getSharedType(b.getContext(), numParts() * numRows * numBlockColumns(),
                    problem.sumType);
  launchTiles(
      b, problem, {numRows, numBlockColumns()}, numWarps() * kWarp, shared,
      [&](IndexBuilder &in, const BlockPlace &block, Value id,
          ValueRange memory) {
        place = block;
        thread = id;
        partial = memory.front();
        lane = in.rem(thread, in.index(kWarp));
        warp = in.floorDiv(thread, in.index(kWarp));
        firstColumn = in.add(place.column,
                             in.mul(isAlongDepth ? warp : lane, numColumns()));
        left = problem.lhs(in, place.batch);
        right = problem.rhs(in, place.batch);
        keep(in, sumUp(in));
        gpu::BarrierOp::create(in);
        finish(in);
      });
}

/// From so many rows on, tiles are as fast.
static constexpr int64_t kFewRows = 8;

void mlir::relax::emitFewRowsOr(IndexBuilder &b, const MatmulProblem &problem,
                                IndexBuilder::Body otherwise) {
  Value zero = b.index(0);
  MatrixView left = problem.lhs(b, zero), right = problem.rhs(b, zero);
  bool isAlongDepth = !right.hasUnitColumns();
  if (!problem.sumType.isF32() || right.element || !left.hasUnitColumns() ||
      (isAlongDepth && !right.hasUnitRows()))
    return otherwise(b);
  int64_t chunk = getChunk(right);
  Value isFew = b.isAtMost(problem.m, kFewRows);
  for (Value isAligned :
       {isMatrixAligned(b, left, problem.k, chunk),
        isMatrixAligned(b, right, isAlongDepth ? problem.k : problem.n, chunk),
        b.isEqual(b.rem(problem.k, b.index(chunk)), zero)})
    isFew = b.createOrFold<arith::AndIOp>(isFew, isAligned);
  auto emit = [&](IndexBuilder &in, int64_t numRows) {
    FewRows(problem, numRows, isAlongDepth, chunk).emit(in);
  };
  b.branch(
      isFew,
      [&](IndexBuilder &few) {
        few.branch(
            few.isAtMost(problem.m, 1),
            [&](IndexBuilder &one) { emit(one, 1); },
            [&](IndexBuilder &some) { emit(some, kFewRows); });
      },
      otherwise);
}
