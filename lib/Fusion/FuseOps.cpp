//===- FuseOps.cpp - Outline groups of kernel calls -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outlines each fusion group as a private function (Outline.h).
//
//===----------------------------------------------------------------------===//

#include "FusionGroups.h"
#include "MergeKernels.h"
#include "RaiseKernels.h"

#include "relax-mlir/Codegen/Kernels.h"
#include "relax-mlir/Fusion/Outline.h"
#include "relax-mlir/Fusion/Passes.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXFUSEOPSPASS
#include "relax-mlir/Fusion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// All calls of a group, in order.
static SmallVector<Operation *> getOps(const FusionGroup &group) {
  SmallVector<Operation *> ops(group.ops);
  ops.push_back(group.last);
  return ops;
}

/// Whether the kernel that a group becomes is attention.
static bool isAttention(const FusionGroup &group, GroupOutliner &outliner) {
  FuncOp function = outliner.build(getOps(group));
  func::FuncOp kernel = mergeKernels(function, outliner.getSymbols());
  bool result = kernel && isAttentionKernel(kernel);
  if (kernel)
    kernel.erase();
  function.erase();
  return result;
}

namespace {
struct RelaxFuseOpsPass : relax::impl::RelaxFuseOpsPassBase<RelaxFuseOpsPass> {
  using RelaxFuseOpsPassBase::RelaxFuseOpsPassBase;

  using Find = llvm::function_ref<FailureOr<SmallVector<FusionGroup>>(Block &)>;

  /// Makes functions of the groups that are found in dataflow blocks.
  LogicalResult outlineGroups(GroupOutliner &outliner, Find find) {
    SmallVector<FusionGroup> groups;
    for (auto function : getOperation().getOps<relax::FuncOp>()) {
      if (isPrimitive(function))
        continue;
      WalkResult result = function.walk([&](DataflowOp dataflow) {
        auto found = find(dataflow.getBody().front());
        if (failed(found))
          return WalkResult::interrupt();
        llvm::append_range(groups, *found);
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return failure();
    }
    IRRewriter rewriter(&getContext());
    // Kernels allocate what they return.
    RelaxDialect::FreshAttrHelper fresh(&getContext());
    for (const FusionGroup &group : groups)
      fresh.setAttr(outliner.outline(getOps(group), rewriter),
                    rewriter.getUnitAttr());
    return success();
  }

  void runOnOperation() override {
    raiseKernels(getOperation());
    KernelFactsCache kernels(getOperation());
    GroupOutliner outliner(getOperation());
    auto findAttention = [&](Block &block) {
      return findAttentionGroups(block, kernels, maxDepth,
                                 [&](const FusionGroup &group) {
                                   return isAttention(group, outliner);
                                 });
    };
    auto findAll = [&](Block &block) {
      return findFusionGroups(block, kernels, maxDepth);
    };
    if (failed(outlineGroups(outliner, findAttention)) ||
        failed(outlineGroups(outliner, findAll)))
      signalPassFailure();
  }
};
} // namespace
