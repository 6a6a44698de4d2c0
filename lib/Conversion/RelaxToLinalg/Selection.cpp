//===- Selection.cpp - Elements by their number in order --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Selection.h"

#include "OrderKey.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

Selection::Selection(KernelBuilder &b, Value data, int64_t axis,
                     bool isDescending)
    : b(b), data(data), axis(axis), lines(b, data, axis, kCost),
      size(b.dimValue(data, axis)),
      keyType(getOrderKeyType(b.getElementType(data))) {
  Value group = b.index(kGroup);
  groupsEnd =
      arith::SubIOp::create(b, size, arith::RemUIOp::create(b, size, group));
  int64_t rank = b.getRank(data);
  SmallVector<OpFoldResult> dims;
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim <= rank; ++dim) {
    if (dim == axis)
      continue;
    int64_t from = dim < rank ? dim : axis;
    dims.push_back(b.dim(data, from));
    order.push_back(from);
  }
  AffineMap map = inversePermutation(b.map(rank, order));
  keys = b.generic(data, b.empty(dims, keyType), {map, b.identityMap(rank)}, {},
                   [&](ScalarBuilder &s, ValueRange element) {
                     return buildSignedOrderKey(s, element[0], isDescending);
                   });
}

SmallVector<Value> Selection::keyPlace(Value at, ArrayRef<Value> place) const {
  SmallVector<Value> indices(place);
  indices.erase(indices.begin() + axis);
  indices.push_back(at);
  return indices;
}

Value Selection::load(Value at, ArrayRef<Value> place) {
  return tensor::ExtractOp::create(b, keys, keyPlace(at, place));
}

Value Selection::splat(Value number) {
  return vector::BroadcastOp::create(
      b, VectorType::get(kGroup, number.getType()), number);
}

Value Selection::loadGroup(Value at, ArrayRef<Value> place, bool isInLine) {
  Value greatest = arith::ConstantOp::create(
      b,
      b.getIntegerAttr(keyType, APInt::getSignedMaxValue(keyType.getWidth())));
  return vector::TransferReadOp::create(
      b, VectorType::get(kGroup, keyType), keys, keyPlace(at, place),
      std::optional<Value>(greatest), ArrayRef<bool>(isInLine));
}

Value Selection::countLess(Value limit, ArrayRef<Value> place) {
  Value limits = splat(limit);
  auto type = VectorType::get(kGroup, b.getI32Type());
  auto addGroup = [&](Value counts, Value at, bool isInLine) -> Value {
    Value isLess = arith::CmpIOp::create(
        b, arith::CmpIPredicate::slt, loadGroup(at, place, isInLine), limits);
    return arith::AddIOp::create(b, counts,
                                 arith::ExtUIOp::create(b, type, isLess));
  };
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value counts =
      buildLoop(b, b.index(0), groupsEnd, b.index(kGroup), none,
                [&](Value at, ValueRange carried) {
                  return Carried{addGroup(carried[0], at, /*isInLine=*/true)};
                })
          .front();
  counts = addGroup(counts, groupsEnd, /*isInLine=*/false);
  Value count =
      vector::ReductionOp::create(b, vector::CombiningKind::ADD, counts);
  return arith::IndexCastUIOp::create(b, b.getIndexType(), count);
}

/// The greatest key of which no more than `number` are less.
Value Selection::findPivot(Value number, ArrayRef<Value> place) {
  auto bits = [&](const APInt &bits) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(keyType, bits));
  };
  unsigned width = keyType.getWidth();
  Value sign = bits(APInt::getSignMask(width));
  // From the least key on, the sign is the first bit to be turned over.
  Carried carried = {sign, sign};
  carried = buildLoop(
      b, b.index(0), b.index(width), b.index(1), carried,
      [&](Value, ValueRange carried) {
        Value key = carried[0], bit = carried[1];
        Value candidate = arith::XOrIOp::create(b, key, bit);
        Value isReached = arith::CmpIOp::create(
            b, arith::CmpIPredicate::ule, countLess(candidate, place), number);
        Value next = arith::ShRUIOp::create(b, bit, bits(APInt(width, 1)));
        return Carried{arith::SelectOp::create(b, isReached, candidate, key),
                       next};
      });
  return carried[0];
}

