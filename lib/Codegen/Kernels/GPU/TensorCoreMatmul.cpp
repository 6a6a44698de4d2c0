//===- TensorCoreMatmul.cpp - Products by tensor cores ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of four warps has 128 x 128 results, a warp 64 x 64; where there are
// up to 64 rows, half as many. Asynchronous copies bring tiles of both matrices
// to shared memory two steps of the depth ahead. The results go through shared
// memory, so that neighbouring threads write neighbours.
//
// Elements of f32 are rounded to tf32 on their way from shared memory: half as
// many of them are a step of the depth.
//
// Of a matrix that is not aligned to 16 bytes, or that is made of the windows
// of an image, threads load elements one by one, one step ahead.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "TensorCores.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr int64_t kTile = 128, kStages = 3;
/// The chunks of a step of the depth.
static constexpr int64_t kStepChunks = 4;
static constexpr int64_t kWarpColumns = 64, kBlockThreads = 128;
static constexpr int64_t kColumnTiles = kWarpColumns / kMmaColumns;
/// Warps of a block lie in two rows.
static constexpr int64_t kWarpsAlongRows = 2;

namespace {
/// How tiles are made.
struct TileForm {
  Type element;
  int64_t rows;
  /// Whether rows of the matrices are aligned to chunks.
  bool isLeftAligned, isRightAligned;

  int64_t warpRows() const { return rows / kWarpsAlongRows; }
  int64_t rowTiles() const { return warpRows() / kMmaRows; }
  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  int64_t chunk() const { return 16 / elementBytes(); }
  /// The elements of a step of the depth, and of a product of mma.sync.
  int64_t depth() const { return kStepChunks * chunk(); }
  int64_t mmaDepth() const { return 2 * chunk(); }
};

class TensorCoreTiles {
public:
  TensorCoreTiles(IndexBuilder &b, const MatmulProblem &problem, TileForm form)
      : b(b), problem(problem), form(form) {}
  void emit();

private:
  void begin(IndexBuilder &in, const BlockPlace &block, Value id,
             Value sharedBytes);
  TileSource leftSource(IndexBuilder &in, Value step);
  TileSource rightSource(IndexBuilder &in, Value step);
  Value copyStep(IndexBuilder &in, Value step, Value stage);
  SmallVector<Value> loadStep(IndexBuilder &in, Value step);
  void storeStep(IndexBuilder &in, ValueRange chunks, Value stage);
  SmallVector<Value> multiplyStep(IndexBuilder &in, Value stage,
                                  ValueRange sums);
  SmallVector<Value> sumUp(IndexBuilder &in);
  void finish(IndexBuilder &in, ValueRange sums);

  IndexBuilder &b;
  const MatmulProblem &problem;
  TileForm form;
  BlockPlace place;
  MatrixView left, right;
  /// Whether the right tile has rows of columns, not of the depth.
  bool isRightTransposed = false;
  /// Of the first stage. The left tile has rows of the depth; the right one,
  /// too, where its columns are contiguous, and its own rows otherwise.
  SharedTile leftTile, rightTile;
  Value sums;     // shared memory: the results of a warp, 16 rows at a time
  Value canAlign; // see WarpRows
  Value thread, lane, warp, warpRow, warpColumn;
};
} // namespace

//===----------------------------------------------------------------------===//
// Steps of the depth
//===----------------------------------------------------------------------===//

/// A tile of another stage than the first one.
static SharedTile getStage(IndexBuilder &in, SharedTile tile, Value stage) {
  tile.offset = in.mul(stage, tile.size());
  return tile;
}

/// The stage that comes `count` stages later.
static Value addStages(IndexBuilder &in, Value stage, int64_t count) {
  Value later = in.add(stage, count);
  return arith::SelectOp::create(in, in.isBelow(later, in.index(kStages)),
                                 later, in.sub(later, in.index(kStages)));
}

TileSource TensorCoreTiles::leftSource(IndexBuilder &in, Value step) {
  return {left, place.row, in.mul(step, form.depth()), problem.m, problem.k};
}

TileSource TensorCoreTiles::rightSource(IndexBuilder &in, Value step) {
  Value depth = in.mul(step, form.depth());
  if (isRightTransposed)
    return {right.transposed(), place.column, depth, problem.n, problem.k};
  return {right, depth, place.column, problem.k, problem.n};
}

