//===- AttentionTiles.cpp - Tiles of attention on GPUs ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of four warps has 64 queries, a warp 16, and goes through the keys in
// blocks of 64. Scores and sums of values stay in the registers that mma.sync
// left them in: what a lane has of the scores is what the second product takes
// as its left matrix. Each block of keys rescales the sums to the largest score
// so far. Values are copied while scores are computed, and the next keys while
// values are multiplied.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"

#include "ElementBody.h"

#include "Contraction.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

SmallVector<Value> AttentionTiles::State::pack() const {
  SmallVector<Value> values = sums;
  llvm::append_range(values, largest);
  llvm::append_range(values, totals);
  return values;
}

AttentionTiles::State AttentionTiles::State::unpack(ValueRange values) {
  State state;
  llvm::append_range(state.sums, values.drop_back(2 * kLaneRows));
  llvm::append_range(state.largest,
                     values.take_back(2 * kLaneRows).take_front(kLaneRows));
  llvm::append_range(state.totals, values.take_back(kLaneRows));
  return state;
}

AttentionTiles::AttentionTiles(IndexBuilder &b, func::FuncOp kernel,
                               const AttentionParts &parts,
                               ValueRange arguments)
    : parts(parts), kernel(kernel), arguments(arguments),
      elements(b, kernel, arguments),
      element(getElementTypeOrSelf(parts.query.tensor.getType())) {
  for (unsigned loop = 0; loop < parts.numLoops(); ++loop)
    sizes.push_back(getSize(b, loop));
}

