//===- WarpgroupMatmul.cpp - Products by wgmma ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of f16 and bf16 on GPUs that have wgmma (sm_90a). A block of two
// warpgroups has 128 x 256 results, a warpgroup 64 x 256; where these would be
// few, half as many columns. Asynchronous copies
// bring steps of the depth to shared memory, from where the tensor cores read
// both matrices themselves, while the copies of later steps are on their way.
//
// The swizzle of SharedTile is that of rows of 128 bytes of wgmma.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "TensorCores.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr int64_t kWarpgroups = 2, kWarpgroupThreads = 128;
/// The rows of a product of wgmma, and how deep it is.
static constexpr int64_t kWgmmaRows = 64, kWgmmaDepth = 16;
static constexpr int64_t kBlockRows = kWarpgroups * kWgmmaRows;
/// A row of shared memory has 128 bytes: a step of the depth, or so many
/// columns of the right matrix.
static constexpr int64_t kSwizzleRowBytes = 128, kStepDepth = 64;
/// The swizzle repeats after eight rows.
static constexpr int64_t kSwizzleBytes = 8 * kSwizzleRowBytes;

namespace {
class WarpgroupTiles {
public:
  WarpgroupTiles(IndexBuilder &b, const MatmulProblem &problem, int64_t columns,
                 int64_t stages)
      : b(b), problem(problem), columns(columns), stages(stages) {}
  void emit();

private:
  void begin(IndexBuilder &in, const BlockPlace &block, Value id);
  Value copyStep(IndexBuilder &in, Value step, Value stage);
  SmallVector<Value> multiplyStep(IndexBuilder &in, Value stage,
                                  ValueRange sums);
  SmallVector<Value> sumUp(IndexBuilder &in);
  void finish(IndexBuilder &in, ValueRange sums);

  /// The bytes of a step of the right matrix, and of both.
  int64_t rightBytes() const { return columns * kSwizzleRowBytes; }
  int64_t stageBytes() const {
    return kBlockRows * kSwizzleRowBytes + rightBytes();
  }

  IndexBuilder &b;
  const MatmulProblem &problem;
  int64_t columns, stages; // of a tile, of shared memory
  Type element;
  BlockPlace place;
  MatrixView left, right;
  /// Whether the right matrix is contiguous along the depth: a row of shared
  /// memory is a step of the depth of one column then, and otherwise so many
  /// columns at one place of the depth.
  bool isRightDeep = false;
  Value memory, offset; // shared memory, and where the first stage is in it
  Value thread;
  Value canAlign; // see WarpRows
  /// Where wgmma finds the matrices of the first stage, see makeDescriptor.
  Value leftPlace, rightPlace;
};
} // namespace

//===----------------------------------------------------------------------===//
// Steps of the depth
//===----------------------------------------------------------------------===//

/// Copies a step of the depth of both matrices to a stage, as one group.
Value WarpgroupTiles::copyStep(IndexBuilder &in, Value step, Value stage) {
  Value depth = in.mul(step, kStepDepth),
        begin = in.add(offset, in.mul(stage, stageBytes()));
  SmallVector<Value> tokens;
  auto copy = [&](int64_t bytes, int64_t rows, const TileSource &source) {
    auto type = getSharedType(in.getContext(), rows * kStepDepth, element);
    Value view = memref::ViewOp::create(
        in, type, memory, in.add(begin, in.index(bytes)), ValueRange());
    copyTile(in, SharedTile{view, rows, kStepDepth}, source, thread,
             kWarpgroups * kWarpgroupThreads, tokens);
  };
  copy(rightBytes(), kBlockRows,
       {left, place.row, depth, problem.m, problem.k});
  if (isRightDeep)
    copy(0, columns,
         {right.transposed(), place.column, depth, problem.n, problem.k});
  else
    for (int64_t column = 0; column < columns; column += kStepDepth)
      copy(column * kSwizzleRowBytes, kStepDepth,
           {right, depth, in.add(place.column, in.index(column)), problem.k,
            problem.n});
  return nvgpu::DeviceAsyncCreateGroupOp::create(
      in, nvgpu::DeviceAsyncTokenType::get(in.getContext()), tokens);
}

