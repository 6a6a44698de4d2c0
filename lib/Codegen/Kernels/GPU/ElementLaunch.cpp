//===- ElementLaunch.cpp - A thread for several elements --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations whose loops are all parallel. Where all operands have the same
// places, the loops are one. Indices are of 32 bits where these do.
//
//===----------------------------------------------------------------------===//

#include "ElementLaunch.h"

#include "Launch.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

/// Iterations that a thread loads before it stores, so that it waits for
/// memory once for all of them.
static constexpr int64_t kIterations = 4;
/// Bodies of more operations than these are repeated less, or not at all.
static constexpr int64_t kSmallBody = 40, kLargeBody = 160;

/// The bytes of the largest elements of an operation.
static int64_t getElementBytes(linalg::GenericOp op) {
  int64_t bytes = 1;
  for (Type type : op->getOperandTypes())
    bytes = std::max<int64_t>(
        bytes, getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8);
  return bytes;
}

int64_t mlir::relax::getUnroll(linalg::GenericOp op, size_t numLoops) {
  Block &body = op.getRegion().front();
  if (llvm::any_of(body,
                   [](Operation &inner) { return inner.getNumRegions() > 0; }))
    return 1;
  // Around subroutines, which compute these, registers are few.
  if (llvm::any_of(body, [](Operation &inner) {
        return (isa<arith::DivFOp>(inner) ||
                isa_and_nonnull<math::MathDialect>(inner.getDialect())) &&
               inner.getResult(0).getType().isF64();
      }))
    return 1;
  auto size = static_cast<int64_t>(body.getOperations().size());
  if (size > kLargeBody)
    return 1;
  int64_t bytes = getElementBytes(op);
  if (size > kSmallBody)
    return bytes <= 2 ? kIterations : 1;
  if (bytes > 4)
    return kIterations / 2;
  // Each iteration of several loops has a place of its own to compute.
  return bytes <= 2 && numLoops <= 1 ? 2 * kIterations : kIterations;
}

/// Whether an operation does the same for all elements, wherever they are.
static bool isFlat(linalg::GenericOp op) {
  auto indices = op.getRegion().getOps<linalg::IndexOp>();
  if (op.getNumLoops() < 2 || !indices.empty())
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return !isa<MemRefType>(operand.get().getType()) ||
           hasOrderOfLoops(op, operand);
  });
}

/// The same operation on vectors of all elements.
static linalg::GenericOp flattenLoops(IndexBuilder &b, linalg::GenericOp op) {
  AffineMap map = b.getMultiDimIdentityMap(1),
            none = AffineMap::get(1, 0, b.getContext());
  auto flat = [&](ValueRange operands) {
    return llvm::map_to_vector(operands, [&](Value operand) -> Value {
      return isa<MemRefType>(operand.getType()) ? viewFlat(b, operand)
                                                : operand;
    });
  };
  SmallVector<AffineMap> maps;
  for (Value operand : op->getOperands())
    maps.push_back(isa<MemRefType>(operand.getType()) ? map : none);
  SmallVector<utils::IteratorType> kinds = {utils::IteratorType::parallel};
  auto result = linalg::GenericOp::create(b, flat(op.getInputs()),
                                          flat(op.getOutputs()), maps, kinds);
  result.getRegion().takeBody(op.getRegion());
  b.setInsertionPoint(result);
  op.erase();
  return result;
}

void mlir::relax::emitPlaces(
    IndexBuilder &b, const ElementBody &body, Value begin, Value end,
    Value step, int64_t unroll,
    llvm::function_ref<ElementPlace(IndexBuilder &, Value)> at) {
  loopUnrolled(b, begin, end, step, unroll, {},
               [&](IndexBuilder &loop, ArrayRef<Value> numbers, ValueRange) {
                 SmallVector<ElementPlace> places;
                 SmallVector<SmallVector<Value>> operands;
                 for (Value number : numbers) {
                   places.push_back(at(loop, number));
                   operands.push_back(body.load(loop, places.back()));
                 }
                 for (auto [place, values] : llvm::zip(places, operands))
                   body.store(loop, place, body.compute(loop, place, values));
                 return SmallVector<Value>();
               });
}

void mlir::relax::launchElements(linalg::GenericOp op) {
  IndexBuilder b(op.getLoc(), op);
  if (isFlat(op))
    op = flattenLoops(b, op);
  SmallVector<Value> sizes = getLoopSizes(b, op);
  Value count = makeProduct(b, sizes);
  int64_t unroll = getUnroll(op, sizes.size());
  ElementBody body(op);
  body.flatten(b);
  Value perBlock = b.index(kThreads * unroll);
  launch(b, b.ceilDiv(count, perBlock), b.index(kThreads), {},
         [&](IndexBuilder &inside, gpu::LaunchOp launched) {
           Value begin = inside.add(
               inside.mul(launched.getBlockIds().x, kThreads * unroll),
               launched.getThreadIds().x);
           Value end = inside.min(
               count, inside.add(begin, kThreads * (unroll - 1) + 1));
           // Quotients of 64 bits are calls, around which registers are few.
           auto run = [&](IndexBuilder &in, bool isSmall, int64_t iterations) {
             emitPlaces(in, body, begin, end, in.index(kThreads), iterations,
                        [&](IndexBuilder &loop, Value place) {
                          return ElementPlace(
                              delinearize(loop, place, sizes, isSmall), place);
                        });
           };
           if (sizes.size() <= 1)
             return run(inside, /*isSmall=*/false, unroll);
           inside.branch(
               inside.isAtMost(count, INT32_MAX - kThreads * unroll),
               [&](IndexBuilder &in) { run(in, /*isSmall=*/true, unroll); },
               [&](IndexBuilder &in) { run(in, /*isSmall=*/false, 1); });
         });
  op.erase();
}
