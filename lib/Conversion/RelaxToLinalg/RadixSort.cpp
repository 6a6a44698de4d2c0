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

/// The least number of elements of a part of a line.
static constexpr int64_t kPart = 1 << 14;

std::optional<int64_t> mlir::relax::leastToSortByThreads(Type element) {
  if (getOrderKeyType(element).getWidth() <= kDigitBits)
    return std::nullopt;
  return 2 * kPart;
}

RadixSort::RadixSort(KernelBuilder &b, Value data, int64_t axis,
                     bool isDescending)
    : b(b), axis(axis), isDescending(isDescending),
      size(b.dimValue(data, axis)),
      keyType(getOrderKeyType(b.getElementType(data))) {}

Value RadixSort::getDigit(Value key, Value digit) {
  Value shift = arith::MulIOp::create(b, digit, b.index(kDigitBits));
  shift = arith::IndexCastUIOp::create(b, keyType, shift);
  Value value = arith::ShRUIOp::create(b, key, shift);
  value = arith::AndIOp::create(b, value,
                                bits(APInt(keyType.getWidth(), kValues - 1)));
  return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
}

Value RadixSort::increment(Value counts, Value counter) {
  Value count = tensor::ExtractOp::create(b, counts, counter);
  count = arith::AddIOp::create(b, count, b.index(1));
  return tensor::InsertOp::create(b, count, counts, counter);
}

Value RadixSort::clear(Value counts, Value begin, Value end) {
  Value zero = b.index(0);
  return buildLoop(b, begin, end, b.index(1), counts,
                   [&](Value at, ValueRange carried) {
                     return Carried{
                         tensor::InsertOp::create(b, zero, carried[0], at)};
                   })
      .front();
}

Value RadixSort::countDigits(Value tensor, SmallVectorImpl<Value> &place) {
  int64_t digits = keyType.getWidth() / kDigitBits;
  Value counts =
      b.empty(ArrayRef<OpFoldResult>{b.getIndexAttr(digits * kValues)},
              b.getIndexType());
  counts = clear(counts, b.index(0), b.index(digits * kValues));
  return buildLoop(b, b.index(0), size, b.index(1), counts,
                   [&](Value at, ValueRange carried) {
                     Value key = getKey(load(tensor, at, place));
                     Value counts = carried[0];
                     for (int64_t i = 0; i < digits; ++i) {
                       Value digit = b.index(i);
                       counts = increment(counts, arith::AddIOp::create(
                                                      b, getDigit(key, digit),
                                                      getFirstCounter(digit)));
                     }
                     return Carried{counts};
                   })
      .front();
}

Value RadixSort::isCommon(Value tensor, Value counts, Value digit,
                          SmallVectorImpl<Value> &place) {
  Value key = getKey(load(tensor, b.index(0), place));
  Value counter =
      arith::AddIOp::create(b, getFirstCounter(digit), getDigit(key, digit));
  Value count = tensor::ExtractOp::create(b, counts, counter);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, size);
}

Value RadixSort::addCounts(Value counts, Value digit) {
  Value zero = b.index(0);
  Value first = getFirstCounter(digit);
  Carried carried = {counts, zero};
  return buildLoop(b, zero, b.index(kValues), b.index(1), carried,
                   [&](Value value, ValueRange carried) {
                     Value at = arith::AddIOp::create(b, first, value);
                     Value count = tensor::ExtractOp::create(b, carried[0], at);
                     Value counts = tensor::InsertOp::create(b, carried[1],
                                                             carried[0], at);
                     return Carried{
                         counts, arith::AddIOp::create(b, carried[1], count)};
                   })
      .front();
}

