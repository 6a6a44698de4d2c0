//===- RowLaunch.cpp - Rows by blocks of threads ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax, normalizations and reductions: operations one after the other that
// share the loops over rows. A block of threads has a row, and goes through the
// operations with a barrier in between, so that a row is read from memory once:
// after that it is in the caches, as is what operations compute for each other.
// Threads have neighbouring elements of the row; what they reduce comes
// together in shared memory.
//
//===----------------------------------------------------------------------===//

#include "RowLaunch.h"

#include "BestElement.h"
#include "ElementLaunch.h"
#include "Launch.h"
#include "Reduction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::relax;

/// A row has fewer threads where each would have fewer elements than these.
static constexpr int64_t kLeastElements = 4;

//===----------------------------------------------------------------------===//
// Operations on rows
//===----------------------------------------------------------------------===//

namespace {
/// A step of a launch: what is done with a row.
struct RowStep {
  linalg::GenericOp op;
  /// Where the loops behind those over rows reduce.
  std::optional<Reduction> reduction;
  /// Where the loop behind those over rows looks for an element.
  std::optional<BestElement> best;

  bool reduces() const { return reduction || best; }
  /// What threads hand over.
  SmallVector<Type> getSharedTypes() const;

  static std::optional<RowStep> get(linalg::GenericOp op, unsigned numRowDims);
};

class RowLaunch {
public:
  RowLaunch(IndexBuilder &b, ArrayRef<RowStep> steps, unsigned numRowDims)
      : b(b), steps(steps), numRowDims(numRowDims) {}
  void emit();

private:
  SmallVector<Type> getSharedTypes();
  Value getNumThreads(ArrayRef<SmallVector<Value>> sizes);
  void emitStep(IndexBuilder &in, const RowStep &step, ArrayRef<Value> sizes);
  void emitElements(IndexBuilder &in, const RowStep &step,
                    ArrayRef<Value> sizes);
  void emitReduction(IndexBuilder &in, const RowStep &step,
                     ArrayRef<Value> sizes);
  Value reduceByWarps(IndexBuilder &in, Value value, Value neutral,
                      Operation *combiner, Value memory);
  /// Combines what two threads have.
  using Combine = llvm::function_ref<SmallVector<Value>(
      IndexBuilder &, ValueRange mine, ValueRange other)>;
  SmallVector<Value> reduceByHalves(IndexBuilder &in, ValueRange values,
                                    Combine combine);
  void emitBest(IndexBuilder &in, const RowStep &step, Value length);
  void waitForReads(IndexBuilder &in);
  SmallVector<Value> findShared(TypeRange types) const;
  Value reduceBlock(IndexBuilder &in, Value value, Value neutral,
                    Operation *combiner);
  SmallVector<Value> placeOf(IndexBuilder &in, Value place,
                             ArrayRef<Value> sizes);
  void byFirstThread(IndexBuilder &in, IndexBuilder::Body body);

  /// The body of a step, which finds what each row has one of in registers.
  ElementBody makeBody(linalg::GenericOp op) const {
    return ElementBody(op, &scalars);
  }
  bool needsBarrier(linalg::GenericOp op) const;
  bool isOnlyUsedHere(Value memref) const;
  void keepScalars(IndexBuilder &in, linalg::GenericOp op,
                   ArrayRef<Value> results);

  IndexBuilder &b;
  ArrayRef<RowStep> steps;
  unsigned numRowDims;
  SmallVector<Value> row;
  Value thread, numThreads;
  SmallVector<Value> shared;
  /// Memory with an element for each row: all threads have that of their row.
  llvm::DenseMap<Value, Value> scalars;
  /// The memory that was written, and read, since the last barrier.
  llvm::DenseSet<Value> written, read;
};
} // namespace

static bool beginsWithRow(AffineMap map, unsigned numRowDims) {
  if (map.getNumResults() < numRowDims)
    return false;
  for (unsigned i = 0; i < numRowDims; ++i)
    if (map.getResult(i) != getAffineDimExpr(i, map.getContext()))
      return false;
  return true;
}

/// Whether lanes along the last loop read neighbours.
static bool hasLastLoopInnermost(linalg::GenericOp op) {
  AffineExpr last = getAffineDimExpr(op.getNumLoops() - 1, op.getContext());
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return map.getNumResults() > 0 &&
           map.getResult(map.getNumResults() - 1) == last;
  });
}

