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

/// The number of tiles along rows and columns, and of the blocks that they are
/// divided into.
struct MatmulEmitter::Grid {
  Value tiles, panels;
  Value rowBlocks, columnBlocks;
};

/// The division of the result into tasks and of a task into blocks.
struct MatmulEmitter::Blocks {
  Grid grid;
  Value depthBlocks, depth; // steps, whole vectors
};

/// A part of the result, and scratch memory: sums, then panels.
struct MatmulEmitter::Task {
  Task(const RightMatrix &right, const Blocks &blocks)
      : right(right), blocks(blocks) {}

  const RightMatrix &right;
  const Blocks &blocks;
  Value batch, row, rows;
  Value column, columns; // of the result
  Value place;           // of the first column in the right matrix
  MatrixView lhs;
  Value isWhole; // whether the depth is one block
  Value paddedRows;
  Value scratch, lhsPanels, rhsPanels; // memory, and where panels begin
  Value lastRows;                      // see Panels
};

/// Steps that are in panels at a time.
struct MatmulEmitter::DepthBlock {
  Value begin, depth;
  Value isFirst, isLast;
};

void MatmulEmitter::divideDepth(IndexBuilder &b, Blocks &blocks) {
  // A block that is somewhat deeper is better than two that are not full.
  int64_t maxDepth = blocking.blockDepth + blocking.blockDepth / 4;
  Value steps = countSteps(b);
  blocks.depthBlocks = b.atLeastOne(b.ceilDiv(steps, b.index(maxDepth)));
  // Words of quantized weights are not divided.
  blocks.depth = b.roundUp(b.atLeastOne(b.ceilDiv(steps, blocks.depthBlocks)),
                           std::max(lanes, kCodesOfWord));
}

/// Blocks as large as caches allow: the sums of panels stay in the second level
/// while the depth is gone through.
MatmulEmitter::Grid MatmulEmitter::fitCaches(IndexBuilder &b,
                                             const RightMatrix &right,
                                             const Blocks &blocks) {
  constexpr int64_t kMaxPanels = 64, kMaxPanelsOfSums = 12;
  Grid grid;
  grid.tiles = b.ceilDiv(problem.m, b.index(blocking.rows));
  grid.panels = b.ceilDiv(right.columns, b.index(blocking.columns()));
  int64_t blockSize = blocking.blockRows * blocking.blockDepth;
  // Panels that are ready cost no more where several tasks read them, and what
  // is left of the cache keeps them, and sums.
  if (right.panels.base)
    blockSize /= 3;
  Value maxTiles = b.atLeastOne(
      b.floorDiv(b.index(blockSize / blocking.rows), blocks.depth));
  grid.rowBlocks = b.atLeastOne(b.ceilDiv(grid.tiles, maxTiles));
  Value isWhole = b.isAtMost(blocks.depthBlocks, 1);
  // Rows that are packed are read as one stream, while each block of them would
  // pack all panels again.
  if (problem.isLhsPacked)
    grid.rowBlocks =
        b.createOrFold<arith::SelectOp>(isWhole, b.index(1), grid.rowBlocks);
  Value maxPanels = b.createOrFold<arith::SelectOp>(
      isWhole, b.index(kMaxPanels), b.index(kMaxPanelsOfSums));
  grid.columnBlocks = b.atLeastOne(b.ceilDiv(grid.panels, maxPanels));
  return grid;
}

/// How many tasks each product of the batch should have. A thread has some, as
/// others may be late, and each of them has so many products at least; but a
/// single thread has no use for more tasks.
Value MatmulEmitter::countTasks(IndexBuilder &b, const RightMatrix &right) {
  constexpr int64_t kTasksOfThread = 4, kMinWork = 1 << 18;
  Value work = b.mul(b.mul(problem.m, right.columns), problem.k);
  Value tasks =
      b.min(b.mul(threads, kTasksOfThread),
            b.floorDiv(b.mul(work, problem.batch), b.index(kMinWork)));
  tasks = b.createOrFold<arith::SelectOp>(b.isAtMost(threads, 1), b.index(1),
                                          tasks);
  return b.ceilDiv(tasks, b.atLeastOne(problem.batch));
}

