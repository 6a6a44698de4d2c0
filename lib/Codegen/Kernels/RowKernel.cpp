//===- RowKernel.cpp - Elementwise kernels, reductions of rows --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a RowPlan: one parallel loop over rows, or over parts of rows where
// nothing is reduced; inside, the loops of the row, the innermost of which is
// vectorized, unrolled by four, with a masked tail. Reductions have as many
// accumulators as there are vectors in flight.
//
// Where the elements of a row are not contiguous, rows are the lanes: four
// vectors of rows are computed together.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "IndexBuilder.h"
#include "RowEmitter.h"
#include "VectorBody.h"

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Returns the number of vectors in flight. Lanes that are rows step over
/// memory: more of them read more of it at a time.
unsigned RowEmitter::getUnroll() const {
  const RowPlan &plan = *this->plan;
  if (plan.isScalar || plan.shortDim)
    return 1;
  if (plan.cost > 80)
    return 2;
  bool isOneSum = plan.loops.size() == 1 &&
                  plan.loops.front().reductions.size() == 1 &&
                  plan.loops.front().reductions.front()->getNumResults() == 1;
  return plan.lane && isOneSum && plan.cost <= 12 ? 16 : 4;
}

/// Two vectors share a flag.
static unsigned getNumFlags(unsigned numVectors) {
  return (numVectors + 1) / 2;
}

/// A thread is worth some microseconds of work.
int64_t RowEmitter::getGrain() {
  int64_t elements = plan->lane ? plan->lanes * getUnroll() : 1;
  if (!plan->loops.empty())
    for (unsigned dim : plan->loops.front().dims) {
      int64_t size = space.dims[dim].getSize();
      elements *= ShapedType::isDynamic(size) ? 512 : size;
    }
  if (plan->shortDim && !plan->isReducedFirst)
    elements = kChunk;
  else if (plan->tileDim)
    elements = tileRows * tileWidth;
  else if (numGrouped)
    elements =
        plan->hasReductions() ? std::max(elements, *numGrouped) : *numGrouped;
  else if (!plan->hasReductions())
    elements = std::min(elements, kChunk);
  int64_t work = std::max<int64_t>(elements, 1) * (plan->cost + 8);
  // In additions of vectors, or of elements.
  int64_t least = plan->isScalar ? 1 << 15 : 1 << 18;
  return std::max<int64_t>(least / work, 1);
}

/// Finds which part of `dim` is worked on, and returns the rest of an index:
/// nothing where it has no other information.
Value RowEmitter::splitPart(Value index, Value numParts, int64_t part,
                            unsigned dim, bool isAll) {
  Value number = index;
  if (!isAll) {
    number = arith::RemUIOp::create(*builder, index, numParts);
    index = arith::DivUIOp::create(*builder, index, numParts);
  }
  begin = mul(number, this->index(part));
  end = arith::MinUIOp::create(*builder, add(begin, this->index(part)),
                               getSize(dim));
  return index;
}

/// Finds the position in `dims`, of which there are `counts`, and which part of
/// `dim` is worked on, if it is divided into parts.
void RowEmitter::splitIndex(Value index, ArrayRef<unsigned> dims,
                            ArrayRef<Value> counts, Value numParts,
                            int64_t part, unsigned dim) {
  if (numParts)
    index = splitPart(index, numParts, part, dim, /*isAll=*/dims.empty());
  for (auto [outer, count] : llvm::reverse(llvm::zip_equal(dims, counts))) {
    if (outer == dims.front()) {
      positions[outer] = index;
      break;
    }
    positions[outer] = arith::RemUIOp::create(*builder, index, count);
    index = arith::DivUIOp::create(*builder, index, count);
  }
}

void RowEmitter::emitParallel(Value count,
                              llvm::function_ref<void(Value)> body) {
  auto parallel = scf::ParallelOp::create(
      *builder, ValueRange{index(0)}, ValueRange{count}, ValueRange{index(1)},
      [&](OpBuilder &nested, Location, ValueRange ivs) {
        OpBuilder::InsertionGuard guard(*builder);
        builder->restoreInsertionPoint(nested.saveInsertionPoint());
        body(ivs.front());
      });
  RelaxDialect::GrainAttrHelper(builder->getContext())
      .setAttr(parallel, builder->getI64IntegerAttr(getGrain()));
}

