//===- LowerExpandShape.cpp - Expand to dynamic dimensions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's expansion of strided metadata takes one dynamic dimension in a
// group, though memref.expand_shape carries the sizes of all of them.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWEREXPANDSHAPEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;

/// The stride of each dimension of the result: within a group row-major, on top
/// of the stride of the dimension that is expanded.
static SmallVector<OpFoldResult>
computeStrides(OpBuilder &builder, memref::ExpandShapeOp op,
               ArrayRef<OpFoldResult> sourceStrides,
               ArrayRef<OpFoldResult> sizes) {
  AffineExpr product =
      builder.getAffineSymbolExpr(0) * builder.getAffineSymbolExpr(1);
  SmallVector<OpFoldResult> strides(sizes.size());
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
  if (groups.empty())
    return SmallVector<OpFoldResult>(sizes.size(), one);
  for (auto [group, sourceStride] : llvm::zip(groups, sourceStrides)) {
    OpFoldResult stride = sourceStride;
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = stride;
      if (dim != group.front())
        stride = affine::makeComposedFoldedAffineApply(
            builder, op.getLoc(), product, {stride, sizes[dim]});
    }
  }
  return strides;
}

static void lower(memref::ExpandShapeOp op) {
  OpBuilder builder(op);
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, op.getLoc(),
                                                           op.getSrc());
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides =
      computeStrides(builder, op, metadata.getConstifiedMixedStrides(), sizes);
  // The result type has the static strides that upstream derives; a cast that
  // keeps them needs the same ones as attributes.
  auto [typeStrides, typeOffset] = op.getResultType().getStridesAndOffset();
  for (auto [stride, known] : llvm::zip(strides, typeStrides))
    if (!ShapedType::isDynamic(known))
      stride = builder.getIndexAttr(known);
  OpFoldResult offset = metadata.getConstifiedMixedOffset();
  if (!ShapedType::isDynamic(typeOffset))
    offset = builder.getIndexAttr(typeOffset);
  auto cast = memref::ReinterpretCastOp::create(
      builder, op.getLoc(), op.getResultType(), metadata.getBaseBuffer(),
      offset, sizes, strides);
  op.getResult().replaceAllUsesWith(cast);
  op.erase();
}

namespace {
struct RelaxLowerExpandShapePass
    : relax::impl::RelaxLowerExpandShapePassBase<RelaxLowerExpandShapePass> {
  void runOnOperation() override {
    getOperation().walk([](memref::ExpandShapeOp op) { lower(op); });
  }
};
} // namespace