Carried RadixSort::moveElements(ValueRange from, ValueRange carried,
                                Value begin, Value end, Value first,
                                Value digit, SmallVectorImpl<Value> &place) {
  return buildLoop(
      b, begin, end, b.index(1), carried, [&](Value at, ValueRange carried) {
        SmallVector<Value> elements;
        for (Value tensor : from)
          elements.push_back(load(tensor, at, place));
        Value counter = arith::AddIOp::create(
            b, first, getDigit(getKey(elements[0]), digit));
        Value counts = carried.back();
        Value target = tensor::ExtractOp::create(b, counts, counter);
        Carried results;
        place[axis] = target;
        for (auto [tensor, number] : llvm::zip(carried.drop_back(), elements))
          results.push_back(tensor::InsertOp::create(b, number, tensor, place));
        Value next = arith::AddIOp::create(b, target, b.index(1));
        results.push_back(tensor::InsertOp::create(b, next, counts, counter));
        return results;
      });
}

Carried RadixSort::move(ValueRange from, ValueRange to, Value counts,
                        Value digit, SmallVectorImpl<Value> &place) {
  Carried carried(to);
  carried.push_back(addCounts(counts, digit));
  return moveElements(from, carried, b.index(0), size, getFirstCounter(digit),
                      digit, place);
}

Carried RadixSort::overDigits(
    ValueRange carried,
    llvm::function_ref<Value(ValueRange, Value digit)> isCommon,
    llvm::function_ref<Carried(ValueRange from, ValueRange to, Value counts,
                               Value digit)>
        move) {
  size_t half = carried.size() / 2;
  int64_t digits = keyType.getWidth() / kDigitBits;
  return buildLoop(b, b.index(0), b.index(digits), b.index(2), carried,
                   [&](Value digit, ValueRange carried) {
                     Value other = arith::AddIOp::create(b, digit, b.index(1));
                     Value isDone = arith::AndIOp::create(
                         b, isCommon(carried, digit), isCommon(carried, other));
                     auto moveTwice = [&] {
                       ValueRange first = carried.take_front(half);
                       Carried second = move(first, carried.slice(half, half),
                                             carried.back(), digit);
                       Value counts = second.pop_back_val();
                       Carried next = move(second, first, counts, other);
                       counts = next.pop_back_val();
                       next.append(second);
                       next.push_back(counts);
                       return next;
                     };
                     return buildIf(
                         b, carried.getTypes(), isDone,
                         [&] { return Carried(carried); }, moveTwice);
                   });
}

