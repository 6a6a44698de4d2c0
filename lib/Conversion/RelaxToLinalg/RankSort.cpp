//===- RankSort.cpp - Sorting of short lines by counting --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankSort.h"

#include "OrderKey.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

RankSort::RankSort(KernelBuilder &b, Value data, int64_t axis,
                   bool isDescending)
    : b(b), axis(axis), isDescending(isDescending),
      size(b.dimValue(data, axis)),
      keyType(getOrderKeyType(b.getElementType(data))) {}

Value RankSort::makeKeys(Value tensor, SmallVectorImpl<Value> &place) {
  // The last block may be longer than the line.
  Value keys = b.empty(OpFoldResult(b.getIndexAttr(kMostElements)), keyType);
  return buildLoop(
             b, b.index(0), size, b.index(1), keys,
             [&](Value at, ValueRange carried) {
               place[axis] = at;
               ScalarBuilder s = b.scalars();
               Value element = tensor::ExtractOp::create(b, tensor, place);
               Value key = buildSignedOrderKey(s, element, isDescending);
               return Carried{tensor::InsertOp::create(b, key, carried[0], at)};
             })
      .front();
}

Value RankSort::countBlock(Value keys, Value begin) {
  auto type = VectorType::get(kBlock, b.getI32Type());
  auto splat = [&](Value number) -> Value {
    return vector::BroadcastOp::create(
        b, VectorType::get(kBlock, number.getType()), number);
  };
  Value block = vector::TransferReadOp::create(
      b, VectorType::get(kBlock, keyType), keys, ValueRange(begin),
      std::optional<Value>(
          arith::ConstantOp::create(b, b.getIntegerAttr(keyType, 0))),
      ArrayRef<bool>(true));
  using P = arith::CmpIPredicate;
  auto compare = [&](P predicate, Value at) -> Value {
    Value other = splat(tensor::ExtractOp::create(b, keys, at));
    return arith::CmpIOp::create(b, predicate, other, block);
  };
  auto overRange = [&](Value from, Value to, Value ranks,
                       llvm::function_ref<Value(Value)> isBefore) {
    return buildLoop(
               b, from, to, b.index(1), ranks,
               [&](Value at, ValueRange carried) {
                 Value more = arith::ExtUIOp::create(b, type, isBefore(at));
                 return Carried{arith::AddIOp::create(b, carried[0], more)};
               })
        .front();
  };
  Value end = arith::MinUIOp::create(
      b, size, arith::AddIOp::create(b, begin, b.index(kBlock)));
  Value lanes = arith::ConstantOp::create(
      b, b.getI32VectorAttr(llvm::to_vector(llvm::seq<int32_t>(kBlock))));
  Value ranks = arith::ConstantOp::create(b, b.getZeroAttr(type));
  ranks = overRange(b.index(0), begin, ranks,
                    [&](Value at) { return compare(P::sle, at); });
  ranks = overRange(begin, end, ranks, [&](Value at) -> Value {
    Value lane = arith::IndexCastOp::create(
        b, b.getI32Type(), arith::SubIOp::create(b, at, begin));
    Value isBehind = arith::CmpIOp::create(b, P::ult, splat(lane), lanes);
    Value isEqual = arith::AndIOp::create(b, compare(P::eq, at), isBehind);
    return arith::OrIOp::create(b, compare(P::slt, at), isEqual);
  });
  return overRange(end, size, ranks,
                   [&](Value at) { return compare(P::slt, at); });
}

Value RankSort::makeRanks(Value keys) {
  Value ranks =
      b.empty(OpFoldResult(b.getIndexAttr(kMostElements)), b.getI32Type());
  return buildLoop(b, b.index(0), size, b.index(kBlock), ranks,
                   [&](Value begin, ValueRange carried) {
                     return Carried{vector::TransferWriteOp::create(
                                        b, countBlock(keys, begin), carried[0],
                                        ValueRange(begin), ArrayRef<bool>(true))
                                        .getResult()};
                   })
      .front();
}

Value RankSort::moveLine(Value from, Value to, SmallVectorImpl<Value> &place,
                         llvm::function_ref<Value(Value)> getTarget) {
  return buildLoop(b, b.index(0), size, b.index(1), to,
                   [&](Value at, ValueRange carried) {
                     place[axis] = at;
                     Value element = tensor::ExtractOp::create(b, from, place);
                     place[axis] = getTarget(at);
                     return Carried{tensor::InsertOp::create(
                         b, element, carried[0], place)};
                   })
      .front();
}

Carried RankSort::sortLine(ValueRange tensors, SmallVectorImpl<Value> &place) {
  size_t half = tensors.size() / 2;
  Value ranks = makeRanks(makeKeys(tensors[0], place));
  auto getRank = [&](Value at) -> Value {
    Value rank = tensor::ExtractOp::create(b, ranks, at);
    return arith::IndexCastOp::create(b, b.getIndexType(), rank);
  };
  Carried sorted, copies;
  for (size_t i = 0; i < half; ++i) {
    copies.push_back(moveLine(tensors[i], tensors[half + i], place,
                              [](Value at) { return at; }));
    sorted.push_back(moveLine(copies[i], tensors[i], place, getRank));
  }
  sorted.append(copies);
  return sorted;
}
