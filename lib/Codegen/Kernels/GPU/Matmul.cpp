//===- Matmul.cpp - Products of matrices on GPUs ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of threads has a tile of the result. It brings tiles of both matrices
// to shared memory, one step of the depth after the other, from which each
// thread computes 8 x 8 results in registers.
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

#include "Launch.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isDeviceMatmul(Type lhs, Type rhs, Type sum) {
  auto isOf = [&](Type type) {
    return type == sum || type.isF16() || type.isBF16();
  };
  return (sum.isF32() || sum.isF64()) && isOf(lhs) && isOf(rhs);
}

void mlir::relax::launchTiles(
    IndexBuilder &b, const MatmulProblem &problem, int64_t tile,
    int64_t threads, TypeRange shared,
    llvm::function_ref<void(IndexBuilder &, const BlockPlace &, Value,
                            ValueRange)>
        body) {
  Value one = b.index(1), size = b.index(tile);
  Value columns = b.ceilDiv(problem.n, size), rows = b.ceilDiv(problem.m, size);
  auto op = gpu::LaunchOp::create(
      b, columns, rows, problem.batch, b.index(threads), one, one,
      /*dynamicSharedMemorySize=*/nullptr, /*asyncTokenType=*/nullptr,
      /*asyncDependencies=*/ValueRange(), shared);
  IndexBuilder in(b.getLoc(), b.getContext());
  in.setInsertionPointToStart(&op.getBody().front());
  gpu::KernelDim3 block = op.getBlockIds();
  BlockPlace place = {block.z, in.mul(block.y, tile), in.mul(block.x, tile)};
  SmallVector<Value> memory(op.getWorkgroupAttributions());
  body(in, place, op.getThreadIds().x, memory);
  gpu::TerminatorOp::create(in);
}

Value mlir::relax::loadInside(IndexBuilder &b, const MatrixView &matrix,
                              Value row, Value column, Value numRows,
                              Value numColumns) {
  Value isInside = arith::AndIOp::create(b, b.isBelow(row, numRows),
                                         b.isBelow(column, numColumns));
  Type type = cast<MemRefType>(matrix.base.getType()).getElementType();
  auto op = scf::IfOp::create(
      b, isInside,
      [&](OpBuilder &builder, Location loc) {
        IndexBuilder in(loc, builder);
        Value place =
            in.add(matrix.offset, in.add(in.mul(row, matrix.rowStride),
                                         in.mul(column, matrix.columnStride)));
        Value element = memref::LoadOp::create(in, matrix.base, place);
        scf::YieldOp::create(in, element);
      },
      [&](OpBuilder &builder, Location loc) {
        Value zero =
            arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
        scf::YieldOp::create(builder, loc, zero);
      });
  return op.getResult(0);
}

void mlir::relax::finishInside(IndexBuilder &b, const MatmulProblem &problem,
                               Value sum, Value batch, Value row,
                               Value column) {
  Value isInside = arith::AndIOp::create(b, b.isBelow(row, problem.m),
                                         b.isBelow(column, problem.n));
  b.branch(isInside, [&](IndexBuilder &in) {
    auto type = VectorType::get({1}, sum.getType());
    Value vector = vector::BroadcastOp::create(in, type, sum);
    problem.finish(in, vector, {batch, row, column, /*mask=*/Value()});
  });
}

//===----------------------------------------------------------------------===//
// Without tensor cores
//===----------------------------------------------------------------------===//

namespace {
/// Tiles of 128 x 128 results by 256 threads, each of which has 8 x 8 of them:
/// two groups of 4 rows, and of 4 columns, half of a tile apart, so that
/// neighbouring threads read neighbouring words.
class ThreadTiles {
public:
  ThreadTiles(IndexBuilder &b, const MatmulProblem &problem)
      : b(b), problem(problem) {}
  void emit();

private:
  static constexpr int64_t kTile = 128, kDepth = 8, kTileThreads = 256,
                           kGroup = 4, kPerThread = 8;
  static constexpr int64_t kLanes = kTile / kPerThread;

  void fill(IndexBuilder &in, Value memory, const MatrixView &matrix,
            Value first, Value depth, Value numRows);
  SmallVector<Value> multiply(IndexBuilder &in, ValueRange sums);
  /// The place of row or column `i` of a thread in the tile.
  Value placeOf(IndexBuilder &in, Value lane, int64_t i) {
    int64_t group = i / kGroup;
    return in.add(in.mul(lane, kGroup),
                  in.index(group * (kTile / 2) + i % kGroup));
  }

