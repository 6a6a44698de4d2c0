//===- RadixSort.cpp - Sorting of long lines by digits ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RadixSort.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::relax;

/// A digit is a byte.
static constexpr int64_t kDigitBits = 8, kValues = 1 << kDigitBits;

std::optional<int64_t> mlir::relax::leastToSortByDigits(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  // Floats of 8 bits differ in how they write what is not a number.
  if (width < 8 || (width == 8 && isa<FloatType>(element)))
    return std::nullopt;
  return 16 * width;
}

RadixSort::RadixSort(KernelBuilder &b, Value data, int64_t axis,
                     bool isDescending)
    : b(b), axis(axis), isDescending(isDescending),
      size(b.dimValue(data, axis)), element(b.getElementType(data)),
      keyType(b.getIntegerType(element.getIntOrFloatBitWidth())) {}

/// Negative floats are in the opposite order of their bits. Zeros are equal,
/// and those that are not a number, which are after all others.
Value RadixSort::getFloatKey(Value number) {
  unsigned width = keyType.getWidth();
  APInt sign = APInt::getSignMask(width);
  APInt infinity = APFloat::getInf(cast<FloatType>(element).getFloatSemantics())
                       .bitcastToAPInt();
  Value magnitude = arith::AndIOp::create(b, number, bits(~sign));
  Value isNaN = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, magnitude,
                                      bits(infinity));
  Value isZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude,
                                       bits(APInt::getZero(width)));
  Value plain = arith::SelectOp::create(b, isZero, magnitude, number);
  Value isNegative =
      arith::ShRSIOp::create(b, plain, bits(APInt(width, width - 1)));
  Value flipped = arith::OrIOp::create(b, isNegative, bits(sign));
  Value key = arith::XOrIOp::create(b, plain, flipped);
  return arith::SelectOp::create(b, isNaN, bits(APInt::getAllOnes(width)), key);
}

Value RadixSort::getKey(Value number) {
  unsigned width = keyType.getWidth();
  Value key = number;
  if (isa<FloatType>(element))
    key = getFloatKey(arith::BitcastOp::create(b, keyType, number));
  else if (!b.scalars().isUnsigned())
    key = arith::XOrIOp::create(b, number, bits(APInt::getSignMask(width)));
  if (isDescending)
    key = arith::XOrIOp::create(b, key, bits(APInt::getAllOnes(width)));
  return key;
}

Value RadixSort::getCounter(Value key, Value digit) {
  Value shift = arith::MulIOp::create(b, digit, constant(kDigitBits));
  shift = arith::IndexCastUIOp::create(b, keyType, shift);
  Value value = arith::ShRUIOp::create(b, key, shift);
  value = arith::AndIOp::create(b, value,
                                bits(APInt(keyType.getWidth(), kValues - 1)));
  Value first = arith::MulIOp::create(b, digit, constant(kValues));
  return arith::AddIOp::create(
      b, first, arith::IndexCastUIOp::create(b, b.getIndexType(), value));
}

Value RadixSort::countDigits(Value tensor, SmallVectorImpl<Value> &place) {
  int64_t digits = keyType.getWidth() / kDigitBits;
  Value zero = constant(0), one = constant(1);
  Value counts =
      b.empty(ArrayRef<OpFoldResult>{b.getIndexAttr(digits * kValues)},
              b.getIndexType());
  counts = buildLoop(b, zero, constant(digits * kValues), one, counts,
                     [&](Value at, ValueRange carried) {
                       return Carried{tensor::InsertOp::create(
                           b, zero, carried[0], ValueRange(at))};
                     })
               .front();
  return buildLoop(b, zero, size, one, counts,
                   [&](Value at, ValueRange carried) {
                     Value key = getKey(load(tensor, at, place));
                     Value counts = carried[0];
                     for (int64_t digit = 0; digit < digits; ++digit) {
                       Value counter = getCounter(key, constant(digit));
                       Value count = tensor::ExtractOp::create(
                           b, counts, ValueRange(counter));
                       count = arith::AddIOp::create(b, count, one);
                       counts = tensor::InsertOp::create(b, count, counts,
                                                         ValueRange(counter));
                     }
                     return Carried{counts};
                   })
      .front();
}

