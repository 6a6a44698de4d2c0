//===- RowVectors.cpp - Rows whose elements are lanes -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowVectors.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The greatest and the least element
//===----------------------------------------------------------------------===//

/// Whether accumulators hold numbers only, which takes one instruction, and
/// flags record NaN, two vectors each.
static bool hasFlags(linalg::LinalgOp op) {
  Combiner combiner = *getCombiner(op);
  Type type = combiner.neutral.getType();
  return isa<arith::MaximumFOp, arith::MinimumFOp>(combiner.op) &&
         (type.isF32() || type.isF64());
}

/// Two vectors share a flag.
static unsigned getNumFlags(unsigned numVectors) {
  return (numVectors + 1) / 2;
}

/// The greater or less of two, the second one where the first one is NaN.
static Value chooseExtreme(IndexBuilder &b, linalg::LinalgOp op, Value lhs,
                           Value rhs) {
  bool isMaximum = isa<arith::MaximumFOp>(getCombiner(op)->op);
  Value isFirst = arith::CmpFOp::create(
      b, isMaximum ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, lhs,
      rhs);
  return arith::SelectOp::create(b, isFirst, lhs, rhs);
}

/// Clears the flags of lanes in which there is a NaN.
static Value updateFlag(IndexBuilder &b, Value flag, Value lhs, Value rhs,
                        Value mask) {
  Value isNumber =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, lhs, rhs);
  if (mask)
    isNumber = arith::SelectOp::create(b, mask, isNumber, flag);
  return arith::AndIOp::create(b, flag, isNumber);
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

/// Accumulators are followed by flags.
SmallVector<Value> RowVectors::startReductions(IndexBuilder &b,
                                               const Loop &loop,
                                               const RowGroup &) const {
  SmallVector<Value> accumulators = makeAccumulators(b, loop, getUnroll());
  for (linalg::LinalgOp op : loop.reductions)
    if (hasFlags(op))
      accumulators.append(getNumFlags(getUnroll()),
                          context.splat(b, b.getBoolAttr(true)));
  return accumulators;
}

Value RowVectors::accumulate(IndexBuilder &b, linalg::LinalgOp op, Value result,
                             Value accumulator, RowScope &scope) const {
  if (hasFlags(op)) {
    Operation *combined = result.getDefiningOp();
    Value lhs = combined->getOperand(0), rhs = combined->getOperand(1);
    scope.flagged.push_back(lhs == accumulator ? rhs : lhs);
    result = chooseExtreme(b, op, scope.flagged.back(), accumulator);
    combined->erase();
  } else {
    result = RowForm::accumulate(b, op, result, accumulator, scope);
  }
  if (scope.mask)
    result = arith::SelectOp::create(b, scope.mask, result, accumulator);
  return result;
}

