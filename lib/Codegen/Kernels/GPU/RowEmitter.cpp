//===- RowEmitter.cpp - A launch of rows ------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of threads has a row, and goes through the operations with a barrier
// in between, so that a row is read from memory once: after that it is in the
// caches, as is what operations compute for each other. Threads have
// neighbouring elements of the row; what they reduce comes together in shared
// memory.
//
// Few rows would leave much of a device idle, however long they are. Where one
// operation reduces them, several blocks share a row: each reduces a part of it
// in a launch before. How many parts there are depends on sizes alone, so that
// results do, too.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "ElementLaunch.h"
#include "Launch.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

/// A row has fewer threads where each would have fewer elements than these.
static constexpr int64_t kLeastElements = 4;

/// Blocks that fill a device, and the least elements of a part of a row.
static constexpr int64_t kBusyBlocks = 256, kLeastPart = 16384;

SmallVector<Type> RowStep::getSharedTypes() const {
  auto generic = op;
  if (best)
    return llvm::map_to_vector(generic.getRegionOutputArgs(),
                               [](Value value) { return value.getType(); });
  SmallVector<Type> types;
  if (reduction) // one after the other
    for (TypedAttr neutral : reduction->neutral)
      if (!llvm::is_contained(types, neutral.getType()))
        types.push_back(neutral.getType());
  return types;
}

/// Memory of each type as often as a step needs it.
SmallVector<Type> RowEmitter::getSharedTypes(ArrayRef<RowStep> those) {
  SmallVector<Type> types;
  for (const RowStep &step : those) {
    SmallVector<Type> needed = step.getSharedTypes();
    for (Type type : needed)
      while (llvm::count(types, type) < llvm::count(needed, type))
        types.push_back(type);
  }
  return llvm::map_to_vector(types, [&](Type type) -> Type {
    return getSharedType(b.getContext(), kMostThreads, type);
  });
}

SmallVector<Value> RowEmitter::findShared(TypeRange types) const {
  SmallVector<Value> found;
  for (Type type : types)
    found.push_back(*llvm::find_if(shared, [&](Value memory) {
      return cast<MemRefType>(memory.getType()).getElementType() == type &&
             !llvm::is_contained(found, memory);
    }));
  return found;
}

/// A power of two, by the longest row: a thread has some elements of it.
Value RowEmitter::getNumThreads(ArrayRef<SmallVector<Value>> sizes) {
  Value longest = b.index(1);
  for (ArrayRef<Value> loops : sizes)
    longest = b.max(longest, makeProduct(b, loops.drop_front(numRowDims)));
  Value count = b.index(kMostThreads);
  for (int64_t fewer = kMostThreads / 2; fewer >= 32; fewer /= 2)
    count = b.createOrFold<arith::SelectOp>(
        b.isAtMost(longest, fewer * kLeastElements), b.index(fewer), count);
  return count;
}

void RowEmitter::beginRow(IndexBuilder &in, gpu::LaunchOp op, Value number,
                          ArrayRef<Value> rowSizes) {
  thread = op.getThreadIds().x;
  numThreads = op.getBlockSize().x;
  rowNumber = number;
  row = delinearize(in, number, rowSizes, /*isSmall=*/true);
  shared = llvm::to_vector_of<Value>(op.getWorkgroupAttributions());
  read.clear();
  written.clear();
}

void RowEmitter::emit() {
  SmallVector<SmallVector<Value>> sizes;
  for (const RowStep &step : steps) {
    sizes.push_back(getLoopSizes(b, step.op));
    bodies.emplace_back(step.op, &scalars);
    // A place in a row of one dimension needs no quotients as it is.
    if (sizes.back().size() > numRowDims + 1)
      bodies.back().flatten(b);
  }
  auto rowSizes = ArrayRef(sizes.front()).take_front(numRowDims);
  parts = divideRows(sizes);
  if (parts)
    b.branch(parts->isDivided, [&](IndexBuilder &then) {
      launchParts(then, sizes[parts->reduced - steps.begin()]);
    });
  launch(b, makeProduct(b, rowSizes), getNumThreads(sizes),
         getSharedTypes(steps), [&](IndexBuilder &in, gpu::LaunchOp op) {
           beginRow(in, op, op.getBlockIds().x, rowSizes);
           for (auto [step, loops] : llvm::zip(steps, sizes)) {
             if (needsBarrier(step.op))
               waitForReads(in);
             for (Value operand : step.op->getOperands())
               if (!scalars.contains(operand))
                 read.insert(operand);
             emitStep(in, step, ArrayRef(loops).drop_front(numRowDims));
           }
         });
  if (parts)
    for (Value scratch : parts->scratch)
      memref::DeallocOp::create(b, scratch);
}

//===----------------------------------------------------------------------===//
// Parts of rows
//===----------------------------------------------------------------------===//

