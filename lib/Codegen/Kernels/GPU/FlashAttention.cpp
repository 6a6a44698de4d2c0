//===- FlashAttention.cpp - Attention on GPUs -------------------*- C++ -*-===//
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
// Where that makes few blocks, as one token that is generated does, several
// blocks share the keys: each goes through a part of them, and writes its sums,
// largest scores and totals to scratch memory of the device. A second launch
// combines the parts. Of up to 16 queries all warps of a block have the same
// ones; they share the keys, 16 of each 64, and each has a part. How many parts
// there are depends on the sizes alone, so that results do, too.
//
// Queries, keys and values are parameters of f16 or bf16 whose features are
// contiguous, up to 128 of them, a multiple of 16. Other attention is computed
// by products and rows, with scores in memory.
//
//===----------------------------------------------------------------------===//

#include "FlashAttention.h"

#include "ElementBody.h"
#include "Launch.h"
#include "LoopLaunch.h"
#include "TensorCores.h"

#include "Attention.h"
#include "Contraction.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::relax;

/// The queries of a warp and of a block, and the keys that are worked on at a
/// time.
static constexpr int64_t kWarpQueries = kMmaRows, kWarps = 4,
                         kQueries = kWarps * kWarpQueries, kKeys = 64;
static constexpr int64_t kMostFeatures = 128;
/// All threads of a block copy.
static constexpr int64_t kCopiers = kWarps * kWarp;
/// Blocks that fill a device, two on each of 128 multiprocessors, and the least
/// keys that a block is worth.
static constexpr int64_t kDeviceBlocks = 256, kLeastKeys = 256;
/// Parts that are loaded at a time where they are combined.
static constexpr int64_t kPartsUnroll = 8;
/// The rows of which a lane has results, its results in a tile, and the lanes
/// that have a row.
static constexpr int64_t kLaneRows = 2, kLaneResults = 4, kRowLanes = 4;

namespace {
class AttentionTiles {
public:
  AttentionTiles(IndexBuilder &b, func::FuncOp kernel,
                 const AttentionParts &parts, ValueRange arguments);
  void emit(IndexBuilder &b);

private:
  /// What a lane carries from one block of keys to the next.
  struct State {
    SmallVector<Value> sums;            // [column tile][result]
    SmallVector<Value> largest, totals; // of its rows

    SmallVector<Value> pack() const;
    static State unpack(ValueRange values);
  };

  /// The values of a query, unnormalized, in a column, and its weights.
  struct Sums {
    Value values, weights;
  };

  Value getSize(IndexBuilder &b, unsigned loop);
  int64_t getKnown(unsigned loop) const { return parts.sizes[loop].known; }
  MatrixView view(IndexBuilder &in, const Elements &elements, unsigned row);
  SmallVector<Value> getBatch(IndexBuilder &in, Value place);
  void begin(IndexBuilder &in, gpu::LaunchOp op);
  void copy(IndexBuilder &in, const SharedTile &tile, const MatrixView &matrix,
            Value first, unsigned loop);
  void wait(IndexBuilder &in, int64_t pending);
  Value getEnd(IndexBuilder &in, Value query);
  Value getQuery(IndexBuilder &in, int64_t row);
  SmallVector<Value> getIndices(IndexBuilder &in, int64_t row);
  Value getColumn(IndexBuilder &in, int64_t tile, int64_t result);
  Value getKey(IndexBuilder &in, Value first, int64_t tile, int64_t result);
  SharedTile ofWarp(IndexBuilder &in, const SharedTile &tile);

  Value compute(IndexBuilder &in, const Elements &computed, Value first,
                int64_t index, ValueRange given, double otherwise);
  SmallVector<Value> computeScores(IndexBuilder &in, Value first);
  void rescale(IndexBuilder &in, ArrayRef<Value> scores, State &state);
  SmallVector<Value> weigh(IndexBuilder &in, Value first,
                           ArrayRef<Value> scores, State &state);
  void addValues(IndexBuilder &in, ArrayRef<Value> weights, State &state);
  std::pair<Value, Value> getKeys(IndexBuilder &in);
  State passKeys(IndexBuilder &in);
  void finishElement(IndexBuilder &in, ValueRange indices, const Sums &sums);
  void finish(IndexBuilder &in, const State &state);

  Value getPart(IndexBuilder &in, Value part, Value row);
  void keep(IndexBuilder &in, const State &state);
  Sums addParts(IndexBuilder &in, Value row, Value column);
  void combine(IndexBuilder &b);

