//===- Index.cpp - Kernels of operators that compute indices ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator that only moves elements computes the index of each one in the
// input. Those that update their input: Scatter.cpp.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "Indices.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;
using Indices = ArrayRef<Value>;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static KernelResult buildFlip(KernelBuilder &b, FlipOp op, ValueRange inputs,
                              ValueRange outputs) {
  int64_t axis = getAxis(op.getAxis(), b.getRank(inputs[0]));
  Value size = b.dimValue(inputs[0], axis);
  return one(b.fromIndices(outputs[0], [&](S s, Indices indices) -> Value {
    SmallVector<Value> place(indices);
    place[axis] = s.sub(s.sub(size, s.index(1)), place[axis]);
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
    place[axis] = arith::DivUIOp::create(s, place[axis], s.index(repeats));
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
        isMoved, s.sub(s.sub(length, s.index(1)), loops[axis]), loops[axis]);
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
// Indices in range
//===----------------------------------------------------------------------===//

/// The nearest index in range, of a dimension that is not empty.
static Value nearest(ScalarBuilder &s, Value place, Value size) {
  Value last = s.sub(size, s.index(1));
  Value low = arith::MaxSIOp::create(s, fromEnd(s, place, size), s.index(0));
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
        arith::CmpIOp::create(s, arith::CmpIPredicate::eq, size, s.index(0));
    isEmpty = isEmpty ? Value(arith::OrIOp::create(s, isEmpty, next)) : next;
  }
  auto extract = [&]() -> Value {
    return tensor::ExtractOp::create(s, data, place);
  };
  if (!isEmpty)
    return extract();
  Type type = KernelBuilder::getElementType(data);
  return buildIf(
      s, type, isEmpty, [&] { return s.constant(type, 0); }, extract);
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
  Value zero = s.index(0), last = s.sub(size, s.index(1));
  Value period = isReflected ? s.add(last, last) : size;
  period = arith::MaxSIOp::create(s, period, s.index(1));
  Value rest = arith::RemSIOp::create(s, place, period);
  Value isNegative =
      arith::CmpIOp::create(s, arith::CmpIPredicate::slt, rest, zero);
  rest = s.select(isNegative, s.add(rest, period), rest);
  if (!isReflected)
    return rest;
  return arith::MinSIOp::create(s, rest, s.sub(period, rest));
}

namespace {
/// Padding with a number, or with elements of the tensor, which has as many as
/// are repeated.
struct PadBuilder {
  KernelBuilder &b;
  Value data;
  ArrayRef<int64_t> widths; // before and after each axis
  StringRef mode;
  Value padding; // of mode "constant"

  int64_t getSize(int64_t axis) const {
    return b.getType(data).getDimSize(axis);
  }
  /// Whether no element is repeated twice on one side.
  bool isSimple() const;
  Value build(Value output) const;

private:
  Value addSide(Value result, int64_t axis, bool isAfter) const;
};
} // namespace

bool PadBuilder::isSimple() const {
  for (int64_t axis = 0; axis < b.getRank(data); ++axis) {
    int64_t width = std::max(widths[2 * axis], widths[2 * axis + 1]);
    int64_t size = getSize(axis);
    if (width == 0)
      continue;
    if (ShapedType::isDynamic(size))
      return false;
    if (!padding && width > (mode == "reflect" ? size - 1 : size))
      return false;
  }
  return true;
}

/// Copies the tensor, and then writes the sides of one axis after the other,
/// the last one first: a side has what is there of later axes.
Value PadBuilder::build(Value output) const {
  SmallVector<OpFoldResult> offsets;
  for (int64_t axis = 0; axis < b.getRank(data); ++axis)
    offsets.push_back(b.getIndexAttr(widths[2 * axis]));
  Value result = b.insert(data, output, offsets);
  for (int64_t axis = b.getRank(data) - 1; axis >= 0; --axis)
    for (bool isAfter : {false, true})
      if (widths[2 * axis + isAfter] != 0)
        result = addSide(result, axis, isAfter);
  return result;
}

Value PadBuilder::addSide(Value result, int64_t axis, bool isAfter) const {
  int64_t rank = b.getRank(data);
  int64_t before = widths[2 * axis], width = widths[2 * axis + isAfter];
  int64_t end = before + getSize(axis);
  SmallVector<OpFoldResult> offsets, sizes,
      strides(rank, OpFoldResult(b.getIndexAttr(1)));
  for (int64_t other = 0; other < rank; ++other) {
    bool isWhole = other > axis;
    offsets.push_back(b.getIndexAttr(isWhole ? 0 : widths[2 * other]));
    sizes.push_back(isWhole ? b.dim(result, other) : b.dim(data, other));
  }
  OpFoldResult begin = b.getIndexAttr(isAfter ? end : 0);
  if (padding) {
    offsets[axis] = begin;
    sizes[axis] = b.getIndexAttr(width);
    Value side = b.empty(sizes, b.getElementType(data));
    return b.insert(b.fill(padding, side), result, offsets);
  }
  // The elements that are repeated, in which order.
  AffineExpr place = b.getAffineDimExpr(axis);
  int64_t first = isAfter ? before : end - width, count = width;
  if (mode == "reflect") {
    first = isAfter ? end - 1 - width : before + 1;
    place = width - 1 - place;
  } else if (mode == "replicate") {
    first = isAfter ? end - 1 : before;
    count = 1;
    place = b.getAffineConstantExpr(0);
  }
  offsets[axis] = b.getIndexAttr(first);
  sizes[axis] = b.getIndexAttr(count);
  Value source =
      tensor::ExtractSliceOp::create(b, result, offsets, sizes, strides);
  SmallVector<AffineExpr> places(b.identityMap(rank).getResults());
  places[axis] = place;
  sizes[axis] = b.getIndexAttr(width);
  Value side = b.compute(
      source, b.empty(sizes, b.getElementType(data)),
      {AffineMap::get(rank, 0, places, b.getContext()), b.identityMap(rank)},
      {}, [](S, ValueRange e) { return e[0]; });
  offsets[axis] = begin;
  return b.insert(side, result, offsets);
}

namespace {
/// Padding with elements of the tensor, of known sizes where it is padded, in
/// rows: threads share those of the first axes, and each row is copied from the
/// one that it repeats.
struct RowPadding {
  KernelBuilder &b;
  Value data;
  ArrayRef<int64_t> widths;
  StringRef mode;

  bool hasKnownSizes() const;
  Value build(Value output) const;

private:
  struct Row {
    SmallVector<Value> to, from;
  };

  int64_t lastAxis() const { return b.getRank(data) - 1; }
  bool isPadded(int64_t axis) const {
    return widths[2 * axis] != 0 || widths[2 * axis + 1] != 0;
  }
  int64_t countShared() const;
  int64_t getGrain(int64_t numShared) const;
  /// The index in the tensor of one in the result.
  Value getSource(int64_t axis, Value index) const;
  /// Writes the rows whose first indices are those of `row`.
  Value writeRows(Value output, const Row &row) const;
  Value writeRow(Value output, const Row &row) const;
  /// Writes elements of a row, in [begin, end) of the result.
  Value writeElements(Value output, const Row &row, Value begin, Value end,
                      llvm::function_ref<Value(Value)> getFrom) const;
};
} // namespace

bool RowPadding::hasKnownSizes() const {
  return llvm::all_of(llvm::seq(lastAxis() + 1), [&](int64_t axis) {
    return !isPadded(axis) ||
           !ShapedType::isDynamic(b.getType(data).getDimSize(axis));
  });
}

/// The axes that threads share: those before the first one that is padded, and
/// this one too where there are few images.
int64_t RowPadding::countShared() const {
  constexpr int64_t kFewImages = 16;
  int64_t count = 0, numImages = 1;
  for (; count < lastAxis() && !isPadded(count); ++count) {
    int64_t size = b.getType(data).getDimSize(count);
    numImages *= ShapedType::isDynamic(size) ? kFewImages : size;
  }
  return count < lastAxis() && numImages < kFewImages ? count + 1 : count;
}

int64_t RowPadding::getGrain(int64_t numShared) const {
  constexpr int64_t kElements = 1 << 12;
  int64_t elements = 1;
  for (int64_t size : b.getType(data).getShape().drop_front(numShared))
    elements *= ShapedType::isDynamic(size) ? 64 : std::max<int64_t>(size, 1);
  return std::max<int64_t>(kElements / elements, 1);
}

Value RowPadding::getSource(int64_t axis, Value index) const {
  if (!isPadded(axis))
    return index;
  ScalarBuilder s = b.scalars();
  Value size = b.dimValue(data, axis);
  Value place = s.sub(index, s.index(widths[2 * axis]));
  if (mode != "replicate")
    return wrapAround(s, place, size, mode == "reflect");
  Value last = s.sub(size, s.index(1));
  place = arith::MaxSIOp::create(s, place, s.index(0));
  return arith::MinSIOp::create(s, place, last);
}

Value RowPadding::build(Value output) const {
  int64_t numShared = countShared();
  if (numShared == 0)
    return writeRows(output, Row());
  Value count = b.index(1);
  for (int64_t axis = 0; axis < numShared; ++axis)
    count = arith::MulIOp::create(b, count, b.dimValue(output, axis));
  auto body = [&](Value number, ValueRange carried) {
    Row row{SmallVector<Value>(numShared), SmallVector<Value>(numShared)};
    for (int64_t axis = numShared - 1; axis >= 0; --axis) {
      Value size = b.dimValue(output, axis);
      row.to[axis] =
          axis == 0 ? number : arith::RemUIOp::create(b, number, size);
      row.from[axis] = getSource(axis, row.to[axis]);
      number = arith::DivUIOp::create(b, number, size);
    }
    return Carried{writeRows(carried[0], row)};
  };
  Value result =
      buildLoop(b, b.index(0), count, b.index(1), output, body).front();
  makeIndependent(b, result.getDefiningOp(), getGrain(numShared));
  return result;
}

Value RowPadding::writeRows(Value output, const Row &row) const {
  int64_t axis = row.to.size();
  if (axis == lastAxis())
    return writeRow(output, row);
  auto body = [&](Value index, ValueRange carried) {
    Row inner = row;
    inner.to.push_back(index);
    inner.from.push_back(getSource(axis, index));
    return Carried{writeRows(carried[0], inner)};
  };
  return buildLoop(b, b.index(0), b.dimValue(output, axis), b.index(1), output,
                   body)
      .front();
}

Value RowPadding::writeRow(Value output, const Row &row) const {
  int64_t axis = lastAxis();
  Value before = b.index(widths[2 * axis]), size = b.dimValue(data, axis);
  Value end = arith::AddIOp::create(b, before, size);
  Value result =
      writeElements(output, row, before, end, [&](Value index) -> Value {
        return arith::SubIOp::create(b, index, before);
      });
  makeVectorized(b, result.getDefiningOp());
  auto getOther = [&](Value index) { return getSource(axis, index); };
  if (widths[2 * axis] != 0)
    result = writeElements(result, row, b.index(0), before, getOther);
  if (widths[2 * axis + 1] != 0)
    result =
        writeElements(result, row, end, b.dimValue(output, axis), getOther);
  return result;
}

Value RowPadding::writeElements(
    Value output, const Row &row, Value begin, Value end,
    llvm::function_ref<Value(Value)> getFrom) const {
  auto write = [&](Value index, ValueRange carried) {
    SmallVector<Value> to(row.to), from(row.from);
    to.push_back(index);
    from.push_back(getFrom(index));
    Value element = tensor::ExtractOp::create(b, data, from);
    return Carried{tensor::InsertOp::create(b, element, carried[0], to)};
  };
  return buildLoop(b, begin, end, b.index(1), output, write).front();
}

static KernelResult buildPad(KernelBuilder &b, PadOp op, ValueRange inputs,
                             ValueRange outputs) {
  Value data = inputs[0];
  int64_t rank = b.getRank(data);
  ArrayRef<int64_t> widths = op.getPadWidth();
  StringRef mode = op.getPadMode();
  if (mode == "constant") {
    Value padding = b.scalars().constant(b.getElementType(data),
                                         op.getPadValue().convertToDouble());
    // A device has a launch for each side.
    PadBuilder builder{b, data, widths, mode, padding};
    if (!b.isOnDevice() && builder.isSimple())
      return one(builder.build(outputs[0]));
    SmallVector<OpFoldResult> offsets;
    for (int64_t axis = 0; axis < rank; ++axis)
      offsets.push_back(b.getIndexAttr(widths[2 * axis]));
    return one(b.insert(data, b.fill(padding, outputs[0]), offsets));
  }
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (isKnownEmpty(data, axes))
    return fillZero(b, outputs[0]);
  RowPadding rows{b, data, widths, mode};
  if (!b.isOnDevice() && rank > 0 && rows.hasKnownSizes())
    return one(rows.build(outputs[0]));
  PadBuilder builder{b, data, widths, mode, /*padding=*/Value()};
  if (builder.isSimple())
    return one(builder.build(outputs[0]));
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
      Value at = s.sub(loop, s.index(before));
      Value last = s.sub(sizes[axis], s.index(1));
      place.push_back(
          mode == "replicate"
              ? Value(arith::MinSIOp::create(
                    s, arith::MaxSIOp::create(s, at, s.index(0)), last))
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
    Value by = s.index(factor);
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
      at.back() = s.index(i);
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
        at.push_back(dim == 1 ? s.index(0) : loop);
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
  table.add<LayoutTransformOp>(buildLayoutTransform);
}
