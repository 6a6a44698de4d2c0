//===- Scatter.cpp - Kernels of operators that update elements --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator that updates its input copies it first, then goes over the
// updates in their order, as indices may be the same.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "Float8.h"
#include "Indices.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;
using Indices = ArrayRef<Value>;

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
/// outermost. Threads of a device share the columns and, where these are few,
/// the places: each goes over all updates, and makes those of its own places.
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
  /// The sizes of those dimensions of the tensor in which elements of another
  /// tensor say where an update goes.
  ArrayRef<Value> sizes;
  /// The place of an update in the tensor, from these indices, and what those
  /// elements are, which is to be checked before it is used.
  llvm::function_ref<SmallVector<Value>(ScalarBuilder &, Indices,
                                        SmallVector<Value> &)>
      getPlace;
  /// The dimensions of `updates` whose indices are those of the place, too.
  ArrayRef<int64_t> columnDims;

  Value build(Value tensor) const;

private:
  /// Places from `begin` on, `width` of them, numbered in row-major order.
  struct Places {
    Value begin, width;
  };
  /// Last indices of updates: `first`, if there is one, and a number in
  /// [begin, end).
  struct Columns {
    Value first, begin, end;
  };
  using Body = llvm::function_ref<Value(Value)>;

  /// Columns of a block.
  static constexpr int64_t kColumns = 128;
  /// A part has so many updates at least, and as many for each element of the
  /// vector that it takes.
  static constexpr int64_t kPartUpdates = 1 << 14, kUpdatesOfElement = 16,
                           kMostParts = 64;
  /// Threads that keep a device busy.
  static constexpr int64_t kDeviceThreads = 1 << 12;

  /// Whether there may be updates for several parts.
  bool hasParts(Value tensor) const;
  /// Updates a vector by parts where there are several.
  Value buildParts(Value tensor) const;
  /// A matrix whose rows are the vectors of so many parts.
  Value updateParts(Value tensor, Value count) const;

  /// Has threads of a device share the places.
  Value buildPlaces(Value tensor, const Columns &columns) const;

  /// Updates by the columns; where a part is given, its row of a matrix, and
  /// where places are, these alone.
  Value buildColumns(Value tensor, const Columns &columns, Value part = {},
                     std::optional<Places> own = std::nullopt) const;
  /// Loops over those of the first `count` indices that are not there yet.
  Value overIndices(Value tensor, SmallVector<Value> &indices, int64_t count,
                    const Columns &columns, Body body) const;
  Value updateElement(Value tensor, Indices indices, Indices place) const;
};
} // namespace