void RowEmitter::emitRows() {
  SmallVector<unsigned> dims;
  for (unsigned dim : plan->outer.set_bits())
    if (dim != plan->lane && dim != plan->tileDim)
      dims.push_back(dim);
  if (plan->tileDim)
    return emitTiles(dims);
  if (plan->isFlat())
    return emitFlat();
  if (plan->shortDim)
    return emitShortRows(dims);
  // Rows that are worked on together, or parts of a long row.
  unsigned splitDim = 0;
  int64_t part = 0;
  if (plan->lane) {
    splitDim = *plan->lane;
    part = plan->lanes * getUnroll();
  } else if (!plan->hasReductions() && !plan->loops.empty()) {
    splitDim = plan->loops.front().dims.back();
    int64_t size = space.dims[splitDim].getSize();
    part = ShapedType::isDynamic(size) || size > kChunk ? kChunk : 0;
  }
  Value count = index(1), numParts;
  if (part)
    count = numParts = builder->createOrFold<arith::CeilDivUIOp>(
        getSize(splitDim), index(part));
  if (!part && dims.empty())
    return emitRow(Scope());
  SmallVector<Value> counts;
  Value numRows = index(1);
  for (unsigned dim : dims) {
    counts.push_back(getSize(dim));
    numRows = mul(numRows, counts.back());
  }
  bool isGrouped = !plan->lane && !plan->loops.empty() && !dims.empty() &&
                   (part || dims.size() > 1);
  if (isGrouped)
    return emitGroups(dims, counts, numRows, numParts, part);
  count = mul(count, numRows);
  emitParallel(count, [&](Value index) {
    splitIndex(index, dims, counts, numParts, part, splitDim);
    if (plan->lane)
      return emitLaneBlock();
    emitRow(Scope());
  });
}

/// Rows from `begin` to `end`: several vectors of them, or, where there are
/// fewer, four by four, and one after the other under a mask.
void RowEmitter::emitLaneBlock() {
  vectorDim = *plan->lane;
  constexpr unsigned kFew = 4;
  unsigned unroll = getUnroll();
  auto emitVectorsAt = [&](Value base, unsigned count) {
    SmallVector<Scope> scopes(count);
    for (auto [number, scope] : llvm::enumerate(scopes)) {
      scope.base = add(base, index(number * plan->lanes));
      scope.number = number;
    }
    emitRow(scopes);
  };
  Value length = arith::SubIOp::create(*builder, end, begin);
  Value isFull = arith::CmpIOp::create(*builder, arith::CmpIPredicate::eq,
                                       length, index(plan->lanes * unroll));
  auto emitFull = [&](OpBuilder &nested, Location) {
    OpBuilder::InsertionGuard guard(*builder);
    builder->restoreInsertionPoint(nested.saveInsertionPoint());
    emitVectorsAt(begin, unroll);
    scf::YieldOp::create(*builder);
  };
  auto emitRest = [&](OpBuilder &nested, Location) {
    OpBuilder::InsertionGuard guard(*builder);
    builder->restoreInsertionPoint(nested.saveInsertionPoint());
    Value middle = begin;
    if (unroll > kFew) {
      Value step = index(kFew * plan->lanes);
      Value few = arith::SubIOp::create(
          *builder, length, arith::RemUIOp::create(*builder, length, step));
      middle = add(begin, few);
      emitFor(begin, middle, step, {}, [&](Value base, ValueRange) {
        emitVectorsAt(base, kFew);
        return SmallVector<Value>();
      });
    }
    emitFor(middle, end, index(plan->lanes), {}, [&](Value base, ValueRange) {
      Scope scope;
      scope.base = base;
      scope.mask = vector::CreateMaskOp::create(
          *builder, vectorType(builder->getI1Type()),
          ValueRange{arith::SubIOp::create(*builder, end, base)});
      emitRow(scope);
      return SmallVector<Value>();
    });
    scf::YieldOp::create(*builder);
  };
  scf::IfOp::create(*builder, isFull, emitFull, emitRest);
}

/// The passes after bufferization free it at the end of the row.
Value RowEmitter::allocateBuffer(const RowPlan::Loop &loop, Type type) {
  Value size = index(1);
  for (unsigned dim : loop.dims)
    size = mul(size, getSize(dim));
  if (plan->lane)
    size = mul(size, index(plan->lanes * rows.size()));
  if (type.isInteger(1))
    type = builder->getI8Type();
  auto memrefType = MemRefType::get({ShapedType::kDynamic}, type);
  auto alloc = memref::AllocOp::create(*builder, memrefType, ValueRange{size});
  alloc.setAlignment(64);
  return alloc;
}

