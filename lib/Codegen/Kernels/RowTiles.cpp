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

#include "RowEmitter.h"
#include "Transpose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

Value RowEmitter::allocateTile(const Access &access) {
  Type type = access.getType().getElementType();
  if (type.isInteger(1))
    type = builder->getI8Type();
  auto memory = MemRefType::get({tileRows * tileWidth}, type);
  auto alloc = memref::AllocOp::create(*builder, memory);
  alloc.setAlignment(64);
  return alloc;
}

/// Writes a block of a copy to the output.
void RowEmitter::storeTransposed(ValueRange values, Value row, Value column,
                                 bool isWhole) {
  unsigned tileDim = *plan->tileDim;
  const Access &place = space.outputs.front().place;
  Value memref = flat[place.param.getArgNumber()];
  Scope scope;
  scope.base = row;
  if (!isWhole)
    scope.mask = vector::CreateMaskOp::create(
        *builder, vectorType(builder->getI1Type()),
        ValueRange{arith::SubIOp::create(*builder, end, row)});
  for (auto [lane, value] : llvm::enumerate(values)) {
    positions[tileDim] = add(column, index(lane));
    if (isWhole) {
      storeVector(value, memref, getAddress(place, scope), scope);
      continue;
    }
    Value exists = arith::CmpIOp::create(*builder, arith::CmpIPredicate::ult,
                                         positions[tileDim], tileEnd);
    scf::IfOp::create(
        *builder, exists, [&, value = value](OpBuilder &nested, Location) {
          OpBuilder::InsertionGuard guard(*builder);
          builder->restoreInsertionPoint(nested.saveInsertionPoint());
          storeVector(value, memref, getAddress(place, scope), scope);
          scf::YieldOp::create(*builder);
        });
  }
}

/// Rows past the end of the operand repeat others; columns are masked. The
/// elements in their place in the tile are not read.
void RowEmitter::emitTransposedBlock(const Access &access, Value tile,
                                     Value row, Value column, bool isWhole) {
  Value memref = flat[access.param.getArgNumber()];
  Value last = builder->createOrFold<arith::SubIOp>(end, index(1));
  Scope scope;
  if (!isWhole)
    scope.mask = vector::CreateMaskOp::create(
        *builder, vectorType(builder->getI1Type()),
        ValueRange{arith::SubIOp::create(*builder, tileEnd, column)});
  positions[*plan->tileDim] = column;
  SmallVector<Value> rows;
  for (int64_t lane = 0; lane < plan->lanes; ++lane) {
    scope.base = add(row, index(lane));
    if (!isWhole)
      scope.base = builder->createOrFold<arith::MinUIOp>(scope.base, last);
    rows.push_back(loadVector(memref, getAddress(access, scope), scope));
  }
  IndexBuilder b(builder->getLoc(), *builder);
  rows = transpose(b, rows);
  if (!tile)
    return storeTransposed(rows, row, column, isWhole);
  Value first =
      b.add(b.mul(b.sub(column, tileBegin), tileWidth), b.sub(row, begin));
  for (auto [lane, values] : llvm::enumerate(rows))
    vector::StoreOp::create(b, values, tile, b.add(first, lane * tileWidth));
}

/// To a tile, or, without one, to the output.
void RowEmitter::emitTranspose(const Access &access, Value tile) {
  Value lanes = index(plan->lanes);
  auto fits = [&](Value position, Value size) -> Value {
    return arith::CmpIOp::create(*builder, arith::CmpIPredicate::ule,
                                 add(position, lanes), size);
  };
  emitFor(begin, end, lanes, {}, [&](Value row, ValueRange) {
    Value isInside = fits(row, end);
    emitFor(tileBegin, tileEnd, lanes, {}, [&](Value column, ValueRange) {
      auto emit = [&](bool isWhole) {
        return [&, isWhole](OpBuilder &nested, Location) {
          OpBuilder::InsertionGuard guard(*builder);
          builder->restoreInsertionPoint(nested.saveInsertionPoint());
          emitTransposedBlock(access, tile, row, column, isWhole);
          scf::YieldOp::create(*builder);
        };
      };
      Value isWhole =
          arith::AndIOp::create(*builder, isInside, fits(column, tileEnd));
      scf::IfOp::create(*builder, isWhole, emit(true), emit(false));
      return SmallVector<Value>();
    });
    return SmallVector<Value>();
  });
}

Value RowEmitter::loadTransposed(unsigned number, Scope &scope) {
  Value row =
      arith::SubIOp::create(*builder, positions[*plan->tileDim], tileBegin);
  Value column = arith::SubIOp::create(*builder, scope.base, begin);
  return loadVector(tiles[number], add(mul(row, index(tileWidth)), column),
                    scope);
}

/// `dims` are the dimensions but for those of tiles.
void RowEmitter::emitTiles(ArrayRef<unsigned> dims) {
  vectorDim = plan->loops.front().dims.back();
  unsigned tileDim = *plan->tileDim;
  std::tie(tileRows, tileWidth) = getTileSize(*plan);
  auto countParts = [&](unsigned dim, Value part) {
    return builder->createOrFold<arith::CeilDivUIOp>(getSize(dim), part);
  };
  Value numRows = countParts(tileDim, index(tileRows));
  Value numColumns = countParts(vectorDim, index(tileWidth));
  // Small matrices that follow one another are one iteration.
  Value group;
  SmallVector<Value> counts;
  for (unsigned dim : dims)
    counts.push_back(getSize(dim));
  if (!dims.empty()) {
    group = getGroupSize(mul(getSize(tileDim), getSize(vectorDim)));
    counts.back() = countParts(dims.back(), group);
  }
  Value count = mul(numRows, numColumns);
  for (Value size : counts)
    count = mul(count, size);
  bool isCopy = plan->isCopy();
  auto emitTile = [&] {
    for (auto [number, access] : llvm::enumerate(plan->transposed))
      emitTranspose(access, isCopy ? Value() : tiles[number]);
    if (isCopy)
      return;
    emitFor(tileBegin, tileEnd, index(1), {}, [&](Value row, ValueRange) {
      positions[tileDim] = row;
      emitRow(Scope());
      return SmallVector<Value>();
    });
  };
  emitParallel(count, [&](Value number) {
    Value tileRow = arith::RemUIOp::create(*builder, number, numRows);
    number = arith::DivUIOp::create(*builder, number, numRows);
    splitIndex(number, dims, counts, numColumns, tileWidth, vectorDim);
    tileBegin = mul(tileRow, index(tileRows));
    tileEnd = arith::MinUIOp::create(*builder, add(tileBegin, index(tileRows)),
                                     getSize(tileDim));
    tiles.clear();
    if (!isCopy)
      for (const Access &access : plan->transposed)
        tiles.push_back(allocateTile(access));
    if (!group)
      return emitTile();
    Value first = mul(positions[dims.back()], group);
    Value last = arith::MinUIOp::create(*builder, add(first, group),
                                        getSize(dims.back()));
    emitFor(first, last, index(1), {}, [&](Value matrix, ValueRange) {
      positions[dims.back()] = matrix;
      emitTile();
      return SmallVector<Value>();
    });
  });
}
