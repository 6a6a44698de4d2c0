//===- Sort.cpp - Kernels of operators that order and search ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lines are sorted by the ranks of their elements where they are short
// (RankSort.cpp), and else by digits (RadixSort.cpp): both are stable and take
// the same time for all data. Where there are fewer long ones than threads,
// threads share each line. Two copies of a line take turns as source and
// destination. Where the places of the elements are wanted, too, they move with
// the elements. A few greatest or least elements are kept in order, in vectors,
// while groups of the others are compared with the last one of them; more of
// them are selected before they are sorted (Selection.cpp).
// Devices have threads for all elements: DeviceSort.cpp.
//
//===----------------------------------------------------------------------===//

#include "DeviceSort.h"
#include "Lines.h"
#include "RadixSort.h"
#include "RankSort.h"
#include "Selection.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/Threads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

Value mlir::relax::isLess(ScalarBuilder &s, Value x, Value y) {
  if (!isa<VectorType>(x.getType())) {
    x = s.widen(x);
    y = s.widen(y);
  }
  if (!isa<FloatType>(getElementTypeOrSelf(x)))
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
  Carried sortLines(ValueRange tensors);
  Carried sortLine(ValueRange tensors, SmallVectorImpl<Value> &place);

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
  all = sortLines(all);
  all.truncate(tensors.size());
  return all;
}

/// Threads share the lines, or each of them where they are long and fewer than
/// threads.
Carried LineSort::sortLines(ValueRange tensors) {
  auto overLines = [&] {
    return lines.overLines(
        tensors, [&](ValueRange tensors, SmallVectorImpl<Value> &place) {
          return sortLine(tensors, place);
        });
  };
  std::optional<int64_t> least = leastToSortByThreads(b.getElementType(data));
  int64_t known = b.getType(data).getDimSize(axis);
  if (!least || (!ShapedType::isDynamic(known) && known < *least))
    return overLines();
  using P = arith::CmpIPredicate;
  Value threads = countThreads(b);
  Value isLong = arith::CmpIOp::create(b, P::uge, size, b.index(*least));
  Value areFew = arith::CmpIOp::create(b, P::ult, lines.count(), threads);
  auto inOrder = [&] {
    RadixSort radix(b, data, axis, isDescending);
    return LineLoops(b, data, axis, kCost, /*isShared=*/false)
        .overLines(tensors,
                   [&](ValueRange tensors, SmallVectorImpl<Value> &place) {
                     return radix.sortLineByThreads(tensors, place, threads);
                   });
  };
  return buildIf(b, tensors.getTypes(),
                 arith::AndIOp::create(b, isLong, areFew), inOrder, overLines);
}

/// Sorts a line by the ranks of elements where it is short, else by digits.
Carried LineSort::sortLine(ValueRange tensors, SmallVectorImpl<Value> &place) {
  auto byRank = [&] {
    return RankSort(b, data, axis, isDescending).sortLine(tensors, place);
  };
  auto byDigits = [&] {
    return RadixSort(b, data, axis, isDescending).sortLine(tensors, place);
  };
  int64_t known = b.getType(data).getDimSize(axis);
  if (!ShapedType::isDynamic(known))
    return known <= RankSort::kMostElements ? byRank() : byDigits();
  Value isShort = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, size,
                                        b.index(RankSort::kMostElements));
  return buildIf(b, tensors.getTypes(), isShort, byRank, byDigits);
}

static constexpr int64_t kMostNarrow = std::numeric_limits<int32_t>::max();

/// Whether places along an axis are moved as int32, which is narrower than what
/// is wanted, and has room; none where the size is known at run time.
static std::optional<bool> areNarrow(KernelBuilder &b, Value data, int64_t axis,
                                     Type wanted) {
  if (!isa<IntegerType>(wanted) || wanted.getIntOrFloatBitWidth() <= 32)
    return false;
  int64_t size = b.getType(data).getDimSize(axis);
  if (ShapedType::isDynamic(size))
    return std::nullopt;
  return size <= kMostNarrow;
}

