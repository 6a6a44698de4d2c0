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
// ahead. The results go through shared memory, so that neighbouring threads
// write neighbours.
//
// Where matrices are not aligned to 16 bytes, threads load elements one by one.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "TensorCores.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr int64_t kTile = 128, kDepth = 32, kStages = 3;
static constexpr int64_t kWarpTile = 64, kBlockThreads = 128;
static constexpr int64_t kRowTiles = kWarpTile / kMmaRows,
                         kColumnTiles = kWarpTile / kMmaColumns;
/// Results that a lane takes at a time.
static constexpr int64_t kFinishUnroll = 8;
/// The elements of a step of one matrix.
static constexpr int64_t kStage = kTile * kDepth;

namespace {
class TensorCoreTiles {
public:
  TensorCoreTiles(IndexBuilder &b, const MatmulProblem &problem, bool isAligned)
      : b(b), problem(problem), isAligned(isAligned) {}
  void emit();

private:
  void begin(IndexBuilder &in, const BlockPlace &block, Value id,
             Value sharedBytes);
  Value copyStep(IndexBuilder &in, Value step, Value stage);
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
  /// Of the first stage. The left tile has rows of the depth; the right one,
  /// too, where its columns are contiguous, and its own rows otherwise.
  SharedTile leftTile, rightTile;
  Value sums; // shared memory: the results of a warp, 16 rows at a time
  Value thread, lane, warpRow, warpColumn;
};
} // namespace

//===----------------------------------------------------------------------===//
// Steps of the depth
//===----------------------------------------------------------------------===//

/// A tile of another stage than the first one.
static SharedTile getStage(IndexBuilder &in, SharedTile tile, Value stage) {
  tile.offset = in.mul(stage, kStage);
  return tile;
}

/// Copies a step of the depth of both matrices to a stage, as one group.
Value TensorCoreTiles::copyStep(IndexBuilder &in, Value step, Value stage) {
  Value depth = in.mul(step, kDepth);
  SmallVector<Value> tokens;
  auto copy = [&](const SharedTile &tile, const TileSource &source) {
    copyTile(in, getStage(in, tile, stage), source, thread, kBlockThreads,
             isAligned, tokens);
  };
  copy(leftTile, {left, place.row, depth, problem.m, problem.k});
  if (isRightTransposed)
    copy(rightTile,
         {right.transposed(), place.column, depth, problem.n, problem.k});
  else
    copy(rightTile, {right, depth, place.column, problem.k, problem.n});
  if (!isAligned)
    return {};
  return nvgpu::DeviceAsyncCreateGroupOp::create(
      in, nvgpu::DeviceAsyncTokenType::get(in.getContext()), tokens);
}

SmallVector<Value> TensorCoreTiles::multiplyStep(IndexBuilder &in, Value stage,
                                                 ValueRange sums) {
  SmallVector<Value> next(sums);
  SharedTile leftStage = getStage(in, leftTile, stage),
             rightStage = getStage(in, rightTile, stage);
  for (int64_t depth = 0; depth < kDepth; depth += kMmaDepth) {
    SmallVector<Value> lefts;
    for (int64_t i = 0; i < kRowTiles; ++i)
      lefts.push_back(loadLeft(
          in, leftStage, in.add(warpRow, in.index(i * kMmaRows)), depth, lane));
    SmallVector<SmallVector<Value>> rights;
    for (int64_t j = 0; j < kColumnTiles; j += 2)
      llvm::append_range(
          rights, loadRight(in, rightStage,
                            in.add(warpColumn, in.index(j * kMmaColumns)),
                            depth, lane, isRightTransposed));
    for (auto [i, leftPart] : llvm::enumerate(lefts)) {
      SmallVector<Value> pairs = getPairs(in, leftPart);
      for (auto [j, rightPart] : llvm::enumerate(rights))
        multiplyAdd(in, element, pairs, rightPart,
                    MutableArrayRef(next).slice((i * kColumnTiles + j) * 4, 4));
    }
  }
  return next;
}

SmallVector<Value> TensorCoreTiles::sumUp(IndexBuilder &in) {
  Value zero = in.f32(0);
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
    if (tile > 0) // nobody uses the memory before the first one
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
