//===- Matmul.cpp - Products of matrices on GPUs ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of threads has a tile of the result. It brings tiles of both matrices
// to shared memory, one step of the depth after the other, from which each
// thread computes results in registers.
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

#include "Launch.h"

#include "relax-mlir/Analysis/TargetModel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isDeviceMatmul(Type lhs, Type rhs, Type sum) {
  auto isOf = [&](Type type) {
    return type == sum || type.isF16() || type.isBF16();
  };
  return (sum.isF32() || sum.isF64()) && isOf(lhs) && isOf(rhs);
}

/// Blocks that run at a time have tiles of few rows and of few columns, so that
/// the L2 cache has what they read: `kTileRows` rows of tiles, column by
/// column, then the next ones.
static std::pair<Value, Value> placeTile(IndexBuilder &b, Value id, Value rows,
                                         Value columns) {
  constexpr int64_t kTileRows = 8;
  Value size = b.mul(columns, b.min(rows, b.index(kTileRows)));
  SmallVector<Value> group = delinearize(b, id, {rows, size}, /*isSmall=*/true);
  Value first = b.mul(group[0], kTileRows);
  Value height = b.min(b.sub(rows, first), b.index(kTileRows));
  SmallVector<Value> within =
      delinearize(b, group[1], {columns, height}, /*isSmall=*/true);
  return {b.add(first, within[1]), within[0]};
}

Value mlir::relax::countTiles(IndexBuilder &b, const MatmulProblem &problem,
                              TileSize tile) {
  return b.mul(problem.batch,
               b.mul(b.ceilDiv(problem.m, b.index(tile.rows)),
                     b.ceilDiv(problem.n, b.index(tile.columns))));
}

gpu::LaunchOp mlir::relax::launchTiles(
    IndexBuilder &b, const MatmulProblem &problem, TileSize tile,
    int64_t threads, TypeRange shared,
    llvm::function_ref<void(IndexBuilder &, const BlockPlace &, Value,
                            ValueRange)>
        body) {
  Value columns = b.ceilDiv(problem.n, b.index(tile.columns)),
        rows = b.ceilDiv(problem.m, b.index(tile.rows));
  // Only the first dimension of a grid may be large.
  Value tiles = b.mul(rows, columns);
  return launch(b, b.mul(problem.batch, tiles), b.index(threads), shared,
                [&](IndexBuilder &in, gpu::LaunchOp op) {
                  SmallVector<Value> block = delinearize(in, op.getBlockIds().x,
                                                         {problem.batch, tiles},
                                                         /*isSmall=*/true);
                  auto [row, column] = placeTile(in, block[1], rows, columns);
                  BlockPlace place = {block[0], in.mul(row, tile.rows),
                                      in.mul(column, tile.columns)};
                  SmallVector<Value> memory(op.getWorkgroupAttributions());
                  body(in, place, op.getThreadIds().x, memory);
                });
}

std::pair<Value, Value> mlir::relax::getDepthRange(IndexBuilder &b,
                                                   const MatmulProblem &problem,
                                                   Value batch) {
  if (problem.depthRange)
    return problem.depthRange(b, batch);
  return {b.index(0), problem.k};
}

int64_t mlir::relax::getChunk(const MatrixView &matrix) {
  Type type = cast<MemRefType>(matrix.base.getType()).getElementType();
  return 16 / (type.getIntOrFloatBitWidth() / 8);
}

Value mlir::relax::areAligned(IndexBuilder &b, ValueRange arguments,
                              Value width, int64_t count) {
  auto isMultiple = [&](Value value, int64_t factor) {
    return b.isEqual(b.rem(value, b.index(factor)), b.index(0));
  };
  Value result = isMultiple(width, count);
  for (Value argument : arguments)
    if (isa<MemRefType>(argument.getType())) {
      Value address =
          memref::ExtractAlignedPointerAsIndexOp::create(b, argument);
      result = b.createOrFold<arith::AndIOp>(result, isMultiple(address, 16));
    }
  return result;
}

Value mlir::relax::isMatrixAligned(IndexBuilder &b, const MatrixView &matrix,
                                   Value width, int64_t chunk) {
  return areAligned(b, matrix.base, width, chunk);
}

