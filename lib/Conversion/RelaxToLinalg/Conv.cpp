//===- Conv.cpp - Kernels of convolution and pooling -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is one linalg.generic over the dimensions of the result, in
// their order, and those that are summed. Padding is a tensor of its own before
// it, so what is left is affine.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

/// Returns the positions of "NC" and the spatial dimensions in a tensor of this
/// layout.
static SmallVector<int64_t> placesOf(StringRef layout, StringRef first,
                                     StringRef letters) {
  return *parseLayout(std::nullopt, layout, (first + letters).str(), "");
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {
/// A window over the spatial dimensions of a tensor.
struct Window {
  ArrayRef<int64_t> strides, padding, dilation;

  int64_t count() const { return strides.size(); }
  int64_t before(int64_t i) const { return padding[i]; }
  int64_t after(int64_t i) const { return padding[i + count()]; }
};
} // namespace

static OpFoldResult addIndices(KernelBuilder &b, OpFoldResult x, int64_t y) {
  if (std::optional<int64_t> constant = getConstantIntValue(x))
    return b.getIndexAttr(*constant + y);
  Value sum = arith::AddIOp::create(b, cast<Value>(x), b.index(y));
  return sum;
}

/// `data` with `value` around it. `ends`, by spatial dimension, says how far
/// windows reach; they may reach beyond the padding.
static Value pad(KernelBuilder &b, Value data, const Window &window,
                 ArrayRef<int64_t> places, Value value,
                 ArrayRef<OpFoldResult> ends = {}) {
  bool isPadded =
      llvm::any_of(window.padding, [](int64_t n) { return n != 0; });
  if (!isPadded && ends.empty())
    return data;
  SmallVector<OpFoldResult> sizes = b.dims(data);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  for (int64_t i = 0; i < window.count(); ++i) {
    int64_t place = places[i + 2];
    offsets[place] = b.getIndexAttr(window.before(i));
    sizes[place] =
        addIndices(b, sizes[place], window.before(i) + window.after(i));
    if (ends.empty())
      continue;
    std::optional<int64_t> size = getConstantIntValue(sizes[place]);
    std::optional<int64_t> end = getConstantIntValue(ends[i]);
    if (size && end)
      sizes[place] = b.getIndexAttr(std::max(*size, *end));
    else
      sizes[place] = Value(arith::MaxSIOp::create(
          b, getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[place]),
          getValueOrCreateConstantIndexOp(b, b.getLoc(), ends[i])));
  }
  Value padded = b.fill(value, b.empty(sizes, b.getElementType(data)));
  return b.insert(data, padded, offsets);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// The loops of a convolution: the dimensions of the result in its order, then
/// those that are summed in the order of `data`. With groups, there is a loop
/// over them before the one of output channels.
struct ConvLoops {
  ConvLoops(const ConvAttrs &attrs, ArrayRef<int64_t> dataPlaces,
            ArrayRef<int64_t> outPlaces)
      : isGrouped(attrs.groups > 1), outputs(outPlaces.size()) {
    size_t rank = outPlaces.size();
    for (size_t i = 0; i < rank; ++i)
      outputs[i] =
          outPlaces[i] + (isGrouped && outPlaces[i] > outPlaces[1] ? 1 : 0);
    group = outputs[1];
    if (isGrouped)
      ++outputs[1];
    numParallel = rank + isGrouped;
    // The batch dimension is not summed: later ones move up.
    for (size_t i = 1; i < rank; ++i)
      sums.push_back(numParallel + dataPlaces[i] -
                     (dataPlaces[i] > dataPlaces[0] ? 1 : 0));
    count = numParallel + sums.size();
  }

  bool isGrouped;
  int64_t group;
  SmallVector<int64_t> outputs; // by letter: batch, channel, spatial
  SmallVector<int64_t> sums;    // by letter: channel, spatial
  int64_t numParallel, count;
};
} // namespace

