//===- GenericEmitter.cpp - Vectorized loops of any operation ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericEmitter.h"

#include "VectorBody.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// How many elements without reductions are one iteration.
static constexpr int64_t kChunk = 4096;

/// How many vectors of a row, and at least of results, are reduced together.
static constexpr unsigned kUnroll = 4;

static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

const GenericEmitter::Memory &GenericEmitter::getMemory(IndexBuilder &b,
                                                        Value memref) {
  auto [it, isNew] = memories.try_emplace(memref);
  Memory &memory = it->second;
  if (!isNew)
    return memory;
  auto type = cast<MemRefType>(memref.getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  auto toValue = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), number);
  };
  memory.offset = toValue(metadata.getConstifiedMixedOffset());
  Value size = b.add(memory.offset, 1);
  for (auto [count, stride] : llvm::zip(metadata.getConstifiedMixedSizes(),
                                        metadata.getConstifiedMixedStrides())) {
    memory.strides.push_back(toValue(stride));
    Value last = b.sub(toValue(count), b.index(1));
    size = b.add(size, b.mul(last, memory.strides.back()));
  }
  auto flat =
      MemRefType::get({ShapedType::kDynamic}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  memory.elements = memref::ReinterpretCastOp::create(
      b, flat, metadata.getBaseBuffer(), b.getIndexAttr(0),
      ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  return memory;
}

/// Where the element of the first lane is. What changes most comes last.
Value GenericEmitter::getAddress(IndexBuilder &b, OpOperand &operand) {
  const Memory &memory = memories.find(operand.get())->second;
  SmallVector<unsigned> order(plan.parallel);
  order.push_back(plan.vectorDim);
  llvm::append_range(order, plan.reductions);
  SmallVector<LinearIndex> indices;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (AffineExpr expr : map.getResults())
    indices.push_back(*LinearIndex::get(expr, op.getNumLoops()));
  Value address = memory.offset;
  for (auto [index, stride] : llvm::zip(indices, memory.strides))
    if (index.constant != 0)
      address = b.add(address, b.mul(stride, index.constant));
  for (unsigned dim : order)
    for (auto [index, stride] : llvm::zip(indices, memory.strides))
      if (int64_t factor = index.factors[dim])
        address = b.add(address, b.mul(positions[dim], b.mul(stride, factor)));
  return address;
}

/// The distance of lanes in memory.
Value GenericEmitter::getLaneStep(IndexBuilder &b, OpOperand &operand) {
  const Memory &memory = memories.find(operand.get())->second;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Value step = b.index(0);
  for (auto [expr, stride] : llvm::zip(map.getResults(), memory.strides)) {
    LinearIndex index = *LinearIndex::get(expr, op.getNumLoops());
    if (int64_t factor = index.factors[plan.vectorDim])
      step = b.add(step, b.mul(stride, factor));
  }
  return step;
}

static Value splat(IndexBuilder &b, int64_t lanes, TypedAttr value) {
  auto type = VectorType::get({lanes}, value.getType());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}

/// Elements at `address + steps[i]`, where the mask is set; zero elsewhere.
static Value gather(IndexBuilder &b, Value elements, Value address, Value steps,
                    Value mask) {
  Type element = cast<MemRefType>(elements.getType()).getElementType();
  int64_t lanes = cast<VectorType>(steps.getType()).getDimSize(0);
  if (!mask)
    mask = splat(b, lanes, b.getBoolAttr(true));
  return vector::GatherOp::create(b, VectorType::get({lanes}, element),
                                  elements, ValueRange{address}, steps, mask,
                                  splat(b, lanes, b.getZeroAttr(element)));
}

/// `lanes` elements from `address` on.
Value GenericEmitter::loadWhole(IndexBuilder &b, Value elements, Value address,
                                Value mask) {
  Type element = cast<MemRefType>(elements.getType()).getElementType();
  auto type = VectorType::get({plan.lanes}, element);
  if (!mask)
    return vector::LoadOp::create(b, type, elements, ValueRange{address});
  return vector::MaskedLoadOp::create(
      b, type, elements, ValueRange{address}, mask,
      splat(b, plan.lanes, b.getZeroAttr(element)));
}

/// The lanes of a vector in another order.
static Value shuffle(IndexBuilder &b, Value vector,
                     llvm::function_ref<int64_t(int64_t)> from) {
  SmallVector<int64_t> order;
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.push_back(from(lane));
  return vector::ShuffleOp::create(b, vector, vector, order);
}

/// Lanes go down from `address`.
Value GenericEmitter::loadReversed(IndexBuilder &b, Value elements,
                                   Value address, Value mask) {
  int64_t last = plan.lanes - 1;
  auto reverse = [&](int64_t lane) { return last - lane; };
  Value values = loadWhole(b, elements, b.sub(address, b.index(last)),
                           mask ? shuffle(b, mask, reverse) : mask);
  return shuffle(b, values, reverse);
}

/// Two vectors, which end with the last one of these elements.
Value GenericEmitter::loadEverySecond(IndexBuilder &b, Value elements,
                                      Value address, Value mask) {
  int64_t lanes = plan.lanes, half = lanes / 2;
  Value middle = b.add(address, lanes - 1);
  Value lowMask, highMask;
  if (mask) {
    // Lane i is in the middle of what it alone needs.
    SmallVector<bool> even, odd;
    for (int64_t i = 0; i < lanes; ++i) {
      even.push_back(i % 2 == 0);
      odd.push_back(i % 2 == 1);
    }
    auto type = VectorType::get({lanes}, b.getI1Type());
    auto spread = [&](ArrayRef<bool> places, int64_t first) -> Value {
      Value wanted =
          arith::ConstantOp::create(b, DenseElementsAttr::get(type, places));
      return arith::AndIOp::create(b, wanted, shuffle(b, mask, [&](int64_t i) {
                                     return first + i / 2;
                                   }));
    };
    lowMask = spread(even, 0);
    highMask = spread(odd, half);
  }
  Value low = loadWhole(b, elements, address, lowMask);
  Value high = loadWhole(b, elements, middle, highMask);
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < half; ++i)
    order.push_back(2 * i);
  for (int64_t i = half; i < lanes; ++i)
    order.push_back(lanes + 2 * i - (lanes - 1));
  return vector::ShuffleOp::create(b, low, high, order);
}