/// Divides blocks further, until there are as many as tasks. Each task packs
/// its rows, and its columns where they are not ready.
void MatmulEmitter::share(IndexBuilder &b, const RightMatrix &right,
                          Value tasks, Grid &grid) {
  auto split = [&](Value &blocks, Value others, Value count, int64_t least) {
    Value wanted = b.ceilDiv(tasks, others);
    Value most = b.shareEvenly(b.floorDiv(count, b.index(least)), threads);
    blocks = b.max(blocks, b.min(wanted, most));
  };
  auto splitRows = [&](int64_t leastTiles) {
    split(grid.rowBlocks, grid.columnBlocks, grid.tiles, leastTiles);
  };
  auto splitColumns = [&](int64_t leastPanels) {
    split(grid.columnBlocks, grid.rowBlocks, grid.panels, leastPanels);
  };
  if (right.panels.base) {
    splitRows(4);
    splitColumns(4);
    splitRows(1);
    return;
  }
  splitColumns(4);
  splitRows(8);
  // To pack more is better than to leave a thread without a task. A few panels
  // rarely divide evenly among threads.
  tasks = b.min(tasks, threads);
  splitRows(4);
  splitColumns(1);
  splitRows(2);
}

MatmulEmitter::Blocks MatmulEmitter::divide(IndexBuilder &b,
                                            const RightMatrix &right) {
  Blocks blocks;
  divideDepth(b, blocks);
  Grid &grid = blocks.grid;
  grid = fitCaches(b, right, blocks);
  share(b, right, countTasks(b, right), grid);
  // Rounded up to tiles, blocks may be fewer.
  b.divideEvenly(grid.tiles, grid.rowBlocks);
  b.divideEvenly(grid.panels, grid.columnBlocks);
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
  const Grid &grid = blocks.grid;
  Value tasks = b.mul(problem.batch, b.mul(grid.rowBlocks, grid.columnBlocks));
  b.parallel(tasks, /*grain=*/1, [&](IndexBuilder &b, Value number) {
    emitTask(b, right, blocks, number);
  });
}

/// Prefetches what the products of a tile will be written to, some tiles ahead
/// where tiles are done before memory answers. Processors fetch ahead what is
/// read, and wait for memory that is written: rows of a tile are too short to
/// be known as streams.
void MatmulEmitter::prefetchResult(IndexBuilder &b, const Task &task, Value i,
                                   Value j) {
  if (!problem.prefetchResult)
    return;
  constexpr int64_t kLatency = 800; // in cycles
  int64_t products = blocking.rows * blocking.vectors;
  int64_t cycles = products * getConstantIntValue(problem.k).value_or(kLatency);
  if (!blocking.hasManyRegisters) // two units
    cycles /= 2;
  int64_t ahead = kLatency / std::max<int64_t>(cycles, 1);
  int64_t width = blocking.columns(), together = countPanelsTogether();
  if (together > 1) {
    Value group = b.index(together * width);
    Value column = b.add(b.rem(j, group), ahead * width);
    Value isInside = b.isBelow(column, group);
    i = b.createOrFold<arith::SelectOp>(isInside, i, b.add(i, blocking.rows));
    j = b.add(b.sub(j, b.rem(j, group)), b.rem(column, group));
  } else if (ahead != 0) {
    Value row = b.add(i, ahead * blocking.rows);
    Value isInside = b.isBelow(row, task.rows);
    i = b.createOrFold<arith::SelectOp>(isInside, row, b.sub(row, task.rows));
    j = b.createOrFold<arith::SelectOp>(isInside, j, b.add(j, width));
  }
  for (int64_t k = 0; k < blocking.rows; ++k)
    problem.prefetchResult(b,
                           {task.batch, b.add(b.add(task.row, i), k),
                            b.add(task.column, j), /*mask=*/Value()},
                           width);
}

/// The place of a task: its number counts columns first, then rows.
MatmulEmitter::Task MatmulEmitter::makeTask(IndexBuilder &b,
                                            const RightMatrix &right,
                                            const Blocks &blocks,
                                            Value number) {
  Task task(right, blocks);
  const Grid &grid = blocks.grid;
  // Blocks differ by a tile at most, so that threads have as much to do; the
  // larger ones come first.
  auto place = [&](Value block, Value blocks, Value count, int64_t size,
                   Value end, Value &begin) {
    Value tiles = b.floorDiv(count, blocks), rest = b.rem(count, blocks);
    auto find = [&](Value block) {
      return b.mul(b.add(b.mul(block, tiles), b.min(block, rest)), size);
    };
    begin = find(block);
    return b.sub(b.min(find(b.add(block, 1)), end), begin);
  };
  Value other = b.floorDiv(number, grid.columnBlocks);
  task.batch = b.floorDiv(other, grid.rowBlocks);
  task.rows = place(b.rem(other, grid.rowBlocks), grid.rowBlocks, grid.tiles,
                    blocking.rows, problem.m, task.row);
  task.columns =
      place(b.rem(number, grid.columnBlocks), grid.columnBlocks, grid.panels,
            blocking.columns(), right.columns, task.place);
  task.column = b.add(right.first, task.place);
  task.lhs = problem.lhs(b, task.batch);
  return task;
}

