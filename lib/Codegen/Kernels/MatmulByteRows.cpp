//===- MatmulByteRows.cpp - Products of rows of 8 bits ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products with weights of 4 bits where rows may be rounded (dynamic
// quantization). First, each block of up to 32 elements of a row becomes bytes
// and a scale, the largest magnitude / 127. Then bytes are multiplied by codes:
// within a block sums are integers, which are exact; across blocks they are
// floats.
//
// A word of 8 codes of a column has the codes at even places in its lower four
// bits, those at odd places in the upper ones, so that a mask makes bytes of
// either four. Bytes of rows lie in that order.
//
// Any number of rows takes the same loops: a tile of rows and panels has its
// sums in registers, and codes of a panel stay in the cache for the next rows.
//
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "PackedWeights.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::relax;

// Sums of 16 bits hold the products of so many bytes and codes of 4 bits.
static constexpr int64_t kBlock = 32;
static_assert(kBlock / 2 * 15 * 127 < (1 << 15), "sums may overflow");

// Elements of the right matrix, or of rows, that are worth a thread.
static constexpr int64_t kMinWork = 1 << 16;

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace mlir::relax {
/// Adds products of bytes in the lanes of a vector, four at a time.
class ByteSums {
public:
  /// Declares the intrinsics in the module that the builder is in.
  ByteSums(IndexBuilder &b, const ByteProducts &products, int64_t lanes)
      : lanes(lanes) {
    auto vector = [&](int64_t size, Type element) -> Type {
      return VectorType::get(size, element);
    };
    Type bytes = vector(4 * lanes, b.getI8Type());
    Type shorts = vector(2 * lanes, b.getI16Type());
    Type ints = vector(lanes, b.getI32Type());
    if (!products.accumulate.empty()) {
      accumulate =
          declareIntrinsic(b, products.accumulate, {ints, bytes, bytes}, ints);
      return;
    }
    multiply = declareIntrinsic(b, products.multiply, {bytes, bytes}, shorts);
    addPairs = declareIntrinsic(b, products.addPairs, {shorts, shorts}, ints);
  }

  /// The sums of nothing.
  Value zero(IndexBuilder &b) const {
    auto type = accumulate ? VectorType::get(lanes, b.getI32Type())
                           : VectorType::get(2 * lanes, b.getI16Type());
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  }

  Value add(IndexBuilder &b, Value codes, Value bytes, Value sum) const {
    if (accumulate)
      return callIntrinsic(b, accumulate, {sum, codes, bytes});
    return arith::AddIOp::create(b, sum,
                                 callIntrinsic(b, multiply, {codes, bytes}));
  }

  /// The sums as floats.
  Value finish(IndexBuilder &b, Value sum) const {
    if (addPairs) {
      Value ones = arith::ConstantOp::create(
          b, DenseElementsAttr::get(cast<VectorType>(sum.getType()),
                                    b.getI16IntegerAttr(1)));
      sum = callIntrinsic(b, addPairs, {sum, ones});
    }
    return arith::SIToFPOp::create(b, VectorType::get(lanes, b.getF32Type()),
                                   sum);
  }

private:
  int64_t lanes;
  // Null where they are not needed.
  Operation *multiply = nullptr, *addPairs = nullptr, *accumulate = nullptr;
};
} // namespace mlir::relax

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace mlir::relax {
/// The sizes of a product with rows of bytes. The depth is known.
struct ByteSizes {
  ByteSizes(const WeightPanels &weights, int64_t depth)
      : depth(depth), words(llvm::divideCeil(depth, kCodesOfWord)),
        block(std::gcd(weights.group, kBlock)),
        blocks(llvm::divideCeil(depth, block)),
        blocksOfGroup(weights.group == 0 ? blocks : weights.group / block),
        groups(weights.group == 0 ? 1
                                  : llvm::divideCeil(depth, weights.group)) {}

  int64_t depth, words; // words of codes
  int64_t block, blocks;
  int64_t blocksOfGroup, groups;

  int64_t wordsOfBlock() const { return block / kCodesOfWord; }
  /// Words of bytes, two for each word of codes; zeros fill the last block.
  int64_t wordsOfRow() const { return blocks * wordsOfBlock() * 2; }
};

/// Rows that are rounded, in scratch memory, and how they are multiplied. Some
/// more rows may be read.
struct ByteRows {
  ByteSizes sizes;
  ByteSums products;
  Value words;     // memref<?xi32>
  Value scales;    // memref<?xf32>: those of a row, for each block
  Value sums = {}; // memref<?xf32>: of each group of a row; null without
};
} // namespace mlir::relax

