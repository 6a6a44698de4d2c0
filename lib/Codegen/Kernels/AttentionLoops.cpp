//===- AttentionLoops.cpp - Loops of attention ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task works on some queries of one element of the batch, and goes through
// the keys block by block; scores of a block are all that there is of them at a
// time. Sums are kept for the largest score so far: where a block has a larger
// one, they are multiplied by the exponential of the difference.
//
// Few queries read keys and values where they lie, once. More queries copy a
// block of keys to panels first, in which elements of a feature lie together.
// Where the processor multiplies words of bf16, those of queries and keys are
// of features, and those of weights, which are rounded, and of values are of
// keys.
//
//===----------------------------------------------------------------------===//

#include "AttentionLoops.h"

#include "Contraction.h"
#include "Transpose.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// Up to so many queries read keys where they lie.
static constexpr int64_t kFewQueries = 3;
/// They fetch so many keys ahead, where these are not next to each other.
static constexpr int64_t kKeysAhead = 32;
/// The most and the least queries of a task, where there are more.
static constexpr int64_t kMostQueries = 192, kLeastQueries = 48;
/// So many tasks are enough for threads to share.
static constexpr int64_t kTasks = 8;

/// Words of two elements, if one instruction multiplies them.
static std::optional<WordProducts> findWords(const AttentionParts &parts,
                                             const TargetModel &target) {
  auto getType = [](const Elements &factor) {
    return getElementTypeOrSelf(factor.tensor.getType());
  };
  Type type = getType(parts.query);
  if (getType(parts.key) != type || getType(parts.value) != type)
    return std::nullopt;
  FactorType factor = {type};
  std::optional<WordProducts> words = WordProducts::find(
      factor, factor, Float32Type::get(type.getContext()), target);
  return words && words->areFused() ? words : std::nullopt;
}

AttentionLoops::AttentionLoops(IndexBuilder &b, func::FuncOp kernel,
                               const AttentionParts &parts,
                               const TargetModel &target, ValueRange arguments)
    : parts(parts), elements(b, kernel, arguments, target.lanes(32)),
      lanes(target.lanes(32)),
      vectorType(VectorType::get(lanes, b.getF32Type())) {
  // AVX-512 has 32 registers, vectors of other widths are taken to have 16.
  tileRows = 6;
  vectors = target.vectorBits >= 512 ? 4 : 2;
  // The scores of a tile take a quarter of the first level of the cache.
  int64_t keys = target.l1Bytes / 4 / 4 / tileRows;
  keyBlock =
      std::clamp<int64_t>(keys / (vectors * lanes), 1, 8) * vectors * lanes;
  words = findWords(parts, target);
  if (words)
    words->begin(b, lanes, b.getF32Type());
  batch = b.index(1);
  for (unsigned loop = 0; loop < parts.numLoops(); ++loop) {
    sizes.push_back(getSize(b, loop));
    if (loop < parts.numBatch)
      batch = b.mul(batch, sizes[loop]);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value AttentionLoops::getSize(IndexBuilder &b, unsigned loop) {
  const AttentionParts::Size &size = parts.sizes[loop];
  if (!ShapedType::isDynamic(size.known))
    return b.index(size.known);
  return elements.getSize(b, size.parameter, size.axis);
}

static Value splat(IndexBuilder &b, VectorType type, double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
}

/// A vector that is zero outside of the mask.
static Value clearOutside(IndexBuilder &b, Value mask, Value vector) {
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vector.getType()));
  return arith::SelectOp::create(b, mask, vector, zeros);
}

/// A vector of queries, keys or values, as f32; or as many words of them, which
/// are zeros outside of the mask.
Value AttentionLoops::computeFactor(IndexBuilder &b, const Elements &factor,
                                    ValueRange indices, Value mask,
                                    int64_t wordSize) {
  Value vector = elements.computeVector(b, factor, indices, mask, ValueRange());
  if (wordSize == 1)
    return extend(b, vector, b.getF32Type());
  return words->make(b, clearOutside(b, mask, vector), /*isUnsigned=*/false,
                     b.getF32Type());
}

Value AttentionLoops::multiplyAdd(IndexBuilder &b, const Task &task, Value lhs,
                                  Value rhs, Value sum) {
  return task.hasWords() ? words->multiplyAdd(b, lhs, rhs, sum)
                         : vector::FMAOp::create(b, lhs, rhs, sum).getResult();
}

