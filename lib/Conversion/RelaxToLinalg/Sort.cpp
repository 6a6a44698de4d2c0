//===- Sort.cpp - Kernels of operators that order and search ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Long lines are sorted by digits: RadixSort.cpp. Others are sorted by merging
// runs, from one element on, which is stable and takes the same time for all
// data. Two copies of a line take turns as source
// and destination. Two runs of the same length are merged from both ends at
// once: half of the elements from each, so that no index leaves its run and two
// chains of instructions are independent. Where the places of the elements are
// wanted, too, they move with the elements. A few greatest or least elements
// are kept in order while the others are compared with the last one of them.
// Devices have threads for all elements: DeviceSort.cpp.
//
//===----------------------------------------------------------------------===//

#include "DeviceSort.h"
#include "Lines.h"
#include "RadixSort.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

static Value index(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value mlir::relax::isLess(ScalarBuilder &s, Value x, Value y) {
  x = s.widen(x);
  y = s.widen(y);
  if (!isa<FloatType>(x.getType()))
    return s.compare(Comparison::Lt, x, y);
  Value isNumber = arith::CmpFOp::create(s, arith::CmpFPredicate::ORD, x, x);
  Value isLess = arith::CmpFOp::create(s, arith::CmpFPredicate::ULT, x, y);
  return arith::AndIOp::create(s, isNumber, isLess);
}

Value mlir::relax::isBefore(ScalarBuilder &s, Value x, Value y,
                            bool isDescending) {
  return isDescending ? isLess(s, y, x) : isLess(s, x, y);
}

Value mlir::relax::countBits(ScalarBuilder &s, Value number) {
  Type i64 = s.getI64Type();
  Value zeros = math::CountLeadingZerosOp::create(
      s, arith::IndexCastOp::create(s, i64, number));
  Value bits = arith::SubIOp::create(s, s.constant(i64, 64), zeros);
  return arith::IndexCastOp::create(s, s.getIndexType(), bits);
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

namespace {
/// Sorts lines of tensors that move together; the first one has the keys.
class LineSort {
public:
  LineSort(KernelBuilder &b, Value data, int64_t axis, bool isDescending)
      : b(b), lines(b, data, axis, kCost), data(data), axis(axis),
        isDescending(isDescending), size(b.dimValue(data, axis)) {}

  /// Returns the tensors, with each line in order.
  Carried sort(ArrayRef<Value> tensors);

private:
  Carried sortLine(ValueRange tensors, SmallVectorImpl<Value> &place);
  Carried mergeLine(ValueRange tensors, SmallVectorImpl<Value> &place);
  Carried mergeRuns(ValueRange from, ValueRange to, Value width,
                    SmallVectorImpl<Value> &place);
  Carried mergeEqual(ValueRange from, ValueRange to, Value begin, Value width,
                     SmallVectorImpl<Value> &place);
  Carried mergeRest(ValueRange from, ValueRange to, Value begin, Value middle,
                    SmallVectorImpl<Value> &place);
  /// Writes to index `at` of each tensor of `to` what is in `from` at index
  /// `right` or `left`; the keys are given.
  Carried select(Value takesRight, ValueRange keys, ValueRange from,
                 ValueRange to, Value left, Value right, Value at,
                 SmallVectorImpl<Value> &place);
  Value load(Value tensor, Value at, SmallVectorImpl<Value> &place) {
    place[axis] = at;
    return tensor::ExtractOp::create(b, tensor, place);
  }
  Value constant(int64_t value) { return index(b, b.getLoc(), value); }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return arith::SubIOp::create(b, lhs, rhs); }
  Value min(Value lhs, Value rhs) {
    return arith::MinUIOp::create(b, lhs, rhs);
  }
  /// 1 or 0
  Value asIndex(Value condition) {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), condition);
  }

  /// An element takes so much longer than one that is added.
  static constexpr int64_t kCost = 16;

  KernelBuilder &b;
  LineLoops lines;
  Value data;
  int64_t axis;
  bool isDescending;
  Value size;
};
} // namespace

