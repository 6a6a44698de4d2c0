//===- TensorCoreMatmul.cpp - Products by tensor cores ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of four warps has 128 x 128 results, a warp 64 x 64. Asynchronous
// copies bring tiles of both matrices to shared memory two steps of the depth
// ahead; ldmatrix takes them to registers, and mma.sync multiplies. Chunks of
// 16 bytes are swizzled, so that eight rows of a matrix of 8 x 8 lie in
// different banks. The results go through shared memory, so that neighbouring
// threads write neighbours.
//
// Where matrices are not aligned to 16 bytes, threads load elements one by one.
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

#include "Launch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr int64_t kTile = 128, kDepth = 32, kStages = 3;
static constexpr int64_t kWarpTile = 64, kBlockThreads = 128;
/// A chunk is 16 bytes.
static constexpr int64_t kChunk = 8;
/// A product of mma.sync: 16 x 8 results, 16 deep.
static constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaDepth = 16;
static constexpr int64_t kRowTiles = kWarpTile / kMmaRows,
                         kColumnTiles = kWarpTile / kMmaColumns,
                         kDepthTiles = kDepth / kMmaDepth;
/// Results that a lane takes at a time.
static constexpr int64_t kFinishUnroll = 8;
/// The elements of a step of one matrix.
static constexpr int64_t kStage = kTile * kDepth;

namespace {
/// A matrix in shared memory: `extent` rows of `width` elements a stage. The
/// left matrix has rows of the depth; the right one, too, where its columns are
/// contiguous, and its own rows otherwise.
struct SharedTile {
  Value memory;
  int64_t extent, width;

  int64_t chunks() const { return width / kChunk; }
  /// The place of a chunk in a stage.
  Value placeOf(IndexBuilder &b, Value row, Value chunk) const;
};

class TensorCoreTiles {
public:
  TensorCoreTiles(IndexBuilder &b, const MatmulProblem &problem, bool isAligned)
      : b(b), problem(problem), isAligned(isAligned) {}
  void emit();

private:
  void begin(IndexBuilder &in, const BlockPlace &block, Value id,
             Value sharedBytes);
  Value copyStep(IndexBuilder &in, Value step, Value stage);
  void copyChunk(IndexBuilder &in, const SharedTile &tile,
                 const MatrixView &matrix, Value row, Value chunk,
                 Value firstRow, Value firstColumn, Value numRows,
                 Value numColumns, Value stage, SmallVectorImpl<Value> &tokens);
  void copyTile(IndexBuilder &in, const SharedTile &tile,
                const MatrixView &matrix, Value firstRow, Value firstColumn,
                Value numRows, Value numColumns, Value stage,
                SmallVectorImpl<Value> &tokens);
  Value loadMatrices(IndexBuilder &in, const SharedTile &tile, Value row,
                     Value chunk, Value stage, bool transpose);
  SmallVector<Value> loadLeft(IndexBuilder &in, Value stage, int64_t depth);
  SmallVector<SmallVector<Value>> loadRight(IndexBuilder &in, Value stage,
                                            int64_t depth);
  SmallVector<Value> multiplyStep(IndexBuilder &in, Value stage,
                                  ValueRange sums);
  SmallVector<Value> sumUp(IndexBuilder &in);
  void finish(IndexBuilder &in, ValueRange sums);
  void finishRows(IndexBuilder &in, Value begin, Value firstRow);

  IndexBuilder &b;
  const MatmulProblem &problem;
  bool isAligned;
  Type element;
  BlockPlace place;
  MatrixView left, right;
  /// Whether the right tile has rows of columns, not of the depth.
  bool isRightTransposed = false;
  SharedTile leftTile, rightTile;
  Value sums; // shared memory: the results of a warp, 16 rows at a time
  Value thread, lane, warpRow, warpColumn;
};
} // namespace