/// Copies a step of the depth of what is aligned to a stage, as one group.
Value TensorCoreTiles::copyStep(IndexBuilder &in, Value step, Value stage) {
  SmallVector<Value> tokens;
  auto copy = [&](const SharedTile &tile, const TileSource &source) {
    copyTile(in, getStage(in, tile, stage), source, thread, kBlockThreads,
             tokens);
  };
  if (form.isLeftAligned)
    copy(leftTile, leftSource(in, step));
  if (form.isRightAligned)
    copy(rightTile, rightSource(in, step));
  if (tokens.empty())
    return {};
  return nvgpu::DeviceAsyncCreateGroupOp::create(
      in, nvgpu::DeviceAsyncTokenType::get(in.getContext()), tokens);
}

/// Loads what a thread has of the rest of a step.
SmallVector<Value> TensorCoreTiles::loadStep(IndexBuilder &in, Value step) {
  SmallVector<Value> chunks;
  auto load = [&](const SharedTile &tile, const TileSource &source) {
    llvm::append_range(chunks,
                       loadChunks(in, tile, source, thread, kBlockThreads));
  };
  if (!form.isLeftAligned)
    load(leftTile, leftSource(in, step));
  if (!form.isRightAligned)
    load(rightTile, rightSource(in, step));
  return chunks;
}

void TensorCoreTiles::storeStep(IndexBuilder &in, ValueRange chunks,
                                Value stage) {
  auto store = [&](const SharedTile &tile) {
    size_t count = tile.size() / form.chunk() / kBlockThreads;
    storeChunks(in, getStage(in, tile, stage), chunks.take_front(count), thread,
                kBlockThreads);
    chunks = chunks.drop_front(count);
  };
  if (!form.isLeftAligned)
    store(leftTile);
  if (!form.isRightAligned)
    store(rightTile);
}

SmallVector<Value> TensorCoreTiles::multiplyStep(IndexBuilder &in, Value stage,
                                                 ValueRange sums) {
  SmallVector<Value> next(sums);
  SharedTile leftStage = getStage(in, leftTile, stage),
             rightStage = getStage(in, rightTile, stage);
  for (int64_t depth = 0; depth < form.depth(); depth += form.mmaDepth()) {
    SmallVector<Value> lefts;
    for (int64_t i = 0; i < form.rowTiles(); ++i)
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
        multiplyAdd(in, form.element, pairs, rightPart,
                    MutableArrayRef(next).slice((i * kColumnTiles + j) * 4, 4));
    }
  }
  return next;
}