Carried LineSort::sort(ArrayRef<Value> tensors) {
  Carried all(tensors);
  for (Value tensor : tensors)
    all.push_back(b.empty(b.dims(tensor), b.getElementType(tensor)));
  all = lines.overLines(all,
                        [&](ValueRange tensors, SmallVectorImpl<Value> &place) {
                          return sortLine(tensors, place);
                        });
  all.truncate(tensors.size());
  return all;
}

/// Sorts a line by digits where it is long, otherwise by merging.
Carried LineSort::sortLine(ValueRange tensors, SmallVectorImpl<Value> &place) {
  std::optional<int64_t> least = leastToSortByDigits(b.getElementType(data));
  if (!least)
    return mergeLine(tensors, place);
  RadixSort radix(b, data, axis, isDescending);
  int64_t known = b.getType(data).getDimSize(axis);
  if (!ShapedType::isDynamic(known))
    return known < *least ? mergeLine(tensors, place)
                          : radix.sortLine(tensors, place);
  Value isLong = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, size,
                                       constant(*least));
  auto conditional =
      scf::IfOp::create(b, tensors.getTypes(), isLong, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(conditional.thenBlock());
  scf::YieldOp::create(b, radix.sortLine(tensors, place));
  b.setInsertionPointToStart(conditional.elseBlock());
  scf::YieldOp::create(b, mergeLine(tensors, place));
  return llvm::to_vector_of<Value>(conditional.getResults());
}

/// Merges runs of 1, 2, 4, ... elements, and returns to the first copy.
Carried LineSort::mergeLine(ValueRange tensors, SmallVectorImpl<Value> &place) {
  ScalarBuilder s = b.scalars();
  // The runs are doubled twice in each round: ceil(log4(size)) rounds.
  Value last = arith::SubIOp::create(
      b, arith::MaxUIOp::create(b, size, constant(1)), constant(1));
  Value rounds = arith::DivUIOp::create(b, add(countBits(s, last), constant(1)),
                                        constant(2));
  size_t half = tensors.size() / 2;
  return buildLoop(b, constant(0), rounds, constant(1), tensors,
                   [&](Value round, ValueRange carried) {
                     Value shift = add(round, round);
                     Value width = arith::ShLIOp::create(b, constant(1), shift);
                     Carried first(carried.take_front(half));
                     Carried second = mergeRuns(first, carried.drop_front(half),
                                                width, place);
                     first = mergeRuns(second, first, add(width, width), place);
                     first.append(second);
                     return first;
                   });
}

/// Merges each two neighbouring runs of `width` elements, of which the last
/// ones may have fewer.
Carried LineSort::mergeRuns(ValueRange from, ValueRange to, Value width,
                            SmallVectorImpl<Value> &place) {
  Value both = add(width, width);
  Value rest = sub(size, arith::RemUIOp::create(b, size, both));
  Carried merged = buildLoop(
      b, constant(0), rest, both, to, [&](Value begin, ValueRange carried) {
        return mergeEqual(from, carried, begin, width, place);
      });
  return mergeRest(from, merged, rest, min(add(rest, width), size), place);
}

Carried LineSort::select(Value takesRight, ValueRange keys, ValueRange from,
                         ValueRange to, Value left, Value right, Value at,
                         SmallVectorImpl<Value> &place) {
  Carried results;
  for (auto [i, tensor] : llvm::enumerate(to)) {
    Value lhs = i == 0 ? keys[0] : load(from[i], left, place);
    Value rhs = i == 0 ? keys[1] : load(from[i], right, place);
    Value element = arith::SelectOp::create(b, takesRight, rhs, lhs);
    place[axis] = at;
    results.push_back(tensor::InsertOp::create(b, element, tensor, place));
  }
  return results;
}

