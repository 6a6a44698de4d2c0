//===- Index.cpp - Kernels of operators that compute indices ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator that only moves elements computes the index of each one in the
// input. One that updates its input copies it first, then goes over the updates
// in their order, as indices may be the same.
//
//===----------------------------------------------------------------------===//

#include "Float8.h"
#include "Lines.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;
using Indices = ArrayRef<Value>;

static Value index(ScalarBuilder &s, int64_t value) {
  return arith::ConstantIndexOp::create(s, value);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static KernelResult buildFlip(KernelBuilder &b, FlipOp op, ValueRange inputs,
                              ValueRange outputs) {
  int64_t axis = getAxis(op.getAxis(), b.getRank(inputs[0]));
  Value size = b.dimValue(inputs[0], axis);
  return one(b.fromIndices(outputs[0], [&](S s, Indices indices) -> Value {
    SmallVector<Value> place(indices);
    place[axis] = s.sub(s.sub(size, index(s, 1)), place[axis]);
    return tensor::ExtractOp::create(s, inputs[0], place);
  }));
}

static KernelResult buildRepeat(KernelBuilder &b, RepeatOp op,
                                ValueRange inputs, ValueRange outputs) {
  int64_t repeats = op.getRepeats();
  if (repeats == 0)
    return one(outputs[0]);
  Value data = op.getAxis() ? inputs[0] : b.flatten(inputs[0]);
  int64_t axis = getAxis(op.getAxis().value_or(0), b.getRank(data));
  return one(b.fromIndices(outputs[0], [&](S s, Indices indices) -> Value {
    SmallVector<Value> place(indices);
    place[axis] = arith::DivUIOp::create(s, place[axis], index(s, repeats));
    return tensor::ExtractOp::create(s, data, place);
  }));
}

static KernelResult buildTile(KernelBuilder &b, TileOp, ValueRange inputs,
                              ValueRange outputs) {
  int64_t rank = b.getRank(inputs[0]);
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back(b.dimValue(inputs[0], i));
  return one(b.fromIndices(outputs[0], [&](S s, Indices indices) -> Value {
    SmallVector<Value> place;
    for (auto [i, size] : llvm::zip(indices.take_back(rank), sizes))
      place.push_back(arith::RemUIOp::create(s, i, size));
    return tensor::ExtractOp::create(s, inputs[0], place);
  }));
}

/// A tensor with one more dimension, of one element, at `axis`. A slice that
/// drops that dimension would not say which one of those with one element it
/// is.
static Value addUnitDim(KernelBuilder &b, Value x, int64_t axis,
                        ArrayRef<OpFoldResult> sizes) {
  RankedTensorType type = b.getType(x);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + axis, 1);
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    groups.push_back({dim < axis ? dim : dim + 1});
    if (dim == axis - 1)
      groups.back().push_back(axis);
  }
  if (axis == 0 && !groups.empty())
    groups.front().insert(groups.front().begin(), 0);
  return tensor::ExpandShapeOp::create(b, type.clone(shape), x, groups, sizes);
}

static KernelResult buildStack(KernelBuilder &b, StackOp op, ValueRange inputs,
                               ValueRange outputs) {
  Value result = outputs[0];
  int64_t rank = b.getRank(result), axis = getAxis(op.getAxis(), rank);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (llvm::is_contained(b.getType(input).getShape(), 0))
      return one(result);
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes = b.dims(input);
    sizes.insert(sizes.begin() + axis, b.getIndexAttr(1));
    offsets[axis] = b.getIndexAttr(i);
    Value part = addUnitDim(b, input, axis, sizes);
    Value old = tensor::ExtractSliceOp::create(b, b.getType(part), result,
                                               offsets, sizes, strides);
    result = tensor::InsertSliceOp::create(b, b.copy(part, old), result,
                                           offsets, sizes, strides);
  }
  return one(result);
}

static KernelResult buildMeshgrid(KernelBuilder &b, MeshgridOp op,
                                  ValueRange inputs, ValueRange outputs) {
  bool isSwapped = op.getIndexing() == "xy" && inputs.size() >= 2;
  int64_t rank = inputs.size();
  SmallVector<Value> results;
  for (auto [i, input, output] : llvm::enumerate(inputs, outputs)) {
    int64_t axis = isSwapped && i < 2 ? 1 - i : i;
    AffineMap map = b.getRank(input) == 0 ? b.map(rank, {}) : b.map(rank, axis);
    results.push_back(b.generic(input, output, {map, b.identityMap(rank)}, {},
                                [](S, V e) { return e[0]; }));
  }
  return results;
}

static DimPairs checkStack(StackOp op, Type) {
  ArrayRef<PrimExprAttr> first = tensorType(op.getTensors().front()).getDims();
  DimPairs pairs;
  for (Value other : op.getTensors().drop_front())
    for (auto [dim, wanted] : llvm::zip(tensorType(other).getDims(), first))
      pairs.emplace_back(dim, wanted);
  return pairs;
}

