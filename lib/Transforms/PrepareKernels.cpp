//===- PrepareKernels.cpp - Make kernels ready for bufferization -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels get names of their own. A kernel on tensors returns its updated
// outputs, which are its last parameters. Materializing the results in them,
// and marking them as writable, lets bufferization work in place and drop the
// results.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXPREPAREKERNELSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// The kernels that calls in `module` name, with the number of their outputs.
static llvm::MapVector<func::FuncOp, unsigned>
collectKernels(ModuleOp module, const SymbolTable &symbols) {
  llvm::MapVector<func::FuncOp, unsigned> kernels;
  module.walk([&](Operation *op) {
    if (auto call = dyn_cast<CallKernelOp>(op)) {
      if (auto kernel = symbols.lookup<func::FuncOp>(call.getCallee()))
        kernels.insert({kernel, call.getOutputs().size()});
    } else if (auto call = dyn_cast<CallOp>(op); call && call.getCallee()) {
      // Called directly it updates as many arguments as it has results.
      if (auto kernel = symbols.lookup<func::FuncOp>(*call.getCallee()))
        kernels.insert({kernel, kernel.getNumResults()});
    }
  });
  return kernels;
}

static bool isOnTensors(func::FuncOp kernel) {
  return llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<TensorType>);
}

static LogicalResult prepare(func::FuncOp kernel, unsigned numOutputs) {
  unsigned numParams = kernel.getNumArguments();
  ArrayRef<Type> types = kernel.getArgumentTypes();
  if (numOutputs > numParams ||
      types.take_back(numOutputs) != kernel.getResultTypes())
    return kernel.emitOpError()
           << "expected a kernel on tensors to return its outputs, the last "
           << numOutputs << " of its parameters, updated";
  for (unsigned i = 0; i < numParams; ++i)
    if (isa<TensorType>(types[i]))
      kernel.setArgAttr(
          i, bufferization::BufferizationDialect::kWritableAttrName,
          BoolAttr::get(kernel.getContext(), i >= numParams - numOutputs));
  for (Block &block : kernel.getBody()) {
    auto ret = dyn_cast<func::ReturnOp>(block.getTerminator());
    if (!ret)
      continue;
    OpBuilder builder(ret);
    for (auto [index, operand] : llvm::enumerate(ret->getOpOperands())) {
      Value output = kernel.getArgument(numParams - numOutputs + index);
      operand.set(
          bufferization::MaterializeInDestinationOp::create(
              builder, ret.getLoc(), output.getType(), operand.get(), output)
              .getResult());
    }
  }
  return success();
}

namespace {
struct RelaxPrepareKernelsPass
    : relax::impl::RelaxPrepareKernelsPassBase<RelaxPrepareKernelsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto [kernel, numOutputs] : collectKernels(getOperation(), symbols)) {
      if (kernel.isExternal()) {
        kernel.emitOpError() << "is called as a kernel, but has no body";
        return signalPassFailure();
      }
      std::string name = ("relax.kernel." + kernel.getSymName()).str();
      if ((isOnTensors(kernel) && failed(prepare(kernel, numOutputs))) ||
          failed(symbols.rename(kernel, name)))
        return signalPassFailure();
    }
  }
};
} // namespace
