//===- PrepareKernels.cpp - Kernels ready for bufferization -----*- C++ -*-===//
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
// results. Loops that write elements into the outputs work there anyway.
//
//===----------------------------------------------------------------------===//

#include "WrittenInPlace.h"

#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXPREPAREKERNELSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The calls of a kernel agree on the parameters that it updates.
struct Use {
  Operation *call; // the first one
  SmallVector<int64_t> updated;
};
using Kernels = llvm::MapVector<func::FuncOp, Use>;
} // namespace

static bool isOnTensors(func::FuncOp kernel) {
  return llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<TensorType>);
}

/// The kernel that an operation calls, and the parameters that the call
/// updates; null for any other operation.
static std::pair<func::FuncOp, SmallVector<int64_t>>
findKernel(Operation *op, const SymbolTable &symbols) {
  if (auto call = dyn_cast<CallKernelOp>(op))
    return {symbols.lookup<func::FuncOp>(call.getCallee()),
            call.getUpdatedParams()};
  auto call = dyn_cast<CallOp>(op);
  if (!call || !call.getCallee())
    return {};
  auto kernel = symbols.lookup<func::FuncOp>(*call.getCallee());
  if (!kernel)
    return {};
  // Called directly it updates as many arguments as it has results.
  int64_t end = kernel.getNumArguments(), numResults = kernel.getNumResults();
  return {kernel, llvm::to_vector(llvm::seq<int64_t>(
                      std::max<int64_t>(end - numResults, 0), end))};
}

