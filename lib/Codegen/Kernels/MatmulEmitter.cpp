//===- MatmulEmitter.cpp - The loops of a GEMM ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of rows decides which loops run, at run time where it is dynamic:
//
// - Few rows read each element of the right matrix once, so it is not packed:
//   sums are in the cache for one row (`emitStream`), in registers for some
//   more (`emitDirect`), or dot products where its columns are contiguous
//   (`emitDots`).
// - More rows are computed block by block, from packed panels (`emitPacked`).
//   Threads pack the right matrix together before they begin, unless there is a
//   batch of them. Tasks pack the rest, so that no thread waits then.
// - Quantized weights are unpacked in registers for few rows, and panel by
// panel
//   for more (`emitWeights`).
//
// A tile of sums goes through scratch memory before the epilogue: a loop over
// its rows is less code than the unrolled tile, and serves the edges as well.
//
//===----------------------------------------------------------------------===//

#include "KernelTile.h"
#include "MatmulLoops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

MatmulBlocking MatmulBlocking::get(unsigned bits, int64_t l1, int64_t l2,
                                   unsigned elementBits, bool areFused,
                                   ArrayRef<int64_t> tile) {
  MatmulBlocking blocking;
  int64_t elementBytes = elementBits / 8;
  blocking.lanes = std::max<int64_t>(bits / elementBits, 1);
  // AVX-512 has 32 registers, vectors of other widths are taken to have 16.
  blocking.hasManyRegisters = bits >= 512;
  blocking.rows = blocking.hasManyRegisters ? 8 : 4;
  blocking.vectors = areFused || blocking.hasManyRegisters ? 3 : 2;
  if (isTile(tile, TileKind::RowsByVectors, blocking.lanes)) {
    blocking.rows = tile[0];
    blocking.vectors = tile[1] / blocking.lanes;
  }
  // Panels of the left matrix stay in the first level of the cache.
  blocking.blockDepth =
      std::clamp<int64_t>(l1 / (blocking.rows * elementBytes), 256, 768);
  int64_t rows = l2 * 8 / 10 / (blocking.blockDepth * elementBytes);
  blocking.blockRows =
      std::clamp<int64_t>(rows / blocking.rows, 4, 64) * blocking.rows;
  return blocking;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// An element, extended to the type of the sums.
Value MatmulEmitter::loadScalar(IndexBuilder &b, const MatrixView &matrix,
                                Value offset) {
  Value element = memref::LoadOp::create(b, matrix.base, offset);
  return extend(b, element, problem.sumType, matrix.isUnsigned);
}

/// As many elements as `size`, as they are stored; zeros where a mask, unless
/// it is null, is not set.
Value MatmulEmitter::loadElements(IndexBuilder &b, const MatrixView &matrix,
                                  Value offset, int64_t size, Value mask) {
  auto type = VectorType::get(
      size, cast<MemRefType>(matrix.base.getType()).getElementType());
  if (!mask)
    return vector::LoadOp::create(b, type, matrix.base, offset);
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, matrix.base, offset, mask,
                                      zeros);
}

/// As many elements as the mask has, zeros where it is not set.
Value MatmulEmitter::loadVector(IndexBuilder &b, const MatrixView &matrix,
                                Value offset, Value mask) {
  int64_t size = cast<VectorType>(mask.getType()).getNumElements();
  return extend(b, loadElements(b, matrix, offset, size, mask), problem.sumType,
                matrix.isUnsigned);
}