/// Allocates sums of one tile, or of all of them where the depth is divided;
/// then the panels.
void MatmulEmitter::allocate(IndexBuilder &b, Task &task) {
  int64_t width = blocking.columns(), height = blocking.rows;
  Value depth = task.blocks.depth;
  task.isWhole = b.isEqual(task.blocks.depthBlocks, b.index(1));
  Value paddedColumns = b.roundUp(task.columns, width);
  task.paddedRows = b.roundUp(task.rows, height);
  task.lhsPanels =
      b.createOrFold<arith::SelectOp>(task.isWhole, b.index(width * height),
                                      b.mul(task.paddedRows, paddedColumns));
  task.rhsPanels = task.lhsPanels;
  if (packsLhs(task))
    task.rhsPanels = b.add(task.lhsPanels, b.mul(task.paddedRows, depth));
  Value size = task.rhsPanels;
  if (packsEachPanel()) // a vector may begin at the last element
    size = b.add(task.rhsPanels,
                 b.add(b.mul(depth, countPanelsTogether() * width), lanes));
  else if (!task.right.panels.base)
    size = b.add(task.rhsPanels, b.mul(paddedColumns, depth));
  task.lastRows = size;
  if (blocking.isOfMatrixUnit)
    size = b.add(size, MatrixUnit::kSize * width);
  task.scratch = makeScratch(b, size);
}

void MatmulEmitter::emitTask(IndexBuilder &b, const RightMatrix &right,
                             const Blocks &blocks, Value number) {
  Task task = makeTask(b, right, blocks, number);
  allocate(b, task);
  Value zero = b.index(0);
  if (isConstantIntValue(blocks.depthBlocks, 1))
    return emitDepthBlock(b, task, zero);
  b.loop(zero, blocks.depthBlocks, 1,
         [&](IndexBuilder &b, Value block) { emitDepthBlock(b, task, block); });
}

/// Packs rows of the left matrix, or columns of the right one.
void MatmulEmitter::packBlock(IndexBuilder &b, const Task &task,
                              const DepthBlock &block, Value first, Value count,
                              Value to, bool isLhs) {
  MatrixView matrix =
      isLhs ? task.lhs : problem.rhs(b, task.batch).transposed();
  PanelRange range = {matrix,      first,
                      count,       block.begin,
                      block.depth, isLhs ? blocking.rows : blocking.columns(),
                      to,          task.blocks.depth,
                      isLhs};
  pack(b, range, task.scratch);
}

void MatmulEmitter::emitDepthBlock(IndexBuilder &b, const Task &task,
                                   Value number) {
  Value zero = b.index(0);
  const Blocks &blocks = task.blocks;
  DepthBlock block;
  block.begin = b.mul(number, blocks.depth);
  block.depth =
      b.max(b.min(b.sub(countSteps(b), block.begin), blocks.depth), zero);
  block.isFirst = b.isEqual(number, zero);
  block.isLast = b.isEqual(b.add(number, 1), blocks.depthBlocks);
  if (!task.right.panels.base && !packsEachPanel())
    packBlock(b, task, block, task.column, task.columns, task.rhsPanels,
              /*isLhs=*/false);
  if (packsLhs(task))
    packBlock(b, task, block, task.row, task.rows, task.lhsPanels,
              /*isLhs=*/true);
  int64_t together = countPanelsTogether();
  b.loop(zero, task.columns, together * blocking.columns(),
         [&](IndexBuilder &b, Value j) {
           together == 1 ? emitPanel(b, task, block, j)
                         : emitPanels(b, task, block, j, together);
         });
}

