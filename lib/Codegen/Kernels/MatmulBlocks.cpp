//===- MatmulBlocks.cpp - Matrix products of many rows ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of a GEMM over blocks for the L2 and L1 caches, with both matrices
// packed.
//
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "PackedWeights.h"

#include "relax-mlir/IR/Threads.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// The division of the result into tasks and of a task into blocks.
struct MatmulEmitter::Blocks {
  Value rowBlocks, rows;     // rows of a task, whole tiles
  Value columnBlocks, width; // columns of a task, whole tiles
  Value depthBlocks, depth;  // steps, whole vectors
};

MatmulEmitter::Blocks MatmulEmitter::divide(IndexBuilder &b,
                                            const RightMatrix &right) {
  // A thread has some tasks, as others may be late; each of them has so many
  // products at least. The sums of its panels stay in the second level of the
  // cache while the depth is gone through.
  constexpr int64_t kTasksOfThread = 4, kMinWork = 1 << 18, kMaxPanels = 64,
                    kMaxPanelsOfSums = 12;
  Value one = b.index(1);
  auto atLeastOne = [&](Value value) { return b.max(value, one); };
  int64_t height = blocking.rows, width = blocking.columns();
  Blocks blocks;
  // A block that is somewhat deeper is better than two that are not full.
  int64_t maxDepth = blocking.blockDepth + blocking.blockDepth / 4;
  Value steps = countSteps(b);
  blocks.depthBlocks = atLeastOne(b.ceilDiv(steps, b.index(maxDepth)));
  // Words of quantized weights are not divided.
  blocks.depth = b.roundUp(atLeastOne(b.ceilDiv(steps, blocks.depthBlocks)),
                           std::max(lanes, kCodesOfWord));

  // Blocks that fit the caches.
  Value tiles = b.ceilDiv(problem.m, b.index(height));
  Value panels = b.ceilDiv(right.columns, b.index(width));
  int64_t blockSize = blocking.blockRows * blocking.blockDepth;
  // Panels that are ready cost no more where several tasks read them, and what
  // is left of the cache keeps them, and sums.
  if (right.panels.base)
    blockSize /= 3;
  Value maxTiles =
      atLeastOne(b.floorDiv(b.index(blockSize / height), blocks.depth));
  Value rowBlocks = atLeastOne(b.ceilDiv(tiles, maxTiles));
  Value maxPanels = b.createOrFold<arith::SelectOp>(
      b.isAtMost(blocks.depthBlocks, 1), b.index(kMaxPanels),
      b.index(kMaxPanelsOfSums));
  Value columnBlocks = atLeastOne(b.ceilDiv(panels, maxPanels));

  // Blocks that threads share. A single thread has no use for more tasks.
  Value work = b.mul(b.mul(problem.m, right.columns), problem.k);
  Value tasks =
      b.min(b.mul(threads, kTasksOfThread),
            b.floorDiv(b.mul(work, problem.batch), b.index(kMinWork)));
  tasks = b.createOrFold<arith::SelectOp>(b.isAtMost(threads, 1), one, tasks);
  tasks = b.ceilDiv(tasks, atLeastOne(problem.batch));
  auto split = [&](Value &blocks, Value others, Value count, int64_t least) {
    Value wanted = b.ceilDiv(tasks, others);
    Value most = b.floorDiv(count, b.index(least));
    blocks = b.max(blocks, b.min(wanted, most));
  };
  // Each task packs its rows, and its columns where they are not ready.
  if (right.panels.base) {
    split(rowBlocks, columnBlocks, tiles, 4);
    split(columnBlocks, rowBlocks, panels, 4);
    split(rowBlocks, columnBlocks, tiles, 1);
  } else {
    split(columnBlocks, rowBlocks, panels, 4);
    split(rowBlocks, columnBlocks, tiles, 8);
    // To pack more is better than to leave a thread without a task.
    tasks = b.min(tasks, threads);
    split(columnBlocks, rowBlocks, panels, 1);
    split(rowBlocks, columnBlocks, tiles, 2);
  }
  // Rounded up to tiles, they may be fewer.
  auto roundUp = [&](Value &blocks, Value count) {
    Value size = atLeastOne(b.ceilDiv(count, blocks));
    blocks = b.ceilDiv(count, size);
    return size;
  };
  blocks.rows = b.mul(roundUp(rowBlocks, tiles), height);
  blocks.width = b.mul(roundUp(columnBlocks, panels), width);
  blocks.rowBlocks = rowBlocks;
  blocks.columnBlocks = columnBlocks;
  return blocks;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void MatmulEmitter::emitPacked(IndexBuilder &b) {
  threads = countThreads(b);
  RightMatrix right;
  right.first = b.index(0);
  right.columns = problem.n;
  if (problem.isPacked) {
    right.panels = problem.rhs(b, b.index(0));
    right.stride = countSteps(b);
    return emitTasks(b, right);
  }
  if (problem.packRhs || problem.isLhsPacked ||
      !isConstantIntValue(problem.batch, 1))
    return emitTasks(b, right);

  // One matrix, so its panels are made once, as many as some memory holds.
  constexpr int64_t kBytes = 32 << 20;
  int64_t width = blocking.columns();
  int64_t elements = kBytes * 8 / problem.sumType.getIntOrFloatBitWidth();
  Value zero = b.index(0), one = b.index(1);
  right.panels.offset = zero;
  right.stride = b.roundUp(countSteps(b), lanes);
  Value panelSize = b.max(b.mul(right.stride, width), one);
  Value most = b.max(b.floorDiv(b.index(elements), panelSize), b.index(8));
  Value panels = b.ceilDiv(problem.n, b.index(width));
  Value rounds = b.max(b.ceilDiv(panels, most), one);
  Value step = b.mul(b.max(b.ceilDiv(panels, rounds), one), width);
  right.panels.base = makeScratch(b, b.mul(step, right.stride));
  b.loop(zero, problem.n, step, [&](IndexBuilder &b, Value first) {
    right.first = first;
    right.columns = b.min(b.sub(problem.n, first), step);
    packTogether(b, right);
    emitTasks(b, right);
  });
}

void MatmulEmitter::emitTasks(IndexBuilder &b, const RightMatrix &right) {
  Blocks blocks = divide(b, right);
  Value tasks =
      b.mul(problem.batch, b.mul(blocks.rowBlocks, blocks.columnBlocks));
  b.parallel(tasks, /*grain=*/1, [&](IndexBuilder &b, Value task) {
    emitTask(b, right, blocks, task);
  });
}

/// Prefetches what the products of a tile will be written to. Processors fetch
/// ahead what is read, and wait for memory that is written: rows of a tile are
/// too short to be known as streams.
void MatmulEmitter::prefetchResult(IndexBuilder &b,
                                   const MatmulProblem::Place &place) {
  if (!problem.prefetchResult)
    return;
  for (int64_t i = 0; i < blocking.rows; ++i) {
    MatmulProblem::Place row = place;
    row.row = b.add(place.row, i);
    problem.prefetchResult(b, row, blocking.columns());
  }
}

void MatmulEmitter::emitTask(IndexBuilder &b, const RightMatrix &right,
                             const Blocks &blocks, Value task) {
  int64_t width = blocking.columns(), height = blocking.rows;
  int64_t tileSize = width * height;
  Value zero = b.index(0);
  Value columnBlock = b.rem(task, blocks.columnBlocks);
  Value other = b.floorDiv(task, blocks.columnBlocks);
  Value rowBlock = b.rem(other, blocks.rowBlocks);
  Value batch = b.floorDiv(other, blocks.rowBlocks);
  Value row = b.mul(rowBlock, blocks.rows);
  // Among those of the right matrix, and in the result.
  Value place = b.mul(columnBlock, blocks.width);
  Value column = b.add(right.first, place);
  Value rows = b.min(b.sub(problem.m, row), blocks.rows);
  Value columns = b.min(b.sub(right.columns, place), blocks.width);
  MatrixView lhs = problem.lhs(b, batch);

  // Scratch memory: sums of one tile, or of all of them where the depth is
  // divided; then the panels.
  Value isWhole = b.isEqual(blocks.depthBlocks, b.index(1));
  Value paddedColumns = b.roundUp(columns, width);
  Value paddedRows = b.roundUp(rows, height);
  Value sumsSize = b.createOrFold<arith::SelectOp>(
      isWhole, b.index(tileSize), b.mul(paddedRows, paddedColumns));
  Value lhsPanels = sumsSize;
  Value rhsPanels = lhsPanels;
  if (!problem.isLhsPacked)
    rhsPanels = b.add(lhsPanels, b.mul(paddedRows, blocks.depth));
  Value size = rhsPanels;
  bool isOnePanel = problem.packRhs || problem.isLhsPacked; // at a time
  if (isOnePanel)
    size = b.add(rhsPanels, b.mul(blocks.depth, width));
  else if (!right.panels.base)
    size = b.add(rhsPanels, b.mul(paddedColumns, blocks.depth));
  Value scratch = makeScratch(b, size);

  auto computeBlock = [&](IndexBuilder &b, Value block) {
    Value begin = b.mul(block, blocks.depth);
    Value depth = b.max(b.min(b.sub(countSteps(b), begin), blocks.depth), zero);
    Value isFirst = b.isEqual(block, zero);
    Value isLast = b.isEqual(b.add(block, 1), blocks.depthBlocks);
    auto packPanels = [&](IndexBuilder &b, const MatrixView &matrix,
                          Value first, Value count, int64_t width, Value offset,
                          bool isLhs) {
      PanelRange range = {matrix, first,  count,        begin, depth,
                          width,  offset, blocks.depth, isLhs};
      pack(b, range, scratch);
    };
    if (!right.panels.base && !isOnePanel)
      packPanels(b, problem.rhs(b, batch).transposed(), column, columns, width,
                 rhsPanels, /*isLhs=*/false);
    if (!problem.isLhsPacked)
      packPanels(b, lhs, row, rows, height, lhsPanels, /*isLhs=*/true);
    b.loop(zero, columns, width, [&](IndexBuilder &b, Value j) {
      Panels panels;
      if (problem.isLhsPacked)
        panels.lhs = lhs;
      else
        panels.lhs.base = scratch;
      panels.rhs.base = scratch;
      panels.rhs.offset = b.add(rhsPanels, b.mul(j, blocks.depth));
      Value next;
      if (right.panels.base) {
        auto getOffset = [&](Value column) {
          Value panel = b.mul(column, right.stride);
          return b.add(b.add(right.panels.offset, panel), b.mul(begin, width));
        };
        panels.rhs = right.panels;
        panels.rhs.offset = getOffset(b.add(place, j));
        // After the last panel, it itself is fetched.
        Value last = b.sub(b.roundUp(right.columns, width), b.index(width));
        next = getOffset(b.min(b.add(b.add(place, j), width), last));
      }
      Value tileColumns = b.min(b.sub(columns, j), b.index(width));
      if (isOnePanel)
        panels.rhs.offset = rhsPanels;
      if (problem.packRhs)
        problem.packRhs(b, {batch, b.add(column, j), tileColumns, begin, depth},
                        scratch, rhsPanels);
      else if (isOnePanel)
        packPanels(b, problem.rhs(b, batch).transposed(), b.add(column, j),
                   tileColumns, width, rhsPanels, /*isLhs=*/false);
      if (movesLhs())
        panels.offsets = computeOffsets(b, panels.rhs, depth);
      b.loop(zero, rows, height, [&](IndexBuilder &b, Value i) {
        panels.lhs.offset = b.add(lhsPanels, b.mul(i, blocks.depth));
        if (problem.isLhsPacked)
          panels.lhs.offset = b.add(b.add(lhs.offset, b.mul(begin, height)),
                                    b.mul(b.add(row, i), countSteps(b)));
        if (next) {
          Value tiles = b.ceilDiv(rows, b.index(height));
          Value number = b.floorDiv(i, b.index(height));
          panels.ahead = PanelPart::get(b, next, number, tiles, depth, width,
                                        /*most=*/lanes);
        }
        Value tileRows = b.min(b.sub(rows, i), b.index(height));
        Value sums = b.createOrFold<arith::SelectOp>(
            isWhole, zero, b.add(b.mul(j, paddedRows), b.mul(i, width)));
        b.branch(isLast, [&](IndexBuilder &b) {
          prefetchResult(
              b, {batch, b.add(row, i), b.add(column, j), /*mask=*/Value()});
        });
        Tile tile = {batch, b.add(row, i), b.add(column, j), tileRows,
                     tileColumns};
        emitPackedTile(b, panels, scratch, sums, depth, isFirst, tile);
        b.branch(isLast, [&](IndexBuilder &b) {
          finishTile(b, tile, width, scratch, sums);
        });
      });
    });
  };
  if (isConstantIntValue(blocks.depthBlocks, 1))
    computeBlock(b, zero);
  else
    b.loop(zero, blocks.depthBlocks, 1, computeBlock);
}

/// The numbers of rows or columns that tiles have along a dimension, in whole
/// units and ascending. Of a known dimension only the last tile may be smaller.
static SmallVector<int64_t> getTileSizes(Value dimension, int64_t whole,
                                         int64_t unit) {
  SmallVector<int64_t> sizes;
  if (std::optional<int64_t> size = getConstantIntValue(dimension))
    sizes.push_back(llvm::alignTo(*size % whole, unit));
  else
    for (int64_t size = unit; size < whole; size += unit)
      sizes.push_back(size);
  llvm::erase(sizes, 0);
  if (!llvm::is_contained(sizes, whole))
    sizes.push_back(whole);
  return sizes;
}

/// Emits code for each of some sizes; the first one that is large enough runs.
static void
branchBySize(IndexBuilder &b, Value size, ArrayRef<int64_t> sizes,
             llvm::function_ref<void(IndexBuilder &, int64_t)> emit) {
  if (sizes.size() == 1)
    return emit(b, sizes[0]);
  b.branch(
      b.isAtMost(size, sizes[0]), [&](IndexBuilder &b) { emit(b, sizes[0]); },
      [&](IndexBuilder &b) {
        branchBySize(b, size, sizes.drop_front(), emit);
      });
}

/// Adds products of two panels to the sums of a tile, as many rows and vectors
/// as the result has.
void MatmulEmitter::emitPackedTile(IndexBuilder &b, const Panels &panels,
                                   Value scratch, Value sums, Value depth,
                                   Value isFirst, const Tile &tile) {
  int64_t width = blocking.columns();
  auto fetch = [&](IndexBuilder &b, const Step &k) {
    Value place = b.mul(b.add(panels.ahead->begin, k, panels.ahead->step),
                        isOfWords(panels.rhs) ? 1 : wordSize());
    memref::PrefetchOp::create(b, panels.rhs.base, place, /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  };
  auto compute = [&](IndexBuilder &b, int64_t rows, int64_t vectors) {
    SmallVector<Value> results = computeTile(
        b, rows, vectors, depth,
        [&](IndexBuilder &b, int64_t i, const Step &k) -> Value {
          Value column = b.add(panels.lhs.offset, k, blocking.rows);
          return loadStep(b, panels.lhs, b.add(column, i));
        },
        [&](IndexBuilder &b, int64_t j, const Step &k) {
          Value row = b.add(panels.rhs.offset, k, width);
          return loadPanel(b, panels.rhs, b.add(row, j * lanes));
        },
        hasWords() ? &MatmulEmitter::multiplyAddWords
                   : &MatmulEmitter::multiplyAdd,
        panels.ahead ? Prefetch(fetch) : Prefetch());
    auto store = [&](IndexBuilder &b, bool isAdded) {
      for (auto [index, sum] : llvm::enumerate(results)) {
        int64_t i = index / vectors, j = index % vectors;
        Value offset = b.add(sums, i * width + j * lanes), result = sum;
        if (!panels.offsets.empty())
          result = arith::SubIOp::create(b, result, panels.offsets[j]);
        if (isAdded)
          result = add(b, loadSums(b, scratch, offset), result);
        storeSums(b, result, scratch, offset);
      }
    };
    b.branch(
        isFirst, [&](IndexBuilder &b) { store(b, false); },
        [&](IndexBuilder &b) { store(b, true); });
  };
  std::optional<int64_t> few = countFewColumns();
  auto computeColumns = [&](IndexBuilder &b, int64_t rows, int64_t vectors) {
    auto computeWhole = [&](IndexBuilder &b) { compute(b, rows, vectors); };
    auto computeFew = [&](IndexBuilder &b) {
      if (vectors > 1)
        compute(b, rows, vectors - 1);
      emitFewColumns(b, panels, scratch, sums, depth, isFirst,
                     b.index(*few / lanes * lanes), tile.columns);
    };
    if (!few || *few / lanes != vectors - 1)
      return computeWhole(b);
    if (vectors == blocking.vectors)
      return b.branch(b.isAtMost(tile.columns, *few), computeFew, computeWhole);
    computeFew(b);
  };
  auto computeRows = [&](IndexBuilder &b, int64_t rows) {
    branchBySize(b, tile.columns, getTileSizes(problem.n, width, lanes),
                 [&](IndexBuilder &b, int64_t columns) {
                   computeColumns(b, rows, columns / lanes);
                 });
  };
  // Code for each number of rows that there may be would be much.
  int64_t unit = blocking.rows;
  if (getConstantIntValue(problem.m))
    unit = 1;
  else if (getConstantIntValue(problem.n))
    unit = llvm::divideCeil(blocking.rows, 2);
  branchBySize(b, tile.rows, getTileSizes(problem.m, blocking.rows, unit),
               computeRows);
}

/// The columns of the last tile, if there are only a few of them in its last
/// vector: then it is less to have rows as lanes, of which there are as many as
/// the left panel has words for a step.
std::optional<int64_t> MatmulEmitter::countFewColumns() const {
  constexpr int64_t kMostColumns = 4;
  std::optional<int64_t> columns = getConstantIntValue(problem.n);
  if (!columns || !hasWords() || movesLhs() ||
      !llvm::isPowerOf2_64(blocking.rows) || blocking.rows > lanes)
    return std::nullopt;
  int64_t few = *columns % lanes;
  return few >= 1 && few <= kMostColumns
             ? std::optional(*columns % blocking.columns())
             : std::nullopt;
}

/// Adds products of two panels to the sums of a tile, from column `begin` on,
/// with rows as lanes.
void MatmulEmitter::emitFewColumns(IndexBuilder &b, const Panels &panels,
                                   Value scratch, Value sums, Value depth,
                                   Value isFirst, Value begin, Value columns) {
  int64_t rows = blocking.rows, width = blocking.columns();
  Value none = arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get(rows, problem.sumType)));
  SmallVector<int64_t> places = llvm::to_vector(llvm::seq<int64_t>(0, rows));
  places.resize(lanes, rows); // zeros
  b.loop(begin, columns, 1, [&](IndexBuilder &b, Value j) {
    auto addStep = [&](IndexBuilder &b, const Step &k,
                       MutableArrayRef<Value> next) {
      Value left =
          loadWords(b, panels.lhs, b.add(panels.lhs.offset, k, rows), rows);
      left = vector::ShuffleOp::create(b, left, none, places);
      Value row = b.add(panels.rhs.offset, k, width);
      Value right = vector::BroadcastOp::create(
          b, vectorType, loadStep(b, panels.rhs, b.add(row, j)));
      next[0] = multiplyAddWords(b, left, right, next[0]);
    };
    Value total = addInTurns(b, depth, /*count=*/1, addStep)[0];
    auto store = [&](IndexBuilder &b, bool isAdded) {
      for (int64_t i = 0; i < rows; ++i) {
        Value offset = b.add(b.add(sums, i * width), j);
        Value sum = vector::ExtractOp::create(b, total, i);
        if (isAdded)
          sum = add(b, memref::LoadOp::create(b, scratch, offset), sum);
        memref::StoreOp::create(b, sum, scratch, offset);
      }
    };
    b.branch(
        isFirst, [&](IndexBuilder &b) { store(b, false); },
        [&](IndexBuilder &b) { store(b, true); });
  });
}
