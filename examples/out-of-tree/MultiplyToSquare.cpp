//===- MultiplyToSquare.cpp - Replaces x * x by square(x) -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Passes.h"

#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace square {
#define GEN_PASS_DEF_MULTIPLYTOSQUAREPASS
#include "Passes.h.inc"
} // namespace square

using namespace mlir;

namespace {

struct MultiplyToSquare : OpRewritePattern<relax::MultiplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(relax::MultiplyOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getX1() != op.getX2())
      return failure();
    rewriter.replaceOpWithNewOp<relax::SquareOp>(op, op.getType(), op.getX1());
    return success();
  }
};

struct MultiplyToSquarePass
    : square::impl::MultiplyToSquarePassBase<MultiplyToSquarePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MultiplyToSquare>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
