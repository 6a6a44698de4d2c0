//===- DeallocateBuffers.cpp - Memory that kernels free -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Almost all buffers of kernels are packed tiles and temporaries that only
// operations of their own block read and write. They are freed where the block
// ends. Modules with others take the passes of upstream, which track the
// ownership of each buffer, and are as slow as all of bufferization.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXDEALLOCATEBUFFERSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// Upstream's pipeline, which simplifies kernels only and not the functions
/// that call them.
static OpPassManager makeDeallocation() {
  OpPassManager pm(ModuleOp::getOperationName());
  pm.addPass(memref::createExpandReallocPass());
  pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  addTidying(pm.nest<func::FuncOp>());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  addTidying(pm.nest<func::FuncOp>());
  return pm;
}

static bool hasMemref(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<BaseMemRefType>);
}

/// Whether the function frees a buffer itself.
static bool isFreed(memref::AllocOp alloc) {
  return llvm::any_of(alloc->getUsers(), llvm::IsaPred<memref::DeallocOp>);
}

/// Whether nothing but a read or a write in the block of a buffer, or in a
/// region of it, uses the buffer, or a view of it.
static bool isLocal(memref::AllocOp alloc) {
  Block *block = alloc->getBlock();
  SmallVector<Value> views = {alloc.getMemref()};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (Operation *user : view.getUsers()) {
      if (!block->findAncestorOpInBlock(*user))
        return false;
      if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1)
        views.push_back(user->getResult(0));
      else if (hasMemref(user->getResultTypes()) ||
               user->hasTrait<OpTrait::IsTerminator>() ||
               isa<memref::DeallocOp>(user))
        return false;
      else if (auto store = dyn_cast<memref::StoreOp>(user))
        if (store.getValueToStore() == view)
          return false;
    }
  }
  return true;
}

/// The buffers of a function that it does not free. None if the function may
/// have some that are not local.
static std::optional<SmallVector<memref::AllocOp>>
findLocalBuffers(func::FuncOp function) {
  if (hasMemref(function.getResultTypes()))
    return std::nullopt;
  SmallVector<memref::AllocOp> buffers;
  WalkResult result = function.walk([&](Operation *op) {
    if (!hasMemref(op->getResultTypes()) || isa<memref::AllocaOp>(op) ||
        isMemoryEffectFree(op))
      return WalkResult::advance();
    auto alloc = dyn_cast<memref::AllocOp>(op);
    if (alloc && isFreed(alloc))
      return WalkResult::advance();
    if (!alloc || !isLocal(alloc))
      return WalkResult::interrupt();
    buffers.push_back(alloc);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return std::nullopt;
  return buffers;
}

static void freeAtEndOfBlock(memref::AllocOp alloc) {
  OpBuilder builder(alloc->getBlock()->getTerminator());
  memref::DeallocOp::create(builder, alloc.getLoc(), alloc.getMemref());
}

/// Has the passes of upstream leave alone what a function frees: they take no
/// memref.dealloc that they do not know of.
static void markDeallocations(func::FuncOp function) {
  auto mark = [](Operation *op) {
    op->setAttr(bufferization::BufferizationDialect::kManualDeallocation,
                UnitAttr::get(op->getContext()));
  };
  function.walk([&](memref::DeallocOp dealloc) {
    mark(dealloc);
    if (auto alloc = dealloc.getMemref().getDefiningOp<memref::AllocOp>())
      mark(alloc);
  });
}

namespace {
struct RelaxDeallocateBuffersPass
    : relax::impl::RelaxDeallocateBuffersPassBase<RelaxDeallocateBuffersPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    pipeline.getDependentDialects(registry);
  }

  void runOnOperation() override {
    bool hasOthers = false;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (auto buffers = findLocalBuffers(function))
        llvm::for_each(*buffers, freeAtEndOfBlock);
      else
        hasOthers = true;
    if (!hasOthers)
      return;
    getOperation().walk(markDeallocations);
    if (failed(runPipeline(pipeline, getOperation())))
      signalPassFailure();
  }

  // Kept for the next module: patterns of canonicalization are made once.
  OpPassManager pipeline = makeDeallocation();
};
} // namespace
