//===- Moves.cpp - Patterns for operators that move elements ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes, reshapes, broadcasts and copies that do nothing or join with the
// one before.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace mlir::relax;

/// The permutation of an operator whose rank is known; else nothing.
static std::optional<SmallVector<int64_t>> getPermutation(PermuteDimsOp op) {
  auto type = dyn_cast<TensorStructInfoType>(op.getX().getType());
  if (!type || !type.hasRank())
    return std::nullopt;
  SmallVector<int64_t> axes;
  if (auto given = op.getAxes())
    for (int64_t axis : *given)
      axes.push_back(axis < 0 ? axis + type.getNdim() : axis);
  else
    for (int64_t axis = type.getNdim(); axis-- > 0;)
      axes.push_back(axis);
  return axes;
}

/// What a transpose and the one before, if there is one, do together: the value
/// that is moved, and where to.
static std::pair<Value, SmallVector<int64_t>>
composeTransposes(PermuteDimsOp op) {
  auto axes = getPermutation(op);
  if (!axes)
    return {};
  auto first =
      dyn_cast_or_null<PermuteDimsOp>(producerOf<PermuteDimsOp>(op.getX(), op));
  auto before = first ? getPermutation(first) : std::nullopt;
  if (!before)
    return {op.getX(), *axes};
  for (int64_t &axis : *axes)
    axis = (*before)[axis];
  return {first.getX(), *axes};
}

static LogicalResult dropTransposes(PermuteDimsOp op,
                                    PatternRewriter &rewriter) {
  auto [source, axes] = composeTransposes(op);
  bool isIdentity =
      source && llvm::equal(axes, llvm::seq<int64_t>(0, axes.size()));
  return isIdentity ? forward(op, source, rewriter) : failure();
}

static LogicalResult joinTransposes(PermuteDimsOp op,
                                    PatternRewriter &rewriter) {
  auto [source, axes] = composeTransposes(op);
  if (!source || source == op.getX())
    return failure();
  rewriter.modifyOpInPlace(op, [&, source = source, &axes = axes] {
    op.setAxes(axes);
    op.getXMutable().assign(source);
  });
  return success();
}

/// Whether a reshape can have no error: it has as many elements as it is given.
static bool keepsElements(Operation *reshape) {
  auto from = dyn_cast<TensorStructInfoType>(reshape->getOperand(0).getType());
  auto to = dyn_cast<TensorStructInfoType>(reshape->getResult(0).getType());
  if (!from || !to || !from.hasShape() || !to.hasShape())
    return false;
  MLIRContext *context = reshape->getContext();
  PrimExprAttr have = PrimExprAttr::getProduct(context, from.getDims());
  return !have.isTooLarge() &&
         have == PrimExprAttr::getProduct(context, to.getDims());
}

/// What a reshape and the one before, if there is one, are given.
static Value findReshaped(Operation *op) {
  Value x = op->getOperand(0);
  Operation *first =
      producerOf<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(x, op);
  bool mayGo = first && (mayDropErrors(first) || keepsElements(first));
  return mayGo ? first->getOperand(0) : x;
}

/// To the dimensions that are there.
template <typename OpTy>
static LogicalResult dropReshapes(OpTy op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getType());
  if (!type || !type.hasShape())
    return failure();
  if (succeeded(forward(op, op.getX(), rewriter)))
    return success();
  return forward(op, findReshaped(op), rewriter);
}

template <typename OpTy>
static LogicalResult joinReshapes(OpTy op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getType());
  Value source = findReshaped(op);
  if (!type || !type.hasShape() || source == op.getX())
    return failure();
  Value shape =
      ShapeOp::create(rewriter, op.getLoc(),
                      ShapeStructInfoType::get(op.getContext(), type.getShape(),
                                               type.getNdim(), StringAttr()),
                      type.getShape());
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, source, shape);
  return success();
}

/// The dimensions of `from` whose product is each dimension of `to`, in order;
/// nothing where there are none.
static std::optional<SmallVector<SmallVector<int64_t>>>
groupDims(ArrayRef<PrimExprAttr> from, ArrayRef<PrimExprAttr> to) {
  SmallVector<SmallVector<int64_t>> groups;
  int64_t next = 0, count = from.size();
  for (PrimExprAttr dim : to) {
    SmallVector<int64_t> &group = groups.emplace_back();
    SmallVector<PrimExprAttr> taken;
    do {
      if (next == count)
        return std::nullopt;
      taken.push_back(from[next]);
      group.push_back(next++);
    } while (PrimExprAttr::getProduct(dim.getContext(), taken) != dim);
  }
  if (next != count)
    return std::nullopt;
  return groups;
}

