//===- MarkDeallocations.cpp - Memory that kernels free -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass of upstream that frees what bufferization allocates takes no
// memref.dealloc that it does not know of.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXMARKDEALLOCATIONSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;

namespace {
struct RelaxMarkDeallocationsPass
    : relax::impl::RelaxMarkDeallocationsPassBase<RelaxMarkDeallocationsPass> {
  void runOnOperation() override {
    auto mark = [&](Operation *op) {
      op->setAttr(bufferization::BufferizationDialect::kManualDeallocation,
                  UnitAttr::get(&getContext()));
    };
    getOperation().walk([&](memref::DeallocOp dealloc) {
      mark(dealloc);
      if (auto alloc = dealloc.getMemref().getDefiningOp<memref::AllocOp>())
        mark(alloc);
    });
  }
};
} // namespace
