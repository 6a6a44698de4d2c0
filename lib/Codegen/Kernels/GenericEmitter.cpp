//===- GenericEmitter.cpp - Vectorized loops for any operation --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericEmitter.h"

#include "VectorBody.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// The number of rows in one iteration where lanes are rows.
static constexpr int64_t kRows = 512;

/// The number of vectors of a row, and at least of results, that are reduced
/// together.
static constexpr unsigned kUnroll = 4;

SmallVector<Value> GenericEmitter::emitReductions(IndexBuilder &b,
                                                  unsigned depth,
                                                  ArrayRef<Position> places,
                                                  Place place,
                                                  ValueRange accumulators) {
  if (depth < plan.reductions.size()) {
    unsigned dim = plan.reductions[depth];
    return b.reduce(b.index(0), sizes[dim], 1, accumulators,
                    [&](IndexBuilder &inside, Value i, ValueRange carried) {
                      positions[dim] = i;
                      return emitReductions(inside, depth + 1, places, place,
                                            carried);
                    });
  }
  SmallVector<Value> results;
  unsigned numInits = op.getNumDpsInits();
  for (auto [number, position] : llvm::enumerate(places)) {
    moveTo(position);
    llvm::append_range(
        results,
        computeBody(b, accumulators.slice(number * numInits, numInits), place));
  }
  return results;
}

/// Whole vectors, one or several, or one of which some lanes are there.
void GenericEmitter::emitBlock(IndexBuilder &b, Value base, unsigned unroll,
                               Value mask) {
  Place place{mask, Value()};
  SmallVector<Position> places;
  if (rows.empty())
    for (unsigned number = 0; number < unroll; ++number)
      places.push_back({b.add(base, number * plan.lanes), Value()});
  for (Value row : rows)
    places.push_back({base, row});
  SmallVector<Value> accumulators;
  for (const Position &position : places)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      moveTo(position);
      Type type = getElementTypeOrSelf(init.get().getType());
      accumulators.push_back(op.payloadUsesValueFromOperand(&init) ||
                                     !plan.reductions.empty()
                                 ? loadOperand(b, init, place)
                                 : splat(b, plan.lanes, b.getZeroAttr(type)));
    }
  // All is read before anything is written.
  SmallVector<Value> results =
      emitReductions(b, 0, places, place, accumulators);
  unsigned number = 0;
  for (const Position &position : places)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      moveTo(position);
      storeResult(b, init, results[number++], place);
    }
}

void GenericEmitter::emitBlocks(IndexBuilder &b, Value begin, Value end) {
  auto isEmpty = [](Value from, Value to) {
    std::optional<int64_t> first = getConstantIntValue(from);
    return first && first == getConstantIntValue(to);
  };
  Value middle = begin;
  auto emitWhole = [&](unsigned unroll) {
    int64_t step = plan.lanes * unroll;
    Value from = middle;
    Value rest = b.rem(b.sub(end, from), b.index(step));
    middle = b.sub(end, rest);
    if (!isEmpty(from, middle))
      b.loop(from, middle, step, [&](IndexBuilder &inside, Value base) {
        emitBlock(inside, base, unroll, Value());
      });
  };
  if (plan.reductions.empty() || plan.unroll < kUnroll)
    emitWhole(1);
  else
    for (unsigned unroll = plan.unroll; unroll >= kUnroll; unroll /= 2)
      emitWhole(unroll);
  if (!isEmpty(middle, end))
    b.loop(middle, end, plan.lanes, [&](IndexBuilder &inside, Value base) {
      auto type = VectorType::get({plan.lanes}, b.getI1Type());
      Value mask = vector::CreateMaskOp::create(
          inside, type, ValueRange{inside.sub(end, base)});
      if (rows.empty())
        return emitBlock(inside, base, 1, mask);
      Value first = rows.front();
      SmallVector<Value> together = std::exchange(rows, {});
      inside.loop(first, inside.add(first, plan.jam), 1,
                  [&](IndexBuilder &single, Value row) {
                    positions[rowDim] = row;
                    emitBlock(single, base, 1, mask);
                  });
      rows = together;
    });
}

