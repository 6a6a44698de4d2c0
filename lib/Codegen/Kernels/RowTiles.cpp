//===- RowTiles.cpp - Operands that are transposed --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where an operand is contiguous along one dimension and the output along
// another, the output is computed tile by tile. A tile of such an operand is
// brought to scratch memory as the output has it: square blocks of vectors are
// transposed in registers. Its rows are then those of any other kernel.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "Transpose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

/// What the tiles of all operands may take of the first level of the cache.
static constexpr int64_t kTileBytes = 16 << 10;

/// How long a tile is at most.
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

/// Rows of the operand that do not exist are others again; columns are masked.
/// What is in their place in the tile is not read.
void RowEmitter::emitTranspose(const Access &access, Value tile) {
  unsigned tileDim = *plan->tileDim;
  int64_t lanes = plan->lanes;
  Value memref = flat[access.param.getArgNumber()];
  Value last = builder->createOrFold<arith::SubIOp>(end, index(1));
  auto emitBlock = [&](Value row, Value column, bool isWhole) {
    Scope scope;
    if (!isWhole)
      scope.mask = vector::CreateMaskOp::create(
          *builder, vectorType(builder->getI1Type()),
          ValueRange{arith::SubIOp::create(*builder, tileEnd, column)});
    positions[tileDim] = column;
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      scope.base = add(row, index(lane));
      if (!isWhole)
        scope.base = builder->createOrFold<arith::MinUIOp>(scope.base, last);
      rows.push_back(loadVector(memref, getAddress(access, scope), scope));
    }
    IndexBuilder b(builder->getLoc(), *builder);
    Value first =
        b.add(b.mul(b.sub(column, tileBegin), tileWidth), b.sub(row, begin));
    for (auto [lane, values] : llvm::enumerate(transpose(b, rows)))
      vector::StoreOp::create(b, values, tile, b.add(first, lane * tileWidth));
  };
  emitFor(begin, end, index(lanes), {}, [&](Value row, ValueRange) {
    Value isInside = arith::CmpIOp::create(*builder, arith::CmpIPredicate::ule,
                                           add(row, index(lanes)), end);
    emitFor(tileBegin, tileEnd, index(lanes), {},
            [&](Value column, ValueRange) {
              Value fits =
                  arith::CmpIOp::create(*builder, arith::CmpIPredicate::ule,
                                        add(column, index(lanes)), tileEnd);
              auto emit = [&](bool isWhole) {
                return [&, isWhole](OpBuilder &nested, Location) {
                  OpBuilder::InsertionGuard guard(*builder);
                  builder->restoreInsertionPoint(nested.saveInsertionPoint());
                  emitBlock(row, column, isWhole);
                  scf::YieldOp::create(*builder);
                };
              };
              scf::IfOp::create(*builder,
                                arith::AndIOp::create(*builder, isInside, fits),
                                emit(true), emit(false));
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
  auto countParts = [&](unsigned dim, int64_t part) {
    return builder->createOrFold<arith::CeilDivUIOp>(getSize(dim), index(part));
  };
  Value numRows = countParts(tileDim, tileRows);
  Value numColumns = countParts(vectorDim, tileWidth);
  Value count = mul(numRows, numColumns);
  for (unsigned dim : dims)
    count = mul(count, getSize(dim));
  emitParallel(count, [&](Value number) {
    Value tileRow = arith::RemUIOp::create(*builder, number, numRows);
    number = arith::DivUIOp::create(*builder, number, numRows);
    splitIndex(number, dims, numColumns, tileWidth, vectorDim);
    tileBegin = mul(tileRow, index(tileRows));
    tileEnd = arith::MinUIOp::create(*builder, add(tileBegin, index(tileRows)),
                                     getSize(tileDim));
    tiles.clear();
    for (const Access &access : plan->transposed) {
      tiles.push_back(allocateTile(access));
      emitTranspose(access, tiles.back());
    }
    emitFor(tileBegin, tileEnd, index(1), {}, [&](Value row, ValueRange) {
      positions[tileDim] = row;
      emitRow(Scope());
      return SmallVector<Value>();
    });
  });
}
