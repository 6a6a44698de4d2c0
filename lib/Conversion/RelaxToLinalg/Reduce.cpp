//===- Reduce.cpp - Kernels of reductions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills the accumulator with the identity and reduces into it. Sums and
// products of floats of 16 bits accumulate in f32.
//
//===----------------------------------------------------------------------===//

#include "Lines.h"
#include "Statistics.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using Combine = Value (*)(ScalarBuilder &, Value, Value);

/// The axes that `op` reduces, counted from 0.
template <typename OpTy> static SmallVector<int64_t> reducedAxes(OpTy op) {
  int64_t ndim = tensorType(op.getX()).getNdim();
  if (std::optional<ArrayRef<int64_t>> axes = op.getAxis())
    return getAxes(*axes, ndim);
  return llvm::to_vector(llvm::seq<int64_t>(ndim));
}

/// The dimensions of a reduction of `x`.
static SmallVector<OpFoldResult>
keptDims(KernelBuilder &b, Value x, ArrayRef<int64_t> axes, bool keepdims) {
  SmallVector<OpFoldResult> dims;
  for (int64_t i = 0; i < b.getRank(x); ++i) {
    if (!llvm::is_contained(axes, i))
      dims.push_back(b.dim(x, i));
    else if (keepdims)
      dims.push_back(b.getIndexAttr(1));
  }
  return dims;
}

/// Reduces `x` into `output`, whatever it holds before.
static Value reduceInto(KernelBuilder &b, Value x, Value output,
                        ArrayRef<int64_t> axes, bool keepdims,
                        Identity identity, Combine combine) {
  int64_t loops = b.getRank(x);
  Value init = b.scalars().identity(identity, b.getElementType(output));
  return b.compute(x, b.fill(init, output),
                   {b.identityMap(loops), b.dropMap(loops, axes, keepdims)},
                   axes, [&](S s, ValueRange elements) {
                     return combine(s, elements[1], elements[0]);
                   });
}

/// Reductions that pick an element: exact in any data type.
template <typename OpTy>
static void addPick(LegalizationTable &table, Identity identity,
                    Combine combine) {
  table.add<OpTy>([=](KernelBuilder &b, OpTy op, ValueRange inputs,
                      ValueRange outputs) -> KernelResult {
    return one(reduceInto(b, inputs[0], outputs[0], reducedAxes(op),
                          op.getKeepdims(), identity, combine));
  });
}

/// Reductions that compute, in the type of the accumulator.
template <typename OpTy>
static Value accumulate(KernelBuilder &b, OpTy op, Value x, Value output,
                        Identity identity, Combine combine) {
  SmallVector<int64_t> axes = reducedAxes(op);
  auto dims = [&] { return keptDims(b, x, axes, op.getKeepdims()); };
  return reduceInto(b, x, b.accumulator(output, dims), axes, op.getKeepdims(),
                    identity, combine);
}

template <typename OpTy>
static void addCompute(LegalizationTable &table, Identity identity,
                       Combine combine) {
  table.add<OpTy>([=](KernelBuilder &b, OpTy op, ValueRange inputs,
                      ValueRange outputs) -> KernelResult {
    Value result = accumulate(b, op, inputs[0], outputs[0], identity, combine);
    return one(b.store(result, outputs[0]));
  });
}

static Value sum(ScalarBuilder &s, Value lhs, Value rhs) {
  return s.add(lhs, rhs);
}

static KernelResult buildMean(KernelBuilder &b, MeanOp op, ValueRange inputs,
                              ValueRange outputs) {
  Value total = accumulate(b, op, inputs[0], outputs[0], Identity::Zero, sum);
  Value count = b.count(inputs[0], reducedAxes(op), b.getElementType(total));
  Value mean = b.elementwise({}, total, [&](S s, ValueRange elements) {
    return s.div(elements[0], count);
  });
  return one(b.store(mean, outputs[0]));
}