/// What `load` gives, or zeros where that has no place.
static Value loadOrZero(IndexBuilder &b, Value isInside, Type type,
                        llvm::function_ref<Value(IndexBuilder &)> load) {
  auto op = scf::IfOp::create(
      b, isInside,
      [&](OpBuilder &builder, Location loc) {
        IndexBuilder in(loc, builder);
        Value loaded = load(in);
        scf::YieldOp::create(in, loaded);
      },
      [&](OpBuilder &builder, Location loc) {
        Value zero =
            arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
        scf::YieldOp::create(builder, loc, zero);
      });
  return op.getResult(0);
}

/// Where an element is in the memory of a matrix.
static Value findElement(IndexBuilder &b, const MatrixView &matrix, Value row,
                         Value column) {
  return b.add(matrix.offset, b.add(b.mul(row, matrix.rowStride),
                                    b.mul(column, matrix.columnStride)));
}

Value mlir::relax::loadInside(IndexBuilder &b, const MatrixView &matrix,
                              Value row, Value column, Value isRow,
                              Value isColumn) {
  if (matrix.element)
    return matrix.element(b, row, column, isRow, isColumn);
  Value isInside = b.createOrFold<arith::AndIOp>(isRow, isColumn);
  Type type = cast<MemRefType>(matrix.base.getType()).getElementType();
  return loadOrZero(b, isInside, type, [&](IndexBuilder &in) -> Value {
    return memref::LoadOp::create(in, matrix.base,
                                  findElement(in, matrix, row, column));
  });
}

SmallVector<Value> mlir::relax::loadFirst(
    IndexBuilder &b, const MatmulProblem &problem,
    llvm::function_ref<SmallVector<Value>(IndexBuilder &)> load) {
  SmallVector<Type> types;
  auto op = scf::IfOp::create(
      b, b.isBelow(b.index(0), problem.k),
      [&](OpBuilder &builder, Location loc) {
        IndexBuilder in(loc, builder);
        SmallVector<Value> loaded = load(in);
        llvm::append_range(types, ValueRange(loaded).getTypes());
        scf::YieldOp::create(in, loaded);
      },
      [&](OpBuilder &builder, Location loc) {
        SmallVector<Value> zeros;
        for (Type type : types)
          zeros.push_back(arith::ConstantOp::create(builder, loc,
                                                    builder.getZeroAttr(type)));
        scf::YieldOp::create(builder, loc, zeros);
      });
  return op.getResults();
}

void mlir::relax::finishSum(IndexBuilder &b, const MatmulProblem &problem,
                            Value sum, const BlockPlace &place) {
  auto type = VectorType::get({1}, sum.getType());
  Value vector = vector::BroadcastOp::create(b, type, sum);
  problem.finish(b, vector,
                 {place.batch, place.row, place.column, /*mask=*/Value()});
}

void mlir::relax::finishInside(IndexBuilder &b, const MatmulProblem &problem,
                               Value sum, const BlockPlace &place) {
  Value isInside = arith::AndIOp::create(b, b.isBelow(place.row, problem.m),
                                         b.isBelow(place.column, problem.n));
  b.branch(isInside,
           [&](IndexBuilder &in) { finishSum(in, problem, sum, place); });
}

//===----------------------------------------------------------------------===//
// Without tensor cores
//===----------------------------------------------------------------------===//

namespace {
/// Square tiles by 256 threads: of 128 x 128 results, of which each thread has
/// 8 x 8, or of 64 x 64 by 4 x 4. A thread has groups of 4 rows, and of 4
/// columns, half of a tile apart, so that neighbouring threads read
/// neighbouring words.
class ThreadTiles {
public:
  /// The matrices whose rows are known to be aligned to what a thread loads.
  struct Aligned {
    bool left = false, right = false;
  };
  ThreadTiles(const MatmulProblem &problem, int64_t tile, Aligned aligned)
      : problem(problem), tile(tile), perThread(tile / kLanes),
        aligned(aligned), numLoads(getNumLoads(problem)),
        depth(getDepth(problem, tile)) {}
  void emit(IndexBuilder &b);
  /// How deep a step is.
  static int64_t getDepth(const MatmulProblem &problem, int64_t tile) {
    return getNumLoads(problem) * kTileThreads / tile;
  }
  /// The elements of each matrix that a thread loads for a step of the depth.
  /// Those of f64 take two registers each, of which sums leave few.
  static int64_t getNumLoads(const MatmulProblem &problem) {
    return problem.sumType.isF64() ? 2 : 4;
  }

private:
  static constexpr int64_t kTileThreads = 256, kLanes = 16, kGroup = 4;

