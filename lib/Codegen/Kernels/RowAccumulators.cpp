//===- RowAccumulators.cpp - Accumulators of row kernels --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Combines vectors of elements into the accumulators of reductions, and reduces
// these to one element for each row.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::relax;

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

/// Whether accumulators hold numbers only, which takes one instruction, and
/// flags record NaN, two vectors each.
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

/// One vector of elements: the accumulators, followed by the values that flags
/// are computed from. All is read before anything is written, as an output may
/// be an input.
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
    // Lanes that are rows are on their own.
    if (scope.mask && !plan->lane)
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
    storeBuffer(element, value, scope);
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
  if (plan->isReducedFirst) {
    values = transposeBlock(values);
    for (Value value : ArrayRef(values).drop_front())
      values.front() = combine(combiner, values.front(), value);
    values.resize(1);
  }
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