void RowEmitter::emitRow(ArrayRef<Scope> scopes) {
  rows.assign(scopes.begin(), scopes.end());
  for (auto &[value, buffer] : plan->buffers) {
    if (plan->shortDim)
      break;
    if (buffer.output) {
      bufferMemory[value] = flat[buffer.output->place.param.getArgNumber()];
      continue;
    }
    Type type = cast<RankedTensorType>(value.getType()).getElementType();
    bufferMemory[value] = allocateBuffer(plan->loops[buffer.loop], type);
  }
  for (loopIndex = 0; loopIndex < plan->loops.size(); ++loopIndex)
    emitLoop(plan->loops[loopIndex]);
  for (unsigned output : plan->rowOutputs)
    for (Scope &row : rows)
      store(evaluate(space.outputs[output].value, row),
            space.outputs[output].place, row);
}

//===----------------------------------------------------------------------===//
// Loops of a row
//===----------------------------------------------------------------------===//

SmallVector<Value> RowEmitter::emitFor(Value begin, Value end, Value step,
                                       ValueRange accumulators, Body body) {
  auto loop = scf::ForOp::create(
      *builder, begin, end, step, accumulators,
      [&](OpBuilder &nested, Location, Value index, ValueRange values) {
        OpBuilder::InsertionGuard guard(*builder);
        builder->restoreInsertionPoint(nested.saveInsertionPoint());
        scf::YieldOp::create(*builder, body(index, values));
      });
  return llvm::to_vector(ValueRange(loop.getResults()));
}

void RowEmitter::emitLoop(const RowPlan::Loop &loop) {
  if (!plan->lane)
    vectorDim = loop.dims.back();
  for (Scope &row : rows) {
    for (linalg::LinalgOp op : loop.reductions)
      hoist(op, row);
    for (unsigned output : loop.outputs)
      hoist(space.outputs[output].value.getDefiningOp<linalg::LinalgOp>(), row);
  }
  unsigned unroll = plan->lane ? rows.size() : getUnroll();
  if (plan->isReducedFirst)
    unroll = plan->getShortSize();
  SmallVector<Value> accumulators;
  for (linalg::LinalgOp op : loop.reductions) {
    TypedAttr start = getCombiner(op)->neutral;
    Value neutral = plan->isScalar
                        ? arith::ConstantOp::create(*builder, start).getResult()
                        : splat(start);
    accumulators.append(unroll, neutral);
  }
  for (linalg::LinalgOp op : loop.reductions)
    if (hasFlags(op))
      accumulators.append(getNumFlags(unroll),
                          splat(builder->getBoolAttr(true)));
  SmallVector<Value> results = emitNest(loop, 0, accumulators);
  ArrayRef<Value> values(results), flags(results);
  flags = flags.drop_front(loop.reductions.size() * unroll);
  for (linalg::LinalgOp op : loop.reductions) {
    unsigned numFlags = hasFlags(op) ? getNumFlags(unroll) : 0;
    finishReduction(op, values.take_front(unroll), flags.take_front(numFlags));
    values = values.drop_front(unroll);
    flags = flags.drop_front(numFlags);
  }
}

SmallVector<Value> RowEmitter::emitNest(const RowPlan::Loop &loop,
                                        unsigned depth,
                                        ValueRange accumulators) {
  if (depth == loop.dims.size())
    return emitVectors(loop, accumulators, rows.size(), [&](unsigned number) {
      Scope scope;
      scope.row = &rows[number];
      scope.base = rows[number].base;
      scope.mask = rows[number].mask;
      scope.number = number;
      return scope;
    });
  unsigned dim = loop.dims[depth];
  if (dim == vectorDim)
    return emitVectorLoops(loop, accumulators);
  if (plan->isReducedFirst && dim == *plan->shortDim)
    return emitVectorsOfBlock(loop, accumulators);
  return emitFor(index(0), getSize(dim), index(1), accumulators,
                 [&](Value index, ValueRange values) {
                   positions[dim] = index;
                   return emitNest(loop, depth + 1, values);
                 });
}

