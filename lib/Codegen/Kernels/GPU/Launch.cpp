//===- Launch.cpp - Launches and the loops of threads -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::relax;

gpu::LaunchOp mlir::relax::launch(
    IndexBuilder &b, Value blocks, Value threads, TypeRange shared,
    llvm::function_ref<void(IndexBuilder &, gpu::LaunchOp)> body) {
  Value one = b.index(1);
  auto op = gpu::LaunchOp::create(b, blocks, one, one, threads, one, one,
                                  /*dynamicSharedMemorySize=*/nullptr,
                                  /*asyncTokenType=*/nullptr,
                                  /*asyncDependencies=*/ValueRange(), shared);
  IndexBuilder inside(b.getLoc(), b.getContext());
  inside.setInsertionPointToStart(&op.getBody().front());
  body(inside, op);
  gpu::TerminatorOp::create(inside);
  return op;
}

void mlir::relax::setResidentBlocks(gpu::LaunchOp op, int32_t blocks) {
  RelaxDialect::ResidentBlocksAttrHelper(op.getContext())
      .setAttr(op, Builder(op).getI32IntegerAttr(blocks));
}

MemRefType mlir::relax::getSharedType(MLIRContext *context, int64_t count,
                                      Type element) {
  auto space = gpu::AddressSpaceAttr::get(
      context, gpu::GPUDialect::getWorkgroupAddressSpace());
  return MemRefType::get({count}, element, MemRefLayoutAttrInterface(), space);
}

/// What PTX runs on where the target says nothing: it has asynchronous copies
/// and products of bf16.
static constexpr StringLiteral kChip = "sm_80";

StringRef mlir::relax::getChip(VDeviceAttr device) {
  StringRef target = device.getTarget();
  size_t at = target.find("sm_");
  return at == StringRef::npos ? StringRef(kChip)
                               : target.substr(at).take_while([](char c) {
                                   return llvm::isAlnum(c) || c == '_';
                                 });
}

/// The device of the kernel around an operation; null where it has none.
static VDeviceAttr findKernelDevice(Operation *op) {
  while (op && !getKernelDevice(op))
    op = op->getParentOp();
  return op ? getKernelDevice(op) : VDeviceAttr();
}

StringRef mlir::relax::getKernelChip(IndexBuilder &b) {
  VDeviceAttr device = findKernelDevice(b.getInsertionBlock()->getParentOp());
  return device ? getChip(device) : StringRef();
}

bool mlir::relax::isCuda(VDeviceAttr device) {
  constexpr int32_t kDLCUDA = 2;
  return getDLDeviceType(device) == kDLCUDA;
}

bool mlir::relax::isOnCuda(Operation *op) {
  VDeviceAttr device = findKernelDevice(op);
  return device && isCuda(device);
}

std::pair<Value, Value> mlir::relax::getDynamicShared(IndexBuilder &b,
                                                      int64_t bytes,
                                                      int64_t alignment) {
  auto op =
      b.getInsertionBlock()->getParent()->getParentOfType<gpu::LaunchOp>();
  IndexBuilder host(op.getLoc(), op);
  op.getDynamicSharedMemorySizeMutable().assign(arith::ConstantOp::create(
      host, host.getI32IntegerAttr(bytes + alignment)));
  auto type = cast<MemRefType>(
      getSharedType(b.getContext(), ShapedType::kDynamic, b.getI8Type()));
  Value memory = gpu::DynamicSharedMemoryOp::create(b, type);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  return {memory, b.sub(b.roundUp(address, alignment), address)};
}

std::pair<Value, Value> mlir::relax::splitPlace(IndexBuilder &b, Value thread,
                                                int64_t offset, int64_t width) {
  int64_t rows = offset % width == 0 ? offset / width : 0;
  Value place = b.add(thread, b.index(offset - rows * width));
  return {b.add(b.floorDiv(place, b.index(width)), b.index(rows)),
          b.rem(place, b.index(width))};
}

Value mlir::relax::reduceWarp(
    IndexBuilder &b, Value value,
    llvm::function_ref<Value(IndexBuilder &, Value, Value)> combine,
    int64_t lanes) {
  for (int32_t offset = 1; offset < lanes; offset *= 2) {
    Value other =
        gpu::ShuffleOp::create(b, value, offset, kWarp, gpu::ShuffleMode::XOR)
            .getShuffleResult();
    value = combine(b, value, other);
  }
  return value;
}

SmallVector<Value> mlir::relax::loopUnrolled(
    IndexBuilder &b, Value begin, Value end, Value step, int64_t unroll,
    ValueRange inits,
    llvm::function_ref<SmallVector<Value>(
        IndexBuilder &, ArrayRef<Value> places, ValueRange carried)>
        body) {
  auto emit = [&](Value from, Value to, Value by, int64_t count,
                  ValueRange carried) {
    auto loop = scf::ForOp::create(
        b, from, to, by, carried,
        [&](OpBuilder &builder, Location loc, Value i, ValueRange values) {
          IndexBuilder inside(loc, builder);
          SmallVector<Value> places = {i};
          while (static_cast<int64_t>(places.size()) < count)
            places.push_back(inside.add(places.back(), step));
          scf::YieldOp::create(inside, body(inside, places, values));
        });
    return SmallVector<Value>(loop.getResults());
  };
  if (unroll <= 1)
    return emit(begin, end, step, 1, inits);
  Value large = b.mul(step, unroll);
  // Where all places of an iteration are in.
  Value last = b.sub(end, b.mul(step, unroll - 1));
  SmallVector<Value> carried = emit(begin, last, large, unroll, inits);
  Value span = b.max(b.sub(last, begin), b.index(0));
  Value rest = b.add(begin, b.mul(b.ceilDiv(span, large), large));
  return emit(rest, end, step, 1, carried);
}
