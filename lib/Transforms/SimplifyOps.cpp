//===- SimplifyOps.cpp - Apply the patterns of operators -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PatternWalks.h"

#include "relax-mlir/IR/Canonicalize.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXSIMPLIFYOPSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
struct RelaxSimplifyOpsPass
    : relax::impl::RelaxSimplifyOpsPassBase<RelaxSimplifyOpsPass> {
  using RelaxSimplifyOpsPassBase::RelaxSimplifyOpsPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateOperatorPatterns(set);
    if (join)
      populateJoinPatterns(set);
    patterns = std::move(set);
    return success();
  }
  void runOnOperation() override {
    applyPatternsInWalks(getOperation(), patterns);
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