  /// One of the matrices: `isAlongDepth` says along what it is contiguous.
  struct Side {
    MatrixView matrix;
    Value first, numRows, memory;
    bool isAlongDepth;
    /// Whether a thread loads neighbours, as one vector.
    bool isAligned;
  };
  /// What a thread loads for a step: elements, or one vector.
  using Elements = SmallVector<Value>;

  /// Rows of shared memory do not begin in the same bank.
  int64_t stride() const { return tile + kGroup; }
  int32_t countResidentBlocks() const;
  std::pair<Value, Value> placeOf(IndexBuilder &in, const Side &side,
                                  int64_t i);
  int64_t countLoads(const Side &side) const {
    return side.isAligned ? 1 : numLoads;
  }
  Value loadVector(IndexBuilder &in, const Side &side, Value from);
  Elements load(IndexBuilder &in, const Side &side, Value from);
  void store(IndexBuilder &in, const Side &side, ValueRange elements,
             Value stage);
  SmallVector<Value> multiply(IndexBuilder &in, Value stage, ValueRange sums);
  SmallVector<Value> sumUp(IndexBuilder &in, Value batch);
  /// The place of row or column `i` of a thread in the tile.
  Value placeInTile(IndexBuilder &in, Value lane, int64_t i) {
    int64_t group = i / kGroup;
    return in.add(in.mul(lane, kGroup),
                  in.index(group * (tile / 2) + i % kGroup));
  }

  const MatmulProblem &problem;
  int64_t tile, perThread;
  Aligned aligned;
  int64_t numLoads, depth;
  Value thread, row, column; // in the tile: a group of rows, of columns
  Side lhs, rhs;             // shared memory is [stage][depth][row or column]
};
} // namespace

/// The row and the depth, in a step, of an element that a thread loads:
/// neighbouring threads load neighbouring elements, or vectors.
std::pair<Value, Value> ThreadTiles::placeOf(IndexBuilder &in, const Side &side,
                                             int64_t i) {
  int64_t width = side.isAlongDepth ? depth : tile;
  auto [major, minor] = side.isAligned
                            ? splitPlace(in, thread, 0, width / numLoads)
                            : splitPlace(in, thread, i * kTileThreads, width);
  if (side.isAligned)
    minor = in.add(in.mul(minor, numLoads), in.index(i));
  return side.isAlongDepth ? std::pair(major, minor) : std::pair(minor, major);
}

/// What a thread brings of an aligned matrix: a vector is inside, or nothing of
/// it.
Value ThreadTiles::loadVector(IndexBuilder &in, const Side &side, Value from) {
  const MatrixView &matrix = side.matrix;
  auto [r, d] = placeOf(in, side, 0);
  Value row = in.add(side.first, r), at = in.add(from, d);
  Value place = findElement(in, matrix, row, at);
  Value isInside = arith::AndIOp::create(in, in.isBelow(row, side.numRows),
                                         in.isBelow(at, problem.k));
  Type element = cast<MemRefType>(matrix.base.getType()).getElementType();
  llvm::MaybeAlign alignment(numLoads * element.getIntOrFloatBitWidth() / 8);
  auto type = VectorType::get({numLoads}, element);
  return loadOrZero(in, isInside, type, [&](IndexBuilder &b) -> Value {
    return vector::LoadOp::create(b, type, matrix.base, place,
                                  /*nontemporal=*/false, alignment);
  });
}

/// What a thread brings of a step of the depth.
ThreadTiles::Elements ThreadTiles::load(IndexBuilder &in, const Side &side,
                                        Value from) {
  if (side.isAligned)
    return {loadVector(in, side, from)};
  Elements elements;
  for (int64_t i = 0; i < numLoads; ++i) {
    auto [r, d] = placeOf(in, side, i);
    Value row = in.add(side.first, r), at = in.add(from, d);
    Value isRow = in.isBelow(row, side.numRows),
          isDepth = in.isBelow(at, problem.k);
    elements.push_back(loadInside(in, side.matrix, row, at, isRow, isDepth));
  }
  return elements;
}