std::optional<RowStep> RowStep::get(linalg::GenericOp op, unsigned numRowDims) {
  if (op.getNumLoops() < numRowDims || !op.hasPureBufferSemantics())
    return std::nullopt;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  auto isParallel = [](utils::IteratorType kind) {
    return kind == utils::IteratorType::parallel;
  };
  if (!llvm::all_of(ArrayRef(kinds).take_front(numRowDims), isParallel))
    return std::nullopt;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!beginsWithRow(op.getMatchingIndexingMap(&init), numRowDims))
      return std::nullopt;
  RowStep step{op, std::nullopt, std::nullopt};
  auto rest = ArrayRef(kinds).drop_front(numRowDims);
  if (llvm::all_of(rest, isParallel)) {
    // Each place is written once.
    for (OpOperand &init : op.getDpsInitsMutable())
      if (op.getMatchingIndexingMap(&init).getNumResults() != op.getNumLoops())
        return std::nullopt;
    return step;
  }
  if (llvm::any_of(rest, isParallel) || !hasLastLoopInnermost(op))
    return std::nullopt;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.getMatchingIndexingMap(&init).getNumResults() != numRowDims)
      return std::nullopt;
  step.reduction = Reduction::get(op);
  if (!step.reduction)
    step.best = BestElement::get(op);
  return step.reduces() ? std::optional(step) : std::nullopt;
}

SmallVector<Type> RowStep::getSharedTypes() const {
  auto generic = op;
  if (best)
    return llvm::map_to_vector(generic.getRegionOutputArgs(),
                               [](Value value) { return value.getType(); });
  SmallVector<Type> types;
  if (reduction) // one after the other
    for (TypedAttr neutral : reduction->neutral)
      if (!llvm::is_contained(types, neutral.getType()))
        types.push_back(neutral.getType());
  return types;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// Memory of each type as often as a step needs it.
SmallVector<Type> RowLaunch::getSharedTypes() {
  SmallVector<Type> types;
  for (const RowStep &step : steps) {
    SmallVector<Type> needed = step.getSharedTypes();
    for (Type type : needed)
      while (llvm::count(types, type) < llvm::count(needed, type))
        types.push_back(type);
  }
  return llvm::map_to_vector(types, [&](Type type) -> Type {
    return getSharedType(b.getContext(), kMostThreads, type);
  });
}

SmallVector<Value> RowLaunch::findShared(TypeRange types) const {
  SmallVector<Value> found;
  for (Type type : types)
    found.push_back(*llvm::find_if(shared, [&](Value memory) {
      return cast<MemRefType>(memory.getType()).getElementType() == type &&
             !llvm::is_contained(found, memory);
    }));
  return found;
}

/// A power of two, by the longest row: a thread has some elements of it.
Value RowLaunch::getNumThreads(ArrayRef<SmallVector<Value>> sizes) {
  Value longest = b.index(1);
  for (ArrayRef<Value> loops : sizes)
    longest = b.max(longest, makeProduct(b, loops.drop_front(numRowDims)));
  Value count = b.index(kMostThreads);
  for (int64_t fewer = kMostThreads / 2; fewer >= 32; fewer /= 2)
    count = b.createOrFold<arith::SelectOp>(
        b.isAtMost(longest, fewer * kLeastElements), b.index(fewer), count);
  return count;
}

void RowLaunch::emit() {
  SmallVector<SmallVector<Value>> sizes;
  for (const RowStep &step : steps)
    sizes.push_back(getLoopSizes(b, step.op));
  auto rowSizes = ArrayRef(sizes.front()).take_front(numRowDims);
  launch(b, makeProduct(b, rowSizes), getNumThreads(sizes), getSharedTypes(),
         [&](IndexBuilder &in, gpu::LaunchOp op) {
           thread = op.getThreadIds().x;
           numThreads = op.getBlockSize().x;
           row = delinearize(in, op.getBlockIds().x, rowSizes,
                             /*isSmall=*/true);
           llvm::append_range(shared, op.getWorkgroupAttributions());
           for (auto [step, loops] : llvm::zip(steps, sizes)) {
             if (needsBarrier(step.op)) {
               gpu::BarrierOp::create(in);
               written.clear();
               read.clear();
             }
             for (Value operand : step.op->getOperands())
               if (!scalars.contains(operand))
                 read.insert(operand);
             emitStep(in, step, ArrayRef(loops).drop_front(numRowDims));
           }
         });
}

void RowLaunch::byFirstThread(IndexBuilder &in, IndexBuilder::Body body) {
  in.branch(in.isEqual(thread, in.index(0)), body);
}

SmallVector<Value> RowLaunch::placeOf(IndexBuilder &in, Value place,
                                      ArrayRef<Value> sizes) {
  SmallVector<Value> where(row);
  llvm::append_range(where, delinearize(in, place, sizes));
  return where;
}

/// Whether a step reads, or writes over, what other threads have written.
bool RowLaunch::needsBarrier(linalg::GenericOp op) const {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    Value memory = operand.get();
    if (op.isDpsInit(&operand) && read.contains(memory))
      return true;
    return written.contains(memory) && !scalars.contains(memory);
  });
}