Carried RadixSort::sortLine(ValueRange tensors, SmallVectorImpl<Value> &place) {
  size_t half = tensors.size() / 2;
  Value counts = countDigits(tensors[0], place);
  if (keyType.getWidth() == kDigitBits) {
    Carried second = move(tensors.take_front(half), tensors.drop_front(half),
                          counts, b.index(0), place);
    second.pop_back();
    // Back to the first copy.
    Carried first = buildLoop(
        b, b.index(0), size, b.index(1), tensors.take_front(half),
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
  Carried all(tensors);
  all.push_back(counts);
  all = overDigits(
      all,
      [&](ValueRange carried, Value digit) {
        return isCommon(carried[0], carried.back(), digit, place);
      },
      [&](ValueRange from, ValueRange to, Value counts, Value digit) {
        return move(from, to, counts, digit, place);
      });
  all.pop_back();
  return all;
}

//===----------------------------------------------------------------------===//
// Lines that threads share
//===----------------------------------------------------------------------===//

RadixSort::Parts RadixSort::divide(Value threads) {
  // A thread has some of them, as others may be late.
  Value most = arith::MulIOp::create(b, threads, b.index(4));
  Value count = arith::MinUIOp::create(
      b, most, arith::DivUIOp::create(b, size, b.index(kPart)));
  count = arith::MaxUIOp::create(b, count, b.index(1));
  return {count, arith::CeilDivUIOp::create(b, size, count)};
}

Carried RadixSort::overParts(const Parts &parts, ValueRange carried,
                             PartBody body) {
  Carried results =
      buildPartLoop(b, size, parts.count, parts.length, carried, body);
  makeIndependent(b, results.front().getDefiningOp());
  return results;
}

Value RadixSort::findDifferences(Value tensor, const Parts &parts,
                                 SmallVectorImpl<Value> &place) {
  Value zero = b.index(0), one = b.index(1);
  Value none = bits(APInt::getZero(keyType.getWidth()));
  Value key = getKey(load(tensor, zero, place));
  Value found = b.empty(OpFoldResult(parts.count), keyType);
  found =
      overParts(parts, found,
                [&](Value part, Value begin, Value end, ValueRange carried) {
                  Carried differing = buildLoop(
                      b, begin, end, one, none, [&](Value at, ValueRange so) {
                        Value other = arith::XOrIOp::create(
                            b, key, getKey(load(tensor, at, place)));
                        return Carried{arith::OrIOp::create(b, so[0], other)};
                      });
                  return Carried{tensor::InsertOp::create(b, differing[0],
                                                          carried[0], part)};
                })
          .front();
  return buildLoop(b, zero, parts.count, one, none,
                   [&](Value part, ValueRange carried) {
                     Value other = tensor::ExtractOp::create(b, found, part);
                     return Carried{arith::OrIOp::create(b, carried[0], other)};
                   })
      .front();
}

Value RadixSort::countParts(Value tensor, Value counts, Value digit,
                            const Parts &parts, SmallVectorImpl<Value> &place) {
  return overParts(parts, counts,
                   [&](Value part, Value begin, Value end, ValueRange carried) {
                     Value first = getFirstCounter(part);
                     Value last =
                         arith::AddIOp::create(b, first, b.index(kValues));
                     Value counts = clear(carried[0], first, last);
                     return buildLoop(
                         b, begin, end, b.index(1), counts,
                         [&](Value at, ValueRange carried) {
                           Value key = getKey(load(tensor, at, place));
                           Value counter = arith::AddIOp::create(
                               b, first, getDigit(key, digit));
                           return Carried{increment(carried[0], counter)};
                         });
                   })
      .front();
}

/// Elements with a digit begin behind all that have a lower one, and those of a
/// part behind those of the parts before.
Value RadixSort::addPartCounts(Value counts, const Parts &parts) {
  Value zero = b.index(0), one = b.index(1);
  Carried carried = {counts, zero};
  auto add = [&](Value part, Value value, ValueRange carried) {
    Value at = arith::AddIOp::create(b, getFirstCounter(part), value);
    Value count = tensor::ExtractOp::create(b, carried[0], at);
    Value counts = tensor::InsertOp::create(b, carried[1], carried[0], at);
    return Carried{counts, arith::AddIOp::create(b, carried[1], count)};
  };
  return buildLoop(b, zero, b.index(kValues), one, carried,
                   [&](Value value, ValueRange carried) {
                     return buildLoop(b, zero, parts.count, one, carried,
                                      [&](Value part, ValueRange carried) {
                                        return add(part, value, carried);
                                      });
                   })
      .front();
}

Carried RadixSort::moveParts(ValueRange from, ValueRange to, Value counts,
                             Value digit, const Parts &parts,
                             SmallVectorImpl<Value> &place) {
  counts = countParts(from[0], counts, digit, parts, place);
  Carried carried(to);
  carried.push_back(addPartCounts(counts, parts));
  return overParts(parts, carried,
                   [&](Value part, Value begin, Value end, ValueRange carried) {
                     return moveElements(from, carried, begin, end,
                                         getFirstCounter(part), digit, place);
                   });
}

Carried RadixSort::sortLineByThreads(ValueRange tensors,
                                     SmallVectorImpl<Value> &place,
                                     Value threads) {
  Parts parts = divide(threads);
  Value differing = findDifferences(tensors[0], parts, place);
  Carried all(tensors);
  all.push_back(
      b.empty(OpFoldResult(getFirstCounter(parts.count)), b.getIndexType()));
  all = overDigits(
      all,
      [&](ValueRange, Value digit) -> Value {
        return arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                     getDigit(differing, digit), b.index(0));
      },
      [&](ValueRange from, ValueRange to, Value counts, Value digit) {
        return moveParts(from, to, counts, digit, parts, place);
      });
  all.pop_back();
  return all;
}