Value GenericEmitter::loadLanes(IndexBuilder &b, Value elements, Value address,
                                Value step, Value mask) {
  std::optional<int64_t> known = getConstantIntValue(step);
  if (known == -1)
    return loadReversed(b, elements, address, mask);
  if (known == 2)
    return loadEverySecond(b, elements, address, mask);
  if (known != 1)
    return gather(b, elements, address, asVector(b, {b.index(0), step}), mask);
  return loadWhole(b, elements, address, mask);
}

/// A vector, or a scalar where all lanes read the same element.
Value GenericEmitter::loadOperand(IndexBuilder &b, OpOperand &operand,
                                  const Place &place) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  if (Value known = hoisted.lookup(&operand))
    return known;
  Value elements = memories.find(operand.get())->second.elements;
  Value address = getAddress(b, operand);
  if (plan.getLaneStride(operand) == 0 && !op.isDpsInit(&operand))
    return memref::LoadOp::create(b, elements, address);
  return loadLanes(b, elements, address, getLaneStep(b, operand), place.mask);
}

void GenericEmitter::storeResult(IndexBuilder &b, OpOperand &operand,
                                 Value value, const Place &place) {
  Value elements = memories.find(operand.get())->second.elements;
  Value address = getAddress(b, operand);
  if (place.mask)
    vector::MaskedStoreOp::create(b, elements, ValueRange{address}, place.mask,
                                  value);
  else
    vector::StoreOp::create(b, value, elements, ValueRange{address});
}

/// What an inner loop reads again and again.
void GenericEmitter::hoistOperands(IndexBuilder &b) {
  hoisted.clear();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!op.payloadUsesValueFromOperand(operand) ||
        plan.getLaneStride(*operand) != 0)
      continue;
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (llvm::none_of(plan.reductions,
                      [&](unsigned dim) { return map.isFunctionOfDim(dim); }))
      hoisted[operand] = loadOperand(b, *operand, Place());
  }
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

GenericEmitter::Lanes GenericEmitter::lookup(Value value) const {
  auto it = values.find(value);
  return it == values.end() ? Lanes{value, Value()} : it->second;
}