void ThreadTiles::store(IndexBuilder &in, const Side &side, ValueRange elements,
                        Value stage) {
  Value begin = in.mul(stage, depth * stride());
  for (int64_t i = 0; i < numLoads; ++i) {
    auto [r, d] = placeOf(in, side, i);
    Value at = in.add(begin, in.add(in.mul(d, stride()), r));
    Value element = side.isAligned
                        ? vector::ExtractOp::create(in, elements.front(), i)
                        : elements[i];
    if (element.getType() != problem.sumType)
      element = arith::ExtFOp::create(in, problem.sumType, element);
    memref::StoreOp::create(in, element, side.memory, at);
  }
}

SmallVector<Value> ThreadTiles::multiply(IndexBuilder &in, Value stage,
                                         ValueRange sums) {
  SmallVector<Value> next(sums);
  for (int64_t d = 0; d < depth; ++d) {
    SmallVector<Value> left, right;
    Value begin =
        in.add(in.mul(stage, depth * stride()), in.index(d * stride()));
    for (int64_t i = 0; i < perThread; ++i) {
      left.push_back(memref::LoadOp::create(
          in, lhs.memory, in.add(begin, placeInTile(in, row, i))));
      right.push_back(memref::LoadOp::create(
          in, rhs.memory, in.add(begin, placeInTile(in, column, i))));
    }
    for (int64_t i = 0; i < perThread; ++i)
      for (int64_t j = 0; j < perThread; ++j) {
        Value &sum = next[i * perThread + j];
        sum = math::FmaOp::create(in, left[i], right[j], sum);
      }
  }
  return next;
}

/// Loads a step of the depth to registers while it multiplies the one before
/// it, which is in one of two stages of shared memory.
SmallVector<Value> ThreadTiles::sumUp(IndexBuilder &in, Value batch) {
  auto [begin, end] = getDepthRange(in, problem, batch);
  Value zero = arith::ConstantOp::create(in, in.getZeroAttr(problem.sumType));
  int64_t numSums = perThread * perThread;
  SmallVector<Value> carried(numSums, zero);
  llvm::append_range(carried, loadFirst(in, problem, [&](IndexBuilder &first) {
                       Elements elements = load(first, lhs, begin);
                       llvm::append_range(elements, load(first, rhs, begin));
                       return elements;
                     }));
  SmallVector<Value> result = in.reduce(
      begin, end, depth, carried,
      [&](IndexBuilder &loop, Value from, ValueRange values) {
        Value stage =
            loop.rem(loop.floorDiv(from, loop.index(depth)), loop.index(2));
        store(loop, lhs, values.slice(numSums, countLoads(lhs)), stage);
        store(loop, rhs, values.drop_front(numSums + countLoads(lhs)), stage);
        // Nobody writes to this stage before all have read it, and the other.
        gpu::BarrierOp::create(loop);
        Value ahead = loop.add(from, loop.index(depth));
        Elements left = load(loop, lhs, ahead), right = load(loop, rhs, ahead);
        SmallVector<Value> next =
            multiply(loop, stage, values.take_front(numSums));
        llvm::append_range(next, left);
        llvm::append_range(next, right);
        return next;
      });
  result.truncate(numSums);
  return result;
}

/// The assembler finds how many blocks with large tiles there can be without
/// spills, where 0 leaves it to that; with others it tries one too many.
int32_t ThreadTiles::countResidentBlocks() const {
  std::optional<int64_t> k = getConstantIntValue(problem.k);
  if (k && *k <= depth) // all is unrolled
    return 1;
  if (tile == 128)
    return 0;
  bool isLoaded = !lhs.matrix.element && !rhs.matrix.element;
  return isLoaded && problem.sumType.isF32() ? 3 : 1;
}

