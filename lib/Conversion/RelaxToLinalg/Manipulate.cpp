//===- Manipulate.cpp - Kernels of operators that move elements -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here computes with elements, so every data type is supported. Inputs
// are viewed in another shape or as slices, and copied into the output once.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The same elements in another shape
//===----------------------------------------------------------------------===//

template <typename OpTy>
static KernelResult buildReshape(KernelBuilder &b, OpTy, ValueRange inputs,
                                 ValueRange outputs) {
  return one(b.copyReshaped(inputs[0], outputs[0]));
}

/// The number of elements stays the same.
static DimPairs checkReshape(ReshapeOp op, Type result) {
  MLIRContext *context = op.getContext();
  return {{PrimExprAttr::getProduct(context, tensorType(op.getX()).getDims()),
           PrimExprAttr::getProduct(
               context, cast<TensorStructInfoType>(result).getDims())}};
}

/// The dimensions that go are 1.
static DimPairs checkSqueeze(SqueezeOp op, Type) {
  TensorStructInfoType x = tensorType(op.getX());
  PrimExprAttr one = PrimExprAttr::getInt(op.getContext(), 1);
  DimPairs pairs;
  if (op.getAxis())
    for (int64_t axis : getAxes(*op.getAxis(), x.getNdim()))
      pairs.emplace_back(x.getDims()[axis], one);
  return pairs;
}

//===----------------------------------------------------------------------===//
// Broadcast and permutation
//===----------------------------------------------------------------------===//

static KernelResult buildBroadcastTo(KernelBuilder &b, BroadcastToOp,
                                     ValueRange inputs, ValueRange outputs) {
  return one(b.copy(inputs[0], outputs[0]));
}

/// Only dimensions known to be 1 are repeated; the others are equal.
static DimPairs checkBroadcastTo(BroadcastToOp op, Type result) {
  ArrayRef<PrimExprAttr> from = tensorType(op.getX()).getDims();
  ArrayRef<PrimExprAttr> to = cast<TensorStructInfoType>(result).getDims();
  DimPairs pairs;
  for (auto [lhs, rhs] : llvm::zip(from, to.take_back(from.size())))
    if (lhs.getConstant() != 1)
      pairs.emplace_back(lhs, rhs);
  return pairs;
}

