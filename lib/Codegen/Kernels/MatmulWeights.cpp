//===- MatmulWeights.cpp - Products with quantized weights ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few rows are bound by memory, so they unpack codes in registers; so do blocks
// of some more, since unpacking takes other units than products. Within a
// group codes are multiplied as they are, and the sum of a group by its scale:
// scale * (sum of x * code - zero * sum of x). A code of 4 bits is masked where
// it lies in its word, where it is 16^i times as large; rows are divided by
// that beforehand, which is exact. Several panels are read side by side, a page
// ahead, since processors fetch no further than a page by themselves.
//
// More rows are computed block by block as others are; a task unpacks the panel
// that it needs next.
//
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "PackedWeights.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::relax;

// Of a word, the codes below this one are masked where they lie, and so are
// those above it after a shift: numbers do not become too small.
static constexpr int64_t kMaskedCodes = kCodesOfWord / 2;

Value MatmulEmitter::countWords(IndexBuilder &b) {
  return b.ceilDiv(problem.k, b.index(kCodesOfWord));
}

Value MatmulEmitter::countGroups(IndexBuilder &b) {
  int64_t group = problem.weights->group;
  return group == 0 ? b.index(1) : b.ceilDiv(problem.k, b.index(group));
}

/// Whether anything is subtracted from codes.
bool MatmulEmitter::hasZeros() const {
  const WeightPanels &weights = *problem.weights;
  return weights.bias != 0 || isa<MemRefType>(weights.zeros.getType()) ||
         !matchPattern(weights.zeros, m_AnyZeroFloat());
}

/// What the codes of a word of each column are made of: of 4 bits, the word.
Value MatmulEmitter::loadCodeWord(IndexBuilder &b, Value offset) {
  const WeightPanels &weights = *problem.weights;
  if (weights.bits == 8)
    return Value();
  VectorType ints = VectorType::get(lanes, b.getI32Type());
  return vector::LoadOp::create(b, ints, weights.codes, offset);
}

/// Code `i` of a word of each column, as floats. One of 4 bits may be 16^j
/// times as large, where j is its place among those masked.
Value MatmulEmitter::loadCode(IndexBuilder &b, Value word, Value offset,
                              int64_t i, bool isScaled) {
  const WeightPanels &weights = *problem.weights;
  VectorType ints = VectorType::get(lanes, b.getI32Type());
  if (weights.bits == 8) {
    auto bytes = VectorType::get(lanes, b.getI8Type());
    Value code = vector::LoadOp::create(b, bytes, weights.codes,
                                        b.add(offset, i * lanes));
    code = extend(b, code, b.getI32Type(), weights.isUnsigned);
    return arith::SIToFPOp::create(b, vectorType, code);
  }
  auto splat = [&](int64_t value) -> Value {
    auto number = b.getI32IntegerAttr(static_cast<int32_t>(value));
    return arith::ConstantOp::create(b, DenseElementsAttr::get(ints, number));
  };
  int64_t place = i;
  if (!isScaled || i >= kMaskedCodes) {
    int64_t first = isScaled ? kMaskedCodes : i;
    place = i - first;
    word = arith::ShRUIOp::create(b, word, splat(4 * first));
  }
  word = arith::AndIOp::create(b, word, splat(15 << (4 * place)));
  return arith::SIToFPOp::create(b, vectorType, word);
}

/// A vector of scales or zeros as floats.
Value MatmulEmitter::loadTerm(IndexBuilder &b, Value term, Value offset,
                              bool isUnsigned) {
  auto memory = dyn_cast<MemRefType>(term.getType());
  if (!memory)
    return vector::BroadcastOp::create(b, vectorType, term);
  Type element = memory.getElementType();
  Value value =
      vector::LoadOp::create(b, VectorType::get(lanes, element), term, offset);
  return extend(b, value, b.getF32Type(), isUnsigned);
}