Value AttentionTiles::getSize(IndexBuilder &b, unsigned loop) {
  const AttentionParts::Size &size = parts.sizes[loop];
  if (!ShapedType::isDynamic(size.known))
    return b.index(size.known);
  return elements.getSize(b, size.parameter, size.axis);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The matrix of this place of the batch, whose rows are loop `row`.
MatrixView AttentionTiles::view(IndexBuilder &in, const Elements &elements,
                                unsigned row) {
  Value memref = arguments[cast<BlockArgument>(elements.tensor).getArgNumber()];
  SmallVector<Value> indices = batch;
  indices.resize(parts.numLoops(), in.index(0));
  MatrixView matrix = {flatten(in, memref), in.index(0), in.index(0),
                       in.index(1)};
  Value stride = in.index(1);
  AffineMap map = elements.map;
  for (int64_t axis = int64_t(map.getNumResults()) - 1; axis >= 0; --axis) {
    AffineExpr expr = map.getResult(axis);
    if (expr == getAffineDimExpr(row, in.getContext()))
      matrix.rowStride = stride;
    Value index = affine::expandAffineExpr(in, in.getLoc(), expr, indices, {});
    matrix.offset = in.add(matrix.offset, in.mul(index, stride));
    stride = in.mul(stride, getDim(in, memref, axis));
  }
  return matrix;
}

/// Copies rows of loop `loop` from the first one on, as a group of copies.
void AttentionTiles::copy(IndexBuilder &in, const SharedTile &tile,
                          const MatrixView &matrix, Value first,
                          unsigned loop) {
  TileSource source = {matrix, first, in.index(0), sizes[loop],
                       in.index(tile.width)};
  if (!isAligned)
    return storeChunks(in, tile, loadChunks(in, tile, source, thread, kCopiers),
                       thread, kCopiers);
  SmallVector<Value> tokens;
  copyTile(in, tile, source, thread, kCopiers, tokens);
  Value group = nvgpu::DeviceAsyncCreateGroupOp::create(
      in, nvgpu::DeviceAsyncTokenType::get(in.getContext()), tokens);
  if (!token)
    token = group;
}

/// Waits for all groups of copies but the last `pending` ones, of all threads.
void AttentionTiles::wait(IndexBuilder &in, int64_t pending) {
  if (isAligned)
    nvgpu::DeviceAsyncWaitOp::create(in, token, in.getI32IntegerAttr(pending));
  gpu::BarrierOp::create(in);
}

/// The indices of a place of the batch.
SmallVector<Value> AttentionTiles::getBatch(IndexBuilder &in, Value place) {
  return delinearize(in, place, ArrayRef(sizes).take_front(parts.numBatch));
}

void AttentionTiles::begin(IndexBuilder &in, gpu::LaunchOp op) {
  thread = op.getThreadIds().x;
  lane = in.rem(thread, in.index(kWarp));
  Value warp = in.floorDiv(thread, in.index(kWarp)), none = in.index(0);
  warpQuery = sharesKeys ? none : in.mul(warp, kWarpQueries);
  warpKey = sharesKeys ? in.mul(warp, numKeys()) : none;
  Value queries = sizes[parts.queryLoop()];
  Value blocks = in.ceilDiv(queries, in.index(numQueries()));
  SmallVector<Value> block =
      delinearize(in, op.getBlockIds().x, {numRows, blocks, numSharing},
                  /*isSmall=*/true);
  sharing = block[2];
  part = sharesKeys ? in.add(in.mul(sharing, kWarps), warp) : sharing;
  firstQuery = in.mul(block[1], numQueries());
  firstRow = in.mul(block[0], queries);
  batch = delinearize(in, block[0], ArrayRef(sizes).take_front(parts.numBatch),
                      /*isSmall=*/true);
  query = view(in, parts.query, parts.queryLoop());
  key = view(in, parts.key, parts.keyLoop());
  value = view(in, parts.value, parts.keyLoop());
  ValueRange shared = op.getWorkgroupAttributions();
  int64_t depth = getKnown(parts.depthLoop()), columns = numColumns();
  queryTile = {shared[0], numQueryRows(), depth};
  keyTile = {shared[1], kKeys, depth};
  valueTile = {shared[2], kKeys, columns};
}

//===----------------------------------------------------------------------===//
// Scores and weights
//===----------------------------------------------------------------------===//

/// The end of the keys that a query sees, and those before it.
Value AttentionTiles::getEnd(IndexBuilder &in, Value query) {
  if (parts.offset)
    query = in.add(query, elements.computeScalar(in, parts.offset));
  return in.min(in.add(query, 1), sizes[parts.keyLoop()]);
}

/// The query of a row of the lane, which may be past the last one.
Value AttentionTiles::getQuery(IndexBuilder &in, int64_t row) {
  return in.add(in.add(firstQuery, warpQuery),
                in.add(in.floorDiv(lane, in.index(kRowLanes)),
                       in.index(row * (kMmaRows / kLaneRows))));
}

/// The indices of a row of the lane; queries past the last one repeat it.
SmallVector<Value> AttentionTiles::getIndices(IndexBuilder &in, int64_t row) {
  SmallVector<Value> indices = batch;
  indices.resize(parts.numLoops(), in.index(0));
  Value last = in.sub(sizes[parts.queryLoop()], in.index(1));
  indices[parts.queryLoop()] = in.min(getQuery(in, row), last);
  return indices;
}

/// The column of a result of a lane.
Value AttentionTiles::getColumn(IndexBuilder &in, int64_t tile,
                                int64_t result) {
  return in.add(in.mul(in.rem(lane, in.index(kRowLanes)), 2),
                tile * kMmaColumns + result % 2);
}

/// The key of a result of a lane in the block of keys from `first` on.
Value AttentionTiles::getKey(IndexBuilder &in, Value first, int64_t tile,
                             int64_t result) {
  return in.add(in.add(first, warpKey), getColumn(in, tile, result));
}

/// The keys of a block, or their values, that the warp has.
SharedTile AttentionTiles::ofWarp(IndexBuilder &in, const SharedTile &tile) {
  return {tile.memory, numKeys(), tile.width, in.mul(warpKey, tile.width)};
}

/// An element for result `index` of a lane in the block of keys from `first`
/// on, given the same element of other tensors first; `otherwise` where there
/// is no such key.
Value AttentionTiles::compute(IndexBuilder &in, const Elements &computed,
                              Value first, int64_t index, ValueRange given,
                              double otherwise) {
  int64_t tile = index / kLaneResults, result = index % kLaneResults;
  Value key = getKey(in, first, tile, result), numKeys = sizes[parts.keyLoop()];
  SmallVector<Value> indices = getIndices(in, result / 2);
  indices[parts.keyLoop()] =
      isPartial ? in.min(key, in.sub(numKeys, in.index(1))) : key;
  SmallVector<Value> known(given);
  known.front() = vector::BroadcastOp::create(
      in, VectorType::get({1}, in.getF32Type()), known.front());
  Value vector = elements.computeVector(in, computed, indices,
                                        /*mask=*/Value(), known);
  Value element = vector::ExtractOp::create(in, vector, 0);
  if (!isPartial)
    return element;
  return arith::SelectOp::create(in, in.isBelow(key, numKeys), element,
                                 in.f32(otherwise));
}

/// The scores of a block of keys; of those past the last one -infinity.
SmallVector<Value> AttentionTiles::computeScores(IndexBuilder &in,
                                                 Value first) {
  int64_t numTiles = numKeys() / kMmaColumns;
  SmallVector<Value> scores(numTiles * kLaneResults, in.f32(0));
  SharedTile keys = ofWarp(in, keyTile);
  for (auto [step, pairs] : llvm::enumerate(queryPairs))
    for (int64_t tile = 0; tile < numTiles; tile += 2) {
      auto rights =
          loadRight(in, keys, in.index(tile * kMmaColumns),
                    int64_t(step) * kMmaDepth, lane, /*isTransposed=*/true);
      for (auto [i, right] : llvm::enumerate(rights))
        multiplyAdd(in, element, pairs, right,
                    MutableArrayRef(scores).slice((tile + i) * kLaneResults,
                                                  kLaneResults));
    }
  for (auto [i, score] : llvm::enumerate(scores))
    score = compute(in, parts.scores, first, i, score, kLowestScore);
  return scores;
}

/// Has the sums be those for the largest score so far. Where all scores were
/// -infinity before, they may be NaN, and count nothing.
void AttentionTiles::rescale(IndexBuilder &in, ArrayRef<Value> scores,
                             State &state) {
  auto larger = [](IndexBuilder &at, Value lhs, Value rhs) -> Value {
    return arith::MaximumFOp::create(at, lhs, rhs);
  };
  for (int64_t row = 0; row < kLaneRows; ++row) {
    Value before = state.largest[row], after = before;
    for (auto [i, score] : llvm::enumerate(scores))
      if (int64_t(i) % kLaneResults / 2 == row)
        after = larger(in, after, score);
    after = reduceWarp(in, after, larger, kRowLanes);
    state.largest[row] = after;
    Value wasLowest = arith::CmpFOp::create(in, arith::CmpFPredicate::OEQ,
                                            before, in.f32(kLowestScore));
    Value factor =
        math::ExpOp::create(in, arith::SubFOp::create(in, before, after));
    auto scale = [&](Value &sum) {
      sum = arith::SelectOp::create(in, wasLowest, in.f32(0),
                                    arith::MulFOp::create(in, sum, factor));
    };
    scale(state.totals[row]);
    for (auto [i, sum] : llvm::enumerate(state.sums))
      if (int64_t(i) % kLaneResults / 2 == row)
        scale(sum);
  }
}

SmallVector<Value> AttentionTiles::weigh(IndexBuilder &in, Value first,
                                         ArrayRef<Value> scores, State &state) {
  SmallVector<Value> weights, totals(kLaneRows, in.f32(0));
  for (auto [i, score] : llvm::enumerate(scores)) {
    int64_t row = int64_t(i) % kLaneResults / 2;
    Value weight = compute(in, parts.weights, first, i,
                           {score, state.largest[row]}, /*otherwise=*/0);
    weights.push_back(weight);
    totals[row] = arith::AddFOp::create(in, totals[row], weight);
  }
  for (int64_t row = 0; row < kLaneRows; ++row) {
    Value total = reduceWarp(
        in, totals[row],
        [](IndexBuilder &at, Value lhs, Value rhs) -> Value {
          return arith::AddFOp::create(at, lhs, rhs);
        },
        kRowLanes);
    state.totals[row] = arith::AddFOp::create(in, state.totals[row], total);
  }
  return weights;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Two tiles of weights are 16 keys deep, as the left matrix has them.
void AttentionTiles::addValues(IndexBuilder &in, ArrayRef<Value> weights,
                               State &state) {
  auto pairType = VectorType::get({2}, element);
  auto makePairOf = [&](int64_t tile, int64_t row) {
    SmallVector<Value> halves;
    for (int64_t i = 0; i < 2; ++i)
      halves.push_back(arith::TruncFOp::create(
          in, element, weights[tile * kLaneResults + row * 2 + i]));
    return makePair(in, vector::FromElementsOp::create(in, pairType, halves));
  };
  int64_t columnTiles = numColumns() / kMmaColumns;
  SharedTile values = ofWarp(in, valueTile);
  for (int64_t depth = 0; depth < numKeys(); depth += kMmaDepth) {
    int64_t tile = depth / kMmaColumns;
    Value pairs[] = {makePairOf(tile, 0), makePairOf(tile, 1),
                     makePairOf(tile + 1, 0), makePairOf(tile + 1, 1)};
    for (int64_t column = 0; column < columnTiles; column += 2) {
      auto rights = loadRight(in, values, in.index(column * kMmaColumns), depth,
                              lane, /*isTransposed=*/false);
      for (auto [i, right] : llvm::enumerate(rights))
        multiplyAdd(in, element, pairs, right,
                    MutableArrayRef(state.sums)
                        .slice((column + i) * kLaneResults, kLaneResults));
    }
  }
}

/// Where the keys that the block goes through begin and end: its share of those
/// that its queries see.
std::pair<Value, Value> AttentionTiles::getKeys(IndexBuilder &in) {
  Value begin = in.index(0), end = sizes[parts.keyLoop()];
  if (parts.isCausal) {
    Value last =
        in.min(in.add(firstQuery, numQueries()), sizes[parts.queryLoop()]);
    end = in.max(getEnd(in, in.sub(last, in.index(1))), begin);
  }
  if (parts.window)
    begin =
        in.max(begin, in.sub(getEnd(in, firstQuery), in.index(*parts.window)));
  if (isConstantIntValue(numSharing, 1))
    return {begin, end};
  Value count = in.max(in.sub(end, begin), in.index(0));
  Value size = in.roundUp(in.ceilDiv(count, numSharing), kKeys);
  begin = in.add(begin, in.mul(sharing, size));
  return {begin, in.min(in.add(begin, size), end)};
}

AttentionTiles::State AttentionTiles::passKeys(IndexBuilder &in) {
  auto [begin, end] = getKeys(in);
  copy(in, queryTile, query, firstQuery, parts.queryLoop());
  copy(in, keyTile, key, begin, parts.keyLoop());
  wait(in, 0);
  for (int64_t depth = 0; depth < queryTile.width; depth += kMmaDepth)
    queryPairs.push_back(
        getPairs(in, loadLeft(in, queryTile, warpQuery, depth, lane)));
  State start;
  int64_t numSums = numColumns() / kMmaColumns * kLaneResults;
  start.sums.assign(numSums, in.f32(0));
  start.largest.assign(kLaneRows, in.f32(kLowestScore));
  start.totals.assign(kLaneRows, in.f32(0));
  auto pass = [&](IndexBuilder &loop, Value first, ValueRange carried) {
    State state = State::unpack(carried);
    // These keys have arrived, and all have read the values before.
    wait(loop, 0);
    copy(loop, valueTile, value, first, parts.keyLoop());
    SmallVector<Value> scores = computeScores(loop, first);
    gpu::BarrierOp::create(loop);
    copy(loop, keyTile, key, loop.add(first, kKeys), parts.keyLoop());
    rescale(loop, scores, state);
    SmallVector<Value> weights = weigh(loop, first, scores, state);
    wait(loop, 1);
    addValues(loop, weights, state);
    return state.pack();
  };
  // Whole blocks, then what is left.
  Value count = in.max(in.sub(end, begin), in.index(0));
  Value whole = in.add(begin, in.sub(count, in.rem(count, in.index(kKeys))));
  SmallVector<Value> result =
      in.reduce(begin, whole, kKeys, start.pack(), pass);
  isPartial = true;
  result = in.reduce(whole, end, kKeys, result, pass);
  if (isAligned)
    nvgpu::DeviceAsyncWaitOp::create(in, token, in.getI32IntegerAttr(0));
  return State::unpack(result);
}

/// Writes an element of the result.
void AttentionTiles::finishElement(IndexBuilder &in, ValueRange indices,
                                   const Sums &sums) {
  Value given = sums.values;
  if (parts.isNormalized) {
    // Of no keys there are no quotients, and their sum is 0.
    Value hasNone = in.isEqual(sizes[parts.keyLoop()], in.index(0));
    Value divisor =
        arith::SelectOp::create(in, hasNone, in.f32(1), sums.weights);
    given = arith::DivFOp::create(in, given, divisor);
  }
  given = vector::BroadcastOp::create(in, VectorType::get({1}, in.getF32Type()),
                                      given);
  Value computed =
      elements.computeVector(in, parts.result, indices,
                             /*mask=*/Value(), {given, sums.weights});
  elements.store(in, computed, parts.output, parts.outputMap, indices,
                 /*mask=*/Value());
}

/// Finishes what the lane has.
void AttentionTiles::finish(IndexBuilder &in, const State &state) {
  Value numQueries = sizes[parts.queryLoop()];
  for (int64_t row = 0; row < kLaneRows; ++row) {
    SmallVector<Value> indices = getIndices(in, row);
    in.branch(in.isBelow(getQuery(in, row), numQueries),
              [&](IndexBuilder &inside) {
                for (auto [i, sum] : llvm::enumerate(state.sums)) {
                  int64_t tile = i / kLaneResults, result = i % kLaneResults;
                  if (result / 2 != row)
                    continue;
                  indices[parts.columnLoop()] = getColumn(inside, tile, result);
                  finishElement(inside, indices, {sum, state.totals[row]});
                }
              });
  }
}
