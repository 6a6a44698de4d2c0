//===- Pool.cpp - Kernels that pool images ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector holds neighboring windows of a row. Each element of the windows is
// one load, masked where the image ends: the padded image is not materialized.
// Elements are combined in the order of scalar loops, so the result is the
// same.
//
//===----------------------------------------------------------------------===//

#include "Pool.h"

#include "Contraction.h"
#include "Epilogue.h"
#include "ImageWindow.h"
#include "VectorBody.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
struct PoolParts {
  static std::optional<PoolParts> match(func::FuncOp kernel,
                                        const TargetModel &target);

  linalg::LinalgOp op;
  BlockArgument image;
  Window rows, columns;
  TypedAttr padding; // null without padding
  TypedAttr init;
  int64_t lanes = 1;
  Epilogue epilogue;
};
} // namespace

std::optional<PoolParts> PoolParts::match(func::FuncOp kernel,
                                          const TargetModel &target) {
  linalg::LinalgOp op = findReduction(kernel.getBody().front());
  PoolParts parts;
  if (!op)
    return std::nullopt;
  // Images and channels are a batch; the window has a size, and no elements.
  auto loops = matchWindows(op, parts.rows, parts.columns);
  if (!loops || loops->batch.size() != 2 || op.getNumLoops() != 6 ||
      op.payloadUsesValueFromOperand(op.getDpsInputOperand(1)) ||
      !isVectorizable(op) || op.hasIndexSemantics())
    return std::nullopt;
  Value data = op->getOperand(0);
  Type type = getElementTypeOrSelf(data.getType());
  if ((!type.isF32() && !type.isF64()) ||
      getElementTypeOrSelf(op->getResult(0).getType()) != type)
    return std::nullopt;
  for (Operation &inner : *op.getBlock())
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != op.getBlock())
        return std::nullopt;
  Value inner = matchPadding(data, parts.rows, parts.columns, parts.padding);
  parts.op = op;
  parts.image = dyn_cast<BlockArgument>(inner ? inner : data);
  parts.init = getFillValue(op.getDpsInitOperand(0)->get());
  parts.lanes = target.lanes(type.getIntOrFloatBitWidth());
  if (!parts.image || !parts.init)
    return std::nullopt;
  FailureOr<Epilogue> epilogue = Epilogue::match(
      kernel, op->getResult(0), {/*first=*/3}, /*hasIndices=*/true);
  if (failed(epilogue) || parts.image == epilogue->getOutput())
    return std::nullopt;
  parts.epilogue = *epilogue;
  return parts;
}

namespace {
/// Emits the loops of a kernel.
class PoolLoops {
public:
  explicit PoolLoops(PoolParts &parts) : parts(parts) {}

  void emit(IndexBuilder &b, func::FuncOp kernel, ValueRange arguments);

private:
  Value combine(IndexBuilder &b, Value value, Value sum);
  Value reduceWindows(IndexBuilder &b, Value plane, Value row, Value column);

  PoolParts &parts;
  VectorType vectorType;
  Value image, height, width;
  Value readable; // of a row: nothing where there are no rows
};
} // namespace

Value PoolLoops::combine(IndexBuilder &b, Value value, Value sum) {
  VectorBody body(b, parts.lanes);
  // The shape of the window has no values.
  return body
      .compute(parts.op, {value, value, sum}, IRMapping(),
               [](unsigned) { return Value(); })
      .front();
}

