//===- RowElements.cpp - Values and memory of row kernels -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates vectors of elements, and scalars that a row shares, and loads and
// stores them: contiguous, or strided by gathers and scatters.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Arithmetic of indices
//===----------------------------------------------------------------------===//

Value RowEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(*builder, value);
}

Value RowEmitter::add(Value lhs, Value rhs) {
  return builder->createOrFold<arith::AddIOp>(lhs, rhs);
}

Value RowEmitter::mul(Value lhs, Value rhs) {
  return builder->createOrFold<arith::MulIOp>(lhs, rhs);
}

/// A constant vector.
Value RowEmitter::splat(TypedAttr value) {
  return arith::ConstantOp::create(
      *builder, DenseElementsAttr::get(vectorType(value.getType()), value));
}

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
// Values
//===----------------------------------------------------------------------===//

bool RowEmitter::isInBuffer(Value value) const {
  auto it = plan->buffers.find(value);
  return it != plan->buffers.end() && it->second.loop < loopIndex;
}

/// Computes what is the same for the whole row before a loop that needs it.
void RowEmitter::hoist(linalg::LinalgOp op, Scope &row) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isa<TensorType>(value.getType()) || !KernelSpace::isRead(op, operand))
      continue;
    auto producer = value.getDefiningOp<linalg::LinalgOp>();
    if (producer ? plan->isUniform(producer)
                 : plan->isUniform(space.getAccess(operand)))
      evaluateOperand(operand, row);
    else if (producer && !isInBuffer(value))
      hoist(producer, row);
  }
}

Value RowEmitter::evaluate(Value value, Scope &scope) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  Scope &place = plan->isUniform(op) ? scope.getRow() : scope;
  if (Value known = place.values.lookup(value))
    return known;
  if (place.row && isInBuffer(value))
    place.values[value] = loadBuffer(value, place);
  else
    computeElementwise(op, place);
  return place.values.lookup(value);
}

Value RowEmitter::evaluateOperand(OpOperand &operand, Scope &scope) {
  Value value = operand.get();
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  if (!isa<TensorType>(value.getType()))
    return scalars.lookup(value);
  if (!KernelSpace::isRead(op, operand))
    return Value();
  if (isa<BlockArgument>(value))
    return load(space.getAccess(operand), scope);
  return evaluate(value, scope);
}

void RowEmitter::computeElementwise(linalg::LinalgOp op, Scope &scope) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(evaluateOperand(operand, scope));
  SmallVector<Value> results = compute(op, operands, scope);
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    scope.values[result] = value;
}

/// Whether a tensor that is read is the same for a whole row.
bool RowEmitter::isOfRow(OpOperand &operand) const {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  bool isAccumulator = space.isReduction(op) && op.isDpsInit(&operand);
  if (isAccumulator || !isa<TensorType>(operand.get().getType()) ||
      !KernelSpace::isRead(op, operand))
    return false;
  Operation *producer = operand.get().getDefiningOp();
  return producer ? plan->isUniform(producer)
                  : plan->isUniform(space.getAccess(operand));
}

SmallVector<Value> RowEmitter::compute(linalg::LinalgOp op, ValueRange operands,
                                       Scope &scope) {
  VectorBody body(*builder, plan->lanes);
  body.mask = scope.mask;
  body.useReciprocals = plan->hasReductions();
  // A reciprocal takes as long as some divisions.
  constexpr int64_t kWorthwhile = 6;
  if (plan->lane && scope.row &&
      !(plan->shortDim && plan->getShortSize() < kWorthwhile))
    for (auto [operand, value] : llvm::zip(op->getOpOperands(), operands))
      if (isOfRow(operand))
        body.rowValues.push_back(value);
  return body.compute(op, operands, scalars,
                      [&](unsigned loop) { return getIndex(op, loop, scope); });
}