/// The first `count` elements of a vector, or of one of words.
Value AttentionLoops::makeMask(IndexBuilder &b, Value count, int64_t wordSize) {
  auto type = VectorType::get(wordSize * lanes, b.getI1Type());
  return vector::CreateMaskOp::create(b, type, ValueRange(count));
}

Value AttentionLoops::load(IndexBuilder &b, Value scratch, Value offset) {
  return vector::LoadOp::create(b, vectorType, scratch, offset);
}

Value AttentionLoops::loadScalar(IndexBuilder &b, Value scratch, Value offset) {
  return memref::LoadOp::create(b, scratch, offset);
}

void AttentionLoops::store(IndexBuilder &b, Value value, Value scratch,
                           Value offset) {
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(b, value, scratch, offset);
  else
    memref::StoreOp::create(b, value, scratch, offset);
}

static Value compare(IndexBuilder &b, arith::CmpFPredicate predicate, Value lhs,
                     Value rhs) {
  return arith::CmpFOp::create(b, predicate, lhs, rhs);
}

static Value multiply(IndexBuilder &b, Value lhs, Value rhs) {
  return arith::MulFOp::create(b, lhs, rhs);
}

/// Returns the indices of a task; the caller fills in those of its own loops.
SmallVector<Value> AttentionLoops::getIndices(const Task &task) {
  SmallVector<Value> indices = task.batch;
  indices.resize(parts.numLoops(), task.query);
  return indices;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void AttentionLoops::emit(IndexBuilder &b) {
  Value queries = sizes[parts.queryLoop()];
  auto few = [&](IndexBuilder &b) { emitTasks(b, b.index(kFewQueries), 1); };
  auto many = [&](IndexBuilder &b) {
    Value rows = b.ceilDiv(b.mul(queries, batch), b.index(kTasks));
    rows = b.max(rows, b.index(kLeastQueries));
    rows = b.roundUp(b.min(rows, b.index(kMostQueries)), tileRows);
    emitTasks(b, rows, tileRows);
  };
  b.branch(b.isAtMost(queries, kFewQueries), few, many);
}

/// The end of the keys that a query sees, and those before it.
Value AttentionLoops::getEnd(IndexBuilder &b, Value query) {
  if (parts.offset)
    query = b.add(query, elements.computeScalar(b, parts.offset));
  return b.min(b.add(query, 1), sizes[parts.keyLoop()]);
}

/// Tasks of `rows` queries, of which `tile` are worked on at a time.
void AttentionLoops::emitTasks(IndexBuilder &b, Value rows, int64_t tile) {
  Value blocks = b.ceilDiv(sizes[parts.queryLoop()], rows);
  b.parallel(b.mul(batch, blocks), /*grain=*/1, [&](IndexBuilder &b, Value i) {
    Task task = begin(b, i, rows, tile);
    copyQueries(b, task, tile);
    Value begin = b.index(0), end = sizes[parts.keyLoop()];
    if (parts.isCausal)
      end = getEnd(b, b.add(task.query, b.sub(task.count, b.index(1))));
    if (parts.window)
      begin =
          b.max(begin, b.sub(getEnd(b, task.query), b.index(*parts.window)));
    b.loop(begin, end, keyBlock, [&](IndexBuilder &b, Value first) {
      Keys keys = {first, b.min(b.sub(end, first), b.index(keyBlock))};
      emitKeys(b, task, keys, tile);
    });
    finish(b, task);
  });
}

/// Finds the queries of a task, and divides its memory.
AttentionLoops::Task AttentionLoops::begin(IndexBuilder &b, Value index,
                                           Value rows, int64_t tile) {
  Task task;
  Value queries = sizes[parts.queryLoop()];
  Value blocks = b.ceilDiv(queries, rows);
  task.query = b.mul(b.rem(index, blocks), rows);
  task.count = b.min(b.sub(queries, task.query), rows);
  Value place = b.floorDiv(index, blocks);
  task.batch.resize(parts.numBatch);
  for (unsigned loop = parts.numBatch; loop-- > 0;) {
    task.batch[loop] = loop == 0 ? place : b.rem(place, sizes[loop]);
    place = b.floorDiv(place, sizes[loop]);
  }
  task.wordSize = words && tile > 1 ? words->size() : 1;
  Value factors = b.ceilDiv(sizes[parts.depthLoop()], b.index(task.wordSize));
  task.depth = b.roundUp(factors, lanes);
  task.width = b.roundUp(sizes[parts.columnLoop()], vectors * lanes);
  task.queries = b.index(0);
  task.sums = b.mul(rows, task.depth);
  task.largest = b.add(task.sums, b.mul(rows, task.width));
  task.totals = b.add(task.largest, rows);
  task.scores = b.add(task.totals, rows);
  task.panels = b.add(task.scores, tile * keyBlock);
  task.values = task.panels;
  if (tile > 1)
    task.values = b.add(task.values, b.mul(task.depth, keyBlock));
  Value end = task.values;
  if (task.hasWords())
    end = b.add(end, b.mul(task.width, keyBlock / task.wordSize));
  task.scratch = memref::AllocOp::create(
      b, MemRefType::get(ShapedType::kDynamic, b.getF32Type()), end,
      b.getI64IntegerAttr(64));
  return task;
}

/// Copies the queries of a task, and starts with sums of nothing. Queries past
/// the end of the last tile repeat the last one.
void AttentionLoops::copyQueries(IndexBuilder &b, const Task &task,
                                 int64_t tile) {
  SmallVector<Value> indices = getIndices(task);
  Value zero = b.index(0), last = b.sub(task.count, b.index(1));
  b.loop(zero, b.roundUp(task.count, tile), 1, [&](IndexBuilder &b, Value i) {
    indices[parts.queryLoop()] = b.add(task.query, b.min(i, last));
    Value row = b.add(task.queries, b.mul(i, task.depth));
    b.loop(zero, task.depth, lanes, [&](IndexBuilder &b, Value j) {
      Value first = b.mul(j, task.wordSize);
      indices[parts.depthLoop()] = first;
      Value mask =
          makeMask(b, b.sub(sizes[parts.depthLoop()], first), task.wordSize);
      Value query = computeFactor(b, parts.query, indices, mask, task.wordSize);
      // Products with what is not there must be zeros.
      if (!task.hasWords())
        query = clearOutside(b, mask, query);
      store(b, query, task.scratch, b.add(row, j));
    });
    Value sums = b.add(task.sums, b.mul(i, task.width));
    b.loop(zero, task.width, lanes, [&](IndexBuilder &b, Value j) {
      store(b, splat(b, vectorType, 0), task.scratch, b.add(sums, j));
    });
    store(b, b.f32(kLowestScore), task.scratch, b.add(task.largest, i));
    store(b, b.f32(0), task.scratch, b.add(task.totals, i));
  });
}

/// Adds what a block of keys and their values give.
void AttentionLoops::emitKeys(IndexBuilder &b, const Task &task,
                              const Keys &keys, int64_t tile) {
  if (tile > 1)
    packKeys(b, task, keys);
  if (task.hasWords())
    packValues(b, task, keys);
  Value zero = b.index(0);
  auto compute = [&](IndexBuilder &b, const Keys &keys, Value query) {
    if (tile == 1) {
      multiplyRows(b, task, keys, query);
      weigh(b, task, keys, query, zero);
    } else {
      multiplyPanels(b, task, keys, query);
      Value rows = b.min(b.sub(task.count, query), b.index(tile));
      b.loop(zero, rows, 1, [&](IndexBuilder &b, Value row) {
        weigh(b, task, keys, b.add(query, row), row);
      });
    }
    addValues(b, task, keys, query, tile);
  };
  b.loop(zero, task.count, tile, [&](IndexBuilder &b, Value query) {
    if (!parts.isCausal)
      return compute(b, keys, query);
    Value end = getEnd(b, b.add(b.add(task.query, query), tile - 1));
    Keys seen = {keys.first, b.min(b.sub(end, keys.first), keys.count)};
    b.branch(b.compare(arith::CmpIPredicate::sgt, seen.count, zero),
             [&](IndexBuilder &b) { compute(b, seen, query); });
  });
}

void AttentionLoops::finish(IndexBuilder &b, const Task &task) {
  SmallVector<Value> indices = getIndices(task);
  Value zero = b.index(0), columns = sizes[parts.columnLoop()];
  b.loop(zero, task.count, 1, [&](IndexBuilder &b, Value i) {
    Value total = loadScalar(b, task.scratch, b.add(task.totals, i));
    // Of no keys there are no quotients, and their sum is 0.
    Value one =
        arith::ConstantOp::create(b, b.getFloatAttr(total.getType(), 1.0));
    Value divisor = b.createOrFold<arith::SelectOp>(
        b.isEqual(sizes[parts.keyLoop()], zero), one, total);
    indices[parts.queryLoop()] = b.add(task.query, i);
    Value row = b.add(task.sums, b.mul(i, task.width));
    b.loop(zero, columns, lanes, [&](IndexBuilder &b, Value j) {
      indices[parts.columnLoop()] = j;
      Value mask = makeMask(b, b.sub(columns, j));
      Value sums = load(b, task.scratch, b.add(row, j));
      if (parts.isNormalized)
        sums = arith::DivFOp::create(
            b, sums, vector::BroadcastOp::create(b, vectorType, divisor));
      Value result =
          elements.computeVector(b, parts.result, indices, mask, {sums, total});
      elements.store(b, result, parts.output, parts.outputMap, indices, mask);
    });
  });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Copies keys to panels of as many as a tile has columns: all elements of a
/// feature, then those of the next one. Keys past the end repeat the last one.
void AttentionLoops::packKeys(IndexBuilder &b, const Task &task,
                              const Keys &keys) {
  int64_t width = vectors * lanes;
  Value zero = b.index(0), depth = sizes[parts.depthLoop()];
  Value last = b.sub(sizes[parts.keyLoop()], b.index(1));
  b.loop(zero, keys.count, lanes, [&](IndexBuilder &b, Value i) {
    Value place = b.rem(i, b.index(width));
    Value panel = b.mul(b.sub(i, place), task.depth);
    Value to = b.add(b.add(task.panels, panel), place);
    b.loop(zero, task.depth, lanes, [&](IndexBuilder &b, Value j) {
      SmallVector<Value> indices = getIndices(task), rows;
      Value first = b.mul(j, task.wordSize);
      indices[parts.depthLoop()] = first;
      Value mask = makeMask(b, b.sub(depth, first), task.wordSize);
      for (int64_t row = 0; row < lanes; ++row) {
        Value key = b.add(b.add(keys.first, i), row);
        indices[parts.keyLoop()] = b.min(key, last);
        rows.push_back(
            computeFactor(b, parts.key, indices, mask, task.wordSize));
      }
      Value begin = b.add(to, b.mul(j, width));
      for (auto [k, column] : llvm::enumerate(transpose(b, rows)))
        store(b, column, task.scratch, b.add(begin, k * width));
    });
  });
}

/// Copies values as words of neighboring keys, in rows of columns. One past the
/// end counts as zero.
void AttentionLoops::packValues(IndexBuilder &b, const Task &task,
                                const Keys &keys) {
  Value zero = b.index(0), columns = sizes[parts.columnLoop()];
  Value last = b.sub(sizes[parts.keyLoop()], b.index(1));
  b.loop(zero, keys.count, task.wordSize, [&](IndexBuilder &b, Value key) {
    Value row = b.floorDiv(key, b.index(task.wordSize));
    Value to = b.add(task.values, b.mul(row, task.width));
    b.loop(zero, columns, lanes, [&](IndexBuilder &b, Value j) {
      SmallVector<Value> indices = getIndices(task), rows;
      indices[parts.columnLoop()] = j;
      Value inRow = b.sub(columns, j);
      for (int64_t i = 0; i < task.wordSize; ++i) {
        Value place = b.add(key, i);
        indices[parts.keyLoop()] = b.min(b.add(keys.first, place), last);
        Value count = b.createOrFold<arith::SelectOp>(
            b.isBelow(place, keys.count), inRow, zero);
        Value mask = makeMask(b, count);
        Value value =
            elements.computeVector(b, parts.value, indices, mask, ValueRange());
        rows.push_back(clearOutside(b, mask, value));
      }
      Value values =
          words->interleave(b, rows, /*isUnsigned=*/false, b.getF32Type());
      store(b, values, task.scratch, b.add(to, j));
    });
  });
}

/// Products of a tile of queries with all keys of the block: panel by panel,
/// and vector by vector of the last one where it is not full.
void AttentionLoops::multiplyPanels(IndexBuilder &b, const Task &task,
                                    const Keys &keys, Value query) {
  int64_t width = vectors * lanes;
  Value left = b.add(task.queries, b.mul(query, task.depth));
  SmallVector<Value> rows;
  for (int64_t i = 0; i < tileRows; ++i)
    rows.push_back(b.add(left, b.mul(task.depth, i)));
  Value depth = b.ceilDiv(sizes[parts.depthLoop()], b.index(task.wordSize));
  auto compute = [&](IndexBuilder &b, Value panel, Value j, int64_t count) {
    SmallVector<Value> inits(tileRows * count, splat(b, vectorType, 0));
    SmallVector<Value> sums = b.reduceUnrolled(
        depth, IndexBuilder::countSteps(tileRows * count), inits,
        [&](IndexBuilder &b, const IndexBuilder::Step &k, ValueRange carried) {
          SmallVector<Value> sums = llvm::to_vector(carried), right;
          Value from = b.add(panel, k, width);
          for (int64_t v = 0; v < count; ++v)
            right.push_back(load(b, task.scratch, b.add(from, v * lanes)));
          for (int64_t i = 0; i < tileRows; ++i) {
            Value element = loadScalar(b, task.scratch, b.add(rows[i], k, 1));
            Value left = vector::BroadcastOp::create(b, vectorType, element);
            for (int64_t v = 0; v < count; ++v) {
              Value &sum = sums[i * count + v];
              sum = multiplyAdd(b, task, left, right[v], sum);
            }
          }
          return sums;
        });
    for (auto [index, sum] : llvm::enumerate(sums)) {
      int64_t i = index / count, v = index % count;
      Value to = b.add(task.scores, i * keyBlock + v * lanes);
      store(b, sum, task.scratch, b.add(to, j));
    }
  };
  Value end = b.sub(keys.count, b.rem(keys.count, b.index(width)));
  b.loop(b.index(0), end, width, [&](IndexBuilder &b, Value j) {
    compute(b, b.add(task.panels, b.mul(j, task.depth)), j, vectors);
  });
  Value last = b.add(task.panels, b.mul(end, task.depth));
  b.loop(end, keys.count, lanes, [&](IndexBuilder &b, Value j) {
    compute(b, b.add(last, b.sub(j, end)), j, 1);
  });
}

/// Products of one query with keys where they lie: as many at a time as a
/// vector of scores has.
void AttentionLoops::multiplyRows(IndexBuilder &b, const Task &task,
                                  const Keys &keys, Value query) {
  Value zero = b.index(0), depth = sizes[parts.depthLoop()];
  Value last = b.sub(sizes[parts.keyLoop()], b.index(1));
  Value left = b.add(task.queries, b.mul(query, task.depth));
  b.loop(zero, keys.count, lanes, [&](IndexBuilder &b, Value j) {
    SmallVector<Value> indices = getIndices(task), places, ahead;
    for (int64_t i = 0; i < lanes; ++i) {
      Value place = b.add(b.add(keys.first, j), i);
      places.push_back(b.min(place, last));
      ahead.push_back(b.min(b.add(place, kKeysAhead), last));
    }
    auto step = [&](IndexBuilder &b, Value k, ValueRange carried, Value mask) {
      SmallVector<Value> sums = llvm::to_vector(carried);
      Value row = load(b, task.scratch, b.add(left, k));
      indices[parts.depthLoop()] = k;
      for (int64_t i = 0; i < lanes; ++i) {
        indices[parts.keyLoop()] = ahead[i];
        elements.prefetch(b, parts.key, indices, parts.keyLoop());
        indices[parts.keyLoop()] = places[i];
        Value key = computeFactor(b, parts.key, indices, mask);
        if (mask)
          key = clearOutside(b, mask, key);
        sums[i] = vector::FMAOp::create(b, row, key, sums[i]);
      }
      return sums;
    };
    SmallVector<Value> sums(lanes, splat(b, vectorType, 0));
    Value rest = b.rem(depth, b.index(lanes)), end = b.sub(depth, rest);
    sums = b.reduce(zero, end, lanes, sums,
                    [&](IndexBuilder &b, Value k, ValueRange carried) {
                      return step(b, k, carried, Value());
                    });
    if (!isConstantIntValue(rest, 0))
      sums = b.reduce(end, depth, lanes, sums,
                      [&](IndexBuilder &b, Value k, ValueRange carried) {
                        return step(b, k, carried, makeMask(b, rest));
                      });
    store(b, addRows(b, sums), task.scratch, b.add(task.scores, j));
  });
}

/// Stores weights of keys from `key` on, word after word from `begin` on. Those
/// of several elements are of rounded ones, and before what is still to be
/// read.
void AttentionLoops::storeWeights(IndexBuilder &b, const Task &task,
                                  Value weights, Value begin, Value key) {
  if (task.hasWords()) {
    Type element = getElementTypeOrSelf(parts.value.tensor.getType());
    weights =
        arith::TruncFOp::create(b, VectorType::get(lanes, element), weights);
    weights = words->make(b, weights, /*isUnsigned=*/false, b.getF32Type());
  }
  Value place = b.floorDiv(key, b.index(task.wordSize));
  store(b, weights, task.scratch, b.add(begin, place));
}

/// Makes weights of row `row` of the scores, which is of a query.
void AttentionLoops::weigh(IndexBuilder &b, const Task &task, const Keys &keys,
                           Value query, Value row) {
  Value zero = b.index(0), begin = b.add(task.scores, b.mul(row, keyBlock));
  SmallVector<Value> indices = getIndices(task);
  indices[parts.queryLoop()] = b.add(task.query, query);

  SmallVector<Value> max = b.reduce(
      zero, keys.count, lanes, splat(b, vectorType, kLowestScore),
      [&](IndexBuilder &b, Value j, ValueRange carried) -> SmallVector<Value> {
        indices[parts.keyLoop()] = b.add(keys.first, j);
        Value place = b.add(begin, j);
        Value mask = makeMask(b, b.sub(keys.count, j));
        Value score = elements.computeVector(b, parts.scores, indices, mask,
                                             load(b, task.scratch, place));
        score = arith::SelectOp::create(b, mask, score,
                                        splat(b, vectorType, kLowestScore));
        store(b, score, task.scratch, place);
        return {arith::MaximumFOp::create(b, carried[0], score)};
      });
  Value largestPlace = b.add(task.largest, query);
  Value before = loadScalar(b, task.scratch, largestPlace);
  Value after =
      vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF, max[0]);
  after = arith::MaximumFOp::create(b, before, after);
  store(b, after, task.scratch, largestPlace);
  Value isLarger = compare(b, arith::CmpFPredicate::UNE, before, after);
  b.branch(isLarger,
           [&](IndexBuilder &b) { rescale(b, task, query, before, after); });

  SmallVector<Value> total = b.reduce(
      zero, keys.count, lanes, splat(b, vectorType, 0),
      [&](IndexBuilder &b, Value j, ValueRange carried) -> SmallVector<Value> {
        indices[parts.keyLoop()] = b.add(keys.first, j);
        Value place = b.add(begin, j);
        Value mask = makeMask(b, b.sub(keys.count, j));
        Value score = load(b, task.scratch, place);
        Value weight = elements.computeVector(b, parts.weights, indices, mask,
                                              {score, after});
        weight = clearOutside(b, mask, weight);
        storeWeights(b, task, weight, begin, j);
        return {arith::AddFOp::create(b, carried[0], weight)};
      });
  Value sum = vector::ReductionOp::create(
      b, vector::CombiningKind::ADD, total[0], arith::FastMathFlags::reassoc);
  Value totalPlace = b.add(task.totals, query);
  Value old = loadScalar(b, task.scratch, totalPlace);
  store(b, arith::AddFOp::create(b, old, sum), task.scratch, totalPlace);
}

/// Has the sums of a query be those for a larger score. Where all scores were
/// -infinity before, they may be NaN, and count nothing.
void AttentionLoops::rescale(IndexBuilder &b, const Task &task, Value query,
                             Value before, Value after) {
  Value factor =
      math::ExpOp::create(b, arith::SubFOp::create(b, before, after));
  Value wasLowest =
      compare(b, arith::CmpFPredicate::OEQ, before, b.f32(kLowestScore));
  Value place = b.add(task.totals, query);
  Value total = multiply(b, loadScalar(b, task.scratch, place), factor);
  total = arith::SelectOp::create(b, wasLowest, b.f32(0), total);
  store(b, total, task.scratch, place);
  Value factors = vector::BroadcastOp::create(b, vectorType, factor);
  Value row = b.add(task.sums, b.mul(query, task.width));
  b.loop(b.index(0), sizes[parts.columnLoop()], lanes,
         [&](IndexBuilder &b, Value j) {
           Value sums = load(b, task.scratch, b.add(row, j));
           sums = arith::SelectOp::create(b, wasLowest, splat(b, vectorType, 0),
                                          multiply(b, sums, factors));
           store(b, sums, task.scratch, b.add(row, j));
         });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A vector of what key `k` of the block has in columns from `column` on, or
/// word `k` of keys. What lies where it came from may be fetched ahead.
Value AttentionLoops::loadValues(IndexBuilder &b, const Task &task,
                                 const Keys &keys, Value k, Value column,
                                 Value mask, bool isAhead) {
  if (task.hasWords()) {
    Value row = b.add(task.values, b.mul(k, task.width));
    return load(b, task.scratch, b.add(row, column));
  }
  SmallVector<Value> indices = getIndices(task);
  indices[parts.columnLoop()] = column;
  Value key = b.add(keys.first, k);
  if (isAhead) {
    Value last = b.sub(sizes[parts.keyLoop()], b.index(1));
    indices[parts.keyLoop()] = b.min(b.add(key, kKeysAhead), last);
    elements.prefetch(b, parts.value, indices, parts.keyLoop());
  }
  indices[parts.keyLoop()] = key;
  return computeFactor(b, parts.value, indices, mask);
}

/// Adds weighted values to the sums of some queries.
void AttentionLoops::addValues(IndexBuilder &b, const Task &task,
                               const Keys &keys, Value query, int64_t rows) {
  int64_t width = vectors * lanes;
  Value zero = b.index(0), columns = sizes[parts.columnLoop()];
  Value begin = b.add(task.sums, b.mul(query, task.width));
  auto compute = [&](IndexBuilder &b, Value column, int64_t count,
                     bool isMasked) {
    SmallVector<Value> places, sums, masks(count);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t v = 0; v < count; ++v) {
        Value row = b.add(begin, b.mul(task.width, i));
        places.push_back(b.add(b.add(row, column), v * lanes));
        sums.push_back(load(b, task.scratch, places.back()));
      }
    if (isMasked)
      masks.back() =
          makeMask(b, b.sub(columns, b.add(column, (count - 1) * lanes)));
    Value steps = b.ceilDiv(keys.count, b.index(task.wordSize));
    sums = b.reduce(
        zero, steps, 1, sums,
        [&](IndexBuilder &b, Value k, ValueRange carried) {
          SmallVector<Value> sums = llvm::to_vector(carried), right;
          for (int64_t v = 0; v < count; ++v) {
            Value place = b.add(column, v * lanes);
            right.push_back(loadValues(b, task, keys, k, place, masks[v],
                                       /*isAhead=*/rows == 1));
          }
          Value weights = b.add(task.scores, k);
          for (int64_t i = 0; i < rows; ++i) {
            Value weight =
                loadScalar(b, task.scratch, b.add(weights, i * keyBlock));
            weight = vector::BroadcastOp::create(b, vectorType, weight);
            for (int64_t v = 0; v < count; ++v) {
              Value &sum = sums[i * count + v];
              sum = multiplyAdd(b, task, weight, right[v], sum);
            }
          }
          return sums;
        });
    for (auto [place, sum] : llvm::zip_equal(places, sums))
      store(b, sum, task.scratch, place);
  };
  Value rest = b.rem(columns, b.index(width)), end = b.sub(columns, rest);
  b.loop(zero, end, width, [&](IndexBuilder &b, Value column) {
    compute(b, column, vectors, /*isMasked=*/false);
  });
  // As many vectors as are left, the last of which may have a part.
  std::function<void(IndexBuilder &, int64_t)> choose = [&](IndexBuilder &b,
                                                            int64_t count) {
    auto last = [&](IndexBuilder &b) { compute(b, end, count, true); };
    if (count == vectors)
      return last(b);
    b.branch(b.isAtMost(rest, count * lanes), last,
             [&](IndexBuilder &b) { choose(b, count + 1); });
  };
  b.branch(b.compare(arith::CmpIPredicate::sgt, rest, zero),
           [&](IndexBuilder &b) { choose(b, 1); });
}

//===----------------------------------------------------------------------===//
// The class
//===----------------------------------------------------------------------===//

std::unique_ptr<KernelEmitter>
mlir::relax::matchAttention(func::FuncOp kernel, const TargetModel &target) {
  // Panels are made by interleaving.
  if (!llvm::isPowerOf2_64(target.lanes(32)))
    return nullptr;
  std::optional<AttentionParts> parts = AttentionParts::match(kernel);
  if (!parts)
    return nullptr;
  return makeEmitter(
      [=, parts = *std::move(parts)](IndexBuilder &b, ValueRange arguments) {
        AttentionLoops(b, kernel, parts, target, arguments).emit(b);
      });
}