Value GenericEmitter::asVector(IndexBuilder &b, Lanes lanes) {
  Value base = VectorBody(b, plan.lanes).broadcast(lanes.value);
  if (!lanes.step)
    return base;
  auto type = VectorType::get({plan.lanes}, b.getIndexType());
  Value steps = vector::StepOp::create(b, type);
  if (getConstantIntValue(lanes.step) != 1)
    steps = arith::MulIOp::create(
        b, steps, vector::BroadcastOp::create(b, type, lanes.step));
  if (getConstantIntValue(lanes.value) == 0)
    return steps;
  return arith::AddIOp::create(b, base, steps);
}

Value GenericEmitter::materialize(IndexBuilder &b, Value value) {
  Lanes lanes = lookup(value);
  return lanes.step ? asVector(b, lanes) : lanes.value;
}

/// Indices that grow step by step stay so under sums and products.
bool GenericEmitter::computeSteps(IndexBuilder &b, Operation &inner) {
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(inner))
    return false;
  Lanes lhs = lookup(inner.getOperand(0)), rhs = lookup(inner.getOperand(1));
  if (isVector(lhs.value) || isVector(rhs.value) || (!lhs.step && !rhs.step))
    return false;
  Value zero = b.index(0);
  Value left = lhs.step ? lhs.step : zero, right = rhs.step ? rhs.step : zero;
  Lanes &result = values[inner.getResult(0)];
  if (isa<arith::AddIOp>(inner))
    result = {b.add(lhs.value, rhs.value), b.add(left, right)};
  else if (isa<arith::SubIOp>(inner))
    result = {b.sub(lhs.value, rhs.value), b.sub(left, right)};
  else if (lhs.step && rhs.step)
    return false;
  else if (lhs.step)
    result = {b.mul(lhs.value, rhs.value), b.mul(left, rhs.value)};
  else
    result = {b.mul(lhs.value, rhs.value), b.mul(lhs.value, right)};
  return true;
}

void GenericEmitter::computeLoad(IndexBuilder &b, memref::LoadOp load,
                                 const Place &place) {
  const Memory &memory = memories.find(load.getMemref())->second;
  Value address = memory.offset, step, steps;
  auto addTo = [&](Value &sum, Value term) {
    sum = sum ? b.add(sum, term) : term;
  };
  for (auto [index, stride] : llvm::zip(load.getIndices(), memory.strides)) {
    Lanes lanes = lookup(index);
    if (isVector(lanes.value)) {
      Value factor = VectorBody(b, plan.lanes).broadcast(stride);
      addTo(steps, b.mul(lanes.value, factor));
      continue;
    }
    address = b.add(address, b.mul(lanes.value, stride));
    if (lanes.step)
      addTo(step, b.mul(lanes.step, stride));
  }
  Value mask = place.getMask();
  // A step of 0 is one of no lanes.
  if (step && getConstantIntValue(step) == 0)
    step = Value();
  Value result;
  if (steps) {
    if (step)
      steps = b.add(steps, asVector(b, {b.index(0), step}));
    result = gather(b, memory.elements, address, steps, mask);
  } else if (plan.isVarying(load.getResult())) {
    // Where all lanes read the same element, some may not read it at all.
    result =
        loadLanes(b, memory.elements, address, step ? step : b.index(0), mask);
  } else {
    result = memref::LoadOp::create(b, memory.elements, address);
  }
  values[load.getResult()] = {result, Value()};
}

