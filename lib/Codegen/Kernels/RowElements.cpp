//===- RowElements.cpp - Values and memory of row kernels -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowElements.h"

#include "VectorBody.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Booleans are bytes in memory.
static Value fromMemory(IndexBuilder &b, Value value, Type type) {
  if (!type.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
}

/// Whether an earlier loop has stored the elements of a value.
bool RowElements::isBuffered(Value value, const RowScope &scope) const {
  auto it = plan.buffers.find(value);
  return it != plan.buffers.end() && it->second.loop < scope.group->loop;
}

/// Computes what is the same for the whole row before a loop that needs it.
void RowElements::hoist(IndexBuilder &b, linalg::LinalgOp op,
                        RowScope &row) const {
  llvm::SmallSetVector<Operation *, 8> needed; // each one once, in a graph
  needed.insert(op);
  for (size_t i = 0; i < needed.size(); ++i) {
    auto reader = cast<linalg::LinalgOp>(needed[i]);
    for (OpOperand &operand : reader->getOpOperands()) {
      Value value = operand.get();
      if (!isa<TensorType>(value.getType()) ||
          !KernelSpace::isRead(reader, operand))
        continue;
      auto producer = value.getDefiningOp<linalg::LinalgOp>();
      if (producer ? plan.isUniform(producer)
                   : plan.isUniform(context.space.getAccess(operand)))
        evaluateOperand(b, operand, row);
      else if (producer && !isBuffered(value, row))
        needed.insert(producer);
    }
  }
}

Value RowElements::evaluate(IndexBuilder &b, Value value,
                            RowScope &scope) const {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  RowScope &place = plan.isUniform(op) ? scope.getRow() : scope;
  if (Value known = place.values.lookup(value))
    return known;
  if (place.row && isBuffered(value, place))
    place.values[value] =
        fromMemory(b, loadCopy(b, place.group->getBuffer(value), place),
                   getElementTypeOrSelf(value));
  else
    computeElementwise(b, op, place);
  return place.values.lookup(value);
}

Value RowElements::evaluateOperand(IndexBuilder &b, OpOperand &operand,
                                   RowScope &scope) const {
  Value value = operand.get();
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  if (!isa<TensorType>(value.getType()))
    return context.parameters.scalars.lookup(value);
  if (!KernelSpace::isRead(op, operand))
    return Value();
  if (KernelSpace::findParameter(value))
    return load(b, context.space.getAccess(operand), scope);
  return evaluate(b, value, scope);
}

void RowElements::computeElementwise(IndexBuilder &b, linalg::LinalgOp op,
                                     RowScope &scope) const {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(evaluateOperand(b, operand, scope));
  SmallVector<Value> results = compute(b, op, operands, scope);
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    scope.values[result] = value;
}

/// Whether a tensor that is read is the same for a whole row.
bool RowElements::isOfRow(OpOperand &operand) const {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  bool isAccumulator = context.space.isReduction(op) && op.isDpsInit(&operand);
  if (isAccumulator || !isa<TensorType>(operand.get().getType()) ||
      !KernelSpace::isRead(op, operand))
    return false;
  auto producer = operand.get().getDefiningOp<linalg::LinalgOp>();
  return producer ? plan.isUniform(producer)
                  : plan.isUniform(context.space.getAccess(operand));
}

SmallVector<Value> RowElements::compute(IndexBuilder &b, linalg::LinalgOp op,
                                        ValueRange operands,
                                        RowScope &scope) const {
  VectorBody body(b, plan.lanes);
  body.mask = scope.mask;
  body.useReciprocals = plan.hasReductions();
  if (scope.row && scope.group->sharesDivisors)
    for (auto [operand, value] : llvm::zip(op->getOpOperands(), operands))
      if (isOfRow(operand))
        body.rowValues.push_back(value);
  return body.compute(
      op, operands, context.parameters.scalars,
      [&](unsigned loop) { return getIndex(b, op, loop, scope); });
}

Value RowElements::getIndex(IndexBuilder &b, Operation *op, unsigned loop,
                            const RowScope &scope) const {
  std::optional<unsigned> dim = context.space.getLoopDim(op, loop);
  if (!dim)
    return b.index(0);
  Value position = scope.positions[*dim];
  if (!scope.isVector || *dim != scope.vectorDim)
    return position;
  Value first = vector::BroadcastOp::create(
      b, context.getVectorType(b.getIndexType()), position);
  return arith::AddIOp::create(b, first, getLaneOffsets(b, b.index(1)));
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value RowElements::getAddress(IndexBuilder &b, const Access &access,
                              const RowScope &scope) const {
  if (access.isWhole && scope.group && scope.group->start)
    return b.add(scope.group->start, scope.positions[scope.vectorDim]);
  Value address = b.index(0);
  for (auto [axis, offset] : llvm::enumerate(access.offsets))
    if (offset != 0)
      address = b.add(address, b.mul(b.index(offset),
                                     context.getStride(access.param, axis)));
  auto addTerm = [&](const Access::Term &term) {
    Value stride =
        b.mul(context.getStride(access.param, term.axis), term.factor);
    address = b.add(address, b.mul(scope.positions[term.dim], stride));
  };
  // The term that changes most comes last.
  for (const Access::Term &term : access.terms)
    if (term.dim != scope.vectorDim)
      addTerm(term);
  for (const Access::Term &term : access.terms)
    if (term.dim == scope.vectorDim)
      addTerm(term);
  return address;
}

Value RowElements::getAddress(IndexBuilder &b, const RowCopy &copy,
                              const RowScope &scope) const {
  Value address = b.index(0);
  for (const RowCopy::Dim &dim : copy.dims)
    address = b.add(b.mul(address, dim.size),
                    b.sub(scope.positions[dim.dim], dim.origin));
  address = b.add(b.mul(address, copy.numVectors), scope.number);
  address = b.mul(address, copy.lanes);
  return copy.place ? b.add(getAddress(b, *copy.place, scope), address)
                    : address;
}

/// The distance of lanes in memory; null where they are next to each other.
Value RowElements::getVectorStride(IndexBuilder &b, const Access &access,
                                   unsigned vectorDim) const {
  if (access.isContiguous(vectorDim))
    return Value();
  Value stride = b.index(0);
  for (const Access::Term &term : access.terms)
    if (term.dim == vectorDim)
      stride = b.add(stride, b.mul(context.getStride(access.param, term.axis),
                                   term.factor));
  return stride;
}

Value RowElements::getLaneOffsets(IndexBuilder &b, Value stride) const {
  VectorType type = context.getVectorType(b.getIndexType());
  Value steps = vector::StepOp::create(b, type);
  Value strides = vector::BroadcastOp::create(b, type, stride);
  return arith::MulIOp::create(b, steps, strides);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Value RowElements::getMask(IndexBuilder &b, const RowScope &scope) const {
  return scope.mask ? scope.mask : context.splat(b, b.getBoolAttr(true));
}

Value RowElements::loadVector(IndexBuilder &b, Value memref, Value address,
                              const RowScope &scope, bool isPadded) const {
  if (!scope.isVector)
    return memref::LoadOp::create(b, memref, address);
  VectorType type = context.getVectorType(
      cast<MemRefType>(memref.getType()).getElementType());
  if (!scope.mask || isPadded)
    return vector::LoadOp::create(b, type, memref, address);
  Value nothing = context.splat(b, b.getZeroAttr(type.getElementType()));
  return vector::MaskedLoadOp::create(b, type, memref, address, scope.mask,
                                      nothing);
}

Value RowElements::gather(IndexBuilder &b, Value memref, Value address,
                          Value stride, const RowScope &scope) const {
  VectorType type = context.getVectorType(
      cast<MemRefType>(memref.getType()).getElementType());
  if (plan.isScalar) {
    SmallVector<Value> elements;
    for (int64_t lane = 0; lane < plan.lanes; ++lane)
      elements.push_back(memref::LoadOp::create(
          b, memref, b.add(address, b.mul(stride, lane))));
    return vector::FromElementsOp::create(b, type, elements);
  }
  Value nothing = context.splat(b, b.getZeroAttr(type.getElementType()));
  return vector::GatherOp::create(b, type, memref, address,
                                  getLaneOffsets(b, stride), getMask(b, scope),
                                  nothing);
}

Value RowElements::loadParameter(IndexBuilder &b, const Access &access,
                                 const RowScope &scope) const {
  Value memref = context.getMemory(access);
  Value address = getAddress(b, access, scope);
  if (!scope.isVector || !access.uses(scope.vectorDim))
    return memref::LoadOp::create(b, memref, address);
  if (Value stride = getVectorStride(b, access, scope.vectorDim))
    return gather(b, memref, address, stride, scope);
  return loadVector(b, memref, address, scope);
}

Value RowElements::loadCopy(IndexBuilder &b, const RowCopy &copy,
                            const RowScope &scope) const {
  return loadVector(b, copy.memory, getAddress(b, copy, scope), scope,
                    copy.isPadded);
}

Value RowElements::load(IndexBuilder &b, const Access &access,
                        RowScope &scope) const {
  RowScope &place = plan.isUniform(access) ? scope.getRow() : scope;
  for (auto &[known, value] : place.loads)
    if (known == access)
      return value;
  const RowCopy *copy = place.group->findCopy(access);
  Value value =
      copy ? loadCopy(b, *copy, place) : loadParameter(b, access, place);
  value = fromMemory(b, value, access.getType().getElementType());
  place.loads.emplace_back(access, value);
  return value;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// A value as memory has it: a vector where elements are.
Value RowElements::toMemory(IndexBuilder &b, Value value, Type element,
                            const RowScope &scope) const {
  if (scope.isVector)
    value = VectorBody(b, plan.lanes).broadcast(value);
  if (!getElementTypeOrSelf(value).isInteger(1))
    return value;
  Type type = scope.isVector ? context.getVectorType(element) : element;
  return arith::ExtUIOp::create(b, type, value);
}

void RowElements::storeVector(IndexBuilder &b, Value value, Value memref,
                              Value address, const RowScope &scope,
                              bool isPadded) const {
  value = toMemory(b, value,
                   cast<MemRefType>(memref.getType()).getElementType(), scope);
  if (!scope.isVector)
    memref::StoreOp::create(b, value, memref, address);
  else if (scope.mask && !isPadded)
    vector::MaskedStoreOp::create(b, memref, address, scope.mask, value);
  else
    vector::StoreOp::create(b, value, memref, address);
}

void RowElements::storeCopy(IndexBuilder &b, Value value, const RowCopy &copy,
                            const RowScope &scope) const {
  storeVector(b, value, copy.memory, getAddress(b, copy, scope), scope,
              copy.isPadded);
}

void RowElements::storeBuffer(IndexBuilder &b, Value element, Value value,
                              const RowScope &scope) const {
  storeCopy(b, element, scope.group->getBuffer(value), scope);
}

void RowElements::store(IndexBuilder &b, Value value, const Access &access,
                        const RowScope &scope) const {
  if (const RowCopy *copy = scope.group->findCopy(access))
    return storeCopy(b, value, *copy, scope);
  Value memref = context.getMemory(access);
  Value address = getAddress(b, access, scope);
  Value stride =
      scope.isVector ? getVectorStride(b, access, scope.vectorDim) : Value();
  if (!stride)
    return storeVector(b, value, memref, address, scope);
  value = toMemory(b, value,
                   cast<MemRefType>(memref.getType()).getElementType(), scope);
  vector::ScatterOp::create(b, /*resultType=*/nullptr, memref, address,
                            getLaneOffsets(b, stride), getMask(b, scope),
                            value);
}