Value MatmulEmitter::loadWhole(IndexBuilder &b, const MatrixView &matrix,
                               Value offset, int64_t count) {
  return extend(b, loadElements(b, matrix, offset, count, /*mask=*/{}),
                problem.sumType, matrix.isUnsigned);
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
// Arithmetic
//===----------------------------------------------------------------------===//

Value MatmulEmitter::multiplyAdd(IndexBuilder &b, Value lhs, Value rhs,
                                 Value sum) {
  if (isa<FloatType>(problem.sumType))
    return vector::FMAOp::create(b, lhs, rhs, sum);
  return add(b, sum, arith::MulIOp::create(b, lhs, rhs));
}

/// The same for vectors of words.
Value MatmulEmitter::multiplyAddWords(IndexBuilder &b, Value lhs, Value rhs,
                                      Value sum) {
  return words->multiplyAdd(b, lhs, rhs, sum);
}

/// How many steps a tile takes over the depth.
Value MatmulEmitter::countSteps(IndexBuilder &b) {
  return b.ceilDiv(problem.k, b.index(wordSize()));
}

/// Whether panels are of the type of sums; constants have their elements.
bool MatmulEmitter::isOfWords(const MatrixView &panels) const {
  return cast<MemRefType>(panels.base.getType()).getElementType() ==
         problem.sumType;
}

/// An element of a panel of the left matrix, or a vector of one word.
Value MatmulEmitter::loadStep(IndexBuilder &b, const MatrixView &panels,
                              Value offset) {
  if (!hasWords() || isOfWords(panels))
    return memref::LoadOp::create(b, panels.base, offset);
  Value elements = loadElements(b, panels, b.mul(offset, wordSize()),
                                wordSize(), /*mask=*/{});
  return words->make(b, elements, panels.isUnsigned, problem.sumType);
}

/// A vector of a panel, whose elements may be smaller than sums: words, or
/// elements where there are none.
Value MatmulEmitter::loadWords(IndexBuilder &b, const MatrixView &panels,
                               Value offset, int64_t count) {
  if (!hasWords() || isOfWords(panels))
    return loadWhole(b, panels, offset, count);
  Value elements = loadElements(b, panels, b.mul(offset, wordSize()),
                                wordSize() * count, /*mask=*/{});
  return words->make(b, elements, panels.isUnsigned, problem.sumType);
}

/// Has a line of a panel come to the second level of the cache.
void MatmulEmitter::prefetchPanel(IndexBuilder &b, const MatrixView &panels,
                                  Value offset) {
  Value place = b.mul(offset, isOfWords(panels) ? 1 : wordSize());
  memref::PrefetchOp::create(b, panels.base, place, /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
}

Value MatmulEmitter::add(IndexBuilder &b, Value lhs, Value rhs) {
  if (isa<FloatType>(problem.sumType))
    return arith::AddFOp::create(b, lhs, rhs);
  return arith::AddIOp::create(b, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

SmallVector<int64_t> mlir::relax::getTileSizes(Value dimension, int64_t whole,
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

void mlir::relax::branchBySize(
    IndexBuilder &b, Value size, ArrayRef<int64_t> sizes,
    llvm::function_ref<void(IndexBuilder &, int64_t)> emit) {
  if (sizes.size() == 1)
    return emit(b, sizes[0]);
  b.branch(
      b.isAtMost(size, sizes[0]), [&](IndexBuilder &b) { emit(b, sizes[0]); },
      [&](IndexBuilder &b) {
        branchBySize(b, size, sizes.drop_front(), emit);
      });
}

/// The sums of rows x vectors over the depth, row by row.
SmallVector<Value> MatmulEmitter::computeTile(IndexBuilder &b, int64_t rows,
                                              int64_t vectors, Value depth,
                                              LoadScalar lhs, LoadVector rhs,
                                              Multiply multiply,
                                              Prefetch prefetch) {
  int64_t count = rows * vectors;
  int64_t stepsOfLine = std::max<int64_t>(getLineSize() / lanes, 1);
  auto addStep = [&](IndexBuilder &b, const Step &k,
                     MutableArrayRef<Value> sums) {
    if (prefetch && k.offset % stepsOfLine == 0)
      prefetch(b, k);
    SmallVector<Value> right;
    for (int64_t j = 0; j < vectors; ++j)
      right.push_back(rhs(b, j, k));
    for (int64_t i = 0; i < rows; ++i) {
      Value left = vector::BroadcastOp::create(b, vectorType, lhs(b, i, k));
      for (int64_t j = 0; j < vectors; ++j) {
        Value &sum = sums[i * vectors + j];
        sum = (this->*multiply)(b, left, right[j], sum);
      }
    }
  };
  int64_t turns = countTurns(count);
  // Tiles at the edge are few.
  int64_t steps =
      vectors == blocking.vectors ? IndexBuilder::countSteps(count) : 1;
  return addInTurns(b, depth, count, turns, llvm::alignTo(steps, turns),
                    addStep);
}

/// How many sums there are of each: products of two units, which take four or
/// five cycles, have ten in flight. With many registers tiles are larger.
int64_t MatmulEmitter::countTurns(int64_t sums) const {
  constexpr int64_t kSums = 12, kMostTurns = 4;
  if (blocking.hasManyRegisters)
    return 1;
  return std::clamp<int64_t>(kSums / sums, 1, kMostTurns);
}

/// Sums over the depth, `count` vectors of them, some steps in an iteration.
/// Steps take turns with several sums of each, as every one waits for itself.
SmallVector<Value> MatmulEmitter::addInTurns(IndexBuilder &b, Value depth,
                                             int64_t count, int64_t turns,
                                             int64_t steps, AddStep addStep) {
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  SmallVector<Value> inits(turns * count, zeros);
  SmallVector<Value> sums = b.reduceUnrolled(
      depth, steps, inits,
      [&](IndexBuilder &b, const Step &k, ValueRange carried) {
        SmallVector<Value> next = llvm::to_vector(carried);
        addStep(b, k,
                MutableArrayRef(next).slice(k.offset % turns * count, count));
        return next;
      });
  for (int64_t i = count; i < turns * count; ++i)
    sums[i % count] = add(b, sums[i % count], sums[i]);
  sums.truncate(count);
  return sums;
}

/// The products of a panel with what a left matrix was moved by, which sums
/// have too much.
SmallVector<Value> MatmulEmitter::computeOffsets(IndexBuilder &b,
                                                 const MatrixView &panels,
                                                 Value depth) {
  Value left = words->getOffset(b, vectorType);
  return addInTurns(
      b, depth, blocking.vectors, kTurns, kTurns,
      [&](IndexBuilder &b, const Step &k, MutableArrayRef<Value> sums) {
        Value row = b.add(panels.offset, k, blocking.columns());
        for (auto [j, sum] : llvm::enumerate(sums)) {
          Value right = loadPanel(b, panels, b.add(row, j * lanes));
          sum = multiplyAddWords(b, left, right, sum);
        }
      });
}

/// Hands a tile in scratch memory, with rows of `width`, to the problem.
void MatmulEmitter::finishTile(IndexBuilder &b, const Tile &tile, int64_t width,
                               Value scratch, Value offset) {
  Value zero = b.index(0);
  b.loop(zero, tile.columns, lanes, [&](IndexBuilder &b, Value j) {
    Value column = b.add(tile.column, j), begin = b.add(offset, j);
    auto finishRows = [&](IndexBuilder &b, Value mask) {
      b.loop(zero, tile.rows, 1, [&](IndexBuilder &b, Value i) {
        Value sums = loadSums(b, scratch, b.add(begin, b.mul(i, width)));
        problem.finish(b, sums, {tile.batch, b.add(tile.row, i), column, mask});
      });
    };
    Value left = b.sub(tile.columns, j);
    if (!problem.isShallow)
      return finishRows(b, makeMask(b, left, lanes));
    // The last vector of a row alone may have fewer columns.
    std::optional<int64_t> size = getConstantIntValue(problem.n);
    Value rest = size ? b.index(*size % lanes) : left;
    b.branch(
        b.isBelow(b.index(lanes - 1), left),
        [&](IndexBuilder &b) { finishRows(b, /*mask=*/Value()); },
        [&](IndexBuilder &b) { finishRows(b, makeMask(b, rest, lanes)); });
  });
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// How many panels one row reads side by side: it waits for memory, which
/// answers several streams sooner than one. Each thread has some tasks.
int64_t MatmulEmitter::countStreams() const {
  constexpr int64_t kStreams = 4, kTasks = 8;
  std::optional<int64_t> columns = getConstantIntValue(problem.n);
  if (blocking.hasManyRegisters || movesLhs() || !columns)
    return 1;
  return std::clamp<int64_t>(*columns / (kTasks * blocking.columns()), 1,
                             kStreams);
}

void MatmulEmitter::emit(IndexBuilder &b) {
  if (words)
    words->begin(b, lanes, problem.sumType);
  if (problem.packRhs || problem.isLhsPacked)
    return emitPacked(b);
  if (problem.weights)
    return emitWeights(b);
  MatrixView lhs = problem.lhs(b, b.index(0)), rhs = problem.rhs(b, b.index(0));
  auto direct = [&](int64_t rows, int64_t vectors) {
    return [=](IndexBuilder &b) { emitDirect(b, rows, vectors); };
  };
  auto dots = [&](int64_t rows, int64_t columns) {
    return [=](IndexBuilder &b) { emitDots(b, rows, columns); };
  };
  auto packed = [&](IndexBuilder &b) {
    if (!problem.matrixUnit || !lhs.hasUnitColumns())
      return emitPacked(b);
    MatmulBlocking large = blocking.forMatrixUnit();
    MatmulEmitter emitter(problem, large);
    emitter.words = words;
    emitter.emitPacked(b);
  };
  Value isOne = b.isAtMost(problem.m, 1);
  Value isSmall = b.isAtMost(problem.m, blocking.rows);
  auto one = [&](IndexBuilder &b) {
    if (problem.isPacked)
      emitDirect(b, 1, blocking.vectors, countStreams());
    else
      emitStream(b, 1, 8);
  };
  if (problem.isPacked || rhs.hasUnitColumns())
    return b.branch(isOne, one, [&](IndexBuilder &b) {
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