/// An index of any integer type, as one that may be negative.
static Value asIndex(ScalarBuilder &s, Value number, Type dtype) {
  if (dtype.isUnsignedInteger(64)) // beyond any dimension, not negative
    number = arith::MinUIOp::create(
        s, number,
        arith::ConstantOp::create(
            s, s.getI64IntegerAttr(std::numeric_limits<int64_t>::max())));
  return arith::IndexCastOp::create(s, s.getIndexType(),
                                    s.cast(number, dtype, s.getI64Type()));
}

static KernelResult buildReverseSequence(KernelBuilder &b, ReverseSequenceOp op,
                                         ValueRange inputs,
                                         ValueRange outputs) {
  Value data = inputs[0];
  int64_t axis = getAxis(op.getSeqAxis(), b.getRank(data));
  int64_t batch = getAxis(op.getBatchAxis(), b.getRank(data));
  Type dtype = tensorType(op.getSeqLengths()).getDtype();
  Value size = b.dimValue(data, axis);
  return one(b.fromIndices(outputs[0], [&](S s, Indices loops) -> Value {
    Value number = tensor::ExtractOp::create(s, inputs[1], loops[batch]);
    Value length = arith::MinSIOp::create(s, asIndex(s, number, dtype), size);
    Value isMoved = arith::CmpIOp::create(s, arith::CmpIPredicate::slt,
                                          loops[axis], length);
    SmallVector<Value> place(loops);
    place[axis] = s.select(
        isMoved, s.sub(s.sub(length, index(s, 1)), loops[axis]), loops[axis]);
    return tensor::ExtractOp::create(s, data, place);
  }));
}

static DimPairs checkReverseSequence(ReverseSequenceOp op, Type) {
  TensorStructInfoType data = tensorType(op.getData());
  return {{tensorType(op.getSeqLengths()).getDims().front(),
           data.getDims()[getAxis(op.getBatchAxis(), data.getNdim())]}};
}

static KernelResult buildOneHot(KernelBuilder &b, OneHotOp op,
                                ValueRange inputs, ValueRange outputs) {
  int64_t loops = b.getRank(outputs[0]), axis = getAxis(op.getAxis(), loops);
  Type dtype = tensorType(op.getIndices()).getDtype();
  return one(b.generic(
      inputs[0], outputs[0], {b.dropMap(loops, axis), b.identityMap(loops)}, {},
      [&](S s, V e) -> Value {
        Value isOn = arith::CmpIOp::create(s, arith::CmpIPredicate::eq,
                                           asIndex(s, e[0], dtype),
                                           linalg::IndexOp::create(s, axis));
        return s.select(isOn, inputs[1], inputs[2]);
      }));
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// A negative index counts from the end of a dimension.
static Value fromEnd(ScalarBuilder &s, Value place, Value size) {
  Value isNegative =
      arith::CmpIOp::create(s, arith::CmpIPredicate::slt, place, index(s, 0));
  return s.select(isNegative, s.add(place, size), place);
}

/// The nearest index in range, of a dimension that is not empty.
static Value nearest(ScalarBuilder &s, Value place, Value size) {
  Value last = s.sub(size, index(s, 1));
  Value low = arith::MaxSIOp::create(s, fromEnd(s, place, size), index(s, 0));
  return arith::MinSIOp::create(s, low, last);
}

/// The element of `data` at a place, or 0 where a dimension in `axes` that may
/// be empty is.
static Value extractGuarded(ScalarBuilder &s, Value data, Indices place,
                            ArrayRef<int64_t> axes, Indices sizes) {
  Value isEmpty;
  for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
    if (!KernelBuilder::getType(data).isDynamicDim(axis))
      continue;
    Value next =
        arith::CmpIOp::create(s, arith::CmpIPredicate::eq, size, index(s, 0));
    isEmpty = isEmpty ? Value(arith::OrIOp::create(s, isEmpty, next)) : next;
  }
  if (!isEmpty)
    return tensor::ExtractOp::create(s, data, place);
  Type type = KernelBuilder::getElementType(data);
  auto conditional = scf::IfOp::create(s, type, isEmpty, true, true);
  OpBuilder::InsertionGuard guard(s);
  s.setInsertionPointToStart(conditional.thenBlock());
  scf::YieldOp::create(s, s.constant(type, 0));
  s.setInsertionPointToStart(conditional.elseBlock());
  Value element = tensor::ExtractOp::create(s, data, place);
  scf::YieldOp::create(s, element);
  return conditional.getResult(0);
}

/// Whether one of these dimensions is known to be empty.
static bool isKnownEmpty(Value tensor, ArrayRef<int64_t> axes) {
  return llvm::any_of(axes, [&](int64_t axis) {
    return KernelBuilder::getType(tensor).getDimSize(axis) == 0;
  });
}

