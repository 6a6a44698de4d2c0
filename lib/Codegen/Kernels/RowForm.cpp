//===- RowForm.cpp - Forms of the loops of a row kernel ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowForm.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

RowForm::Positions RowForm::getPositions(ArrayRef<unsigned> dims,
                                         ArrayRef<Value> indices) const {
  Positions positions(space.getNumDims());
  for (auto [dim, index] : llvm::zip(dims, indices))
    positions[dim] = index;
  return positions;
}

Value RowForm::getSize(IndexBuilder &b, ArrayRef<unsigned> dims) const {
  Value size = b.index(1);
  for (unsigned dim : dims)
    size = b.mul(size, context.getSize(dim));
  return size;
}

Value RowForm::countParts(IndexBuilder &b, unsigned dim, Value size) const {
  return b.createOrFold<arith::CeilDivUIOp>(context.getSize(dim), size);
}

RowRange RowForm::getPart(IndexBuilder &b, unsigned dim, int64_t size,
                          Value number) const {
  Value begin = b.mul(number, size);
  return {begin, getPartEnd(b, begin, b.index(size), context.getSize(dim))};
}

SmallVector<unsigned> RowForm::getTaskDims() const {
  SmallVector<unsigned> dims;
  for (unsigned dim : plan.outer.set_bits())
    if (dim != plan.lane && dim != plan.tileDim)
      dims.push_back(dim);
  return dims;
}

int64_t RowForm::estimateElements() const {
  int64_t elements = 1;
  if (!plan.loops.empty())
    for (unsigned dim : plan.loops.front().dims) {
      int64_t size = space.dims[dim].getSize();
      elements *= ShapedType::isDynamic(size) ? 512 : size;
    }
  return elements;
}