void GenericEmitter::emitVectors(IndexBuilder &b, Value begin, Value end) {
  hoistOperands(b);
  if (!plan.wrap)
    return emitBlocks(b, begin, end);
  Value size = getValueOrCreateConstantIndexOp(b, b.getLoc(), plan.wrap);
  // There are no elements where it is 0.
  size = b.max(size, b.index(1));
  b.loop(b.floorDiv(begin, size), b.ceilDiv(end, size), 1,
         [&](IndexBuilder &inside, Value turn) {
           wrapStart = inside.mul(turn, size);
           emitBlocks(inside, inside.max(begin, wrapStart),
                      inside.min(end, inside.add(wrapStart, size)));
         });
}

/// Combines the lanes of accumulators one after the other.
SmallVector<Value> GenericEmitter::combineLanes(IndexBuilder &b,
                                                ValueRange accumulators) {
  auto getLane = [&](IndexBuilder &inside, OpFoldResult lane) {
    return llvm::map_to_vector(accumulators, [&](Value vector) -> Value {
      return vector::ExtractOp::create(inside, vector, lane);
    });
  };
  return b.reduce(
      b.index(1), b.index(plan.lanes), 1, getLane(b, b.getIndexAttr(0)),
      [&](IndexBuilder &inside, Value lane, ValueRange carried) {
        VectorBody body(inside, plan.lanes);
        return plan.row->combine(body, inside, carried, getLane(inside, lane));
      });
}

/// Lanes reduce a part of the row each, several vectors of them.
void GenericEmitter::emitRow(IndexBuilder &b) {
  hoistOperands(b);
  unsigned numInits = op.getNumDpsInits();
  std::optional<TypedAttr> neutral = plan.row->getNeutral();
  SmallVector<Value> starts, firsts;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    const FlatMemory &memory = memories.find(init.get())->second;
    starts.push_back(
        memref::LoadOp::create(b, memory.elements, getAddress(b, init)));
    firsts.push_back(neutral
                         ? splat(b, plan.lanes, *neutral)
                         : VectorBody(b, plan.lanes).broadcast(starts.back()));
  }
  SmallVector<Value> accumulators;
  for (unsigned number = 0; number < kUnroll; ++number)
    llvm::append_range(accumulators, firsts);
  int64_t step = plan.lanes * kUnroll;
  Value size = sizes[plan.vectorDim];
  Value middle = b.sub(size, b.rem(size, b.index(step)));
  accumulators = b.reduce(
      b.index(0), middle, step, accumulators,
      [&](IndexBuilder &inside, Value base, ValueRange carried) {
        SmallVector<Value> results;
        for (unsigned number = 0; number < kUnroll; ++number) {
          positions[plan.vectorDim] = inside.add(base, number * plan.lanes);
          llvm::append_range(
              results,
              computeBody(inside, carried.slice(number * numInits, numInits),
                          Place()));
        }
        return results;
      });
  VectorBody body(b, plan.lanes);
  ArrayRef<Value> parts = accumulators;
  SmallVector<Value> total(parts.take_front(numInits));
  for (unsigned number = 1; number < kUnroll; ++number)
    total = plan.row->combine(
        body, b, total,
        ArrayRef(accumulators).slice(number * numInits, numInits));
  total =
      b.reduce(middle, size, plan.lanes, total,
               [&](IndexBuilder &inside, Value base, ValueRange carried) {
                 auto type = VectorType::get({plan.lanes}, inside.getI1Type());
                 Value mask = vector::CreateMaskOp::create(
                     inside, type, ValueRange{inside.sub(size, base)});
                 positions[plan.vectorDim] = base;
                 SmallVector<Value> results =
                     computeBody(inside, carried, Place{mask, Value()});
                 for (auto [result, old] : llvm::zip(results, carried))
                   result = arith::SelectOp::create(inside, mask, result, old);
                 return results;
               });
  total = combineLanes(b, total);
  if (neutral)
    total = plan.row->combine(body, b, starts, total);
  for (auto [init, value] : llvm::zip(op.getDpsInitsMutable(), total)) {
    const FlatMemory &memory = memories.find(init.get())->second;
    memref::StoreOp::create(b, value, memory.elements, getAddress(b, init));
  }
}

/// The number of elements along the vector loop in one iteration; 0: all.
int64_t GenericEmitter::getPart() const {
  if (plan.row)
    return 0;
  int64_t part =
      plan.reductions.empty() ? TaskGrid::kChunk : plan.lanes * plan.unroll;
  if (plan.unroll < kUnroll)
    part = kRows;
  std::optional<int64_t> size = getConstantIntValue(sizes[plan.vectorDim]);
  return !size || *size > part ? part : 0;
}