static KernelResult fillZero(KernelBuilder &b, Value output) {
  Value zero = b.scalars().constant(b.getElementType(output), 0);
  return one(b.fill(zero, output));
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

/// The index in a dimension of `size` elements, which are there again and again
/// before it and behind it, in turns forwards and backwards for "reflect".
static Value wrapAround(ScalarBuilder &s, Value place, Value size,
                        bool isReflected) {
  Value zero = index(s, 0), last = s.sub(size, index(s, 1));
  Value period = isReflected ? s.add(last, last) : size;
  period = arith::MaxSIOp::create(s, period, index(s, 1));
  Value rest = arith::RemSIOp::create(s, place, period);
  Value isNegative =
      arith::CmpIOp::create(s, arith::CmpIPredicate::slt, rest, zero);
  rest = s.select(isNegative, s.add(rest, period), rest);
  if (!isReflected)
    return rest;
  return arith::MinSIOp::create(s, rest, s.sub(period, rest));
}

static KernelResult buildPad(KernelBuilder &b, PadOp op, ValueRange inputs,
                             ValueRange outputs) {
  Value data = inputs[0];
  int64_t rank = b.getRank(data);
  ArrayRef<int64_t> widths = op.getPadWidth();
  StringRef mode = op.getPadMode();
  if (mode == "constant") {
    SmallVector<OpFoldResult> offsets;
    for (int64_t axis = 0; axis < rank; ++axis)
      offsets.push_back(b.getIndexAttr(widths[2 * axis]));
    Value padding = b.scalars().constant(b.getElementType(data),
                                         op.getPadValue().convertToDouble());
    return one(b.insert(data, b.fill(padding, outputs[0]), offsets));
  }
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (isKnownEmpty(data, axes))
    return fillZero(b, outputs[0]);
  SmallVector<Value> sizes = llvm::map_to_vector(
      axes, [&](int64_t axis) { return b.dimValue(data, axis); });
  return one(b.fromIndices(outputs[0], [&](S s, Indices loops) -> Value {
    SmallVector<Value> place;
    for (auto [axis, loop] : llvm::enumerate(loops)) {
      int64_t before = widths[2 * axis];
      if (before == 0 && widths[2 * axis + 1] == 0) {
        place.push_back(loop);
        continue;
      }
      Value at = s.sub(loop, index(s, before));
      Value last = s.sub(sizes[axis], index(s, 1));
      place.push_back(
          mode == "replicate"
              ? Value(arith::MinSIOp::create(
                    s, arith::MaxSIOp::create(s, at, index(s, 0)), last))
              : wrapAround(s, at, sizes[axis], mode == "reflect"));
    }
    return extractGuarded(s, data, place, axes, sizes);
  }));
}

//===----------------------------------------------------------------------===//
// pixel_shuffle
//===----------------------------------------------------------------------===//

static KernelResult buildPixelShuffle(KernelBuilder &b, PixelShuffleOp op,
                                      ValueRange inputs, ValueRange outputs) {
  int64_t factor = op.getUpscaleFactor(), first = b.getRank(inputs[0]) - 3;
  return one(b.fromIndices(outputs[0], [&](S s, Indices loops) -> Value {
    Value by = index(s, factor);
    SmallVector<Value> place(loops);
    Value channel = place[first];
    for (int64_t axis : {first + 1, first + 2}) {
      Value rest = arith::RemUIOp::create(s, loops[axis], by);
      channel = s.add(s.mul(channel, by), rest);
      place[axis] = arith::DivUIOp::create(s, loops[axis], by);
    }
    place[first] = channel;
    return tensor::ExtractOp::create(s, inputs[0], place);
  }));
}

/// The channels are a multiple: (c // r2) * r2 == c.
static DimPairs checkPixelShuffle(PixelShuffleOp op, Type) {
  PrimExprAttr channels = *(tensorType(op.getData()).getDims().end() - 3);
  int64_t factor = op.getUpscaleFactor();
  PrimExprAttr square = PrimExprAttr::getInt(op.getContext(), factor * factor);
  return {{PrimExprAttr::getMul(PrimExprAttr::getFloorDiv(channels, square),
                                square),
           channels}};
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

static KernelResult buildGatherElements(KernelBuilder &b, GatherElementsOp op,
                                        ValueRange inputs, ValueRange outputs) {
  Value data = inputs[0];
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  Type dtype = tensorType(op.getIndices()).getDtype();
  if (isKnownEmpty(data, axis))
    return fillZero(b, outputs[0]);
  Value size = b.dimValue(data, axis);
  return one(b.elementwise(inputs[1], outputs[0], [&](S s, V e) -> Value {
    SmallVector<Value> place;
    for (int64_t i = 0; i < b.getRank(data); ++i)
      place.push_back(linalg::IndexOp::create(s, i));
    place[axis] = nearest(s, asIndex(s, e[0], dtype), size);
    return extractGuarded(s, data, place, axis, size);
  }));
}

/// Dimensions of indices other than the axis are not larger: max(d, i) == d.
static DimPairs checkElementIndices(Value data, Value indices, int64_t axis) {
  TensorStructInfoType type = tensorType(data);
  axis = getAxis(axis, type.getNdim());
  DimPairs pairs;
  for (auto [i, dims] : llvm::enumerate(
           llvm::zip(type.getDims(), tensorType(indices).getDims()))) {
    auto [dim, count] = dims;
    if (static_cast<int64_t>(i) != axis)
      pairs.emplace_back(PrimExprAttr::getCall(PrimExprKind::Max, {dim, count}),
                         dim);
  }
  return pairs;
}

static KernelResult buildGatherND(KernelBuilder &b, GatherNDOp op,
                                  ValueRange inputs, ValueRange outputs) {
  Value data = inputs[0], indices = inputs[1];
  int64_t batch = op.getBatchDims(), numIndices = b.getRank(indices) - 1;
  int64_t length = b.getType(indices).getDimSize(numIndices);
  Type dtype = tensorType(op.getIndices()).getDtype();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq(batch, batch + length));
  if (isKnownEmpty(data, axes))
    return fillZero(b, outputs[0]);
  SmallVector<Value> sizes = llvm::map_to_vector(
      axes, [&](int64_t axis) { return b.dimValue(data, axis); });
  return one(b.fromIndices(outputs[0], [&](S s, Indices loops) -> Value {
    SmallVector<Value> at(loops.take_front(numIndices));
    SmallVector<Value> place(loops.take_front(batch));
    at.push_back(Value());
    for (int64_t i = 0; i < length; ++i) {
      at.back() = index(s, i);
      Value number = tensor::ExtractOp::create(s, indices, at);
      place.push_back(nearest(s, asIndex(s, number, dtype), sizes[i]));
    }
    llvm::append_range(place, loops.drop_front(numIndices));
    return extractGuarded(s, data, place, axes, sizes);
  }));
}

static DimPairs checkGatherND(GatherNDOp op, Type) {
  DimPairs pairs;
  for (int64_t i = 0; i < static_cast<int64_t>(op.getBatchDims()); ++i)
    pairs.emplace_back(tensorType(op.getIndices()).getDims()[i],
                       tensorType(op.getData()).getDims()[i]);
  return pairs;
}

static KernelResult buildIndexTensor(KernelBuilder &b, IndexTensorOp op,
                                     ValueRange inputs, ValueRange outputs) {
  Value data = inputs.front();
  ValueRange indices = inputs.drop_front();
  int64_t count = indices.size();
  int64_t rank = b.getRank(outputs[0]) - (b.getRank(data) - count);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (isKnownEmpty(data, axes))
    return fillZero(b, outputs[0]);
  SmallVector<Value> sizes = llvm::map_to_vector(
      axes, [&](int64_t axis) { return b.dimValue(data, axis); });
  return one(b.fromIndices(outputs[0], [&](S s, Indices loops) -> Value {
    SmallVector<Value> place;
    for (auto [tensor, operand, size] :
         llvm::zip_equal(indices, op.getIndices(), sizes)) {
      // Aligned at the last dimension; one of size 1 is there again and again.
      SmallVector<Value> at;
      ArrayRef<int64_t> shape = b.getType(tensor).getShape();
      for (auto [loop, dim] :
           llvm::zip(loops.take_front(rank).take_back(shape.size()), shape))
        at.push_back(dim == 1 ? index(s, 0) : loop);
      Value number = tensor::ExtractOp::create(s, tensor, at);
      Type dtype = tensorType(operand).getDtype();
      place.push_back(nearest(s, asIndex(s, number, dtype), size));
    }
    llvm::append_range(place, loops.drop_front(rank));
    return extractGuarded(s, data, place, axes, sizes);
  }));
}

/// Dimensions of indices are those of the result, or 1.
static DimPairs checkIndexTensor(IndexTensorOp op, Type type) {
  TensorStructInfoType data = tensorType(op.getData());
  ArrayRef<PrimExprAttr> places =
      cast<TensorStructInfoType>(type).getDims().drop_back(
          data.getNdim() - op.getIndices().size());
  DimPairs pairs;
  for (Value indices : op.getIndices()) {
    ArrayRef<PrimExprAttr> dims = tensorType(indices).getDims();
    for (auto [dim, wanted] : llvm::zip(dims, places.take_back(dims.size())))
      if (dim.getConstant() != 1)
        pairs.emplace_back(dim, wanted);
  }
  return pairs;
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// Combines an element with an update.
static Value combine(ScalarBuilder &s, StringRef reduction, Value old,
                     Value update, Type type) {
  if (reduction == "update")
    return update;
  Value lhs = s.widen(old), rhs = s.widen(update);
  Value result = reduction == "mul"   ? s.mul(lhs, rhs)
                 : reduction == "min" ? s.min(lhs, rhs)
                 : reduction == "max" ? s.max(lhs, rhs)
                                      : s.add(lhs, rhs);
  return s.narrow(result, type);
}

namespace {
/// Goes over the elements of `updates`, in row-major order. Threads may share
/// the columns where they stay what they are: then blocks of them are
/// outermost.
///
/// Many updates of a vector are divided into parts, which threads share. Each
/// part has a vector of its own, and these are added to the tensor in their
/// order. Sizes alone say how many there are, so the number of threads changes
/// no bit of a sum of floats.
struct ScatterBuilder {
  KernelBuilder &b;
  Value updates;
  StringRef reduction;
  /// After so many of the indices of an update its place is known, but for the
  /// other indices, with which the place ends.
  int64_t depth;
  /// The place of an update in the tensor, from these indices; adds to `checks`
  /// pairs of an index and a size that it must be less than.
  llvm::function_ref<SmallVector<Value>(
      ScalarBuilder &, Indices,
      SmallVectorImpl<std::pair<Value, Value>> &checks)>
      getPlace;

  /// Whether the last index of an update is the last one of its place, too.
  bool keepsColumns;
  /// The columns that are updated now: `first`, if there is one, and a number
  /// in [begin, end).
  Value firstColumn = {}, beginColumn = {}, endColumn = {};
  /// The part whose vector is updated now, if there are parts.
  Value part = {};

  Value build(Value tensor);

private:
  using Body = llvm::function_ref<Value(Value)>;

  /// Columns of a block.
  static constexpr int64_t kColumns = 128;
  /// A part has so many updates at least, and as many for each element of the
  /// vector that it takes.
  static constexpr int64_t kPartUpdates = 1 << 14, kUpdatesOfElement = 16,
                           kMostParts = 64;

  /// Whether there may be updates for several parts.
  bool hasParts(Value tensor);
  /// Updates a vector by parts where there are several.
  Value buildParts(Value tensor);
  /// A matrix whose rows are the vectors of so many parts.
  Value updateParts(Value tensor, Value count);

  /// Updates columns `first` + [begin, end).
  Value buildColumns(Value tensor, Value first, Value begin, Value end);

  /// Loops over the indices up to the depth, or the rest of them.
  Value overUpdates(Value tensor, SmallVector<Value> &indices, Body body);
  Value overRest(Value tensor, SmallVector<Value> &indices,
                 SmallVector<Value> &place);
  Value buildLoop(Value tensor, int64_t axis,
                  llvm::function_ref<Value(Value, Value)> body);
  /// Updates what is inside of the tensor.
  Value updateInside(Value tensor, SmallVector<Value> &indices);
};
} // namespace

Value ScatterBuilder::buildColumns(Value tensor, Value first, Value begin,
                                   Value end) {
  firstColumn = first;
  beginColumn = begin;
  endColumn = end;
  SmallVector<Value> indices;
  return overUpdates(tensor, indices, [&](Value tensor) {
    return updateInside(tensor, indices);
  });
}

Value ScatterBuilder::build(Value tensor) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  int64_t rank = b.getRank(updates);
  Value size = rank == 0 ? Value() : b.dimValue(updates, rank - 1);
  if (hasParts(tensor))
    return buildParts(tensor);
  if (!keepsColumns || b.isOnDevice())
    return buildColumns(tensor, Value(), zero, size);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value width = arith::ConstantIndexOp::create(b, kColumns);
  Value blocks = arith::DivUIOp::create(b, size, width);
  auto loop = scf::ForOp::create(b, zero, blocks, one, tensor);
  RelaxDialect::LoopAttrHelper(b.getContext())
      .setAttr(loop, b.getStringAttr("parallel"));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value first = arith::MulIOp::create(b, loop.getInductionVar(), width);
    Value updated = buildColumns(loop.getRegionIterArg(0), first, zero, width);
    scf::YieldOp::create(b, updated);
  }
  Value rest = arith::MulIOp::create(b, blocks, width);
  return buildColumns(loop.getResult(0), Value(), rest, size);
}

