//===- BestElement.cpp - The best element and its place ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of such an operation is a condition on the element of the iteration
// and the best one so far, and two selections by it: of the element, and of its
// place. Threads that look at elements of their own compare what they have
// found by the same condition, both ways: if neither element is better than the
// other one, the first place counts, and if both are, the last one.
//
//===----------------------------------------------------------------------===//

#include "BestElement.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::relax;

/// The value at the builder, whose operations of the body that are not mapped
/// are copied.
static Value copyOfBody(IndexBuilder &b, Block &body, Value value,
                        IRMapping &mapping) {
  Operation *op = value.getDefiningOp();
  if (mapping.contains(value) || !op || op->getBlock() != &body)
    return mapping.lookupOrDefault(value);
  for (Value operand : op->getOperands())
    copyOfBody(b, body, operand, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

/// Whether a value of a body depends on nothing in it but some other values.
static bool dependsOnlyOn(Block &body, Value value, ArrayRef<Value> others) {
  if (llvm::is_contained(others, value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return value.getParentBlock() != &body;
  return op->getBlock() != &body ||
         (!isa<linalg::IndexOp>(op) &&
          llvm::all_of(op->getOperands(), [&](Value operand) {
            return dependsOnlyOn(body, operand, others);
          }));
}

/// Whether a value is the number of an iteration of a loop.
static bool isPlaceIn(Value value, unsigned loop) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && index.getDim() == loop;
}

std::optional<BestElement> BestElement::get(linalg::GenericOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  Block &body = op.getRegion().front();
  if (op.getNumDpsInits() != 2 || loops.size() != 1 ||
      llvm::any_of(body, [](Operation &inner) {
        return inner.getNumRegions() > 0 || !isPure(&inner);
      }))
    return std::nullopt;
  SmallVector<arith::SelectOp> yielded;
  for (auto [result, before] : llvm::zip(body.getTerminator()->getOperands(),
                                         op.getRegionOutputArgs())) {
    auto select = result.getDefiningOp<arith::SelectOp>();
    if (!select || select->getBlock() != &body ||
        select.getFalseValue() != before || !result.hasOneUse())
      return std::nullopt;
    yielded.push_back(select);
  }
  if (yielded[0].getCondition() != yielded[1].getCondition())
    return std::nullopt;
  unsigned element = isPlaceIn(yielded[0].getTrueValue(), loops.front());
  arith::SelectOp value = yielded[element], place = yielded[1 - element];
  Value before = value.getFalseValue(), placeBefore = place.getFalseValue();
  if (!isPlaceIn(place.getTrueValue(), loops.front()) ||
      !placeBefore.hasOneUse() ||
      !dependsOnlyOn(body, value.getCondition(),
                     {value.getTrueValue(), before}))
    return std::nullopt;
  // The element itself is that of the iteration alone.
  SmallVector<Value> inputs(op.getRegionInputArgs());
  if (!dependsOnlyOn(body, value.getTrueValue(), inputs))
    return std::nullopt;
  return BestElement(op, element, value, place);
}

SmallVector<Value> BestElement::getFirst(IndexBuilder &b, ArrayRef<Value> where,
                                         ArrayRef<Value> operands) const {
  auto generic = op;
  Block &body = generic.getRegion().front();
  IRMapping mapping;
  for (auto [argument, operand] :
       llvm::zip(generic.getRegionInputArgs(), operands))
    if (operand)
      mapping.map(argument, operand);
  for (auto index : body.getOps<linalg::IndexOp>())
    mapping.map(index.getResult(), where[index.getDim()]);
  SmallVector<Value> results(2);
  auto select = value, selectPlace = place;
  results[element] = copyOfBody(b, body, select.getTrueValue(), mapping);
  results[1 - element] =
      copyOfBody(b, body, selectPlace.getTrueValue(), mapping);
  return results;
}

/// Whether the body would take `other` where `mine` is the best one so far.
Value BestElement::isBetter(IndexBuilder &b, Value mine, Value other) const {
  auto select = value;
  IRMapping mapping;
  mapping.map(select.getTrueValue(), other);
  mapping.map(select.getFalseValue(), mine);
  return copyOfBody(b, *select->getBlock(), select.getCondition(), mapping);
}

static SmallVector<Value> select(IndexBuilder &b, Value condition,
                                 ValueRange then, ValueRange otherwise) {
  SmallVector<Value> results;
  for (auto [lhs, rhs] : llvm::zip(then, otherwise))
    results.push_back(arith::SelectOp::create(b, condition, lhs, rhs));
  return results;
}

SmallVector<Value> BestElement::combine(IndexBuilder &b, ValueRange mine,
                                        ValueRange other) const {
  Value isOther = isBetter(b, mine[element], other[element]),
        isMine = isBetter(b, other[element], mine[element]);
  Value isLater = b.compare(arith::CmpIPredicate::sgt, other[1 - element],
                            mine[1 - element]);
  Value differ = arith::XOrIOp::create(b, isOther, isMine);
  // Both are: the later one. Neither is: the earlier one.
  Value byPlace = b.isEqual(isOther, isLater);
  return select(b, arith::SelectOp::create(b, differ, isOther, byPlace), other,
                mine);
}

SmallVector<Value> BestElement::update(IndexBuilder &b, ValueRange before,
                                       ValueRange found) const {
  return select(b, isBetter(b, before[element], found[element]), found, before);
}