/// The results of a map, by letter, in the order of a layout. With groups, the
/// dimension of letter `grouped` is two, `group` before it.
static AffineMap layoutMap(const ConvLoops &loops, ArrayRef<AffineExpr> exprs,
                           ArrayRef<int64_t> places, int64_t grouped) {
  MLIRContext *context = exprs.front().getContext();
  SmallVector<AffineExpr> results(exprs.size());
  for (auto [expr, place] : llvm::zip(exprs, places))
    results[place] = expr;
  if (loops.isGrouped)
    results.insert(results.begin() + places[grouped],
                   getAffineDimExpr(loops.group, context));
  return AffineMap::get(loops.count, 0, results, context);
}

static SmallVector<AffineMap>
convMaps(const ConvAttrs &attrs, const ConvLoops &loops,
         ArrayRef<int64_t> dataPlaces, ArrayRef<int64_t> weightPlaces,
         ArrayRef<int64_t> outPlaces, MLIRContext *context) {
  auto loop = [&](int64_t index) { return getAffineDimExpr(index, context); };
  SmallVector<AffineExpr> data = {loop(loops.outputs[0]), loop(loops.sums[0])};
  SmallVector<AffineExpr> weight = {loop(loops.outputs[1]),
                                    loop(loops.sums[0])};
  SmallVector<AffineExpr> out = {loop(loops.outputs[0]),
                                 loop(loops.outputs[1])};
  for (size_t i = 0; i < attrs.letters.size(); ++i) {
    AffineExpr position = loop(loops.outputs[i + 2]);
    AffineExpr kernel = loop(loops.sums[i + 1]);
    data.push_back(position * attrs.strides[i] + kernel * attrs.dilation[i]);
    weight.push_back(kernel);
    out.push_back(position);
  }
  return {layoutMap(loops, data, dataPlaces, 1),
          layoutMap(loops, weight, weightPlaces, 0),
          layoutMap(loops, out, outPlaces, 1)};
}

template <typename OpTy>
static KernelResult buildConv(KernelBuilder &b, OpTy op, ConvAttrs attrs,
                              ValueRange inputs, ValueRange outputs) {
  Type from = tensorType(op.getData()).getDtype();
  Type kernelType = tensorType(op.getWeight()).getDtype();
  Type to = b.accumulatorType(op.getOutDtype().value_or(from));
  SmallVector<int64_t> dataPlaces =
      placesOf(attrs.dataLayout, "NC", attrs.letters);
  SmallVector<int64_t> weightPlaces =
      placesOf(attrs.kernelLayout, "OI", attrs.letters);
  SmallVector<int64_t> outPlaces =
      placesOf(attrs.outLayout, "NC", attrs.letters);
  Value data = inputs[0], weight = inputs[1], output = outputs[0];
  Window window = {attrs.strides, attrs.padding, attrs.dilation};
  Value zero = b.scalars().constant(b.getElementType(data), 0);
  data = pad(b, data, window, dataPlaces, zero);
  Value sums = b.accumulator(output, [&] { return b.dims(output); });
  RankedTensorType type = b.getType(sums);
  ConvLoops loops(attrs, dataPlaces, outPlaces);
  if (loops.isGrouped) {
    data = b.expandAxis(data, dataPlaces[1], attrs.groups);
    weight = b.expandAxis(weight, weightPlaces[0], attrs.groups);
    sums = b.expandAxis(sums, outPlaces[1], attrs.groups);
  }
  sums = b.fill(b.scalars().constant(b.getElementType(sums), 0), sums);
  SmallVector<int64_t> reduced =
      llvm::to_vector(llvm::seq(loops.numParallel, loops.count));
  Value result = b.compute({data, weight}, sums,
                           convMaps(attrs, loops, dataPlaces, weightPlaces,
                                    outPlaces, b.getContext()),
                           reduced, [&](S s, V e) {
                             Value product =
                                 s.mul(s.cast(e[0], from, to),
                                       s.cast(e[1], kernelType, to));
                             return s.add(e[2], product);
                           });
  if (loops.isGrouped)
    result = b.collapseAxis(result, outPlaces[1], type);
  return one(b.store(result, output));
}