Value RowEmitter::getIndex(Operation *op, unsigned loop, Scope &scope) {
  std::optional<unsigned> dim = space.getLoopDim(op, loop);
  if (!dim)
    return index(0);
  Value position = getPosition(*dim, scope);
  if (!scope.base || *dim != vectorDim)
    return position;
  auto type = vectorType(builder->getIndexType());
  Value first = vector::BroadcastOp::create(*builder, type, position);
  return arith::AddIOp::create(*builder, first, getLaneOffsets(index(1)));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The position of the first lane.
Value RowEmitter::getPosition(unsigned dim, Scope &scope) {
  return scope.base && dim == vectorDim ? scope.base : positions[dim];
}

/// The place of an element in its parameter, at the first lane.
Value RowEmitter::getAddress(const Access &access, Scope &scope) {
  if (plan->isFlat() && access.isWhole)
    return scope.base;
  if (rowBegin && access.isWhole)
    return add(rowBegin, getPosition(vectorDim, scope));
  Value address = index(0);
  for (auto [axis, offset] : llvm::enumerate(access.offsets))
    if (offset != 0)
      address = add(address, mul(index(offset), getStride(access.param, axis)));
  auto addTerm = [&](const Access::Term &term) {
    Value stride = mul(getStride(access.param, term.axis), index(term.factor));
    address = add(address, mul(getPosition(term.dim, scope), stride));
  };
  // The term that changes most comes last.
  for (const Access::Term &term : access.terms)
    if (term.dim != vectorDim)
      addTerm(term);
  for (const Access::Term &term : access.terms)
    if (term.dim == vectorDim)
      addTerm(term);
  return address;
}

Value RowEmitter::getBufferAddress(Value value, Scope &scope) {
  if (plan->shortDim)
    return getTileAddress();
  const RowPlan::Buffer &buffer = plan->buffers.find(value)->second;
  if (buffer.output)
    return getAddress(buffer.output->place, scope);
  Value address = index(0);
  for (unsigned dim : plan->loops[buffer.loop].dims)
    address = add(mul(address, getSize(dim)), getPosition(dim, scope));
  if (!plan->lane)
    return address;
  address = add(mul(address, index(rows.size())), index(scope.number));
  return mul(address, index(plan->lanes));
}

/// Booleans are bytes in memory.
Value RowEmitter::fromMemory(Value value, Type type) {
  if (!type.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(*builder,
                                         builder->getZeroAttr(value.getType()));
  return arith::CmpIOp::create(*builder, arith::CmpIPredicate::ne, value, zero);
}

/// Blocks of short rows have all lanes.
Value RowEmitter::loadBuffer(Value value, Scope &scope) {
  Scope all = scope;
  if (plan->shortDim)
    all.mask = Value();
  Value loaded =
      loadVector(bufferMemory[value], getBufferAddress(value, scope), all);
  return fromMemory(loaded, getElementTypeOrSelf(value));
}

void RowEmitter::storeBuffer(Value element, Value value, Scope &scope) {
  Scope all = scope;
  if (plan->shortDim)
    all.mask = Value();
  storeVector(element, bufferMemory[value], getBufferAddress(value, scope),
              all);
}

Value RowEmitter::getMask(Scope &scope) {
  if (scope.mask)
    return scope.mask;
  return splat(builder->getBoolAttr(true));
}

/// The distance of lanes in memory; null where they are next to each other.
Value RowEmitter::getVectorStride(const Access &access) {
  if (access.isContiguous(vectorDim))
    return Value();
  Value stride = index(0);
  for (const Access::Term &term : access.terms)
    if (term.dim == vectorDim)
      stride = add(stride,
                   mul(getStride(access.param, term.axis), index(term.factor)));
  return stride;
}

Value RowEmitter::getLaneOffsets(Value stride) {
  auto type = vectorType(builder->getIndexType());
  Value steps = vector::StepOp::create(*builder, type);
  Value strides = vector::BroadcastOp::create(*builder, type, stride);
  return arith::MulIOp::create(*builder, steps, strides);
}

Value RowEmitter::loadVector(Value memref, Value address, Scope &scope) {
  if (!scope.base)
    return memref::LoadOp::create(*builder, memref, address);
  auto type = vectorType(cast<MemRefType>(memref.getType()).getElementType());
  if (!scope.mask)
    return vector::LoadOp::create(*builder, type, memref, address);
  Value nothing = splat(builder->getZeroAttr(type.getElementType()));
  return vector::MaskedLoadOp::create(*builder, type, memref, address,
                                      scope.mask, nothing);
}

Value RowEmitter::gather(Value memref, Value address, Value stride,
                         Scope &scope) {
  auto type = vectorType(cast<MemRefType>(memref.getType()).getElementType());
  if (plan->isScalar) {
    SmallVector<Value> elements;
    for (int64_t lane = 0; lane < plan->lanes; ++lane)
      elements.push_back(memref::LoadOp::create(
          *builder, memref, add(address, mul(stride, index(lane)))));
    return vector::FromElementsOp::create(*builder, type, elements);
  }
  Value nothing = splat(builder->getZeroAttr(type.getElementType()));
  return vector::GatherOp::create(*builder, type, memref, address,
                                  getLaneOffsets(stride), getMask(scope),
                                  nothing);
}

/// As they are in memory.
Value RowEmitter::loadElements(const Access &access, Scope &scope) {
  const Access *tile = llvm::find(plan->transposed, access);
  if (tile != plan->transposed.end() && scope.base)
    return loadTransposed(tile - plan->transposed.begin(), scope);
  if (scope.base && llvm::is_contained(plan->expanded, access))
    return loadExpanded(access, scope);
  return loadFromMemory(access, scope);
}

Value RowEmitter::loadFromMemory(const Access &access, Scope &scope) {
  Value memref = flat[access.param.getArgNumber()];
  if (plan->isReducedFirst && llvm::is_contained(plan->blocks, access))
    return loadVector(memref, getBlockAddress(access, scope), scope);
  if (Value block = getTile(access))
    return vector::LoadOp::create(
        *builder,
        vectorType(cast<MemRefType>(memref.getType()).getElementType()), block,
        getTileAddress());
  Value address = getAddress(access, scope);
  if (!scope.base || !access.uses(vectorDim))
    return memref::LoadOp::create(*builder, memref, address);
  if (Value stride = getVectorStride(access))
    return gather(memref, address, stride, scope);
  return loadVector(memref, address, scope);
}

Value RowEmitter::load(const Access &access, Scope &scope) {
  Scope &place = plan->isUniform(access) ? scope.getRow() : scope;
  for (auto &[known, value] : place.loads)
    if (known == access)
      return value;
  Value value = fromMemory(loadElements(access, place),
                           access.getType().getElementType());
  place.loads.emplace_back(access, value);
  return value;
}

void RowEmitter::storeVector(Value value, Value memref, Value address,
                             Scope &scope) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (!scope.base) {
    if (value.getType().isInteger(1))
      value = arith::ExtUIOp::create(*builder, element, value);
    memref::StoreOp::create(*builder, value, memref, address);
    return;
  }
  value = VectorBody(*builder, plan->lanes).broadcast(value);
  if (cast<VectorType>(value.getType()).getElementType().isInteger(1))
    value = arith::ExtUIOp::create(*builder, vectorType(element), value);
  if (scope.mask)
    vector::MaskedStoreOp::create(*builder, memref, address, scope.mask, value);
  else
    vector::StoreOp::create(*builder, value, memref, address);
}

void RowEmitter::store(Value value, const Access &access, Scope &scope) {
  if (Value block = getTile(access)) {
    Scope all;
    all.base = scope.base;
    return storeVector(value, block, getTileAddress(), all);
  }
  Value memref = flat[access.param.getArgNumber()];
  Value address = getAddress(access, scope);
  Value stride = scope.base ? getVectorStride(access) : Value();
  if (!stride)
    return storeVector(value, memref, address, scope);
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  value = VectorBody(*builder, plan->lanes).broadcast(value);
  if (cast<VectorType>(value.getType()).getElementType().isInteger(1))
    value = arith::ExtUIOp::create(*builder, vectorType(element), value);
  vector::ScatterOp::create(*builder, /*resultType=*/nullptr, memref, address,
                            getLaneOffsets(stride), getMask(scope), value);
}
