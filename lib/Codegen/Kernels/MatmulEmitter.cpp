//===- MatmulEmitter.cpp - Loops of a matrix product ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loops run is decided by the number of rows, at run time where it is
// dynamic:
//
// - Few rows read each element of the right matrix once, so it is read where it
//   lies, with sums in registers (`emitDirect`), or with dot products where its
//   columns are contiguous (`emitDots`).
// - More rows are computed block by block. Each task copies a block of both
//   matrices to scratch memory, in panels that the innermost loop reads from
//   start to end (`emitPacked`). Tasks share nothing, so threads need not wait
//   for each other.
//
// A tile of sums goes through scratch memory before it is finished: a loop over
// its rows is less code than the unrolled tile, and needs no other form at the
// edges.
//
//===----------------------------------------------------------------------===//

#include "MatmulEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

MatmulBlocking MatmulBlocking::get(unsigned bits, int64_t l1, int64_t l2,
                                   unsigned elementBits) {
  MatmulBlocking blocking;
  int64_t elementBytes = elementBits / 8;
  blocking.lanes = std::max<int64_t>(bits / elementBits, 1);
  // AVX-512 has 32 registers, vectors of other widths are taken to have 16.
  blocking.rows = bits >= 512 ? 8 : 4;
  blocking.vectors = 3;
  // Panels of the left matrix stay in the first level of the cache.
  blocking.blockDepth =
      std::clamp<int64_t>(l1 / (blocking.rows * elementBytes), 256, 768);
  int64_t rows = l2 * 8 / 10 / (blocking.blockDepth * elementBytes);
  blocking.blockRows =
      std::clamp<int64_t>(rows / blocking.rows, 4, 64) * blocking.rows;
  return blocking;
}

namespace {
/// Emits the loops of one problem.
class MatmulEmitter {
public:
  MatmulEmitter(const MatmulProblem &problem, const MatmulBlocking &blocking)
      : problem(problem), blocking(blocking), lanes(blocking.lanes),
        vectorType(VectorType::get(blocking.lanes, problem.sumType)) {}

  void emit(IndexBuilder &b);

private:
  /// A panel or a matrix that a tile reads, given the depth.
  using LoadScalar = llvm::function_ref<Value(IndexBuilder &, int64_t, Value)>;
  using LoadVector = llvm::function_ref<Value(IndexBuilder &, int64_t, Value)>;

  /// Where a tile of sums is.
  struct Tile {
    Value batch, row, column;
    Value rows, columns; // how many are in the result
  };

  /// Rows of a matrix that become a panel of `width` rows.
  struct Panel {
    MatrixView matrix;
    Value row, rows; // the first one, and how many there are
    Value begin, depth;
    int64_t width;
  };

  Value extend(IndexBuilder &b, Value value);
  Value loadScalar(IndexBuilder &b, Value base, Value offset);
  Value loadVector(IndexBuilder &b, Value base, Value offset, Value mask);
  Value loadWhole(IndexBuilder &b, Value base, Value offset);
  Value loadSums(IndexBuilder &b, Value scratch, Value offset);
  void storeSums(IndexBuilder &b, Value sums, Value scratch, Value offset);
  Value makeMask(IndexBuilder &b, Value count, int64_t size);
  Value makeScratch(IndexBuilder &b, Value size);

  SmallVector<Value> computeTile(IndexBuilder &b, int64_t rows, int64_t vectors,
                                 Value depth, LoadScalar lhs, LoadVector rhs);
  void finishTile(IndexBuilder &b, const Tile &tile, int64_t width,
                  Value scratch, Value offset);

  void emitDirect(IndexBuilder &b, int64_t rows, int64_t vectors);
  void emitDots(IndexBuilder &b, int64_t rows, int64_t columns);
  void emitDotTile(IndexBuilder &b, const Tile &tile, int64_t rows,
                   int64_t columns, Value scratch);

  void pack(IndexBuilder &b, const Panel &panel, Value scratch, Value offset);
  void packCopies(IndexBuilder &b, const Panel &panel, Value scratch,
                  Value offset);
  void packTransposed(IndexBuilder &b, const Panel &panel, Value scratch,
                      Value offset);
  void packScalars(IndexBuilder &b, const Panel &panel, Value scratch,
                   Value offset);