/// Whether tiles read panels of the left matrix. Its rows are streams
/// themselves; to copy them pays where many columns are computed from them, and
/// where lanes load elements themselves.
bool MatmulEmitter::packsLhs(const Task &task) const {
  constexpr int64_t kManyPanels = 32;
  std::optional<int64_t> columns = getConstantIntValue(problem.n);
  if (problem.isLhsPacked)
    return false;
  return blocking.hasManyRegisters || hasWords() || !columns ||
         *columns > kManyPanels * blocking.columns() ||
         !task.lhs.hasUnitColumns() || !isOfWords(task.lhs);
}

/// How many panels that are packed in turn are in the first level of the cache
/// together. A row of each of them is written one after the other then, which
/// processors know as a stream; rows of one panel are short.
int64_t MatmulEmitter::countPanelsTogether() const {
  constexpr int64_t kBytes = 16 << 10, kMostPanels = 8;
  std::optional<int64_t> depth = getConstantIntValue(problem.k);
  if (!packsEachPanel() || !problem.isShallow || hasWords() ||
      blocking.hasManyRegisters || !depth)
    return 1;
  int64_t size =
      *depth * blocking.columns() * problem.sumType.getIntOrFloatBitWidth() / 8;
  return std::clamp<int64_t>(kBytes / std::max<int64_t>(size, 1), 1,
                             kMostPanels);
}

/// The panel of the right matrix that begins at column `j` of a task, and the
/// one after it.
void MatmulEmitter::findPanels(IndexBuilder &b, const Task &task,
                               const DepthBlock &block, Value j,
                               Panels &panels) {
  int64_t width = blocking.columns();
  const RightMatrix &right = task.right;
  panels.rhs.base = task.scratch;
  panels.rhs.offset = b.add(task.rhsPanels, b.mul(j, task.blocks.depth));
  if (!right.panels.base)
    return;
  auto getOffset = [&](Value column) {
    Value panel = b.mul(column, right.stride);
    return b.add(b.add(right.panels.offset, panel), b.mul(block.begin, width));
  };
  panels.rhs = right.panels;
  panels.rhs.offset = getOffset(b.add(task.place, j));
  // After the last panel, it itself is fetched.
  Value last = b.sub(b.roundUp(right.columns, width), b.index(width));
  panels.next = getOffset(b.min(b.add(b.add(task.place, j), width), last));
}

/// Packs the panel of the right matrix that begins at column `j` of a task.
void MatmulEmitter::packPanel(IndexBuilder &b, const Task &task,
                              const DepthBlock &block, Value j, Value to) {
  Value column = b.add(task.column, j), columns = countColumns(b, task, j);
  if (problem.packRhs)
    problem.packRhs(b, {task.batch, column, columns, block.begin, block.depth},
                    task.scratch, to);
  else
    packBlock(b, task, block, column, columns, to, /*isLhs=*/false);
}

/// The columns of the panel that begins at column `j` of a task.
Value MatmulEmitter::countColumns(IndexBuilder &b, const Task &task, Value j) {
  return b.min(b.sub(task.columns, j), b.index(blocking.columns()));
}

/// Computes all rows of a task for the panel that begins at its column `j`.
void MatmulEmitter::emitPanel(IndexBuilder &b, const Task &task,
                              const DepthBlock &block, Value j) {
  Panels panels;
  findPanels(b, task, block, j, panels);
  Value first = b.index(0);
  if (packsEachPanel()) {
    panels.rhs.offset = task.rhsPanels;
    first = packFirstTile(b, task, block, panels, j);
  }
  if (blocking.isOfMatrixUnit) {
    panels.lastRows = task.lastRows;
    packLastRows(b, panels.rhs, block.depth, task.scratch, task.lastRows);
  } else if (movesLhs()) {
    panels.offsets = computeOffsets(b, panels.rhs, block.depth);
  }
  b.loop(first, task.rows, blocking.rows, [&](IndexBuilder &b, Value i) {
    emitTile(b, task, block, panels, i, j);
  });
}

