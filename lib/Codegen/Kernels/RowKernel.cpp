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
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "RowPlan.h"
#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

/// How many elements of a row without reductions are one iteration.
static constexpr int64_t kChunk = 4096;

namespace {
/// Values that have been computed at one place.
struct Scope {
  DenseMap<Value, Value> values;
  SmallVector<std::pair<Access, Value>> loads;
  Value mask;
};

class RowEmitter : public KernelEmitter {
public:
  RowEmitter(std::unique_ptr<RowPlan> plan)
      : plan(std::move(plan)), space(*this->plan->space),
        positions(space.getNumDims()), sizes(space.getNumDims()) {}

  void emit(ImplicitLocOpBuilder &builder, ValueRange arguments) override;

private:
  // The start of the kernel.
  void emitScalars();
  void emitFlatParameters();
  Value getRoot(Value tensor, int64_t axis);
  Value getSize(unsigned dim);
  Value getStride(BlockArgument param, unsigned axis);

  // Rows.
  void emitRows();
  int64_t getGrain();
  void splitIndex(Value index, bool isChunked, Value numChunks);
  void emitRow();
  Value allocateBuffer(const RowPlan::Loop &loop, Type type);

  // Loops of a row.
  using Body = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;
  SmallVector<Value> emitFor(Value begin, Value end, Value step,
                             ValueRange accumulators, Body body);
  void emitLoop(const RowPlan::Loop &loop);
  SmallVector<Value> emitNest(const RowPlan::Loop &loop, unsigned depth,
                              ValueRange accumulators);
  SmallVector<Value> emitVectorLoops(const RowPlan::Loop &loop,
                                     ValueRange accumulators);
  SmallVector<Value> emitElements(const RowPlan::Loop &loop, Value index,
                                  Value mask, ValueRange accumulators);
  Value combine(const Combiner &combiner, Value lhs, Value rhs);
  Value finishReduction(linalg::LinalgOp op, ValueRange accumulators);

  // Values.
  void hoist(linalg::LinalgOp op);
  bool isInBuffer(Value value) const;
  Value evaluate(Value value, Scope *scope);
  Value evaluateOperand(OpOperand &operand, Scope *scope);
  void computeElementwise(linalg::LinalgOp op, Scope *scope);
  SmallVector<Value> compute(linalg::LinalgOp op, ValueRange arguments,
                             Scope *scope);
  Value getIndex(Operation *op, unsigned loop, Scope *scope);

  // Memory.
  Value getAddress(const Access &access);
  Value getBufferAddress(Value value);
  Value load(const Access &access, Scope *scope);
  Value loadVector(Value memref, Value address, Scope *scope);
  Value gather(Value memref, Value address, Value stride, Scope *scope);
  Value getVectorStride(const Access &access);
  void store(Value value, const Access &access, Scope *scope);
  void storeVector(Value value, Value memref, Value address, Scope *scope);
  Value getMask(Scope *scope);