void GenericEmitter::computeIf(IndexBuilder &b, scf::IfOp branch,
                               const Place &place) {
  if (branch.getNumResults() == 0)
    return; // Nothing in it has effects.
  Value condition = materialize(b, branch.getCondition());
  if (isVector(condition)) {
    auto restrict = [&](Value mask) {
      Place inner = place;
      inner.conditionMask =
          place.getMask()
              ? Value(arith::AndIOp::create(b, mask, place.getMask()))
              : mask;
      return inner;
    };
    Value all = splat(b, plan.lanes, b.getBoolAttr(true));
    computeBlock(b, *branch.thenBlock(), restrict(condition));
    computeBlock(b, *branch.elseBlock(),
                 restrict(arith::XOrIOp::create(b, condition, all)));
    for (auto [result, lhs, rhs] :
         llvm::zip(branch.getResults(), branch.thenYield().getOperands(),
                   branch.elseYield().getOperands())) {
      Value selected = arith::SelectOp::create(
          b, condition, asVector(b, lookup(lhs)), asVector(b, lookup(rhs)));
      values[result] = {selected, Value()};
    }
    return;
  }
  SmallVector<Type> types;
  for (Value result : branch.getResults())
    types.push_back(plan.isVarying(result)
                        ? VectorType::get({plan.lanes}, result.getType())
                        : result.getType());
  auto emitted = scf::IfOp::create(b, types, condition, /*addThenBlock=*/true,
                                   /*addElseBlock=*/true);
  for (auto [from, to] : {std::pair(branch.thenBlock(), emitted.thenBlock()),
                          std::pair(branch.elseBlock(), emitted.elseBlock())}) {
    IndexBuilder inside = b;
    inside.setInsertionPointToStart(to);
    computeBlock(inside, *from, place);
    SmallVector<Value> yielded;
    for (auto [result, value] :
         llvm::zip(branch.getResults(), from->getTerminator()->getOperands()))
      yielded.push_back(plan.isVarying(result) ? asVector(inside, lookup(value))
                                               : materialize(inside, value));
    scf::YieldOp::create(inside, yielded);
  }
  for (auto [result, value] :
       llvm::zip(branch.getResults(), emitted.getResults()))
    values[result] = {value, Value()};
}

void GenericEmitter::computeOp(IndexBuilder &b, Operation &inner,
                               const Place &place) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    unsigned dim = index.getDim();
    Value step = dim == plan.vectorDim ? b.index(1) : Value();
    values[index.getResult()] = {positions[dim], step};
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(inner))
    return computeLoad(b, load, place);
  if (auto branch = dyn_cast<scf::IfOp>(inner))
    return computeIf(b, branch, place);
  if (computeSteps(b, inner))
    return;
  VectorBody body(b, plan.lanes);
  body.mask = place.getMask();
  IRMapping operands;
  for (Value operand : inner.getOperands())
    operands.map(operand, materialize(b, operand));
  // A scalar would trap for lanes that do not count.
  if (inner.getNumOperands() != 0 && plan.isVarying(inner.getResult(0)))
    operands.map(inner.getOperand(0),
                 body.broadcast(operands.lookup(inner.getOperand(0))));
  values[inner.getResult(0)] = {body.compute(inner, operands), Value()};
}

void GenericEmitter::computeBlock(IndexBuilder &b, Block &block,
                                  const Place &place) {
  for (Operation &inner : block.without_terminator())
    computeOp(b, inner, place);
}

/// The vectors that the body yields for one vector of elements.
SmallVector<Value> GenericEmitter::computeBody(IndexBuilder &b,
                                               ValueRange accumulators,
                                               const Place &place) {
  values.clear();
  Block &body = op->getRegion(0).front();
  for (OpOperand *operand : op.getDpsInputOperands())
    if (op.payloadUsesValueFromOperand(operand))
      values[op.getMatchingBlockArgument(operand)] = {
          loadOperand(b, *operand, place), Value()};
  for (auto [argument, value] :
       llvm::zip(op.getRegionOutputArgs(), accumulators))
    values[argument] = {value, Value()};
  computeBlock(b, body, place);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return asVector(b, lookup(value)); });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> GenericEmitter::emitReductions(IndexBuilder &b,
                                                  unsigned depth,
                                                  ArrayRef<Value> bases,
                                                  Place place,
                                                  ValueRange accumulators) {
  if (depth < plan.reductions.size()) {
    unsigned dim = plan.reductions[depth];
    return b.reduce(b.index(0), sizes[dim], 1, accumulators,
                    [&](IndexBuilder &inside, Value i, ValueRange carried) {
                      positions[dim] = i;
                      return emitReductions(inside, depth + 1, bases, place,
                                            carried);
                    });
  }
  SmallVector<Value> results;
  unsigned numInits = op.getNumDpsInits();
  for (auto [number, base] : llvm::enumerate(bases)) {
    positions[plan.vectorDim] = base;
    llvm::append_range(
        results,
        computeBody(b, accumulators.slice(number * numInits, numInits), place));
  }
  return results;
}

