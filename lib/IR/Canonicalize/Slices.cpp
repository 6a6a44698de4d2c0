//===- Slices.cpp - Patterns for slices and concatenations ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices of all elements, concatenations of all parts, and slices of one part.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace mlir::relax;

/// The tensor of which all parts are given in order, along an axis: the operand
/// of a split.
static Value findSplitSource(ConcatOp op, int64_t axis) {
  auto items = llvm::map_to_vector(op.getTensors(), [](Value value) {
    return value.getDefiningOp<GetItemOp>();
  });
  auto split = items.front()
                   ? items.front().getTupleValue().getDefiningOp<SplitOp>()
                   : SplitOp();
  if (!split || normalizeAxis(split.getAxis(), split.getX()) != axis ||
      !producerOf<SplitOp>(split.getResult(), op))
    return {};
  auto parts = dyn_cast<TupleStructInfoType>(split.getResult().getType());
  if (!parts || parts.getFields().size() != items.size())
    return {};
  for (auto [index, item] : llvm::enumerate(items))
    if (!item || item.getTupleValue() != split.getResult() ||
        item.getIndex() != index)
      return {};
  return split.getX();
}

static LogicalResult joinConcatenations(ConcatOp op,
                                        PatternRewriter &rewriter) {
  if (op.getTensors().empty())
    return failure();
  if (op.getTensors().size() == 1)
    return forward(op, op.getTensors().front(), rewriter);
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), op.getTensors().front());
  if (!axis)
    return failure();
  if (Value source = findSplitSource(op, *axis);
      source && succeeded(forward(op, source, rewriter)))
    return success();
  SmallVector<Value> tensors;
  for (Value tensor : op.getTensors()) {
    auto inner =
        tensor.hasOneUse()
            ? dyn_cast_or_null<ConcatOp>(producerOf<ConcatOp>(tensor, op))
            : ConcatOp();
    if (inner && normalizeAxis(inner.getAxis(), tensor) == axis)
      llvm::append_range(tensors, inner.getTensors());
    else
      tensors.push_back(tensor);
  }
  if (tensors.size() == op.getTensors().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getTensorsMutable().assign(tensors); });
  return success();
}

/// Whether two tensors have the same dimensions but along an axis.
static bool haveSameOtherDims(Value lhs, Value rhs, int64_t axis) {
  auto left = dyn_cast<TensorStructInfoType>(lhs.getType());
  auto right = dyn_cast<TensorStructInfoType>(rhs.getType());
  if (!left || !right || !left.hasShape() || !right.hasShape())
    return false;
  for (auto [index, dim, other] :
       llvm::enumerate(left.getDims(), right.getDims()))
    if (dim != other && int64_t(index) != axis)
      return false;
  return true;
}

/// The known entries of a shape; nothing where one is not a number.
static std::optional<SmallVector<int64_t>> getNumbers(Value shape) {
  auto type = dyn_cast<ShapeStructInfoType>(shape.getType());
  if (!type || !type.getValues())
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (PrimExprAttr value : type.getValues().getDims()) {
    std::optional<int64_t> number = value.getConstant();
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

/// A slice without steps.
static bool isContiguous(StridedSliceOp op) {
  if (!op.getStrides())
    return true;
  auto strides = getNumbers(op.getStrides());
  return strides && llvm::all_of(*strides, [](int64_t n) { return n == 1; });
}

/// A slice of all elements, from 0 on and of the same dimensions.
static LogicalResult dropFullSlice(StridedSliceOp op,
                                   PatternRewriter &rewriter) {
  auto begin = getNumbers(op.getBegin());
  if (!begin || !isContiguous(op) ||
      llvm::any_of(*begin, [](int64_t n) { return n != 0; }))
    return failure();
  auto type = dyn_cast<TensorStructInfoType>(op.getX().getType());
  return type && type.hasShape() ? forward(op, op.getX(), rewriter) : failure();
}

/// A slice along the axis of a concatenation that is a part of one of its
/// tensors.
static LogicalResult sliceOnePart(StridedSliceOp op,
                                  PatternRewriter &rewriter) {
  auto concat = dyn_cast_or_null<ConcatOp>(producerOf<ConcatOp>(op.getX(), op));
  if (!concat || op.getAxes().size() != 1 || !isContiguous(op) ||
      !mayDropErrors(concat))
    return failure();
  auto begin = getNumbers(op.getBegin()), end = getNumbers(op.getEnd());
  auto axis = normalizeAxis(op.getAxes().front(), op.getX());
  if (!begin || !end || !axis || begin->front() < 0 ||
      end->front() < begin->front() ||
      normalizeAxis(concat.getAxis(), op.getX()) != axis)
    return failure();
  int64_t offset = 0;
  for (Value tensor : concat.getTensors()) {
    auto type = dyn_cast<TensorStructInfoType>(tensor.getType());
    std::optional<int64_t> size = type && type.hasShape()
                                      ? type.getDims()[*axis].getConstant()
                                      : std::nullopt;
    if (!size)
      return failure(); // where the next tensor begins is not known
    if (offset <= begin->front() && end->front() <= offset + *size &&
        haveSameOtherDims(tensor, op.getX(), *axis)) {
      auto shapeOf = [&](int64_t n) -> Value {
        auto expr = ShapeExprAttr::get(
            op->getContext(), {PrimExprAttr::getInt(op->getContext(), n)});
        return ShapeOp::create(
            rewriter, op->getLoc(),
            ShapeStructInfoType::get(op->getContext(), expr, 1, StringAttr()),
            expr);
      };
      Value from = shapeOf(begin->front() - offset);
      Value to = shapeOf(end->front() - offset);
      rewriter.modifyOpInPlace(op, [&] {
        op.getXMutable().assign(tensor);
        op.getBeginMutable().assign(from);
        op.getEndMutable().assign(to);
      });
      return success();
    }
    offset += *size;
  }
  return failure();
}

void mlir::relax::populateSlicePatterns(RewritePatternSet &patterns) {
  patterns.add(joinConcatenations);
  patterns.add(dropFullSlice);
  patterns.add(sliceOnePart);
}
