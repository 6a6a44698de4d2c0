//===- DeviceSort.cpp - Sorting by many threads -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lines are sorted by merging runs as on the host, but no element waits for
// another one: each place of a merged run finds the element that belongs there
// by a binary search. A pass over all runs of all lines is thus one elementwise
// operation, which reads its operand at computed places. The first runs have
// eight elements each, of which each place compares all pairs.
// Two copies of the tensors take turns as source and destination. Where only
// the first elements are wanted, runs that have as many lose those behind them
// when they are merged, so that each pass has half of the elements of the one
// before.
//
//===----------------------------------------------------------------------===//

#include "DeviceSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// Arithmetic of indices.
class PlaceBuilder {
public:
  explicit PlaceBuilder(ImplicitLocOpBuilder &b) : b(b) {}
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return arith::SubIOp::create(b, lhs, rhs); }
  Value min(Value lhs, Value rhs) {
    return arith::MinSIOp::create(b, lhs, rhs);
  }
  Value max(Value lhs, Value rhs) {
    return arith::MaxSIOp::create(b, lhs, rhs);
  }
  Value half(Value value) { return arith::ShRUIOp::create(b, value, index(1)); }
  Value isBelow(Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lhs, rhs);
  }
  Value select(Value condition, Value lhs, Value rhs) {
    return arith::SelectOp::create(b, condition, lhs, rhs);
  }

private:
  ImplicitLocOpBuilder &b;
};

/// Two neighbouring runs, of which the second one may have fewer elements or
/// none, and a place in what they are merged to. Places are those in the line,
/// `offset` is that behind the beginning of the first run.
struct TwoRuns {
  Value begin, middle, end, offset;
};

/// The elements of a run that is sorted by comparing all pairs.
constexpr int64_t kFirstRun = 8;

/// What is merged: runs of `width` elements, a power of two, of which there are
/// `size` in all. With `keepsFirst` only as many of two runs are kept.
struct Pass {
  Value width, size;
  bool keepsFirst = false;
};

/// Passes that merge each two neighbouring runs.
class MergePasses {
public:
  MergePasses(KernelBuilder &b, int64_t axis, bool isDescending, Value size)
      : b(b), axis(axis), isDescending(isDescending), size(size) {}

  /// Writes all elements of lines in order, and their places.
  Carried sort(Value data, ArrayRef<Value> outputs);
  /// The same for the first `count` elements; what is behind them is lost.
  Carried sortFirst(Value data, ArrayRef<Value> outputs, int64_t count);

private:
  Carried makeRuns(Value data, ArrayRef<Value> outputs);
  Value findRank(ScalarBuilder &s, Value data, Value at);
  Carried computeElements(ValueRange outputs,
                          llvm::function_ref<Carried(ScalarBuilder &)> body);
  Carried repeat(
      Value rounds, const Carried &both,
      llvm::function_ref<Carried(Value level, ValueRange from, ValueRange to)>
          merge);
  Carried sortRuns(Value data, ArrayRef<Value> outputs, Value rounds);
  Value countRounds(int64_t width);
  Value countKept(Value level, int64_t width);
  Carried mergeKept(ValueRange from, ValueRange to, Value level, int64_t width);
  Carried merge(ValueRange from, ValueRange to, const Pass &pass);
  TwoRuns findRuns(ScalarBuilder &s, Value at, const Pass &pass);
  Value findCut(ScalarBuilder &s, Value keys, const TwoRuns &runs);
  Value findSource(ScalarBuilder &s, Value keys, const TwoRuns &runs);
  /// Whether the element of the second run has to come before that of the
  /// first one.
  Value takesSecond(ScalarBuilder &s, Value keys, Value first, Value second) {
    return isBefore(s, load(s, keys, second), load(s, keys, first),
                    isDescending);
  }
  Value load(ScalarBuilder &s, Value tensor, Value at) {
    SmallVector<Value> where(line);
    where[axis] = at;
    return tensor::ExtractOp::create(s, tensor, where);
  }

  KernelBuilder &b;
  int64_t axis;
  bool isDescending;
  Value size;
  /// The indices of the place, in the body that is being written.
  SmallVector<Value> line;
};
} // namespace

/// The runs that place `at` of what they are merged to belongs to.
TwoRuns MergePasses::findRuns(ScalarBuilder &s, Value at, const Pass &pass) {
  PlaceBuilder p(s);
  Value width = pass.width;
  Value kept = pass.keepsFirst ? width : p.add(width, width);
  Value offset = arith::AndIOp::create(s, at, p.sub(kept, p.index(1)));
  Value begin = p.sub(at, offset);
  if (pass.keepsFirst)
    begin = p.add(begin, begin);
  Value middle = p.min(p.add(begin, width), pass.size);
  return {begin, middle, p.min(p.add(middle, width), pass.size), offset};
}