int64_t GenericEmitter::getGrain(bool hasGroups) const {
  auto getSize = [&](unsigned dim, int64_t unknown) {
    return std::max<int64_t>(getConstantIntValue(sizes[dim]).value_or(unknown),
                             1);
  };
  int64_t elements = getSize(plan.vectorDim, 512);
  if (int64_t part = getPart())
    elements = std::min(elements, part);
  for (unsigned dim : plan.reductions)
    elements *= getSize(dim, 64);
  if (hasGroups)
    elements = std::max(elements, TaskGrid::kChunk);
  return TaskGrid::getGrain(elements, plan.cost);
}

/// How many of the innermost other loop are one iteration, if one of them may
/// be too little; null: one.
Value GenericEmitter::getGroupSize(IndexBuilder &b, bool hasParts,
                                   size_t numOuter) {
  std::optional<int64_t> known = getConstantIntValue(sizes[plan.vectorDim]);
  if (numOuter == 0 ||
      (plan.jam == 1 && ((hasParts && known) || (!hasParts && numOuter == 1))))
    return Value();
  Value length = sizes[plan.vectorDim];
  for (unsigned dim : plan.reductions)
    length = b.mul(length, sizes[dim]);
  Value number =
      b.floorDiv(b.index(TaskGrid::kChunk), b.max(length, b.index(1)));
  return b.roundUp(b.max(number, b.index(1)), plan.jam);
}

void GenericEmitter::prepare(IndexBuilder &b) {
  positions.assign(op.getNumLoops(), b.index(0));
  for (const Range &range : op.createLoopRanges(b, b.getLoc()))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, b.getLoc(), range.size));
  auto add = [&](Value memref) {
    if (isa<MemRefType>(memref.getType()) && !memories.contains(memref))
      memories[memref] = FlatMemory::getStrided(b, memref);
  };
  llvm::for_each(op->getOperands(), add);
  op->getRegion(0).walk([&](memref::LoadOp load) { add(load.getMemref()); });
}

void GenericEmitter::emitIteration(IndexBuilder &b, Value begin, Value end) {
  if (plan.row)
    emitRow(b);
  else
    emitVectors(b, begin, end);
}

/// Iterations of the innermost other loop, `plan.jam` of them together.
void GenericEmitter::emitGroup(IndexBuilder &b, Value first, Value last,
                               Value begin, Value end) {
  if (plan.jam > 1) {
    Value rest = b.rem(b.sub(last, first), b.index(plan.jam));
    Value middle = b.sub(last, rest);
    b.loop(first, middle, plan.jam, [&](IndexBuilder &jam, Value row) {
      for (unsigned number = 0; number < plan.jam; ++number)
        rows.push_back(jam.add(row, number));
      emitIteration(jam, begin, end);
      rows.clear();
    });
    first = middle;
  }
  b.loop(first, last, 1, [&](IndexBuilder &single, Value row) {
    positions[rowDim] = row;
    emitIteration(single, begin, end);
  });
}

void GenericEmitter::emit(IndexBuilder &b) {
  prepare(b);
  SmallVector<unsigned> outer;
  for (unsigned dim : plan.parallel)
    if (getConstantIntValue(sizes[dim]) != 1)
      outer.push_back(dim);
  Value size = sizes[plan.vectorDim];
  int64_t part = getPart();
  Value group = getGroupSize(b, part != 0, outer.size());
  TaskGrid grid;
  for (unsigned dim : outer)
    grid.add(group && dim == outer.back() ? b.ceilDiv(sizes[dim], group)
                                          : sizes[dim]);
  if (part)
    grid.add(b.ceilDiv(size, b.index(part)));
  auto emitTask = [&](IndexBuilder &task, ArrayRef<Value> steps) {
    Value begin = task.index(0), end = size;
    if (part) {
      begin = task.mul(steps.back(), part);
      end = task.min(task.add(begin, part), size);
    }
    for (auto [dim, step] : llvm::zip(outer, steps))
      positions[dim] = step;
    if (!group)
      return emitIteration(task, begin, end);
    rowDim = outer.back();
    Value first = task.mul(positions[rowDim], group);
    Value last = task.min(task.add(first, group), sizes[rowDim]);
    emitGroup(task, first, last, begin, end);
  };
  grid.emit(b, getGrain(bool(group)), emitTask);
}