/// Packs the panel that begins at column `j`, if it is whole by storing what
/// its first tile reads: where registers are few, tiles leave units for that.
/// Returns where the rows that are left begin.
Value MatmulEmitter::packFirstTile(IndexBuilder &b, const Task &task,
                                   const DepthBlock &block, Panels panels,
                                   Value j) {
  auto pack = [&](IndexBuilder &b) {
    packPanel(b, task, block, j, panels.rhs.offset);
  };
  bool canRead = problem.isLhsPacked && !problem.packRhs && !hasWords() &&
                 !blocking.hasManyRegisters;
  MatrixView source = canRead ? problem.rhs(b, task.batch) : MatrixView();
  Value zero = b.index(0);
  if (!canRead || !source.hasUnitColumns()) {
    pack(b);
    return zero;
  }
  source.offset = b.add(b.add(source.offset, b.add(task.column, j)),
                        b.mul(block.begin, source.rowStride));
  Value columns = countColumns(b, task, j);
  Value isWhole = b.isEqual(columns, b.index(blocking.columns()));
  auto compute = [&](IndexBuilder &b) {
    panels.source = source;
    emitTile(b, task, block, panels, zero, j);
  };
  b.branch(isWhole, compute, pack);
  return b.createOrFold<arith::SelectOp>(isWhole, b.index(blocking.rows), zero);
}

/// The same for some panels from column `begin` on.
void MatmulEmitter::emitPanels(IndexBuilder &b, const Task &task,
                               const DepthBlock &block, Value begin,
                               int64_t count) {
  int64_t width = blocking.columns();
  Value end = b.min(b.add(begin, count * width), task.columns);
  Panels panels;
  panels.rhs.base = task.scratch;
  auto place = [&](IndexBuilder &b, Value j) {
    return b.add(task.rhsPanels, b.mul(b.sub(j, begin), task.blocks.depth));
  };
  b.loop(begin, end, width, [&](IndexBuilder &b, Value j) {
    packPanel(b, task, block, j, place(b, j));
  });
  b.loop(b.index(0), task.rows, blocking.rows, [&](IndexBuilder &b, Value i) {
    b.loop(begin, end, width, [&](IndexBuilder &b, Value j) {
      panels.rhs.offset = place(b, j);
      emitTile(b, task, block, panels, i, j);
    });
  });
}

/// Computes the tile at row `i` and column `j` of a task.
void MatmulEmitter::emitTile(IndexBuilder &b, const Task &task,
                             const DepthBlock &block, Panels panels, Value i,
                             Value j) {
  int64_t width = blocking.columns(), height = blocking.rows;
  if (packsLhs(task)) {
    panels.lhs.base = task.scratch;
    panels.lhs.rowStride = task.blocks.depth;
    panels.lhs.offset = b.add(task.lhsPanels, b.mul(i, panels.lhs.rowStride));
  } else if (problem.isLhsPacked) {
    panels.lhs = task.lhs;
    panels.lhs.offset =
        b.add(b.add(task.lhs.offset, b.mul(block.begin, height)),
              b.mul(b.add(task.row, i), countSteps(b)));
  } else {
    panels.lhs = task.lhs;
    Value last = b.sub(problem.m, b.index(1));
    for (int64_t k = 0; k < height; ++k) {
      Value row = b.min(b.add(b.add(task.row, i), k), last);
      panels.rows.push_back(b.add(b.add(task.lhs.offset, block.begin),
                                  b.mul(row, task.lhs.rowStride)));
    }
  }
  if (panels.next) {
    Value tiles = b.ceilDiv(task.rows, b.index(height));
    Value number = b.floorDiv(i, b.index(height));
    panels.ahead = PanelPart::get(b, panels.next, number, tiles, block.depth,
                                  width, /*most=*/lanes);
  }
  Value rows = b.min(b.sub(task.rows, i), b.index(height));
  Value sums = b.createOrFold<arith::SelectOp>(
      task.isWhole, b.index(0),
      b.add(b.mul(j, task.paddedRows), b.mul(i, width)));
  b.branch(block.isLast,
           [&](IndexBuilder &b) { prefetchResult(b, task, i, j); });
  Tile tile = {task.batch, b.add(task.row, i), b.add(task.column, j), rows,
               countColumns(b, task, j)};
  if (blocking.isOfMatrixUnit)
    branchBySize(b, rows, getTileSizes(problem.m, height, MatrixUnit::kSize),
                 [&](IndexBuilder &b, int64_t rows) {
                   multiplyTiles(b, panels, task.scratch, sums, block.depth,
                                 block.isFirst, rows);
                 });
  else
    emitPackedTile(b, panels, task.scratch, sums, block.depth, block.isFirst,
                   tile);
  auto finish = [&](IndexBuilder &b) {
    finishTile(b, tile, width, task.scratch, sums);
  };
  if (!finishesInRegisters())
    return b.branch(block.isLast, finish);
  b.branch(isWhole(b, tile), [](IndexBuilder &) {}, finish);
}

