//===- FlashAttention.cpp - Attention on GPUs -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches blocks of threads on the tiles of AttentionTiles.cpp, each with some
// queries and all keys.
//
// Where these blocks are few, as for one token that is generated, several of
// them share the keys: each goes through a part of them, and writes its sums,
// largest scores and totals to scratch memory of the device. A second launch
// combines the parts. Of up to 16 queries all warps of a block have the same
// ones; they share the keys, 16 of each 64, and each has a part. How many parts
// there are depends on the sizes alone, so that results do, too.
//
// Queries, keys and values are parameters of f16 or bf16 whose features are
// contiguous, up to 128 of them, a multiple of 16. Other attention is computed
// by products and rows, with scores in memory.
//
//===----------------------------------------------------------------------===//

#include "FlashAttention.h"

#include "AttentionTiles.h"
#include "ElementBody.h"
#include "LoopLaunch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr int64_t kMostFeatures = 128;
/// Blocks that fill a device, two on each of 128 multiprocessors, and the least
/// keys that a block is worth.
static constexpr int64_t kDeviceBlocks = 256, kLeastKeys = 256;
/// Parts that are loaded at a time where they are combined.
static constexpr int64_t kPartsUnroll = 8;

/// Computes an exponential by the instruction for powers of 2, whose error is
/// far below that of the 16 bits that weights are rounded to.
static void approximate(math::ExpOp op) {
  Type type = op.getType();
  auto vector = dyn_cast<VectorType>(type);
  if (!getElementTypeOrSelf(type).isF32() ||
      (vector && vector.getNumElements() != 1))
    return;
  IndexBuilder b(op.getLoc(), op);
  Value exponent = op.getOperand();
  if (vector)
    exponent = vector::ExtractOp::create(b, exponent, 0);
  exponent = arith::MulFOp::create(b, exponent, b.f32(llvm::numbers::log2e));
  Value result = LLVM::CallIntrinsicOp::create(
                     b, b.getF32Type(),
                     b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"), exponent)
                     .getResult(0);
  if (vector)
    result = vector::BroadcastOp::create(b, type, result);
  op.replaceAllUsesWith(result);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Parts of keys
//===----------------------------------------------------------------------===//

/// Where scratch memory has the columns of a row; its largest score and its
/// total follow them.
Value AttentionTiles::getPart(IndexBuilder &in, Value part, Value row) {
  return in.mul(in.add(in.mul(part, numRows), row), numColumns() + 2);
}

/// Writes what the lane has to scratch memory.
void AttentionTiles::keep(IndexBuilder &in, const State &state) {
  auto type = VectorType::get({2}, in.getF32Type());
  auto store = [&](IndexBuilder &at, Value place, ValueRange pair) {
    vector::StoreOp::create(at, vector::FromElementsOp::create(at, type, pair),
                            scratch, ValueRange(place), /*nontemporal=*/false,
                            llvm::MaybeAlign(8));
  };
  Value isFirst = in.isEqual(in.rem(lane, in.index(kRowLanes)), in.index(0));
  for (int64_t row = 0; row < kLaneRows; ++row) {
    Value query = getQuery(in, row);
    in.branch(
        in.isBelow(query, sizes[parts.queryLoop()]), [&](IndexBuilder &inside) {
          Value place = getPart(inside, part, inside.add(firstRow, query));
          for (int64_t tile = 0; tile < numColumns() / kMmaColumns; ++tile)
            store(inside, inside.add(place, getColumn(inside, tile, 0)),
                  ArrayRef(state.sums).slice(tile * kLaneResults + row * 2, 2));
          inside.branch(isFirst, [&](IndexBuilder &first) {
            store(first, first.add(place, numColumns()),
                  {state.largest[row], state.totals[row]});
          });
        });
  }
}

/// Adds up the parts of a row in a column, for the largest score of them all.
/// Where all scores of a part are -infinity and others are not, its sums may be
/// NaN, and count nothing.
AttentionTiles::Sums AttentionTiles::addParts(IndexBuilder &in, Value row,
                                              Value column) {
  auto load = [&](IndexBuilder &at, Value part, Value place) -> Value {
    return memref::LoadOp::create(at, scratch,
                                  at.add(getPart(at, part, row), place));
  };
  auto forParts = [&](ValueRange inits, auto body) {
    return loopUnrolled(
        in, in.index(0), numParts, in.index(1), kPartsUnroll, inits,
        [&](IndexBuilder &loop, ArrayRef<Value> places, ValueRange carried) {
          SmallVector<Value> next(carried);
          for (Value place : places)
            body(loop, place, next);
          return next;
        });
  };
  Value largestAt = in.index(numColumns()), totalAt = in.add(largestAt, 1);
  Value largest =
      forParts(in.f32(kLowestScore), [&](IndexBuilder &loop, Value part,
                                         MutableArrayRef<Value> carried) {
        carried[0] = arith::MaximumFOp::create(loop, carried[0],
                                               load(loop, part, largestAt));
      })[0];
  Value zero = in.f32(0);
  SmallVector<Value> sums =
      forParts(ValueRange{zero, zero}, [&](IndexBuilder &loop, Value part,
                                           MutableArrayRef<Value> carried) {
        Value ofPart = load(loop, part, largestAt);
        auto isEqual = [&](Value lhs, Value rhs) -> Value {
          return arith::CmpFOp::create(loop, arith::CmpFPredicate::OEQ, lhs,
                                       rhs);
        };
        Value isLargest = isEqual(ofPart, largest),
              isLowest = isEqual(ofPart, loop.f32(kLowestScore));
        Value factor = math::ExpOp::create(
            loop, arith::SubFOp::create(loop, ofPart, largest));
        Value places[] = {column, totalAt};
        for (auto [sum, place] : llvm::zip(carried, places)) {
          Value mine = load(loop, part, place);
          Value scaled = arith::SelectOp::create(
              loop, isLowest, zero, arith::MulFOp::create(loop, mine, factor));
          scaled = arith::SelectOp::create(loop, isLargest, mine, scaled);
          sum = arith::AddFOp::create(loop, sum, scaled);
        }
      });
  return {sums[0], sums[1]};
}

/// Launches a thread for each element of the result.
void AttentionTiles::combine(IndexBuilder &b) {
  launchIterations(b, {numRows, b.index(numColumns())},
                   [&](IndexBuilder &in, ArrayRef<Value> place) {
                     Value row = place[0], column = place[1],
                           queries = sizes[parts.queryLoop()];
                     SmallVector<Value> indices =
                         getBatch(in, in.floorDiv(row, queries));
                     indices.resize(parts.numLoops(), in.index(0));
                     indices[parts.queryLoop()] = in.rem(row, queries);
                     indices[parts.columnLoop()] = column;
                     finishElement(in, indices, addParts(in, row, column));
                   })
      .walk(approximate);
}

//===----------------------------------------------------------------------===//
// The class
//===----------------------------------------------------------------------===//

/// Whether asynchronous copies may read the parameters: their rows are
/// multiples of 16 elements.
Value AttentionTiles::areAligned(IndexBuilder &b) {
  Value result;
  for (const Elements *each : {&parts.query, &parts.key, &parts.value}) {
    Value memref = arguments[cast<BlockArgument>(each->tensor).getArgNumber()];
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
    Value isAligned = b.isEqual(b.rem(address, b.index(16)), b.index(0));
    result = result ? arith::AndIOp::create(b, result, isAligned) : isAligned;
  }
  return result;
}

void AttentionTiles::launchBlocks(IndexBuilder &b, Value blocks,
                                  bool areAligned, bool shareKeys) {
  AttentionTiles tiles = *this;
  tiles.isAligned = areAligned;
  tiles.sharesKeys = shareKeys;
  auto shared = [&](int64_t rows, unsigned loop) {
    return getSharedType(b.getContext(), rows * getKnown(loop), element);
  };
  gpu::LaunchOp op = launch(
      b, blocks, b.index(kCopiers),
      {shared(tiles.numQueryRows(), parts.depthLoop()),
       shared(kKeys, parts.depthLoop()), shared(kKeys, parts.columnLoop())},
      [&](IndexBuilder &in, gpu::LaunchOp op) {
        tiles.begin(in, op);
        State state = tiles.passKeys(in);
        auto keep = [&](IndexBuilder &at) { tiles.keep(at, state); };
        auto finish = [&](IndexBuilder &at) { tiles.finish(at, state); };
        if (shareKeys)
          keep(in);
        else
          in.branch(isShared, keep, finish);
        op.walk(approximate);
      });
  if (!areAligned) // loads of elements take registers
    setResidentBlocks(op, 1);
}

/// Has blocks share keys where there are few, and returns how many there are.
Value AttentionTiles::share(IndexBuilder &b) {
  Value queries = sizes[parts.queryLoop()], one = b.index(1);
  Value numPlaces = makeProduct(b, ArrayRef(sizes).take_front(parts.numBatch));
  numRows = b.mul(numPlaces, queries);
  Value blocks = b.mul(numPlaces, b.ceilDiv(queries, b.index(kQueries)));
  Value most = b.floorDiv(b.index(kDeviceBlocks), b.max(blocks, one));
  Value keys = sizes[parts.keyLoop()];
  if (parts.window) // what the queries of a block see
    keys =
        b.min(keys, b.add(b.min(keys, b.index(*parts.window)), kQueries - 1));
  Value enough = b.floorDiv(keys, b.index(kLeastKeys));
  numSharing = b.max(b.min(most, enough), one);
  isShared = b.isBelow(one, numSharing);
  return b.mul(blocks, numSharing);
}

void AttentionTiles::emit(IndexBuilder &b) {
  Value blocks = share(b), isAligned = areAligned(b);
  auto launchTiles = [&](IndexBuilder &at) {
    at.branch(
        isAligned,
        [&](IndexBuilder &then) { launchBlocks(then, blocks, true, false); },
        [&](IndexBuilder &other) {
          launchBlocks(other, blocks, false, false);
        });
  };
  if (isConstantIntValue(numSharing, 1))
    return launchTiles(b);
  Value isFew = b.isAtMost(sizes[parts.queryLoop()], kWarpQueries);
  Value byWarps = b.createOrFold<arith::AndIOp>(
      arith::AndIOp::create(b, isAligned, isShared), isFew);
  numParts = b.createOrFold<arith::SelectOp>(byWarps, b.mul(numSharing, kWarps),
                                             numSharing);
  Value size = b.createOrFold<arith::SelectOp>(
      isShared, getPart(b, numParts, b.index(0)), b.index(0));
  scratch = memref::AllocOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, b.getF32Type()), size);
  b.branch(
      byWarps, [&](IndexBuilder &at) { launchBlocks(at, blocks, true, true); },
      launchTiles);
  b.branch(isShared, [&](IndexBuilder &at) { combine(at); });
  memref::DeallocOp::create(b, scratch);
}

