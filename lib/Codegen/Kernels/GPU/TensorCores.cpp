//===- TensorCores.cpp - Products of 16 x 8 by tensor cores -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCores.h"

#include "Launch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

Value SharedTile::placeOf(IndexBuilder &b, Value row, Value chunk) const {
  // Rows that share 128 bytes have the same banks for a chunk.
  int64_t mask = llvm::bit_floor<uint64_t>(std::min<int64_t>(chunks(), 8)) - 1;
  int64_t sharing = std::max<int64_t>(8 / chunks(), 1);
  Value key = isReadAcross ? b.mul(row, 2) : b.floorDiv(row, b.index(sharing));
  key = arith::AndIOp::create(b, key, b.index(mask));
  // The last chunks of a row that is no power of two stay where they are.
  int64_t swizzled = chunks() / (mask + 1) * (mask + 1);
  Value place = arith::XOrIOp::create(b, chunk, key);
  if (swizzled != chunks())
    place = arith::SelectOp::create(b, b.isBelow(chunk, b.index(swizzled)),
                                    place, chunk);
  Value at = b.add(b.mul(row, width), b.mul(place, this->chunk()));
  return offset ? b.add(offset, at) : at;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Calls `body` with the rows of a tile, and the chunks in them, that a thread
/// has.
static void
forEachChunk(IndexBuilder &b, const SharedTile &tile, Value thread,
             int64_t numThreads,
             llvm::function_ref<void(Value row, Value chunk)> body) {
  for (int64_t i = 0; i < tile.extent * tile.chunks(); i += numThreads) {
    auto [row, chunk] = splitPlace(b, thread, i, tile.chunks());
    body(row, chunk);
  }
}

/// The row and the column of the first element of a chunk in the matrix.
static std::pair<Value, Value> findChunk(IndexBuilder &b,
                                         const SharedTile &tile,
                                         const TileSource &source, Value row,
                                         Value chunk) {
  return {b.add(source.firstRow, row),
          b.add(source.firstColumn, b.mul(chunk, tile.chunk()))};
}

void mlir::relax::copyTile(IndexBuilder &b, const SharedTile &tile,
                           const TileSource &source, Value thread,
                           int64_t numThreads, SmallVectorImpl<Value> &tokens) {
  const MatrixView &matrix = source.matrix;
  auto token = nvgpu::DeviceAsyncTokenType::get(b.getContext());
  forEachChunk(b, tile, thread, numThreads, [&](Value tileRow, Value chunk) {
    Value to = tile.placeOf(b, tileRow, chunk);
    auto [row, column] = findChunk(b, tile, source, tileRow, chunk);
    Value isInside =
        arith::AndIOp::create(b, b.isBelow(row, source.numRows),
                              b.isBelow(column, source.numColumns));
    Value from =
        b.add(matrix.offset, b.add(b.mul(row, matrix.rowStride), column));
    from = arith::SelectOp::create(b, isInside, from, b.index(0));
    // What is not copied becomes zero.
    Value count =
        arith::SelectOp::create(b, isInside, b.index(tile.chunk()), b.index(0));
    tokens.push_back(nvgpu::DeviceAsyncCopyOp::create(
        b, token, tile.memory, ValueRange(to), matrix.base, ValueRange(from),
        b.getIndexAttr(tile.chunk()), count, b.getUnitAttr()));
  });
}

SmallVector<Value> mlir::relax::loadChunks(IndexBuilder &b,
                                           const SharedTile &tile,
                                           const TileSource &source,
                                           Value thread, int64_t numThreads) {
  SmallVector<Value> chunks;
  auto type = VectorType::get({tile.chunk()}, tile.element());
  forEachChunk(b, tile, thread, numThreads, [&](Value tileRow, Value chunk) {
    auto [row, column] = findChunk(b, tile, source, tileRow, chunk);
    Value isRow = b.isBelow(row, source.numRows);
    // One number for all elements takes fewer registers than their columns do.
    Value left = b.sub(source.numColumns, column);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < tile.chunk(); ++i) {
      Value isColumn = b.isBelow(b.index(i), left);
      elements.push_back(
          loadInside(b, source.matrix, row, b.add(column, i), isRow, isColumn));
    }
    chunks.push_back(vector::FromElementsOp::create(b, type, elements));
  });
  return chunks;
}