static KernelResult buildPermuteDims(KernelBuilder &b, PermuteDimsOp op,
                                     ValueRange inputs, ValueRange outputs) {
  int64_t rank = b.getRank(inputs[0]);
  SmallVector<int64_t> order =
      op.getAxes() ? getAxes(*op.getAxes(), rank)
                   : llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(rank)));
  // Dimension order[i] of the input is dimension i of the output.
  SmallVector<int64_t> loops(rank);
  for (auto [index, axis] : llvm::enumerate(order))
    loops[axis] = index;
  return one(b.generic(
      inputs, outputs[0], {b.map(rank, loops), b.identityMap(rank)}, {},
      [](ScalarBuilder &, ValueRange elements) { return elements[0]; }));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {
/// A slice of some length at some place of one axis.
struct Slice {
  Slice(KernelBuilder &b, ArrayRef<OpFoldResult> dims, int64_t axis,
        OpFoldResult offset)
      : offsets(dims.size(), b.getIndexAttr(0)), sizes(dims),
        strides(dims.size(), b.getIndexAttr(1)) {
    offsets[axis] = offset;
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

/// The offset after a part of a size; numbers are added at once.
static OpFoldResult advance(KernelBuilder &b, OpFoldResult offset,
                            OpFoldResult size) {
  std::optional<int64_t> start = getConstantIntValue(offset);
  std::optional<int64_t> length = getConstantIntValue(size);
  if (start && length)
    return b.getIndexAttr(*start + *length);
  if (start && *start == 0)
    return size;
  Location loc = b.getLoc();
  Value lhs = getValueOrCreateConstantIndexOp(b, loc, offset);
  Value rhs = getValueOrCreateConstantIndexOp(b, loc, size);
  return Value(arith::AddIOp::create(b, lhs, rhs));
}

/// Whether a tensor is known to have no elements: there is no slice of it, as a
/// slice must begin inside.
static bool isKnownEmpty(Value tensor) {
  return llvm::is_contained(KernelBuilder::getType(tensor).getShape(), 0);
}

static KernelResult buildConcat(KernelBuilder &b, ConcatOp op,
                                ValueRange inputs, ValueRange outputs) {
  Value result = outputs[0];
  int64_t axis = getAxis(op.getAxis(), b.getRank(result));
  OpFoldResult offset = b.getIndexAttr(0);
  for (Value input : inputs) {
    if (isKnownEmpty(input))
      continue;
    Slice slice(b, b.dims(input), axis, offset);
    Value old = tensor::ExtractSliceOp::create(
        b, b.getType(input), result, slice.offsets, slice.sizes, slice.strides);
    result = tensor::InsertSliceOp::create(b, b.copy(input, old), result,
                                           slice.offsets, slice.sizes,
                                           slice.strides);
    offset = advance(b, offset, b.dim(input, axis));
  }
  return one(result);
}

static KernelResult buildSplit(KernelBuilder &b, SplitOp op, ValueRange inputs,
                               ValueRange outputs) {
  int64_t axis = getAxis(op.getAxis(), b.getRank(inputs[0]));
  OpFoldResult offset = b.getIndexAttr(0);
  std::optional<ArrayRef<int64_t>> indices = op.getIndices();
  int64_t dim = b.getType(inputs[0]).getDimSize(axis);
  SmallVector<Value> results;
  for (auto [part, output] : llvm::enumerate(outputs)) {
    if (isKnownEmpty(output)) {
      results.push_back(output);
      continue;
    }
    // Indices of a constant dimension need not ascend.
    if (part > 0 && indices && !ShapedType::isDynamic(dim))
      offset =
          b.getIndexAttr(std::clamp<int64_t>((*indices)[part - 1], 0, dim));
    Slice slice(b, b.dims(output), axis, offset);
    Value elements = tensor::ExtractSliceOp::create(b, b.getType(output),
                                                    inputs[0], slice.offsets,
                                                    slice.sizes, slice.strides);
    results.push_back(b.copy(elements, output));
    offset = advance(b, offset, b.dim(output, axis));
  }
  return results;
}

/// The last index is no larger than the dimension: max(dim, index) == dim.
static DimPairs checkSplit(SplitOp op, Type) {
  std::optional<ArrayRef<int64_t>> indices = op.getIndices();
  if (!indices || indices->empty())
    return {};
  TensorStructInfoType x = tensorType(op.getX());
  PrimExprAttr dim = x.getDims()[getAxis(op.getAxis(), x.getNdim())];
  if (dim.getConstant())
    return {};
  PrimExprAttr last = PrimExprAttr::getInt(op.getContext(), indices->back());
  return {{PrimExprAttr::getCall(PrimExprKind::Max, {dim, last}), dim}};
}

//===----------------------------------------------------------------------===//
// strided_slice
//===----------------------------------------------------------------------===//

/// Where each slice begins, then the strides.
static SmallVector<PrimExprAttr> stridedSliceInts(StridedSliceOp op, Type) {
  TensorStructInfoType x = tensorType(op.getX());
  ArrayRef<PrimExprAttr> begins =
      shapeType(op.getBegin()).getValues().getDims();
  ArrayRef<PrimExprAttr> ends = shapeType(op.getEnd()).getValues().getDims();
  SmallVector<PrimExprAttr> strides(begins.size(),
                                    PrimExprAttr::getInt(op.getContext(), 1));
  if (op.getStrides())
    strides.assign(shapeType(op.getStrides()).getValues().getDims().begin(),
                   shapeType(op.getStrides()).getValues().getDims().end());
  SmallVector<PrimExprAttr> ints;
  for (auto [axis, begin, end, stride] : llvm::zip_equal(
           getAxes(op.getAxes(), x.getNdim()), begins, ends, strides))
    ints.push_back(
        sliceDim(x.getDims()[axis], begin, end, stride, op.getAssumeInbound())
            .begin);
  llvm::append_range(ints, strides);
  return ints;
}

/// With assume_inbound, indices are from 0 to the dimension, and in order.
static DimPairs checkStridedSlice(StridedSliceOp op, Type) {
  if (!op.getAssumeInbound())
    return {};
  TensorStructInfoType x = tensorType(op.getX());
  PrimExprAttr zero = PrimExprAttr::getInt(op.getContext(), 0);
  DimPairs pairs;
  for (auto [axis, begin, end] :
       llvm::zip_equal(getAxes(op.getAxes(), x.getNdim()),
                       shapeType(op.getBegin()).getValues().getDims(),
                       shapeType(op.getEnd()).getValues().getDims())) {
    pairs.emplace_back(PrimExprAttr::getCall(PrimExprKind::Min, {begin, zero}),
                       zero);
    pairs.emplace_back(PrimExprAttr::getCall(PrimExprKind::Max, {begin, end}),
                       end);
    PrimExprAttr dim = x.getDims()[axis];
    pairs.emplace_back(PrimExprAttr::getCall(PrimExprKind::Max, {end, dim}),
                       dim);
  }
  return pairs;
}

/// Whether a slice has few elements next to each other: vectors of those of
/// several rows are gathered.
static bool isNarrowSlice(RankedTensorType x, RankedTensorType slice) {
  constexpr int64_t kNarrow = 8;
  int64_t size = slice.getShape().back();
  return !ShapedType::isDynamic(size) && size < kNarrow &&
         size != x.getShape().back();
}

/// Where a slice begins, if nothing is left out between its elements and that
/// is known: consumers read them there.
static std::optional<SmallVector<OpFoldResult>>
findOffsets(KernelBuilder &b, int64_t rank, ArrayRef<int64_t> axes,
            ArrayRef<Value> begins, ArrayRef<Value> strides) {
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0));
  for (auto [axis, begin, stride] : llvm::zip_equal(axes, begins, strides)) {
    std::optional<int64_t> first = getConstantIntValue(begin);
    if (!first || *first < 0 || !isConstantIntValue(stride, 1))
      return std::nullopt;
    offsets[axis] = b.getIndexAttr(*first);
  }
  return offsets;
}

static KernelResult buildStridedSlice(KernelBuilder &b, StridedSliceOp op,
                                      ValueRange inputs, ValueRange outputs) {
  int64_t rank = b.getRank(inputs[0]);
  SmallVector<int64_t> axes = getAxes(op.getAxes(), rank);
  ArrayRef<Value> begins = b.getInts().take_front(axes.size());
  ArrayRef<Value> strides = b.getInts().take_back(axes.size());
  auto offsets = findOffsets(b, rank, axes, begins, strides);
  if (offsets && rank != 0 && !isKnownEmpty(outputs[0]) &&
      !isNarrowSlice(b.getType(inputs[0]), b.getType(outputs[0]))) {
    SmallVector<OpFoldResult> steps(rank, b.getIndexAttr(1));
    Value elements =
        tensor::ExtractSliceOp::create(b, b.getType(outputs[0]), inputs[0],
                                       *offsets, b.dims(outputs[0]), steps);
    return one(b.copy(elements, outputs[0]));
  }
  return one(b.fromIndices(
      outputs[0], [&](ScalarBuilder &s, ArrayRef<Value> indices) -> Value {
        SmallVector<Value> position(indices);
        for (auto [axis, begin, stride] :
             llvm::zip_equal(axes, begins, strides))
          position[axis] = s.add(begin, s.mul(position[axis], stride));
        return tensor::ExtractOp::create(s, inputs[0], position);
      }));
}

//===----------------------------------------------------------------------===//
// take
//===----------------------------------------------------------------------===//

/// An index of any integer type as one of the type `index`.
static Value toIndex(ScalarBuilder &b, Value index) {
  Type type = b.getIndexType();
  return b.isUnsigned() ? Value(arith::IndexCastUIOp::create(b, type, index))
                        : Value(arith::IndexCastOp::create(b, type, index));
}

/// An index of any integer type as one from 0 to `size` - 1, where `size` is
/// more than 0.
static Value boundIndex(ScalarBuilder &b, Value index, Value size, bool wraps) {
  // An unsigned integer of 64 bits may be beyond what is positive as an index.
  bool isUnsigned = b.isUnsigned();
  bool isLarge = isUnsigned && index.getType().getIntOrFloatBitWidth() == 64;
  ScalarBuilder s(b, b.getLoc(),
                  isLarge ? b.getIntegerType(64, /*isSigned=*/false)
                          : Type(b.getI64Type()));
  Type type = s.getIndexType();
  index = toIndex(b, index);
  if (wraps)
    return s.mod(index, size);
  if (!isUnsigned)
    index = s.max(index, s.constant(type, 0));
  std::optional<int64_t> known = getConstantIntValue(size);
  Value last =
      known ? s.constant(type, *known - 1) : s.sub(size, s.constant(type, 1));
  return s.min(index, last);
}

namespace {
/// Reads elements of `x` at an index along `axis`.
struct Gather {
  Value x, size;
  int64_t axis;
  StringRef mode;

  /// What stands for elements that `x` does not have.
  double getMissing() const { return mode == "nan" ? NAN : 0; }

  Value read(ScalarBuilder &s, SmallVector<Value> position, Value index) const {
    Value place = boundIndex(s, index, size, mode == "wrap");
    position[axis] = place;
    Value element = tensor::ExtractOp::create(s, x, position);
    if (mode != "nan")
      return element;
    // Only an index in range is not moved.
    Value isInside = arith::CmpIOp::create(s, arith::CmpIPredicate::eq, place,
                                           toIndex(s, index));
    return s.select(isInside, element, s.constant(element, NAN));
  }

  /// Reads nothing where `x` is empty along the axis.
  Value readGuarded(ScalarBuilder &s, ArrayRef<Value> position,
                    Value index) const {
    if (!KernelBuilder::getType(x).isDynamicDim(axis))
      return read(s, SmallVector<Value>(position), index);
    Value number = arith::IndexCastOp::create(s, s.getI64Type(), size);
    Value isEmpty = arith::CmpIOp::create(s, arith::CmpIPredicate::eq, number,
                                          s.constant(number, 0));
    Type type = KernelBuilder::getElementType(x);
    return buildIf(
        s, type, isEmpty, [&] { return s.constant(type, getMissing()); },
        [&] { return read(s, SmallVector<Value>(position), index); });
  }
};
} // namespace

static KernelResult buildTake(KernelBuilder &b, TakeOp op, ValueRange inputs,
                              ValueRange outputs) {
  Value x = inputs[0], indices = inputs[1], output = outputs[0];
  int64_t axis = getAxis(op.getAxis().value_or(0), b.getRank(x));
  Gather gather = {x, b.dimValue(x, axis), axis, op.getMode()};
  if (b.getType(x).getDimSize(axis) == 0)
    return one(
        b.fill(b.scalars().constant(b.getElementType(x), gather.getMissing()),
               output));
  int64_t loops = b.getRank(output), numIndices = b.getRank(indices);
  SmallVector<int64_t> indexLoops =
      llvm::to_vector(llvm::seq<int64_t>(axis, axis + numIndices));
  return one(b.generic(
      indices, output, {b.map(loops, indexLoops), b.identityMap(loops)}, {},
      [&](ScalarBuilder &s, ValueRange elements) {
        SmallVector<Value> position;
        for (int64_t i = 0; i < b.getRank(x); ++i) {
          int64_t loop = i < axis ? i : i + numIndices - 1;
          position.push_back(
              i == axis ? Value() : Value(linalg::IndexOp::create(s, loop)));
        }
        return gather.readGuarded(s, position, elements[0]);
      }));
}

void mlir::relax::populateManipulate(LegalizationTable &table) {
  table.add<ReshapeOp>(buildReshape<ReshapeOp>);
  table.add<FlattenOp>(buildReshape<FlattenOp>);
  table.add<ExpandDimsOp>(buildReshape<ExpandDimsOp>);
  table.add<SqueezeOp>(buildReshape<SqueezeOp>);
  table.add<BroadcastToOp>(buildBroadcastTo);
  table.add<PermuteDimsOp>(buildPermuteDims);
  table.add<ConcatOp>(buildConcat);
  table.add<SplitOp>(buildSplit);
  table.add<StridedSliceOp>(buildStridedSlice);
  table.addInts<StridedSliceOp>(stridedSliceInts);
  table.addChecks<StridedSliceOp>(checkStridedSlice);
  table.add<TakeOp>(buildTake);
  table.addChecks<ReshapeOp>(checkReshape);
  table.addChecks<SqueezeOp>(checkSqueeze);
  table.addChecks<BroadcastToOp>(checkBroadcastTo);
  table.addChecks<SplitOp>(checkSplit);
}