void ThreadTiles::emit(IndexBuilder &b) {
  Type shared =
      getSharedType(b.getContext(), 2 * depth * stride(), problem.sumType);
  gpu::LaunchOp op = launchTiles(
      b, problem, {tile, tile}, kTileThreads, {shared, shared},
      [&](IndexBuilder &in, const BlockPlace &place, Value id,
          ValueRange memory) {
        thread = id;
        row = in.floorDiv(thread, in.index(kLanes));
        column = in.rem(thread, in.index(kLanes));
        MatrixView left = problem.lhs(in, place.batch),
                   right = problem.rhs(in, place.batch).transposed();
        lhs = {
            left,        place.row, problem.m, memory[0], left.hasUnitColumns(),
            aligned.left};
        rhs = {right,     place.column,           problem.n,
               memory[1], right.hasUnitColumns(), aligned.right};
        SmallVector<Value> sums = sumUp(in, place.batch);
        for (int64_t i = 0; i < perThread; ++i)
          for (int64_t j = 0; j < perThread; ++j)
            finishInside(in, problem, sums[i * perThread + j],
                         {place.batch,
                          in.add(place.row, placeInTile(in, row, i)),
                          in.add(place.column, placeInTile(in, column, j))});
      });
  if (int32_t blocks = countResidentBlocks())
    setResidentBlocks(op, blocks);
}

/// Fewer large tiles than this leave much of a device idle.
static constexpr int64_t kFewTiles = 128;

/// Whether half of a large tile would be empty.
static bool isNarrow(Value size) {
  std::optional<int64_t> known = getConstantIntValue(size);
  return known && *known <= 64;
}

static void emitThreadTiles(IndexBuilder &b, const MatmulProblem &problem,
                            ThreadTiles::Aligned aligned) {
  auto emitSmall = [&](IndexBuilder &in) {
    emitSplit(in, problem, {64, 64}, ThreadTiles::getDepth(problem, 64),
              [&](const MatmulProblem &parts) {
                ThreadTiles(parts, 64, aligned).emit(in);
              });
  };
  if (isNarrow(problem.m) || isNarrow(problem.n))
    return emitSmall(b);
  b.branch(b.isBelow(countTiles(b, problem, {128, 128}), b.index(kFewTiles)),
           emitSmall, [&](IndexBuilder &in) {
             ThreadTiles(problem, 128, aligned).emit(in);
           });
}

/// Threads load vectors of a matrix whose rows are aligned.
static void emitThreadTiles(IndexBuilder &b, const MatmulProblem &problem) {
  Value zero = b.index(0), isAligned;
  auto canBeAligned = [&](const MatrixView &matrix, Value size) {
    if (matrix.element || !(matrix.hasUnitColumns() || matrix.hasUnitRows()))
      return false;
    Value isMatrix =
        isMatrixAligned(b, matrix, matrix.hasUnitColumns() ? problem.k : size,
                        ThreadTiles::getNumLoads(problem));
    isAligned = isAligned ? b.createOrFold<arith::AndIOp>(isAligned, isMatrix)
                          : isMatrix;
    return true;
  };
  ThreadTiles::Aligned aligned = {
      canBeAligned(problem.lhs(b, zero), problem.m),
      canBeAligned(problem.rhs(b, zero).transposed(), problem.n)};
  auto emitAny = [&](IndexBuilder &in) { emitThreadTiles(in, problem, {}); };
  if (!isAligned)
    return emitAny(b);
  b.branch(
      isAligned,
      [&](IndexBuilder &in) { emitThreadTiles(in, problem, aligned); },
      emitAny);
}

void mlir::relax::emitDeviceMatmul(IndexBuilder &b,
                                   const MatmulProblem &problem) {
  auto elementType = [&](const MatrixView &matrix) {
    return cast<MemRefType>(matrix.base.getType()).getElementType();
  };
  Value zero = b.index(0);
  MatrixView rightView = problem.rhs(b, zero);
  Type left = elementType(problem.lhs(b, zero)), right = elementType(rightView);
  Operation *parent = b.getInsertionBlock()->getParentOp();
  bool isRounded = left.isF32() && TargetModel::get(parent).allowsTF32;
  // Numbers of 64 bits would not leave tensor cores enough registers.
  bool hasTensorCores = left == right && problem.sumType.isF32() &&
                        (left.isF16() || left.isBF16() || isRounded) &&
                        !rightView.isWide;
  if (!isOnCuda(parent))
    return ThreadTiles(problem, 64, {}).emit(b);
  emitFewRowsOr(b, problem, [&](IndexBuilder &in) {
    if (hasTensorCores)
      emitTensorCoreMatmul(in, problem);
    else
      emitThreadTiles(in, problem);
  });
}