/// What is subtracted from codes.
Value MatmulEmitter::loadZeros(IndexBuilder &b, Value offset) {
  const WeightPanels &weights = *problem.weights;
  Value zeros = loadTerm(b, weights.zeros, offset, weights.isUnsignedZero);
  if (weights.bias == 0)
    return zeros;
  Value bias = arith::ConstantOp::create(
      b, DenseElementsAttr::get(vectorType,
                                b.getF32FloatAttr(float(weights.bias))));
  return arith::AddFOp::create(b, zeros, bias);
}

/// Prepares `rows` rows from row `first` on; those past the end repeat the last
/// one.
void MatmulEmitter::prepareRows(IndexBuilder &b, const PreparedRows &prepared,
                                Value first, int64_t rows) {
  Value words = countWords(b), groups = countGroups(b), zero = b.index(0);
  MatrixView lhs = problem.lhs(b, zero);
  int64_t group = problem.weights->group;
  Value step = group == 0 ? words : b.index(group / kCodesOfWord);
  Value lastRow = b.sub(problem.m, b.index(1));
  Value lastPlace = b.sub(problem.k, b.index(1));
  bool isWhole = getConstantIntValue(problem.k).value_or(1) % kCodesOfWord == 0;
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(problem.sumType));
  auto load = [&](IndexBuilder &b, int64_t row, Value k) -> Value {
    Value place = isWhole ? k : b.min(k, lastPlace);
    Value offset = b.add(lhs.offset, b.mul(place, lhs.columnStride));
    Value number = b.add(first, row);
    if (!isConstantIntValue(number, 0))
      offset = b.add(offset, b.mul(b.min(number, lastRow), lhs.rowStride));
    Value value = loadScalar(b, lhs, offset);
    if (isWhole)
      return value;
    return arith::SelectOp::create(b, b.isBelow(k, problem.k), value, none);
  };
  // Without rows there is nothing to read.
  Value count = b.mul(groups, b.min(problem.m, b.index(1)));
  b.loop(zero, count, 1, [&](IndexBuilder &b, Value g) {
    Value begin = b.mul(g, step), end = b.min(b.add(begin, step), words);
    SmallVector<Value> sums =
        b.reduce(begin, end, 1, SmallVector<Value>(rows, none),
                 [&](IndexBuilder &b, Value word, ValueRange carried) {
                   SmallVector<Value> result;
                   for (int64_t row = 0; row < rows; ++row) {
                     SmallVector<Value> values;
                     for (int64_t i = 0; i < kCodesOfWord; ++i) {
                       Value k = b.add(b.mul(word, kCodesOfWord), i);
                       Value value = load(b, row, k);
                       values.push_back(value);
                       int64_t place =
                           problem.weights->bits == 4 ? i % kMaskedCodes : 0;
                       if (place != 0)
                         value = arith::MulFOp::create(
                             b, value, b.f32(1.0 / double(1 << (4 * place))));
                       memref::StoreOp::create(
                           b, value, prepared.scratch,
                           b.add(prepared.begin, b.add(b.mul(k, rows), row)));
                     }
                     // Pairs, so that additions do not wait for each other.
                     while (values.size() > 1) {
                       SmallVector<Value> pairs;
                       for (size_t i = 0; i < values.size(); i += 2)
                         pairs.push_back(add(b, values[i], values[i + 1]));
                       values = std::move(pairs);
                     }
                     result.push_back(add(b, carried[row], values.front()));
                   }
                   return result;
                 });
    if (prepared.sums)
      for (auto [row, sum] : llvm::enumerate(sums))
        memref::StoreOp::create(
            b, sum, prepared.scratch,
            b.add(b.add(prepared.sums, b.mul(g, rows)), row));
  });
}

