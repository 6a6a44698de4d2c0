//===- MatmulSplit.cpp - Products whose depth is split ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of few tiles leaves much of a device idle, however deep it is.
// Where it is deep, several blocks share a tile: each sums up a part of the
// depth, and writes its sums to scratch memory of the device,
// [part][batch][row] [column]. A second launch adds them up, in order, and
// finishes them. How many parts there are depends on the sizes alone, so that
// results do, too.
//
//===----------------------------------------------------------------------===//

#include "LoopLaunch.h"
#include "Matmul.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// Blocks that fill a device, and the least that a part of the depth has.
static constexpr int64_t kBlocks = 128, kLeastDepth = 256;

/// Adds up the parts of each result.
static void addParts(IndexBuilder &b, const MatmulProblem &problem,
                     Value scratch, Value numParts) {
  Value numRows = b.mul(problem.batch, problem.m);
  Value count = b.mul(numRows, problem.n);
  launchIterations(
      b, {numRows, problem.n}, [&](IndexBuilder &in, ArrayRef<Value> indices) {
        Value row = indices[0], column = indices[1];
        Value at = in.add(in.mul(row, problem.n), column);
        Value zero =
            arith::ConstantOp::create(in, in.getZeroAttr(problem.sumType));
        SmallVector<Value> sum =
            in.reduce(in.index(0), numParts, 1, zero,
                      [&](IndexBuilder &loop, Value part, ValueRange sums) {
                        Value other = memref::LoadOp::create(
                            loop, scratch, loop.add(loop.mul(part, count), at));
                        Value next =
                            arith::AddFOp::create(loop, sums.front(), other);
                        return SmallVector<Value>{next};
                      });
        finishSum(
            in, problem, sum.front(),
            {in.floorDiv(row, problem.m), in.rem(row, problem.m), column});
      });
}

/// The product with a place in the batch for each part of each product, whose
/// sums go to scratch memory where `isSplit`.
static MatmulProblem getParts(IndexBuilder &b, const MatmulProblem &problem,
                              Value numParts, Value depth, Value isSplit,
                              Value scratch) {
  MatmulProblem parts = problem;
  parts.batch = b.mul(problem.batch, numParts);
  parts.lhs = [&](IndexBuilder &in, Value batch) {
    return problem.lhs(in, in.rem(batch, problem.batch));
  };
  parts.rhs = [&](IndexBuilder &in, Value batch) {
    return problem.rhs(in, in.rem(batch, problem.batch));
  };
  parts.depthRange = [=, &problem](IndexBuilder &in, Value batch) {
    Value begin = in.mul(in.floorDiv(batch, problem.batch), depth);
    return std::pair(begin, in.min(in.add(begin, depth), problem.k));
  };
  parts.finish = [=, &problem](IndexBuilder &in, Value sums,
                               const MatmulProblem::Place &place) {
    in.branch(
        isSplit,
        [&](IndexBuilder &split) {
          Value row = split.add(split.mul(place.batch, problem.m), place.row);
          vector::StoreOp::create(
              split, sums, scratch,
              ValueRange(split.add(split.mul(row, problem.n), place.column)),
              /*nontemporal=*/false,
              place.isAligned ? llvm::MaybeAlign(16) : llvm::MaybeAlign());
        },
        [&](IndexBuilder &whole) { problem.finish(whole, sums, place); });
  };
  return parts;
}

void mlir::relax::emitSplit(
    IndexBuilder &b, const MatmulProblem &problem, TileSize tile,
    int64_t stepDepth, llvm::function_ref<void(const MatmulProblem &)> emit) {
  Value tiles = countTiles(b, problem, tile);
  Value one = b.index(1), steps = b.ceilDiv(problem.k, b.index(stepDepth));
  Value numParts = b.max(b.min(b.floorDiv(b.index(kBlocks), b.max(tiles, one)),
                               b.floorDiv(problem.k, b.index(kLeastDepth))),
                         one);
  if (isConstantIntValue(numParts, 1))
    return emit(problem);
  Value depth = b.mul(b.ceilDiv(steps, numParts), stepDepth);
  Value isSplit = b.isBelow(one, numParts);
  Value count = b.mul(problem.batch, b.mul(problem.m, problem.n));
  Value size = b.createOrFold<arith::SelectOp>(isSplit, b.mul(count, numParts),
                                               b.index(0));
  Value scratch = memref::AllocOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, problem.sumType), size);
  emit(getParts(b, problem, numParts, depth, isSplit, scratch));
  b.branch(isSplit,
           [&](IndexBuilder &in) { addParts(in, problem, scratch, numParts); });
  memref::DeallocOp::create(b, scratch);
}
