//===- ColumnLaunch.cpp - Columns by blocks of threads ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnLaunch.h"

#include "ElementLaunch.h"
#include "Launch.h"
#include "Reduction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

/// Whether a thread had better reduce all by itself, as with windows.
static bool hasFewToReduce(linalg::GenericOp op, unsigned numParallel) {
  constexpr int64_t kFew = 64;
  int64_t length = 1;
  for (int64_t size :
       ArrayRef(op.getStaticLoopRanges()).drop_front(numParallel))
    if (ShapedType::isDynamic(size) || (length *= size) > kFew)
      return false;
  return true;
}

/// Reductions along columns: neighbouring threads have neighbouring columns,
/// and several threads a part of a column each.
bool mlir::relax::launchColumns(linalg::GenericOp op, unsigned numParallel) {
  std::optional<Reduction> reduction = Reduction::get(op);
  if (!reduction || numParallel == 0 || op.getNumReductionLoops() == 0 ||
      hasFewToReduce(op, numParallel))
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isProjectedPermutation())
      return false;
  IndexBuilder b(op.getLoc(), op);
  SmallVector<Value> sizes = getLoopSizes(b, op);
  auto outer = ArrayRef(sizes).take_front(numParallel),
       inner = ArrayRef(sizes).drop_front(numParallel);
  Value count = makeProduct(b, outer), length = makeProduct(b, inner);
  SmallVector<Type> shared;
  for (TypedAttr neutral : reduction->neutral)
    shared.push_back(
        getSharedType(b.getContext(), kMostThreads, neutral.getType()));
  ElementBody body(op);
  Value columns = b.index(kWarp);
  launch(
      b, b.ceilDiv(count, columns), b.index(kMostThreads), shared,
      [&](IndexBuilder &in, gpu::LaunchOp launched) {
        Value thread = launched.getThreadIds().x;
        Value lane = in.rem(thread, columns),
              part = in.floorDiv(thread, columns);
        Value column = in.add(in.mul(launched.getBlockIds().x, kWarp), lane);
        Value isIn = in.isBelow(column, count);
        // Threads beyond the last column read it once more.
        Value inside = in.min(column, in.sub(count, in.index(1)));
        SmallVector<Value> place = delinearize(in, inside, outer);
        SmallVector<Value> neutral;
        for (TypedAttr value : reduction->neutral)
          neutral.push_back(arith::ConstantOp::create(in, value));
        SmallVector<Value> sums = accumulate(
            in, body, part, length, in.index(kMostThreads / kWarp),
            getUnroll(op, op.getNumLoops()), neutral,
            [&](IndexBuilder &loop, Value at) {
              SmallVector<Value> where(place);
              llvm::append_range(where, delinearize(loop, at, inner));
              return where;
            });
        auto memory = launched.getWorkgroupAttributions();
        for (auto [sum, buffer] : llvm::zip(sums, memory))
          memref::StoreOp::create(in, sum, buffer, thread);
        gpu::BarrierOp::create(in);
        Value isFirst = in.isEqual(part, in.index(0));
        in.branch(
            arith::AndIOp::create(in, isIn, isFirst), [&](IndexBuilder &first) {
              place.resize(op.getNumLoops(), first.index(0));
              SmallVector<Value> results;
              for (auto [init, buffer, combiner] : llvm::zip(
                       op.getDpsInitsMutable(), memory, reduction->combiners)) {
                Value total = body.loadOperand(first, init, place);
                for (int64_t i = 0; i < kMostThreads; i += kWarp)
                  total = combine(
                      first, combiner, total,
                      memref::LoadOp::create(first, buffer,
                                             first.add(lane, first.index(i))));
                results.push_back(total);
              }
              body.store(first, place, results);
            });
      });
  op.erase();
  return true;
}