/// How many of the first `offset` elements of both runs, in order, are of the
/// first one.
Value MergePasses::findCut(ScalarBuilder &s, Value keys, const TwoRuns &runs) {
  PlaceBuilder p(s);
  Value low =
      p.max(p.sub(runs.offset, p.sub(runs.end, runs.middle)), p.index(0));
  Value high = p.min(runs.offset, p.sub(runs.middle, runs.begin));
  auto loop = scf::WhileOp::create(
      s, TypeRange{s.getIndexType(), s.getIndexType()}, ValueRange{low, high},
      [&](OpBuilder &builder, Location loc, ValueRange bounds) {
        ImplicitLocOpBuilder in(loc, builder);
        Value isOpen = PlaceBuilder(in).isBelow(bounds[0], bounds[1]);
        scf::ConditionOp::create(in, isOpen, bounds);
      },
      [&](OpBuilder &builder, Location, ValueRange bounds) {
        ScalarBuilder in = b.scalars();
        in.restoreInsertionPoint(builder.saveInsertionPoint());
        PlaceBuilder p(in);
        Value cut = p.half(p.add(bounds[0], bounds[1]));
        Value after = p.add(cut, p.index(1));
        // The last one of the second run, if no more are of the first one.
        Value other = p.add(runs.middle, p.sub(runs.offset, after));
        Value isHigh = takesSecond(in, keys, p.add(runs.begin, cut), other);
        scf::YieldOp::create(in, ValueRange{p.select(isHigh, bounds[0], after),
                                            p.select(isHigh, cut, bounds[1])});
      });
  return loop.getResult(0);
}

/// The place of the element that belongs at the offset in the merged run.
Value MergePasses::findSource(ScalarBuilder &s, Value keys,
                              const TwoRuns &runs) {
  PlaceBuilder p(s);
  Value cut = findCut(s, keys, runs);
  Value first = p.add(runs.begin, cut);
  Value second = p.add(runs.middle, p.sub(runs.offset, cut));
  Value hasFirst = p.isBelow(first, runs.middle);
  Value hasSecond = p.isBelow(second, runs.end);
  // A run that is used up has no element: one that is there is read.
  Value last = p.sub(runs.end, p.index(1));
  Value wins = takesSecond(s, keys, p.min(first, last), p.min(second, last));
  Value noFirst = arith::XOrIOp::create(
      s, hasFirst, arith::ConstantIntOp::create(s, s.getI1Type(), 1));
  Value takes = arith::AndIOp::create(s, hasSecond,
                                      arith::OrIOp::create(s, noFirst, wins));
  return p.select(takes, second, first);
}

/// An elementwise operation, whose body knows where it is.
Carried MergePasses::computeElements(
    ValueRange outputs, llvm::function_ref<Carried(ScalarBuilder &)> body) {
  int64_t rank = b.getRank(outputs.front());
  SmallVector<AffineMap> maps(outputs.size(), b.identityMap(rank));
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      b, outputs.getTypes(), ValueRange(), outputs, maps, kinds,
      [&](OpBuilder &builder, Location, ValueRange) {
        ScalarBuilder s = b.scalars();
        s.restoreInsertionPoint(builder.saveInsertionPoint());
        line.clear();
        for (int64_t dim = 0; dim < rank; ++dim)
          line.push_back(linalg::IndexOp::create(s, dim));
        linalg::YieldOp::create(s, body(s));
      });
  return Carried(op.getResults());
}

Carried MergePasses::merge(ValueRange from, ValueRange to, const Pass &pass) {
  return computeElements(to, [&](ScalarBuilder &s) {
    TwoRuns runs = findRuns(s, line[axis], pass);
    Value source = findSource(s, from.front(), runs);
    Carried moved;
    for (Value tensor : from)
      moved.push_back(load(s, tensor, source));
    return moved;
  });
}

//===----------------------------------------------------------------------===//
// The first runs
//===----------------------------------------------------------------------===//

/// The place of the element that belongs at place `at` of its run. What is
/// counted within a run has 32 bits, as registers of GPUs do.
Value MergePasses::findRank(ScalarBuilder &s, Value data, Value at) {
  PlaceBuilder p(s);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(s, value, 32);
  };
  auto narrow = [&](Value value) -> Value {
    return arith::IndexCastOp::create(s, s.getI32Type(), value);
  };
  Value offset = arith::AndIOp::create(s, at, p.index(kFirstRun - 1));
  Value begin = p.sub(at, offset);
  Value count = narrow(p.min(p.sub(size, begin), p.index(kFirstRun)));
  Value last = p.sub(count, number(1));
  auto placeOf = [&](Value inRun) {
    return p.add(begin, arith::IndexCastOp::create(s, s.getIndexType(), inRun));
  };
  SmallVector<Value> keys, ranks(kFirstRun, number(0));
  for (int64_t i = 0; i < kFirstRun; ++i)
    keys.push_back(load(s, data, placeOf(p.min(number(i), last))));
  for (int64_t i = 0; i < kFirstRun; ++i)
    for (int64_t j = i + 1; j < kFirstRun; ++j) {
      // What is behind the end of the line stays behind it.
      Value isSecond =
          arith::AndIOp::create(s, p.isBelow(number(j), count),
                                isBefore(s, keys[j], keys[i], isDescending));
      ranks[i] = p.add(ranks[i], p.select(isSecond, number(1), number(0)));
      ranks[j] = p.add(ranks[j], p.select(isSecond, number(0), number(1)));
    }
  Value rank = narrow(offset), source = number(0);
  for (int64_t i = 1; i < kFirstRun; ++i)
    source = p.select(
        arith::CmpIOp::create(s, arith::CmpIPredicate::eq, ranks[i], rank),
        number(i), source);
  return placeOf(source);
}

