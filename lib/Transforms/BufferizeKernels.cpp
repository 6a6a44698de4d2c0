//===- BufferizeKernels.cpp - Kernels on memrefs ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most kernels are written on memrefs by `relax-emit-kernels`. Upstream's
// passes would visit each of their operations several times to find nothing to
// do, so they run where a kernel of the module has tensors.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXBUFFERIZEKERNELSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

static OpPassManager makeBufferization() {
  OpPassManager pm(ModuleOp::getOperationName());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  addTidying(pm.nest<func::FuncOp>()); // for loops that return a parameter
  pm.addPass(bufferization::createDropEquivalentBufferResultsPass());
  return pm;
}

static bool hasTensor(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<TensorType>);
}

/// Whether a kernel computes tensors, or returns anything.
static bool isBufferized(func::FuncOp kernel) {
  if (kernel.getNumResults() || hasTensor(kernel.getArgumentTypes()))
    return true;
  return kernel
      .walk([](Operation *op) {
        return WalkResult(failure(hasTensor(op->getOperandTypes()) ||
                                  hasTensor(op->getResultTypes())));
      })
      .wasInterrupted();
}

namespace {
struct RelaxBufferizeKernelsPass
    : relax::impl::RelaxBufferizeKernelsPassBase<RelaxBufferizeKernelsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    pipeline.getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (llvm::any_of(getOperation().getOps<func::FuncOp>(), isBufferized) &&
        failed(runPipeline(pipeline, getOperation())))
      signalPassFailure();
  }

  // Kept for the next module: patterns of canonicalization are made once.
  OpPassManager pipeline = makeBufferization();
};
} // namespace
