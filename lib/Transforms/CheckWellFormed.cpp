//===- CheckWellFormed.cpp - Report all violations at once -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/WellFormed.h"
#include "relax-mlir/Transforms/Passes.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXCHECKWELLFORMEDPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
struct RelaxCheckWellFormedPass
    : relax::impl::RelaxCheckWellFormedPassBase<RelaxCheckWellFormedPass> {
  void runOnOperation() override {
    if (failed(checkWellFormed(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
