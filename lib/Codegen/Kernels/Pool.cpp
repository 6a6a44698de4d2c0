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
// Some rows are computed together, which share the masks. Elements are combined
// in the order of scalar loops, so the result is the same; maxima of floats of
// 16 bits are found in f32, which has them all.
//
// Cases: f32, f64 and integers; maxima of f16 and bf16. Elements of less than
// 32 bits need masks for them (AVX-512).
//
//===----------------------------------------------------------------------===//

#include "Pool.h"

#include "Contraction.h"
#include "Epilogue.h"
#include "ImageWindow.h"
#include "VectorBody.h"
#include "WordProducts.h"

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
  Type sumType;
  int64_t lanes = 1;
  Epilogue epilogue;
};
} // namespace

/// Whether the result is the larger one of an element of the window, which is
/// the first argument, and of what came before; either may be converted.
static bool findsMaximum(linalg::LinalgOp op) {
  auto strip = [](Value value) {
    Operation *conversion = value.getDefiningOp();
    return isa_and_present<arith::ExtFOp, arith::TruncFOp>(conversion)
               ? conversion->getOperand(0)
               : value;
  };
  Block *body = op.getBlock();
  auto maximum = strip(body->getTerminator()->getOperand(0))
                     .getDefiningOp<arith::MaximumFOp>();
  if (!maximum)
    return false;
  Value element = body->getArgument(0);
  Value before = body->getArguments().back();
  std::pair operands(strip(maximum.getLhs()), strip(maximum.getRhs()));
  return operands == std::pair(element, before) ||
         operands == std::pair(before, element);
}

/// The type in which elements are combined; null where there is no kernel.
static Type findSumType(linalg::LinalgOp op, Type type,
                        const TargetModel &target) {
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 8 || (bits < 32 && !target.has("avx512bw")))
    return {};
  if (!type.isF16() && !type.isBF16())
    return isa<IntegerType>(type) || type.isF32() || type.isF64() ? type
                                                                  : Type();
  return findsMaximum(op) ? Float32Type::get(type.getContext()) : Type();
}

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
  parts.sumType = findSumType(op, type, target);
  if (!parts.sumType ||
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
  parts.lanes = target.lanes(parts.sumType.getIntOrFloatBitWidth());
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
  /// Neighboring windows of a row, of those of a channel.
  struct Windows {
    Value plane;                        // where the image of the channel begins
    Value column;                       // the first one
    SmallVector<RowLoader::Load> loads; // for each of their columns, or none
  };

  Value splat(IndexBuilder &b, Attribute value);
  Value combine(IndexBuilder &b, Value value, Value sum);
  RowLoader::Load prepare(IndexBuilder &b, const Windows &windows, Value j);
  Windows prepareWindows(IndexBuilder &b, Value plane, Value column);
  Value reduceWindows(IndexBuilder &b, const Windows &windows, Value row);

  PoolParts &parts;
  VectorType vectorType; // of elements as they are stored
  Value image, height, width;
  Value readable; // of a row: nothing where there are no rows
};
} // namespace

Value PoolLoops::splat(IndexBuilder &b, Attribute value) {
  return arith::ConstantOp::create(b,
                                   DenseElementsAttr::get(vectorType, value));
}

Value PoolLoops::combine(IndexBuilder &b, Value value, Value sum) {
  if (vectorType.getElementType() != parts.sumType)
    return arith::MaximumFOp::create(b, sum, extend(b, value, parts.sumType));
  VectorBody body(b, parts.lanes);
  // The shape of the window has no values.
  return body
      .compute(parts.op, {value, value, sum}, IRMapping(),
               [](unsigned) { return Value(); })
      .front();
}

/// Prepares loads of element `j` of a row of the windows.
RowLoader::Load PoolLoops::prepare(IndexBuilder &b, const Windows &windows,
                                   Value j) {
  const Window &columns = parts.columns;
  Value padding = splat(b, parts.padding ? parts.padding : parts.init);
  RowLoader loader(image, readable, columns.stride, padding);
  Value first = b.sub(
      b.add(b.mul(windows.column, columns.stride), b.mul(j, columns.dilation)),
      b.index(columns.padding));
  return loader.prepare(b, first, b.index(parts.lanes), /*isInside=*/Value());
}

PoolLoops::Windows PoolLoops::prepareWindows(IndexBuilder &b, Value plane,
                                             Value column) {
  // As many elements of a row of the window are prepared ahead of its rows.
  constexpr int64_t kMostPrepared = 16;
  Windows windows = {plane, column, {}};
  if (parts.columns.size <= kMostPrepared)
    for (int64_t j = 0; j < parts.columns.size; ++j)
      windows.loads.push_back(prepare(b, windows, b.index(j)));
  return windows;
}

/// Reduces the windows at a row of the result.
Value PoolLoops::reduceWindows(IndexBuilder &b, const Windows &windows,
                               Value row) {
  bool isPadded = bool(parts.padding);
  Value padding = splat(b, isPadded ? parts.padding : parts.init);
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
    Value begin = b.add(windows.plane, b.mul(place, width));
    auto add = [&](IndexBuilder &b, const RowLoader::Load &load, Value sum) {
      Value value = load(b, begin);
      if (isInside)
        value = arith::SelectOp::create(b, isInside, value, padding);
      return combine(b, value, sum);
    };
    if (windows.loads.empty())
      return b.reduce(b.index(0), b.index(parts.columns.size), 1, carried,
                      [&](IndexBuilder &b, Value j, ValueRange carried) {
                        return SmallVector<Value>{
                            add(b, prepare(b, windows, j), carried.front())};
                      });
    Value sum = carried.front();
    for (const RowLoader::Load &load : windows.loads)
      sum = add(b, load, sum);
    return SmallVector<Value>{sum};
  };
  Value init = extend(b, splat(b, parts.init), parts.sumType);
  Value sums =
      b.reduce(b.index(0), b.index(parts.rows.size), 1, init, addRow).front();
  if (vectorType.getElementType() != parts.sumType)
    return arith::TruncFOp::create(b, vectorType, sums);
  return sums;
}

void PoolLoops::emit(IndexBuilder &b, func::FuncOp kernel,
                     ValueRange arguments) {
  // The rows of a task, and the tasks that are worth a thread.
  constexpr int64_t kRows = 8, kGrain = 2;
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
  Value planes = b.mul(getDim(b, output, 0), channels);
  Value blocks = b.ceilDiv(outHeight, b.index(kRows));
  b.parallel(b.mul(planes, blocks), kGrain, [&](IndexBuilder &b, Value task) {
    Value plane = b.floorDiv(task, blocks);
    Value top = b.mul(b.rem(task, blocks), kRows);
    Value bottom = b.min(b.add(top, kRows), outHeight);
    b.loop(zero, outWidth, parts.lanes, [&](IndexBuilder &b, Value x) {
      Windows windows = prepareWindows(b, b.mul(plane, planeSize), x);
      Value mask = makeLaneMask(b, parts.lanes, zero, b.sub(outWidth, x));
      b.loop(top, bottom, 1, [&](IndexBuilder &b, Value row) {
        Value indices[] = {b.floorDiv(plane, channels), b.rem(plane, channels),
                           row, x};
        parts.epilogue.finish(b, reduceWindows(b, windows, row), indices, mask);
      });
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