/// The only step that reduces, if it reads nothing that a step before writes.
static const RowStep *findReduced(ArrayRef<RowStep> steps) {
  const RowStep *found = nullptr;
  llvm::DenseSet<Value> written;
  for (const RowStep &step : steps) {
    linalg::GenericOp op = step.op;
    if (step.reduces()) {
      if (found || !step.reduction ||
          llvm::any_of(op.getInputs(),
                       [&](Value input) { return written.contains(input); }))
        return nullptr;
      found = &step;
    }
    written.insert_range(op.getOutputs());
  }
  return found;
}

std::optional<RowEmitter::Parts>
RowEmitter::divideRows(ArrayRef<SmallVector<Value>> sizes) {
  const RowStep *reduced = findReduced(steps);
  if (!reduced)
    return std::nullopt;
  ArrayRef<Value> loops = sizes[reduced - steps.begin()];
  Value one = b.index(1),
        numRows = makeProduct(b, loops.take_front(numRowDims)),
        length = makeProduct(b, loops.drop_front(numRowDims));
  Value mostParts = b.floorDiv(b.index(kBusyBlocks), b.max(numRows, one)),
        longParts = b.floorDiv(length, b.index(kLeastPart));
  // One part, as far as sizes are known.
  for (Value count : {mostParts, longParts})
    if (std::optional<int64_t> known = getConstantIntValue(count);
        known && *known <= 1)
      return std::nullopt;
  Value count = b.max(b.min(mostParts, longParts), one);
  Parts result = {
      reduced, b.isBelow(one, count), count, b.ceilDiv(length, count), {}};
  Value size = b.createOrFold<arith::SelectOp>(
      result.isDivided, b.mul(numRows, count), b.index(0));
  for (TypedAttr neutral : reduced->reduction->neutral)
    result.scratch.push_back(memref::AllocOp::create(
        b, MemRefType::get({ShapedType::kDynamic}, neutral.getType()), size));
  return result;
}

/// Reduces the parts of all rows, a block of threads for each.
void RowEmitter::launchParts(IndexBuilder &in, ArrayRef<Value> sizes) {
  const RowStep &step = *parts->reduced;
  auto rowSizes = sizes.take_front(numRowDims),
       inner = sizes.drop_front(numRowDims);
  Value length = makeProduct(in, inner), numRows = makeProduct(in, rowSizes);
  launch(in, in.mul(numRows, parts->count), in.index(kMostThreads),
         getSharedTypes(step), [&](IndexBuilder &at, gpu::LaunchOp op) {
           Value block = op.getBlockIds().x;
           SmallVector<Value> place =
               delinearize(at, block, {numRows, parts->count},
                           /*isSmall=*/true);
           beginRow(at, op, place[0], rowSizes);
           Value first = at.mul(place[1], parts->length);
           Value end = at.min(at.add(first, parts->length), length);
           SmallVector<Value> sums =
               reduceElements(at, step, inner, at.add(first, thread), end);
           for (auto [sum, neutral, combiner, scratch] :
                llvm::zip(sums, step.reduction->neutral,
                          step.reduction->combiners, parts->scratch)) {
             Value none = arith::ConstantOp::create(at, neutral);
             Value total = reduceBlock(at, sum, none, combiner);
             byFirstThread(at, [&, memory = scratch](IndexBuilder &then) {
               memref::StoreOp::create(then, total, memory, block);
             });
           }
         });
}

/// Combines what a thread has with those parts of the row that are its own.
SmallVector<Value> RowEmitter::addParts(IndexBuilder &in,
                                        const Reduction &reduction,
                                        ValueRange sums) {
  Value count =
      arith::SelectOp::create(in, parts->isDivided, parts->count, in.index(0));
  Value first = in.mul(rowNumber, parts->count);
  return loopUnrolled(
      in, thread, count, numThreads, /*unroll=*/1, sums,
      [&](IndexBuilder &loop, ArrayRef<Value> places, ValueRange carried) {
        SmallVector<Value> next;
        for (auto [sum, combiner, scratch] :
             llvm::zip(carried, reduction.combiners, parts->scratch)) {
          Value part = memref::LoadOp::create(loop, scratch,
                                              loop.add(first, places.front()));
          next.push_back(combine(loop, combiner, sum, part));
        }
        return next;
      });
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void RowEmitter::byFirstThread(IndexBuilder &in, IndexBuilder::Body body) {
  in.branch(in.isEqual(thread, in.index(0)), body);
}

ElementPlace RowEmitter::placeOf(IndexBuilder &in, Value place,
                                 ArrayRef<Value> sizes) {
  SmallVector<Value> where(row);
  llvm::append_range(where, delinearize(in, place, sizes));
  if (sizes.size() <= 1) // nothing is flat
    return where;
  return {where, in.add(in.mul(rowNumber, makeProduct(in, sizes)), place)};
}

/// Whether a step reads, or writes over, what other threads have written.
bool RowEmitter::needsBarrier(linalg::GenericOp op) const {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    Value memory = operand.get();
    if (op.isDpsInit(&operand) && read.contains(memory))
      return true;
    return written.contains(memory) && !scalars.contains(memory);
  });
}

