//===- RowKernel.cpp - Elementwise kernels and those of rows ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes what a RowPlan says: one parallel loop over rows, or over parts of
// rows where nothing is reduced; in it the loops of the row, of which the
// innermost one goes by vectors, four at a time and then one at a time under a
// mask. Reductions have as many accumulators as there are vectors in flight.
//
// Where the elements of a row are not next to each other, as many rows as
// vectors have lanes, four times, are worked on together.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "IndexBuilder.h"
#include "RowEmitter.h"
#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The start of the kernel
//===----------------------------------------------------------------------===//

/// The size of a tensor along an axis, that of what it was made from.
Value RowEmitter::getRoot(Value tensor, int64_t axis) {
  while (auto op = tensor.getDefiningOp<linalg::LinalgOp>())
    tensor =
        op.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber())->get();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(axis))
    return index(type.getDimSize(axis));
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return scalars.lookup(empty.getDynamicSize(axis));
  unsigned number = cast<BlockArgument>(tensor).getArgNumber();
  return memref::DimOp::create(*builder, arguments[number], axis);
}

void RowEmitter::emitScalars() {
  Block &block = space.kernel.getBody().front();
  scalars.map(block.getArguments(), arguments);
  for (Operation &op : block) {
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      scalars.map(dim.getResult(),
                  getRoot(dim.getSource(), *dim.getConstantIndex()));
    else if (op.getNumResults() > 0 &&
             llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
      builder->clone(op, scalars);
  }
}

/// Parameters as vectors of elements, whatever their rank.
void RowEmitter::emitFlatParameters() {
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    Value size = index(1);
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      size =
          mul(size, type.isDynamicDim(axis)
                        ? Value(memref::DimOp::create(*builder, argument, axis))
                        : index(type.getDimSize(axis)));
    auto flatType =
        MemRefType::get({ShapedType::kDynamic}, type.getElementType());
    flat[number] = memref::ReinterpretCastOp::create(
        *builder, flatType, argument, builder->getIndexAttr(0),
        ArrayRef<OpFoldResult>{size},
        ArrayRef<OpFoldResult>{builder->getIndexAttr(1)});
  }
}

Value RowEmitter::getSize(unsigned dim) {
  if (sizes[dim])
    return sizes[dim];
  OpBuilder::InsertionGuard guard(*builder);
  builder->setInsertionPoint(anchor);
  Value size = index(1);
  for (const KernelSpace::Factor &factor : space.dims[dim].factors)
    size = mul(size, factor.isKnown() ? index(factor.size)
                                      : getRoot(factor.param, factor.axis));
  return sizes[dim] = size;
}