/// The channels fit each other.
static DimPairs checkConv(const ConvAttrs &attrs, Value data, Value weight) {
  ArrayRef<PrimExprAttr> from = tensorType(data).getDims();
  ArrayRef<PrimExprAttr> kernel = tensorType(weight).getDims();
  SmallVector<int64_t> dataPlaces =
      placesOf(attrs.dataLayout, "NC", attrs.letters);
  SmallVector<int64_t> weightPlaces =
      placesOf(attrs.kernelLayout, "OI", attrs.letters);
  MLIRContext *context = data.getContext();
  PrimExprAttr groups = PrimExprAttr::getInt(context, attrs.groups);
  return {{from[dataPlaces[1]],
           PrimExprAttr::getMul(kernel[weightPlaces[1]], groups)},
          {PrimExprAttr::getMod(kernel[weightPlaces[0]], groups),
           PrimExprAttr::getInt(context, 0)}};
}

template <typename OpTy>
static void addConv(LegalizationTable &table, StringRef letters) {
  table.add<OpTy>([letters](KernelBuilder &b, OpTy op, ValueRange inputs,
                            ValueRange outputs) {
    return buildConv(b, op, getConvAttrs(op, letters), inputs, outputs);
  });
  table.addChecks<OpTy>([letters](OpTy op, Type) {
    return checkConv(getConvAttrs(op, letters), op.getData(), op.getWeight());
  });
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

namespace {
/// The kernel of a pooling operator. The loops are the dimensions of the
/// result, in its order, then the window.
struct PoolBuilder {
  PoolBuilder(KernelBuilder &b, const PoolAttrs &attrs, Value data,
              Value output)
      : b(b), attrs(attrs),
        window{attrs.strides, attrs.padding, attrs.dilation},
        dataPlaces(placesOf(attrs.layout, "NC", attrs.letters)),
        outPlaces(placesOf(attrs.outLayout, "NC", attrs.letters)), data(data),
        output(output) {}

  /// Reduces each window into `sums`; the padding has the identity.
  Value reduce(Value sums, Identity identity,
               Value (*combine)(ScalarBuilder &, Value, Value));
  /// Divides by the number of elements.
  Value divide(Value sums);

private:
  SmallVector<OpFoldResult> ends();
  Value countInside(ScalarBuilder &s, int64_t i, int64_t before, Value size);

  KernelBuilder &b;
  PoolAttrs attrs;
  Window window;
  SmallVector<int64_t> dataPlaces, outPlaces;
  Value data, output;
};
} // namespace

/// Returns the ends of the last windows, where they may be beyond the padding.
SmallVector<OpFoldResult> PoolBuilder::ends() {
  SmallVector<OpFoldResult> ends;
  if (!attrs.ceilMode)
    return ends;
  for (int64_t i = 0; i < window.count(); ++i) {
    int64_t reach = (attrs.sizes[i] - 1) * attrs.dilation[i] + 1;
    OpFoldResult size = b.dim(output, outPlaces[i + 2]);
    if (std::optional<int64_t> constant = getConstantIntValue(size)) {
      ends.push_back(
          b.getIndexAttr((*constant - 1) * attrs.strides[i] + reach));
      continue;
    }
    Value last =
        arith::MulIOp::create(b, cast<Value>(size), b.index(attrs.strides[i]));
    ends.push_back(addIndices(b, last, reach - attrs.strides[i]));
  }
  return ends;
}

Value PoolBuilder::reduce(Value sums, Identity identity,
                          Value (*combine)(ScalarBuilder &, Value, Value)) {
  int64_t rank = b.getRank(output), count = rank + window.count();
  Value padding = b.scalars().identity(identity, b.getElementType(data));
  Value padded = pad(b, data, window, dataPlaces, padding, ends());
  // A tensor of which only the shape matters says how large the window is.
  SmallVector<OpFoldResult> sizes =
      llvm::map_to_vector(attrs.sizes, [&](int64_t size) -> OpFoldResult {
        return b.getIndexAttr(size);
      });
  Value shape = b.empty(sizes, b.getElementType(data));
  SmallVector<AffineExpr> from(rank);
  for (int64_t i = 0; i < rank; ++i)
    from[dataPlaces[i]] = b.getAffineDimExpr(outPlaces[i]);
  for (int64_t i = 0; i < window.count(); ++i)
    from[dataPlaces[i + 2]] = from[dataPlaces[i + 2]] * attrs.strides[i] +
                              b.getAffineDimExpr(rank + i) * attrs.dilation[i];
  SmallVector<int64_t> parallel = llvm::to_vector(llvm::seq<int64_t>(rank));
  SmallVector<int64_t> reduced = llvm::to_vector(llvm::seq(rank, count));
  Value init = b.scalars().identity(identity, b.getElementType(sums));
  return b.compute({padded, shape}, b.fill(init, sums),
                   {AffineMap::get(count, 0, from, b.getContext()),
                    b.map(count, reduced), b.map(count, parallel)},
                   reduced, [&](S s, V e) { return combine(s, e[2], e[0]); });
}

/// Counts the elements of the window at the loop of spatial dimension `i` that
/// are inside a dimension of `size` that begins `before` elements after the
/// start.
Value PoolBuilder::countInside(ScalarBuilder &s, int64_t i, int64_t before,
                               Value size) {
  // Elements first, first + dilation, ... of the dimension.
  Value first = arith::SubIOp::create(
      s,
      arith::MulIOp::create(s, linalg::IndexOp::create(s, outPlaces[i + 2]),
                            s.index(attrs.strides[i])),
      s.index(before));
  auto countBelow = [&](Value end) -> Value {
    Value room = arith::MaxSIOp::create(s, arith::SubIOp::create(s, end, first),
                                        s.index(0));
    Value steps =
        arith::CeilDivSIOp::create(s, room, s.index(attrs.dilation[i]));
    return arith::MinSIOp::create(s, steps, s.index(attrs.sizes[i]));
  };
  return arith::SubIOp::create(s, countBelow(size), countBelow(s.index(0)));
}

Value PoolBuilder::divide(Value sums) {
  bool isPadded = llvm::any_of(attrs.padding, [](int64_t n) { return n != 0; });
  if (!attrs.ceilMode && (attrs.countIncludePad || !isPadded)) {
    // All windows are inside.
    int64_t count = llvm::product_of(attrs.sizes);
    Value number = b.scalars().constant(b.getElementType(sums), double(count));
    return b.elementwise({}, sums,
                         [&](S s, V e) { return s.div(e[0], number); });
  }
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < window.count(); ++i) {
    OpFoldResult size = b.dim(data, dataPlaces[i + 2]);
    if (attrs.countIncludePad)
      size = addIndices(b, size, window.before(i) + window.after(i));
    sizes.push_back(getValueOrCreateConstantIndexOp(b, b.getLoc(), size));
  }
  return b.elementwise({}, sums, [&](S s, V e) {
    Value count = s.index(1);
    for (int64_t i = 0; i < window.count(); ++i) {
      int64_t before = attrs.countIncludePad ? 0 : window.before(i);
      count =
          arith::MulIOp::create(s, count, countInside(s, i, before, sizes[i]));
    }
    // The mean of a window that has no element is 0.
    count = arith::MaxSIOp::create(s, count, s.index(1));
    Type type = e[0].getType();
    Value number = arith::IndexCastOp::create(s, s.getI64Type(), count);
    return s.div(e[0], s.cast(number, s.getI64Type(), type));
  });
}