  struct Blocks;
  Blocks divide(IndexBuilder &b);
  void emitPacked(IndexBuilder &b);
  void emitTask(IndexBuilder &b, const Blocks &blocks, Value task);

  /// What a tile is made of.
  struct Panels {
    Value lhs, lhsOffset, rhs, rhsOffset;
  };
  void emitPackedTile(IndexBuilder &b, const Panels &panels, Value scratch,
                      Value sums, Value depth, Value isFirst, Value columns);

  const MatmulProblem &problem;
  const MatmulBlocking &blocking;
  int64_t lanes;
  VectorType vectorType;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The value with elements of the type of the sums.
Value MatmulEmitter::extend(IndexBuilder &b, Value value) {
  Type type = problem.sumType;
  if (getElementTypeOrSelf(value.getType()) == type)
    return value;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  return arith::ExtFOp::create(b, type, value);
}

Value MatmulEmitter::loadScalar(IndexBuilder &b, Value base, Value offset) {
  return extend(b, memref::LoadOp::create(b, base, offset));
}

/// As many elements as the mask has, zeros where it is not set.
Value MatmulEmitter::loadVector(IndexBuilder &b, Value base, Value offset,
                                Value mask) {
  Type element = cast<MemRefType>(base.getType()).getElementType();
  auto type = cast<VectorType>(mask.getType()).clone(element);
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return extend(b, vector::MaskedLoadOp::create(b, cast<VectorType>(type), base,
                                                offset, mask, zeros));
}

/// As many elements as a vector has.
Value MatmulEmitter::loadWhole(IndexBuilder &b, Value base, Value offset) {
  Type element = cast<MemRefType>(base.getType()).getElementType();
  auto type = cast<VectorType>(vectorType.clone(element));
  return extend(b, vector::LoadOp::create(b, type, base, offset));
}

Value MatmulEmitter::loadSums(IndexBuilder &b, Value scratch, Value offset) {
  return vector::LoadOp::create(b, vectorType, scratch, offset);
}

void MatmulEmitter::storeSums(IndexBuilder &b, Value sums, Value scratch,
                              Value offset) {
  vector::StoreOp::create(b, sums, scratch, offset);
}

/// The first `count` of `size` elements; all of them where it is more.
Value MatmulEmitter::makeMask(IndexBuilder &b, Value count, int64_t size) {
  return vector::CreateMaskOp::create(b, VectorType::get(size, b.getI1Type()),
                                      ValueRange(count));
}

/// Bufferization frees it at the end of the block.
Value MatmulEmitter::makeScratch(IndexBuilder &b, Value size) {
  auto type = MemRefType::get(ShapedType::kDynamic, problem.sumType);
  return memref::AllocOp::create(b, type, size, b.getI64IntegerAttr(64));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The sums of rows x vectors over the depth, row by row.
SmallVector<Value> MatmulEmitter::computeTile(IndexBuilder &b, int64_t rows,
                                              int64_t vectors, Value depth,
                                              LoadScalar lhs, LoadVector rhs) {
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  SmallVector<Value> inits(rows * vectors, zeros);
  return b.reduce(b.index(0), depth, 1, inits,
                  [&](IndexBuilder &b, Value k, ValueRange carried) {
                    SmallVector<Value> sums = llvm::to_vector(carried), right;
                    for (int64_t j = 0; j < vectors; ++j)
                      right.push_back(rhs(b, j, k));
                    for (int64_t i = 0; i < rows; ++i) {
                      Value left = vector::BroadcastOp::create(b, vectorType,
                                                               lhs(b, i, k));
                      for (int64_t j = 0; j < vectors; ++j) {
                        Value &sum = sums[i * vectors + j];
                        sum = vector::FMAOp::create(b, left, right[j], sum);
                      }
                    }
                    return sums;
                  });
}

/// Hands a tile in scratch memory, with rows of `width`, to the problem.
void MatmulEmitter::finishTile(IndexBuilder &b, const Tile &tile, int64_t width,
                               Value scratch, Value offset) {
  Value zero = b.index(0);
  b.loop(zero, tile.rows, 1, [&](IndexBuilder &b, Value i) {
    Value row = b.add(tile.row, i);
    Value begin = b.add(offset, b.mul(i, width));
    b.loop(zero, tile.columns, lanes, [&](IndexBuilder &b, Value j) {
      Value mask = makeMask(b, b.sub(tile.columns, j), lanes);
      Value sums = loadSums(b, scratch, b.add(begin, j));
      problem.finish(b, sums, {tile.batch, row, b.add(tile.column, j), mask});
    });
  });
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

/// At most `rows` rows; those of the right matrix are contiguous, or in panels.
void MatmulEmitter::emitDirect(IndexBuilder &b, int64_t rows, int64_t vectors) {
  int64_t width = vectors * lanes;
  Value groups = b.ceilDiv(problem.n, b.index(width));
  // No rows, no tasks: row 0 is read.
  Value isAny = b.min(problem.m, b.index(1));
  Value tasks = b.mul(b.mul(problem.batch, groups), isAny);
  b.parallel(tasks, /*grain=*/4, [&](IndexBuilder &b, Value task) {
    Value batch = b.floorDiv(task, groups);
    Value column = b.mul(b.rem(task, groups), width);
    MatrixView lhs = problem.lhs(b, batch), rhs = problem.rhs(b, batch);
    Value columns = b.min(b.sub(problem.n, column), b.index(width));
    Value last = b.sub(problem.m, b.index(1));
    SmallVector<Value> rowOffsets, columnOffsets, masks;
    for (int64_t i = 0; i < rows; ++i)
      rowOffsets.push_back(
          i == 0 ? lhs.offset
                 : b.add(lhs.offset,
                         b.mul(b.min(b.index(i), last), lhs.rowStride)));
    for (int64_t j = 0; j < vectors; ++j) {
      Value begin = b.index(j * lanes);
      Value offset = problem.isPacked ? b.mul(column, problem.k) : column;
      columnOffsets.push_back(b.add(b.add(rhs.offset, offset), begin));
      masks.push_back(makeMask(b, b.sub(columns, begin), lanes));
    }
    SmallVector<Value> sums = computeTile(
        b, rows, vectors, problem.k,
        [&](IndexBuilder &b, int64_t i, Value k) {
          Value offset = b.add(rowOffsets[i], b.mul(k, lhs.columnStride));
          return loadScalar(b, lhs.base, offset);
        },
        [&](IndexBuilder &b, int64_t j, Value k) {
          if (problem.isPacked)
            return loadWhole(b, rhs.base,
                             b.add(columnOffsets[j], b.mul(k, width)));
          Value offset = b.add(columnOffsets[j], b.mul(k, rhs.rowStride));
          return loadVector(b, rhs.base, offset, masks[j]);
        });
    Value scratch = makeScratch(b, b.index(rows * width));
    for (auto [i, sum] : llvm::enumerate(sums))
      storeSums(b, sum, scratch, b.index(i * lanes));
    finishTile(b, {batch, b.index(0), column, problem.m, columns}, width,
               scratch, b.index(0));
  });
}

/// Few rows; those of the left and the columns of the right matrix are
/// contiguous.
void MatmulEmitter::emitDots(IndexBuilder &b, int64_t rows, int64_t columns) {
  Value groups = b.ceilDiv(problem.n, b.index(lanes));
  Value isAny = b.min(problem.m, b.index(1));
  Value tasks = b.mul(b.mul(problem.batch, groups), isAny);
  b.parallel(tasks, /*grain=*/4, [&](IndexBuilder &b, Value task) {
    Value batch = b.floorDiv(task, groups), zero = b.index(0);
    Value column = b.mul(b.rem(task, groups), lanes);
    Value count = b.min(b.sub(problem.n, column), b.index(lanes));
    Value scratch = makeScratch(b, b.mul(problem.m, lanes));
    Tile group = {batch, zero, column, problem.m, count};
    b.loop(zero, count, columns, [&](IndexBuilder &b, Value j) {
      b.loop(zero, problem.m, rows, [&](IndexBuilder &b, Value i) {
        emitDotTile(b, {batch, i, j, problem.m, b.add(column, j)}, rows,
                    columns, scratch);
      });
    });
    finishTile(b, group, lanes, scratch, zero);
  });
}

/// Writes rows x columns dot products to row `tile.row`, column `tile.column`
/// of the scratch memory. Rows and columns past the end repeat the last one.
void MatmulEmitter::emitDotTile(IndexBuilder &b, const Tile &tile, int64_t rows,
                                int64_t columns, Value scratch) {
  MatrixView lhs = problem.lhs(b, tile.batch);
  MatrixView rhs = problem.rhs(b, tile.batch).transposed();
  auto offsets = [&](const MatrixView &matrix, Value first, Value end,
                     int64_t count) {
    SmallVector<Value> result;
    for (int64_t i = 0; i < count; ++i) {
      Value row = b.min(b.add(first, i), b.sub(end, b.index(1)));
      result.push_back(b.add(matrix.offset, b.mul(row, matrix.rowStride)));
    }
    return result;
  };
  SmallVector<Value> left = offsets(lhs, tile.row, problem.m, rows);
  SmallVector<Value> right = offsets(rhs, tile.columns, problem.n, columns);
  auto step = [&](IndexBuilder &b, Value k, ValueRange carried, Value mask) {
    SmallVector<Value> sums = llvm::to_vector(carried), vectors;
    for (Value offset : right)
      vectors.push_back(loadVector(b, rhs.base, b.add(offset, k), mask));
    for (int64_t i = 0; i < rows; ++i) {
      Value row = loadVector(b, lhs.base, b.add(left[i], k), mask);
      for (int64_t j = 0; j < columns; ++j) {
        Value &sum = sums[i * columns + j];
        sum = vector::FMAOp::create(b, row, vectors[j], sum);
      }
    }
    return sums;
  };
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  SmallVector<Value> inits(rows * columns, zeros);
  Value rest = b.rem(problem.k, b.index(lanes));
  Value end = b.sub(problem.k, rest);
  Value all = makeMask(b, b.index(lanes), lanes);
  SmallVector<Value> sums =
      b.reduce(b.index(0), end, lanes, inits,
               [&](IndexBuilder &b, Value k, ValueRange carried) {
                 return step(b, k, carried, all);
               });
  sums = step(b, end, sums, makeMask(b, rest, lanes));
  for (int64_t i = 0; i < rows; ++i) {
    auto store = [&](IndexBuilder &b) {
      for (int64_t j = 0; j < columns; ++j) {
        Value sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD,
                                                sums[i * columns + j],
                                                arith::FastMathFlags::reassoc);
        Value row = b.mul(b.add(tile.row, i), lanes);
        memref::StoreOp::create(b, sum, scratch,
                                b.add(row, b.add(tile.column, j)));
      }
    };
    b.branch(
        b.compare(arith::CmpIPredicate::slt, b.add(tile.row, i), problem.m),
        store);
  }
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Copies rows of a matrix to a panel: all `width` elements of a column lie
/// together. Rows past the end have any values, but may be read.
void MatmulEmitter::pack(IndexBuilder &b, const Panel &panel, Value scratch,
                         Value offset) {
  if (panel.matrix.hasUnitRows())
    return packCopies(b, panel, scratch, offset);
  if (panel.matrix.hasUnitColumns() && llvm::isPowerOf2_64(lanes))
    return packTransposed(b, panel, scratch, offset);
  packScalars(b, panel, scratch, offset);
}

void MatmulEmitter::packCopies(IndexBuilder &b, const Panel &panel,
                               Value scratch, Value offset) {
  int64_t size = std::min(lanes, panel.width);
  SmallVector<Value> masks;
  for (int64_t i = 0; i < panel.width; i += size)
    masks.push_back(makeMask(b, b.sub(panel.rows, b.index(i)), size));
  const MatrixView &matrix = panel.matrix;
  Value begin = b.add(matrix.offset, panel.row);
  b.loop(b.index(0), panel.depth, 1, [&](IndexBuilder &b, Value k) {
    Value column = b.mul(b.add(panel.begin, k), matrix.columnStride);
    Value from = b.add(begin, column);
    Value to = b.add(offset, b.mul(k, panel.width));
    for (auto [i, mask] : llvm::enumerate(masks)) {
      Value values = loadVector(b, matrix.base, b.add(from, i * size), mask);
      storeSums(b, values, scratch, b.add(to, i * size));
    }
  });
}

/// Reads vectors of several rows as one array of bits of the element's place,
/// row before column: interleaving each vector with the one half the rows
/// further rotates the bits by one. Once for each bit of the row, and the
/// column comes first.
static SmallVector<Value> transpose(IndexBuilder &b, SmallVector<Value> rows) {
  int64_t count = rows.size(), half = count / 2;
  int64_t lanes = cast<VectorType>(rows.front().getType()).getNumElements();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes; ++i) {
    low.push_back(i / 2 + (i % 2) * lanes);
    high.push_back(lanes / 2 + i / 2 + (i % 2) * lanes);
  }
  for (int64_t bit = 1; bit < count; bit *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < half; ++i) {
      Value first = rows[i], second = rows[i + half];
      next.push_back(vector::ShuffleOp::create(b, first, second, low));
      next.push_back(vector::ShuffleOp::create(b, first, second, high));
    }
    rows = std::move(next);
  }
  return rows;
}

/// The depth is rounded up to whole vectors, with zeros.
void MatmulEmitter::packTransposed(IndexBuilder &b, const Panel &panel,
                                   Value scratch, Value offset) {
  int64_t size = std::min(lanes, panel.width);
  const MatrixView &matrix = panel.matrix;
  SmallVector<Value> offsets;
  Value last = b.sub(panel.rows, b.index(1));
  for (int64_t i = 0; i < panel.width; ++i) {
    Value row = b.add(panel.row, b.min(b.index(i), last));
    Value begin = b.add(matrix.offset, panel.begin);
    offsets.push_back(b.add(begin, b.mul(row, matrix.rowStride)));
  }
  b.loop(b.index(0), panel.depth, lanes, [&](IndexBuilder &b, Value k) {
    Value mask = makeMask(b, b.sub(panel.depth, k), lanes);
    Value to = b.add(offset, b.mul(k, panel.width));
    for (int64_t group = 0; group < panel.width; group += size) {
      SmallVector<Value> rows;
      for (Value from : ArrayRef(offsets).slice(group, size))
        rows.push_back(loadVector(b, matrix.base, b.add(from, k), mask));
      // Each vector holds lanes / size columns of the panel.
      int64_t stride = size == lanes ? panel.width : lanes;
      for (auto [i, columns] : llvm::enumerate(transpose(b, rows)))
        storeSums(b, columns, scratch, b.add(to, i * stride + group));
    }
  });
}

/// For a matrix neither the rows nor the columns of which are contiguous.
void MatmulEmitter::packScalars(IndexBuilder &b, const Panel &panel,
                                Value scratch, Value offset) {
  const MatrixView &matrix = panel.matrix;
  b.loop(b.index(0), panel.depth, 1, [&](IndexBuilder &b, Value k) {
    Value column = b.mul(b.add(panel.begin, k), matrix.columnStride);
    Value from = b.add(matrix.offset, column);
    Value to = b.add(offset, b.mul(k, panel.width));
    b.loop(b.index(0), panel.rows, 1, [&](IndexBuilder &b, Value i) {
      Value row = b.mul(b.add(panel.row, i), matrix.rowStride);
      memref::StoreOp::create(b, loadScalar(b, matrix.base, b.add(from, row)),
                              scratch, b.add(to, i));
    });
  });
}

//===----------------------------------------------------------------------===//
// Many rows
//===----------------------------------------------------------------------===//

/// How the result is divided into tasks and a task into blocks.
struct MatmulEmitter::Blocks {
  Value rowBlocks, rows;     // rows of a task, whole tiles
  Value columnBlocks, width; // columns of a task, whole tiles
  Value depthBlocks, depth;  // whole vectors
};

MatmulEmitter::Blocks MatmulEmitter::divide(IndexBuilder &b) {
  // Threads can share this many tasks, and a task this many panels still pays
  // for packing the rows.
  constexpr int64_t kTasks = 8, kMinPanels = 8, kMaxPanels = 64;
  Value one = b.index(1);
  auto atLeastOne = [&](Value value) { return b.max(value, one); };
  Blocks blocks;
  blocks.rowBlocks = b.ceilDiv(problem.m, b.index(blocking.blockRows));
  blocks.rows = b.roundUp(b.ceilDiv(problem.m, atLeastOne(blocks.rowBlocks)),
                          blocking.rows);
  Value panels = b.ceilDiv(problem.n, b.index(blocking.columns()));
  Value all = b.mul(panels, b.mul(blocks.rowBlocks, problem.batch));
  Value share = b.ceilDiv(all, b.index(kTasks));
  share = b.min(b.max(share, b.index(kMinPanels)), b.index(kMaxPanels));
  blocks.columnBlocks = b.ceilDiv(panels, share);
  blocks.width = b.mul(b.ceilDiv(panels, atLeastOne(blocks.columnBlocks)),
                       blocking.columns());
  blocks.depthBlocks =
      atLeastOne(b.ceilDiv(problem.k, b.index(blocking.blockDepth)));
  blocks.depth =
      b.roundUp(atLeastOne(b.ceilDiv(problem.k, blocks.depthBlocks)), lanes);
  return blocks;
}

void MatmulEmitter::emitPacked(IndexBuilder &b) {
  Blocks blocks = divide(b);
  Value tasks =
      b.mul(problem.batch, b.mul(blocks.rowBlocks, blocks.columnBlocks));
  b.parallel(tasks, /*grain=*/1,
             [&](IndexBuilder &b, Value task) { emitTask(b, blocks, task); });
}

void MatmulEmitter::emitTask(IndexBuilder &b, const Blocks &blocks,
                             Value task) {
  int64_t width = blocking.columns(), height = blocking.rows;
  int64_t tileSize = width * height;
  Value zero = b.index(0);
  Value columnBlock = b.rem(task, blocks.columnBlocks);
  Value other = b.floorDiv(task, blocks.columnBlocks);
  Value rowBlock = b.rem(other, blocks.rowBlocks);
  Value batch = b.floorDiv(other, blocks.rowBlocks);
  Value row = b.mul(rowBlock, blocks.rows);
  Value column = b.mul(columnBlock, blocks.width);
  Value rows = b.min(b.sub(problem.m, row), blocks.rows);
  Value columns = b.min(b.sub(problem.n, column), blocks.width);
  MatrixView lhs = problem.lhs(b, batch);
  MatrixView rhs = problem.rhs(b, batch).transposed();

  // Scratch memory: sums of one tile, or of all of them where the depth is
  // divided; then the panels.
  Value isWhole = b.isEqual(blocks.depthBlocks, b.index(1));
  Value paddedColumns = b.roundUp(columns, width);
  Value paddedRows = b.roundUp(rows, height);
  Value sumsSize = b.createOrFold<arith::SelectOp>(
      isWhole, b.index(tileSize), b.mul(paddedRows, paddedColumns));
  Value lhsPanels = sumsSize;
  Value rhsPanels = b.add(lhsPanels, b.mul(paddedRows, blocks.depth));
  Value size = rhsPanels;
  if (!problem.isPacked)
    size = b.add(rhsPanels, b.mul(paddedColumns, blocks.depth));
  Value scratch = makeScratch(b, size);

  auto computeBlock = [&](IndexBuilder &b, Value block) {
    Value begin = b.mul(block, blocks.depth);
    Value depth = b.max(b.min(b.sub(problem.k, begin), blocks.depth), zero);
    Value isFirst = b.isEqual(block, zero);
    Value isLast = b.isEqual(b.add(block, 1), blocks.depthBlocks);
    auto packColumns = [&](IndexBuilder &b, Value j) {
      Value count = b.min(b.sub(columns, j), b.index(width));
      pack(b, {rhs, b.add(column, j), count, begin, depth, width}, scratch,
           b.add(rhsPanels, b.mul(j, blocks.depth)));
    };
    if (!problem.isPacked)
      b.loop(zero, columns, width, packColumns);
    b.loop(zero, rows, height, [&](IndexBuilder &b, Value i) {
      Value count = b.min(b.sub(rows, i), b.index(height));
      pack(b, {lhs, b.add(row, i), count, begin, depth, height}, scratch,
           b.add(lhsPanels, b.mul(i, blocks.depth)));
    });
    b.loop(zero, columns, width, [&](IndexBuilder &b, Value j) {
      Panels panels = {scratch, Value(), scratch, Value()};
      panels.rhsOffset = b.add(rhsPanels, b.mul(j, blocks.depth));
      if (problem.isPacked) {
        Value panel = b.mul(b.add(column, j), problem.k);
        panels.rhs = rhs.base;
        panels.rhsOffset = b.add(b.add(rhs.offset, panel), b.mul(begin, width));
      }
      Value tileColumns = b.min(b.sub(columns, j), b.index(width));
      b.loop(zero, rows, height, [&](IndexBuilder &b, Value i) {
        panels.lhsOffset = b.add(lhsPanels, b.mul(i, blocks.depth));
        Value tileRows = b.min(b.sub(rows, i), b.index(height));
        Value sums = b.createOrFold<arith::SelectOp>(
            isWhole, zero, b.add(b.mul(j, paddedRows), b.mul(i, width)));
        emitPackedTile(b, panels, scratch, sums, depth, isFirst, tileColumns);
        b.branch(isLast, [&](IndexBuilder &b) {
          finishTile(
              b,
              {batch, b.add(row, i), b.add(column, j), tileRows, tileColumns},
              width, scratch, sums);
        });
      });
    });
  };
  if (isConstantIntValue(blocks.depthBlocks, 1))
    computeBlock(b, zero);
  else
    b.loop(zero, blocks.depthBlocks, 1, computeBlock);
}

/// Adds products of two panels to the sums of a tile, as many vectors as the
/// result has.
void MatmulEmitter::emitPackedTile(IndexBuilder &b, const Panels &panels,
                                   Value scratch, Value sums, Value depth,
                                   Value isFirst, Value columns) {
  int64_t width = blocking.columns();
  auto compute = [&](IndexBuilder &b, int64_t vectors) {
    SmallVector<Value> tile = computeTile(
        b, blocking.rows, vectors, depth,
        [&](IndexBuilder &b, int64_t i, Value k) -> Value {
          Value column = b.add(panels.lhsOffset, b.mul(k, blocking.rows));
          return memref::LoadOp::create(b, panels.lhs, b.add(column, i));
        },
        [&](IndexBuilder &b, int64_t j, Value k) {
          Value row = b.add(panels.rhsOffset, b.mul(k, width));
          return loadWhole(b, panels.rhs, b.add(row, j * lanes));
        });
    auto store = [&](IndexBuilder &b, bool add) {
      for (auto [index, sum] : llvm::enumerate(tile)) {
        int64_t i = index / vectors, j = index % vectors;
        Value offset = b.add(sums, i * width + j * lanes), result = sum;
        if (add)
          result = arith::AddFOp::create(b, loadSums(b, scratch, offset), sum);
        storeSums(b, result, scratch, offset);
      }
    };
    b.branch(
        isFirst, [&](IndexBuilder &b) { store(b, false); },
        [&](IndexBuilder &b) { store(b, true); });
  };
  std::function<void(IndexBuilder &, int64_t)> choose = [&](IndexBuilder &b,
                                                            int64_t vectors) {
    if (vectors == blocking.vectors)
      return compute(b, vectors);
    b.branch(
        b.isAtMost(columns, vectors * lanes),
        [&](IndexBuilder &b) { compute(b, vectors); },
        [&](IndexBuilder &b) { choose(b, vectors + 1); });
  };
  choose(b, 1);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

void MatmulEmitter::emit(IndexBuilder &b) {
  MatrixView lhs = problem.lhs(b, b.index(0)), rhs = problem.rhs(b, b.index(0));
  auto direct = [&](int64_t rows, int64_t vectors) {
    return [=](IndexBuilder &b) { emitDirect(b, rows, vectors); };
  };
  auto dots = [&](int64_t rows, int64_t columns) {
    return [=](IndexBuilder &b) { emitDots(b, rows, columns); };
  };
  auto packed = [&](IndexBuilder &b) { emitPacked(b); };
  Value isOne = b.isAtMost(problem.m, 1);
  Value isSmall = b.isAtMost(problem.m, blocking.rows);
  // A panel at a time, where there are panels.
  int64_t width = problem.isPacked ? blocking.vectors : 8;
  if (problem.isPacked || rhs.hasUnitColumns())
    return b.branch(isOne, direct(1, width), [&](IndexBuilder &b) {
      b.branch(b.isAtMost(problem.m, 4), direct(4, blocking.vectors),
               [&](IndexBuilder &b) {
                 b.branch(isSmall, direct(blocking.rows, blocking.vectors),
                          packed);
               });
    });
  if (rhs.hasUnitRows() && lhs.hasUnitColumns())
    return b.branch(
        isOne, dots(1, std::min<int64_t>(8, lanes)), [&](IndexBuilder &b) {
          b.branch(isSmall, dots(4, std::min<int64_t>(4, lanes)), packed);
        });
  packed(b);
}

void mlir::relax::emitMatmul(IndexBuilder &b, const MatmulProblem &problem,
                             const MatmulBlocking &blocking) {
  MatmulEmitter(problem, blocking).emit(b);
}
