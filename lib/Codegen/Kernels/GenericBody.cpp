//===- GenericBody.cpp - Vectorized bodies, generic route -------*- C++ -*-===//
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

GenericEmitter::Lanes GenericEmitter::lookup(Value value) const {
  auto it = values.find(value);
  return it == values.end() ? Lanes{value, Value()} : it->second;
}

Value GenericEmitter::asVector(IndexBuilder &b, Lanes lanes) {
  Value base = VectorBody(b, plan.lanes).broadcast(lanes.value);
  auto type = VectorType::get({plan.lanes}, b.getIndexType());
  if (lanes.offsets)
    return arith::AddIOp::create(
        b, base, arith::IndexCastOp::create(b, type, lanes.offsets));
  if (!lanes.step)
    return base;
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
  return lanes.step || lanes.offsets ? asVector(b, lanes) : lanes.value;
}

/// Indices that grow step by step stay so under sums and products.
bool GenericEmitter::computeSteps(IndexBuilder &b, Operation &inner) {
  if (plan.isWrapped(inner)) {
    values[inner.getResult(0)] = {b.sub(positions[plan.vectorDim], wrapStart),
                                  b.index(1)};
    return true;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(inner))
    return false;
  Lanes lhs = lookup(inner.getOperand(0)), rhs = lookup(inner.getOperand(1));
  if (isVector(lhs.value) || isVector(rhs.value) || lhs.offsets ||
      rhs.offsets || (!lhs.step && !rhs.step))
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

/// Quotients and remainders of an index that grows by 1, by a number: the first
/// lane divides, and the others add what is small. Sums with them.
bool GenericEmitter::computeOffsets(IndexBuilder &b, Operation &inner) {
  if (isa<arith::AddIOp, arith::SubIOp>(inner)) {
    Lanes lhs = lookup(inner.getOperand(0)), rhs = lookup(inner.getOperand(1));
    if (isa<arith::AddIOp>(inner) && lhs.isUniform())
      std::swap(lhs, rhs);
    if (!lhs.offsets || !rhs.isUniform())
      return false;
    lhs.value = isa<arith::AddIOp>(inner) ? b.add(lhs.value, rhs.value)
                                          : b.sub(lhs.value, rhs.value);
    values[inner.getResult(0)] = lhs;
    return true;
  }
  if (!isa<arith::DivUIOp, arith::RemUIOp>(inner))
    return false;
  Lanes index = lookup(inner.getOperand(0));
  std::optional<int64_t> divisor = getConstantIntValue(inner.getOperand(1));
  if (!index.step || getConstantIntValue(index.step) != 1 || !divisor ||
      *divisor < 2 || *divisor > (1 << 30))
    return false;
  bool isQuotient = isa<arith::DivUIOp>(inner);
  Value number = b.index(*divisor);
  // Vectors begin at multiples of their length.
  bool isAligned = !plan.wrap && *divisor <= 64 && plan.lanes % *divisor == 0 &&
                   index.value == positions[plan.vectorDim];
  Lanes result;
  result.value = isQuotient ? b.floorDiv(index.value, number) : b.index(0);
  auto type = VectorType::get({plan.lanes}, b.getI32Type());
  Value places = vector::StepOp::create(
      b, VectorType::get({plan.lanes}, b.getIndexType()));
  places = arith::IndexCastOp::create(b, type, places);
  if (!isAligned) {
    Value first = arith::IndexCastOp::create(b, b.getI32Type(),
                                             b.rem(index.value, number));
    places = arith::AddIOp::create(b, places,
                                   vector::BroadcastOp::create(b, type, first));
  } else if (isQuotient) {
    result.repeats = *divisor;
  }
  Value divisors = splat(b, plan.lanes, b.getI32IntegerAttr(*divisor));
  result.offsets = isQuotient
                       ? Value(arith::DivUIOp::create(b, places, divisors))
                       : Value(arith::RemUIOp::create(b, places, divisors));
  values[inner.getResult(0)] = result;
  return true;
}

void GenericEmitter::computeLoad(IndexBuilder &b, memref::LoadOp load,
                                 const Place &place) {
  const FlatMemory &memory = memories.find(load.getMemref())->second;
  Value address = memory.offset, step, steps;
  Lanes offsets;
  auto indexType = VectorType::get({plan.lanes}, b.getIndexType());
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
    if (!lanes.offsets)
      continue;
    if (!offsets.offsets && getConstantIntValue(stride) == 1) {
      offsets = lanes;
      continue;
    }
    Value factor = VectorBody(b, plan.lanes).broadcast(stride);
    addTo(steps, b.mul(arith::IndexCastOp::create(b, indexType, lanes.offsets),
                       factor));
  }
  Value mask = place.getMask();
  // A step of 0 is one of no lanes.
  if (step && getConstantIntValue(step) == 0)
    step = Value();
  if (offsets.offsets && (steps || step)) {
    addTo(steps, arith::IndexCastOp::create(b, indexType, offsets.offsets));
    offsets = Lanes();
  }
  Value result;
  if (offsets.repeats && !place.conditionMask) {
    result = loadRepeated(b, memory.elements, address, offsets.repeats, mask);
  } else if (offsets.offsets) {
    result = gather(b, memory.elements, address, offsets.offsets, mask);
  } else if (steps) {
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
  if (computeSteps(b, inner) || computeOffsets(b, inner))
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