bool ScatterBuilder::hasParts(Value tensor) {
  Type element = b.getElementType(tensor);
  bool isWhole = element.getIntOrFloatBitWidth() >= 8 && !isFloat8(element);
  // Products may leave the range of floats in another order.
  if (b.isOnDevice() || !isWhole || b.getRank(tensor) != 1 ||
      b.getRank(updates) != 1 || depth != 1 || reduction == "update" ||
      reduction == "mul")
    return false;
  int64_t count = b.getType(updates).getDimSize(0),
          size = b.getType(tensor).getDimSize(0);
  int64_t least = kPartUpdates;
  if (!ShapedType::isDynamic(size))
    least = std::max(least, kUpdatesOfElement * size);
  return ShapedType::isDynamic(count) || count >= 2 * least;
}

Value ScatterBuilder::updateParts(Value tensor, Value count) {
  ScalarBuilder s = b.scalars();
  Type type = b.getElementType(tensor);
  // A zero that is added to -0 is negative, too, so it changes nothing.
  Value start = reduction == "min"   ? s.identity(Identity::Highest, type)
                : reduction == "max" ? s.identity(Identity::Lowest, type)
                                     : s.constant(type, -0.0);
  Value vectors = b.fill(start, b.empty({count, b.dim(tensor, 0)}, type));
  Value size = b.dimValue(updates, 0);
  Value length = arith::CeilDivUIOp::create(b, size, count);
  Carried updated =
      buildPartLoop(b, size, count, length, vectors,
                    [&](Value at, Value begin, Value end, ValueRange carried) {
                      part = at;
                      Value vectors =
                          buildColumns(carried[0], Value(), begin, end);
                      part = Value();
                      return Carried{vectors};
                    });
  makeParallel(b, updated[0].getDefiningOp());
  return updated[0];
}