Value SharedTile::placeOf(IndexBuilder &b, Value row, Value chunk) const {
  // Rows that share 128 bytes have the same banks for a chunk.
  int64_t mask = std::min<int64_t>(chunks(), 8) - 1;
  int64_t sharing = std::max<int64_t>(8 / chunks(), 1);
  Value key = arith::AndIOp::create(b, b.floorDiv(row, b.index(sharing)),
                                    b.index(mask));
  Value swizzled = arith::XOrIOp::create(b, chunk, key);
  return b.add(b.mul(row, width), b.mul(swizzled, kChunk));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void TensorCoreTiles::copyChunk(IndexBuilder &in, const SharedTile &tile,
                                const MatrixView &matrix, Value row,
                                Value chunk, Value firstRow, Value firstColumn,
                                Value numRows, Value numColumns, Value stage,
                                SmallVectorImpl<Value> &tokens) {
  Value to = in.add(in.mul(stage, kStage), tile.placeOf(in, row, chunk));
  Value r = in.add(firstRow, row),
        c = in.add(firstColumn, in.mul(chunk, kChunk));
  if (!isAligned) {
    for (int64_t i = 0; i < kChunk; ++i) {
      Value loaded = loadInside(in, matrix, r, in.add(c, in.index(i)), numRows,
                                numColumns);
      memref::StoreOp::create(in, loaded, tile.memory, in.add(to, in.index(i)));
    }
    return;
  }
  Value isInside = arith::AndIOp::create(in, in.isBelow(r, numRows),
                                         in.isBelow(c, numColumns));
  Value from = in.add(matrix.offset, in.add(in.mul(r, matrix.rowStride), c));
  from = arith::SelectOp::create(in, isInside, from, in.index(0));
  // What is not copied becomes zero.
  Value count =
      arith::SelectOp::create(in, isInside, in.index(kChunk), in.index(0));
  tokens.push_back(nvgpu::DeviceAsyncCopyOp::create(
      in, nvgpu::DeviceAsyncTokenType::get(in.getContext()), tile.memory,
      ValueRange(to), matrix.base, ValueRange(from), in.getIndexAttr(kChunk),
      count, in.getUnitAttr()));
}

void TensorCoreTiles::copyTile(IndexBuilder &in, const SharedTile &tile,
                               const MatrixView &matrix, Value firstRow,
                               Value firstColumn, Value numRows,
                               Value numColumns, Value stage,
                               SmallVectorImpl<Value> &tokens) {
  Value chunks = in.index(tile.chunks());
  for (int64_t i = 0; i < kStage / kChunk; i += kBlockThreads) {
    Value at = in.add(thread, in.index(i));
    copyChunk(in, tile, matrix, in.floorDiv(at, chunks), in.rem(at, chunks),
              firstRow, firstColumn, numRows, numColumns, stage, tokens);
  }
}

/// Copies a step of the depth of both matrices to a stage, as one group.
Value TensorCoreTiles::copyStep(IndexBuilder &in, Value step, Value stage) {
  Value depth = in.mul(step, kDepth);
  SmallVector<Value> tokens;
  copyTile(in, leftTile, left, place.row, depth, problem.m, problem.k, stage,
           tokens);
  if (isRightTransposed)
    copyTile(in, rightTile, right.transposed(), place.column, depth, problem.n,
             problem.k, stage, tokens);
  else
    copyTile(in, rightTile, right, depth, place.column, problem.k, problem.n,
             stage, tokens);
  if (!isAligned)
    return {};
  return nvgpu::DeviceAsyncCreateGroupOp::create(
      in, nvgpu::DeviceAsyncTokenType::get(in.getContext()), tokens);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Four matrices of 8 x 8; a lane gives the place of one row of them.
Value TensorCoreTiles::loadMatrices(IndexBuilder &in, const SharedTile &tile,
                                    Value row, Value chunk, Value stage,
                                    bool transpose) {
  auto type = VectorType::get({4, 2}, element);
  Value at = in.add(in.mul(stage, kStage), tile.placeOf(in, row, chunk));
  return nvgpu::LdMatrixOp::create(in, type, tile.memory, ValueRange(at),
                                   in.getBoolAttr(transpose),
                                   in.getI32IntegerAttr(4));
}

/// Two elements, as mma.sync takes them.
static Value getPair(IndexBuilder &in, Value matrices, int64_t index) {
  Value pair = vector::ExtractOp::create(in, matrices, index);
  if (!cast<VectorType>(pair.getType()).getElementType().isBF16())
    return pair;
  return LLVM::BitcastOp::create(in, in.getI32Type(), pair);
}

SmallVector<Value> TensorCoreTiles::loadLeft(IndexBuilder &in, Value stage,
                                             int64_t depth) {
  SmallVector<Value> result;
  Value half = in.rem(lane, in.index(16)),
        side = in.floorDiv(lane, in.index(16));
  for (int64_t tile = 0; tile < kRowTiles; ++tile) {
    Value row = in.add(warpRow, in.add(half, in.index(tile * kMmaRows)));
    Value chunk = in.add(side, in.index(depth * kMmaDepth / kChunk));
    result.push_back(loadMatrices(in, leftTile, row, chunk, stage,
                                  /*transpose=*/false));
  }
  return result;
}

/// For each tile of columns its two pairs.
SmallVector<SmallVector<Value>>
TensorCoreTiles::loadRight(IndexBuilder &in, Value stage, int64_t depth) {
  SmallVector<SmallVector<Value>> result;
  for (int64_t tile = 0; tile < kColumnTiles; tile += 2) {
    Value matrices;
    if (isRightTransposed) {
      // Columns of a tile are rows here; matrices go along the depth first.
      Value group = in.floorDiv(lane, in.index(8));
      Value row =
          in.add(in.add(warpColumn, in.index(tile * kMmaColumns)),
                 in.add(in.mul(in.floorDiv(group, in.index(2)), kMmaColumns),
                        in.rem(lane, in.index(8))));
      Value chunk = in.add(in.rem(group, in.index(2)),
                           in.index(depth * kMmaDepth / kChunk));
      matrices = loadMatrices(in, rightTile, row, chunk, stage,
                              /*transpose=*/false);
    } else {
      Value row =
          in.add(in.rem(lane, in.index(16)), in.index(depth * kMmaDepth));
      Value chunk =
          in.add(in.floorDiv(warpColumn, in.index(kChunk)),
                 in.add(in.floorDiv(lane, in.index(16)), in.index(tile)));
      matrices = loadMatrices(in, rightTile, row, chunk, stage,
                              /*transpose=*/true);
    }
    for (int64_t i : {0, 2})
      result.push_back(
          {getPair(in, matrices, i), getPair(in, matrices, i + 1)});
  }
  return result;
}

/// Adds a product of 16 x 8 results to the four sums of a lane.
static void multiply(IndexBuilder &in, Type element, Value left,
                     ArrayRef<Value> right, MutableArrayRef<Value> sums) {
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < 4; ++i)
    pairs.push_back(getPair(in, left, i));
  auto type = LLVM::LLVMStructType::getLiteral(
      in.getContext(), SmallVector<Type>(4, in.getF32Type()));
  NVVM::MMATypes kind =
      element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  Value result =
      NVVM::MmaOp::create(in, type, pairs, right, ValueRange(sums),
                          ArrayRef<int64_t>{kMmaRows, kMmaColumns, kMmaDepth},
                          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
                          std::array<NVVM::MMATypes, 2>{kind, kind},
                          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                                         NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(in, result, static_cast<int64_t>(i));
}

SmallVector<Value> TensorCoreTiles::multiplyStep(IndexBuilder &in, Value stage,
                                                 ValueRange sums) {
  SmallVector<Value> next(sums);
  for (int64_t depth = 0; depth < kDepthTiles; ++depth) {
    SmallVector<Value> lefts = loadLeft(in, stage, depth);
    SmallVector<SmallVector<Value>> rights = loadRight(in, stage, depth);
    for (auto [i, leftPart] : llvm::enumerate(lefts))
      for (auto [j, rightPart] : llvm::enumerate(rights))
        multiply(in, element, leftPart, rightPart,
                 MutableArrayRef(next).slice((i * kColumnTiles + j) * 4, 4));
  }
  return next;
}

SmallVector<Value> TensorCoreTiles::sumUp(IndexBuilder &in) {
  Value zero = arith::ConstantOp::create(in, in.getF32FloatAttr(0));
  SmallVector<Value> zeros(kRowTiles * kColumnTiles * 4, zero);
  Value steps = in.ceilDiv(problem.k, in.index(kDepth));
  if (!isAligned)
    return in.reduce(in.index(0), steps, 1, zeros,
                     [&](IndexBuilder &loop, Value step, ValueRange carried) {
                       copyStep(loop, step, loop.index(0));
                       gpu::BarrierOp::create(loop);
                       SmallVector<Value> next =
                           multiplyStep(loop, loop.index(0), carried);
                       gpu::BarrierOp::create(loop);
                       return next;
                     });
  Value token;
  for (int64_t step = 0; step < kStages - 1; ++step)
    token = copyStep(in, in.index(step), in.index(step));
  auto wait = [&](IndexBuilder &at, int64_t pending) {
    nvgpu::DeviceAsyncWaitOp::create(at, token, at.getI32IntegerAttr(pending));
    gpu::BarrierOp::create(at);
  };
  SmallVector<Value> result =
      in.reduce(in.index(0), steps, 1, zeros,
                [&](IndexBuilder &loop, Value step, ValueRange carried) {
                  // This step has arrived, and all have read the one before.
                  wait(loop, kStages - 2);
                  Value stages = loop.index(kStages);
                  Value ahead = loop.add(step, loop.index(kStages - 1));
                  copyStep(loop, ahead, loop.rem(ahead, stages));
                  return multiplyStep(loop, loop.rem(step, stages), carried);
                });
  // The memory is used for the results next.
  wait(in, 0);
  return result;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A lane has pairs of columns of rows l / 4 and l / 4 + 8 of each product.
void TensorCoreTiles::finish(IndexBuilder &in, ValueRange results) {
  Value warp = in.floorDiv(thread, in.index(kWarp));
  Value begin = in.mul(warp, kMmaRows * kWarpTile);
  Value laneRow = in.floorDiv(lane, in.index(4)),
        laneColumn = in.mul(in.rem(lane, in.index(4)), 2);
  for (int64_t tile = 0; tile < kRowTiles; ++tile) {
    gpu::BarrierOp::create(in);
    for (int64_t column = 0; column < kColumnTiles; ++column)
      for (int64_t i = 0; i < 4; ++i) {
        Value row = in.add(laneRow, in.index(i / 2 * 8));
        Value at =
            in.add(in.add(begin, in.mul(row, kWarpTile)),
                   in.add(laneColumn, in.index(column * kMmaColumns + i % 2)));
        memref::StoreOp::create(
            in, results[(tile * kColumnTiles + column) * 4 + i], sums, at);
      }
    gpu::BarrierOp::create(in);
    Value firstRow =
        in.add(in.add(place.row, warpRow), in.index(tile * kMmaRows));
    finishRows(in, begin, firstRow);
  }
}

/// Takes 16 rows of sums of a warp. Where all of the tile is in the result, a
/// lane has several at a time, so that it waits for memory once for them.
void TensorCoreTiles::finishRows(IndexBuilder &in, Value begin,
                                 Value firstRow) {
  Value end = in.index(kMmaRows * kWarpTile), width = in.index(kWarpTile);
  Value firstColumn = in.add(place.column, warpColumn);
  auto load = [&](IndexBuilder &at, Value i) -> Value {
    return memref::LoadOp::create(at, sums, at.add(begin, i));
  };
  auto placeOf = [&](IndexBuilder &at, Value i) -> BlockPlace {
    return {place.batch, at.add(firstRow, at.floorDiv(i, width)),
            at.add(firstColumn, at.rem(i, width))};
  };
  Value isInside = arith::AndIOp::create(
      in,
      in.compare(arith::CmpIPredicate::sle,
                 in.add(firstRow, in.index(kMmaRows)), problem.m),
      in.compare(arith::CmpIPredicate::sle, in.add(firstColumn, width),
                 problem.n));
  in.branch(
      isInside,
      [&](IndexBuilder &all) {
        all.loop(lane, end, kWarp * kFinishUnroll,
                 [&](IndexBuilder &loop, Value first) {
                   for (int64_t i = 0; i < kFinishUnroll; ++i) {
                     Value at = loop.add(first, loop.index(i * kWarp));
                     finishSum(loop, problem, load(loop, at),
                               placeOf(loop, at));
                   }
                 });
      },
      [&](IndexBuilder &some) {
        some.loop(lane, end, kWarp, [&](IndexBuilder &loop, Value at) {
          finishInside(loop, problem, load(loop, at), placeOf(loop, at));
        });
      });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void TensorCoreTiles::begin(IndexBuilder &in, const BlockPlace &block, Value id,
                            Value bytes) {
  place = block;
  thread = id;
  lane = in.rem(thread, in.index(kWarp));
  Value warp = in.floorDiv(thread, in.index(kWarp));
  Value across = in.index(kTile / kWarpTile);
  warpRow = in.mul(in.floorDiv(warp, across), kWarpTile);
  warpColumn = in.mul(in.rem(warp, across), kWarpTile);
  left = problem.lhs(in, place.batch);
  right = problem.rhs(in, place.batch);
  element = cast<MemRefType>(left.base.getType()).getElementType();
  isRightTransposed = !right.hasUnitColumns() && right.hasUnitRows();
  auto view = [&](int64_t offset, int64_t count, Type type) -> Value {
    return memref::ViewOp::create(in,
                                  getSharedType(in.getContext(), count, type),
                                  bytes, in.index(offset), ValueRange());
  };
  int64_t count = kStages * kStage;
  leftTile = {view(0, count, element), kTile, kDepth};
  rightTile = {view(count * 2, count, element), kDepth, kTile};
  if (isRightTransposed)
    rightTile = {rightTile.memory, kTile, kDepth};
  sums = view(0, kBlockThreads / kWarp * kMmaRows * kWarpTile, in.getF32Type());
}

void TensorCoreTiles::emit() {
  Type shared =
      getSharedType(b.getContext(), 2 * 2 * kStages * kStage, b.getI8Type());
  launchTiles(b, problem, {kTile, kTile}, kBlockThreads, shared,
              [&](IndexBuilder &in, const BlockPlace &block, Value id,
                  ValueRange memory) {
                begin(in, block, id, memory.front());
                finish(in, sumUp(in));
              });
}

void mlir::relax::emitTensorCoreMatmul(IndexBuilder &b,
                                       const MatmulProblem &problem) {
  Value zero = b.index(0);
  MatrixView left = problem.lhs(b, zero), right = problem.rhs(b, zero);
  auto emit = [&](IndexBuilder &in, bool isAligned) {
    TensorCoreTiles(in, problem, isAligned).emit();
  };
  if (right.element || !left.hasUnitColumns() ||
      (!right.hasUnitColumns() && !right.hasUnitRows()))
    return emit(b, /*isAligned=*/false);
  Value isAligned = arith::AndIOp::create(
      b, isMatrixAligned(b, left, problem.k, kChunk),
      isMatrixAligned(b, right, right.hasUnitColumns() ? problem.n : problem.k,
                      kChunk));
  b.branch(
      isAligned, [&](IndexBuilder &in) { emit(in, /*isAligned=*/true); },
      [&](IndexBuilder &in) { emit(in, /*isAligned=*/false); });
}