  Value share(IndexBuilder &b);
  Value areAligned(IndexBuilder &b);
  void launchBlocks(IndexBuilder &b, Value blocks, bool areAligned,
                    bool shareKeys);

  /// The queries of a block of threads.
  int64_t numQueries() const { return sharesKeys ? kWarpQueries : kQueries; }
  /// The rows of the tile of queries, of which each thread copies as many
  /// chunks.
  int64_t numQueryRows() const {
    int64_t chunks = getKnown(parts.depthLoop()) / kChunk;
    return std::max(numQueries(), kCopiers / std::gcd(kCopiers, chunks));
  }
  /// The keys of a block of keys that a warp has.
  int64_t numKeys() const { return sharesKeys ? kKeys / kWarps : kKeys; }
  int64_t numColumns() const { return getKnown(parts.columnLoop()); }

  const AttentionParts &parts;
  func::FuncOp kernel;
  SmallVector<Value> arguments;
  ElementBuilder elements;
  SmallVector<Value> sizes; // of loops
  Type element;

  /// The blocks that share keys, and whether there are several.
  Value numSharing, isShared;
  /// Parts of keys, the queries of all places of the batch, and what these have
  /// in scratch memory: [part][row] [columns, largest, total].
  Value numParts, numRows, scratch;

  // Of a block of threads, a warp, a lane.
  bool isAligned = false, sharesKeys = false;
  SmallVector<Value> batch;
  Value firstRow;              // of the place of the batch, among all queries
  Value sharing, part;         // the place of the block, and of the warp
  Value firstQuery, warpQuery; // of the block; of the warp, in the block
  Value warpKey;               // in a block of keys
  Value thread, lane;
  MatrixView query, key, value;
  SharedTile queryTile, keyTile, valueTile;
  SmallVector<SmallVector<Value>> queryPairs; // of each 16 features
  /// Whether some keys of a block may be past the last one.
  bool isPartial = false;
  Value token; // of the first group: waiting needs one that is there
};
} // namespace

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