/// The kernels that calls in `module` name.
static FailureOr<Kernels> collectKernels(ModuleOp module,
                                         const SymbolTable &symbols) {
  Kernels kernels;
  WalkResult result = module.walk([&](Operation *op) {
    auto [kernel, updated] = findKernel(op, symbols);
    if (!kernel)
      return WalkResult::advance();
    auto [it, isNew] = kernels.insert({kernel, Use{op, updated}});
    // One on memrefs writes where it likes.
    if (isNew || it->second.updated == updated || !isOnTensors(kernel))
      return WalkResult::advance();
    InFlightDiagnostic diag =
        op->emitOpError() << "expected all calls of @" << kernel.getSymName()
                          << " to put its results in the same parameters";
    diag.attachNote(it->second.call->getLoc()) << "another call is here";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  return kernels;
}

/// Verifies that a kernel on tensors returns one tensor for each parameter that
/// it is to update, of the same type.
static LogicalResult verifyResults(func::FuncOp kernel,
                                   ArrayRef<int64_t> updated) {
  SmallVector<Type> expected;
  for (int64_t param : updated)
    if (param < kernel.getNumArguments())
      expected.push_back(kernel.getArgumentTypes()[param]);
  if (expected.size() == updated.size() &&
      TypeRange(expected) == TypeRange(kernel.getResultTypes()))
    return success();
  InFlightDiagnostic diag =
      kernel.emitOpError()
      << "expected a kernel on tensors to return its outputs, parameters ";
  llvm::interleaveComma(updated, diag);
  return diag << ", updated";
}

/// A parameter that is returned in place of another one is copied before
/// anything is written, for instance where two parameters are swapped.
static Value copyParameter(OpBuilder &builder, Location loc, Value value) {
  auto copy = bufferization::AllocTensorOp::create(
      builder, loc, cast<RankedTensorType>(value.getType()), ValueRange(),
      /*copy=*/value);
  return copy.getResult();
}

static LogicalResult prepare(func::FuncOp kernel, ArrayRef<int64_t> updated) {
  if (failed(verifyResults(kernel, updated)))
    return failure();
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (isa<TensorType>(type))
      kernel.setArgAttr(
          index, bufferization::BufferizationDialect::kWritableAttrName,
          BoolAttr::get(kernel.getContext(),
                        llvm::is_contained(updated, int64_t(index))));
  for (Block &block : kernel.getBody()) {
    auto ret = dyn_cast<func::ReturnOp>(block.getTerminator());
    if (!ret)
      continue;
    OpBuilder builder(ret);
    for (auto [operand, param] : llvm::zip(ret->getOpOperands(), updated))
      if (auto argument = dyn_cast<BlockArgument>(operand.get());
          argument && argument != kernel.getArgument(param))
        operand.set(copyParameter(builder, ret.getLoc(), argument));
    for (auto [operand, param] : llvm::zip(ret->getOpOperands(), updated)) {
      Value output = kernel.getArgument(param);
      if (operand.get().getDefiningOp<scf::ForOp>() &&
          isWrittenInPlace(operand.get(), output))
        continue;
      operand.set(
          bufferization::MaterializeInDestinationOp::create(
              builder, ret.getLoc(), output.getType(), operand.get(), output)
              .getResult());
    }
  }
  return success();
}

/// Loops over threads run one iteration after the other, so what threads write
/// for each other would be read too early.
static LogicalResult verifyThreads(func::FuncOp kernel) {
  RelaxDialect::ThreadAttrHelper thread(kernel.getContext());
  RelaxDialect::ScopeAttrHelper scope(kernel.getContext());
  auto startsWith = [](StringAttr value, StringRef prefix) {
    return value && value.getValue().starts_with(prefix);
  };
  Operation *threads = nullptr, *shared = nullptr;
  kernel.walk([&](Operation *op) {
    if (startsWith(thread.getAttr(op), "threadIdx"))
      threads = op;
    if (startsWith(scope.getAttr(op), "shared"))
      shared = op;
  });
  if (!threads || !shared)
    return success();
  InFlightDiagnostic diag = shared->emitOpError()
                            << "expected no memory that threads share: the "
                               "processor runs them one after the other";
  diag.attachNote(threads->getLoc()) << "the loop over threads is here";
  return diag;
}

/// Gives kernels names of their own, in a single walk over the module.
static LogicalResult rename(ModuleOp module, const Kernels &kernels,
                            const SymbolTable &symbols) {
  AttrTypeReplacer replacer;
  DenseMap<Attribute, Attribute> names;
  for (func::FuncOp kernel : llvm::make_first_range(kernels)) {
    std::string name = (kKernelPrefix + kernel.getSymName()).str();
    if (symbols.lookup(name))
      return kernel.emitOpError()
             << "expected no other symbol of the name that is given to this "
                "kernel, '"
             << name << "'";
    names[FlatSymbolRefAttr::get(kernel)] =
        FlatSymbolRefAttr::get(module.getContext(), name);
  }
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) {
    Attribute name = names.lookup(symbol);
    return name ? name : symbol;
  });
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&module.getBodyRegion());
  if (!uses)
    return module.emitError("expected operations that are known");
  for (SymbolTable::SymbolUse use : *uses)
    replacer.replaceElementsIn(use.getUser());
  for (func::FuncOp kernel : llvm::make_first_range(kernels))
    kernel.setName(
        cast<FlatSymbolRefAttr>(names[FlatSymbolRefAttr::get(kernel)])
            .getValue());
  return success();
}

namespace {
struct RelaxPrepareKernelsPass
    : relax::impl::RelaxPrepareKernelsPassBase<RelaxPrepareKernelsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    FailureOr<Kernels> kernels = collectKernels(getOperation(), symbols);
    if (failed(kernels))
      return signalPassFailure();
    for (auto &[kernel, use] : *kernels) {
      if (kernel.isExternal()) {
        kernel.emitOpError() << "is called as a kernel, but has no body";
        return signalPassFailure();
      }
      bool isOnHost =
          !RelaxDialect::DeviceAttrHelper(&getContext()).isAttrPresent(kernel);
      if ((isOnHost && failed(verifyThreads(kernel))) ||
          (isOnTensors(kernel) && failed(prepare(kernel, use.updated))))
        return signalPassFailure();
      // No code outside knows the new name, so the results may be dropped.
      kernel.setPrivate();
    }
    if (failed(rename(getOperation(), *kernels, symbols)))
      signalPassFailure();
  }
};
} // namespace