Value RowEmitter::getStride(BlockArgument param, unsigned axis) {
  auto key = std::pair(param.getArgNumber(), axis);
  if (Value known = strides.lookup(key))
    return known;
  OpBuilder::InsertionGuard guard(*builder);
  builder->setInsertionPoint(anchor);
  Value stride = index(1);
  int64_t rank = cast<RankedTensorType>(param.getType()).getRank();
  for (int64_t i = axis + 1; i < rank; ++i)
    stride = mul(stride, getRoot(param, i));
  strides[key] = stride;
  return stride;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// How many vectors are in flight. Lanes that are rows step over memory: more
/// of them read more of it at a time.
unsigned RowEmitter::getUnroll() const {
  const RowPlan &plan = *this->plan;
  if (plan.isScalar)
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
  if (plan->tileDim)
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

/// Finds which part of `dim` is worked on, and returns what is left of an
/// index: nothing where that is all that it tells.
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
  parallel->setAttr(kGrainAttr, builder->getI64IntegerAttr(getGrain()));
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
  return emitFor(index(0), getSize(dim), index(1), accumulators,
                 [&](Value index, ValueRange values) {
                   positions[dim] = index;
                   return emitNest(loop, depth + 1, values);
                 });
}

/// Several vectors of elements, each with accumulators of its own; behind them
/// are the flags, one for two vectors.
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
    return emitFor(from, to, index(1), accumulators,
                   [&](Value position, ValueRange values) {
                     positions[vectorDim] = position;
                     Scope scope;
                     scope.row = &rows.front();
                     SmallVector<Value> written;
                     SmallVector<Value> results =
                         computeElements(loop, scope, values, written);
                     storeElements(loop, scope, written);
                     return results;
                   });
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
// The greatest and the least element
//===----------------------------------------------------------------------===//

/// The sign of a zero that is the greatest or least element does not matter.
static void ignoreSignOfZero(Operation *op) {
  auto fmf = dyn_cast_or_null<arith::ArithFastMathInterface>(op);
  if (fmf && isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    op->setAttr(fmf.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::nsz));
}

/// Whether accumulators are of numbers alone, which is one instruction, and
/// flags tell of NaN, two vectors each.
bool RowEmitter::hasFlags(linalg::LinalgOp op) const {
  Combiner combiner = *getCombiner(op);
  Type type = combiner.neutral.getType();
  return !plan->lane && !plan->isScalar &&
         isa<arith::MaximumFOp, arith::MinimumFOp>(combiner.op) &&
         (type.isF32() || type.isF64());
}

/// The greater or less of two, the second one where the first one is NaN.
Value RowEmitter::chooseExtreme(linalg::LinalgOp op, Value lhs, Value rhs) {
  bool isMaximum = isa<arith::MaximumFOp>(getCombiner(op)->op);
  Value isFirst = arith::CmpFOp::create(*builder,
                                        isMaximum ? arith::CmpFPredicate::OGT
                                                  : arith::CmpFPredicate::OLT,
                                        lhs, rhs);
  return arith::SelectOp::create(*builder, isFirst, lhs, rhs);
}

/// Clears the flags of lanes in which there is a NaN.
Value RowEmitter::updateFlag(Value flag, Value lhs, Value rhs, Value mask) {
  Value isNumber =
      arith::CmpFOp::create(*builder, arith::CmpFPredicate::ORD, lhs, rhs);
  if (mask)
    isNumber = arith::SelectOp::create(*builder, mask, isNumber, flag);
  return arith::AndIOp::create(*builder, flag, isNumber);
}

//===----------------------------------------------------------------------===//
// Elements and their reductions
//===----------------------------------------------------------------------===//

/// One vector of elements: the accumulators, and behind them what flags are of.
/// All is read before anything is written, as an output may be an input.
SmallVector<Value>
RowEmitter::computeElements(const RowPlan::Loop &loop, Scope &scope,
                            ValueRange accumulators,
                            SmallVectorImpl<Value> &written) {
  SmallVector<Value> results, elements;
  for (auto [reduction, accumulator] :
       llvm::zip(loop.reductions, accumulators)) {
    linalg::LinalgOp op = reduction;
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(op.isDpsInit(&operand)
                             ? accumulator
                             : evaluateOperand(operand, scope));
    Value result = compute(op, operands, scope).front();
    if (hasFlags(op)) {
      Operation *combined = result.getDefiningOp();
      Value lhs = combined->getOperand(0), rhs = combined->getOperand(1);
      elements.push_back(lhs == accumulator ? rhs : lhs);
      result = chooseExtreme(op, elements.back(), accumulator);
      combined->erase();
    } else {
      ignoreSignOfZero(result.getDefiningOp());
    }
    if (scope.mask)
      result =
          arith::SelectOp::create(*builder, scope.mask, result, accumulator);
    results.push_back(result);
  }
  for (unsigned output : loop.outputs)
    written.push_back(evaluate(space.outputs[output].value, scope));
  for (Value value : loop.stored)
    written.push_back(evaluate(value, scope));
  results.append(elements);
  return results;
}

void RowEmitter::storeElements(const RowPlan::Loop &loop, Scope &scope,
                               ArrayRef<Value> written) {
  size_t numOutputs = loop.outputs.size();
  for (auto [value, element] :
       llvm::zip(loop.stored, written.drop_front(numOutputs)))
    storeVector(element, bufferMemory[value], getBufferAddress(value, scope),
                scope);
  for (auto [output, value] :
       llvm::zip(loop.outputs, written.take_front(numOutputs)))
    store(value, space.outputs[output].place, scope);
}

Value RowEmitter::combine(const Combiner &combiner, Value lhs, Value rhs) {
  IRMapping mapping;
  mapping.map(combiner.op->getOperand(0), lhs);
  mapping.map(combiner.op->getOperand(1), rhs);
  Operation *result = builder->clone(*combiner.op, mapping);
  result->getResult(0).setType(lhs.getType());
  return result->getResult(0);
}

/// Combines the lanes of an accumulator.
Value RowEmitter::combineLanes(linalg::LinalgOp op, Value accumulator,
                               ValueRange flags) {
  using Kind = vector::CombiningKind;
  Combiner combiner = *getCombiner(op);
  Type type = combiner.neutral.getType();
  auto reassoc = arith::FastMathFlags::reassoc;
  if (!hasFlags(op)) {
    // Of the zeros that add nothing, this is the one that is left out.
    if (combiner.kind == Kind::ADD && isa<FloatType>(type))
      return vector::ReductionOp::create(
          *builder, combiner.kind, accumulator,
          arith::ConstantOp::create(*builder,
                                    builder->getFloatAttr(type, -0.0)),
          reassoc);
    return vector::ReductionOp::create(
        *builder, combiner.kind, accumulator,
        isa<FloatType>(type) ? reassoc : arith::FastMathFlags::none);
  }
  bool isMaximum = combiner.kind == Kind::MAXIMUMF;
  Value result = vector::ReductionOp::create(
      *builder, isMaximum ? Kind::MAXNUMF : Kind::MINNUMF, accumulator,
      reassoc | arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
  Value flag = flags.front();
  for (Value other : flags.drop_front())
    flag = arith::AndIOp::create(*builder, flag, other);
  Value areNumbers = vector::ReductionOp::create(*builder, Kind::AND, flag);
  auto nan = llvm::APFloat::getNaN(cast<FloatType>(type).getFloatSemantics());
  return arith::SelectOp::create(
      *builder, areNumbers, result,
      arith::ConstantOp::create(*builder, builder->getFloatAttr(type, nan)));
}

/// Combines accumulators, their lanes, and what the reduction starts with.
/// Rows that are worked on together have an accumulator each.
void RowEmitter::finishReduction(linalg::LinalgOp op, ValueRange accumulators,
                                 ValueRange flags) {
  Combiner combiner = *getCombiner(op);
  OpOperand &start = *op.getDpsInitOperand(0);
  SmallVector<Value> values(accumulators);
  if (plan->lane) {
    for (auto [row, value] : llvm::zip(rows, values)) {
      VectorBody body(*builder, plan->lanes);
      Value first = body.broadcast(evaluateOperand(start, row));
      row.values[op->getResult(0)] = combine(combiner, first, value);
    }
    return;
  }
  for (; values.size() > 1; values.resize(values.size() / 2))
    for (size_t i = 0, half = values.size() / 2; i < half; ++i)
      values[i] = hasFlags(op) ? chooseExtreme(op, values[i], values[half + i])
                               : combine(combiner, values[i], values[half + i]);
  Value result =
      plan->isScalar ? values.front() : combineLanes(op, values.front(), flags);
  Scope &row = rows.front();
  Value first = evaluateOperand(start, row);
  // Accumulators start with what adds nothing, so this is in them.
  Attribute constant;
  bool isNeutral = matchPattern(first, m_Constant(&constant)) &&
                   constant == Attribute(combiner.neutral);
  row.values[op->getResult(0)] =
      isNeutral ? result : combine(combiner, first, result);
}

//===----------------------------------------------------------------------===//
// The classes
//===----------------------------------------------------------------------===//

void RowEmitter::emit(ImplicitLocOpBuilder &builder, ValueRange arguments) {
  this->builder = &builder;
  this->arguments = arguments;
  emitScalars();
  emitFlatParameters();
  anchor = index(0).getDefiningOp();
  if (!narrow)
    return emitRows();
  Value size = getSize(plan->loops.front().dims.back());
  int64_t most = narrow->plan->getLongestFlatRow();
  if (plan->tileDim) {
    size = builder.createOrFold<arith::MinUIOp>(getSize(*plan->tileDim), size);
    most = RowPlan::kNarrow - 1;
  }
  IndexBuilder b(builder.getLoc(), builder);
  b.branch(
      b.isAtMost(size, most),
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

static std::unique_ptr<RowPlan> makePlan(func::FuncOp kernel,
                                         const TargetModel &target,
                                         bool hasReductions,
                                         bool isScalar = false) {
  if (llvm::any_of(kernel.getOps<linalg::LinalgOp>(), reduces) != hasReductions)
    return nullptr;
  std::unique_ptr<KernelSpace> space = KernelSpace::analyze(kernel);
  return space ? RowPlan::make(std::move(space), target, isScalar) : nullptr;
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
                      /*isScalar=*/true);
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
  return plan ? std::make_unique<RowEmitter>(std::move(plan)) : nullptr;
}