/// Copies places to an output that has more bits for them.
static Value widenPlaces(KernelBuilder &b, Value tensor, Value output) {
  Type to = b.getElementType(output);
  return b.elementwise(tensor, output, [&](S s, V elements) -> Value {
    return arith::ExtSIOp::create(s, to, elements[0]);
  });
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

/// Sorts what is copied to `keys`, and writes the places of the elements.
static Carried sortPlaces(KernelBuilder &b, Value data, Value keys,
                          Value places, int64_t axis, bool isDescending) {
  Type wanted = b.getElementType(places);
  auto sort = [&](Type type) {
    Value moved = type == wanted ? places : b.empty(b.dims(data), type);
    Carried sorted =
        LineSort(b, data, axis, isDescending)
            .sort({b.copy(data, keys), buildPlaces(b, moved, axis)});
    if (type != wanted)
      sorted[1] = widenPlaces(b, sorted[1], places);
    return sorted;
  };
  Type narrow = b.getI32Type();
  // With keys of 32 bits, to widen places at the end takes longer.
  bool hasWideKeys = b.getElementType(data).getIntOrFloatBitWidth() > 32;
  std::optional<bool> isNarrow =
      hasWideKeys ? areNarrow(b, data, axis, wanted) : false;
  if (isNarrow)
    return sort(*isNarrow ? narrow : wanted);
  Value hasRoom =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                            b.dimValue(data, axis), b.index(kMostNarrow));
  return buildIf(
      b, TypeRange{keys.getType(), places.getType()}, hasRoom,
      [&] { return sort(narrow); }, [&] { return sort(wanted); });
}

static KernelResult buildArgsort(KernelBuilder &b, ArgsortOp op,
                                 ValueRange inputs, ValueRange outputs) {
  Value data = inputs[0], output = outputs[0];
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  Value keys = b.empty(b.dims(data), b.getElementType(data));
  Carried sorted =
      b.isOnDevice()
          ? sortByAllThreads(b, data, {keys, output}, axis, op.getDescending())
          : sortPlaces(b, data, keys, output, axis, op.getDescending());
  return one(sorted[1]);
}