void RowForm::emitTasks(IndexBuilder &b, const TaskGrid &grid, int64_t elements,
                        TaskGrid::Body body) const {
  // In additions of vectors, or of elements.
  int64_t least = plan.isScalar ? 1 << 15 : 1 << 18;
  grid.emit(b, TaskGrid::getGrain(elements, plan.cost, least), body);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Where a value waits for a later loop: in the row of an output, or in memory
/// of its own.
RowCopy RowForm::makeBuffer(IndexBuilder &b, Value value,
                            const RowPlan::Buffer &buffer,
                            const RowGroup &group) const {
  if (buffer.output) {
    const Access &place = buffer.output->place;
    RowCopy copy{context.getMemory(place), &place};
    copy.lanes = 0;
    return copy;
  }
  RowCopy copy;
  copy.numVectors = group.rows.size();
  copy.lanes = group.rows.front().isVector ? plan.lanes : 1;
  ArrayRef<unsigned> dims = plan.loops[buffer.loop].dims;
  for (unsigned dim : dims)
    copy.dims.push_back({dim, b.index(0), context.getSize(dim)});
  Value size = b.mul(getSize(b, dims), copy.numVectors * copy.lanes);
  copy.memory = allocateScratch(b, getElementTypeOrSelf(value), size);
  return copy;
}

void RowForm::emitRow(IndexBuilder &b, RowGroup group) const {
  for (RowScope &row : group.rows)
    row.group = &group;
  for (auto &[value, buffer] : plan.buffers)
    if (!group.buffers.contains(value))
      group.buffers[value] = makeBuffer(b, value, buffer, group);
  for (; group.loop < plan.loops.size(); ++group.loop)
    emitLoop(b, plan.loops[group.loop], group);
  for (unsigned output : plan.rowOutputs)
    for (RowScope &row : group.rows)
      elements.store(b, elements.evaluate(b, space.outputs[output].value, row),
                     space.outputs[output].place, row);
}

void RowForm::emitLoop(IndexBuilder &b, const Loop &loop,
                       RowGroup &group) const {
  for (RowScope &row : group.rows) {
    for (linalg::LinalgOp op : loop.reductions)
      elements.hoist(b, op, row);
    for (unsigned output : loop.outputs)
      elements.hoist(
          b, space.outputs[output].value.getDefiningOp<linalg::LinalgOp>(),
          row);
  }
  SmallVector<Value> accumulators =
      emitNest(b, loop, group, getOuterDims(loop), group.rows.front().positions,
               startReductions(b, loop, group));
  finishReductions(b, loop, group, accumulators);
}

SmallVector<Value> RowForm::emitNest(IndexBuilder &b, const Loop &loop,
                                     RowGroup &group, ArrayRef<unsigned> dims,
                                     Positions positions,
                                     ValueRange accumulators) const {
  if (dims.empty())
    return emitElements(b, loop, group, positions, accumulators);
  return b.reduce(b.index(0), context.getSize(dims.front()), 1, accumulators,
                  [&](IndexBuilder &inside, Value index, ValueRange values) {
                    positions[dims.front()] = index;
                    return emitNest(inside, loop, group, dims.drop_front(),
                                    positions, values);
                  });
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

SmallVector<Value> RowForm::makeAccumulators(IndexBuilder &b, const Loop &loop,
                                             unsigned count) const {
  SmallVector<Value> accumulators;
  for (linalg::LinalgOp op : loop.reductions)
    accumulators.append(count, context.splat(b, getCombiner(op)->neutral));
  return accumulators;
}

/// The sign of a zero that is the greatest or least element does not matter.
Value RowForm::accumulate(IndexBuilder &, linalg::LinalgOp, Value result, Value,
                          RowScope &) const {
  Operation *op = result.getDefiningOp();
  auto fmf = dyn_cast_or_null<arith::ArithFastMathInterface>(op);
  if (fmf && isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    op->setAttr(fmf.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::nsz));
  return result;
}

/// One vector of elements. All is read before anything is written, as an output
/// may be an input.
SmallVector<Value>
RowForm::computeElements(IndexBuilder &b, const Loop &loop, RowScope &scope,
                         ValueRange accumulators,
                         SmallVectorImpl<Value> &written) const {
  SmallVector<Value> results;
  for (auto [reduction, accumulator] :
       llvm::zip(loop.reductions, accumulators)) {
    linalg::LinalgOp op = reduction;
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(op.isDpsInit(&operand)
                             ? accumulator
                             : elements.evaluateOperand(b, operand, scope));
    Value result = elements.compute(b, op, operands, scope).front();
    results.push_back(accumulate(b, op, result, accumulator, scope));
  }
  for (unsigned output : loop.outputs)
    written.push_back(elements.evaluate(b, space.outputs[output].value, scope));
  for (Value value : loop.stored)
    written.push_back(elements.evaluate(b, value, scope));
  return results;
}

void RowForm::storeElements(IndexBuilder &b, const Loop &loop, RowScope &scope,
                            ArrayRef<Value> written) const {
  size_t numOutputs = loop.outputs.size();
  for (auto [value, element] :
       llvm::zip(loop.stored, written.drop_front(numOutputs)))
    elements.storeBuffer(b, element, value, scope);
  for (auto [output, value] :
       llvm::zip(loop.outputs, written.take_front(numOutputs)))
    elements.store(b, value, space.outputs[output].place, scope);
}

SmallVector<Value> RowForm::emitVectors(IndexBuilder &b, const Loop &loop,
                                        MutableArrayRef<RowScope> scopes,
                                        ValueRange accumulators) const {
  unsigned numReductions = loop.reductions.size(), count = scopes.size();
  SmallVector<Value> results(accumulators);
  // Memory gives more where several vectors are read before any is written.
  bool readsFirst = !plan.hasReductions() && plan.cost <= 20;
  SmallVector<SmallVector<Value>, 0> written(count);
  for (unsigned number = 0; number < count; ++number) {
    SmallVector<Value> olds;
    for (unsigned reduction = 0; reduction < numReductions; ++reduction)
      olds.push_back(accumulators[reduction * count + number]);
    SmallVector<Value> news =
        computeElements(b, loop, scopes[number], olds, written[number]);
    if (!readsFirst)
      storeElements(b, loop, scopes[number], written[number]);
    for (unsigned reduction = 0; reduction < numReductions; ++reduction)
      results[reduction * count + number] = news[reduction];
  }
  if (readsFirst)
    for (auto [scope, values] : llvm::zip_equal(scopes, written))
      storeElements(b, loop, scope, values);
  return results;
}

void RowForm::addStart(IndexBuilder &b, linalg::LinalgOp op, Value result,
                       RowScope &row) const {
  Combiner combiner = *getCombiner(op);
  Value start = elements.evaluateOperand(b, *op.getDpsInitOperand(0), row);
  // Accumulators start with what adds nothing, so this is in them.
  Attribute constant;
  bool isNeutral = matchPattern(start, m_Constant(&constant)) &&
                   constant == Attribute(combiner.neutral);
  row.values[op->getResult(0)] =
      isNeutral ? result : combine(b, combiner, start, result);
}

Value mlir::relax::combine(IndexBuilder &b, const Combiner &combiner, Value lhs,
                           Value rhs) {
  IRMapping mapping;
  mapping.map(combiner.op->getOperand(0), lhs);
  mapping.map(combiner.op->getOperand(1), rhs);
  Operation *result = b.clone(*combiner.op, mapping);
  result->getResult(0).setType(lhs.getType());
  return result->getResult(0);
}