Value ScatterBuilder::buildParts(Value tensor) {
  ScalarBuilder s = b.scalars();
  Value zero = index(s, 0), size = b.dimValue(updates, 0);
  Value least =
      arith::MaxUIOp::create(b,
                             arith::MulIOp::create(b, b.dimValue(tensor, 0),
                                                   index(s, kUpdatesOfElement)),
                             index(s, kPartUpdates));
  Value count = arith::MinUIOp::create(
      b, arith::DivUIOp::create(b, size, least), index(s, kMostParts));
  Value hasSeveral =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, count, index(s, 1));
  auto conditional =
      scf::IfOp::create(b, tensor.getType(), hasSeveral, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(conditional.thenBlock());
  Type type = b.getElementType(tensor);
  SmallVector<int64_t> parts = {0};
  Value sum =
      b.compute(updateParts(tensor, count), tensor,
                {b.identityMap(2), b.dropMap(2, parts)}, parts, [&](S s, V e) {
                  return combine(s, reduction, e[1], e[0], type);
                });
  scf::YieldOp::create(b, sum);
  b.setInsertionPointToStart(conditional.elseBlock());
  scf::YieldOp::create(b, buildColumns(tensor, Value(), zero, size));
  return conditional.getResult(0);
}

Value ScatterBuilder::buildLoop(Value tensor, int64_t axis,
                                llvm::function_ref<Value(Value, Value)> body) {
  bool isLast = axis + 1 == b.getRank(updates);
  Value begin = isLast ? beginColumn : arith::ConstantIndexOp::create(b, 0);
  Value end = isLast ? endColumn : b.dimValue(updates, axis);
  Value step = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, step, tensor);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  if (isLast && firstColumn)
    index = arith::AddIOp::create(b, firstColumn, index);
  Value result = body(index, loop.getRegionIterArg(0));
  scf::YieldOp::create(b, result);
  return loop.getResult(0);
}