Carried
Selection::overEqual(Value limit, ArrayRef<Value> place, ValueRange carried,
                     llvm::function_ref<Carried(Value, ValueRange)> body) {
  constexpr auto kEqual = arith::CmpIPredicate::eq;
  Value limits = splat(limit);
  Carried found = buildLoop(
      b, b.index(0), groupsEnd, b.index(kGroup), carried,
      [&](Value at, ValueRange carried) {
        Value group = loadGroup(at, place, /*isInLine=*/true);
        Value isEqual = arith::CmpIOp::create(b, kEqual, group, limits);
        return buildLaneLoop(
            b, isEqual, carried, [&](Value lane, ValueRange carried) {
              return body(arith::AddIOp::create(b, at, lane), carried);
            });
      });
  return buildLoop(
      b, groupsEnd, size, b.index(1), found, [&](Value at, ValueRange carried) {
        return buildIf(
            b, carried.getTypes(), compare(kEqual, at, limit, place),
            [&] { return body(at, carried); },
            [&] { return Carried(carried); });
      });
}

Carried Selection::append(Value at, ArrayRef<Value> place, ValueRange carried,
                          Value step) {
  SmallVector<Value> from(place), to(place);
  from[axis] = at;
  to[axis] = carried[0];
  Value value = tensor::ExtractOp::create(b, data, from);
  Value index = arith::IndexCastOp::create(b, b.getElementType(carried[2]), at);
  return {arith::AddIOp::create(b, carried[0], step),
          tensor::InsertOp::create(b, value, carried[1], to),
          tensor::InsertOp::create(b, index, carried[2], to)};
}

Carried Selection::appendLess(Value limit, ArrayRef<Value> place,
                              ValueRange carried) {
  constexpr auto kLess = arith::CmpIPredicate::slt;
  Value zero = b.index(0), one = b.index(1), group = b.index(kGroup);
  auto overRange = [&](Value begin, Value end, ValueRange carried) {
    return buildLoop(
        b, begin, end, one, carried, [&](Value at, ValueRange carried) {
          Value step = arith::IndexCastUIOp::create(
              b, b.getIndexType(), compare(kLess, at, limit, place));
          return append(at, place, carried, step);
        });
  };
  Value limits = splat(limit);
  Carried found = buildLoop(
      b, zero, groupsEnd, group, carried, [&](Value at, ValueRange carried) {
        Value isLess = arith::CmpIOp::create(
            b, kLess, loadGroup(at, place, /*isInLine=*/true), limits);
        Value end = arith::AddIOp::create(b, at, group);
        return buildIf(
            b, carried.getTypes(), buildAnyLane(b, isLess),
            [&] { return overRange(at, end, carried); },
            [&] { return Carried(carried); });
      });
  return overRange(groupsEnd, size, found);
}

Carried Selection::appendEqual(Value limit, Value end, ArrayRef<Value> place,
                               ValueRange carried) {
  return overEqual(limit, place, carried, [&](Value at, ValueRange carried) {
    Value isLeft =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, carried[0], end);
    return buildIf(
        b, carried.getTypes(), isLeft,
        [&] { return append(at, place, carried, b.index(1)); },
        [&] { return Carried(carried); });
  });
}

Carried Selection::collectFirst(Value count, Value values, Value indices) {
  Value zero = b.index(0), one = b.index(1);
  auto collectInLine = [&](ValueRange tensors, SmallVectorImpl<Value> &place) {
    Value pivot = findPivot(arith::SubIOp::create(b, count, one), place);
    Carried carried = {zero};
    llvm::append_range(carried, tensors);
    carried = appendLess(pivot, place, carried);
    carried = appendEqual(pivot, count, place, carried);
    return Carried(ArrayRef<Value>(carried).drop_front());
  };
  return lines.overLines({values, indices}, collectInLine);
}

Value Selection::find(Value number, Value indices) {
  Value zero = b.index(0), one = b.index(1);
  auto findInLine = [&](ValueRange tensors, SmallVectorImpl<Value> &place) {
    Value pivot = findPivot(number, place);
    // Of the elements that equal the pivot, that with this number.
    Value wanted = arith::SubIOp::create(b, number, countLess(pivot, place));
    Carried carried = {zero, zero};
    carried =
        overEqual(pivot, place, carried, [&](Value at, ValueRange carried) {
          Value isIt = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                             carried[0], wanted);
          return Carried{arith::AddIOp::create(b, carried[0], one),
                         arith::SelectOp::create(b, isIt, at, carried[1])};
        });
    Value index =
        arith::IndexCastOp::create(b, b.getElementType(indices), carried[1]);
    place[axis] = zero;
    return Carried{tensor::InsertOp::create(b, index, tensors[0], place)};
  };
  return lines.overLines(indices, findInLine).front();
}