void mlir::relax::storeChunks(IndexBuilder &b, const SharedTile &tile,
                              ValueRange chunks, Value thread,
                              int64_t numThreads) {
  size_t next = 0;
  forEachChunk(b, tile, thread, numThreads, [&](Value row, Value chunk) {
    vector::StoreOp::create(b, chunks[next++], tile.memory,
                            tile.placeOf(b, row, chunk), /*nontemporal=*/false,
                            llvm::MaybeAlign(16));
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Four matrices of 8 rows of a chunk; a lane gives the place of one row.
static Value loadMatrices(IndexBuilder &b, const SharedTile &tile, Value row,
                          Value chunk, bool transpose) {
  auto type = VectorType::get({4, tile.chunk() / 4}, tile.element());
  Value at = tile.placeOf(b, row, chunk);
  return nvgpu::LdMatrixOp::create(b, type, tile.memory, ValueRange(at),
                                   b.getBoolAttr(transpose),
                                   b.getI32IntegerAttr(4));
}

Value mlir::relax::makePair(IndexBuilder &b, Value vector) {
  Type element = cast<VectorType>(vector.getType()).getElementType();
  if (element.isF32())
    return NVVM::ConvertFloatToTF32Op::create(
        b, b.getI32Type(), vector::ExtractOp::create(b, vector, 0),
        NVVM::FPRoundingMode::RNA);
  if (!element.isBF16())
    return vector;
  return LLVM::BitcastOp::create(b, b.getI32Type(), vector);
}

static Value getPair(IndexBuilder &b, Value matrices, int64_t index) {
  return makePair(b, vector::ExtractOp::create(b, matrices, index));
}

SmallVector<Value> mlir::relax::getPairs(IndexBuilder &b, Value matrices) {
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < 4; ++i)
    pairs.push_back(getPair(b, matrices, i));
  return pairs;
}

Value mlir::relax::loadLeft(IndexBuilder &b, const SharedTile &tile,
                            Value firstRow, int64_t depth, Value lane) {
  Value half = b.rem(lane, b.index(16)), side = b.floorDiv(lane, b.index(16));
  return loadMatrices(b, tile, b.add(firstRow, half),
                      b.add(side, b.index(depth / tile.chunk())),
                      /*transpose=*/false);
}

/// Words of the rows of a tile, as ldmatrix transposes elements of 16 bits
/// alone: a lane has row lane % 4, and the one 4 below, of column lane / 4.
static SmallVector<SmallVector<Value>> loadAcross(IndexBuilder &b,
                                                  const SharedTile &tile,
                                                  Value firstColumn,
                                                  int64_t depth, Value lane) {
  auto type = VectorType::get({1}, tile.element());
  auto load = [&](int64_t tileColumn, int64_t tileRow) {
    Value row = b.add(b.rem(lane, b.index(4)), b.index(depth + tileRow));
    Value column = b.add(
        firstColumn, b.add(b.floorDiv(lane, b.index(4)), b.index(tileColumn)));
    Value chunk = b.index(tile.chunk());
    Value at = b.add(tile.placeOf(b, row, b.floorDiv(column, chunk)),
                     b.rem(column, chunk));
    return makePair(b, vector::LoadOp::create(b, type, tile.memory, at));
  };
  SmallVector<SmallVector<Value>> words;
  for (int64_t column : {int64_t(0), kMmaColumns})
    words.push_back({load(column, 0), load(column, 4)});
  return words;
}

SmallVector<SmallVector<Value>>
mlir::relax::loadRight(IndexBuilder &b, const SharedTile &tile,
                       Value firstColumn, int64_t depth, Value lane,
                       bool isTransposed) {
  if (!isTransposed && tile.isReadAcross)
    return loadAcross(b, tile, firstColumn, depth, lane);
  Value matrices;
  if (isTransposed) {
    // Columns are rows here; matrices go along the depth first.
    Value group = b.floorDiv(lane, b.index(8));
    Value row = b.add(firstColumn,
                      b.add(b.mul(b.floorDiv(group, b.index(2)), kMmaColumns),
                            b.rem(lane, b.index(8))));
    Value chunk =
        b.add(b.rem(group, b.index(2)), b.index(depth / tile.chunk()));
    matrices = loadMatrices(b, tile, row, chunk, /*transpose=*/false);
  } else {
    Value row = b.add(b.rem(lane, b.index(16)), b.index(depth));
    Value chunk = b.add(b.floorDiv(firstColumn, b.index(tile.chunk())),
                        b.floorDiv(lane, b.index(16)));
    matrices = loadMatrices(b, tile, row, chunk, /*transpose=*/true);
  }
  SmallVector<Value> pairs = getPairs(b, matrices);
  return {{pairs[0], pairs[1]}, {pairs[2], pairs[3]}};
}

void mlir::relax::multiplyAdd(IndexBuilder &b, Type element, ValueRange left,
                              ValueRange right, MutableArrayRef<Value> sums) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  NVVM::MMATypes kind = element.isF32()    ? NVVM::MMATypes::tf32
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::f16;
  int64_t depth = element.isF32() ? kMmaDepth / 2 : kMmaDepth;
  Value result =
      NVVM::MmaOp::create(b, type, left, right, ValueRange(sums),
                          ArrayRef<int64_t>{kMmaRows, kMmaColumns, depth},
                          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
                          std::array<NVVM::MMATypes, 2>{kind, kind},
                          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                                         NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, result, static_cast<int64_t>(i));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Results that a lane takes at a time.
static constexpr int64_t kFinishUnroll = 8;

void WarpRows::store(IndexBuilder &b, ValueRange sums) const {
  Value row = b.floorDiv(lane, b.index(4)),
        column = b.mul(b.rem(lane, b.index(4)), 2);
  Value place = b.add(begin(b), b.add(b.mul(row, stride(width)), column));
  auto type = VectorType::get({2}, b.getF32Type());
  for (int64_t tile = 0; tile < width / kMmaColumns; ++tile)
    for (int64_t half : {0, 1}) {
      Value pair = vector::FromElementsOp::create(
          b, type, sums.slice(tile * 4 + half * 2, 2));
      int64_t at = half * 8 * stride(width) + tile * kMmaColumns;
      vector::StoreOp::create(b, pair, memory, b.add(place, b.index(at)),
                              /*nontemporal=*/false, llvm::MaybeAlign(8));
    }
}

Value WarpRows::placeOf(IndexBuilder &b, Value row, Value column) const {
  return b.add(begin(b), b.add(b.mul(row, stride(width)), column));
}

/// All rows and columns are in the result, and its memory is aligned: a lane
/// has eight results that follow one another.
void WarpRows::finishVectors(IndexBuilder &b, const MatmulProblem &problem,
                             const BlockPlace &first) const {
  constexpr int64_t kUnroll = 2;
  Value chunks = b.index(width / kChunk);
  auto type = VectorType::get({kChunk}, b.getF32Type());
  b.loop(lane, b.index(kMmaRows * width / kChunk), kWarp * kUnroll,
         [&](IndexBuilder &loop, Value begin) {
           for (int64_t i = 0; i < kUnroll; ++i) {
             Value at = loop.add(begin, loop.index(i * kWarp));
             Value row = loop.floorDiv(at, chunks),
                   column = loop.mul(loop.rem(at, chunks), kChunk);
             Value sums = vector::LoadOp::create(
                 loop, type, memory, placeOf(loop, row, column),
                 /*nontemporal=*/false, llvm::MaybeAlign(16));
             problem.finish(loop, sums,
                            {first.batch, loop.add(first.row, row),
                             loop.add(first.column, column), /*mask=*/Value(),
                             /*isAligned=*/true});
           }
         });
}

/// Results one by one; where all are in the result, a lane has several at a
/// time, so that it waits for memory once for them.
void WarpRows::finishScalars(IndexBuilder &b, const MatmulProblem &problem,
                             const BlockPlace &first, bool areInside) const {
  Value columns = b.index(width);
  int64_t unroll = areInside ? kFinishUnroll : 1;
  b.loop(lane, b.index(kMmaRows * width), kWarp * unroll,
         [&](IndexBuilder &loop, Value begin) {
           for (int64_t i = 0; i < unroll; ++i) {
             Value at = loop.add(begin, loop.index(i * kWarp));
             Value row = loop.floorDiv(at, columns),
                   column = loop.rem(at, columns);
             Value sum = memref::LoadOp::create(loop, memory,
                                                placeOf(loop, row, column));
             (areInside ? finishSum
                        : finishInside)(loop, problem, sum,
                                        {first.batch, loop.add(first.row, row),
                                         loop.add(first.column, column)});
           }
         });
}

void WarpRows::finish(IndexBuilder &b, const MatmulProblem &problem,
                      const BlockPlace &first, Value canAlign) const {
  auto isWithin = [&](Value begin, int64_t count, Value size) {
    return b.compare(arith::CmpIPredicate::sle, b.add(begin, b.index(count)),
                     size);
  };
  Value areInside =
      arith::AndIOp::create(b, isWithin(first.row, kMmaRows, problem.m),
                            isWithin(first.column, width, problem.n));
  auto scalars = [&](bool inside) {
    return [&, inside](IndexBuilder &in) {
      finishScalars(in, problem, first, inside);
    };
  };
  b.branch(
      areInside,
      [&](IndexBuilder &in) {
        if (!canAlign)
          return scalars(true)(in);
        in.branch(
            canAlign,
            [&](IndexBuilder &all) { finishVectors(all, problem, first); },
            scalars(true));
      },
      scalars(false));
}