/// What wgmma takes for a matrix in swizzled rows of 128 bytes: its address,
/// and how far apart parts of it are, all in units of 16 bytes. Where a row has
/// columns, `leading` is how far the next columns are.
static Value makeDescriptor(IndexBuilder &b, Value address, int64_t leading) {
  constexpr int64_t kUnit = 16, kSwizzle128 = int64_t(1) << 62;
  int64_t fixed = (leading / kUnit) << 16 | (kSwizzleBytes / kUnit) << 32;
  Value low = b.floorDiv(address, b.index(kUnit));
  return b.add(low, b.index(fixed | kSwizzle128));
}

static Value multiplyAsync(IndexBuilder &b, Type element, Value left,
                           Value right, bool isRightDeep, Value sums) {
  // A thread has a 128th of the results of a warpgroup.
  auto columns = static_cast<int64_t>(
      2 * cast<LLVM::LLVMStructType>(sums.getType()).getBody().size());
  auto toBits = [&](Value place) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), place);
  };
  NVVM::WGMMATypes kind =
      element.isBF16() ? NVVM::WGMMATypes::bf16 : NVVM::WGMMATypes::f16;
  return NVVM::WgmmaMmaAsyncOp::create(
      b, sums.getType(), sums, toBits(left), toBits(right),
      NVVM::MMAShapeAttr::get(b.getContext(), kWgmmaRows, columns, kWgmmaDepth),
      kind, kind, NVVM::WGMMATypes::f32, NVVM::WGMMAScaleOut::one,
      NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one, NVVM::MMALayout::row,
      isRightDeep ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::MMAIntOverflowAttr());
}

