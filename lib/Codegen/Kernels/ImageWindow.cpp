//===- ImageWindow.cpp - Sliding windows of images --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImageWindow.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Whether a map takes these loops, group after group.
template <typename... Groups>
static bool takes(AffineMap map, const Groups &...groups) {
  SmallVector<unsigned> loops;
  (llvm::append_range(loops, groups), ...);
  return map == AffineMap::getMultiDimMapWithTargets(map.getNumDims(), loops,
                                                     map.getContext());
}

std::optional<linalg::ConvolutionDimensions>
mlir::relax::matchWindows(linalg::LinalgOp op, Window &rows, Window &columns) {
  FailureOr<linalg::ConvolutionDimensions> dims =
      linalg::inferConvolutionDims(op);
  if (failed(dims) || dims->outputImage.size() != 2 ||
      dims->filterLoop.size() != 2)
    return std::nullopt;
  const auto &[batch, pixel, outChannel, element, inChannel, group, strides,
               dilations] = *dims;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext());
  unsigned rank = maps[0].getNumResults();
  if (!takes(identity, batch, group, outChannel, pixel, inChannel, element) ||
      !takes(maps[0].getSliceMap(0, rank - 2), batch, group, inChannel) ||
      !takes(maps[1], group, outChannel, inChannel, element) ||
      !takes(maps[2], batch, group, outChannel, pixel))
    return std::nullopt;
  ArrayRef<int64_t> sizes =
      cast<ShapedType>(op->getOperand(1).getType()).getShape().take_back(2);
  Window *windows[] = {&rows, &columns};
  for (unsigned i : {0, 1}) {
    AffineExpr expr = maps[0].getResult(rank - 2 + i);
    if (!expr.isFunctionOfDim(pixel[i]) || !expr.isFunctionOfDim(element[i]) ||
        sizes[i] <= 0 || strides[i] <= 0 || dilations[i] <= 0)
      return std::nullopt;
    *windows[i] = {sizes[i], strides[i], dilations[i]};
  }
  return *dims;
}

TypedAttr mlir::relax::getFillValue(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  TypedAttr value;
  if (!fill || !matchPattern(fill.getInputs().front(), m_Constant(&value)))
    return {};
  return value;
}

Value mlir::relax::matchPadding(Value data, Window &rows, Window &columns,
                                TypedAttr &value) {
  auto insert = data.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || insert.getSourceType().getRank() != 4 ||
      !insert.hasUnitStride())
    return {};
  TypedAttr fill = getFillValue(insert.getDest());
  ArrayRef<int64_t> offsets = insert.getStaticOffsets();
  if (!fill || offsets.size() != 4 || offsets[0] != 0 || offsets[1] != 0 ||
      ShapedType::isDynamicShape(offsets) || offsets[2] < 0 || offsets[3] < 0)
    return {};
  auto copy = insert.getSource().getDefiningOp<linalg::LinalgOp>();
  if (!copy || !linalg::isaCopyOpInterface(copy))
    return {};
  rows.padding = offsets[2];
  columns.padding = offsets[3];
  value = fill;
  return copy.getDpsInputOperand(0)->get();
}

//===----------------------------------------------------------------------===//
// Vectors of a row
//===----------------------------------------------------------------------===//

Value mlir::relax::makeLaneMask(IndexBuilder &b, int64_t lanes, Value begin,
                                Value end) {
  auto type = VectorType::get(lanes, b.getI1Type());
  Value to = vector::CreateMaskOp::create(b, type, ValueRange(end));
  if (isConstantIntValue(begin, 0))
    return to;
  Value before = vector::CreateMaskOp::create(b, type, ValueRange(begin));
  Value all = arith::ConstantOp::create(b, DenseElementsAttr::get(type, true));
  return arith::AndIOp::create(b, to, arith::XOrIOp::create(b, before, all));
}

Value RowLoader::load(IndexBuilder &b, Value offset, Value mask) const {
  return vector::MaskedLoadOp::create(b, getType(), base, offset, mask,
                                      padding);
}

