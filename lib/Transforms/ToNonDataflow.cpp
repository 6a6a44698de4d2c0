//===- ToNonDataflow.cpp - Inline dataflow blocks -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlineDataflow.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXTONONDATAFLOWPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

SmallVector<Value> mlir::relax::inlineDataflow(DataflowOp dataflow,
                                               RewriterBase &rewriter) {
  Block &body = dataflow.getBody().front();
  SmallVector<Value> outputs(body.getTerminator()->getOperands());
  rewriter.eraseOp(body.getTerminator());
  rewriter.inlineBlockBefore(&body, dataflow);
  rewriter.setInsertionPoint(dataflow);
  for (auto [value, result] : llvm::zip(outputs, dataflow.getResults()))
    if (value.getType() != result.getType())
      value = MatchCastOp::create(rewriter, dataflow.getLoc(), result.getType(),
                                  value);
  rewriter.replaceOp(dataflow, outputs);
  return outputs;
}

namespace {
struct RelaxToNonDataflowPass
    : relax::impl::RelaxToNonDataflowPassBase<RelaxToNonDataflowPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk(
        [&](DataflowOp dataflow) { inlineDataflow(dataflow, rewriter); });
  }
};
} // namespace