/// Merges two runs of `width` elements from both ends.
Carried LineSort::mergeEqual(ValueRange from, ValueRange to, Value begin,
                             Value width, SmallVectorImpl<Value> &place) {
  Value one = constant(1), middle = add(begin, width);
  Value last = sub(add(middle, width), one);
  Carried carried = {begin, middle, sub(middle, one), last};
  llvm::append_range(carried, to);
  carried = buildLoop(
      b, constant(0), width, one, carried, [&](Value at, ValueRange carried) {
        ScalarBuilder s = b.scalars();
        // Of equal elements that on the left comes first.
        Value left = carried[0], right = carried[1];
        Value keys[] = {load(from[0], left, place),
                        load(from[0], right, place)};
        Value takesRight = isBefore(s, keys[1], keys[0], isDescending);
        Value step = asIndex(takesRight);
        Carried next = {add(left, sub(one, step)), add(right, step)};
        Carried tensors = select(takesRight, keys, from, carried.drop_front(4),
                                 left, right, add(begin, at), place);
        left = carried[2], right = carried[3];
        keys[0] = load(from[0], left, place);
        keys[1] = load(from[0], right, place);
        Value takesLeft = isBefore(s, keys[1], keys[0], isDescending);
        step = asIndex(takesLeft);
        next.append({sub(left, step), sub(right, sub(one, step))});
        std::swap(keys[0], keys[1]);
        llvm::append_range(next, select(takesLeft, keys, from, tensors, right,
                                        left, sub(last, at), place));
        return next;
      });
  return Carried(ArrayRef<Value>(carried).drop_front(4));
}

/// Merges the last two runs, of which the second one ends with the line.
Carried LineSort::mergeRest(ValueRange from, ValueRange to, Value begin,
                            Value middle, SmallVectorImpl<Value> &place) {
  Value one = constant(1), last = sub(size, one);
  Carried carried = {begin, middle};
  llvm::append_range(carried, to);
  carried = buildLoop(
      b, begin, size, one, carried, [&](Value at, ValueRange carried) {
        ScalarBuilder s = b.scalars();
        // A run that is used up has no element: one that is there is read.
        Value left = min(carried[0], last), right = min(carried[1], last);
        Value keys[] = {load(from[0], left, place),
                        load(from[0], right, place)};
        Value hasRight = arith::CmpIOp::create(s, arith::CmpIPredicate::ult,
                                               carried[1], size);
        Value noLeft = arith::CmpIOp::create(s, arith::CmpIPredicate::uge,
                                             carried[0], middle);
        Value wins = isBefore(s, keys[1], keys[0], isDescending);
        Value takesRight = arith::AndIOp::create(
            s, hasRight, arith::OrIOp::create(s, noLeft, wins));
        Value step = asIndex(takesRight);
        Carried next = {add(carried[0], sub(one, step)), add(carried[1], step)};
        llvm::append_range(next,
                           select(takesRight, keys, from, carried.drop_front(2),
                                  left, right, at, place));
        return next;
      });
  return Carried(ArrayRef<Value>(carried).drop_front(2));
}

/// Each element's index along an axis.
static Value buildPlaces(KernelBuilder &b, Value output, int64_t axis) {
  Type type = b.getElementType(output);
  return b.fromIndices(output, [&](S s, ArrayRef<Value> indices) -> Value {
    return arith::IndexCastOp::create(s, type, indices[axis]);
  });
}

static KernelResult buildSort(KernelBuilder &b, SortOp op, ValueRange inputs,
                              ValueRange outputs) {
  int64_t axis = getAxis(op.getAxis(), b.getRank(inputs[0]));
  bool isDescending = op.getDescending();
  if (b.isOnDevice())
    return one(
        sortByAllThreads(b, inputs[0], outputs[0], axis, isDescending).front());
  LineSort sort(b, inputs[0], axis, isDescending);
  return one(sort.sort(b.copy(inputs[0], outputs[0])).front());
}

/// Sorts a copy of `data` and the places of its elements, which are of `type`.
static Carried sortPlaces(KernelBuilder &b, Value data, Type type, int64_t axis,
                          bool isDescending) {
  SmallVector<OpFoldResult> dims = b.dims(data);
  Value keys = b.copy(data, b.empty(dims, b.getElementType(data)));
  Value places = buildPlaces(b, b.empty(dims, type), axis);
  return LineSort(b, data, axis, isDescending).sort({keys, places});
}

