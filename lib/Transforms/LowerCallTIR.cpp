//===- LowerCallTIR.cpp - Make the allocation of outputs explicit -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Purity.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWERCALLTIRPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// Allocates the outputs of a call.
static SmallVector<Value> allocate(RewriterBase &rewriter, Location loc,
                                   ArrayRef<TensorStructInfoType> types) {
  return llvm::map_to_vector(types, [&](TensorStructInfoType type) -> Value {
    return AllocTensorOp::create(rewriter, loc, type, ValueRange());
  });
}

/// Replaces a call by its outputs: the tensor, or the tuple of tensors.
static void replaceWithOutputs(RewriterBase &rewriter, Operation *call,
                               ArrayRef<Value> outputs) {
  if (isa<TensorStructInfoType>(call->getResult(0).getType()))
    return rewriter.replaceOp(call, outputs);
  rewriter.replaceOpWithNewOp<TupleOp>(call, call->getResult(0).getType(),
                                       outputs);
}

static void lowerCallTIR(RewriterBase &rewriter, CallTIROp call) {
  rewriter.setInsertionPoint(call);
  SmallVector<Value> outputs =
      allocate(rewriter, call.getLoc(), call.getOutputTypes());
  CallKernelOp::create(rewriter, call.getLoc(), call.getCalleeAttr(),
                       call.getArgs(), call.getPackedInts(), ValueRange(),
                       outputs);
  replaceWithOutputs(rewriter, call, outputs);
}

static void lowerCallDPSPacked(RewriterBase &rewriter, CallDPSPackedOp call) {
  rewriter.setInsertionPoint(call);
  SmallVector<Value> outputs =
      allocate(rewriter, call.getLoc(), call.getOutputTypes());
  SmallVector<Value> args(call.getArgs());
  llvm::append_range(args, outputs);
  CallPackedOp::create(rewriter, call.getLoc(),
                       ObjectStructInfoType::get(rewriter.getContext()),
                       call.getCalleeAttr(), args, /*sinfo_args=*/ArrayAttr());
  replaceWithOutputs(rewriter, call, outputs);
}

namespace {
struct RelaxLowerCallTIRPass
    : relax::impl::RelaxLowerCallTIRPassBase<RelaxLowerCallTIRPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (auto call = dyn_cast<CallTIROp>(op))
        lowerCallTIR(rewriter, call);
      else if (auto call = dyn_cast<CallDPSPackedOp>(op))
        lowerCallDPSPacked(rewriter, call);
    });
    // A field taken from a tuple just built is the value itself.
    getOperation().walk([&](GetItemOp item) {
      if (auto tuple = item.getTupleValue().getDefiningOp<TupleOp>())
        rewriter.replaceOp(item, tuple.getFields()[item.getIndex()]);
    });
    getOperation().walk([&](TupleOp tuple) {
      if (tuple->use_empty())
        rewriter.eraseOp(tuple);
    });
    // What was a pure call may be a call of a packed function now.
    getOperation()->walk([&](Operation *op) {
      if (isa<FuncOp, ClosureOp>(op))
        forcePurity(op);
    });
  }
};
} // namespace