  IndexBuilder &b;
  const MatmulProblem &problem;
  Value thread, row, column; // in the tile: a group of rows, of columns
  Value lhs, rhs;            // shared memory, [depth][row or column]
};
} // namespace

/// Brings a step of the depth of the left matrix, or of the right one
/// transposed, to shared memory.
void ThreadTiles::fill(IndexBuilder &in, Value memory, const MatrixView &matrix,
                       Value first, Value depth, Value numRows) {
  // Neighbouring threads read neighbouring elements.
  bool alongDepth = matrix.hasUnitColumns();
  for (int64_t i = 0; i < kTile * kDepth; i += kTileThreads) {
    Value place = in.add(thread, in.index(i));
    Value extent = in.index(alongDepth ? kDepth : kTile);
    Value minor = in.rem(place, extent), major = in.floorDiv(place, extent);
    Value r = alongDepth ? major : minor, d = alongDepth ? minor : major;
    Value element = loadInside(in, matrix, in.add(first, r), in.add(depth, d),
                               numRows, problem.k);
    if (element.getType() != problem.sumType)
      element = arith::ExtFOp::create(in, problem.sumType, element);
    memref::StoreOp::create(in, element, memory, in.add(in.mul(d, kTile), r));
  }
}

SmallVector<Value> ThreadTiles::multiply(IndexBuilder &in, ValueRange sums) {
  SmallVector<Value> next(sums);
  for (int64_t d = 0; d < kDepth; ++d) {
    SmallVector<Value> left, right;
    Value begin = in.index(d * kTile);
    for (int64_t i = 0; i < kPerThread; ++i) {
      left.push_back(
          memref::LoadOp::create(in, lhs, in.add(begin, placeOf(in, row, i))));
      right.push_back(memref::LoadOp::create(
          in, rhs, in.add(begin, placeOf(in, column, i))));
    }
    for (int64_t i = 0; i < kPerThread; ++i)
      for (int64_t j = 0; j < kPerThread; ++j) {
        Value &sum = next[i * kPerThread + j];
        sum = math::FmaOp::create(in, left[i], right[j], sum);
      }
  }
  return next;
}

void ThreadTiles::emit() {
  Type shared = getSharedType(b.getContext(), kTile * kDepth, problem.sumType);
  launchTiles(
      b, problem, kTile, kTileThreads, {shared, shared},
      [&](IndexBuilder &in, const BlockPlace &place, Value id,
          ValueRange memory) {
        thread = id;
        row = in.floorDiv(thread, in.index(kLanes));
        column = in.rem(thread, in.index(kLanes));
        lhs = memory[0];
        rhs = memory[1];
        MatrixView left = problem.lhs(in, place.batch),
                   right = problem.rhs(in, place.batch).transposed();
        Value zero =
            arith::ConstantOp::create(in, in.getZeroAttr(problem.sumType));
        SmallVector<Value> zeros(kPerThread * kPerThread, zero);
        SmallVector<Value> sums =
            in.reduce(in.index(0), problem.k, kDepth, zeros,
                      [&](IndexBuilder &loop, Value depth, ValueRange carried) {
                        fill(loop, lhs, left, place.row, depth, problem.m);
                        fill(loop, rhs, right, place.column, depth, problem.n);
                        gpu::BarrierOp::create(loop);
                        SmallVector<Value> next = multiply(loop, carried);
                        gpu::BarrierOp::create(loop);
                        return next;
                      });
        for (int64_t i = 0; i < kPerThread; ++i)
          for (int64_t j = 0; j < kPerThread; ++j)
            finishInside(in, problem, sums[i * kPerThread + j], place.batch,
                         in.add(place.row, placeOf(in, row, i)),
                         in.add(place.column, placeOf(in, column, j)));
      });
}

void mlir::relax::emitDeviceMatmul(IndexBuilder &b,
                                   const MatmulProblem &problem) {
  auto elementType = [&](const MatrixView &matrix) {
    return cast<MemRefType>(matrix.base.getType()).getElementType();
  };
  Value zero = b.index(0);
  Type left = elementType(problem.lhs(b, zero)),
       right = elementType(problem.rhs(b, zero));
  if (left == right && (left.isF16() || left.isBF16()) &&
      problem.sumType.isF32())
    return emitTensorCoreMatmul(b, problem);
  ThreadTiles(b, problem).emit();
}