/// Combines the lanes of an accumulator.
static Value combineLanes(IndexBuilder &b, linalg::LinalgOp op,
                          Value accumulator, ArrayRef<Value> flags) {
  using Kind = vector::CombiningKind;
  Combiner combiner = *getCombiner(op);
  Type type = combiner.neutral.getType();
  auto reassoc = arith::FastMathFlags::reassoc;
  if (flags.empty()) {
    // Of the zeros that add nothing, this is the one that is left out.
    if (combiner.kind == Kind::ADD && isa<FloatType>(type))
      return vector::ReductionOp::create(
          b, combiner.kind, accumulator,
          arith::ConstantOp::create(b, b.getFloatAttr(type, -0.0)), reassoc);
    return vector::ReductionOp::create(
        b, combiner.kind, accumulator,
        isa<FloatType>(type) ? reassoc : arith::FastMathFlags::none);
  }
  bool isMaximum = combiner.kind == Kind::MAXIMUMF;
  Value result = vector::ReductionOp::create(
      b, isMaximum ? Kind::MAXNUMF : Kind::MINNUMF, accumulator,
      reassoc | arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
  Value flag = flags.front();
  for (Value other : flags.drop_front())
    flag = arith::AndIOp::create(b, flag, other);
  Value areNumbers = vector::ReductionOp::create(b, Kind::AND, flag);
  auto nan = llvm::APFloat::getNaN(cast<FloatType>(type).getFloatSemantics());
  return arith::SelectOp::create(
      b, areNumbers, result,
      arith::ConstantOp::create(b, b.getFloatAttr(type, nan)));
}

/// Combines accumulators, two by two, and then their lanes.
void RowVectors::finishReductions(IndexBuilder &b, const Loop &loop,
                                  RowGroup &group,
                                  ArrayRef<Value> accumulators) const {
  unsigned unroll = getUnroll();
  ArrayRef<Value> flags =
      accumulators.drop_front(loop.reductions.size() * unroll);
  for (linalg::LinalgOp op : loop.reductions) {
    Combiner combiner = *getCombiner(op);
    SmallVector<Value> values(accumulators.take_front(unroll));
    unsigned numFlags = hasFlags(op) ? getNumFlags(unroll) : 0;
    for (; values.size() > 1; values.resize(values.size() / 2))
      for (size_t i = 0, half = values.size() / 2; i < half; ++i)
        values[i] = numFlags
                        ? chooseExtreme(b, op, values[i], values[half + i])
                        : combine(b, combiner, values[i], values[half + i]);
    Value result =
        combineLanes(b, op, values.front(), flags.take_front(numFlags));
    addStart(b, op, result, group.rows.front());
    accumulators = accumulators.drop_front(unroll);
    flags = flags.drop_front(numFlags);
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Several vectors of elements, followed by the flags, one for two vectors.
SmallVector<Value> RowVectors::emitAt(IndexBuilder &b, const Span &span,
                                      Value start, unsigned count, Value mask,
                                      ValueRange accumulators) const {
  const Loop &loop = span.loop;
  Positions positions = span.positions;
  unsigned vectorDim = loop.dims.back();
  SmallVector<RowScope, 0> scopes;
  for (unsigned number = 0; number < count; ++number) {
    positions[vectorDim] = b.add(start, number * plan.lanes);
    RowScope &scope = scopes.emplace_back(span.group.getElements(0, positions));
    scope.vectorDim = vectorDim;
    scope.isVector = true;
    scope.mask = mask;
  }
  SmallVector<Value> results = emitVectors(b, loop, scopes, accumulators);
  unsigned place = loop.reductions.size() * count;
  for (size_t flagged = 0; flagged < scopes.front().flagged.size(); ++flagged)
    for (unsigned number = 0; number < count; number += 2, ++place)
      results[place] = updateFlag(
          b, results[place], scopes[number].flagged[flagged],
          scopes[std::min(number + 1, count - 1)].flagged[flagged], mask);
  return results;
}

/// The places of the accumulators, and then of the flags, of `count` vectors
/// among `size` of `unroll` vectors.
static SmallVector<unsigned> getPlaces(unsigned size, unsigned numReductions,
                                       unsigned unroll, unsigned count) {
  SmallVector<unsigned> places;
  auto take = [&](unsigned first, unsigned number) {
    llvm::append_range(places, llvm::seq(first, first + number));
  };
  unsigned numAccumulators = numReductions * unroll;
  for (unsigned first = 0; first < numAccumulators; first += unroll)
    take(first, count);
  for (unsigned first = numAccumulators; first < size;
       first += getNumFlags(unroll))
    take(first, getNumFlags(count));
  return places;
}

/// Lets `emit` update the accumulators of `count` vectors.
void RowVectors::update(
    const Loop &loop, unsigned count, MutableArrayRef<Value> accumulators,
    llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> emit) const {
  SmallVector<unsigned> places = getPlaces(
      accumulators.size(), loop.reductions.size(), getUnroll(), count);
  SmallVector<Value> values = emit(llvm::map_to_vector(
      places, [&](unsigned place) { return accumulators[place]; }));
  for (auto [place, value] : llvm::zip_equal(places, values))
    accumulators[place] = value;
}

/// Where what `size` elements divide ends.
static Value getWholeEnd(IndexBuilder &b, const RowRange &range, int64_t size) {
  Value length = b.sub(range.end, range.begin);
  return b.sub(range.end, b.rem(length, b.index(size)));
}

/// A vector that the range may end in.
SmallVector<Value> RowVectors::emitMasked(IndexBuilder &b, const Span &span,
                                          Value start,
                                          ValueRange accumulators) const {
  Value mask = context.makeMask(b, b.sub(span.range.end, start));
  return emitAt(b, span, start, 1, mask, accumulators);
}

/// A known number of elements that are left, fewer than those of the vectors in
/// flight.
void RowVectors::emitKnownRest(IndexBuilder &b, const Span &span, Value begin,
                               int64_t rest,
                               MutableArrayRef<Value> accumulators) const {
  if (unsigned whole = rest / plan.lanes)
    update(span.loop, whole, accumulators, [&](ArrayRef<Value> values) {
      return emitAt(b, span, begin, whole, Value(), values);
    });
  if (rest % plan.lanes != 0)
    update(span.loop, 1, accumulators, [&](ArrayRef<Value> values) {
      return emitMasked(b, span, getWholeEnd(b, span.range, plan.lanes),
                        values);
    });
}

/// Any number of elements that are left, one vector at a time.
void RowVectors::emitRest(IndexBuilder &b, const Span &span, Value begin,
                          MutableArrayRef<Value> accumulators) const {
  if (hasManyTails()) {
    Value first = std::exchange(begin, getWholeEnd(b, span.range, plan.lanes));
    b.loop(first, begin, plan.lanes, [&](IndexBuilder &inside, Value start) {
      emitAt(inside, span, start, 1, Value(), {});
    });
  }
  update(span.loop, 1, accumulators, [&](ArrayRef<Value> values) {
    return b.reduce(begin, span.range.end, plan.lanes, values,
                    [&](IndexBuilder &inside, Value start, ValueRange carried) {
                      return emitMasked(inside, span, start, carried);
                    });
  });
}

SmallVector<Value> RowVectors::emitElements(IndexBuilder &b, const Loop &loop,
                                            RowGroup &group,
                                            Positions positions,
                                            ValueRange accumulators) const {
  // Of a few steps the rest is worth no loop where it is known.
  constexpr int64_t kShortRow = 8;
  unsigned unroll = getUnroll();
  RowRange range = group.range;
  if (!range.begin)
    range = {b.index(0), context.getSize(loop.dims.back())};
  Span span = {loop, group, positions, range};
  int64_t step = plan.lanes * unroll;
  Value middle = getWholeEnd(b, range, step);
  SmallVector<Value> results =
      b.reduce(range.begin, middle, step, accumulators,
               [&](IndexBuilder &inside, Value start, ValueRange values) {
                 return emitAt(inside, span, start, unroll, Value(), values);
               });
  std::optional<int64_t> known =
      getConstantIntValue(b.sub(range.end, range.begin));
  if (known && *known < kShortRow * step)
    emitKnownRest(b, span, middle, *known % step, results);
  else
    emitRest(b, span, middle, results);
  return results;
}

//===----------------------------------------------------------------------===//
// Long rows
//===----------------------------------------------------------------------===//

namespace {
/// Rows that are tasks, or parts of them.
class LongRows : public RowVectors {
public:
  using RowVectors::RowVectors;
  void emit(IndexBuilder &b) const override { emitRows(b); }

private:
  bool hasManyTails() const override {
    return !plan.hasReductions() && plan.outer.any();
  }
};
} // namespace

std::unique_ptr<RowForm> mlir::relax::makeLongRows(const RowContext &context) {
  return std::make_unique<LongRows>(context);
}