/// Whether tiles are finished in registers if they are whole, where few
/// products make a sum.
bool MatmulEmitter::finishesInRegisters() const {
  std::optional<int64_t> depth = getConstantIntValue(problem.k);
  return problem.isShallow && !blocking.hasManyRegisters && !hasWords() &&
         depth && *depth <= blocking.blockDepth;
}

/// Whether all sums of a tile are in the result.
Value MatmulEmitter::isWhole(IndexBuilder &b, const Tile &tile) {
  Value hasRows = b.isEqual(tile.rows, b.index(blocking.rows));
  Value hasColumns = b.isEqual(tile.columns, b.index(blocking.columns()));
  return b.createOrFold<arith::AndIOp>(hasRows, hasColumns);
}

/// Adds products of two panels to the sums of a tile, as many rows and vectors
/// as the result has.
void MatmulEmitter::emitPackedTile(IndexBuilder &b, const Panels &panels,
                                   Value scratch, Value sums, Value depth,
                                   Value isFirst, const Tile &tile) {
  int64_t width = blocking.columns();
  auto fetch = [&](IndexBuilder &b, const Step &k) {
    prefetchPanel(b, panels.rhs,
                  b.add(panels.ahead->begin, k, panels.ahead->step));
  };
  auto compute = [&](IndexBuilder &b, int64_t rows, int64_t vectors) {
    SmallVector<Value> results = computeTile(
        b, rows, vectors, depth,
        [&](IndexBuilder &b, int64_t i, const Step &k) -> Value {
          if (!panels.rows.empty())
            return loadScalar(b, panels.lhs, b.add(panels.rows[i], k, 1));
          Value column = b.add(panels.lhs.offset, k, blocking.rows);
          return loadStep(b, panels.lhs, b.add(column, i));
        },
        [&](IndexBuilder &b, int64_t j, const Step &k) {
          Value place = b.add(b.add(panels.rhs.offset, k, width), j * lanes);
          if (!panels.source)
            return loadPanel(b, panels.rhs, place);
          Value from =
              b.add(panels.source->offset, k, panels.source->rowStride);
          Value elements =
              loadWhole(b, *panels.source, b.add(from, j * lanes), lanes);
          storeSums(b, elements, scratch, place);
          return elements;
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
    auto keep = [&](IndexBuilder &b) {
      b.branch(
          isFirst, [&](IndexBuilder &b) { store(b, false); },
          [&](IndexBuilder &b) { store(b, true); });
    };
    bool isLarge = rows == blocking.rows && vectors == blocking.vectors;
    if (!isLarge || !finishesInRegisters())
      return keep(b);
    auto finish = [&](IndexBuilder &b) {
      for (auto [index, sum] : llvm::enumerate(results))
        problem.finish(b, sum,
                       {tile.batch, b.add(tile.row, index / vectors),
                        b.add(tile.column, index % vectors * lanes),
                        /*mask=*/Value()});
    };
    b.branch(isWhole(b, tile), finish, keep);
  };
  if (panels.source) // a whole tile, but for rows that are ignored
    return compute(b, blocking.rows, blocking.vectors);
  std::optional<int64_t> few;
  if (panels.rows.empty())
    few = countFewColumns();
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
  constexpr int64_t kMostOfWords = 4, kMostColumns = 2;
  std::optional<int64_t> columns = getConstantIntValue(problem.n);
  if (!columns || movesLhs() || (!hasWords() && blocking.hasManyRegisters) ||
      !llvm::isPowerOf2_64(blocking.rows) || blocking.rows > lanes)
    return std::nullopt;
  int64_t few = *columns % lanes;
  return few >= 1 && few <= (hasWords() ? kMostOfWords : kMostColumns)
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
      Value place = b.add(row, j);
      Value right = hasWords() ? loadStep(b, panels.rhs, place)
                               : loadScalar(b, panels.rhs, place);
      right = vector::BroadcastOp::create(b, vectorType, right);
      next[0] = hasWords() ? multiplyAddWords(b, left, right, next[0])
                           : multiplyAdd(b, left, right, next[0]);
    };
    Value total = addInTurns(b, depth, /*count=*/1, kTurns, kTurns, addStep)[0];
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