/// Computes an exponential by the instruction for powers of 2, whose error is
/// far below that of the 16 bits that weights are rounded to.
static void approximate(math::ExpOp op) {
  Type type = op.getType();
  auto vector = dyn_cast<VectorType>(type);
  if (!getElementTypeOrSelf(type).isF32() ||
      (vector && vector.getNumElements() != 1))
    return;
  IndexBuilder b(op.getLoc(), op);
  Value exponent = op.getOperand();
  if (vector)
    exponent = vector::ExtractOp::create(b, exponent, 0);
  exponent = arith::MulFOp::create(b, exponent, b.f32(llvm::numbers::log2e));
  Value result = LLVM::CallIntrinsicOp::create(
                     b, b.getF32Type(),
                     b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"), exponent)
                     .getResult(0);
  if (vector)
    result = vector::BroadcastOp::create(b, type, result);
  op.replaceAllUsesWith(result);
  op.erase();
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

//===----------------------------------------------------------------------===//
// Parts of keys
//===----------------------------------------------------------------------===//

/// Where scratch memory has the columns of a row; its largest score and its
/// total follow them.
Value AttentionTiles::getPart(IndexBuilder &in, Value part, Value row) {
  return in.mul(in.add(in.mul(part, numRows), row), numColumns() + 2);
}

/// Writes what the lane has to scratch memory.
void AttentionTiles::keep(IndexBuilder &in, const State &state) {
  auto type = VectorType::get({2}, in.getF32Type());
  auto store = [&](IndexBuilder &at, Value place, ValueRange pair) {
    vector::StoreOp::create(at, vector::FromElementsOp::create(at, type, pair),
                            scratch, ValueRange(place), /*nontemporal=*/false,
                            llvm::MaybeAlign(8));
  };
  Value isFirst = in.isEqual(in.rem(lane, in.index(kRowLanes)), in.index(0));
  for (int64_t row = 0; row < kLaneRows; ++row) {
    Value query = getQuery(in, row);
    in.branch(
        in.isBelow(query, sizes[parts.queryLoop()]), [&](IndexBuilder &inside) {
          Value place = getPart(inside, part, inside.add(firstRow, query));
          for (int64_t tile = 0; tile < numColumns() / kMmaColumns; ++tile)
            store(inside, inside.add(place, getColumn(inside, tile, 0)),
                  ArrayRef(state.sums).slice(tile * kLaneResults + row * 2, 2));
          inside.branch(isFirst, [&](IndexBuilder &first) {
            store(first, first.add(place, numColumns()),
                  {state.largest[row], state.totals[row]});
          });
        });
  }
}

/// Adds up the parts of a row in a column, for the largest score of them all.
/// Where all scores of a part are -infinity and others are not, its sums may be
/// NaN, and count nothing.
AttentionTiles::Sums AttentionTiles::addParts(IndexBuilder &in, Value row,
                                              Value column) {
  auto load = [&](IndexBuilder &at, Value part, Value place) -> Value {
    return memref::LoadOp::create(at, scratch,
                                  at.add(getPart(at, part, row), place));
  };
  auto forParts = [&](ValueRange inits, auto body) {
    return loopUnrolled(
        in, in.index(0), numParts, in.index(1), kPartsUnroll, inits,
        [&](IndexBuilder &loop, ArrayRef<Value> places, ValueRange carried) {
          SmallVector<Value> next(carried);
          for (Value place : places)
            body(loop, place, next);
          return next;
        });
  };
  Value largestAt = in.index(numColumns()), totalAt = in.add(largestAt, 1);
  Value largest =
      forParts(in.f32(kLowestScore), [&](IndexBuilder &loop, Value part,
                                         MutableArrayRef<Value> carried) {
        carried[0] = arith::MaximumFOp::create(loop, carried[0],
                                               load(loop, part, largestAt));
      })[0];
  Value zero = in.f32(0);
  SmallVector<Value> sums =
      forParts(ValueRange{zero, zero}, [&](IndexBuilder &loop, Value part,
                                           MutableArrayRef<Value> carried) {
        Value ofPart = load(loop, part, largestAt);
        auto isEqual = [&](Value lhs, Value rhs) -> Value {
          return arith::CmpFOp::create(loop, arith::CmpFPredicate::OEQ, lhs,
                                       rhs);
        };
        Value isLargest = isEqual(ofPart, largest),
              isLowest = isEqual(ofPart, loop.f32(kLowestScore));
        Value factor = math::ExpOp::create(
            loop, arith::SubFOp::create(loop, ofPart, largest));
        Value places[] = {column, totalAt};
        for (auto [sum, place] : llvm::zip(carried, places)) {
          Value mine = load(loop, part, place);
          Value scaled = arith::SelectOp::create(
              loop, isLowest, zero, arith::MulFOp::create(loop, mine, factor));
          scaled = arith::SelectOp::create(loop, isLargest, mine, scaled);
          sum = arith::AddFOp::create(loop, sum, scaled);
        }
      });
  return {sums[0], sums[1]};
}

/// Launches a thread for each element of the result.
void AttentionTiles::combine(IndexBuilder &b) {
  launchIterations(b, {numRows, b.index(numColumns())},
                   [&](IndexBuilder &in, ArrayRef<Value> place) {
                     Value row = place[0], column = place[1],
                           queries = sizes[parts.queryLoop()];
                     SmallVector<Value> indices =
                         getBatch(in, in.floorDiv(row, queries));
                     indices.resize(parts.numLoops(), in.index(0));
                     indices[parts.queryLoop()] = in.rem(row, queries);
                     indices[parts.columnLoop()] = column;
                     finishElement(in, indices, addParts(in, row, column));
                   })
      .walk(approximate);
}

//===----------------------------------------------------------------------===//
// The class
//===----------------------------------------------------------------------===//

/// Whether asynchronous copies may read the parameters: their rows are
/// multiples of 16 elements.
Value AttentionTiles::areAligned(IndexBuilder &b) {
  Value result;
  for (const Elements *each : {&parts.query, &parts.key, &parts.value}) {
    Value memref = arguments[cast<BlockArgument>(each->tensor).getArgNumber()];
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
    Value isAligned = b.isEqual(b.rem(address, b.index(16)), b.index(0));
    result = result ? arith::AndIOp::create(b, result, isAligned) : isAligned;
  }
  return result;
}

void AttentionTiles::launchBlocks(IndexBuilder &b, Value blocks,
                                  bool areAligned, bool shareKeys) {
  AttentionTiles tiles = *this;
  tiles.isAligned = areAligned;
  tiles.sharesKeys = shareKeys;
  auto shared = [&](int64_t rows, unsigned loop) {
    return getSharedType(b.getContext(), rows * getKnown(loop), element);
  };
  launch(b, blocks, b.index(kCopiers),
         {shared(tiles.numQueryRows(), parts.depthLoop()),
          shared(kKeys, parts.depthLoop()), shared(kKeys, parts.columnLoop())},
         [&](IndexBuilder &in, gpu::LaunchOp op) {
           tiles.begin(in, op);
           State state = tiles.passKeys(in);
           auto keep = [&](IndexBuilder &at) { tiles.keep(at, state); };
           auto finish = [&](IndexBuilder &at) { tiles.finish(at, state); };
           if (shareKeys)
             keep(in);
           else
             in.branch(isShared, keep, finish);
           op.walk(approximate);
         });
}

/// Has blocks share keys where there are few, and returns how many there are.
Value AttentionTiles::share(IndexBuilder &b) {
  Value queries = sizes[parts.queryLoop()], one = b.index(1);
  Value numPlaces = makeProduct(b, ArrayRef(sizes).take_front(parts.numBatch));
  numRows = b.mul(numPlaces, queries);
  Value blocks = b.mul(numPlaces, b.ceilDiv(queries, b.index(kQueries)));
  Value most = b.floorDiv(b.index(kDeviceBlocks), b.max(blocks, one));
  Value keys = sizes[parts.keyLoop()];
  if (parts.window) // what the queries of a block see
    keys =
        b.min(keys, b.add(b.min(keys, b.index(*parts.window)), kQueries - 1));
  Value enough = b.floorDiv(keys, b.index(kLeastKeys));
  numSharing = b.max(b.min(most, enough), one);
  isShared = b.isBelow(one, numSharing);
  return b.mul(blocks, numSharing);
}

void AttentionTiles::emit(IndexBuilder &b) {
  Value blocks = share(b), isAligned = areAligned(b);
  auto launchTiles = [&](IndexBuilder &at) {
    at.branch(
        isAligned,
        [&](IndexBuilder &then) { launchBlocks(then, blocks, true, false); },
        [&](IndexBuilder &other) {
          launchBlocks(other, blocks, false, false);
        });
  };
  if (isConstantIntValue(numSharing, 1))
    return launchTiles(b);
  Value isFew = b.isAtMost(sizes[parts.queryLoop()], kWarpQueries);
  Value byWarps = b.createOrFold<arith::AndIOp>(
      arith::AndIOp::create(b, isAligned, isShared), isFew);
  numParts = b.createOrFold<arith::SelectOp>(byWarps, b.mul(numSharing, kWarps),
                                             numSharing);
  Value size = b.createOrFold<arith::SelectOp>(
      isShared, getPart(b, numParts, b.index(0)), b.index(0));
  scratch = memref::AllocOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, b.getF32Type()), size);
  b.branch(
      byWarps, [&](IndexBuilder &at) { launchBlocks(at, blocks, true, true); },
      launchTiles);
  b.branch(isShared, [&](IndexBuilder &at) { combine(at); });
  memref::DeallocOp::create(b, scratch);
}

