//===- Patterns.cpp - Sets of canonicalization patterns ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--canonicalize` does to operations of the dialect: a file for each
// family of operators, and one for bindings. Here are the sets that passes
// take, and when a value may be used in the place of another one.
//
// Results are the same bit by bit: x + 0.0 stays, since it is 0.0 for -0.0. The
// type of a result stays, too. An operator gives memory of its own, so it only
// becomes what it was given where nobody can tell (`mayBeViewOf`), and reads an
// earlier value only where none is updated in between.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace mlir::relax;

static bool isKilled(Value value) {
  return llvm::any_of(value.getUsers(), llvm::IsaPred<KillOp>);
}

bool mlir::relax::mayReplace(Operation *op, Value value) {
  return value.getType() == op->getResult(0).getType() && !isKilled(value) &&
         !isKilled(op->getResult(0));
}

LogicalResult mlir::relax::forward(Operation *op, Value value,
                                   PatternRewriter &rewriter) {
  if (!mayReplace(op, value) || !mayBeViewOf(op, value))
    return failure();
  rewriter.replaceOp(op, value);
  return success();
}

bool mlir::relax::mayDropErrors(Operation *op) {
  if (isa<DataflowOp>(op->getParentOp()))
    return true;
  return llvm::all_of(
      llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                               SmallVector<Type>(op->getResultTypes())),
      [](Type type) {
        auto tensor = dyn_cast<TensorStructInfoType>(type);
        return !tensor || (tensor.hasShape() &&
                           llvm::all_of(tensor.getDims(), [](PrimExprAttr dim) {
                             return dim.getConstant().has_value();
                           }));
      });
}

std::optional<int64_t> mlir::relax::normalizeAxis(int64_t axis, Value tensor) {
  auto type = dyn_cast<TensorStructInfoType>(tensor.getType());
  if (!type || !type.hasRank())
    return std::nullopt;
  return axis < 0 ? axis + type.getNdim() : axis;
}

void mlir::relax::populateOperatorPatterns(RewritePatternSet &patterns) {
  populateArithmeticPatterns(patterns);
  populateConversionPatterns(patterns);
  populateMovePatterns(patterns);
  populateSlicePatterns(patterns);
}

void RelaxDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  populateBindingPatterns(patterns);
  populateOperatorPatterns(patterns);
  populateJoinPatterns(patterns);
  populateBranchPatterns(patterns);
}
