//===- ScanLaunch.cpp - Scans by blocks of threads --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cumulative sums and products. A block has a line, and goes through it tile by
// tile. Of a tile, a warp has neighbouring elements, which it combines 32 at a
// time by shuffles. What warps have together comes to all of them by shared
// memory, and goes on to the next tile. The order in which elements are
// combined depends on the length of the line alone. Short lines, and columns of
// which there are many, have a thread each.
//
//===----------------------------------------------------------------------===//

#include "ScanLaunch.h"

#include "Launch.h"
#include "Reduction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::relax;

/// How many elements of a tile a thread has.
static constexpr int64_t kPerThread = 8;
/// Lines of at most so many elements have a thread each.
static constexpr int64_t kShort = 16;
/// So many lines have a thread each where their elements are not neighbours,
/// but those of several lines are.
static constexpr int64_t kManyColumns = 16384;

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Whether something in the same block is computed from `source`.
static bool isComputedFrom(Value value, Value source) {
  if (value == source)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != source.getParentBlock())
    return false;
  return op->getNumRegions() > 0 ||
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return isComputedFrom(operand, source);
         });
}

/// Whether lanes can exchange values of a type.
static bool isExchanged(Type type) {
  return type.isIntOrFloat() &&
         llvm::is_contained({8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth());
}

/// The operation that combines what there is so far with an element.
static Operation *findScanCombiner(linalg::GenericOp op) {
  Block &body = op.getRegion().front();
  BlockArgument output = body.getArgument(op.getNumDpsInputs()),
                carried = body.getArgument(op.getNumDpsInputs() + 1);
  Operation *combiner = body.getTerminator()->getOperand(1).getDefiningOp();
  if (!output.use_empty() || !combiner || combiner->getBlock() != &body ||
      combiner->getNumOperands() != 2 || !isExchanged(carried.getType()) ||
      !getNeutral(combiner))
    return nullptr;
  Value lhs = combiner->getOperand(0), rhs = combiner->getOperand(1);
  bool isFirst = lhs == carried && !isComputedFrom(rhs, carried);
  bool isSecond = rhs == carried && !isComputedFrom(lhs, carried);
  return isFirst || isSecond ? combiner : nullptr;
}

/// Whether the last loop is the only one that reduces, the first result has a
/// place for each iteration, and the second one for each line.
static bool hasLoopsOfScan(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 2 ||
      op.getNumReductionLoops() != 1 ||
      op.getNumParallelLoops() + 1 != op.getNumLoops())
    return false;
  unsigned axis = op.getNumLoops() - 1;
  if (op.getIteratorTypesArray()[axis] != utils::IteratorType::reduction)
    return false;
  AffineMap each = op.getMatchingIndexingMap(op.getDpsInitOperand(0)),
            line = op.getMatchingIndexingMap(op.getDpsInitOperand(1));
  return each.isPermutation() && line.isProjectedPermutation() &&
         line.getNumResults() == axis && !line.isFunctionOfDim(axis);
}

/// Whether neighbours of a line are neighbours in the memory of the result.
static bool hasNeighbours(linalg::GenericOp op) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return map.isFunctionOfDim(op.getNumLoops() - 1) &&
         map.getResults().back() ==
             getAffineDimExpr(op.getNumLoops() - 1, op.getContext());
}

/// Whether memory of the same block, or a view of it, is used behind `op`.
static bool isUsedAfter(Value memory, Operation *op) {
  return llvm::any_of(memory.getUsers(), [&](Operation *user) {
    if (isa<memref::DeallocOp, memref::DimOp>(user))
      return false;
    if (isa<ViewLikeOpInterface>(user))
      return isUsedAfter(user->getResult(0), op);
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    return !inBlock || (inBlock != op && op->isBeforeInBlock(inBlock));
  });
}

//===----------------------------------------------------------------------===//
// Exchange between the threads of a warp
//===----------------------------------------------------------------------===//

