//===- TensorCores.cpp - Products of 16 x 8 by tensor cores -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCores.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

Value SharedTile::placeOf(IndexBuilder &b, Value row, Value chunk) const {
  // Rows that share 128 bytes have the same banks for a chunk.
  int64_t mask = llvm::bit_floor<uint64_t>(std::min<int64_t>(chunks(), 8)) - 1;
  int64_t sharing = std::max<int64_t>(8 / chunks(), 1);
  Value key = arith::AndIOp::create(b, b.floorDiv(row, b.index(sharing)),
                                    b.index(mask));
  // The last chunks of a row that is no power of two stay where they are.
  int64_t swizzled = chunks() / (mask + 1) * (mask + 1);
  Value place = arith::XOrIOp::create(b, chunk, key);
  if (swizzled != chunks())
    place = arith::SelectOp::create(b, b.isBelow(chunk, b.index(swizzled)),
                                    place, chunk);
  Value at = b.add(b.mul(row, width), b.mul(place, kChunk));
  return offset ? b.add(offset, at) : at;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static void copyChunk(IndexBuilder &b, const SharedTile &tile,
                      const TileSource &source, Value row, Value chunk,
                      bool isAligned, SmallVectorImpl<Value> &tokens) {
  const MatrixView &matrix = source.matrix;
  Value to = tile.placeOf(b, row, chunk);
  Value r = b.add(source.firstRow, row),
        c = b.add(source.firstColumn, b.mul(chunk, kChunk));
  if (!isAligned) {
    for (int64_t i = 0; i < kChunk; ++i) {
      Value loaded = loadInside(b, matrix, r, b.add(c, b.index(i)),
                                source.numRows, source.numColumns);
      memref::StoreOp::create(b, loaded, tile.memory, b.add(to, b.index(i)));
    }
    return;
  }
  Value isInside = arith::AndIOp::create(b, b.isBelow(r, source.numRows),
                                         b.isBelow(c, source.numColumns));
  Value from = b.add(matrix.offset, b.add(b.mul(r, matrix.rowStride), c));
  from = arith::SelectOp::create(b, isInside, from, b.index(0));
  // What is not copied becomes zero.
  Value count =
      arith::SelectOp::create(b, isInside, b.index(kChunk), b.index(0));
  tokens.push_back(nvgpu::DeviceAsyncCopyOp::create(
      b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), tile.memory,
      ValueRange(to), matrix.base, ValueRange(from), b.getIndexAttr(kChunk),
      count, b.getUnitAttr()));
}

void mlir::relax::copyTile(IndexBuilder &b, const SharedTile &tile,
                           const TileSource &source, Value thread,
                           int64_t numThreads, bool isAligned,
                           SmallVectorImpl<Value> &tokens) {
  Value chunks = b.index(tile.chunks());
  for (int64_t i = 0; i < tile.size() / kChunk; i += numThreads) {
    Value at = b.add(thread, b.index(i));
    copyChunk(b, tile, source, b.floorDiv(at, chunks), b.rem(at, chunks),
              isAligned, tokens);
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Four matrices of 8 x 8; a lane gives the place of one row of them.
static Value loadMatrices(IndexBuilder &b, const SharedTile &tile, Value row,
                          Value chunk, bool transpose) {
  auto type = VectorType::get({4, 2}, tile.element());
  Value at = tile.placeOf(b, row, chunk);
  return nvgpu::LdMatrixOp::create(b, type, tile.memory, ValueRange(at),
                                   b.getBoolAttr(transpose),
                                   b.getI32IntegerAttr(4));
}

Value mlir::relax::makePair(IndexBuilder &b, Value vector) {
  if (!cast<VectorType>(vector.getType()).getElementType().isBF16())
    return vector;
  return LLVM::BitcastOp::create(b, b.getI32Type(), vector);
}

static Value getPair(IndexBuilder &b, Value matrices, int64_t index) {
  return makePair(b, vector::ExtractOp::create(b, matrices, index));
}

SmallVector<Value> mlir::relax::getPairs(IndexBuilder &b, Value matrices) {
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < 4; ++i)
    pairs.push_back(getPair(b, matrices, i));
  return pairs;
}

Value mlir::relax::loadLeft(IndexBuilder &b, const SharedTile &tile,
                            Value firstRow, int64_t depth, Value lane) {
  Value half = b.rem(lane, b.index(16)), side = b.floorDiv(lane, b.index(16));
  return loadMatrices(b, tile, b.add(firstRow, half),
                      b.add(side, b.index(depth / kChunk)),
                      /*transpose=*/false);
}

SmallVector<SmallVector<Value>>
mlir::relax::loadRight(IndexBuilder &b, const SharedTile &tile,
                       Value firstColumn, int64_t depth, Value lane,
                       bool isTransposed) {
  Value matrices;
  if (isTransposed) {
    // Columns are rows here; matrices go along the depth first.
    Value group = b.floorDiv(lane, b.index(8));
    Value row = b.add(firstColumn,
                      b.add(b.mul(b.floorDiv(group, b.index(2)), kMmaColumns),
                            b.rem(lane, b.index(8))));
    Value chunk = b.add(b.rem(group, b.index(2)), b.index(depth / kChunk));
    matrices = loadMatrices(b, tile, row, chunk, /*transpose=*/false);
  } else {
    Value row = b.add(b.rem(lane, b.index(16)), b.index(depth));
    Value chunk = b.add(b.floorDiv(firstColumn, b.index(kChunk)),
                        b.floorDiv(lane, b.index(16)));
    matrices = loadMatrices(b, tile, row, chunk, /*transpose=*/true);
  }
  SmallVector<Value> pairs = getPairs(b, matrices);
  return {{pairs[0], pairs[1]}, {pairs[2], pairs[3]}};
}

void mlir::relax::multiplyAdd(IndexBuilder &b, Type element, ValueRange left,
                              ValueRange right, MutableArrayRef<Value> sums) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  NVVM::MMATypes kind =
      element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  Value result =
      NVVM::MmaOp::create(b, type, left, right, ValueRange(sums),
                          ArrayRef<int64_t>{kMmaRows, kMmaColumns, kMmaDepth},
                          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
                          std::array<NVVM::MMATypes, 2>{kind, kind},
                          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                                         NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, result, static_cast<int64_t>(i));
}