/// Whole vectors, one or several, or one of which some lanes are there.
void GenericEmitter::emitBlock(IndexBuilder &b, Value base, unsigned unroll,
                               Value mask) {
  Place place{mask, Value()};
  SmallVector<Value> bases, accumulators;
  for (unsigned number = 0; number < unroll; ++number)
    bases.push_back(b.add(base, number * plan.lanes));
  for (Value position : bases)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      positions[plan.vectorDim] = position;
      Type type = getElementTypeOrSelf(init.get().getType());
      accumulators.push_back(op.payloadUsesValueFromOperand(&init) ||
                                     !plan.reductions.empty()
                                 ? loadOperand(b, init, place)
                                 : splat(b, plan.lanes, b.getZeroAttr(type)));
    }
  SmallVector<Value> results = emitReductions(b, 0, bases, place, accumulators);
  unsigned number = 0;
  for (Value position : bases)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      positions[plan.vectorDim] = position;
      storeResult(b, init, results[number++], place);
    }
}

void GenericEmitter::emitVectors(IndexBuilder &b, Value begin, Value end) {
  hoistOperands(b);
  auto isEmpty = [](Value from, Value to) {
    std::optional<int64_t> first = getConstantIntValue(from);
    return first && first == getConstantIntValue(to);
  };
  Value middle = begin;
  auto emitBlocks = [&](unsigned unroll) {
    int64_t step = plan.lanes * unroll;
    Value from = middle;
    Value rest = b.rem(b.sub(end, from), b.index(step));
    middle = b.sub(end, rest);
    if (!isEmpty(from, middle))
      b.loop(from, middle, step, [&](IndexBuilder &inside, Value base) {
        emitBlock(inside, base, unroll, Value());
      });
  };
  if (plan.reductions.empty())
    emitBlocks(1);
  else
    for (unsigned unroll = plan.unroll; unroll >= kUnroll; unroll /= 2)
      emitBlocks(unroll);
  if (!isEmpty(middle, end))
    b.loop(middle, end, plan.lanes, [&](IndexBuilder &inside, Value base) {
      auto type = VectorType::get({plan.lanes}, b.getI1Type());
      Value mask = vector::CreateMaskOp::create(
          inside, type, ValueRange{inside.sub(end, base)});
      emitBlock(inside, base, 1, mask);
    });
}

/// Combines the lanes of accumulators one after the other.
SmallVector<Value> GenericEmitter::combineLanes(IndexBuilder &b,
                                                ValueRange accumulators) {
  auto getLane = [&](IndexBuilder &inside, OpFoldResult lane) {
    return llvm::map_to_vector(accumulators, [&](Value vector) -> Value {
      return vector::ExtractOp::create(inside, vector, lane);
    });
  };
  return b.reduce(
      b.index(1), b.index(plan.lanes), 1, getLane(b, b.getIndexAttr(0)),
      [&](IndexBuilder &inside, Value lane, ValueRange carried) {
        VectorBody body(inside, plan.lanes);
        return plan.row->combine(body, inside, carried, getLane(inside, lane));
      });
}

/// Lanes reduce a part of the row each, several vectors of them.
void GenericEmitter::emitRow(IndexBuilder &b) {
  hoistOperands(b);
  unsigned numInits = op.getNumDpsInits();
  std::optional<TypedAttr> neutral = plan.row->getNeutral();
  SmallVector<Value> starts, firsts;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    const Memory &memory = memories.find(init.get())->second;
    starts.push_back(
        memref::LoadOp::create(b, memory.elements, getAddress(b, init)));
    firsts.push_back(neutral
                         ? splat(b, plan.lanes, *neutral)
                         : VectorBody(b, plan.lanes).broadcast(starts.back()));
  }
  SmallVector<Value> accumulators;
  for (unsigned number = 0; number < kUnroll; ++number)
    llvm::append_range(accumulators, firsts);
  int64_t step = plan.lanes * kUnroll;
  Value size = sizes[plan.vectorDim];
  Value middle = b.sub(size, b.rem(size, b.index(step)));
  accumulators = b.reduce(
      b.index(0), middle, step, accumulators,
      [&](IndexBuilder &inside, Value base, ValueRange carried) {
        SmallVector<Value> results;
        for (unsigned number = 0; number < kUnroll; ++number) {
          positions[plan.vectorDim] = inside.add(base, number * plan.lanes);
          llvm::append_range(
              results,
              computeBody(inside, carried.slice(number * numInits, numInits),
                          Place()));
        }
        return results;
      });
  VectorBody body(b, plan.lanes);
  ArrayRef<Value> parts = accumulators;
  SmallVector<Value> total(parts.take_front(numInits));
  for (unsigned number = 1; number < kUnroll; ++number)
    total = plan.row->combine(
        body, b, total,
        ArrayRef(accumulators).slice(number * numInits, numInits));
  total =
      b.reduce(middle, size, plan.lanes, total,
               [&](IndexBuilder &inside, Value base, ValueRange carried) {
                 auto type = VectorType::get({plan.lanes}, inside.getI1Type());
                 Value mask = vector::CreateMaskOp::create(
                     inside, type, ValueRange{inside.sub(size, base)});
                 positions[plan.vectorDim] = base;
                 SmallVector<Value> results =
                     computeBody(inside, carried, Place{mask, Value()});
                 for (auto [result, old] : llvm::zip(results, carried))
                   result = arith::SelectOp::create(inside, mask, result, old);
                 return results;
               });
  total = combineLanes(b, total);
  if (neutral)
    total = plan.row->combine(body, b, starts, total);
  for (auto [init, value] : llvm::zip(op.getDpsInitsMutable(), total)) {
    const Memory &memory = memories.find(init.get())->second;
    memref::StoreOp::create(b, value, memory.elements, getAddress(b, init));
  }
}