  // Arithmetic of indices, folded.
  Value index(int64_t value);
  Value add(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value splat(TypedAttr value);
  VectorType vectorType(Type element) {
    return VectorType::get({plan->lanes}, element);
  }

  std::unique_ptr<RowPlan> plan;
  KernelSpace &space;
  ImplicitLocOpBuilder *builder = nullptr;
  ValueRange arguments;
  /// What the whole kernel needs is put before this.
  Operation *anchor = nullptr;
  IRMapping scalars;
  DenseMap<unsigned, Value> flat;
  DenseMap<std::pair<unsigned, unsigned>, Value> strides;
  SmallVector<Value> positions, sizes;
  Scope row;
  DenseMap<Value, Value> bufferMemory;
  /// The part of a row that is worked on, along the vector dimension.
  Value begin, end;
  unsigned loopIndex = 0, vectorDim = 0;
};
} // namespace

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
// Rows
//===----------------------------------------------------------------------===//

/// A thread is worth some microseconds of work.
int64_t RowEmitter::getGrain() {
  int64_t elements = plan->hasReductions() ? 512 : kChunk;
  if (!plan->loops.empty()) {
    int64_t product = 1;
    for (unsigned dim : plan->loops.front().dims) {
      int64_t size = space.dims[dim].getSize();
      product *= ShapedType::isDynamic(size) ? elements : size;
    }
    elements = plan->hasReductions() ? product : std::min(product, kChunk);
  }
  int64_t work = std::max<int64_t>(elements, 1) * (plan->cost + 8);
  return std::max<int64_t>((1 << 18) / work, 1);
}

/// Finds the position in the outer dimensions, and in the row for a part of it.
void RowEmitter::splitIndex(Value index, bool isChunked, Value numChunks) {
  if (isChunked) {
    Value chunk = index;
    if (plan->outer.any()) {
      chunk = arith::RemUIOp::create(*builder, index, numChunks);
      index = arith::DivUIOp::create(*builder, index, numChunks);
    }
    begin = mul(chunk, this->index(kChunk));
    end = arith::MinUIOp::create(*builder, add(begin, this->index(kChunk)),
                                 getSize(plan->loops.front().dims.back()));
  }
  SmallVector<unsigned> dims(plan->outer.set_bits_begin(),
                             plan->outer.set_bits_end());
  for (unsigned dim : llvm::reverse(dims)) {
    if (dim == dims.front()) {
      positions[dim] = index;
      break;
    }
    positions[dim] = arith::RemUIOp::create(*builder, index, getSize(dim));
    index = arith::DivUIOp::create(*builder, index, getSize(dim));
  }
}

void RowEmitter::emitRows() {
  bool isChunked = false;
  Value numChunks, count = index(1);
  if (!plan->hasReductions() && !plan->loops.empty()) {
    unsigned dim = plan->loops.front().dims.back();
    int64_t size = space.dims[dim].getSize();
    isChunked = ShapedType::isDynamic(size) || size > kChunk;
    if (isChunked) {
      numChunks = builder->createOrFold<arith::CeilDivUIOp>(getSize(dim),
                                                            index(kChunk));
      count = numChunks;
    }
  }
  for (unsigned dim : plan->outer.set_bits())
    count = mul(count, getSize(dim));
  if (plan->outer.none() && !isChunked)
    return emitRow();
  auto parallel = scf::ParallelOp::create(
      *builder, ValueRange{index(0)}, ValueRange{count}, ValueRange{index(1)},
      [&](OpBuilder &nested, Location, ValueRange ivs) {
        OpBuilder::InsertionGuard guard(*builder);
        builder->restoreInsertionPoint(nested.saveInsertionPoint());
        splitIndex(ivs.front(), isChunked, numChunks);
        emitRow();
      });
  parallel->setAttr(kGrainAttr, builder->getI64IntegerAttr(getGrain()));
}

/// The passes after bufferization free it at the end of the row.
Value RowEmitter::allocateBuffer(const RowPlan::Loop &loop, Type type) {
  Value size = index(1);
  for (unsigned dim : loop.dims)
    size = mul(size, getSize(dim));
  if (type.isInteger(1))
    type = builder->getI8Type();
  auto memrefType = MemRefType::get({ShapedType::kDynamic}, type);
  auto alloc = memref::AllocOp::create(*builder, memrefType, ValueRange{size});
  alloc.setAlignment(64);
  return alloc;
}

void RowEmitter::emitRow() {
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
    store(evaluate(space.outputs[output].value, nullptr),
          space.outputs[output].place, nullptr);
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

/// How many vectors are in flight.
static unsigned getUnroll(const RowPlan &plan) {
  return plan.cost > 80 ? 2 : 4;
}

void RowEmitter::emitLoop(const RowPlan::Loop &loop) {
  vectorDim = loop.dims.back();
  for (linalg::LinalgOp op : loop.reductions)
    hoist(op);
  for (unsigned output : loop.outputs)
    hoist(space.outputs[output].value.getDefiningOp<linalg::LinalgOp>());
  SmallVector<Value> accumulators;
  unsigned unroll = getUnroll(*plan);
  for (linalg::LinalgOp op : loop.reductions) {
    Value neutral = splat(getCombiner(op)->neutral);
    accumulators.append(unroll, neutral);
  }
  SmallVector<Value> results = emitNest(loop, 0, accumulators);
  for (auto [index, op] : llvm::enumerate(loop.reductions))
    row.values[op->getResult(0)] =
        finishReduction(op, ArrayRef(results).slice(index * unroll, unroll));
}

SmallVector<Value> RowEmitter::emitNest(const RowPlan::Loop &loop,
                                        unsigned depth,
                                        ValueRange accumulators) {
  unsigned dim = loop.dims[depth];
  if (dim == vectorDim)
    return emitVectorLoops(loop, accumulators);
  return emitFor(index(0), getSize(dim), index(1), accumulators,
                 [&](Value index, ValueRange values) {
                   positions[dim] = index;
                   return emitNest(loop, depth + 1, values);
                 });
}

SmallVector<Value> RowEmitter::emitVectorLoops(const RowPlan::Loop &loop,
                                               ValueRange accumulators) {
  unsigned unroll = getUnroll(*plan), numReductions = loop.reductions.size();
  Value from = begin ? begin : index(0);
  Value to = end ? end : getSize(vectorDim);
  int64_t step = plan->lanes * unroll;
  Value length = builder->createOrFold<arith::SubIOp>(to, from);
  Value rest = builder->createOrFold<arith::RemUIOp>(length, index(step));
  Value middle = builder->createOrFold<arith::SubIOp>(to, rest);
  auto emitMany = [&](Value start, ValueRange values) {
    SmallVector<Value> results(values);
    for (unsigned i = 0; i < unroll; ++i) {
      SmallVector<Value> olds;
      for (unsigned reduction = 0; reduction < numReductions; ++reduction)
        olds.push_back(values[reduction * unroll + i]);
      SmallVector<Value> news =
          emitElements(loop, add(start, index(i * plan->lanes)), Value(), olds);
      for (auto [reduction, value] : llvm::enumerate(news))
        results[reduction * unroll + i] = value;
    }
    return results;
  };
  SmallVector<Value> results =
      emitFor(from, middle, index(step), accumulators, emitMany);
  SmallVector<Value> firsts;
  for (unsigned reduction = 0; reduction < numReductions; ++reduction)
    firsts.push_back(results[reduction * unroll]);
  auto emitOne = [&](Value start, ValueRange values) {
    Value left = arith::SubIOp::create(*builder, to, start);
    Value mask = vector::CreateMaskOp::create(
        *builder, vectorType(builder->getI1Type()), left);
    return emitElements(loop, start, mask, values);
  };
  SmallVector<Value> tails =
      emitFor(middle, to, index(plan->lanes), firsts, emitOne);
  for (auto [reduction, value] : llvm::enumerate(tails))
    results[reduction * unroll] = value;
  return results;
}

/// The sign of a zero that is the greatest or least element does not matter.
static void ignoreSignOfZero(Operation *op) {
  auto fmf = dyn_cast_or_null<arith::ArithFastMathInterface>(op);
  if (fmf && isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    op->setAttr(fmf.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::nsz));
}

/// One vector of elements. All is read before anything is written, as an output
/// may be an input.
SmallVector<Value> RowEmitter::emitElements(const RowPlan::Loop &loop,
                                            Value index, Value mask,
                                            ValueRange accumulators) {
  Scope scope;
  scope.mask = mask;
  positions[vectorDim] = index;
  SmallVector<Value> results;
  for (auto [reduction, accumulator] :
       llvm::zip(loop.reductions, accumulators)) {
    linalg::LinalgOp op = reduction;
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(op.isDpsInit(&operand)
                             ? accumulator
                             : evaluateOperand(operand, &scope));
    Value result = compute(op, operands, &scope).front();
    ignoreSignOfZero(result.getDefiningOp());
    if (mask)
      result = arith::SelectOp::create(*builder, mask, result, accumulator);
    results.push_back(result);
  }
  SmallVector<Value> written;
  for (unsigned output : loop.outputs)
    written.push_back(evaluate(space.outputs[output].value, &scope));
  for (Value value : loop.stored)
    storeVector(evaluate(value, &scope), bufferMemory[value],
                getBufferAddress(value), &scope);
  for (auto [output, value] : llvm::zip(loop.outputs, written))
    store(value, space.outputs[output].place, &scope);
  return results;
}

Value RowEmitter::combine(const Combiner &combiner, Value lhs, Value rhs) {
  IRMapping mapping;
  mapping.map(combiner.op->getOperand(0), lhs);
  mapping.map(combiner.op->getOperand(1), rhs);
  Operation *result = builder->clone(*combiner.op, mapping);
  result->getResult(0).setType(lhs.getType());
  return result->getResult(0);
}

/// Combines accumulators, their lanes, and what the reduction starts with.
Value RowEmitter::finishReduction(linalg::LinalgOp op,
                                  ValueRange accumulators) {
  Combiner combiner = *getCombiner(op);
  SmallVector<Value> values(accumulators);
  for (; values.size() > 1; values.resize(values.size() / 2))
    for (size_t i = 0, half = values.size() / 2; i < half; ++i) {
      values[i] = combine(combiner, values[i], values[half + i]);
      ignoreSignOfZero(values[i].getDefiningOp());
    }
  bool isFloat = isa<FloatType>(combiner.neutral.getType());
  Value result = vector::ReductionOp::create(
      *builder, combiner.kind, values.front(),
      isFloat ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none);
  Value start = evaluateOperand(*op.getDpsInitOperand(0), nullptr);
  return combine(combiner, start, result);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool RowEmitter::isInBuffer(Value value) const {
  auto it = plan->buffers.find(value);
  return it != plan->buffers.end() && it->second.loop < loopIndex;
}

/// Computes what is the same for the whole row before a loop that needs it.
void RowEmitter::hoist(linalg::LinalgOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isa<TensorType>(value.getType()) || !KernelSpace::isRead(op, operand))
      continue;
    auto producer = value.getDefiningOp<linalg::LinalgOp>();
    if (producer ? plan->isUniform(producer)
                 : plan->isUniform(space.getAccess(operand)))
      evaluateOperand(operand, nullptr);
    else if (producer && !isInBuffer(value))
      hoist(producer);
  }
}

/// A value in the elements of `scope`; null stands for the row.
Value RowEmitter::evaluate(Value value, Scope *scope) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (plan->isUniform(op)) {
    if (!row.values.contains(value))
      computeElementwise(op, nullptr);
    return row.values.lookup(value);
  }
  if (Value known = scope->values.lookup(value))
    return known;
  if (isInBuffer(value))
    scope->values[value] =
        loadVector(bufferMemory[value], getBufferAddress(value), scope);
  else
    computeElementwise(op, scope);
  return scope->values.lookup(value);
}