/// The mean of each window.
static Value buildMeans(KernelBuilder &b, const PoolAttrs &attrs, Value data,
                        Value output) {
  PoolBuilder pool(b, attrs, data, output);
  auto dims = [&] { return b.dims(output); };
  Value sums = pool.reduce(b.accumulator(output, dims), Identity::Zero,
                           [](S s, Value x, Value y) { return s.add(x, y); });
  return b.store(pool.divide(sums), output);
}

template <typename OpTy>
static void addMaxPool(LegalizationTable &table, StringRef letters) {
  table.add<OpTy>([letters](KernelBuilder &b, OpTy op, ValueRange inputs,
                            ValueRange outputs) -> KernelResult {
    PoolBuilder pool(b, getPoolAttrs(op, letters), inputs[0], outputs[0]);
    return one(pool.reduce(outputs[0], Identity::Lowest,
                           [](S s, Value x, Value y) { return s.max(x, y); }));
  });
}

template <typename OpTy>
static void addAvgPool(LegalizationTable &table, StringRef letters) {
  table.add<OpTy>([letters](KernelBuilder &b, OpTy op, ValueRange inputs,
                            ValueRange outputs) -> KernelResult {
    return one(buildMeans(b, getPoolAttrs(op, letters), inputs[0], outputs[0]));
  });
}