/// Whether a tensor is a parameter whose rows are loop `row`, of features that
/// are contiguous.
static bool isMatrix(const Elements &elements, unsigned row, unsigned column) {
  MLIRContext *context = elements.map.getContext();
  if (!isa<BlockArgument>(elements.tensor) ||
      elements.map.getNumResults() == 0 ||
      elements.map.getResults().back() != getAffineDimExpr(column, context))
    return false;
  unsigned numRows = 0;
  for (AffineExpr expr : elements.map.getResults().drop_back()) {
    if (expr == getAffineDimExpr(row, context))
      ++numRows;
    else if (expr.isFunctionOfDim(row) || expr.isFunctionOfDim(column))
      return false;
  }
  return numRows == 1;
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchDeviceAttention(func::FuncOp kernel, const TargetModel &) {
  if (!isOnCuda(kernel))
    return nullptr;
  std::optional<AttentionParts> parts = AttentionParts::match(kernel);
  if (!parts ||
      !isMatrix(parts->query, parts->queryLoop(), parts->depthLoop()) ||
      !isMatrix(parts->key, parts->keyLoop(), parts->depthLoop()) ||
      !isMatrix(parts->value, parts->keyLoop(), parts->columnLoop()))
    return nullptr;
  Type element = getElementTypeOrSelf(parts->query.tensor.getType());
  for (const Elements *each : {&parts->key, &parts->value})
    if (getElementTypeOrSelf(each->tensor.getType()) != element)
      return nullptr;
  for (unsigned loop : {parts->depthLoop(), parts->columnLoop()}) {
    int64_t size = parts->sizes[loop].known;
    if (size <= 0 || size % kMmaDepth != 0 || size > kMostFeatures)
      return nullptr;
  }
  if (!element.isF16() && !element.isBF16())
    return nullptr;
  return makeEmitter(
      [=, parts = *std::move(parts)](IndexBuilder &b, ValueRange arguments) {
        AttentionTiles(b, kernel, parts, arguments).emit(b);
      });
}