/// Starts the products of a stage; nobody waits for them here.
SmallVector<Value> WarpgroupTiles::multiplyStep(IndexBuilder &in, Value stage,
                                                ValueRange sums) {
  auto type = LLVM::LLVMStructType::getLiteral(
      in.getContext(), SmallVector<Type>(sums.size(), in.getF32Type()));
  Value all = LLVM::PoisonOp::create(in, type);
  for (auto [i, sum] : llvm::enumerate(sums))
    all = LLVM::InsertValueOp::create(in, all, sum, static_cast<int64_t>(i));
  Value units = in.mul(stage, stageBytes() / 16);
  // Columns of the left matrix follow one another in a row, as those of the
  // right one do that is deep.
  constexpr int64_t kAlongRow = kWgmmaDepth * 2 / 16,
                    kAlongRows = kWgmmaDepth * kSwizzleRowBytes / 16;
  NVVM::WgmmaFenceAlignedOp::create(in);
  for (int64_t i = 0; i < kStepDepth / kWgmmaDepth; ++i) {
    int64_t rightStep = isRightDeep ? kAlongRow : kAlongRows;
    all = multiplyAsync(
        in, element, in.add(in.add(leftPlace, units), in.index(i * kAlongRow)),
        in.add(in.add(rightPlace, units), in.index(i * rightStep)), isRightDeep,
        all);
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(in);
  SmallVector<Value> next;
  for (size_t i = 0; i < sums.size(); ++i)
    next.push_back(
        LLVM::ExtractValueOp::create(in, all, static_cast<int64_t>(i)));
  return next;
}

/// Products of a step run while those of the step before end, so that the
/// stage of the one before that is free.
SmallVector<Value> WarpgroupTiles::sumUp(IndexBuilder &in) {
  int64_t numAhead = stages - 2;
  SmallVector<Value> zeros(columns / 2, in.f32(0));
  Value token;
  for (int64_t step = 0; step < numAhead; ++step)
    token = copyStep(in, in.index(step), in.index(step));
  auto waitForCopies = [&](IndexBuilder &at, int64_t pending) {
    nvgpu::DeviceAsyncWaitOp::create(at, token, at.getI32IntegerAttr(pending));
    NVVM::FenceProxyOp::create(
        at, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(at.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    gpu::BarrierOp::create(at);
  };
  Value steps = in.ceilDiv(problem.k, in.index(kStepDepth));
  SmallVector<Value> result =
      in.reduce(in.index(0), steps, 1, zeros,
                [&](IndexBuilder &loop, Value step, ValueRange carried) {
                  waitForCopies(loop, numAhead - 1);
                  Value count = loop.index(stages);
                  SmallVector<Value> next =
                      multiplyStep(loop, loop.rem(step, count), carried);
                  Value ahead = loop.add(step, loop.index(numAhead));
                  copyStep(loop, ahead, loop.rem(ahead, count));
                  NVVM::WgmmaWaitGroupSyncOp::create(loop, 1);
                  return next;
                });
  NVVM::WgmmaWaitGroupSyncOp::create(in, 0);
  // The memory is used for the results next.
  waitForCopies(in, 0);
  return result;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void WarpgroupTiles::finish(IndexBuilder &in, ValueRange sums) {
  Value warp = in.floorDiv(thread, in.index(kWarp)),
        lane = in.rem(thread, in.index(kWarp));
  constexpr int64_t kWarps = kWarpgroups * kWarpgroupThreads / kWarp;
  auto type = getSharedType(in.getContext(), WarpRows::count(kWarps, columns),
                            in.getF32Type());
  Value view = memref::ViewOp::create(in, type, memory, offset, ValueRange());
  WarpRows rows = {view, columns, warp, lane};
  rows.store(in, sums);
  gpu::BarrierOp::create(in);
  rows.finish(
      in, problem,
      {place.batch, in.add(place.row, in.mul(warp, kMmaRows)), place.column},
      canAlign);
}

void WarpgroupTiles::begin(IndexBuilder &in, const BlockPlace &block,
                           Value id) {
  place = block;
  thread = id;
  Value group = in.floorDiv(thread, in.index(kWarpgroupThreads));
  left = problem.lhs(in, place.batch);
  right = problem.rhs(in, place.batch);
  element = cast<MemRefType>(left.base.getType()).getElementType();
  isRightDeep = !right.hasUnitColumns();
  std::tie(memory, offset) =
      getDynamicShared(in, stages * stageBytes(), kSwizzleBytes);
  Value address = in.add(
      memref::ExtractAlignedPointerAsIndexOp::create(in, memory), offset);
  rightPlace = makeDescriptor(in, address,
                              isRightDeep ? 0 : kStepDepth * kSwizzleRowBytes);
  Value rows = in.add(in.index(rightBytes()),
                      in.mul(group, kWgmmaRows * kSwizzleRowBytes));
  leftPlace = makeDescriptor(in, in.add(address, rows), 0);
}

void WarpgroupTiles::emit() {
  if (problem.canAlign)
    canAlign = problem.canAlign(b, kChunk);
  launchTiles(
      b, problem, {kBlockRows, columns}, kWarpgroups * kWarpgroupThreads, {},
      [&](IndexBuilder &in, const BlockPlace &block, Value id, ValueRange) {
        begin(in, block, id);
        finish(in, sumUp(in));
      });
}

/// Fewer tiles than these leave much of a device idle.
static constexpr int64_t kFewLargeTiles = 100, kFewSmallTiles = 32;

void mlir::relax::emitWarpgroupMatmulOr(IndexBuilder &b,
                                        const MatmulProblem &problem,
                                        IndexBuilder::Body otherwise) {
  if (getKernelChip(b) != "sm_90a")
    return otherwise(b);
  constexpr int64_t kLarge = 256, kSmall = 128;
  auto isFew = [&](int64_t columns, int64_t count) {
    return b.isBelow(countTiles(b, problem, {kBlockRows, columns}),
                     b.index(count));
  };
  Value isSmall = isFew(kLarge, kFewLargeTiles),
        isTiny = isFew(kSmall, kFewSmallTiles);
  b.branch(isTiny, otherwise, [&](IndexBuilder &some) {
    some.branch(
        isSmall,
        [&](IndexBuilder &in) {
          WarpgroupTiles(in, problem, kSmall, /*stages=*/6).emit();
        },
        [&](IndexBuilder &in) {
          WarpgroupTiles(in, problem, kLarge, /*stages=*/4).emit();
        });
  });
}