static KernelResult buildArgsort(KernelBuilder &b, ArgsortOp op,
                                 ValueRange inputs, ValueRange outputs) {
  Value data = inputs[0], output = outputs[0];
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  if (b.isOnDevice()) {
    Value keys = b.empty(b.dims(data), b.getElementType(data));
    return one(
        sortByAllThreads(b, data, {keys, output}, axis, op.getDescending())[1]);
  }
  Carried sorted =
      sortPlaces(b, data, b.getElementType(output), axis, op.getDescending());
  return one(b.copy(sorted[1], output));
}

namespace {
/// Keeps the first elements of each line in order.
class FirstElements {
public:
  FirstElements(KernelBuilder &b, Value data, int64_t axis, int64_t count,
                bool isDescending)
      : b(b), data(data), lines(b, data, axis, count < 16 ? 4 : 16), axis(axis),
        count(count), isDescending(isDescending) {}

  /// Fills the tensors: the first one has the keys, a second one the places.
  Carried find(ValueRange tensors);

private:
  Carried consider(Value at, ValueRange tensors, SmallVectorImpl<Value> &place);
  Carried insert(ValueRange elements, Value at, ValueRange tensors,
                 SmallVectorImpl<Value> &place);

  KernelBuilder &b;
  Value data;
  LineLoops lines;
  int64_t axis, count;
  bool isDescending;
};
} // namespace

Carried FirstElements::find(ValueRange tensors) {
  return lines.overLines(
      tensors, [&](ValueRange carried, SmallVectorImpl<Value> &place) {
        return lines.alongLine(carried, [&](Value at, ValueRange carried) {
          return consider(at, carried, place);
        });
      });
}