Carried MergePasses::makeRuns(Value data, ArrayRef<Value> outputs) {
  return computeElements(outputs, [&](ScalarBuilder &s) {
    Value source = findRank(s, data, line[axis]);
    Carried written = {load(s, data, source)};
    if (outputs.size() > 1)
      written.push_back(
          arith::IndexCastOp::create(s, b.getElementType(outputs[1]), source));
    return written;
  });
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// Two passes in a round, so that what is sorted is in the first ones of both
/// copies of the tensors.
Carried MergePasses::repeat(
    Value rounds, const Carried &both,
    llvm::function_ref<Carried(Value, ValueRange, ValueRange)> merge) {
  PlaceBuilder p(b);
  size_t half = both.size() / 2;
  return buildLoop(b, p.index(0), rounds, p.index(1), both,
                   [&](Value round, ValueRange carried) {
                     Value level = p.add(round, round);
                     Carried first(carried.take_front(half));
                     Carried second =
                         merge(level, first, carried.drop_front(half));
                     first = merge(p.add(level, p.index(1)), second, first);
                     first.append(second);
                     return first;
                   });
}

/// The rounds that make one run of those of `width` elements.
Value MergePasses::countRounds(int64_t width) {
  ScalarBuilder s = b.scalars();
  PlaceBuilder p(s);
  Value last = p.sub(p.max(size, p.index(1)), p.index(1));
  Value lastRun = arith::DivUIOp::create(s, last, p.index(width));
  return p.half(p.add(countBits(s, lastRun), p.index(1)));
}

/// Makes runs of lines of `data`, and merges them. Returns both copies.
Carried MergePasses::sortRuns(Value data, ArrayRef<Value> outputs,
                              Value rounds) {
  Carried both = makeRuns(data, outputs);
  for (Value tensor : outputs)
    both.push_back(b.empty(b.dims(tensor), b.getElementType(tensor)));
  return repeat(rounds, both, [&](Value level, ValueRange from, ValueRange to) {
    Value first = arith::ConstantIndexOp::create(b, kFirstRun);
    Value width = arith::ShLIOp::create(b, first, level);
    return merge(from, to, {width, size});
  });
}

Carried MergePasses::sort(Value data, ArrayRef<Value> outputs) {
  Carried both = sortRuns(data, outputs, countRounds(kFirstRun));
  both.truncate(outputs.size());
  return both;
}

/// How many elements are left after so many passes that keep `width` elements
/// of two runs. All runs but the last one have as many.
Value MergePasses::countKept(Value level, int64_t width) {
  PlaceBuilder p(b);
  Value kept = p.index(width);
  Value span = arith::ShLIOp::create(b, kept, level);
  Value last = arith::DivUIOp::create(
      b, p.sub(p.max(size, p.index(1)), p.index(1)), span);
  Value before = arith::MulIOp::create(b, last, span);
  return p.add(arith::MulIOp::create(b, last, kept),
               p.min(p.sub(size, before), kept));
}

/// The elements that a pass keeps are at the beginning of lines.
Carried MergePasses::mergeKept(ValueRange from, ValueRange to, Value level,
                               int64_t width) {
  PlaceBuilder p(b);
  Value before = countKept(level, width);
  Value after = countKept(p.add(level, p.index(1)), width);
  int64_t rank = b.getRank(to.front());
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = b.dims(to.front());
  sizes[axis] = after;
  Carried parts;
  for (Value tensor : to)
    parts.push_back(
        tensor::ExtractSliceOp::create(b, tensor, offsets, sizes, strides));
  parts = merge(from, parts, {p.index(width), before, /*keepsFirst=*/true});
  for (auto [part, tensor] : llvm::zip_equal(parts, to))
    part =
        tensor::InsertSliceOp::create(b, part, tensor, offsets, sizes, strides);
  return parts;
}

Carried MergePasses::sortFirst(Value data, ArrayRef<Value> outputs,
                               int64_t count) {
  PlaceBuilder p(b);
  int64_t width = kFirstRun, rounds = 0;
  for (; width < count; width *= 4)
    ++rounds;
  Carried both = sortRuns(data, outputs, p.index(rounds));
  both = repeat(countRounds(width), both,
                [&](Value level, ValueRange from, ValueRange to) {
                  return mergeKept(from, to, level, width);
                });
  both.truncate(outputs.size());
  return both;
}

Carried mlir::relax::sortByAllThreads(KernelBuilder &b, Value data,
                                      ArrayRef<Value> outputs, int64_t axis,
                                      bool isDescending,
                                      std::optional<int64_t> count) {
  MergePasses passes(b, axis, isDescending, b.dimValue(data, axis));
  return count ? passes.sortFirst(data, outputs, *count)
               : passes.sort(data, outputs);
}