bool RowEmitter::isOnlyUsedHere(Value memref) const {
  return memref.getDefiningOp<memref::AllocOp>() &&
         llvm::all_of(memref.getUsers(), [&](Operation *user) {
           return isa<memref::DeallocOp, memref::DimOp>(user) ||
                  llvm::any_of(steps, [&](const RowStep &step) {
                    return step.op == user;
                  });
         });
}

/// What a step computed for the row, by all threads alike. Memory gets it where
/// somebody else reads it there.
void RowEmitter::keepScalars(IndexBuilder &in, linalg::GenericOp op,
                             ArrayRef<Value> results) {
  SmallVector<OpOperand *> stored;
  for (auto [init, result] : llvm::zip(op.getDpsInitsMutable(), results)) {
    scalars[init.get()] = result;
    if (!isOnlyUsedHere(init.get()))
      stored.push_back(&init);
  }
  if (stored.empty())
    return;
  // Other threads may still have to load what was there.
  waitForReads(in);
  byFirstThread(in, [&](IndexBuilder &first) {
    for (OpOperand *init : stored) {
      written.insert(init->get());
      memref::StoreOp::create(first, scalars[init->get()], init->get(), row);
    }
  });
}

void RowEmitter::emitStep(IndexBuilder &in, const RowStep &step,
                          ArrayRef<Value> sizes) {
  if (step.reduction)
    return emitReduction(in, step, sizes);
  if (step.best)
    return emitBest(in, step, sizes.front());
  if (!sizes.empty()) {
    linalg::GenericOp op = step.op;
    written.insert_range(op.getOutputs());
    return emitElements(in, step, sizes);
  }
  const ElementBody &body = getBody(step);
  keepScalars(in, step.op, body.compute(in, row, body.load(in, row)));
}

void RowEmitter::emitElements(IndexBuilder &in, const RowStep &step,
                              ArrayRef<Value> sizes) {
  emitPlaces(in, getBody(step), thread, makeProduct(in, sizes), numThreads,
             getUnroll(step.op, sizes.size()),
             [&](IndexBuilder &loop, Value place) {
               return placeOf(loop, place, sizes);
             });
}

/// Combines what the threads of a block have, by warps first.
Value RowEmitter::reduceByWarps(IndexBuilder &in, Value value, Value neutral,
                                Operation *combiner, Value memory) {
  auto combineTwo = [&](IndexBuilder &at, Value lhs, Value rhs) {
    return combine(at, combiner, lhs, rhs);
  };
  value = reduceWarp(in, value, combineTwo);
  Value warp = in.index(kWarp), lane = in.rem(thread, warp);
  in.branch(in.isEqual(lane, in.index(0)), [&](IndexBuilder &first) {
    memref::StoreOp::create(first, value, memory, first.floorDiv(thread, warp));
  });
  gpu::BarrierOp::create(in);
  Value isWarp = in.isBelow(lane, in.floorDiv(numThreads, warp));
  auto others = scf::IfOp::create(
      in, isWarp,
      [&](OpBuilder &builder, Location loc) {
        Value other = memref::LoadOp::create(builder, loc, memory, lane);
        scf::YieldOp::create(builder, loc, other);
      },
      [&](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc, neutral);
      });
  return reduceWarp(in, others.getResult(0), combineTwo);
}

/// The same for what lanes cannot exchange: halves of the threads combine with
/// the other half.
SmallVector<Value> RowEmitter::reduceByHalves(IndexBuilder &in,
                                              ValueRange values,
                                              Combine combine) {
  SmallVector<Value> memories = findShared(values.getTypes());
  auto load = [&](IndexBuilder &at, Value place) {
    return llvm::map_to_vector(memories, [&](Value memory) -> Value {
      return memref::LoadOp::create(at, memory, place);
    });
  };
  auto store = [&](IndexBuilder &at, ValueRange stored) {
    for (auto [value, memory] : llvm::zip(stored, memories))
      memref::StoreOp::create(at, value, memory, thread);
  };
  store(in, values);
  gpu::BarrierOp::create(in);
  Value half = in.floorDiv(numThreads, in.index(2));
  scf::WhileOp::create(
      in, TypeRange(half.getType()), ValueRange(half),
      [&](OpBuilder &builder, Location loc, ValueRange strides) {
        IndexBuilder inside(loc, builder);
        Value goesOn = inside.compare(arith::CmpIPredicate::sgt,
                                      strides.front(), inside.index(0));
        scf::ConditionOp::create(inside, goesOn, strides);
      },
      [&](OpBuilder &builder, Location loc, ValueRange strides) {
        IndexBuilder inside(loc, builder);
        Value stride = strides.front();
        Value hasOther = inside.isBelow(thread, stride);
        inside.branch(hasOther, [&](IndexBuilder &then) {
          SmallVector<Value> mine = load(then, thread),
                             other = load(then, then.add(thread, stride));
          store(then, combine(then, mine, other));
        });
        gpu::BarrierOp::create(inside);
        scf::YieldOp::create(
            inside, ValueRange(inside.floorDiv(stride, inside.index(2))));
      });
  return load(in, in.index(0));
}