/// Whether a tensor is a parameter whose rows are loop `row`, of features that
/// are contiguous.
static bool isMatrix(const Elements &elements, unsigned row, unsigned column) {
  MLIRContext *context = elements.map.getContext();
  if (!isa<BlockArgument>(elements.tensor) ||
      elements.map.getNumResults() == 0 ||
      elements.map.getResults().back() != getAffineDimExpr(column, context))
    return false;
  unsigned numRows = 0;
  for (AffineExpr expr : elements.map.getResults().drop_back()) {
    if (expr == getAffineDimExpr(row, context))
      ++numRows;
    else if (expr.isFunctionOfDim(row) || expr.isFunctionOfDim(column))
      return false;
  }
  return numRows == 1;
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchDeviceAttention(func::FuncOp kernel, const TargetModel &) {
  if (!isOnCuda(kernel))
    return nullptr;
  std::optional<AttentionParts> parts = AttentionParts::match(kernel);
  if (!parts ||
      !isMatrix(parts->query, parts->queryLoop(), parts->depthLoop()) ||
      !isMatrix(parts->key, parts->keyLoop(), parts->depthLoop()) ||
      !isMatrix(parts->value, parts->keyLoop(), parts->columnLoop()))
    return nullptr;
  Type element = getElementTypeOrSelf(parts->query.tensor.getType());
  for (const Elements *each : {&parts->key, &parts->value})
    if (getElementTypeOrSelf(each->tensor.getType()) != element)
      return nullptr;
  for (unsigned loop : {parts->depthLoop(), parts->columnLoop()}) {
    int64_t size = parts->sizes[loop].known;
    if (size <= 0 || size % kMmaDepth != 0 || size > kMostFeatures)
      return nullptr;
  }
  if (!element.isF16() && !element.isBF16())
    return nullptr;
  return makeEmitter(
      [=, parts = *std::move(parts)](IndexBuilder &b, ValueRange arguments) {
        AttentionTiles(b, kernel, parts, arguments).emit(b);
      });
}