/// How many elements along the loop of vectors are one iteration; 0: all.
int64_t GenericEmitter::getPart() const {
  if (plan.row)
    return 0;
  int64_t part = plan.reductions.empty() ? kChunk : plan.lanes * plan.unroll;
  std::optional<int64_t> size = getConstantIntValue(sizes[plan.vectorDim]);
  return !size || *size > part ? part : 0;
}

/// A thread is worth some microseconds of work.
int64_t GenericEmitter::getGrain() const {
  auto getSize = [&](unsigned dim, int64_t unknown) {
    return std::max<int64_t>(getConstantIntValue(sizes[dim]).value_or(unknown),
                             1);
  };
  int64_t elements = getSize(plan.vectorDim, 512);
  if (int64_t part = getPart())
    elements = std::min(elements, part);
  for (unsigned dim : plan.reductions)
    elements *= getSize(dim, 64);
  return std::max<int64_t>((1 << 18) / (elements * (plan.cost + 8)), 1);
}

void GenericEmitter::prepare(IndexBuilder &b) {
  positions.assign(op.getNumLoops(), b.index(0));
  for (const Range &range : op.createLoopRanges(b, b.getLoc()))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, b.getLoc(), range.size));
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      getMemory(b, operand);
  op->getRegion(0).walk(
      [&](memref::LoadOp load) { getMemory(b, load.getMemref()); });
}

void GenericEmitter::emit(IndexBuilder &b) {
  prepare(b);
  SmallVector<unsigned> outer;
  for (unsigned dim : plan.parallel)
    if (getConstantIntValue(sizes[dim]) != 1)
      outer.push_back(dim);
  unsigned vectorDim = plan.vectorDim;
  Value numParts, count = b.index(1);
  int64_t part = getPart();
  if (part)
    count = numParts = b.ceilDiv(sizes[vectorDim], b.index(part));
  for (unsigned dim : outer)
    count = b.mul(count, sizes[dim]);
  auto emitIteration = [&](IndexBuilder &inside, Value index) {
    Value begin = inside.index(0), end = sizes[vectorDim];
    if (part) {
      Value number = outer.empty() ? index : inside.rem(index, numParts);
      begin = inside.mul(number, part);
      end = inside.min(inside.add(begin, part), end);
      index = outer.empty() ? index : inside.floorDiv(index, numParts);
    }
    for (unsigned dim : llvm::reverse(outer)) {
      bool isLast = dim == outer.front();
      positions[dim] = isLast ? index : inside.rem(index, sizes[dim]);
      index = isLast ? index : inside.floorDiv(index, sizes[dim]);
    }
    if (plan.row)
      emitRow(inside);
    else
      emitVectors(inside, begin, end);
  };
  if (outer.empty() && !part)
    emitIteration(b, b.index(0));
  else if (op->getParentOfType<scf::ParallelOp>())
    b.loop(b.index(0), count, 1, emitIteration);
  else
    b.parallel(count, getGrain(), emitIteration);
}
