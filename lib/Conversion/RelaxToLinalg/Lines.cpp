//===- Lines.cpp - Loops over the lines of a tensor -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lines.h"

#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::relax;

Carried
mlir::relax::buildLoop(KernelBuilder &b, Value begin, Value end, Value step,
                       ValueRange carried,
                       llvm::function_ref<Carried(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

Carried mlir::relax::buildPartLoop(
    KernelBuilder &b, Value size, Value count, Value length, ValueRange carried,
    llvm::function_ref<Carried(Value, Value, Value, ValueRange)> body) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  return buildLoop(b, zero, count, one, carried,
                   [&](Value part, ValueRange carried) {
                     Value begin = arith::MulIOp::create(b, part, length);
                     Value end = arith::MinUIOp::create(
                         b, arith::AddIOp::create(b, begin, length), size);
                     return body(part, begin, end, carried);
                   });
}

static void setLoopKind(KernelBuilder &b, Operation *loop, StringRef kind,
                        int64_t grain) {
  MLIRContext *context = b.getContext();
  RelaxDialect::LoopAttrHelper(context).setAttr(loop, b.getStringAttr(kind));
  RelaxDialect::GrainAttrHelper(context).setAttr(loop,
                                                 b.getI64IntegerAttr(grain));
}

void mlir::relax::makeParallel(KernelBuilder &b, Operation *loop,
                               int64_t grain) {
  setLoopKind(b, loop, "parallel", grain);
}

void mlir::relax::makeIndependent(KernelBuilder &b, Operation *loop) {
  setLoopKind(b, loop, "independent", 1);
}

/// The pass that makes calls of parallel loops puts the number in the place of
/// the region. What the region yields goes through memory, where no pass before
/// knows that it is 1.
Value mlir::relax::countThreads(KernelBuilder &b) {
  auto count = scf::ExecuteRegionOp::create(b, b.getIndexType(),
                                            /*no_inline=*/true);
  RelaxDialect::LoopAttrHelper(b.getContext())
      .setAttr(count, b.getStringAttr("threads"));
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&count.getRegion());
  Value memory =
      memref::AllocaOp::create(b, MemRefType::get({}, b.getIndexType()));
  memref::StoreOp::create(b, arith::ConstantIndexOp::create(b, 1), memory);
  Value one = memref::LoadOp::create(b, memory);
  scf::YieldOp::create(b, one);
  return count.getResult(0);
}

Value LineLoops::count() const {
  Value count = arith::ConstantIndexOp::create(b, 1);
  for (int64_t dim = 0; dim < b.getRank(data); ++dim)
    if (dim != axis)
      count = arith::MulIOp::create(b, count, b.dimValue(data, dim));
  return count;
}

Carried LineLoops::overLines(ValueRange tensors, Line line) const {
  SmallVector<Value> place(b.getRank(data));
  return overDims(tensors, place, 0, line, nullptr);
}

Carried LineLoops::overBlocks(ValueRange tensors, int64_t width, Line block,
                              Line line) const {
  SmallVector<Value> place(b.getRank(data));
  Block blocks = {width, block};
  return overDims(tensors, place, 0, line, &blocks);
}

Carried LineLoops::alongLine(
    ValueRange carried,
    llvm::function_ref<Carried(Value, ValueRange)> body) const {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  return buildLoop(b, zero, b.dimValue(data, axis), one, carried, body);
}

/// Loops over the dimensions other than the axis, from `depth` on.
Carried LineLoops::overDims(ValueRange tensors, SmallVectorImpl<Value> &place,
                            int64_t depth, Line line,
                            const Block *block) const {
  if (depth == axis)
    ++depth;
  if (depth >= b.getRank(data))
    return line(tensors, place);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value size = b.dimValue(data, depth);
  auto inner = [&](Value index, ValueRange carried) {
    place[depth] = index;
    return overDims(carried, place, depth + 1, line, block);
  };
  if (!block || depth + 1 < b.getRank(data))
    return overDim(tensors, depth, zero, size, 1, inner);
  Value width = arith::ConstantIndexOp::create(b, block->width);
  Value blocks = arith::DivUIOp::create(b, size, width);
  Carried written = overDim(tensors, depth, zero, blocks, block->width,
                            [&](Value number, ValueRange carried) {
                              place[depth] =
                                  arith::MulIOp::create(b, number, width);
                              return block->write(carried, place);
                            });
  Value rest = arith::MulIOp::create(b, blocks, width);
  return overDim(written, depth, rest, size, 1, inner);
}

Carried
LineLoops::overDim(ValueRange tensors, int64_t depth, Value begin, Value end,
                   int64_t width,
                   llvm::function_ref<Carried(Value, ValueRange)> body) const {
  Value one = arith::ConstantIndexOp::create(b, 1);
  Carried results = buildLoop(b, begin, end, one, tensors, body);
  if (isShared && depth == (axis == 0 ? 1 : 0))
    makeParallel(b, results.front().getDefiningOp(),
                 llvm::divideCeil(getGrain(depth), width));
  return results;
}

int64_t LineLoops::getGrain(int64_t depth) const {
  int64_t elements = cost;
  for (auto [dim, size] : llvm::enumerate(b.getType(data).getShape()))
    if (static_cast<int64_t>(dim) != depth)
      elements *= ShapedType::isDynamic(size) ? 64 : size;
  return std::max<int64_t>(4096 / std::max<int64_t>(elements, 1), 1);
}