/// Adds the products of a group of codes, row by row, to the sums of the groups
/// before: scale * (product - zero * sum of the row). Of the panels, `terms`
/// are where their scales and zeros begin.
SmallVector<Value>
MatmulEmitter::addScaled(IndexBuilder &b, Value group, ValueRange terms,
                         ValueRange products, ValueRange sums,
                         llvm::function_ref<Value(int64_t)> loadRowSum) {
  SmallVector<Value> result = llvm::to_vector(sums);
  int64_t panels = terms.size(), rows = products.size() / panels;
  for (int64_t j = 0; j < panels; ++j) {
    Value offset = b.add(terms[j], b.mul(group, lanes));
    Value scale = loadTerm(b, problem.weights->scales, offset, false);
    Value zero;
    if (hasZeros())
      zero = arith::NegFOp::create(b, loadZeros(b, offset));
    for (int64_t r = 0; r < rows; ++r) {
      int64_t number = r * panels + j;
      Value product = products[number];
      if (zero)
        product = multiplyAdd(b, loadRowSum(r), zero, product);
      result[number] = multiplyAdd(b, product, scale, result[number]);
    }
  }
  return result;
}

Value mlir::relax::broadcastElement(IndexBuilder &b, VectorType type,
                                    Value base, Value offset) {
  Value scalar = memref::LoadOp::create(b, base, offset);
  return vector::BroadcastOp::create(b, type, scalar);
}

/// Elements of the codes of a word of each column of a panel.
int64_t MatmulEmitter::sizeOfWord() const {
  return problem.weights->bits == 4 ? lanes : lanes * kCodesOfWord;
}

struct MatmulEmitter::WeightTile : CodeTile {
  const PreparedRows &left;

  /// A single row has two sums for each column, which take turns.
  int64_t turns() const { return rows == 1 ? 2 : 1; }

  /// An element of the prepared rows in all lanes.
  Value broadcast(IndexBuilder &b, VectorType type, Value offset) const {
    return broadcastElement(b, type, left.scratch, offset);
  }
};