/// The elements of a block of a row, from place `k` on; zeros past the end.
Value MatmulEmitter::loadBlock(IndexBuilder &b, const MatrixView &row,
                               const ByteSizes &sizes, Value k) {
  auto type = VectorType::get(sizes.block, b.getF32Type());
  Value rest = b.sub(b.index(sizes.depth), k);
  if (row.hasUnitColumns()) {
    Value mask = makeMask(b, rest, sizes.block);
    return loadVector(b, row, b.add(row.offset, k), mask);
  }
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value count = b.min(rest, b.index(sizes.block));
  return b
      .reduce(b.index(0), count, 1, zeros,
              [&](IndexBuilder &b, Value i, ValueRange carried) {
                Value place = b.mul(b.add(k, i), row.columnStride);
                Value element = loadScalar(b, row, b.add(row.offset, place));
                Value inserted = vector::InsertOp::create(
                    b, element, carried.front(), OpFoldResult(i));
                return SmallVector<Value>{inserted};
              })
      .front();
}

/// Rounds a block to bytes, which are written at `place`. Returns its scale,
/// and the sum of the bytes as a float. Where an element is no number, or
/// infinite, the scale is NaN.
std::pair<Value, Value> MatmulEmitter::roundBlock(IndexBuilder &b, Value block,
                                                  Value words, Value place) {
  auto floats = cast<VectorType>(block.getType());
  auto ints = floats.clone(b.getI32Type());
  auto bytes = floats.clone(b.getI8Type());
  int64_t size = floats.getNumElements();
  auto splat = [&](float value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(floats, b.getF32FloatAttr(value)));
  };
  Value largest = vector::ReductionOp::create(
      b, vector::CombiningKind::MAXIMUMF, math::AbsFOp::create(b, block));
  Value scale = arith::MulFOp::create(b, largest, b.f32(1.0 / 127));
  scale = arith::AddFOp::create(b, scale,
                                arith::SubFOp::create(b, largest, largest));
  Value inverse = vector::BroadcastOp::create(
      b, floats, arith::DivFOp::create(b, b.f32(127), largest));
  // What is no number becomes one here, since integers have none.
  Value scaled = arith::MulFOp::create(b, block, inverse);
  scaled = arith::MaxNumFOp::create(b, scaled, splat(-127));
  scaled = arith::MinNumFOp::create(b, scaled, splat(127));
  Value rounded =
      arith::FPToSIOp::create(b, ints, math::RoundEvenOp::create(b, scaled));
  Value sum =
      vector::ReductionOp::create(b, vector::CombiningKind::ADD, rounded);
  SmallVector<int64_t> order;
  for (int64_t word = 0; word < size; word += kCodesOfWord)
    for (int64_t first : {0, 1})
      for (int64_t i = first; i < kCodesOfWord; i += 2)
        order.push_back(word + i);
  Value narrow = arith::TruncIOp::create(b, bytes, rounded);
  narrow = vector::ShuffleOp::create(b, narrow, narrow, order);
  auto type = VectorType::get(size / 4, b.getI32Type());
  vector::StoreOp::create(b, vector::BitCastOp::create(b, type, narrow), words,
                          place);
  return {scale, arith::SIToFPOp::create(b, b.getF32Type(), sum)};
}

