//===- Bindings.cpp - Patterns for bindings ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts to the same type, tuples of all fields, known shapes, and outputs of
// dataflow blocks.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::relax;

/// A cast to the type that a value has checks and binds nothing.
static LogicalResult dropCast(MatchCastOp op, PatternRewriter &rewriter) {
  if (!mayReplace(op, op.getValue()))
    return failure();
  rewriter.replaceOp(op, op.getValue());
  return success();
}

/// A field of a tuple that is made here.
static LogicalResult dropGetItem(GetItemOp op, PatternRewriter &rewriter) {
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(folded)))
    return failure();
  rewriter.replaceOp(op, cast<Value>(folded.front()));
  return success();
}

/// A tuple of all fields of another one, in order.
static LogicalResult dropTuple(TupleOp op, PatternRewriter &rewriter) {
  Value source;
  for (auto [index, field] : llvm::enumerate(op.getFields())) {
    auto item = field.getDefiningOp<GetItemOp>();
    if (!item || item.getIndex() != index ||
        (source && item.getTupleValue() != source))
      return failure();
    source = item.getTupleValue();
  }
  if (!source || !mayReplace(op, source))
    return failure();
  rewriter.replaceOp(op, source);
  return success();
}

/// The shape of a tensor whose dimensions are known.
static LogicalResult makeKnownShape(ShapeOfOp op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getTensor().getType());
  auto shape = dyn_cast<ShapeStructInfoType>(op.getType());
  if (!type || !type.hasShape() || !shape || !shape.getValues() ||
      shape.getValues() != type.getShape())
    return failure();
  rewriter.replaceOpWithNewOp<ShapeOp>(op, shape, type.getShape());
  return success();
}

DataflowOp mlir::relax::dropOutputs(DataflowOp dataflow,
                                    const llvm::SmallBitVector &dropped,
                                    RewriterBase &rewriter) {
  Operation *output = dataflow.getBody().front().getTerminator();
  SmallVector<Value> outputs, results;
  for (auto [index, value, result] :
       llvm::enumerate(output->getOperands(), dataflow.getResults()))
    if (!dropped[index]) {
      outputs.push_back(value);
      results.push_back(result);
    }
  rewriter.modifyOpInPlace(output, [&] { output->setOperands(outputs); });
  rewriter.setInsertionPoint(dataflow);
  auto smaller = DataflowOp::create(rewriter, dataflow.getLoc(),
                                    ValueRange(results).getTypes());
  smaller->setDiscardableAttrs(dataflow->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(dataflow.getBody(), smaller.getBody(),
                              smaller.getBody().end());
  for (auto [result, replacement] : llvm::zip(results, smaller.getResults()))
    rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(dataflow);
  return smaller;
}

/// Values that are known outside of a dataflow block do not go through it, none
/// leaves it twice, and none leaves it that is not used. An empty block goes.
static LogicalResult dropNeedlessOutputs(DataflowOp op,
                                         PatternRewriter &rewriter) {
  Operation *output = op.getBody().front().getTerminator();
  llvm::SmallDenseMap<Value, Value> seen;
  llvm::SmallBitVector dropped(op.getNumResults());
  for (auto [index, value, result] :
       llvm::enumerate(output->getOperands(), op.getResults())) {
    if (result.use_empty()) {
      dropped.set(index);
      continue;
    }
    bool isOutside = value.getParentBlock() != &op.getBody().front();
    Value other =
        isOutside ? value : seen.try_emplace(value, result).first->second;
    if (other == result || other.getType() != result.getType())
      continue;
    rewriter.replaceAllUsesWith(result, other);
    dropped.set(index);
  }
  if (op.getNumResults() == dropped.count() &&
      llvm::hasSingleElement(op.getBody().front())) {
    rewriter.eraseOp(op);
    return success();
  }
  if (dropped.none())
    return failure();
  dropOutputs(op, dropped, rewriter);
  return success();
}

void mlir::relax::populateBindingPatterns(RewritePatternSet &patterns) {
  patterns.add(dropCast);
  patterns.add(dropGetItem);
  patterns.add(dropTuple);
  patterns.add(makeKnownShape);
  patterns.add(dropNeedlessOutputs);
}