Value ScatterBuilder::overUpdates(Value tensor, SmallVector<Value> &indices,
                                  Body body) {
  if (static_cast<int64_t>(indices.size()) == depth)
    return body(tensor);
  return buildLoop(tensor, indices.size(), [&](Value index, Value tensor) {
    indices.push_back(index);
    Value result = overUpdates(tensor, indices, body);
    indices.pop_back();
    return result;
  });
}

Value ScatterBuilder::overRest(Value tensor, SmallVector<Value> &indices,
                               SmallVector<Value> &place) {
  if (static_cast<int64_t>(indices.size()) < b.getRank(updates))
    return buildLoop(tensor, indices.size(), [&](Value index, Value tensor) {
      indices.push_back(index);
      place.push_back(index);
      Value result = overRest(tensor, indices, place);
      indices.pop_back();
      place.pop_back();
      return result;
    });
  ScalarBuilder s = b.scalars();
  Value old = tensor::ExtractOp::create(s, tensor, place);
  Value next = tensor::ExtractOp::create(s, updates, indices);
  Value value = combine(s, reduction, old, next, b.getElementType(tensor));
  return tensor::InsertOp::create(s, value, tensor, place);
}

Value ScatterBuilder::updateInside(Value tensor, SmallVector<Value> &indices) {
  ScalarBuilder s = b.scalars();
  SmallVector<std::pair<Value, Value>> checks;
  SmallVector<Value> place = getPlace(s, indices, checks);
  if (part)
    place.insert(place.begin(), part);
  Value isInside = arith::ConstantIntOp::create(s, s.getI1Type(), 1);
  for (auto [i, size] : checks)
    isInside = arith::AndIOp::create(
        s, isInside,
        arith::CmpIOp::create(s, arith::CmpIPredicate::ult, i, size));
  auto conditional =
      scf::IfOp::create(b, tensor.getType(), isInside, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(conditional.thenBlock());
  scf::YieldOp::create(b, overRest(tensor, indices, place));
  b.setInsertionPointToStart(conditional.elseBlock());
  scf::YieldOp::create(b, tensor);
  return conditional.getResult(0);
}

static KernelResult buildScatterElements(KernelBuilder &b, ScatterElementsOp op,
                                         ValueRange inputs,
                                         ValueRange outputs) {
  Value data = inputs[0], indices = inputs[1], updates = inputs[2];
  StringRef reduction = op.getReduction();
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  Type dtype = tensorType(op.getIndices()).getDtype();
  Value size = b.dimValue(data, axis);
  auto getPlace = [&](S s, Indices loops,
                      SmallVectorImpl<std::pair<Value, Value>> &checks) {
    SmallVector<Value> place(loops);
    Value number = tensor::ExtractOp::create(s, indices, loops);
    place[axis] = fromEnd(s, asIndex(s, number, dtype), size);
    checks.emplace_back(place[axis], size);
    return place;
  };
  bool isMean = reduction == "mean";
  bool keepsColumns = axis + 1 < b.getRank(data);
  Value result =
      ScatterBuilder{
          b,        updates,     isMean ? "add" : reduction, b.getRank(updates),
          getPlace, keepsColumns}
          .build(b.copy(data, outputs[0]));
  if (!isMean)
    return one(result);
  // The number of terms of each sum: its own, and the updates.
  Type i64 = b.getI64Type();
  Value one64 = b.scalars().constant(i64, 1);
  Value counts = b.fill(one64, b.empty(b.dims(data), i64));
  Value ones = b.fill(one64, b.empty(b.dims(updates), i64));
  counts =
      ScatterBuilder{b, ones, "add", b.getRank(ones), getPlace, keepsColumns}
          .build(counts);
  return one(b.computeElementwise(counts, result, [&](S s, V e) {
    Type data = tensorType(op.getData()).getDtype();
    return s.div(e[1], s.widen(s.cast(e[0], s.getI64Type(), data)));
  }));
}

static DimPairs checkScatterElements(ScatterElementsOp op, Type) {
  DimPairs pairs =
      checkElementIndices(op.getData(), op.getIndices(), op.getAxis());
  for (auto [dim, wanted] : llvm::zip(tensorType(op.getUpdates()).getDims(),
                                      tensorType(op.getIndices()).getDims()))
    pairs.emplace_back(dim, wanted);
  return pairs;
}

static KernelResult buildScatterND(KernelBuilder &b, ScatterNDOp op,
                                   ValueRange inputs, ValueRange outputs) {
  Value data = inputs[0], indices = inputs[1], updates = inputs[2];
  int64_t numIndices = b.getRank(indices) - 1;
  int64_t length = b.getType(indices).getDimSize(numIndices);
  if (ShapedType::isDynamic(length))
    return op.emitOpError() << "cannot be lowered: the last dimension of "
                               "indices must be known";
  Type dtype = tensorType(op.getIndices()).getDtype();
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < length; ++i)
    sizes.push_back(b.dimValue(data, i));
  auto getPlace = [&](S s, Indices loops,
                      SmallVectorImpl<std::pair<Value, Value>> &checks) {
    SmallVector<Value> at(loops), place;
    at.push_back(Value());
    for (int64_t i = 0; i < length; ++i) {
      at.back() = index(s, i);
      Value number = tensor::ExtractOp::create(s, indices, at);
      place.push_back(fromEnd(s, asIndex(s, number, dtype), sizes[i]));
      checks.emplace_back(place.back(), sizes[i]);
    }
    return place;
  };
  return one(ScatterBuilder{b, updates, op.getReduction(), numIndices, getPlace,
                            numIndices < b.getRank(updates)}
                 .build(b.copy(data, outputs[0])));
}