/// Writes the part of a tensor that begins at an index of an axis and has the
/// dimensions of the output.
static Value copyPart(KernelBuilder &b, Value tensor, Value output,
                      int64_t axis, OpFoldResult begin) {
  SmallVector<OpFoldResult> offsets(b.getRank(tensor), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(b.getRank(tensor), b.getIndexAttr(1));
  offsets[axis] = begin;
  Value part = tensor::ExtractSliceOp::create(b, b.getType(output), tensor,
                                              offsets, b.dims(output), strides);
  return b.copy(part, output);
}

static KernelResult buildKthIndex(KernelBuilder &b, KthIndexOp op,
                                  ValueRange inputs, ValueRange outputs) {
  Value data = inputs[0], indices = outputs[0];
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  Value k = arith::IndexCastOp::create(b, b.getIndexType(), inputs[1]);
  Value number = arith::SubIOp::create(b, k, b.index(1));
  if (!b.isOnDevice())
    return one(
        Selection(b, data, axis, /*isDescending=*/false).find(number, indices));
  Value keys = b.empty(b.dims(data), b.getElementType(data));
  Value places = b.empty(b.dims(data), b.getElementType(indices));
  Carried sorted = sortByAllThreads(b, data, {keys, places}, axis,
                                    /*isDescending=*/false);
  return one(copyPart(b, sorted[1], indices, axis, number));
}

/// 1 <= k <= dimension: max(k, 1) == k and min(dim, k) == k.
static DimPairs checkKthIndex(KthIndexOp op, Type) {
  TensorStructInfoType data = tensorType(op.getData());
  PrimExprAttr dim = data.getDims()[getAxis(op.getAxis(), data.getNdim())];
  PrimExprAttr k = primValue(op.getK());
  PrimExprAttr one = PrimExprAttr::getInt(op.getContext(), 1);
  return {{PrimExprAttr::getCall(PrimExprKind::Max, {k, one}), k},
          {PrimExprAttr::getCall(PrimExprKind::Min, {dim, k}), k}};
}

namespace {
/// Keeps the first elements of each line in order, as lanes of vectors: one of
/// the keys, and one of the places where they are wanted. An element is
/// inserted without branches that depend on data.
class FirstElements {
public:
  /// `placeType` is null where places are not wanted.
  FirstElements(KernelBuilder &b, Value data, int64_t axis, int64_t count,
                bool isDescending, Type placeType)
      : b(b), data(data), lines(b, data, axis, kCost), axis(axis), count(count),
        isDescending(isDescending), placeType(placeType),
        element(b.getElementType(data)), key(getKeyType()) {}

  /// Fills the tensors, of keys and places or of one of them.
  Carried find(ValueRange outputs, bool hasKeys);

private:
  Type getKeyType();
  Carried findInLine(SmallVectorImpl<Value> &place);
  Carried considerGroup(Value at, ValueRange first,
                        SmallVectorImpl<Value> &place);
  Carried considerOne(Value at, ValueRange first,
                      SmallVectorImpl<Value> &place);
  Carried insert(Value at, ValueRange first, SmallVectorImpl<Value> &place);
  Value insertAt(Value isLater, Value number, Value vector);
  Value write(Value vector, Value output, SmallVectorImpl<Value> &place);
  /// Whether vectors of elements of a type are read or written along lines.
  bool isContiguous(Type type) {
    return axis == b.getRank(data) - 1 && type.getIntOrFloatBitWidth() >= 8;
  }
  Value load(Value at, SmallVectorImpl<Value> &place) {
    place[axis] = at;
    ScalarBuilder s = b.scalars();
    return s.widen(tensor::ExtractOp::create(s, data, place));
  }
  Value splat(Value number, int64_t lanes) {
    return vector::BroadcastOp::create(
        b, VectorType::get(lanes, number.getType()), number);
  }
  Value isAmongFirst(Value number, Value worst) {
    ScalarBuilder s = b.scalars();
    return isBefore(s, number, worst, isDescending);
  }
  Value getWorst(ValueRange first) {
    return vector::ExtractOp::create(b, first[0], count - 1);
  }
  /// Elements that are compared at once with the worst of the first ones.
  static constexpr int64_t kGroup = 16;
  /// An element takes so much longer than one that is added.
  static constexpr int64_t kCost = 4;

  KernelBuilder &b;
  Value data;
  LineLoops lines;
  int64_t axis, count;
  bool isDescending;
  Type placeType, element, key;
};
} // namespace

/// The type that elements are compared in.
Type FirstElements::getKeyType() {
  bool isNarrow =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16;
  return isNarrow ? b.getF32Type() : element;
}

Carried FirstElements::find(ValueRange outputs, bool hasKeys) {
  return lines.overLines(
      outputs, [&](ValueRange outputs, SmallVectorImpl<Value> &place) {
        Carried first = findInLine(place);
        Carried written;
        for (auto [vector, output] : llvm::zip_equal(
                 ArrayRef<Value>(first).drop_front(hasKeys ? 0 : 1), outputs))
          written.push_back(write(vector, output, place));
        return written;
      });
}

Carried FirstElements::findInLine(SmallVectorImpl<Value> &place) {
  int64_t lanes = llvm::alignTo(count, kGroup);
  Carried first;
  for (Type type : {key, placeType})
    if (type)
      first.push_back(arith::ConstantOp::create(
          b, b.getZeroAttr(VectorType::get(lanes, type))));
  Value size = b.dimValue(data, axis), begin = b.index(0);
  if (isContiguous(element)) {
    Value group = b.index(kGroup);
    Value end =
        arith::SubIOp::create(b, size, arith::RemUIOp::create(b, size, group));
    first =
        buildLoop(b, begin, end, group, first, [&](Value at, ValueRange first) {
          return considerGroup(at, first, place);
        });
    begin = end;
  }
  return buildLoop(b, begin, size, b.index(1), first,
                   [&](Value at, ValueRange first) {
                     return considerOne(at, first, place);
                   });
}

/// Inserts those of a group that come before the worst of the first ones. While
/// there are fewer all of them do.
Carried FirstElements::considerGroup(Value at, ValueRange first,
                                     SmallVectorImpl<Value> &place) {
  place[axis] = at;
  Value numbers = vector::TransferReadOp::create(
      b, VectorType::get(kGroup, element), data, place, /*padding=*/
      std::optional<Value>(
          arith::ConstantOp::create(b, b.getZeroAttr(element))),
      ArrayRef<bool>(true));
  if (key != element)
    numbers = arith::ExtFOp::create(b, VectorType::get(kGroup, key), numbers);
  Value isFirst = isAmongFirst(numbers, splat(getWorst(first), kGroup));
  Value isFree =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at, b.index(count));
  isFirst = arith::OrIOp::create(b, isFirst, splat(isFree, kGroup));
  return buildLaneLoop(b, isFirst, first, [&](Value lane, ValueRange first) {
    return insert(arith::AddIOp::create(b, at, lane), first, place);
  });
}