/// Several vectors of elements, each with accumulators of its own, followed by
/// the flags, one for two vectors.
SmallVector<Value>
RowEmitter::emitVectors(const RowPlan::Loop &loop, ValueRange accumulators,
                        unsigned count,
                        llvm::function_ref<Scope(unsigned)> makeScope) {
  unsigned numReductions = loop.reductions.size();
  unsigned numFlagged = llvm::count_if(
      loop.reductions, [&](linalg::LinalgOp op) { return hasFlags(op); });
  SmallVector<Value> results(accumulators), elements(numFlagged * count);
  Value mask;
  // Memory gives more where several vectors are read before any is written.
  bool readsFirst = !plan->hasReductions() && plan->cost <= 20;
  SmallVector<std::pair<Scope, SmallVector<Value>>, 0> pending;
  for (unsigned number = 0; number < count; ++number) {
    SmallVector<Value> olds, written;
    for (unsigned reduction = 0; reduction < numReductions; ++reduction)
      olds.push_back(accumulators[reduction * count + number]);
    Scope scope = makeScope(number);
    mask = scope.mask;
    SmallVector<Value> news = computeElements(loop, scope, olds, written);
    if (readsFirst)
      pending.emplace_back(std::move(scope), std::move(written));
    else
      storeElements(loop, scope, written);
    for (unsigned reduction = 0; reduction < numReductions; ++reduction)
      results[reduction * count + number] = news[reduction];
    for (unsigned flagged = 0; flagged < numFlagged; ++flagged)
      elements[flagged * count + number] = news[numReductions + flagged];
  }
  for (auto &[scope, written] : pending)
    storeElements(loop, scope, written);
  unsigned place = numReductions * count;
  for (unsigned flagged = 0; flagged < numFlagged; ++flagged)
    for (unsigned number = 0; number < count; number += 2, ++place)
      results[place] = updateFlag(
          results[place], elements[flagged * count + number],
          elements[flagged * count + std::min(number + 1, count - 1)], mask);
  return results;
}

SmallVector<Value> RowEmitter::emitVectorLoops(const RowPlan::Loop &loop,
                                               ValueRange accumulators) {
  unsigned unroll = getUnroll(), numReductions = loop.reductions.size();
  Value from = begin ? begin : index(0);
  Value to = end ? end : getSize(vectorDim);
  if (plan->isScalar)
    return emitElementLoops(loop, from, to, accumulators);
  int64_t step = plan->lanes * unroll;
  Value length = builder->createOrFold<arith::SubIOp>(to, from);
  Value rest = builder->createOrFold<arith::RemUIOp>(length, index(step));
  Value middle = builder->createOrFold<arith::SubIOp>(to, rest);
  auto emitMany = [&](Value start, ValueRange values) {
    return emitVectors(loop, values, unroll, [&](unsigned number) {
      Scope scope;
      scope.row = &rows.front();
      scope.base = add(start, index(number * plan->lanes));
      return scope;
    });
  };
  SmallVector<Value> results =
      emitFor(from, middle, index(step), accumulators, emitMany);
  // Many rows of a few vectors.
  if (!plan->hasReductions() && plan->outer.any() && !plan->tileDim &&
      unroll > 1) {
    Value first = middle;
    rest = builder->createOrFold<arith::RemUIOp>(length, index(plan->lanes));
    middle = builder->createOrFold<arith::SubIOp>(to, rest);
    emitFor(first, middle, index(plan->lanes), {},
            [&](Value start, ValueRange values) {
              return emitVectors(loop, values, 1, [&](unsigned) {
                Scope scope;
                scope.row = &rows.front();
                scope.base = start;
                return scope;
              });
            });
  }
  // The first accumulator of each reduction, and the first flag.
  SmallVector<unsigned> places;
  for (unsigned reduction = 0; reduction < numReductions; ++reduction)
    places.push_back(reduction * unroll);
  for (unsigned place = numReductions * unroll; place < results.size();
       place += getNumFlags(unroll))
    places.push_back(place);
  auto emitOne = [&](Value start, ValueRange values) {
    return emitVectors(loop, values, 1, [&](unsigned) {
      Scope scope;
      scope.row = &rows.front();
      scope.base = start;
      Value left = arith::SubIOp::create(*builder, to, start);
      scope.mask = vector::CreateMaskOp::create(
          *builder, vectorType(builder->getI1Type()), left);
      return scope;
    });
  };
  SmallVector<Value> firsts = llvm::map_to_vector(
      places, [&](unsigned place) { return results[place]; });
  SmallVector<Value> tails =
      emitFor(middle, to, index(plan->lanes), firsts, emitOne);
  for (auto [place, value] : llvm::zip(places, tails))
    results[place] = value;
  return results;
}