bool RowLaunch::isOnlyUsedHere(Value memref) const {
  return memref.getDefiningOp<memref::AllocOp>() &&
         llvm::all_of(memref.getUsers(), [&](Operation *user) {
           return isa<memref::DeallocOp, memref::DimOp>(user) ||
                  llvm::any_of(steps, [&](const RowStep &step) {
                    return step.op == user;
                  });
         });
}

/// What a step computed for the row, by all threads alike. Memory gets it where
/// somebody else reads it there.
void RowLaunch::keepScalars(IndexBuilder &in, linalg::GenericOp op,
                            ArrayRef<Value> results) {
  SmallVector<OpOperand *> stored;
  for (auto [init, result] : llvm::zip(op.getDpsInitsMutable(), results)) {
    scalars[init.get()] = result;
    if (!isOnlyUsedHere(init.get()))
      stored.push_back(&init);
  }
  if (stored.empty())
    return;
  // Other threads may still have to load what was there.
  gpu::BarrierOp::create(in);
  read.clear();
  written.clear();
  byFirstThread(in, [&](IndexBuilder &first) {
    for (OpOperand *init : stored) {
      written.insert(init->get());
      memref::StoreOp::create(first, scalars[init->get()], init->get(), row);
    }
  });
}

void RowLaunch::emitStep(IndexBuilder &in, const RowStep &step,
                         ArrayRef<Value> sizes) {
  if (step.reduction)
    return emitReduction(in, step, sizes);
  if (step.best)
    return emitBest(in, step, sizes.front());
  if (!sizes.empty()) {
    linalg::GenericOp op = step.op;
    written.insert_range(op.getOutputs());
    return emitElements(in, step, sizes);
  }
  ElementBody body = makeBody(step.op);
  keepScalars(in, step.op, body.compute(in, row, body.load(in, row)));
}

void RowLaunch::emitElements(IndexBuilder &in, const RowStep &step,
                             ArrayRef<Value> sizes) {
  emitPlaces(in, makeBody(step.op), thread, makeProduct(in, sizes), numThreads,
             getUnroll(step.op, sizes.size()),
             [&](IndexBuilder &loop, Value place) {
               return placeOf(loop, place, sizes);
             });
}

/// Combines what the threads of a block have, by warps first.
Value RowLaunch::reduceByWarps(IndexBuilder &in, Value value, Value neutral,
                               Operation *combiner, Value memory) {
  auto combineTwo = [&](IndexBuilder &at, Value lhs, Value rhs) {
    return combine(at, combiner, lhs, rhs);
  };
  value = reduceWarp(in, value, combineTwo);
  Value warp = in.index(kWarp), lane = in.rem(thread, warp);
  in.branch(in.isEqual(lane, in.index(0)), [&](IndexBuilder &first) {
    memref::StoreOp::create(first, value, memory, first.floorDiv(thread, warp));
  });
  gpu::BarrierOp::create(in);
  Value isWarp = in.isBelow(lane, in.floorDiv(numThreads, warp));
  auto others = scf::IfOp::create(
      in, isWarp,
      [&](OpBuilder &builder, Location loc) {
        Value other = memref::LoadOp::create(builder, loc, memory, lane);
        scf::YieldOp::create(builder, loc, other);
      },
      [&](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc, neutral);
      });
  return reduceWarp(in, others.getResult(0), combineTwo);
}