//===----------------------------------------------------------------------===//
// Adaptive pooling
//===----------------------------------------------------------------------===//

namespace {
/// The part of one spatial dimension that an element of the result is made of.
struct Part {
  Value begin, end;
};
} // namespace

/// From floor(i * n / m) to ceil((i + 1) * n / m).
static Part adaptiveRange(ScalarBuilder &s, Value i, Value n, Value m) {
  Value begin = arith::DivUIOp::create(s, arith::MulIOp::create(s, i, n), m);
  Value next = arith::AddIOp::create(s, i, s.index(1));
  Value end =
      arith::CeilDivUIOp::create(s, arith::MulIOp::create(s, next, n), m);
  return {begin, end};
}

/// The sum of the elements of `data` in the ranges of its dimensions `places`.
static Value sumRanges(ScalarBuilder &s, Value data, Type type,
                       SmallVector<Value> &position, ArrayRef<int64_t> places,
                       ArrayRef<Part> ranges, Value sum) {
  if (places.empty()) {
    Value element = s.widen(tensor::ExtractOp::create(s, data, position));
    return s.add(sum, s.narrow(element, type));
  }
  Value step = s.index(1);
  auto loop = scf::ForOp::create(s, ranges.front().begin, ranges.front().end,
                                 step, sum);
  OpBuilder::InsertionGuard guard(s);
  s.setInsertionPointToStart(loop.getBody());
  position[places.front()] = loop.getInductionVar();
  Value inner =
      sumRanges(s, data, type, position, places.drop_front(),
                ranges.drop_front(), loop.getRegionIterArgs().front());
  scf::YieldOp::create(s, inner);
  return loop.getResult(0);
}

/// The mean of all elements of a channel.
static Value buildGlobalMean(KernelBuilder &b, ArrayRef<int64_t> places,
                             ArrayRef<int64_t> outPlaces, Value data,
                             Value output) {
  int64_t rank = places.size();
  SmallVector<int64_t> results(rank, -1);
  for (int64_t i : {0, 1})
    results[outPlaces[i]] = places[i];
  ArrayRef<int64_t> spatial = places.drop_front(2);
  Value sums = b.accumulator(output, [&] { return b.dims(output); });
  sums = b.compute(
      data, b.fill(b.scalars().constant(b.getElementType(sums), 0), sums),
      {b.identityMap(rank), b.map(rank, results)}, spatial,
      [](S s, V e) { return s.add(e[1], e[0]); });
  Value count = b.count(data, spatial, b.getElementType(sums));
  Value means =
      b.elementwise({}, sums, [&](S s, V e) { return s.div(e[0], count); });
  return b.store(means, output);
}

/// The sizes of the parts of the spatial dimensions where all parts of one are
/// of the same known size; none otherwise.
static SmallVector<int64_t> getPartSizes(Value data, ArrayRef<int64_t> places,
                                         Value output,
                                         ArrayRef<int64_t> outPlaces) {
  SmallVector<int64_t> sizes;
  for (auto [from, to] : llvm::drop_begin(llvm::zip(places, outPlaces), 2)) {
    int64_t size = KernelBuilder::getType(data).getDimSize(from);
    int64_t count = KernelBuilder::getType(output).getDimSize(to);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(count) ||
        size == 0 || count == 0 || size % count != 0)
      return {};
    sizes.push_back(size / count);
  }
  return sizes;
}