Carried FirstElements::considerOne(Value at, ValueRange first,
                                   SmallVectorImpl<Value> &place) {
  Value isFree =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at, b.index(count));
  Value isFirst = arith::OrIOp::create(
      b, isFree, isAmongFirst(load(at, place), getWorst(first)));
  return buildIf(
      b, first.getTypes(), isFirst, [&] { return insert(at, first, place); },
      [&] { return Carried(first); });
}

/// Inserts the element at an index; those that come later move by one lane. So
/// do lanes that have no element yet: the first `at` ones have.
Carried FirstElements::insert(Value at, ValueRange first,
                              SmallVectorImpl<Value> &place) {
  int64_t lanes = cast<VectorType>(first[0].getType()).getDimSize(0);
  Value number = load(at, place);
  Value isLater = isAmongFirst(splat(number, lanes), first[0]);
  Value used = arith::IndexCastOp::create(
      b, b.getI32Type(), arith::MinUIOp::create(b, at, b.index(lanes)));
  Value all = arith::ConstantOp::create(
      b, b.getI32VectorAttr(
             llvm::to_vector(llvm::seq<int32_t>(static_cast<int32_t>(lanes)))));
  isLater =
      arith::OrIOp::create(b, isLater,
                           arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                                 all, splat(used, lanes)));
  Carried next = {insertAt(isLater, number, first[0])};
  if (placeType)
    next.push_back(insertAt(
        isLater, arith::IndexCastOp::create(b, placeType, at), first[1]));
  return next;
}

/// Puts a number in the first lane that is later; the others move by one.
Value FirstElements::insertAt(Value isLater, Value number, Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
  Value all = splat(number, lanes);
  Value moving = arith::SelectOp::create(b, isLater, vector, all);
  SmallVector<int64_t> moves = {0};
  llvm::append_range(moves, llvm::seq(lanes, 2 * lanes - 1));
  Value moved = vector::ShuffleOp::create(b, all, moving, moves);
  return arith::SelectOp::create(b, isLater, moved, vector);
}

/// Writes the first lanes to the line of the output.
Value FirstElements::write(Value vector, Value output,
                           SmallVectorImpl<Value> &place) {
  Type to = b.getElementType(output), from = getElementTypeOrSelf(vector);
  if (isa<IntegerType>(to) &&
      to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth()) {
    auto type = cast<VectorType>(vector.getType());
    vector = arith::ExtSIOp::create(b, type.clone(to), vector);
    from = to;
  }
  if (isContiguous(to) && to == from) {
    place[axis] = b.index(0);
    Value line = vector::ExtractStridedSliceOp::create(
        b, vector, ArrayRef<int64_t>(0), ArrayRef<int64_t>(count),
        ArrayRef<int64_t>(1));
    return vector::TransferWriteOp::create(b, line, output, place,
                                           ArrayRef<bool>(true))
        .getResult();
  }
  for (int64_t lane = 0; lane < count; ++lane) {
    place[axis] = b.index(lane);
    ScalarBuilder s = b.scalars();
    Value number = s.narrow(vector::ExtractOp::create(s, vector, lane), to);
    output = tensor::InsertOp::create(s, number, output, place);
  }
  return output;
}