/// The same for what lanes cannot exchange: halves of the threads combine with
/// the other half.
SmallVector<Value> RowLaunch::reduceByHalves(IndexBuilder &in,
                                             ValueRange values,
                                             Combine combine) {
  SmallVector<Value> memories = findShared(values.getTypes());
  auto load = [&](IndexBuilder &at, Value place) {
    return llvm::map_to_vector(memories, [&](Value memory) -> Value {
      return memref::LoadOp::create(at, memory, place);
    });
  };
  auto store = [&](IndexBuilder &at, ValueRange stored) {
    for (auto [value, memory] : llvm::zip(stored, memories))
      memref::StoreOp::create(at, value, memory, thread);
  };
  store(in, values);
  gpu::BarrierOp::create(in);
  Value half = in.floorDiv(numThreads, in.index(2));
  scf::WhileOp::create(
      in, TypeRange(half.getType()), ValueRange(half),
      [&](OpBuilder &builder, Location loc, ValueRange strides) {
        IndexBuilder inside(loc, builder);
        Value goesOn = inside.compare(arith::CmpIPredicate::sgt,
                                      strides.front(), inside.index(0));
        scf::ConditionOp::create(inside, goesOn, strides);
      },
      [&](OpBuilder &builder, Location loc, ValueRange strides) {
        IndexBuilder inside(loc, builder);
        Value stride = strides.front();
        Value hasOther = inside.isBelow(thread, stride);
        inside.branch(hasOther, [&](IndexBuilder &then) {
          SmallVector<Value> mine = load(then, thread),
                             other = load(then, then.add(thread, stride));
          store(then, combine(then, mine, other));
        });
        gpu::BarrierOp::create(inside);
        scf::YieldOp::create(
            inside, ValueRange(inside.floorDiv(stride, inside.index(2))));
      });
  return load(in, in.index(0));
}

/// All have read what was in shared memory before, and all that was loaded.
void RowLaunch::waitForReads(IndexBuilder &in) {
  gpu::BarrierOp::create(in);
  written.clear();
  read.clear();
}

/// Combines what the threads of a block have; each gets it.
Value RowLaunch::reduceBlock(IndexBuilder &in, Value value, Value neutral,
                             Operation *combiner) {
  waitForReads(in);
  Type type = value.getType();
  if ((type.isF32() || type.isInteger(32)) && isOnCuda(combiner))
    return reduceByWarps(in, value, neutral, combiner,
                         findShared(type).front());
  auto combineTwo = [&](IndexBuilder &at, ValueRange mine, ValueRange other) {
    return SmallVector<Value>{
        combine(at, combiner, mine.front(), other.front())};
  };
  return reduceByHalves(in, value, combineTwo).front();
}

/// Each thread begins with its first element, or the last one of the row where
/// it has none; a row without elements has what was there before.
void RowLaunch::emitBest(IndexBuilder &in, const RowStep &step, Value length) {
  ElementBody body = makeBody(step.op);
  linalg::GenericOp op = step.op;
  auto at = [&](IndexBuilder &b, Value place) {
    return placeOf(b, place, length);
  };
  SmallVector<Value> place = at(in, in.index(0)), before;
  for (OpOperand &init : op.getDpsInitsMutable())
    before.push_back(body.loadOperand(in, init, place));
  auto first = scf::IfOp::create(
      in, in.isBelow(in.index(0), length),
      [&](OpBuilder &builder, Location loc) {
        IndexBuilder then(loc, builder);
        Value last = then.sub(length, then.index(1));
        SmallVector<Value> where = at(then, then.min(thread, last)), operands;
        for (OpOperand *input : op.getDpsInputOperands())
          operands.push_back(body.loadOperand(then, *input, where));
        scf::YieldOp::create(then, step.best->getFirst(then, where, operands));
      },
      [&](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc, before);
      });
  SmallVector<Value> found =
      accumulate(in, op, body, thread, length, numThreads, getUnroll(op, 1),
                 first.getResults(), at);
  waitForReads(in);
  found = reduceByHalves(
      in, found, [&](IndexBuilder &b, ValueRange mine, ValueRange other) {
        return step.best->combine(b, mine, other);
      });
  keepScalars(in, op, step.best->update(in, before, found));
}