/// Rounds all rows. As many are allocated as tiles of `tileRows` read.
ByteRows MatmulEmitter::roundRows(IndexBuilder &b, const ByteSizes &sizes,
                                  int64_t tileRows) {
  Value count = b.roundUp(problem.m, tileRows);
  auto allocate = [&](Type element, int64_t size) -> Value {
    auto type = MemRefType::get(ShapedType::kDynamic, element);
    return memref::AllocOp::create(b, type, b.mul(count, size),
                                   b.getI64IntegerAttr(64));
  };
  ByteRows rows = {sizes, ByteSums(b, *problem.weights->byteProducts, lanes),
                   allocate(b.getI32Type(), sizes.wordsOfRow()),
                   allocate(b.getF32Type(), sizes.blocks)};
  if (hasZeros())
    rows.sums = allocate(b.getF32Type(), sizes.groups);
  MatrixView lhs = problem.lhs(b, b.index(0));
  int64_t grain =
      std::max<int64_t>(kMinWork / std::max<int64_t>(sizes.depth, 1), 1);
  b.parallel(problem.m, grain, [&](IndexBuilder &b, Value i) {
    MatrixView row = lhs;
    row.offset = b.add(lhs.offset, b.mul(i, lhs.rowStride));
    Value none = b.f32(0);
    b.loop(b.index(0), b.index(sizes.groups), 1, [&](IndexBuilder &b, Value g) {
      Value begin = b.mul(g, sizes.blocksOfGroup);
      Value end =
          b.min(b.add(begin, sizes.blocksOfGroup), b.index(sizes.blocks));
      Value sum =
          b.reduce(
               begin, end, 1, none,
               [&](IndexBuilder &b, Value number, ValueRange carried) {
                 Value block =
                     loadBlock(b, row, sizes, b.mul(number, sizes.block));
                 Value place = b.mul(b.add(b.mul(i, sizes.blocks), number),
                                     2 * sizes.wordsOfBlock());
                 auto [scale, total] = roundBlock(b, block, rows.words, place);
                 memref::StoreOp::create(b, scale, rows.scales,
                                         b.add(b.mul(i, sizes.blocks), number));
                 Value product = arith::MulFOp::create(b, scale, total);
                 return SmallVector<Value>{add(b, carried.front(), product)};
               })
              .front();
      if (rows.sums)
        memref::StoreOp::create(b, sum, rows.sums,
                                b.add(b.mul(i, sizes.groups), g));
    });
  });
  return rows;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The codes of a word of each column as bytes: those at even and at odd
/// places.
std::pair<Value, Value> MatmulEmitter::loadNibbles(IndexBuilder &b,
                                                   Value offset) {
  auto words = VectorType::get(lanes, b.getI32Type());
  auto bytes = VectorType::get(4 * lanes, b.getI8Type());
  auto splat = [&](VectorType type, int64_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, b.getIntegerAttr(type.getElementType(), value)));
  };
  auto mask = [&](Value codes) -> Value {
    return arith::AndIOp::create(b, vector::BitCastOp::create(b, bytes, codes),
                                 splat(bytes, 15));
  };
  Value codes =
      vector::LoadOp::create(b, words, problem.weights->codes, offset);
  Value odd = arith::ShRUIOp::create(b, codes, splat(words, 4));
  return {mask(codes), mask(odd)};
}

/// Sums of such a tile are in registers.
struct MatmulEmitter::ByteTile : CodeTile {
  Value row; // the first one

  /// Where what belongs to a row is, `size` elements of each.
  Value place(IndexBuilder &b, int64_t r, int64_t size) const {
    return b.mul(b.add(row, r), size);
  }
};