/// Inserts the element at an index, if it is among the first ones so far.
Carried FirstElements::consider(Value at, ValueRange tensors,
                                SmallVectorImpl<Value> &place) {
  ScalarBuilder s = b.scalars();
  place[axis] = at;
  Carried elements = {tensor::ExtractOp::create(s, data, place)};
  if (tensors.size() == 2)
    elements.push_back(
        arith::IndexCastOp::create(s, b.getElementType(tensors[1]), at));
  Value last = index(b, b.getLoc(), count - 1);
  place[axis] = last;
  Value worst = tensor::ExtractOp::create(s, tensors[0], place);
  Value isFree = arith::CmpIOp::create(s, arith::CmpIPredicate::ule, at, last);
  Value isFirst = arith::OrIOp::create(
      s, isFree, isBefore(s, elements[0], worst, isDescending));
  auto conditional =
      scf::IfOp::create(b, tensors.getTypes(), isFirst, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(conditional.thenBlock());
  scf::YieldOp::create(
      b, insert(elements, arith::MinUIOp::create(b, at, last), tensors, place));
  b.setInsertionPointToStart(conditional.elseBlock());
  scf::YieldOp::create(b, tensors);
  return llvm::to_vector_of<Value>(conditional.getResults());
}

/// Moves those that come later by one, from index `at` on downwards.
Carried FirstElements::insert(ValueRange elements, Value at, ValueRange tensors,
                              SmallVectorImpl<Value> &place) {
  Value zero = index(b, b.getLoc(), 0), one = index(b, b.getLoc(), 1);
  // The elements before index `at` are in order: it is as many as come before.
  Value before =
      buildLoop(b, zero, at, one, zero, [&](Value i, ValueRange carried) {
        ScalarBuilder s = b.scalars();
        place[axis] = i;
        Value other = tensor::ExtractOp::create(s, tensors[0], place);
        Value isLater = isBefore(s, elements[0], other, isDescending);
        Value stays = arith::SelectOp::create(s, isLater, zero, one);
        return Carried{s.add(carried[0], stays)};
      }).front();
  Carried moved =
      buildLoop(b, before, at, one, tensors, [&](Value i, ValueRange carried) {
        Value to =
            arith::SubIOp::create(b, arith::AddIOp::create(b, before, at), i);
        Value from = arith::SubIOp::create(b, to, one);
        Carried next;
        for (Value tensor : carried) {
          place[axis] = from;
          Value element = tensor::ExtractOp::create(b, tensor, place);
          place[axis] = to;
          next.push_back(tensor::InsertOp::create(b, element, tensor, place));
        }
        return next;
      });
  place[axis] = before;
  for (auto [tensor, element] : llvm::zip_equal(moved, elements))
    tensor = tensor::InsertOp::create(b, element, tensor, place);
  return moved;
}

/// Few elements, and not all, are found without sorting, by a thread that has
/// the line.
static constexpr int64_t kMostFirst = 64;

static KernelResult buildFirst(KernelBuilder &b, TopkOp op, Value data,
                               ValueRange outputs) {
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  FirstElements first(b, data, axis, op.getK(), op.getLargest());
  // Loops read the tensors that they carry: they start as zeros.
  auto clear = [&](Value tensor) {
    return b.fill(b.scalars().constant(b.getElementType(tensor), 0), tensor);
  };
  Carried tensors = llvm::map_to_vector(outputs, clear);
  bool hasKeys = op.getRetType() != "indices";
  if (!hasKeys)
    tensors.insert(tensors.begin(), clear(b.empty(b.dims(outputs.front()),
                                                  b.getElementType(data))));
  tensors = first.find(tensors);
  return Carried(ArrayRef<Value>(tensors).drop_front(hasKeys ? 0 : 1));
}

/// The same on a device, where only the first elements need be in order.
static Carried sortFirstPlaces(KernelBuilder &b, TopkOp op, Value data,
                               Type type, int64_t axis) {
  SmallVector<OpFoldResult> dims = b.dims(data);
  Value keys = b.empty(dims, b.getElementType(data));
  Value places = b.empty(dims, type);
  std::optional<int64_t> count;
  if (op.getK() >= 1)
    count = op.getK();
  return sortByAllThreads(b, data, {keys, places}, axis, op.getLargest(),
                          count);
}

static KernelResult buildTopk(KernelBuilder &b, TopkOp op, ValueRange inputs,
                              ValueRange outputs) {
  Value data = inputs[0];
  int64_t k = op.getK();
  if (k >= 1 && k <= kMostFirst && !b.isOnDevice())
    return buildFirst(b, op, data, outputs);
  bool hasValues = op.getRetType() != "indices";
  bool hasIndices = op.getRetType() != "values";
  Type type = hasIndices ? b.getElementType(outputs.back()) : b.getI32Type();
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  Carried sorted = b.isOnDevice()
                       ? sortFirstPlaces(b, op, data, type, axis)
                       : sortPlaces(b, data, type, axis, op.getLargest());
  ArrayRef<Value> wanted(sorted);
  wanted = wanted.drop_front(hasValues ? 0 : 1).drop_back(hasIndices ? 0 : 1);
  SmallVector<Value> results;
  for (auto [tensor, output] : llvm::zip_equal(wanted, outputs)) {
    Value first = tensor;
    // A slice must begin inside, and one without elements may not.
    if (k >= 1 && !llvm::is_contained(b.getType(output).getShape(), 0)) {
      SmallVector<OpFoldResult> offsets(b.getRank(data), b.getIndexAttr(0));
      SmallVector<OpFoldResult> strides(b.getRank(data), b.getIndexAttr(1));
      first = tensor::ExtractSliceOp::create(b, b.getType(output), tensor,
                                             offsets, b.dims(output), strides);
    }
    bool isEmpty = b.getType(first) != b.getType(output);
    results.push_back(isEmpty ? output : b.copy(first, output));
  }
  return results;
}

/// The dimension is not less than k: min(dim, k) == k.
static DimPairs checkTopk(TopkOp op, Type) {
  TensorStructInfoType data = tensorType(op.getData());
  int64_t k = op.getK();
  if (k < 1)
    return {};
  PrimExprAttr dim = data.getDims()[getAxis(op.getAxis(), data.getNdim())];
  PrimExprAttr wanted = PrimExprAttr::getInt(op.getContext(), k);
  return {{PrimExprAttr::getCall(PrimExprKind::Min, {dim, wanted}), wanted}};
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

/// A binary search without branches that depend on data, since they would be
/// guessed wrong half of the time. Of a power of 2 of boundaries, which are the
/// first or the last ones, each step passes over half; a condition is shifted
/// where a selection might become a branch.
static Value searchBoundaries(ScalarBuilder &s, Value boundaries, Value size,
                              Value element, bool isRight) {
  Type indexType = s.getIndexType();
  auto constant = [&](int64_t value) { return index(s, s.getLoc(), value); };
  auto sub = [&](Value lhs, Value rhs) -> Value {
    return arith::SubIOp::create(s, lhs, rhs);
  };
  auto shift = [&](Value value, Value bits) -> Value {
    return arith::ShLIOp::create(s, value, bits);
  };
  Value zero = constant(0), one = constant(1);
  auto isPassed = [&](Value at) -> Value {
    Value boundary = tensor::ExtractOp::create(s, boundaries, ValueRange(at));
    if (!isRight)
      return isLess(s, boundary, element);
    return arith::XOrIOp::create(
        s, isLess(s, element, boundary),
        arith::ConstantIntOp::create(s, s.getI1Type(), 1));
  };
  auto asIndex = [&](Value condition) -> Value {
    return arith::IndexCastUIOp::create(s, indexType, condition);
  };
  Value steps = sub(countBits(s, size), one);
  Value power = shift(one, steps);
  Value begin = arith::SelectOp::create(s, isPassed(sub(power, one)),
                                        sub(size, power), zero);
  auto loop = scf::ForOp::create(s, zero, steps, one, begin);
  {
    OpBuilder::InsertionGuard guard(s);
    s.setInsertionPointToStart(loop.getBody());
    Value low = loop.getRegionIterArg(0);
    Value bit = sub(sub(steps, one), loop.getInductionVar());
    Value last = sub(s.add(low, shift(one, bit)), one);
    Value next = s.add(low, shift(asIndex(isPassed(last)), bit));
    scf::YieldOp::create(s, next);
  }
  Value low = loop.getResult(0);
  return s.add(low, asIndex(isPassed(low)));
}

static KernelResult buildBucketize(KernelBuilder &b, BucketizeOp op,
                                   ValueRange inputs, ValueRange outputs) {
  Value boundaries = inputs[1];
  if (b.getType(boundaries).getDimSize(0) == 0)
    return one(b.fill(b.scalars().constant(b.getElementType(outputs[0]), 0),
                      outputs[0]));
  Value size = b.dimValue(boundaries, 0);
  return one(b.elementwise(inputs[0], outputs[0], [&](S s, V e) -> Value {
    Value zero = index(s, s.getLoc(), 0);
    Value hasAny =
        arith::CmpIOp::create(s, arith::CmpIPredicate::ne, size, zero);
    auto conditional = scf::IfOp::create(s, s.getIndexType(), hasAny, true);
    OpBuilder::InsertionGuard guard(s);
    s.setInsertionPointToStart(conditional.thenBlock());
    scf::YieldOp::create(
        s, searchBoundaries(s, boundaries, size, e[0], op.getRight()));
    s.setInsertionPointToStart(conditional.elseBlock());
    scf::YieldOp::create(s, zero);
    s.setInsertionPointAfter(conditional);
    return arith::IndexCastOp::create(s, b.getElementType(outputs[0]),
                                      conditional.getResult(0));
  }));
}

void mlir::relax::populateSort(LegalizationTable &table) {
  table.add<SortOp>(buildSort);
  table.add<ArgsortOp>(buildArgsort);
  table.add<TopkOp>(buildTopk);
  table.addChecks<TopkOp>(checkTopk);
  table.add<BucketizeOp>(buildBucketize);
}