Value RadixSort::isCommon(Value tensor, Value counts, Value digit,
                          SmallVectorImpl<Value> &place) {
  Value key = getKey(load(tensor, constant(0), place));
  Value count =
      tensor::ExtractOp::create(b, counts, ValueRange(getCounter(key, digit)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, size);
}

Value RadixSort::addCounts(Value counts, Value digit) {
  Value zero = constant(0);
  Value first = arith::MulIOp::create(b, digit, constant(kValues));
  Carried carried = {counts, zero};
  return buildLoop(b, zero, constant(kValues), constant(1), carried,
                   [&](Value value, ValueRange carried) {
                     Value at = arith::AddIOp::create(b, first, value);
                     Value count = tensor::ExtractOp::create(b, carried[0],
                                                             ValueRange(at));
                     Value counts = tensor::InsertOp::create(
                         b, carried[1], carried[0], ValueRange(at));
                     return Carried{
                         counts, arith::AddIOp::create(b, carried[1], count)};
                   })
      .front();
}

Carried RadixSort::move(ValueRange from, ValueRange to, Value counts,
                        Value digit, SmallVectorImpl<Value> &place) {
  Value one = constant(1);
  Carried carried(to);
  carried.push_back(addCounts(counts, digit));
  return buildLoop(
      b, constant(0), size, one, carried, [&](Value at, ValueRange carried) {
        SmallVector<Value> elements;
        for (Value tensor : from)
          elements.push_back(load(tensor, at, place));
        Value counts = carried.back();
        Value counter = getCounter(getKey(elements[0]), digit);
        Value target =
            tensor::ExtractOp::create(b, counts, ValueRange(counter));
        Value next = arith::AddIOp::create(b, target, one);
        Carried results;
        place[axis] = target;
        for (auto [tensor, number] : llvm::zip(carried.drop_back(), elements))
          results.push_back(tensor::InsertOp::create(b, number, tensor, place));
        results.push_back(
            tensor::InsertOp::create(b, next, counts, ValueRange(counter)));
        return results;
      });
}

Carried RadixSort::sortLine(ValueRange tensors, SmallVectorImpl<Value> &place) {
  size_t half = tensors.size() / 2;
  int64_t digits = keyType.getWidth() / kDigitBits;
  Value one = constant(1);
  Carried all(tensors);
  all.push_back(countDigits(tensors[0], place));
  if (digits == 1) {
    Carried second = move(tensors.take_front(half), tensors.drop_front(half),
                          all.back(), constant(0), place);
    second.pop_back();
    // Back to the first copy.
    Carried first = buildLoop(
        b, constant(0), size, one, tensors.take_front(half),
        [&](Value at, ValueRange carried) {
          Carried next;
          for (auto [from, to] : llvm::zip(second, carried)) {
            Value number = load(from, at, place);
            next.push_back(tensor::InsertOp::create(b, number, to, place));
          }
          return next;
        });
    first.append(second);
    return first;
  }
  all = buildLoop(
      b, constant(0), constant(digits), constant(2), all,
      [&](Value digit, ValueRange carried) {
        Value other = arith::AddIOp::create(b, digit, one),
              counts = carried.back();
        Value isDone =
            arith::AndIOp::create(b, isCommon(carried[0], counts, digit, place),
                                  isCommon(carried[0], counts, other, place));
        auto conditional =
            scf::IfOp::create(b, carried.getTypes(), isDone, true, true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(conditional.thenBlock());
        scf::YieldOp::create(b, carried);
        b.setInsertionPointToStart(conditional.elseBlock());
        ValueRange first = carried.take_front(half);
        Carried second =
            move(first, carried.slice(half, half), counts, digit, place);
        counts = second.pop_back_val();
        Carried next = move(second, first, counts, other, place);
        counts = next.pop_back_val();
        next.append(second);
        next.push_back(counts);
        scf::YieldOp::create(b, next);
        return llvm::to_vector_of<Value>(conditional.getResults());
      });
  all.pop_back();
  return all;
}
