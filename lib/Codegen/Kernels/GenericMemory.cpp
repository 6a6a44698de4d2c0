//===- GenericMemory.cpp - Loads and stores of any stride -------*- C++ -*-===//
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

/// Returns the address of the element of the first lane. The term that changes
/// most comes last.
Value GenericEmitter::getAddress(IndexBuilder &b, OpOperand &operand) {
  const FlatMemory &memory = memories.find(operand.get())->second;
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
  const FlatMemory &memory = memories.find(operand.get())->second;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Value step = b.index(0);
  for (auto [expr, stride] : llvm::zip(map.getResults(), memory.strides)) {
    LinearIndex index = *LinearIndex::get(expr, op.getNumLoops());
    if (int64_t factor = index.factors[plan.vectorDim])
      step = b.add(step, b.mul(stride, factor));
  }
  return step;
}

Value GenericEmitter::splat(IndexBuilder &b, int64_t lanes, TypedAttr value) {
  auto type = VectorType::get({lanes}, value.getType());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}

/// Elements at `address + steps[i]`, where the mask is set; zero elsewhere.
/// Without a mask they are loaded one by one, which few processors do slower.
Value GenericEmitter::gather(IndexBuilder &b, Value elements, Value address,
                             Value steps, Value mask) {
  Type element = cast<MemRefType>(elements.getType()).getElementType();
  int64_t lanes = cast<VectorType>(steps.getType()).getDimSize(0);
  auto type = VectorType::get({lanes}, element);
  if (mask)
    return vector::GatherOp::create(b, type, elements, ValueRange{address},
                                    steps, mask,
                                    splat(b, lanes, b.getZeroAttr(element)));
  SmallVector<Value> values;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value step = vector::ExtractOp::create(b, steps, lane);
    if (!step.getType().isIndex())
      step = arith::IndexCastOp::create(b, b.getIndexType(), step);
    values.push_back(memref::LoadOp::create(b, elements, b.add(address, step)));
  }
  return vector::FromElementsOp::create(b, type, values);
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

/// So many lanes share each of the elements from `address` on.
Value GenericEmitter::loadRepeated(IndexBuilder &b, Value elements,
                                   Value address, int64_t repeats, Value mask) {
  Type element = cast<MemRefType>(elements.getType()).getElementType();
  int64_t count = plan.lanes / repeats;
  auto type = VectorType::get({count}, element);
  Value values;
  if (mask) {
    SmallVector<int64_t> firsts;
    for (int64_t i = 0; i < count; ++i)
      firsts.push_back(i * repeats);
    values = vector::MaskedLoadOp::create(
        b, type, elements, ValueRange{address},
        vector::ShuffleOp::create(b, mask, mask, firsts),
        splat(b, count, b.getZeroAttr(element)));
  } else {
    values = vector::LoadOp::create(b, type, elements, ValueRange{address});
  }
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < plan.lanes; ++lane)
    order.push_back(lane / repeats);
  return vector::ShuffleOp::create(b, values, values, order);
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

/// Hoists the reads of operands that are invariant in an inner loop.
void GenericEmitter::hoistOperands(IndexBuilder &b) {
  hoisted.clear();
  if (!rows.empty())
    return;
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