/// Adds the products of a word of codes of each column, and fetches one of the
/// next page.
SmallVector<Value> MatmulEmitter::addCodeWord(IndexBuilder &b,
                                              const WeightTile &tile,
                                              Value word, ValueRange carried) {
  constexpr int64_t kAheadBytes = 4096;
  const WeightPanels &weights = *problem.weights;
  int64_t ahead = kAheadBytes / (weights.bits == 4 ? 4 : 1);
  SmallVector<Value> sums = llvm::to_vector(carried);
  SmallVector<Value> places, words;
  for (Value offset : tile.codes) {
    Value place = b.add(offset, b.mul(word, sizeOfWord()));
    memref::PrefetchOp::create(
        b, weights.codes, b.min(b.add(place, ahead), tile.last),
        /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
    places.push_back(place);
    words.push_back(loadCodeWord(b, place));
  }
  int64_t turns = tile.turns();
  Value row = b.add(tile.left.begin, b.mul(word, kCodesOfWord * tile.rows));
  for (int64_t i = 0; i < kCodesOfWord; ++i) {
    // One after the other: registers have no room for all codes of a word.
    SmallVector<Value> columns;
    for (int64_t j = 0; j < tile.panels(); ++j)
      columns.push_back(loadCode(b, words[j], places[j], i, /*isScaled=*/true));
    for (int64_t r = 0; r < tile.rows; ++r) {
      Value x = tile.broadcast(b, vectorType, b.add(row, i * tile.rows + r));
      for (int64_t j = 0; j < tile.panels(); ++j) {
        Value &sum = sums[(r * tile.panels() + j) * turns + i % turns];
        sum = multiplyAdd(b, x, columns[j], sum);
      }
    }
  }
  return sums;
}

/// The sums of a tile, row by row.
SmallVector<Value> MatmulEmitter::computeWeightTile(IndexBuilder &b,
                                                    const WeightTile &tile) {
  int64_t group = problem.weights->group;
  int64_t depth =
      std::max<int64_t>(getConstantIntValue(problem.k).value_or(1), 1);
  Value words = countWords(b);
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  auto addGroup = [&](IndexBuilder &b, Value g, ValueRange carried) {
    Value begin = b.index(0), count = words;
    if (group != 0) {
      begin = b.mul(g, group / kCodesOfWord);
      count = b.index(group / kCodesOfWord);
      if (depth % group != 0)
        count = b.min(count, b.sub(words, begin));
    }
    SmallVector<Value> products(tile.size() * tile.turns(), none);
    products =
        b.reduce(b.index(0), count, 1, products,
                 [&](IndexBuilder &b, Value word, ValueRange inner) {
                   return addCodeWord(b, tile, b.add(begin, word), inner);
                 });
    if (tile.turns() == 2)
      for (int64_t number = 0; number < tile.size(); ++number)
        products[number] =
            add(b, products[2 * number], products[2 * number + 1]);
    products.resize(tile.size());
    auto loadRowSum = [&](int64_t r) {
      Value offset = b.add(b.mul(g, tile.rows), r);
      return tile.broadcast(b, vectorType, b.add(tile.left.sums, offset));
    };
    return addScaled(b, g, tile.terms, products, carried, loadRowSum);
  };
  return b.reduce(b.index(0), countGroups(b), 1,
                  SmallVector<Value>(tile.size(), none), addGroup);
}

/// At most `blocks` times `rows` rows; `streams` panels are read side by side,
/// once for each block.
void MatmulEmitter::emitRowsOfWeights(IndexBuilder &b, int64_t rows,
                                      int64_t streams, Value blocks) {
  // Elements of the right matrix that are worth a thread.
  constexpr int64_t kMinWork = 1 << 16;
  Value words = countWords(b), groups = countGroups(b), zero = b.index(0);
  Value panels = b.ceilDiv(problem.n, b.index(lanes));
  Value lastPanel = b.sub(panels, b.index(1));
  int64_t width = streams * lanes;
  int64_t depth =
      std::max<int64_t>(getConstantIntValue(problem.k).value_or(1), 1);
  int64_t grain = std::max<int64_t>(kMinWork / (depth * width), 1);
  Value size = b.mul(words, kCodesOfWord * rows);
  Value blockSize = b.add(size, b.mul(groups, rows));
  Value leftScratch = makeScratch(b, b.mul(blocks, blockSize));
  auto getRows = [&](IndexBuilder &b, Value block) {
    Value begin = b.mul(block, blockSize);
    return PreparedRows{leftScratch, begin,
                        hasZeros() ? b.add(begin, size) : Value()};
  };
  b.loop(zero, blocks, 1, [&](IndexBuilder &b, Value block) {
    prepareRows(b, getRows(b, block), b.mul(block, rows), rows);
  });
  Value codesOfPanel = b.mul(words, sizeOfWord());
  Value last = b.sub(b.mul(panels, codesOfPanel), b.index(1));
  Value tasks =
      b.mul(b.ceilDiv(panels, b.index(streams)), b.min(problem.m, b.index(1)));
  b.parallel(tasks, grain, [&](IndexBuilder &b, Value task) {
    SmallVector<Value> codes, terms;
    for (int64_t j = 0; j < streams; ++j) {
      Value panel = b.min(b.add(b.mul(task, streams), j), lastPanel);
      codes.push_back(b.mul(panel, codesOfPanel));
      terms.push_back(b.mul(panel, b.mul(groups, lanes)));
    }
    Value column = b.mul(task, width);
    Value columns = b.min(b.sub(problem.n, column), b.index(width));
    Value scratch = makeScratch(b, b.index(rows * width));
    b.loop(zero, blocks, 1, [&](IndexBuilder &b, Value block) {
      PreparedRows left = getRows(b, block);
      WeightTile tile = {{rows, codes, terms, last}, left};
      for (auto [i, sum] : llvm::enumerate(computeWeightTile(b, tile)))
        storeSums(b, sum, scratch, b.index(i * lanes));
      Value row = b.mul(block, rows);
      Value count = b.min(b.sub(problem.m, row), b.index(rows));
      finishTile(b, {zero, row, column, count, columns}, width, scratch, zero);
    });
  });
}

/// Writes columns of the right matrix as floats to scratch memory.
void MatmulEmitter::unpackPanel(IndexBuilder &b,
                                const MatmulProblem::Columns &panel,
                                Value scratch, Value offset) {
  const WeightPanels &weights = *problem.weights;
  int64_t wordsOfGroup = weights.group / kCodesOfWord;
  Value words = countWords(b), groups = countGroups(b);
  Value lastPanel = b.sub(b.ceilDiv(problem.n, b.index(lanes)), b.index(1));
  Value begin = b.floorDiv(panel.begin, b.index(kCodesOfWord));
  Value count = b.ceilDiv(panel.depth, b.index(kCodesOfWord));
  Value first = b.floorDiv(panel.column, b.index(lanes));
  b.loop(b.index(0), count, 1, [&](IndexBuilder &b, Value i) {
    Value word = b.add(begin, i);
    Value g = wordsOfGroup == 0 ? b.index(0)
                                : b.floorDiv(word, b.index(wordsOfGroup));
    for (int64_t j = 0; j < blocking.vectors; ++j) {
      Value number = b.min(b.add(first, j), lastPanel);
      Value place = b.mul(b.add(b.mul(number, words), word), sizeOfWord());
      Value term = b.mul(b.add(b.mul(number, groups), g), lanes);
      Value scale = loadTerm(b, weights.scales, term, false);
      Value zero = hasZeros() ? loadZeros(b, term) : Value();
      Value codes = loadCodeWord(b, place);
      for (int64_t k = 0; k < kCodesOfWord; ++k) {
        Value value = loadCode(b, codes, place, k, /*isScaled=*/false);
        if (zero)
          value = arith::SubFOp::create(b, value, zero);
        value = arith::MulFOp::create(b, value, scale);
        Value row = b.mul(b.add(b.mul(i, kCodesOfWord), k), blocking.columns());
        storeSums(b, value, scratch, b.add(offset, b.add(row, j * lanes)));
      }
    }
  });
}

void MatmulEmitter::emitWeights(IndexBuilder &b) {
  if (problem.weights->byteProducts)
    return emitByteRows(b);
  // As many sums as registers hold beside codes. With few registers a tile has
  // one panel: to unpack it once is better for more than one block of rows.
  constexpr int64_t kRows = 8;
  bool hasManyRegisters = blocking.hasManyRegisters;
  int64_t mostRows = hasManyRegisters ? 4 * kRows : kRows;
  Value one = b.index(1);
  auto few = [&](int64_t rows, int64_t streams) {
    return [=](IndexBuilder &b) { emitRowsOfWeights(b, rows, streams, one); };
  };
  auto some = [&](IndexBuilder &b) {
    emitRowsOfWeights(b, kRows, hasManyRegisters ? 3 : 1,
                      b.ceilDiv(problem.m, b.index(kRows)));
  };
  auto blocks = [&](IndexBuilder &b) {
    MatmulProblem unpacked = problem;
    unpacked.packRhs = [&](IndexBuilder &b, const MatmulProblem::Columns &panel,
                           Value scratch, Value offset) {
      unpackPanel(b, panel, scratch, offset);
    };
    MatmulEmitter(unpacked, blocking).emit(b);
  };
  b.branch(b.isAtMost(problem.m, 1), few(1, 4), [&](IndexBuilder &b) {
    b.branch(b.isAtMost(problem.m, 4), few(4, hasManyRegisters ? 4 : 2),
             [&](IndexBuilder &b) {
               b.branch(b.isAtMost(problem.m, mostRows), some, blocks);
             });
  });
}