static KernelResult buildAdaptivePool(KernelBuilder &b,
                                      const AdaptivePoolAttrs &attrs,
                                      Value data, Value output) {
  SmallVector<int64_t> places = placesOf(attrs.layout, "NC", attrs.letters);
  SmallVector<int64_t> outPlaces =
      placesOf(attrs.outLayout, "NC", attrs.letters);
  bool isGlobal =
      llvm::all_of(ArrayRef(outPlaces).drop_front(2), [&](int64_t place) {
        return b.getType(output).getDimSize(place) == 1;
      });
  if (isGlobal && isa<FloatType>(b.getElementType(data)))
    return one(buildGlobalMean(b, places, outPlaces, data, output));
  if (SmallVector<int64_t> sizes =
          getPartSizes(data, places, output, outPlaces);
      !sizes.empty()) {
    SmallVector<int64_t> padding(2 * sizes.size(), 0);
    SmallVector<int64_t> dilation(sizes.size(), 1);
    PoolAttrs window = {attrs.letters,
                        sizes,
                        sizes,
                        padding,
                        dilation,
                        /*ceilMode=*/false,
                        /*countIncludePad=*/false,
                        attrs.layout,
                        attrs.outLayout};
    return one(buildMeans(b, window, data, output));
  }
  Type type = b.accumulatorType(b.getElementType(data));
  ArrayRef<int64_t> spatial = ArrayRef(places).drop_front(2);
  SmallVector<Value> from, to;
  for (size_t i = 0; i < spatial.size(); ++i) {
    from.push_back(b.dimValue(data, spatial[i]));
    to.push_back(b.dimValue(output, outPlaces[i + 2]));
  }
  return one(b.fromIndices(output, [&](S s, ArrayRef<Value> indices) {
    SmallVector<Value> position(places.size());
    for (int64_t i : {0, 1})
      position[places[i]] = indices[outPlaces[i]];
    SmallVector<Part> ranges;
    Value count = s.index(1);
    for (size_t i = 0; i < spatial.size(); ++i) {
      Part range = adaptiveRange(s, indices[outPlaces[i + 2]], from[i], to[i]);
      ranges.push_back(range);
      count = arith::MulIOp::create(
          s, count, arith::SubIOp::create(s, range.end, range.begin));
    }
    Value sum = sumRanges(s, data, type, position, spatial, ranges,
                          s.constant(type, 0));
    Value number = arith::IndexCastOp::create(s, s.getI64Type(), count);
    Value mean = s.div(sum, s.cast(number, s.getI64Type(), type));
    return s.narrow(mean, b.getElementType(output));
  }));
}

template <typename OpTy>
static void addAdaptivePool(LegalizationTable &table, StringRef letters) {
  table.add<OpTy>([letters](KernelBuilder &b, OpTy op, ValueRange inputs,
                            ValueRange outputs) {
    return buildAdaptivePool(b, getAdaptivePoolAttrs(op, letters), inputs[0],
                             outputs[0]);
  });
}

void mlir::relax::populateConv(LegalizationTable &table) {
  addConv<Conv1DOp>(table, "W");
  addConv<Conv2DOp>(table, "HW");
  addConv<Conv3DOp>(table, "DHW");
  addMaxPool<MaxPool1DOp>(table, "W");
  addMaxPool<MaxPool2DOp>(table, "HW");
  addMaxPool<MaxPool3DOp>(table, "DHW");
  addAvgPool<AvgPool1DOp>(table, "W");
  addAvgPool<AvgPool2DOp>(table, "HW");
  addAvgPool<AvgPool3DOp>(table, "DHW");
  addAdaptivePool<AdaptiveAvgPool1DOp>(table, "W");
  addAdaptivePool<AdaptiveAvgPool2DOp>(table, "HW");
  addAdaptivePool<AdaptiveAvgPool3DOp>(table, "DHW");
}