/// The variance, or with `isRoot` its square root. Reduced dimensions that stay
/// have size 1.
template <typename OpTy>
static void addVariance(LegalizationTable &table, bool isRoot) {
  table.add<OpTy>([isRoot](KernelBuilder &b, OpTy op, ValueRange inputs,
                           ValueRange outputs) -> KernelResult {
    Value x = inputs[0], output = outputs[0];
    SmallVector<int64_t> axes = reducedAxes(op);
    Value variance = rowMeanSquare(b, x, rowMean(b, x, axes), axes);
    int64_t loops = b.getRank(output);
    SmallVector<int64_t> kept;
    for (int64_t i = 0; i < b.getRank(x); ++i)
      if (!llvm::is_contained(axes, i))
        kept.push_back(op.getKeepdims() ? i
                                        : static_cast<int64_t>(kept.size()));
    return one(
        b.compute(variance, output, {b.map(loops, kept), b.identityMap(loops)},
                  {}, [&](S s, ValueRange e) {
                    return isRoot ? Value(math::SqrtOp::create(s, e[0])) : e[0];
                  }));
  });
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The best element so far and its index are kept. NaN is better than any
/// number.
template <typename OpTy>
static void addArgReduce(LegalizationTable &table, Comparison isBetter) {
  table.add<OpTy>([isBetter](KernelBuilder &b, OpTy op, ValueRange inputs,
                             ValueRange outputs) -> KernelResult {
    std::optional<int64_t> given = op.getAxis();
    Value x = given ? inputs[0] : b.flatten(inputs[0]);
    Value output = outputs[0];
    int64_t loops = b.getRank(x), axis = getAxis(given.value_or(0), loops);
    AffineMap map = b.dropMap(loops, axis, op.getKeepdims());
    SmallVector<OpFoldResult> dims = keptDims(b, x, axis, op.getKeepdims());
    if (!given) {
      map = b.map(loops, SmallVector<int64_t>(b.getRank(output), -1));
      dims.assign(b.getRank(output), b.getIndexAttr(1));
    }
    ScalarBuilder scalars = b.scalars();
    Type type = b.accumulatorType(b.getElementType(x));
    Identity worst =
        isBetter == Comparison::Gt ? Identity::Lowest : Identity::Highest;
    Value best = b.fill(scalars.identity(worst, type), b.empty(dims, type));
    Value place = b.fill(scalars.constant(b.getElementType(output), 0), output);
    SmallVector<utils::IteratorType> iterators(loops,
                                               utils::IteratorType::parallel);
    iterators[axis] = utils::IteratorType::reduction;
    auto body = [&](OpBuilder &builder, Location loc, ValueRange e) {
      ScalarBuilder s(builder, loc, tensorType(op.getX()).getDtype());
      Value next = s.widen(e[0]);
      Value index = arith::IndexCastOp::create(
          s, e[2].getType(), linalg::IndexOp::create(s, axis));
      Value better;
      if (isa<FloatType>(type)) {
        // One comparison for numbers and NaN.
        using P = arith::CmpFPredicate;
        better = arith::CmpFOp::create(
            s, isBetter == Comparison::Gt ? P::UGT : P::ULT, next, e[1]);
        Value isNumber = arith::CmpFOp::create(s, P::ORD, e[1], e[1]);
        better = arith::AndIOp::create(s, better, isNumber);
      } else {
        better = s.compare(isBetter, next, e[1]);
      }
      linalg::YieldOp::create(s, ValueRange{s.select(better, next, e[1]),
                                            s.select(better, index, e[2])});
    };
    auto reduction = linalg::GenericOp::create(
        b, TypeRange{best.getType(), place.getType()}, x,
        ValueRange{best, place},
        ArrayRef<AffineMap>{b.identityMap(loops), map, map}, iterators, body);
    return one(reduction.getResult(1));
  });
}

//===----------------------------------------------------------------------===//
// Sums of what was broadcast
//===----------------------------------------------------------------------===//

/// The axes of `data` that a sum in the shape of `result` goes over.
static SmallVector<int64_t> collapsedAxes(ArrayRef<int64_t> data,
                                          ArrayRef<int64_t> result) {
  size_t first = data.size() - result.size();
  SmallVector<int64_t> axes;
  for (size_t axis = 0; axis < data.size(); ++axis)
    if (axis < first || (result[axis - first] == 1 && data[axis] != 1))
      axes.push_back(axis);
  return axes;
}

/// The dimensions of a tensor, those that are not known as dynamic ones.
static SmallVector<int64_t> knownDims(TensorStructInfoType tensor) {
  return llvm::map_to_vector(tensor.getDims(), [](PrimExprAttr dim) {
    return dim.getConstant().value_or(ShapedType::kDynamic);
  });
}

template <typename OpTy> static void addCollapse(LegalizationTable &table) {
  table.add<OpTy>([](KernelBuilder &b, OpTy, ValueRange inputs,
                     ValueRange outputs) -> KernelResult {
    Value x = inputs[0], output = outputs[0];
    int64_t loops = b.getRank(x), first = loops - b.getRank(output);
    SmallVector<int64_t> axes =
        collapsedAxes(b.getType(x).getShape(), b.getType(output).getShape());
    SmallVector<int64_t> places;
    for (int64_t axis = first; axis < loops; ++axis)
      places.push_back(llvm::is_contained(axes, axis) ? -1 : axis);
    Value total = b.accumulator(output, [&] { return b.dims(output); });
    Value zero = b.scalars().identity(Identity::Zero, b.getElementType(total));
    total = b.compute(x, b.fill(zero, total),
                      {b.identityMap(loops), b.map(loops, places)}, axes,
                      [](S s, ValueRange e) { return s.add(e[1], e[0]); });
    return one(b.store(total, output));
  });
  // Dimensions that are not added are the same.
  table.addChecks<OpTy>([](OpTy op, Type type) {
    TensorStructInfoType data = tensorType(op.getData());
    auto result = cast<TensorStructInfoType>(type);
    int64_t first = data.getNdim() - result.getNdim();
    SmallVector<int64_t> axes =
        collapsedAxes(knownDims(data), knownDims(result));
    DimPairs pairs;
    for (int64_t axis = first; axis < data.getNdim(); ++axis)
      if (!llvm::is_contained(axes, axis))
        pairs.emplace_back(result.getDims()[axis - first],
                           data.getDims()[axis]);
    return pairs;
  });
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// A scan as one operation, whose loop along the axis carries totals, from
/// `start` on: devices have many threads for a line.
static Value
scanByAllThreads(KernelBuilder &b, Value data, Value output, int64_t axis,
                 Value start, bool isExclusive,
                 llvm::function_ref<Value(S, Value, Value)> combine) {
  int64_t rank = b.getRank(data);
  Value totals =
      b.fill(start, b.empty(keptDims(b, data, axis, false), start.getType()));
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  kinds[axis] = utils::IteratorType::reduction;
  AffineMap each = b.identityMap(rank);
  auto scan = linalg::GenericOp::create(
      b, TypeRange{output.getType(), totals.getType()}, data,
      ValueRange{output, totals},
      ArrayRef<AffineMap>{each, each, b.dropMap(rank, axis)}, kinds,
      [&](OpBuilder &builder, Location, ValueRange e) {
        ScalarBuilder s = b.scalars();
        s.restoreInsertionPoint(builder.saveInsertionPoint());
        Value after = combine(s, e[2], e[0]);
        Value written = s.narrow(isExclusive ? e[2] : after, e[1].getType());
        linalg::YieldOp::create(s, ValueRange{written, after});
      });
  return scan.getResult(0);
}

namespace {
/// Writes for each element what those up to it are together. Elements are put
/// together with their neighbors before, where that gives the same: all that
/// are lanes of a vector where any order does, or four where the type of totals
/// holds any four elements. Then only the last one of them waits for the total.
/// Totals are rounded when they are written.
class Scan {
public:
  /// How many elements may be put together before they are added to a total.
  enum class Order { OneByOne, Four, Any };
  /// `add` combines a total with an element, `read` and `write` convert.
  using Add = llvm::function_ref<Value(S, Value, Value)>;
  using Convert = llvm::function_ref<Value(S, Value)>;

  Scan(KernelBuilder &b, Value data, int64_t axis, Value start, Add add,
       Convert read, Convert write, bool isExclusive, Order order)
      : b(b), data(data), axis(axis), start(start), add(add), read(read),
        write(write), isExclusive(isExclusive), order(order) {}

  Value build(Value output);

private:
  Carried scanLine(ValueRange tensors, SmallVectorImpl<Value> &place);
  Carried scanLines(ValueRange tensors, SmallVectorImpl<Value> &place);
  /// Goes on with a vector of elements of a line.
  Carried scanVector(Value at, ValueRange carried,
                     SmallVectorImpl<Value> &place);
  /// The lanes of such a vector; 0 where lines are no vectors.
  int64_t getLanes(Value output) const;
  /// Goes on with `count` elements of a line.
  Carried scanElements(Value at, int64_t count, ValueRange carried,
                       SmallVectorImpl<Value> &place);
  Value load(Value at, SmallVectorImpl<Value> &place) {
    ScalarBuilder s = b.scalars();
    place[axis] = at;
    return read(s, tensor::ExtractOp::create(b, data, place));
  }
  Value insert(Value total, Value at, Value tensor,
               SmallVectorImpl<Value> &place) {
    ScalarBuilder s = b.scalars();
    place[axis] = at;
    return tensor::InsertOp::create(b, write(s, total), tensor, place);
  }
  Value plus(Value index, int64_t value) {
    return value == 0 ? index : arith::AddIOp::create(b, index, b.index(value));
  }

  /// Elements of a line that are put together first.
  static constexpr int64_t kElements = 4;
  /// Lines at once: the elements of a line of a cache.
  static constexpr int64_t kLines = 16;

  KernelBuilder &b;
  Value data;
  int64_t axis;
  Value start;
  Add add;
  Convert read, write;
  bool isExclusive;
  Order order;
};
} // namespace

Value Scan::build(Value output) {
  LineLoops lines(b, data, axis);
  auto line = [&](ValueRange tensors, SmallVectorImpl<Value> &place) {
    return scanLine(tensors, place);
  };
  if (axis + 1 == b.getRank(data))
    return lines.overLines(output, line).front();
  auto block = [&](ValueRange tensors, SmallVectorImpl<Value> &place) {
    return scanLines(tensors, place);
  };
  return lines.overBlocks(output, kLines, block, line).front();
}

int64_t Scan::getLanes(Value output) const {
  Type type = start.getType();
  bool isVector = order == Order::Any && axis + 1 == b.getRank(data) &&
                  b.getElementType(data) == type &&
                  b.getElementType(output) == type;
  unsigned width = type.getIntOrFloatBitWidth();
  // Those of 64 bytes.
  return isVector && width >= (isa<FloatType>(type) ? 32 : 8) ? 512 / width : 0;
}

/// Carries a vector of which each lane is the total.
Carried Scan::scanVector(Value at, ValueRange carried,
                         SmallVectorImpl<Value> &place) {
  auto type = cast<VectorType>(carried[1].getType());
  int64_t lanes = type.getDimSize(0);
  ScalarBuilder s = b.scalars();
  Value starts = vector::BroadcastOp::create(b, type, start);
  place[axis] = at;
  Value parts = vector::TransferReadOp::create(
      b, type, data, place, std::optional<Value>(start), ArrayRef<bool>(true));
  // Lanes of `before`, and behind them those of `vector` but the last ones.
  auto shift = [&](Value before, Value vector, int64_t count) -> Value {
    auto moves = llvm::to_vector(llvm::seq(lanes - count, 2 * lanes - count));
    return vector::ShuffleOp::create(b, before, vector, moves);
  };
  for (int64_t count = 1; count < lanes; count *= 2)
    parts = add(s, shift(starts, parts, count), parts);
  Value totals = add(s, carried[1], parts);
  Value all = vector::ShuffleOp::create(b, parts, parts,
                                        SmallVector<int64_t>(lanes, lanes - 1));
  Value written = isExclusive ? shift(carried[1], totals, 1) : totals;
  Value tensor = vector::TransferWriteOp::create(b, written, carried[0], place,
                                                 ArrayRef<bool>(true))
                     .getResult();
  return {tensor, add(s, carried[1], all)};
}

Carried Scan::scanElements(Value at, int64_t count, ValueRange carried,
                           SmallVectorImpl<Value> &place) {
  ScalarBuilder s = b.scalars();
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i) {
    Value number = load(plus(at, i), place);
    parts.push_back(i == 0 ? number : add(s, parts.back(), number));
  }
  SmallVector<Value> totals = {carried[1]};
  for (Value part : parts)
    totals.push_back(add(s, carried[1], part));
  Value tensor = carried[0];
  for (int64_t i = 0; i < count; ++i)
    tensor =
        insert(totals[isExclusive ? i : i + 1], plus(at, i), tensor, place);
  return {tensor, totals.back()};
}

Carried Scan::scanLine(ValueRange tensors, SmallVectorImpl<Value> &place) {
  Value zero = b.index(0), one = b.index(1), size = b.dimValue(data, axis);
  Carried carried = {tensors[0], start};
  int64_t lanes = getLanes(tensors[0]);
  int64_t count = lanes ? lanes : order == Order::OneByOne ? 1 : kElements;
  Value step = b.index(count);
  Value end =
      arith::SubIOp::create(b, size, arith::RemUIOp::create(b, size, step));
  if (lanes) {
    carried[1] = vector::BroadcastOp::create(
        b, VectorType::get(lanes, start.getType()), start);
    carried = buildLoop(b, zero, end, step, carried,
                        [&](Value at, ValueRange carried) {
                          return scanVector(at, carried, place);
                        });
    carried[1] = vector::ExtractOp::create(b, carried[1], 0);
  } else {
    carried = buildLoop(b, zero, end, step, carried,
                        [&](Value at, ValueRange carried) {
                          return scanElements(at, count, carried, place);
                        });
  }
  carried =
      buildLoop(b, end, size, one, carried, [&](Value at, ValueRange carried) {
        return scanElements(at, 1, carried, place);
      });
  return {carried[0]};
}

Carried Scan::scanLines(ValueRange tensors, SmallVectorImpl<Value> &place) {
  Carried carried = {tensors[0]};
  carried.append(kLines, start);
  Value first = place.back();
  carried =
      buildLoop(b, b.index(0), b.dimValue(data, axis), b.index(1), carried,
                [&](Value at, ValueRange carried) {
                  ScalarBuilder s = b.scalars();
                  SmallVector<Value> columns, after;
                  for (int64_t i = 0; i < kLines; ++i) {
                    columns.push_back(plus(first, i));
                    place.back() = columns.back();
                    after.push_back(add(s, carried[i + 1], load(at, place)));
                  }
                  Carried next = {carried[0]};
                  for (int64_t i = 0; i < kLines; ++i) {
                    place.back() = columns[i];
                    next[0] = insert(isExclusive ? carried[i + 1] : after[i],
                                     at, next[0], place);
                  }
                  llvm::append_range(next, after);
                  return next;
                });
  place.back() = first;
  return {carried[0]};
}

/// The type of the totals of elements.
static Type getTotalType(KernelBuilder &b, Type element) {
  if (element.isF32() && !b.isOnDevice())
    return b.getF64Type();
  return b.accumulatorType(element);
}

/// Of exact ones, such as extremes, the order in which elements are combined
/// makes no difference.
template <typename OpTy>
static void addScan(LegalizationTable &table, Identity identity,
                    Combine combine, bool isExact = false) {
  table.add<OpTy>([=](KernelBuilder &b, OpTy op, ValueRange inputs,
                      ValueRange outputs) -> KernelResult {
    Type from = tensorType(op.getData()).getDtype();
    Type to = op.getDtype().value_or(from);
    Value data = op.getAxis() ? inputs[0] : b.flatten(inputs[0]);
    int64_t axis = getAxis(op.getAxis().value_or(0), b.getRank(data));
    Type element = b.getElementType(outputs[0]);
    Type type = isExact ? element : getTotalType(b, element);
    Type wide = type == element ? to : type;
    Value start = ScalarBuilder(b, b.getLoc(), to).identity(identity, type);
    auto add = [&](S s, Value before, Value number) {
      ScalarBuilder scalars(s, s.getLoc(), to);
      return combine(scalars, before, number);
    };
    auto read = [&](S s, Value number) { return s.cast(number, from, wide); };
    if (b.isOnDevice())
      return one(scanByAllThreads(b, data, outputs[0], axis, start,
                                  op.getExclusive(),
                                  [&](S s, Value before, Value number) {
                                    return add(s, before, read(s, number));
                                  }));
    auto write = [&](S s, Value total) { return s.narrow(total, element); };
    Scan::Order order = Scan::Order::OneByOne;
    if (isExact || !isa<FloatType>(type))
      order = Scan::Order::Any;
    else if (type != element && !element.isBF16())
      order = Scan::Order::Four;
    return one(
        Scan(b, data, axis, start, add, read, write, op.getExclusive(), order)
            .build(outputs[0]));
  });
}

void mlir::relax::populateReduce(LegalizationTable &table) {
  addCompute<SumOp>(table, Identity::Zero, sum);
  addCompute<ProdOp>(table, Identity::One,
                     [](S s, Value x, Value y) { return s.mul(x, y); });
  addPick<MaxOp>(table, Identity::Lowest,
                 [](S s, Value x, Value y) { return s.max(x, y); });
  addPick<MinOp>(table, Identity::Highest,
                 [](S s, Value x, Value y) { return s.min(x, y); });
  table.add<MeanOp>(buildMean);
  addVariance<VarianceOp>(table, /*isRoot=*/false);
  addVariance<StdOp>(table, /*isRoot=*/true);
  addArgReduce<ArgmaxOp>(table, Comparison::Gt);
  addArgReduce<ArgminOp>(table, Comparison::Lt);
  addCollapse<CollapseSumLikeOp>(table);
  addCollapse<CollapseSumToOp>(table);
  addScan<CumsumOp>(table, Identity::Zero, sum);
  addScan<CumprodOp>(table, Identity::One,
                     [](S s, Value x, Value y) { return s.mul(x, y); });
  addScan<CummaxOp>(
      table, Identity::Lowest,
      [](S s, Value x, Value y) { return s.max(x, y); }, /*isExact=*/true);
  addScan<CumminOp>(
      table, Identity::Highest,
      [](S s, Value x, Value y) { return s.min(x, y); }, /*isExact=*/true);
}