/// Adds the products of a word of codes of each column.
SmallVector<Value> MatmulEmitter::addByteWord(IndexBuilder &b,
                                              const ByteRows &left,
                                              const ByteTile &tile, Value word,
                                              ValueRange carried) {
  const ByteSizes &sizes = left.sizes;
  auto wordType = VectorType::get(lanes, b.getI32Type());
  auto byteType = VectorType::get(4 * lanes, b.getI8Type());
  SmallVector<Value> sums = llvm::to_vector(carried);
  // Where the last block has fewer words, bytes are zeros there.
  Value inside = sizes.depth % sizes.block == 0
                     ? word
                     : b.min(word, b.index(sizes.words - 1));
  SmallVector<std::pair<Value, Value>> columns;
  for (Value offset : tile.codes)
    columns.push_back(loadNibbles(b, b.add(offset, b.mul(inside, lanes))));
  for (int64_t r = 0; r < tile.rows; ++r) {
    Value place = b.add(tile.place(b, r, sizes.wordsOfRow()), b.mul(word, 2));
    Value even = broadcastElement(b, wordType, left.words, place);
    Value odd = broadcastElement(b, wordType, left.words, b.add(place, 1));
    even = vector::BitCastOp::create(b, byteType, even);
    odd = vector::BitCastOp::create(b, byteType, odd);
    for (int64_t j = 0; j < tile.panels(); ++j) {
      Value &sum = sums[r * tile.panels() + j];
      sum = left.products.add(b, columns[j].first, even, sum);
      sum = left.products.add(b, columns[j].second, odd, sum);
    }
  }
  return sums;
}

/// Fetches the codes of the block at word `first` of each panel, as far ahead
/// as a page: processors fetch no further by themselves.
void MatmulEmitter::fetchByteBlock(IndexBuilder &b, const ByteSizes &sizes,
                                   const ByteTile &tile, Value first) {
  // Words of a line of the cache, and of a page.
  constexpr int64_t kLine = 64 / sizeof(int32_t);
  constexpr int64_t kAhead = 4096 / sizeof(int32_t);
  for (Value offset : tile.codes)
    for (int64_t i = 0; i < sizes.wordsOfBlock() * lanes; i += kLine) {
      Value place = b.add(b.add(offset, b.mul(first, lanes)), kAhead + i);
      memref::PrefetchOp::create(b, problem.weights->codes,
                                 b.min(place, tile.last),
                                 /*isWrite=*/false, /*localityHint=*/3,
                                 /*isDataCache=*/true);
    }
}

/// Adds a block to `carried`, times the scales of rows. A loop that is not
/// unrolled keeps its sums in registers.
SmallVector<Value> MatmulEmitter::addByteBlock(IndexBuilder &b,
                                               const ByteRows &left,
                                               const ByteTile &tile,
                                               Value number,
                                               ValueRange carried) {
  const ByteSizes &sizes = left.sizes;
  Value first = b.mul(number, sizes.wordsOfBlock());
  fetchByteBlock(b, sizes, tile, first);
  SmallVector<Value> products(tile.size(), left.products.zero(b));
  products = b.reduce(first, b.add(first, sizes.wordsOfBlock()), 1, products,
                      [&](IndexBuilder &b, Value word, ValueRange inner) {
                        return addByteWord(b, left, tile, word, inner);
                      });
  SmallVector<Value> sums;
  for (int64_t r = 0; r < tile.rows; ++r) {
    Value scale =
        broadcastElement(b, vectorType, left.scales,
                         b.add(tile.place(b, r, sizes.blocks), number));
    for (int64_t j = 0; j < tile.panels(); ++j) {
      int64_t place = r * tile.panels() + j;
      Value product = left.products.finish(b, products[place]);
      sums.push_back(multiplyAdd(b, product, scale, carried[place]));
    }
  }
  return sums;
}