Value ScatterBuilder::build(Value tensor) const {
  if (hasParts(tensor))
    return buildParts(tensor);
  Value zero = b.index(0);
  int64_t rank = b.getRank(updates);
  Value size = rank == 0 ? Value() : b.dimValue(updates, rank - 1);
  if (b.isOnDevice())
    return buildPlaces(tensor, {Value(), zero, size});
  if (!llvm::is_contained(columnDims, rank - 1))
    return buildColumns(tensor, {Value(), zero, size});
  Value width = b.index(kColumns);
  Value blocks = arith::DivUIOp::create(b, size, width);
  Value updated =
      buildLoop(b, zero, blocks, b.index(1), tensor,
                [&](Value block, ValueRange carried) {
                  Value first = arith::MulIOp::create(b, block, width);
                  return Carried{
                      buildColumns(carried[0], {first, zero, width})};
                })
          .front();
  makeParallel(b, updated.getDefiningOp());
  Value rest = arith::MulIOp::create(b, blocks, width);
  return buildColumns(updated, {Value(), rest, size});
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

bool ScatterBuilder::hasParts(Value tensor) const {
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

Value ScatterBuilder::buildParts(Value tensor) const {
  Value size = b.dimValue(updates, 0);
  Value wanted = arith::MulIOp::create(b, b.dimValue(tensor, 0),
                                       b.index(kUpdatesOfElement));
  Value least = arith::MaxUIOp::create(b, wanted, b.index(kPartUpdates));
  Value count = arith::MinUIOp::create(
      b, arith::DivUIOp::create(b, size, least), b.index(kMostParts));
  Value hasSeveral =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, count, b.index(1));
  auto addParts = [&] {
    SmallVector<int64_t> parts = {0};
    return b.compute(
        updateParts(tensor, count), tensor,
        {b.identityMap(2), b.dropMap(2, parts)}, parts, [&](S s, V e) {
          return combine(s, reduction, e[1], e[0], b.getElementType(tensor));
        });
  };
  return buildIf(b, tensor.getType(), hasSeveral, addParts, [&] {
    return buildColumns(tensor, {Value(), b.index(0), size});
  });
}

Value ScatterBuilder::updateParts(Value tensor, Value count) const {
  ScalarBuilder s = b.scalars();
  Type type = b.getElementType(tensor);
  // A zero that is added to -0 is negative, too, so it changes nothing.
  Value start = reduction == "min"   ? s.identity(Identity::Highest, type)
                : reduction == "max" ? s.identity(Identity::Lowest, type)
                                     : s.constant(type, -0.0);
  Value vectors = b.fill(start, b.empty({count, b.dim(tensor, 0)}, type));
  Value size = b.dimValue(updates, 0);
  Value length = arith::CeilDivUIOp::create(b, size, count);
  Value updated = buildPartLoop(b, size, count, length, vectors,
                                [&](Value part, Value begin, Value end,
                                    ValueRange carried) {
                                  return Carried{buildColumns(
                                      carried[0], {Value(), begin, end}, part)};
                                })
                      .front();
  makeParallel(b, updated.getDefiningOp());
  return updated;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value ScatterBuilder::buildPlaces(Value tensor, const Columns &columns) const {
  Value one = b.index(1), numPlaces = one, numColumns = one;
  for (Value size : sizes)
    numPlaces = arith::MulIOp::create(b, numPlaces, size);
  for (int64_t dim : columnDims)
    numColumns = arith::MulIOp::create(b, numColumns, b.dimValue(updates, dim));
  numColumns = arith::MaxUIOp::create(b, numColumns, one);
  Value wanted =
      arith::CeilDivUIOp::create(b, b.index(kDeviceThreads), numColumns);
  Value count = arith::MaxUIOp::create(
      b, arith::MinUIOp::create(b, wanted, numPlaces), one);
  Value width = arith::CeilDivUIOp::create(b, numPlaces, count);
  auto body = [&](Value owner, ValueRange carried) {
    Places own = {arith::MulIOp::create(b, owner, width), width};
    return Carried{buildColumns(carried[0], columns, /*part=*/Value(), own)};
  };
  Value updated = buildLoop(b, b.index(0), count, one, tensor, body).front();
  makeIndependent(b, updated.getDefiningOp());
  return updated;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

Value ScatterBuilder::buildColumns(Value tensor, const Columns &columns,
                                   Value part,
                                   std::optional<Places> own) const {
  SmallVector<Value> indices;
  auto updateInside = [&](Value tensor) {
    ScalarBuilder s = b.scalars();
    SmallVector<Value> chosen;
    SmallVector<Value> place = getPlace(s, indices, chosen);
    if (part)
      place.insert(place.begin(), part);
    Value isInside = arith::ConstantIntOp::create(s, s.getI1Type(), 1);
    auto require = [&](Value number, Value end) {
      isInside = arith::AndIOp::create(
          s, isInside,
          arith::CmpIOp::create(s, arith::CmpIPredicate::ult, number, end));
    };
    for (auto [index, size] : llvm::zip_equal(chosen, sizes))
      require(index, size);
    if (own) {
      Value number = b.index(0);
      for (auto [index, size] : llvm::zip_equal(chosen, sizes))
        number = arith::AddIOp::create(
            s, arith::MulIOp::create(s, number, size), index);
      require(arith::SubIOp::create(s, number, own->begin), own->width);
    }
    auto update = [&] {
      return overIndices(
          tensor, indices, b.getRank(updates), columns,
          [&](Value tensor) { return updateElement(tensor, indices, place); });
    };
    return buildIf(b, tensor.getType(), isInside, update,
                   [&] { return tensor; });
  };
  return overIndices(tensor, indices, depth, columns, updateInside);
}

Value ScatterBuilder::overIndices(Value tensor, SmallVector<Value> &indices,
                                  int64_t count, const Columns &columns,
                                  Body body) const {
  int64_t axis = indices.size();
  if (axis == count)
    return body(tensor);
  bool isLast = axis + 1 == b.getRank(updates);
  Value begin = isLast ? columns.begin : b.index(0);
  Value end = isLast ? columns.end : b.dimValue(updates, axis);
  auto inner = [&](Value index, ValueRange carried) {
    if (isLast && columns.first)
      index = arith::AddIOp::create(b, columns.first, index);
    indices.push_back(index);
    Value result = overIndices(carried[0], indices, count, columns, body);
    indices.pop_back();
    return Carried{result};
  };
  return buildLoop(b, begin, end, b.index(1), tensor, inner).front();
}

Value ScatterBuilder::updateElement(Value tensor, Indices indices,
                                    Indices place) const {
  SmallVector<Value> whole(place);
  llvm::append_range(whole, indices.drop_front(depth));
  ScalarBuilder s = b.scalars();
  Value old = tensor::ExtractOp::create(s, tensor, whole);
  Value next = tensor::ExtractOp::create(s, updates, indices);
  Value value = combine(s, reduction, old, next, b.getElementType(tensor));
  return tensor::InsertOp::create(s, value, tensor, whole);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static KernelResult buildScatterElements(KernelBuilder &b, ScatterElementsOp op,
                                         ValueRange inputs,
                                         ValueRange outputs) {
  Value data = inputs[0], indices = inputs[1], updates = inputs[2];
  StringRef reduction = op.getReduction();
  int64_t axis = getAxis(op.getAxis(), b.getRank(data));
  Type dtype = tensorType(op.getIndices()).getDtype();
  Value size = b.dimValue(data, axis);
  auto getPlace = [&](S s, Indices loops, SmallVector<Value> &chosen) {
    SmallVector<Value> place(loops);
    Value number = tensor::ExtractOp::create(s, indices, loops);
    place[axis] = fromEnd(s, asIndex(s, number, dtype), size);
    chosen.push_back(place[axis]);
    return place;
  };
  SmallVector<int64_t> columnDims =
      llvm::to_vector(llvm::seq(b.getRank(updates)));
  llvm::erase(columnDims, axis);
  bool isMean = reduction == "mean";
  auto scatter = [&](Value updates, StringRef reduction, Value tensor) {
    ScatterBuilder builder = {b,    updates,  reduction, b.getRank(updates),
                              size, getPlace, columnDims};
    return builder.build(tensor);
  };
  Value result =
      scatter(updates, isMean ? "add" : reduction, b.copy(data, outputs[0]));
  if (!isMean)
    return one(result);
  // The number of terms of each sum: its own, and the updates.
  Type i64 = b.getI64Type();
  Value one64 = b.scalars().constant(i64, 1);
  Value ones = b.fill(one64, b.empty(b.dims(updates), i64));
  Value counts =
      scatter(ones, "add", b.fill(one64, b.empty(b.dims(data), i64)));
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
  auto getPlace = [&](S s, Indices loops, SmallVector<Value> &chosen) {
    SmallVector<Value> at(loops), place;
    at.push_back(Value());
    for (int64_t i = 0; i < length; ++i) {
      at.back() = s.index(i);
      Value number = tensor::ExtractOp::create(s, indices, at);
      place.push_back(fromEnd(s, asIndex(s, number, dtype), sizes[i]));
      chosen.push_back(place.back());
    }
    return place;
  };
  SmallVector<int64_t> columnDims =
      llvm::to_vector(llvm::seq(numIndices, b.getRank(updates)));
  return one(ScatterBuilder{b, updates, op.getReduction(), numIndices, sizes,
                            getPlace, columnDims}
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

void mlir::relax::populateScatter(LegalizationTable &table) {
  table.add<ScatterElementsOp>(buildScatterElements);
  table.addChecks<ScatterElementsOp>(checkScatterElements);
  table.add<ScatterNDOp>(buildScatterND);
  table.addChecks<ScatterNDOp>(checkScatterND);
}