static DimPairs checkScatterND(ScatterNDOp op, Type) {
  ArrayRef<PrimExprAttr> data = tensorType(op.getData()).getDims();
  ArrayRef<PrimExprAttr> indices = tensorType(op.getIndices()).getDims();
  std::optional<int64_t> length = indices.back().getConstant();
  if (!length)
    return {};
  SmallVector<PrimExprAttr> wanted(indices.drop_back());
  llvm::append_range(wanted, data.drop_front(*length));
  DimPairs pairs;
  for (auto [dim, want] :
       llvm::zip(tensorType(op.getUpdates()).getDims(), wanted))
    pairs.emplace_back(dim, want);
  return pairs;
}

//===----------------------------------------------------------------------===//
// layout_transform
//===----------------------------------------------------------------------===//

static KernelResult buildLayoutTransform(KernelBuilder &b, LayoutTransformOp op,
                                         ValueRange inputs,
                                         ValueRange outputs) {
  Value x = inputs[0];
  Type type = b.getElementType(x);
  Value padding;
  if (auto number =
          dyn_cast_or_null<IntegerAttr>(op.getPadValue().value_or(TypedAttr())))
    padding =
        arith::ConstantOp::create(b, IntegerAttr::get(type, number.getValue()));
  else if (op.getPadValue())
    padding = arith::ConstantOp::create(b, *op.getPadValue());
  else
    padding = b.scalars().constant(type, 0);
  return one(b.generic(x, b.fill(padding, outputs[0]),
                       {b.identityMap(b.getRank(x)), op.getIndexMap()}, {},
                       [](S, V e) { return e[0]; }));
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// Maps the loops over `data` to a scale or zero point.
static AffineMap parameterMap(KernelBuilder &b, Value parameter, Value data,
                              int64_t axis, int64_t blockSize) {
  int64_t loops = b.getRank(data), rank = b.getRank(parameter);
  if (rank == 0)
    return b.map(loops, {});
  auto isOne = [&](int64_t dim) {
    return b.getType(parameter).getDimSize(dim) == 1;
  };
  if (blockSize == 0 || loops == 0)
    return b.map(loops,
                 isOne(0) || loops == 0 ? int64_t(-1) : getAxis(axis, loops));
  SmallVector<AffineExpr> places;
  for (int64_t dim = 0; dim < rank; ++dim)
    places.push_back(isOne(dim) ? b.getAffineConstantExpr(0)
                     : dim == getAxis(axis, loops)
                         ? b.getAffineDimExpr(dim).floorDiv(blockSize)
                         : b.getAffineDimExpr(dim));
  return AffineMap::get(loops, 0, places, b.getContext());
}

template <typename OpTy, typename BodyT>
static KernelResult buildQuantization(KernelBuilder &b, OpTy op,
                                      ValueRange inputs, ValueRange outputs,
                                      BodyT body) {
  Value data = inputs[0];
  auto mapOf = [&](Value parameter) {
    return parameterMap(b, parameter, data, op.getAxis(), op.getBlockSize());
  };
  AffineMap loops = b.identityMap(b.getRank(data));
  return one(b.generic(
      inputs, outputs[0], {loops, mapOf(inputs[1]), mapOf(inputs[2]), loops},
      {}, [&](S s, V e) -> Value {
        SmallVector<Value> wide;
        for (auto [value, operand] : llvm::zip(e, op->getOperands()))
          wide.push_back(
              s.cast(value, tensorType(operand).getDtype(), s.getF32Type()));
        return s.cast(body(s, wide), s.getF32Type(), op.getOutDtype());
      }));
}

static DimPairs checkQuantization(ValueRange operands, int64_t axis,
                                  int64_t blockSize) {
  TensorStructInfoType data = tensorType(operands[0]);
  DimPairs pairs;
  for (Value parameter : operands.drop_front()) {
    TensorStructInfoType type = tensorType(parameter);
    SmallVector<PrimExprAttr> wanted =
        getQuantizationDims(data, type.getNdim(), axis, blockSize);
    for (auto [at, size, dim] : llvm::enumerate(type.getDims(), wanted)) {
      bool isBlocked = blockSize != 0 && data.getNdim() > 0 &&
                       int64_t(at) == getAxis(axis, data.getNdim());
      if (isBlocked || size.getConstant() != 1)
        pairs.emplace_back(size, dim);
    }
  }
  return pairs;
}

void mlir::relax::populateIndex(LegalizationTable &table) {
  table.add<FlipOp>(buildFlip);
  table.add<RepeatOp>(buildRepeat);
  table.add<TileOp>(buildTile);
  table.add<StackOp>(buildStack);
  table.addChecks<StackOp>(checkStack);
  table.add<MeshgridOp>(buildMeshgrid);
  table.add<OneHotOp>(buildOneHot);
  table.add<PadOp>(buildPad);
  table.add<PixelShuffleOp>(buildPixelShuffle);
  table.addChecks<PixelShuffleOp>(checkPixelShuffle);
  table.add<GatherElementsOp>(buildGatherElements);
  table.addChecks<GatherElementsOp>([](GatherElementsOp op, Type) {
    return checkElementIndices(op.getData(), op.getIndices(), op.getAxis());
  });
  table.add<IndexTensorOp>(buildIndexTensor);
  table.addChecks<IndexTensorOp>(checkIndexTensor);
  table.add<ReverseSequenceOp>(buildReverseSequence);
  table.addChecks<ReverseSequenceOp>(checkReverseSequence);
  table.add<GatherNDOp>(buildGatherND);
  table.addChecks<GatherNDOp>(checkGatherND);
  table.add<ScatterElementsOp>(buildScatterElements);
  table.addChecks<ScatterElementsOp>(checkScatterElements);
  table.add<ScatterNDOp>(buildScatterND);
  table.addChecks<ScatterNDOp>(checkScatterND);
  table.add<LayoutTransformOp>(buildLayoutTransform);
  table.add<QuantizeOp>([](KernelBuilder &b, QuantizeOp op, ValueRange inputs,
                           ValueRange outputs) {
    bool rounds = isa<IntegerType>(op.getOutDtype());
    return buildQuantization(b, op, inputs, outputs, [&](S s, Indices e) {
      Value scaled = s.div(e[0], e[1]);
      if (rounds)
        scaled = math::RoundEvenOp::create(s, scaled);
      Value sum = s.add(scaled, e[2]);
      if (!isFloat8(op.getOutDtype()))
        return sum;
      double largest = getLargestFloat8(op.getOutDtype());
      return s.max(s.min(sum, s.constant(sum, largest)),
                   s.constant(sum, -largest));
    });
  });
  table.add<DequantizeOp>([](KernelBuilder &b, DequantizeOp op,
                             ValueRange inputs, ValueRange outputs) {
    return buildQuantization(b, op, inputs, outputs, [](S s, Indices e) {
      return s.mul(s.sub(e[0], e[2]), e[1]);
    });
  });
  auto check = [](auto op, Type) {
    return checkQuantization(op->getOperands(), op.getAxis(),
                             op.getBlockSize());
  };
  table.addChecks<QuantizeOp>(check);
  table.addChecks<DequantizeOp>(check);
}