void RowLaunch::emitReduction(IndexBuilder &in, const RowStep &step,
                              ArrayRef<Value> sizes) {
  ElementBody body = makeBody(step.op);
  linalg::GenericOp op = step.op;
  SmallVector<Value> neutral;
  for (TypedAttr value : step.reduction->neutral)
    neutral.push_back(arith::ConstantOp::create(in, value));
  SmallVector<Value> sums =
      accumulate(in, op, body, thread, makeProduct(in, sizes), numThreads,
                 getUnroll(op, sizes.size()), neutral,
                 [&](IndexBuilder &loop, Value place) {
                   return placeOf(loop, place, sizes);
                 });
  SmallVector<Value> place(row), results;
  // Inits do not depend on the loops that reduce.
  place.resize(op.getNumLoops(), in.index(0));
  for (auto [init, sum, none, combiner] : llvm::zip(
           op.getDpsInitsMutable(), sums, neutral, step.reduction->combiners))
    results.push_back(combine(in, combiner, body.loadOperand(in, init, place),
                              reduceBlock(in, sum, none, combiner)));
  keepScalars(in, op, results);
}

//===----------------------------------------------------------------------===//
// Groups of operations
//===----------------------------------------------------------------------===//

namespace {
/// The size of a dimension: a number, or that of a parameter.
struct SizeKey {
  Value memref;
  int64_t dim;
  bool operator==(const SizeKey &other) const {
    return memref == other.memref && dim == other.dim;
  }
};
} // namespace

/// Where the size of a dimension comes from.
static SizeKey findSize(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return {Value(), type.getDimSize(dim)};
  if (auto alloc = memref.getDefiningOp<memref::AllocOp>()) {
    Value size = alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)];
    if (auto of = size.getDefiningOp<memref::DimOp>())
      if (std::optional<int64_t> index = of.getConstantIndex())
        return findSize(of.getSource(), *index);
    return {size, -1};
  }
  return {memref, dim};
}

/// Where the size of a loop comes from: all operands agree on it.
static SmallVector<SizeKey> findLoopSize(linalg::GenericOp op, unsigned loop) {
  SmallVector<SizeKey> keys;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (expr == getAffineDimExpr(loop, op.getContext()))
        keys.push_back(findSize(operand.get(), dim));
  }
  return keys;
}

static bool haveSameRows(linalg::GenericOp lhs, linalg::GenericOp rhs,
                         unsigned numRowDims) {
  for (unsigned loop = 0; loop < numRowDims; ++loop) {
    SmallVector<SizeKey> others = findLoopSize(rhs, loop);
    if (llvm::none_of(findLoopSize(lhs, loop), [&](const SizeKey &key) {
          return llvm::is_contained(others, key);
        }))
      return false;
  }
  return true;
}

namespace {
/// Whether rows depend on no other rows: memory that one step writes and
/// another one uses is used at the row.
class RowDependences {
public:
  explicit RowDependences(unsigned numRowDims) : numRowDims(numRowDims) {}

  bool add(linalg::GenericOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value memref = operand.get();
      if (!isa<MemRefType>(memref.getType()))
        continue;
      Value root = memref::skipViewLikeOps(cast<MemrefValue>(memref));
      bool isOfRow =
          root == memref &&
          beginsWithRow(op.getMatchingIndexingMap(&operand), numRowDims);
      if (!isOfRow)
        elsewhere.insert(root);
      if (op.isDpsInit(&operand))
        written.insert(root);
    }
    // Bodies may read memory themselves.
    for (Operation &inner : op.getRegion().front())
      elsewhere.insert_range(findBuffers(&inner));
    return llvm::none_of(written,
                         [&](Value root) { return elsewhere.contains(root); });
  }

private:
  unsigned numRowDims;
  llvm::SetVector<Value> written, elsewhere;
};
} // namespace

size_t mlir::relax::launchRows(ArrayRef<linalg::GenericOp> ops) {
  // The loops over rows are those of the first operation that reduces.
  const auto *reducing = llvm::find_if(
      ops, [](linalg::GenericOp op) { return op.getNumReductionLoops() > 0; });
  if (reducing == ops.end())
    return 0;
  linalg::GenericOp first = *reducing;
  unsigned numRowDims = first.getNumParallelLoops();
  SmallVector<RowStep> steps;
  RowDependences dependences(numRowDims);
  bool reduces = false;
  for (linalg::GenericOp op : ops) {
    std::optional<RowStep> step = RowStep::get(op, numRowDims);
    if (!step || !haveSameRows(op, first, numRowDims) || !dependences.add(op))
      break;
    reduces |= step->reduces();
    steps.push_back(*step);
  }
  if (!reduces)
    return 0;
  IndexBuilder b(first.getLoc(), steps.back().op);
  RowLaunch(b, steps, numRowDims).emit();
  for (RowStep &step : steps)
    step.op.erase();
  return steps.size();
}