/// All have read what was in shared memory before, and all that was loaded.
void RowEmitter::waitForReads(IndexBuilder &in) {
  gpu::BarrierOp::create(in);
  written.clear();
  read.clear();
}

/// Combines what the threads of a block have; each gets it.
Value RowEmitter::reduceBlock(IndexBuilder &in, Value value, Value neutral,
                              Operation *combiner) {
  waitForReads(in);
  Type type = value.getType();
  if ((type.isF32() || type.isInteger(32)) && isOnCuda(combiner))
    return reduceByWarps(in, value, neutral, combiner,
                         findShared(type).front());
  auto combineTwo = [&](IndexBuilder &at, ValueRange mine, ValueRange other) {
    return SmallVector<Value>{
        combine(at, combiner, mine.front(), other.front())};
  };
  return reduceByHalves(in, value, combineTwo).front();
}

/// Each thread begins with its first element, or the last one of the row where
/// it has none; a row without elements has what was there before.
void RowEmitter::emitBest(IndexBuilder &in, const RowStep &step, Value length) {
  const ElementBody &body = getBody(step);
  linalg::GenericOp op = step.op;
  auto at = [&](IndexBuilder &b, Value place) {
    return placeOf(b, place, length);
  };
  SmallVector<Value> before;
  ElementPlace place = at(in, in.index(0));
  for (OpOperand &init : op.getDpsInitsMutable())
    before.push_back(body.loadOperand(in, init, place));
  auto first = scf::IfOp::create(
      in, in.isBelow(in.index(0), length),
      [&](OpBuilder &builder, Location loc) {
        IndexBuilder then(loc, builder);
        Value last = then.sub(length, then.index(1));
        ElementPlace where = at(then, then.min(thread, last));
        scf::YieldOp::create(then,
                             step.best->getFirst(then, where.indices,
                                                 body.loadInputs(then, where)));
      },
      [&](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc, before);
      });
  SmallVector<Value> found =
      accumulate(in, body, thread, length, numThreads, getUnroll(op, 1),
                 first.getResults(), at);
  waitForReads(in);
  found = reduceByHalves(
      in, found, [&](IndexBuilder &b, ValueRange mine, ValueRange other) {
        return step.best->combine(b, mine, other);
      });
  keepScalars(in, op, step.best->update(in, before, found));
}

/// What a thread makes of its elements from `begin` to `end`.
SmallVector<Value> RowEmitter::reduceElements(IndexBuilder &in,
                                              const RowStep &step,
                                              ArrayRef<Value> sizes,
                                              Value begin, Value end) {
  SmallVector<Value> neutral;
  for (TypedAttr value : step.reduction->neutral)
    neutral.push_back(arith::ConstantOp::create(in, value));
  return accumulate(in, getBody(step), begin, end, numThreads,
                    getUnroll(step.op, sizes.size()), neutral,
                    [&](IndexBuilder &loop, Value place) {
                      return placeOf(loop, place, sizes);
                    });
}

void RowEmitter::emitReduction(IndexBuilder &in, const RowStep &step,
                               ArrayRef<Value> sizes) {
  bool isDivided = parts && parts->reduced == &step;
  Value end = makeProduct(in, sizes);
  if (isDivided)
    end = arith::SelectOp::create(in, parts->isDivided, in.index(0), end);
  SmallVector<Value> sums = reduceElements(in, step, sizes, thread, end);
  if (isDivided)
    sums = addParts(in, *step.reduction, sums);
  const ElementBody &body = getBody(step);
  linalg::GenericOp op = step.op;
  SmallVector<Value> place(row), results;
  // Inits do not depend on the loops that reduce.
  place.resize(op.getNumLoops(), in.index(0));
  for (auto [init, sum, neutral, combiner] :
       llvm::zip(op.getDpsInitsMutable(), sums, step.reduction->neutral,
                 step.reduction->combiners)) {
    Value none = arith::ConstantOp::create(in, neutral);
    results.push_back(combine(in, combiner, body.loadOperand(in, init, place),
                              reduceBlock(in, sum, none, combiner)));
  }
  keepScalars(in, op, results);
}