/// Reduces the windows of a row from `column` on; `plane` is where the image of
/// a channel begins.
Value PoolLoops::reduceWindows(IndexBuilder &b, Value plane, Value row,
                               Value column) {
  // As many elements of a row of the window are prepared ahead of its rows.
  constexpr int64_t kMostPrepared = 16;
  auto splat = [&](Attribute value) -> Value {
    return arith::ConstantOp::create(b,
                                     DenseElementsAttr::get(vectorType, value));
  };
  bool isPadded = bool(parts.padding);
  Value zero = b.index(0);
  Value padding = splat(isPadded ? parts.padding : parts.init);
  RowLoader loader(image, readable, parts.columns.stride, padding);
  auto prepare = [&](IndexBuilder &b, Value j) {
    Value first = b.sub(b.add(b.mul(column, parts.columns.stride),
                              b.mul(j, parts.columns.dilation)),
                        b.index(parts.columns.padding));
    return loader.prepare(b, first, b.index(parts.lanes),
                          /*isInside=*/Value());
  };
  bool isPrepared = parts.columns.size <= kMostPrepared;
  SmallVector<RowLoader::Load> loads;
  for (int64_t j = 0; isPrepared && j < parts.columns.size; ++j)
    loads.push_back(prepare(b, b.index(j)));
  auto addRow = [&](IndexBuilder &b, Value i, ValueRange carried) {
    Value place = b.sub(
        b.add(b.mul(row, parts.rows.stride), b.mul(i, parts.rows.dilation)),
        b.index(parts.rows.padding));
    Value isInside;
    if (isPadded) {
      isInside = b.isInside(place, height);
      // The index is clamped: what is read of another row is ignored.
      place = b.clamp(place, height);
    }
    Value begin = b.add(plane, b.mul(place, width));
    auto add = [&](IndexBuilder &b, const RowLoader::Load &load, Value sum) {
      Value value = load(b, begin);
      if (isInside)
        value = arith::SelectOp::create(b, isInside, value, padding);
      return combine(b, value, sum);
    };
    if (!isPrepared)
      return b.reduce(zero, b.index(parts.columns.size), 1, carried,
                      [&](IndexBuilder &b, Value j, ValueRange carried) {
                        return SmallVector<Value>{
                            add(b, prepare(b, j), carried.front())};
                      });
    Value sum = carried.front();
    for (const RowLoader::Load &load : loads)
      sum = add(b, load, sum);
    return SmallVector<Value>{sum};
  };
  return b.reduce(zero, b.index(parts.rows.size), 1, splat(parts.init), addRow)
      .front();
}

void PoolLoops::emit(IndexBuilder &b, func::FuncOp kernel,
                     ValueRange arguments) {
  // Rows that are worth a thread.
  constexpr int64_t kGrain = 16;
  Value data = arguments[parts.image.getArgNumber()];
  Value output = arguments[parts.epilogue.getOutput().getArgNumber()];
  parts.epilogue.begin(b, kernel, arguments);
  vectorType = VectorType::get(
      parts.lanes, cast<MemRefType>(data.getType()).getElementType());
  image = flatten(b, data);
  height = getDim(b, data, 2);
  width = getDim(b, data, 3);
  Value zero = b.index(0);
  readable =
      b.createOrFold<arith::SelectOp>(b.isEqual(height, zero), zero, width);
  Value channels = getDim(b, output, 1), outHeight = getDim(b, output, 2);
  Value outWidth = getDim(b, output, 3), planeSize = b.mul(height, width);
  Value rows = b.mul(b.mul(getDim(b, output, 0), channels), outHeight);
  b.parallel(rows, kGrain, [&](IndexBuilder &b, Value index) {
    Value row = b.rem(index, outHeight), plane = b.floorDiv(index, outHeight);
    Value begin = b.mul(plane, planeSize);
    b.loop(b.index(0), outWidth, parts.lanes, [&](IndexBuilder &b, Value x) {
      Value sums = reduceWindows(b, begin, row, x);
      Value indices[] = {b.floorDiv(plane, channels), b.rem(plane, channels),
                         row, x};
      Value mask = makeLaneMask(b, parts.lanes, b.index(0), b.sub(outWidth, x));
      parts.epilogue.finish(b, sums, indices, mask);
    });
  });
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchPool2d(func::FuncOp kernel, const TargetModel &target) {
  std::optional<PoolParts> parts = PoolParts::match(kernel, target);
  if (!parts)
    return nullptr;
  return makeEmitter([=, parts = *std::move(parts)](
                         IndexBuilder &b, ValueRange arguments) mutable {
    PoolLoops(parts).emit(b, kernel, arguments);
  });
}
