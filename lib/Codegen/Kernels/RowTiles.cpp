//===- RowTiles.cpp - Transposed operands of row kernels --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where an operand is contiguous along one dimension and the output along
// another, the output is computed tile by tile. A tile of such an operand is
// transposed to scratch memory in the layout of the output: square blocks of
// vectors, in registers. The rows of the tile are then those of any other
// kernel.
//
//===----------------------------------------------------------------------===//

#include "RowVectors.h"
#include "Transpose.h"

using namespace mlir;
using namespace mlir::relax;

/// The share of the L1 cache for the tiles of all operands.
static constexpr int64_t kTileBytes = 16 << 10;

/// The maximum length of a tile.
static constexpr int64_t kTileSize = 64;

static int64_t getBytes(const Access &access) {
  Type type = access.getType().getElementType();
  return type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8;
}

/// Tiles are square, unless they are small or one of the sizes is.
static std::pair<int64_t, int64_t> getTileSize(const RowPlan &plan) {
  int64_t bytes = 0;
  for (const Access &access : plan.transposed)
    bytes += getBytes(access);
  int64_t lanes = plan.lanes;
  auto limit = [&](unsigned dim, int64_t most) {
    int64_t size = plan.space->dims[dim].getSize();
    if (!ShapedType::isDynamic(size))
      most = std::min(most, std::max<int64_t>(size, 1));
    return std::max(llvm::alignTo(most, lanes), uint64_t(lanes));
  };
  int64_t width = limit(plan.loops.front().dims.back(), kTileSize);
  int64_t most = std::max(kTileBytes / (bytes * width) / lanes * lanes, lanes);
  int64_t rows = limit(*plan.tileDim, std::min(most, 4 * kTileSize));
  return {rows, width};
}

namespace {
class TiledRows : public RowVectors {
public:
  explicit TiledRows(const RowContext &context)
      : RowVectors(context), tileDim(*plan.tileDim),
        vectorDim(plan.loops.front().dims.back()), isCopy(plan.isCopy()),
        numRows(getTileSize(plan).first), numColumns(getTileSize(plan).second) {
  }

  void emit(IndexBuilder &b) const override;

private:
  /// A tile: its part of both dimensions, and the position in others.
  struct Tile {
    RowRange rows, columns;
    Positions positions;
    /// Elements of operands, row by row of the output; nothing for a copy.
    SmallVector<Value> memory;
  };

  void emitTile(IndexBuilder &b, const Tile &tile) const;
  void emitTranspose(IndexBuilder &b, const Tile &tile, unsigned number) const;
  void emitBlock(IndexBuilder &b, const Tile &tile, unsigned number, Value row,
                 Value column, bool isWhole) const;
  void storeBlock(IndexBuilder &b, const Tile &tile, ValueRange values,
                  Value row, Value column, bool isWhole) const;

  const unsigned tileDim, vectorDim;
  /// Whether transposed elements go to the output as they are.
  const bool isCopy;
  /// The size of a tile.
  const int64_t numRows, numColumns;
};
} // namespace

/// Writes a block of a copy to the output.
void TiledRows::storeBlock(IndexBuilder &b, const Tile &tile, ValueRange values,
                           Value row, Value column, bool isWhole) const {
  const Access &place = space.outputs.front().place;
  Value memref = context.getMemory(place);
  RowScope scope{tile.positions, vectorDim, /*isVector=*/true};
  scope.positions[vectorDim] = row;
  if (!isWhole)
    scope.mask = context.makeMask(b, b.sub(tile.columns.end, row));
  for (auto [lane, value] : llvm::enumerate(values)) {
    scope.positions[tileDim] = b.add(column, lane);
    auto store = [&, value = value](IndexBuilder &inside) {
      elements.storeVector(inside, value, memref,
                           elements.getAddress(inside, place, scope), scope);
    };
    if (isWhole)
      store(b);
    else
      b.branch(b.compare(arith::CmpIPredicate::ult, scope.positions[tileDim],
                         tile.rows.end),
               store);
  }
}