/// A transpose of dimensions that a reshape before it makes one, and a reshape
/// behind it takes apart, moves each of them.
static LogicalResult moveMergedDims(ReshapeOp op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getType());
  auto transpose =
      dyn_cast_or_null<PermuteDimsOp>(producerOf<PermuteDimsOp>(op.getX(), op));
  if (!type || !type.hasShape() || !transpose || !transpose->hasOneUse())
    return failure();
  Value source = findReshaped(transpose);
  auto from = dyn_cast<TensorStructInfoType>(source.getType());
  auto merged = dyn_cast<TensorStructInfoType>(transpose.getX().getType());
  auto axes = getPermutation(transpose);
  if (source == transpose.getX() || !from || !from.hasShape() || !merged ||
      !merged.hasShape() || !axes)
    return failure();
  auto groups = groupDims(from.getDims(), merged.getDims());
  if (!groups)
    return failure();
  SmallVector<int64_t> moved;
  for (int64_t axis : *axes)
    llvm::append_range(moved, (*groups)[axis]);
  auto isThere = [&](auto pair) {
    auto [dim, axis] = pair;
    return dim == from.getDims()[axis];
  };
  if (moved.size() != type.getDims().size() ||
      !llvm::all_of(llvm::zip(type.getDims(), moved), isThere))
    return failure();
  rewriter.replaceOpWithNewOp<PermuteDimsOp>(
      op, type, source, rewriter.getDenseI64ArrayAttr(moved));
  return success();
}

static LogicalResult dropBroadcast(BroadcastToOp op,
                                   PatternRewriter &rewriter) {
  return forward(op, op.getX(), rewriter);
}

static LogicalResult joinBroadcasts(BroadcastToOp op,
                                    PatternRewriter &rewriter) {
  Operation *first = producerOf<BroadcastToOp>(op.getX(), op);
  if (!first || !mayDropErrors(first))
    return failure();
  rewriter.modifyOpInPlace(
      op, [&] { op.getXMutable().assign(first->getOperand(0)); });
  return success();
}

/// flip(flip(x)) along the same axis.
static LogicalResult dropDoubleFlip(FlipOp op, PatternRewriter &rewriter) {
  auto first = dyn_cast_or_null<FlipOp>(producerOf<FlipOp>(op.getData(), op));
  if (!first || normalizeAxis(first.getAxis(), op.getData()) !=
                    normalizeAxis(op.getAxis(), op.getData()))
    return failure();
  return forward(op, first.getData(), rewriter);
}

static LogicalResult dropSingleRepeat(RepeatOp op, PatternRewriter &rewriter) {
  return op.getRepeats() == 1 ? forward(op, op.getData(), rewriter) : failure();
}

static LogicalResult dropSingleTile(TileOp op, PatternRewriter &rewriter) {
  bool isOnce = llvm::all_of(op.getRepeats(), [](int64_t n) { return n == 1; });
  return isOnce ? forward(op, op.getData(), rewriter) : failure();
}

template <typename... OpTys>
static void addReshapes(RewritePatternSet &patterns) {
  (patterns.add(dropReshapes<OpTys>), ...);
}

template <typename... OpTys>
static void addJoinedReshapes(RewritePatternSet &patterns) {
  (patterns.add(joinReshapes<OpTys>), ...);
}

void mlir::relax::populateMovePatterns(RewritePatternSet &patterns) {
  patterns.add(dropTransposes);
  addReshapes<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(patterns);
  patterns.add(moveMergedDims);
  patterns.add(dropBroadcast);
  patterns.add(dropDoubleFlip);
  patterns.add(dropSingleRepeat);
  patterns.add(dropSingleTile);
}

void mlir::relax::populateJoinPatterns(RewritePatternSet &patterns) {
  patterns.add(joinTransposes);
  addJoinedReshapes<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(patterns);
  patterns.add(joinBroadcasts);
}