//===----------------------------------------------------------------------===//
// The classes
//===----------------------------------------------------------------------===//

/// Whether sizes turn out to be those of the other plan.
Value RowEmitter::isNarrow(IndexBuilder &b) {
  if (plan->tileDim)
    return b.isAtMost(
        b.createOrFold<arith::MinUIOp>(
            getSize(*plan->tileDim), getSize(plan->loops.front().dims.back())),
        RowPlan::kNarrow - 1);
  const RowPlan &other = *narrow->plan;
  if (!other.shortDim)
    return b.isAtMost(getSize(plan->loops.front().dims.back()),
                      other.getLongestFlatRow());
  // Few rows leave most lanes empty.
  Value areMany = b.compare(arith::CmpIPredicate::uge, getSize(*other.lane),
                            b.index(other.lanes / 2));
  return b.createOrFold<arith::AndIOp>(
      b.isAtMost(getSize(*other.shortDim), RowPlan::kShort), areMany);
}

void RowEmitter::emit(ImplicitLocOpBuilder &builder, ValueRange arguments) {
  this->builder = &builder;
  this->arguments = arguments;
  emitScalars();
  emitFlatParameters();
  anchor = index(0).getDefiningOp();
  if (!narrow)
    return emitRows();
  IndexBuilder b(builder.getLoc(), builder);
  b.branch(
      isNarrow(b),
      [&](IndexBuilder &inside) { narrow->emit(inside, arguments); },
      [&](IndexBuilder &inside) {
        this->builder = &inside;
        emitRows();
      });
}

/// Whether results are made of several elements.
static bool reduces(linalg::LinalgOp op) {
  return llvm::any_of(
      llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray()),
      [](auto loop) {
        auto [size, kind] = loop;
        return size != 1 && kind == utils::IteratorType::reduction;
      });
}

static std::unique_ptr<RowPlan>
makePlan(func::FuncOp kernel, const TargetModel &target, bool hasReductions,
         RowPlan::Form form = RowPlan::Form::Any) {
  if (llvm::any_of(kernel.getOps<linalg::LinalgOp>(), reduces) != hasReductions)
    return nullptr;
  std::unique_ptr<KernelSpace> space = KernelSpace::analyze(kernel);
  return space ? RowPlan::make(std::move(space), target, form) : nullptr;
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchElementwise(func::FuncOp kernel, const TargetModel &target) {
  auto plan = makePlan(kernel, target, /*hasReductions=*/false);
  if (!plan)
    return nullptr;
  // Square blocks of a matrix that is narrow are empty for the most part, and
  // so are vectors of short rows.
  std::unique_ptr<RowPlan> narrow;
  if (plan->tileDim) {
    narrow = makePlan(kernel, target, /*hasReductions=*/false,
                      RowPlan::Form::Elements);
  } else if (plan->outer.any() && !plan->isScalar) {
    if (plan->hasKnownRows()) {
      plan->flatten();
    } else {
      narrow = makePlan(kernel, target, /*hasReductions=*/false);
      if (narrow && !narrow->flatten())
        narrow = nullptr;
    }
  }
  return std::make_unique<RowEmitter>(std::move(plan), std::move(narrow));
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchRows(func::FuncOp kernel, const TargetModel &target) {
  auto plan = makePlan(kernel, target, /*hasReductions=*/true);
  if (!plan)
    return nullptr;
  std::optional<unsigned> shortDim = plan->findShortDim();
  if (plan->lane || !shortDim)
    return std::make_unique<RowEmitter>(std::move(plan));
  bool isKnown = !ShapedType::isDynamic(plan->space->dims[*shortDim].getSize());
  // LLVM makes vectors of a few operations by itself where the size is known.
  constexpr int64_t kCheap = 16;
  if (isKnown && plan->cost <= kCheap && plan->loops.front().dims.size() == 1) {
    plan = makePlan(kernel, target, /*hasReductions=*/true,
                    RowPlan::Form::Elements);
    return std::make_unique<RowEmitter>(std::move(plan));
  }
  auto shortRows = makePlan(kernel, target, /*hasReductions=*/true,
                            RowPlan::Form::ShortRows);
  if (shortRows && isKnown)
    return std::make_unique<RowEmitter>(std::move(shortRows));
  return std::make_unique<RowEmitter>(std::move(plan), std::move(shortRows));
}