/// Rows past the end of the operand repeat others; columns are masked. The
/// elements in their place in the tile are not read.
void TiledRows::emitBlock(IndexBuilder &b, const Tile &tile, unsigned number,
                          Value row, Value column, bool isWhole) const {
  const Access &access = plan.transposed[number];
  Value last = b.sub(tile.columns.end, b.index(1));
  RowScope scope{tile.positions, vectorDim, /*isVector=*/true};
  if (!isWhole)
    scope.mask = context.makeMask(b, b.sub(tile.rows.end, column));
  scope.positions[tileDim] = column;
  SmallVector<Value> values;
  for (int64_t lane = 0; lane < plan.lanes; ++lane) {
    Value &position = scope.positions[vectorDim];
    position = b.add(row, lane);
    if (!isWhole)
      position = b.createOrFold<arith::MinUIOp>(position, last);
    values.push_back(elements.loadVector(b, context.getMemory(access),
                                         elements.getAddress(b, access, scope),
                                         scope));
  }
  values = transpose(b, values);
  if (isCopy)
    return storeBlock(b, tile, values, row, column, isWhole);
  Value first = b.add(b.mul(b.sub(column, tile.rows.begin), numColumns),
                      b.sub(row, tile.columns.begin));
  for (auto [lane, value] : llvm::enumerate(values))
    vector::StoreOp::create(b, value, tile.memory[number],
                            b.add(first, lane * numColumns));
}

/// To a tile, or to the output.
void TiledRows::emitTranspose(IndexBuilder &b, const Tile &tile,
                              unsigned number) const {
  auto fits = [&](IndexBuilder &inside, Value position, Value size) {
    return inside.compare(arith::CmpIPredicate::ule,
                          inside.add(position, plan.lanes), size);
  };
  auto emitColumn = [&](IndexBuilder &b, Value row, Value isInside,
                        Value column) {
    Value isWhole =
        arith::AndIOp::create(b, isInside, fits(b, column, tile.rows.end));
    b.branch(
        isWhole,
        [&](IndexBuilder &inside) {
          emitBlock(inside, tile, number, row, column, /*isWhole=*/true);
        },
        [&](IndexBuilder &inside) {
          emitBlock(inside, tile, number, row, column, /*isWhole=*/false);
        });
  };
  b.loop(tile.columns.begin, tile.columns.end, plan.lanes,
         [&](IndexBuilder &rows, Value row) {
           Value isInside = fits(rows, row, tile.columns.end);
           rows.loop(tile.rows.begin, tile.rows.end, plan.lanes,
                     [&](IndexBuilder &columns, Value column) {
                       emitColumn(columns, row, isInside, column);
                     });
         });
}

void TiledRows::emitTile(IndexBuilder &b, const Tile &tile) const {
  for (unsigned number = 0; number < plan.transposed.size(); ++number)
    emitTranspose(b, tile, number);
  if (isCopy)
    return;
  RowGroup group(RowScope{tile.positions});
  group.range = tile.columns;
  for (auto [access, memory] : llvm::zip_equal(plan.transposed, tile.memory)) {
    RowCopy copy{memory};
    copy.dims = {{tileDim, tile.rows.begin, b.index(numRows)},
                 {vectorDim, tile.columns.begin, b.index(numColumns)}};
    group.copies.emplace_back(access, copy);
  }
  b.loop(tile.rows.begin, tile.rows.end, 1,
         [&](IndexBuilder &inside, Value row) {
           group.rows.front().positions[tileDim] = row;
           emitRow(inside, group);
         });
}

/// Small matrices that follow one another are one iteration.
void TiledRows::emit(IndexBuilder &b) const {
  SmallVector<unsigned> dims = getTaskDims();
  Value group;
  TaskGrid grid;
  if (!dims.empty())
    group = getGroupSize(
        b, b.mul(context.getSize(tileDim), context.getSize(vectorDim)));
  for (unsigned dim : dims)
    grid.add(dim == dims.back() ? countParts(b, dim, group)
                                : context.getSize(dim));
  grid.add(countParts(b, vectorDim, b.index(numColumns)));
  grid.add(countParts(b, tileDim, b.index(numRows)));
  emitTasks(
      b, grid, numRows * numColumns,
      [&](IndexBuilder &task, ArrayRef<Value> steps) {
        Tile tile;
        tile.rows = getPart(task, tileDim, numRows, steps.back());
        tile.columns =
            getPart(task, vectorDim, numColumns, steps.drop_back().back());
        tile.positions = getPositions(dims, steps);
        if (!isCopy)
          for (const Access &access : plan.transposed)
            tile.memory.push_back(
                allocateScratch(task, access.getType().getElementType(),
                                task.getIndexAttr(numRows * numColumns)));
        if (!group)
          return emitTile(task, tile);
        Value first = task.mul(tile.positions[dims.back()], group);
        Value last =
            getPartEnd(task, first, group, context.getSize(dims.back()));
        task.loop(first, last, 1, [&](IndexBuilder &inside, Value matrix) {
          tile.positions[dims.back()] = matrix;
          emitTile(inside, tile);
        });
      });
}

std::unique_ptr<RowForm> mlir::relax::makeTiledRows(const RowContext &context) {
  return std::make_unique<TiledRows>(context);
}