/// Copies are two steps of the depth ahead, loads to registers one.
SmallVector<Value> TensorCoreTiles::sumUp(IndexBuilder &in) {
  const size_t numSums = form.rowTiles() * kColumnTiles * 4;
  SmallVector<Value> carried(numSums, in.f32(0));
  auto [begin, end] = getDepthRange(in, problem, place.batch);
  Value firstStep = in.floorDiv(begin, in.index(form.depth())),
        endStep = in.ceilDiv(end, in.index(form.depth()));
  if (!form.isLeftAligned || !form.isRightAligned)
    llvm::append_range(carried,
                       loadFirst(in, problem, [&](IndexBuilder &first) {
                         return loadStep(first, firstStep);
                       }));
  carried.push_back(in.index(0)); // the stage, which costs no quotients so
  Value token;
  for (int64_t step = 0; step < kStages - 1; ++step)
    token = copyStep(in, in.add(firstStep, step), in.index(step));
  auto wait = [&](IndexBuilder &at, int64_t pending) {
    if (token)
      nvgpu::DeviceAsyncWaitOp::create(at, token,
                                       at.getI32IntegerAttr(pending));
    gpu::BarrierOp::create(at);
  };
  SmallVector<Value> result = in.reduce(
      firstStep, endStep, 1, carried,
      [&](IndexBuilder &loop, Value step, ValueRange values) {
        Value stage = values.back();
        storeStep(loop, values.drop_front(numSums).drop_back(), stage);
        // This step has arrived, and all have read the one before.
        wait(loop, kStages - 2);
        copyStep(loop, loop.add(step, kStages - 1),
                 addStages(loop, stage, kStages - 1));
        SmallVector<Value> chunks =
            loadStep(loop, loop.add(step, loop.index(1)));
        SmallVector<Value> next =
            multiplyStep(loop, stage, values.take_front(numSums));
        llvm::append_range(next, chunks);
        next.push_back(addStages(loop, stage, 1));
        return next;
      });
  // The memory is used for the results next.
  wait(in, 0);
  result.truncate(numSums);
  return result;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void TensorCoreTiles::finish(IndexBuilder &in, ValueRange results) {
  WarpRows rows = {sums, kWarpColumns, warp, lane};
  constexpr size_t kSums = kColumnTiles * 4;
  for (int64_t tile = 0; tile < form.rowTiles(); ++tile) {
    if (tile > 0) // nobody uses the memory before the first one
      gpu::BarrierOp::create(in);
    rows.store(in, results.slice(tile * kSums, kSums));
    gpu::BarrierOp::create(in);
    rows.finish(in, problem,
                {place.batch,
                 in.add(in.add(place.row, warpRow), in.index(tile * kMmaRows)),
                 in.add(place.column, warpColumn)},
                canAlign);
  }
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void TensorCoreTiles::begin(IndexBuilder &in, const BlockPlace &block, Value id,
                            Value bytes) {
  place = block;
  thread = id;
  lane = in.rem(thread, in.index(kWarp));
  warp = in.floorDiv(thread, in.index(kWarp));
  Value across = in.index(kTile / kWarpColumns);
  warpRow = in.mul(in.floorDiv(warp, across), form.warpRows());
  warpColumn = in.mul(in.rem(warp, across), kWarpColumns);
  left = problem.lhs(in, place.batch);
  right = problem.rhs(in, place.batch);
  isRightTransposed = !right.hasUnitColumns() && right.hasUnitRows();
  auto view = [&](int64_t offset, int64_t count, Type type) -> Value {
    return memref::ViewOp::create(in,
                                  getSharedType(in.getContext(), count, type),
                                  bytes, in.index(offset), ValueRange());
  };
  int64_t leftCount = kStages * form.rows * form.depth(),
          rightCount = kStages * kTile * form.depth();
  leftTile = {view(0, leftCount, form.element), form.rows, form.depth()};
  Value rightMemory =
      view(leftCount * form.elementBytes(), rightCount, form.element);
  rightTile = {rightMemory, form.depth(), kTile};
  rightTile.isReadAcross = form.element.isF32();
  if (isRightTransposed)
    rightTile = {rightMemory, kTile, form.depth()};
  sums = view(0, WarpRows::count(kBlockThreads / kWarp, kWarpColumns),
              in.getF32Type());
}

void TensorCoreTiles::emit() {
  if (problem.canAlign)
    canAlign = problem.canAlign(b, kChunk);
  int64_t elements = kStages * (form.rows + kTile) * form.depth();
  Type shared = getSharedType(b.getContext(), elements * form.elementBytes(),
                              b.getI8Type());
  launchTiles(b, problem, {form.rows, kTile}, kBlockThreads, shared,
              [&](IndexBuilder &in, const BlockPlace &block, Value id,
                  ValueRange memory) {
                begin(in, block, id, memory.front());
                finish(in, sumUp(in));
              });
}

/// Whether chunks can be copied, wherever they begin.
static bool hasChunks(const MatrixView &matrix) {
  return !matrix.element && matrix.hasUnitColumns();
}

void mlir::relax::emitTensorCoreMatmul(IndexBuilder &b,
                                       const MatmulProblem &problem) {
  Value zero = b.index(0);
  MatrixView left = problem.lhs(b, zero), right = problem.rhs(b, zero);
  // Windows of an image, however weights lie.
  bool isOneByOne = !hasChunks(right) && !hasChunks(right.transposed());
  std::optional<int64_t> m = getConstantIntValue(problem.m);
  TileForm form = {cast<MemRefType>(left.base.getType()).getElementType(),
                   kTile, false, false};
  auto emit = [&](IndexBuilder &in, bool isLeftAligned, bool isRightAligned) {
    TileForm aligned = form;
    aligned.isLeftAligned = isLeftAligned;
    aligned.isRightAligned = isRightAligned;
    // Half of a tile would be empty, or have registers that loads need.
    if ((m && *m <= kTile / 2) || (isOneByOne && !isLeftAligned))
      aligned.rows = kTile / 2;
    emitSplit(in, problem, {aligned.rows, kTile}, form.depth(),
              [&](const MatmulProblem &parts) {
                TensorCoreTiles(in, parts, aligned).emit();
              });
  };
  auto emitAny = [&](IndexBuilder &in) { emit(in, false, false); };
  if (!hasChunks(left))
    return emitAny(b);
  Value isAligned = isMatrixAligned(b, left, problem.k, form.chunk());
  if (isOneByOne)
    return b.branch(
        isAligned, [&](IndexBuilder &in) { emit(in, true, false); }, emitAny);
  isAligned = b.createOrFold<arith::AndIOp>(
      isAligned,
      isMatrixAligned(b, right, right.hasUnitColumns() ? problem.n : problem.k,
                      form.chunk()));
  b.branch(
      isAligned,
      [&](IndexBuilder &in) {
        auto emitAligned = [&](IndexBuilder &other) {
          emit(other, true, true);
        };
        if (form.element.isF32())
          emitAligned(in);
        else
          emitWarpgroupMatmulOr(in, problem, emitAligned);
      },
      emitAny);
}