/// Loads of lanes `before` to `end`, which are twice as many as a vector has.
RowLoader::Halves RowLoader::prepareHalves(IndexBuilder &b, Value before,
                                           Value end) const {
  int64_t lanes = getType().getNumElements();
  Value size = b.index(lanes);
  Value low = makeLaneMask(b, lanes, before, end);
  Value high = makeLaneMask(b, lanes, b.sub(before, size), b.sub(end, size));
  return [=, self = *this](IndexBuilder &b, Value offset) {
    return std::array{self.load(b, offset, low),
                      self.load(b, b.add(offset, lanes), high)};
  };
}

RowLoader::Load RowLoader::prepare(IndexBuilder &b, Value first, Value count,
                                   Value isInside) const {
  int64_t lanes = getType().getNumElements();
  Value zero = b.index(0);
  Value before = b.max(b.sub(zero, first), zero);
  Value room = b.max(b.sub(width, first), zero);
  if (isInside)
    room = b.createOrFold<arith::SelectOp>(isInside, room, zero);
  if (stride == 1) {
    Value mask = makeLaneMask(b, lanes, before, b.min(room, count));
    return [=, self = *this](IndexBuilder &b, Value row) {
      return self.load(b, b.add(row, first), mask);
    };
  }
  if (stride == 2) {
    // Every other element of two vectors.
    Halves halves = prepareHalves(
        b, before, b.min(room, b.sub(b.mul(count, 2), b.index(1))));
    SmallVector<int64_t> even;
    for (int64_t i = 0; i < lanes; ++i)
      even.push_back(2 * i);
    return [=](IndexBuilder &b, Value row) -> Value {
      auto [lower, upper] = halves(b, b.add(row, first));
      return vector::ShuffleOp::create(b, lower, upper, even);
    };
  }
  Value step = b.index(stride);
  Value mask = makeLaneMask(b, lanes, b.ceilDiv(before, step),
                            b.min(count, b.ceilDiv(room, step)));
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < lanes; ++i)
    places.push_back(i * stride);
  auto type = VectorType::get(lanes, b.getI64Type());
  Value indices =
      arith::ConstantOp::create(b, DenseIntElementsAttr::get(type, places));
  return [=, self = *this](IndexBuilder &b, Value row) -> Value {
    return vector::GatherOp::create(b, self.getType(), self.base,
                                    ValueRange(b.add(row, first)), indices,
                                    mask, self.padding);
  };
}

RowLoader::Pairs RowLoader::preparePairs(IndexBuilder &b, Value first,
                                         Value count) const {
  assert(stride == 2 && "pairs of columns");
  int64_t lanes = getType().getNumElements();
  Value zero = b.index(0);
  Halves halves =
      prepareHalves(b, b.max(b.sub(zero, first), zero),
                    b.min(b.max(b.sub(width, first), zero), b.mul(count, 2)));
  // Instructions of AVX take elements from both vectors within 128 bits.
  constexpr int64_t kBlock = 4, kBlocks = 2;
  bool hasBlocks = lanes == kBlock * kBlocks &&
                   getType().getElementType().getIntOrFloatBitWidth() == 32;
  SmallVector<int64_t> even, odd, places;
  for (int64_t i = 0; i < lanes; ++i) {
    int64_t half = i % kBlock / kBlocks, block = i / kBlock;
    int64_t place =
        hasBlocks ? half * kBlock + block * kBlocks + i % kBlocks : i;
    even.push_back(2 * place);
    odd.push_back(2 * place + 1);
    if (hasBlocks)
      places.push_back(place); // pairs of lanes change places
  }
  auto load = [=](IndexBuilder &b, Value row) {
    auto [lower, upper] = halves(b, b.add(row, first));
    return std::array<Value, 2>{
        vector::ShuffleOp::create(b, lower, upper, even),
        vector::ShuffleOp::create(b, lower, upper, odd)};
  };
  return {load, places};
}
