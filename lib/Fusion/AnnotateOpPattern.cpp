//===- AnnotateOpPattern.cpp - State the kinds of kernels -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseKernels.h"

#include "relax-mlir/Analysis/OpPattern.h"
#include "relax-mlir/Fusion/Passes.h"
#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXANNOTATEOPPATTERNPASS
#include "relax-mlir/Fusion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
struct RelaxAnnotateOpPatternPass
    : relax::impl::RelaxAnnotateOpPatternPassBase<RelaxAnnotateOpPatternPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    // A function without body is no kernel of ours.
    if (kernel.isExternal())
      return;
    // Of loops, the kind is the one of what they would be raised to.
    OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(kernel->clone());
    raiseLoops(*copy);
    FailureOr<OpPattern> pattern = getOpPattern(*copy);
    if (failed(pattern))
      return signalPassFailure();
    if (!kernel->hasAttr(kOpPattern))
      kernel->setAttr(kOpPattern,
                      IntegerAttr::get(IntegerType::get(&getContext(), 64),
                                       static_cast<int64_t>(*pattern)));
  }
};
} // namespace