Value RowEmitter::evaluateOperand(OpOperand &operand, Scope *scope) {
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

void RowEmitter::computeElementwise(linalg::LinalgOp op, Scope *scope) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(evaluateOperand(operand, scope));
  SmallVector<Value> results = compute(op, operands, scope);
  auto &values = scope ? scope->values : row.values;
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    values[result] = value;
}

SmallVector<Value> RowEmitter::compute(linalg::LinalgOp op, ValueRange operands,
                                       Scope *scope) {
  VectorBody body(*builder, plan->lanes);
  body.mask = scope ? scope->mask : Value();
  body.useReciprocals = plan->hasReductions();
  return body.compute(op, operands, scalars,
                      [&](unsigned loop) { return getIndex(op, loop, scope); });
}

Value RowEmitter::getIndex(Operation *op, unsigned loop, Scope *scope) {
  std::optional<unsigned> dim = space.getLoopDim(op, loop);
  if (!dim)
    return index(0);
  if (!scope || *dim != vectorDim)
    return positions[*dim];
  auto type = vectorType(builder->getIndexType());
  Value first = vector::BroadcastOp::create(*builder, type, positions[*dim]);
  Value step = vector::StepOp::create(*builder, type);
  return arith::AddIOp::create(*builder, first, step);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The place of an element in its parameter, at the first lane.
Value RowEmitter::getAddress(const Access &access) {
  Value address = index(0);
  for (auto [axis, offset] : llvm::enumerate(access.offsets))
    if (offset != 0)
      address = add(address, mul(index(offset), getStride(access.param, axis)));
  auto addTerm = [&](const Access::Term &term) {
    Value stride = mul(getStride(access.param, term.axis), index(term.factor));
    address = add(address, mul(positions[term.dim], stride));
  };
  // What changes most comes last.
  for (const Access::Term &term : access.terms)
    if (term.dim != vectorDim)
      addTerm(term);
  for (const Access::Term &term : access.terms)
    if (term.dim == vectorDim)
      addTerm(term);
  return address;
}

Value RowEmitter::getBufferAddress(Value value) {
  const RowPlan::Buffer &buffer = plan->buffers.find(value)->second;
  if (buffer.output)
    return getAddress(buffer.output->place);
  Value address = index(0);
  for (unsigned dim : plan->loops[buffer.loop].dims)
    address = add(mul(address, getSize(dim)), positions[dim]);
  return address;
}

Value RowEmitter::getMask(Scope *scope) {
  if (scope->mask)
    return scope->mask;
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

Value RowEmitter::loadVector(Value memref, Value address, Scope *scope) {
  auto type = vectorType(cast<MemRefType>(memref.getType()).getElementType());
  if (!scope->mask)
    return vector::LoadOp::create(*builder, type, memref, address);
  Value nothing = splat(builder->getZeroAttr(type.getElementType()));
  return vector::MaskedLoadOp::create(*builder, type, memref, address,
                                      scope->mask, nothing);
}

Value RowEmitter::gather(Value memref, Value address, Value stride,
                         Scope *scope) {
  auto type = vectorType(cast<MemRefType>(memref.getType()).getElementType());
  auto indexType = vectorType(builder->getIndexType());
  Value steps = vector::StepOp::create(*builder, indexType);
  Value strides = vector::BroadcastOp::create(*builder, indexType, stride);
  Value indices = arith::MulIOp::create(*builder, steps, strides);
  Value nothing = splat(builder->getZeroAttr(type.getElementType()));
  return vector::GatherOp::create(*builder, type, memref, address, indices,
                                  getMask(scope), nothing);
}

Value RowEmitter::load(const Access &access, Scope *scope) {
  Scope &place = !scope || plan->isUniform(access) ? row : *scope;
  for (auto &[known, value] : place.loads)
    if (known == access)
      return value;
  Value memref = flat[access.param.getArgNumber()];
  Value address = getAddress(access), value;
  if (!scope || !access.uses(vectorDim))
    value = memref::LoadOp::create(*builder, memref, address);
  else if (Value stride = getVectorStride(access))
    value = gather(memref, address, stride, scope);
  else
    value = loadVector(memref, address, scope);
  if (access.getType().getElementType().isInteger(1)) {
    Value zero = arith::ConstantOp::create(
        *builder, builder->getZeroAttr(value.getType()));
    value =
        arith::CmpIOp::create(*builder, arith::CmpIPredicate::ne, value, zero);
  }
  place.loads.emplace_back(access, value);
  return value;
}

void RowEmitter::storeVector(Value value, Value memref, Value address,
                             Scope *scope) {
  VectorBody body(*builder, plan->lanes);
  value = body.broadcast(value);
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (cast<VectorType>(value.getType()).getElementType().isInteger(1))
    value = arith::ExtUIOp::create(*builder, vectorType(element), value);
  if (scope->mask)
    vector::MaskedStoreOp::create(*builder, memref, address, scope->mask,
                                  value);
  else
    vector::StoreOp::create(*builder, value, memref, address);
}

void RowEmitter::store(Value value, const Access &access, Scope *scope) {
  Value memref = flat[access.param.getArgNumber()];
  Value address = getAddress(access);
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (!scope) {
    if (value.getType().isInteger(1))
      value = arith::ExtUIOp::create(*builder, element, value);
    memref::StoreOp::create(*builder, value, memref, address);
    return;
  }
  Value stride = getVectorStride(access);
  if (!stride)
    return storeVector(value, memref, address, scope);
  value = VectorBody(*builder, plan->lanes).broadcast(value);
  if (cast<VectorType>(value.getType()).getElementType().isInteger(1))
    value = arith::ExtUIOp::create(*builder, vectorType(element), value);
  auto indexType = vectorType(builder->getIndexType());
  Value steps = vector::StepOp::create(*builder, indexType);
  Value strides = vector::BroadcastOp::create(*builder, indexType, stride);
  Value indices = arith::MulIOp::create(*builder, steps, strides);
  vector::ScatterOp::create(*builder, /*resultType=*/nullptr, memref, address,
                            indices, getMask(scope), value);
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
  emitRows();
}

static std::unique_ptr<RowPlan>
makePlan(func::FuncOp kernel, const TargetModel &target, bool hasReductions) {
  bool reduces = false;
  for (auto op : kernel.getOps<linalg::LinalgOp>())
    reduces |= op.getNumReductionLoops() > 0;
  if (reduces != hasReductions)
    return nullptr;
  std::unique_ptr<KernelSpace> space = KernelSpace::analyze(kernel);
  return space ? RowPlan::make(std::move(space), target) : nullptr;
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchElementwise(func::FuncOp kernel, const TargetModel &target) {
  auto plan = makePlan(kernel, target, /*hasReductions=*/false);
  return plan ? std::make_unique<RowEmitter>(std::move(plan)) : nullptr;
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchRows(func::FuncOp kernel, const TargetModel &target) {
  auto plan = makePlan(kernel, target, /*hasReductions=*/true);
  return plan ? std::make_unique<RowEmitter>(std::move(plan)) : nullptr;
}
