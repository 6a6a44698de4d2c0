//===- HiddenKernels.cpp - Kernels that bufferization skips -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HiddenKernels.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr StringLiteral kModule = "relax_hidden_kernels";

static gpu::GPUModuleOp getHidden(ModuleOp module) {
  return module.lookupSymbol<gpu::GPUModuleOp>(kModule);
}

void mlir::relax::hideKernel(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  OpBuilder builder(kernel.getContext());
  gpu::GPUModuleOp hidden = getHidden(module);
  if (!hidden) {
    builder.setInsertionPointToEnd(module.getBody());
    hidden = gpu::GPUModuleOp::create(builder, kernel.getLoc(), kModule);
  }
  builder.setInsertionPointToEnd(hidden.getBody());
  auto function = gpu::GPUFuncOp::create(
      builder, kernel.getLoc(), kernel.getSymName(), kernel.getFunctionType());
  function.getBody().takeBody(kernel.getBody());
  Operation *end = function.getBody().front().getTerminator();
  builder.setInsertionPoint(end);
  gpu::ReturnOp::create(builder, end->getLoc());
  end->erase();
}

void mlir::relax::revealKernels(ModuleOp module) {
  gpu::GPUModuleOp hidden = getHidden(module);
  if (!hidden)
    return;
  SymbolTable symbols(module);
  for (auto function : hidden.getOps<gpu::GPUFuncOp>()) {
    auto kernel = symbols.lookup<func::FuncOp>(function.getName());
    if (!kernel)
      continue;
    kernel.getBody().takeBody(function.getBody());
    Operation *end = kernel.getBody().front().getTerminator();
    OpBuilder builder(end);
    func::ReturnOp::create(builder, end->getLoc());
    end->erase();
  }
  hidden.erase();
}