/// The sums of a tile, row by row.
SmallVector<Value> MatmulEmitter::computeByteTile(IndexBuilder &b,
                                                  const ByteRows &left,
                                                  const ByteTile &tile) {
  const ByteSizes &sizes = left.sizes;
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  SmallVector<Value> zeros(tile.size(), none);
  auto addBlock = [&](IndexBuilder &b, Value number, ValueRange carried) {
    return addByteBlock(b, left, tile, number, carried);
  };
  auto addGroup = [&](IndexBuilder &b, Value g, ValueRange carried) {
    SmallVector<Value> group;
    if (sizes.blocksOfGroup == 1) {
      group = addBlock(b, g, zeros);
    } else {
      Value begin = b.mul(g, sizes.blocksOfGroup);
      Value end =
          b.min(b.add(begin, sizes.blocksOfGroup), b.index(sizes.blocks));
      group = b.reduce(begin, end, 1, zeros, addBlock);
    }
    auto loadRowSum = [&](int64_t r) {
      return broadcastElement(b, vectorType, left.sums,
                              b.add(tile.place(b, r, sizes.groups), g));
    };
    return addScaled(b, g, tile.terms, group, carried, loadRowSum);
  };
  return b.reduce(b.index(0), b.index(sizes.groups), 1, zeros, addGroup);
}

void MatmulEmitter::emitByteTiles(IndexBuilder &b, const ByteRows &left,
                                  int64_t rows, int64_t panels) {
  const ByteSizes &sizes = left.sizes;
  // So many rows are read again from the cache for the next panels.
  constexpr int64_t kRowsOfTask = 64;
  int64_t width = panels * lanes;
  Value all = b.ceilDiv(problem.n, b.index(lanes));
  Value tasksOfRows = b.ceilDiv(all, b.index(panels));
  Value tasks = b.mul(tasksOfRows, b.ceilDiv(problem.m, b.index(kRowsOfTask)));
  int64_t work = std::max<int64_t>(sizes.depth * width, 1);
  b.parallel(tasks, std::max<int64_t>(kMinWork / work, 1),
             [&](IndexBuilder &b, Value task) {
               Value first = b.mul(b.rem(task, tasksOfRows), panels);
               Value begin = b.mul(b.floorDiv(task, tasksOfRows), kRowsOfTask);
               Value end = b.min(b.add(begin, kRowsOfTask), problem.m);
               SmallVector<Value> codes, terms;
               for (int64_t j = 0; j < panels; ++j) {
                 Value panel = b.min(b.add(first, j), b.sub(all, b.index(1)));
                 codes.push_back(b.mul(panel, sizes.words * lanes));
                 terms.push_back(b.mul(panel, sizes.groups * lanes));
               }
               Value column = b.mul(first, lanes);
               Value columns = b.min(b.sub(problem.n, column), b.index(width));
               Value scratch = makeScratch(b, b.index(rows * width));
               b.loop(begin, end, rows, [&](IndexBuilder &b, Value row) {
                 Value last =
                     b.sub(b.mul(all, sizes.words * lanes), b.index(1));
                 SmallVector<Value> sums = computeByteTile(
                     b, left, {{rows, codes, terms, last}, row});
                 for (auto [i, sum] : llvm::enumerate(sums))
                   storeSums(b, sum, scratch, b.index(i * lanes));
                 Value count = b.min(b.sub(end, row), b.index(rows));
                 finishTile(b, {b.index(0), row, column, count, columns}, width,
                            scratch, b.index(0));
               });
             });
}

void MatmulEmitter::emitByteRows(IndexBuilder &b) {
  constexpr int64_t kRowsOfTile = 4;
  ByteSizes sizes(*problem.weights, *getConstantIntValue(problem.k));
  ByteRows left = roundRows(b, sizes, kRowsOfTile);
  b.branch(
      b.isAtMost(problem.m, 1),
      [&](IndexBuilder &b) { emitByteTiles(b, left, 1, 4); },
      [&](IndexBuilder &b) {
        emitByteTiles(b, left, kRowsOfTile, blocking.hasManyRegisters ? 4 : 2);
      });
}
