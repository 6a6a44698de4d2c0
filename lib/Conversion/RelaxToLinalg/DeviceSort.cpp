//===- DeviceSort.cpp - Sorting by many threads -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lines are sorted by merging runs, from one element on, as on the host, but no
// element waits for another one: each place of a merged run finds the element
// that belongs there by a binary search. A pass over all runs of all lines is
// thus one elementwise operation, which reads its operand at computed places.
// Two copies of the tensors take turns as source and destination.
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

/// Passes that merge each two neighbouring runs.
class MergePasses {
public:
  MergePasses(KernelBuilder &b, int64_t axis, bool isDescending, Value size)
      : b(b), axis(axis), isDescending(isDescending), size(size) {}

  Carried sort(ArrayRef<Value> tensors);

private:
  Carried merge(ValueRange from, ValueRange to, Value width);
  TwoRuns findRuns(ScalarBuilder &s, Value at, Value width);
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

/// The runs around place `at`. `width`, a power of two, is the size of a run.
TwoRuns MergePasses::findRuns(ScalarBuilder &s, Value at, Value width) {
  PlaceBuilder p(s);
  Value last = p.sub(p.add(width, width), p.index(1));
  Value offset = arith::AndIOp::create(s, at, last);
  Value begin = p.sub(at, offset);
  Value middle = p.min(p.add(begin, width), size);
  return {begin, middle, p.min(p.add(middle, width), size), offset};
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

Carried MergePasses::merge(ValueRange from, ValueRange to, Value width) {
  int64_t rank = b.getRank(from.front());
  SmallVector<AffineMap> maps(to.size(), b.identityMap(rank));
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      b, to.getTypes(), ValueRange(), to, maps, kinds,
      [&](OpBuilder &builder, Location, ValueRange) {
        ScalarBuilder s = b.scalars();
        s.restoreInsertionPoint(builder.saveInsertionPoint());
        line.clear();
        for (int64_t dim = 0; dim < rank; ++dim)
          line.push_back(linalg::IndexOp::create(s, dim));
        TwoRuns runs = findRuns(s, line[axis], width);
        Value source = findSource(s, from.front(), runs);
        Carried moved;
        for (Value tensor : from)
          moved.push_back(load(s, tensor, source));
        linalg::YieldOp::create(s, moved);
      });
  return Carried(op.getResults());
}

Carried MergePasses::sort(ArrayRef<Value> tensors) {
  Carried all(tensors);
  for (Value tensor : tensors)
    all.push_back(b.empty(b.dims(tensor), b.getElementType(tensor)));
  ScalarBuilder s = b.scalars();
  PlaceBuilder p(s);
  // Runs are doubled twice in a round, so that what is sorted is in the first
  // copy: ceil(log4(size)) rounds.
  Value last = p.sub(p.max(size, p.index(1)), p.index(1));
  Value rounds = p.half(p.add(countBits(s, last), p.index(1)));
  size_t half = tensors.size();
  all = buildLoop(
      b, p.index(0), rounds, p.index(1), all,
      [&](Value round, ValueRange carried) {
        Value shift = arith::AddIOp::create(b, round, round);
        Value one = arith::ConstantIndexOp::create(b, 1);
        Value width = arith::ShLIOp::create(b, one, shift);
        Carried first(carried.take_front(half));
        Carried second = merge(first, carried.drop_front(half), width);
        first = merge(second, first, arith::AddIOp::create(b, width, width));
        first.append(second);
        return first;
      });
  all.truncate(half);
  return all;
}

Carried mlir::relax::sortByAllThreads(KernelBuilder &b, ArrayRef<Value> tensors,
                                      int64_t axis, bool isDescending) {
  Value size = b.dimValue(tensors.front(), axis);
  return MergePasses(b, axis, isDescending, size).sort(tensors);
}