/// Few elements, and not all, are found without sorting, by a thread that has
/// the line.
static constexpr int64_t kMostFirst = 64;

static KernelResult buildFirst(KernelBuilder &b, TopkOp op, Value data,
                               ValueRange outputs) {
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  bool hasKeys = op.getRetType() != "indices";
  Type placeType =
      op.getRetType() == "values" ? Type() : b.getElementType(outputs.back());
  if (placeType && areNarrow(b, data, axis, placeType).value_or(false))
    placeType = b.getI32Type(); // a vector has more of them
  return FirstElements(b, data, axis, op.getK(), op.getLargest(), placeType)
      .find(outputs, hasKeys);
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

/// The first elements of each line and their places, in order.
static Carried selectFirst(KernelBuilder &b, TopkOp op, Value data, Type type,
                           int64_t axis) {
  SmallVector<OpFoldResult> dims = b.dims(data);
  dims[axis] = b.getIndexAttr(op.getK());
  Value values = b.empty(dims, b.getElementType(data));
  Carried first =
      Selection(b, data, axis, op.getLargest())
          .collectFirst(b.index(op.getK()), values, b.empty(dims, type));
  return LineSort(b, first[0], axis, op.getLargest()).sort(first);
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
  auto getWanted = [&](ArrayRef<Value> sorted) {
    return sorted.drop_front(hasValues ? 0 : 1).drop_back(hasIndices ? 0 : 1);
  };
  bool areAll = k < 1 || b.getType(data).getDimSize(axis) == k;
  if (areAll && !b.isOnDevice()) {
    auto orEmpty = [&](bool isWanted, Value output, Type element) {
      return isWanted ? output : b.empty(b.dims(data), element);
    };
    Value keys = orEmpty(hasValues, outputs.front(), b.getElementType(data));
    Value places = orEmpty(hasIndices, outputs.back(), type);
    Carried sorted = sortPlaces(b, data, keys, places, axis, op.getLargest());
    return SmallVector<Value>(getWanted(sorted));
  }
  Carried sorted = b.isOnDevice() ? sortFirstPlaces(b, op, data, type, axis)
                                  : selectFirst(b, op, data, type, axis);
  ArrayRef<Value> wanted = getWanted(sorted);
  SmallVector<Value> results;
  for (auto [tensor, output] : llvm::zip_equal(wanted, outputs)) {
    // A slice must begin inside, and one without elements may not.
    bool isEmpty = llvm::is_contained(b.getType(output).getShape(), 0);
    results.push_back(
        isEmpty ? output
                : copyPart(b, tensor, output, axis, b.getIndexAttr(0)));
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
  auto sub = [&](Value lhs, Value rhs) -> Value {
    return arith::SubIOp::create(s, lhs, rhs);
  };
  auto shift = [&](Value value, Value bits) -> Value {
    return arith::ShLIOp::create(s, value, bits);
  };
  Value zero = s.index(0), one = s.index(1);
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
    Value zero = s.index(0);
    Value hasAny =
        arith::CmpIOp::create(s, arith::CmpIPredicate::ne, size, zero);
    Value place = buildIf(
        s, s.getIndexType(), hasAny,
        [&] {
          return searchBoundaries(s, boundaries, size, e[0], op.getRight());
        },
        [&] { return zero; });
    return arith::IndexCastOp::create(s, b.getElementType(outputs[0]), place);
  }));
}

void mlir::relax::populateSort(LegalizationTable &table) {
  table.add<SortOp>(buildSort);
  table.add<ArgsortOp>(buildArgsort);
  table.add<KthIndexOp>(buildKthIndex);
  table.addChecks<KthIndexOp>(checkKthIndex);
  table.add<TopkOp>(buildTopk);
  table.addChecks<TopkOp>(checkTopk);
  table.add<BucketizeOp>(buildBucketize);
}