static Value i32(IndexBuilder &b, int64_t value) {
  return arith::ConstantOp::create(
      b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value shuffleWord(IndexBuilder &b, Value word, Value other,
                         gpu::ShuffleMode mode) {
  Value width = i32(b, kWarp);
  return gpu::ShuffleOp::create(b, word, other, width, mode).getShuffleResult();
}

/// The value of another thread.
static Value shuffle(IndexBuilder &b, Value value, Value other,
                     gpu::ShuffleMode mode) {
  Type type = value.getType(), word = b.getI32Type(), wide = b.getI64Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type)) {
    value = arith::BitcastOp::create(b, b.getIntegerType(bits), value);
    return arith::BitcastOp::create(b, type, shuffle(b, value, other, mode));
  }
  if (bits == 32)
    return shuffleWord(b, value, other, mode);
  if (bits < 32) {
    value = arith::ExtUIOp::create(b, word, value);
    return arith::TruncIOp::create(b, type, shuffleWord(b, value, other, mode));
  }
  Value half = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
  auto exchange = [&](Value part) -> Value {
    part = arith::TruncIOp::create(b, word, part);
    return arith::ExtUIOp::create(b, wide, shuffleWord(b, part, other, mode));
  };
  Value low = exchange(value);
  Value high = exchange(arith::ShRUIOp::create(b, value, half));
  return arith::OrIOp::create(b, low, arith::ShLIOp::create(b, high, half));
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {
class ScanLaunch {
public:
  ScanLaunch(IndexBuilder &b, linalg::GenericOp op, Operation *combiner)
      : b(b), op(op), body(op), combiner(combiner),
        neutral(*getNeutral(combiner)), sizes(getLoopSizes(b, op)),
        length(sizes.back()) {}

  void emit();

private:
  /// What a thread knows of an element while others are added up.
  struct Element {
    Value isIn, before;
    SmallVector<Value> place, operands;
  };

  ArrayRef<Value> lines() const { return ArrayRef(sizes).drop_back(); }
  Value combineTwo(IndexBuilder &in, Value lhs, Value rhs) {
    return combine(in, combiner, lhs, rhs);
  }
  Value select(IndexBuilder &in, Value condition, Value lhs, Value rhs) {
    return in.createOrFold<arith::SelectOp>(condition, lhs, rhs);
  }
  void launchThreads(IndexBuilder &host);
  void launchBlocks(IndexBuilder &host);
  Value countThreads(IndexBuilder &host);
  void store(IndexBuilder &in, unsigned result, ArrayRef<Value> place,
             Value value);
  bool isTotalUsed();
  SmallVector<Value> compute(IndexBuilder &in, const Element &element,
                             Value before);
  Element load(IndexBuilder &in, ArrayRef<Value> line, Value at);
  Value scanWarp(IndexBuilder &in, Value value);
  Value combineWarps(IndexBuilder &in, Value own, Value &carried);
  Value scanTile(IndexBuilder &in, ArrayRef<Value> line, Value begin,
                 Value carried);

  IndexBuilder &b;
  linalg::GenericOp op;
  ElementBody body;
  Operation *combiner;
  TypedAttr neutral;
  SmallVector<Value> sizes;
  Value length;
  /// Of a block: its threads, the place of one, and what warps have.
  Value numThreads, lane, warp, memory, none;
};
} // namespace

/// Whether anything looks at the totals later.
bool ScanLaunch::isTotalUsed() {
  Value total = op.getDpsInits()[1];
  auto alloc = total.getDefiningOp<memref::AllocOp>();
  return !alloc || alloc->getBlock() != op->getBlock() ||
         isUsedAfter(total, op);
}

/// Writes a result at a place of the loops.
void ScanLaunch::store(IndexBuilder &in, unsigned result, ArrayRef<Value> place,
                       Value value) {
  OpOperand *init = op.getDpsInitOperand(result);
  SmallVector<Value> indices;
  for (AffineExpr dim : op.getMatchingIndexingMap(init).getResults())
    indices.push_back(place[cast<AffineDimExpr>(dim).getPosition()]);
  memref::StoreOp::create(in, value, init->get(), indices);
}

/// The results at an element, after what is before it.
SmallVector<Value> ScanLaunch::compute(IndexBuilder &in, const Element &element,
                                       Value before) {
  SmallVector<Value> operands(element.operands);
  operands.back() = before;
  return body.compute(in, element.place, operands);
}

/// A place behind the end reads the last element.
ScanLaunch::Element ScanLaunch::load(IndexBuilder &in, ArrayRef<Value> line,
                                     Value at) {
  Element element;
  element.isIn = in.isBelow(at, length);
  element.place.assign(line.begin(), line.end());
  element.place.push_back(in.min(at, in.sub(length, in.index(1))));
  element.operands = body.loadInputs(in, element.place);
  element.operands.resize(op->getNumOperands());
  return element;
}

//===----------------------------------------------------------------------===//
// A thread for a line
//===----------------------------------------------------------------------===//

void ScanLaunch::launchThreads(IndexBuilder &host) {
  Value count = makeProduct(host, lines());
  bool isUsed = isTotalUsed();
  launch(host, host.ceilDiv(count, host.index(kThreads)), host.index(kThreads),
         {}, [&](IndexBuilder &inside, gpu::LaunchOp launched) {
           Value at = inside.add(inside.mul(launched.getBlockIds().x, kThreads),
                                 launched.getThreadIds().x);
           inside.branch(inside.isBelow(at, count), [&](IndexBuilder &in) {
             SmallVector<Value> line = delinearize(in, at, lines());
             SmallVector<Value> place(line);
             place.push_back(in.index(0));
             Value first =
                 body.loadOperand(in, *op.getDpsInitOperand(1), place);
             SmallVector<Value> total = in.reduce(
                 in.index(0), length, 1, first,
                 [&](IndexBuilder &loop, Value i, ValueRange carried) {
                   Element element = load(loop, line, i);
                   SmallVector<Value> results =
                       compute(loop, element, carried.front());
                   store(loop, 0, element.place, results[0]);
                   return SmallVector<Value>{results[1]};
                 });
             if (isUsed)
               store(in, 1, line, total.front());
           });
         });
}

//===----------------------------------------------------------------------===//
// A block for a line
//===----------------------------------------------------------------------===//

/// A power of two, as many as a tile of the line needs.
Value ScanLaunch::countThreads(IndexBuilder &host) {
  Value count = host.index(kMostThreads);
  for (int64_t fewer = kMostThreads / 2; fewer >= kWarp; fewer /= 2)
    count = select(host, host.isAtMost(length, fewer * kPerThread),
                   host.index(fewer), count);
  return count;
}

/// Combines what a thread has with what those before it have.
Value ScanLaunch::scanWarp(IndexBuilder &in, Value value) {
  for (int64_t offset = 1; offset < kWarp; offset *= 2) {
    Value other = shuffle(in, value, i32(in, offset), gpu::ShuffleMode::UP);
    Value hasOther =
        in.compare(arith::CmpIPredicate::sge, lane, in.index(offset));
    value = select(in, hasOther, combineTwo(in, other, value), value);
  }
  return value;
}

/// What is before a warp, which has `own` in all; `carried` is what is before
/// all of them, and becomes what is before the next tile.
Value ScanLaunch::combineWarps(IndexBuilder &in, Value own, Value &carried) {
  in.branch(in.isEqual(lane, in.index(0)), [&](IndexBuilder &first) {
    memref::StoreOp::create(first, own, memory, warp);
  });
  gpu::BarrierOp::create(in);
  Value numWarps = in.floorDiv(numThreads, in.index(kWarp));
  Value isWarp = in.isBelow(lane, numWarps);
  Value place = in.min(lane, in.sub(numWarps, in.index(1)));
  Value total = memref::LoadOp::create(in, memory, place);
  total = scanWarp(in, select(in, isWarp, total, none));
  // What was there before has been read.
  gpu::BarrierOp::create(in);
  auto from = [&](Value thread) {
    Value other = arith::IndexCastOp::create(in, in.getI32Type(), thread);
    return shuffle(in, total, other, gpu::ShuffleMode::IDX);
  };
  Value isFirst = in.isEqual(warp, in.index(0));
  Value before = from(in.max(in.sub(warp, in.index(1)), in.index(0)));
  before = combineTwo(in, carried, select(in, isFirst, none, before));
  carried = combineTwo(in, carried, from(in.index(kWarp - 1)));
  return before;
}

/// Writes a tile, and returns what is before the next one.
Value ScanLaunch::scanTile(IndexBuilder &in, ArrayRef<Value> line, Value begin,
                           Value carried) {
  SmallVector<Element> elements;
  Value first = in.add(in.add(begin, in.mul(warp, kWarp * kPerThread)), lane);
  for (int64_t i = 0; i < kPerThread; ++i)
    elements.push_back(load(in, line, in.add(first, i * kWarp)));
  Value own = none;
  Value isFirst = in.isEqual(lane, in.index(0));
  for (Element &element : elements) {
    Value value = compute(in, element, none)[1];
    value = scanWarp(in, select(in, element.isIn, value, none));
    Value left = shuffle(in, value, i32(in, 1), gpu::ShuffleMode::UP);
    element.before = combineTwo(in, own, select(in, isFirst, none, left));
    own = combineTwo(
        in, own, shuffle(in, value, i32(in, kWarp - 1), gpu::ShuffleMode::IDX));
  }
  Value before = combineWarps(in, own, carried);
  for (Element &element : elements) {
    Value total = combineTwo(in, before, element.before);
    Value result = compute(in, element, total)[0];
    in.branch(element.isIn, [&](IndexBuilder &then) {
      store(then, 0, element.place, result);
    });
  }
  return carried;
}

void ScanLaunch::launchBlocks(IndexBuilder &host) {
  bool isUsed = isTotalUsed();
  Type shared =
      getSharedType(b.getContext(), kMostThreads / kWarp, neutral.getType());
  launch(host, makeProduct(host, lines()), countThreads(host), shared,
         [&](IndexBuilder &in, gpu::LaunchOp launched) {
           Value thread = launched.getThreadIds().x;
           numThreads = launched.getBlockSize().x;
           lane = in.rem(thread, in.index(kWarp));
           warp = in.floorDiv(thread, in.index(kWarp));
           memory = launched.getWorkgroupAttributions().front();
           none = arith::ConstantOp::create(in, neutral);
           SmallVector<Value> line =
               delinearize(in, launched.getBlockIds().x, lines(),
                           /*isSmall=*/true);
           SmallVector<Value> place(line);
           place.push_back(in.index(0));
           Value total = body.loadOperand(in, *op.getDpsInitOperand(1), place);
           auto loop = scf::ForOp::create(
               in, in.index(0), length, in.mul(numThreads, kPerThread), total,
               [&](OpBuilder &builder, Location loc, Value begin,
                   ValueRange carried) {
                 IndexBuilder inside(loc, builder);
                 scf::YieldOp::create(
                     inside, scanTile(inside, line, begin, carried.front()));
               });
           if (!isUsed)
             return;
           // The other threads have loaded what there was.
           gpu::BarrierOp::create(in);
           in.branch(in.isEqual(thread, in.index(0)), [&](IndexBuilder &then) {
             store(then, 1, line, loop.getResult(0));
           });
         });
}

void ScanLaunch::emit() {
  Value byThreads = b.isAtMost(length, kShort);
  if (!hasNeighbours(op)) {
    Value isMany = b.compare(arith::CmpIPredicate::sge, makeProduct(b, lines()),
                             b.index(kManyColumns));
    byThreads = b.createOrFold<arith::OrIOp>(byThreads, isMany);
  }
  b.branch(
      byThreads, [&](IndexBuilder &host) { launchThreads(host); },
      [&](IndexBuilder &host) { launchBlocks(host); });
}

bool mlir::relax::launchScan(linalg::GenericOp op) {
  if (!isOnCuda(op) || !hasLoopsOfScan(op))
    return false;
  Operation *combiner = findScanCombiner(op);
  if (!combiner)
    return false;
  IndexBuilder b(op.getLoc(), op);
  ScanLaunch(b, op, combiner).emit();
  op.erase();
  return true;
}
