//===- LowerCallTIR.cpp - Explicit allocation of outputs --------*- C++ -*-===//
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
#include "llvm/ADT/TypeSwitch.h"

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

static void lower(RewriterBase &rewriter, CallTIROp call) {
  SmallVector<Value> outputs =
      allocate(rewriter, call.getLoc(), call.getOutputTypes());
  CallKernelOp::create(rewriter, call.getLoc(), call.getCalleeAttr(),
                       call.getArgs(), call.getPackedInts(), ValueRange(),
                       outputs, DenseI64ArrayAttr());
  replaceWithOutputs(rewriter, call, outputs);
}

/// OP02: an output is the argument that is updated, or it is allocated.
static void lower(RewriterBase &rewriter, CallTIRInplaceOp call) {
  SmallVector<TensorStructInfoType> allocated;
  for (auto [type, index] :
       llvm::zip(call.getOutputTypes(), call.getInplaceIndices()))
    if (index == -1)
      allocated.push_back(type);
  SmallVector<Value> fresh = allocate(rewriter, call.getLoc(), allocated);
  CallKernelOp::create(rewriter, call.getLoc(), call.getCalleeAttr(),
                       call.getArgs(), call.getPackedInts(), ValueRange(),
                       fresh, call.getInplaceIndicesAttr());
  auto next = fresh.begin();
  SmallVector<Value> outputs;
  for (auto [type, index] :
       llvm::zip(call.getOutputTypes(), call.getInplaceIndices())) {
    if (index == -1) {
      outputs.push_back(*next++);
      continue;
    }
    Value arg = call.getArgs()[index];
    if (arg.getType() != type)
      arg = MatchCastOp::create(rewriter, call.getLoc(), type, arg);
    outputs.push_back(arg);
  }
  replaceWithOutputs(rewriter, call, outputs);
}

/// Calls what a call of the family calls: by name, or as a value.
template <typename CallOpTy>
static Value callPacked(RewriterBase &rewriter, CallOpTy call, Type result,
                        ValueRange args, ArrayAttr sinfoArgs) {
  if (Value function = call.getFunction())
    return CallOp::create(rewriter, call.getLoc(), result,
                          /*callee=*/FlatSymbolRefAttr(), function, args,
                          sinfoArgs, /*arg_attrs=*/ArrayAttr(),
                          /*res_attrs=*/ArrayAttr());
  return CallPackedOp::create(rewriter, call.getLoc(), result,
                              call.getCalleeAttr(), args, sinfoArgs);
}

static void lower(RewriterBase &rewriter, CallDPSPackedOp call) {
  SmallVector<Value> outputs =
      allocate(rewriter, call.getLoc(), call.getOutputTypes());
  SmallVector<Value> args(call.getArgs());
  llvm::append_range(args, outputs);
  callPacked(rewriter, call, ObjectStructInfoType::get(rewriter.getContext()),
             args, /*sinfoArgs=*/ArrayAttr());
  replaceWithOutputs(rewriter, call, outputs);
}

/// OP05, OP06: the visibility of effects has been settled by now.
template <typename CallOpTy>
static void lowerPacked(RewriterBase &rewriter, CallOpTy call) {
  rewriter.replaceOp(call,
                     callPacked(rewriter, call, call.getResult().getType(),
                                call.getArgs(), call.getSinfoArgsAttr()));
}

static void lower(RewriterBase &rewriter, CallPurePackedOp call) {
  lowerPacked(rewriter, call);
}

static void lower(RewriterBase &rewriter, CallInplacePackedOp call) {
  lowerPacked(rewriter, call);
}

/// Printing and assertions are packed functions of the runtime, which take the
/// format as a string.
static void lowerDebug(RewriterBase &rewriter, Operation *op, StringRef name,
                       ValueRange condition, StringAttr format,
                       ValueRange values) {
  SmallVector<Value> args(condition);
  args.push_back(StringOp::create(rewriter, op->getLoc(), format));
  llvm::append_range(args, values);
  CallPackedOp::create(rewriter, op->getLoc(),
                       ObjectStructInfoType::get(rewriter.getContext()), name,
                       args, /*sinfo_args=*/ArrayAttr());
  rewriter.replaceOpWithNewOp<TupleOp>(op, op->getResult(0).getType(),
                                       ValueRange());
}

static void lower(RewriterBase &rewriter, PrintOp op) {
  lowerDebug(rewriter, op, "relax_mlir.run.print", ValueRange(),
             op.getFormatAttr(), op.getValues());
}

static void lower(RewriterBase &rewriter, AssertOp op) {
  lowerDebug(rewriter, op, "relax_mlir.run.assert_op", op.getCondition(),
             op.getFormatAttr(), op.getArgs());
}

static void lower(RewriterBase &rewriter, FatalOp op) {
  RaiseOp::create(rewriter, op.getLoc(), op.getMessageAttr());
  rewriter.replaceOpWithNewOp<TupleOp>(op, op.getResult().getType(),
                                       ValueRange());
}

/// Verifies that a call takes its arguments one by one; lowered, it may have
/// effects.
static LogicalResult verifyReady(NormalizeOpInterface call) {
  if (call.isNormalized())
    return success();
  return call.emitOpError()
         << "takes a tuple as argument: run relax-normalize before";
}

static LogicalResult verifyReady(Operation *op) {
  if (!isa<CallTIROp, CallTIRInplaceOp, CallDPSPackedOp, CallPurePackedOp,
           CallInplacePackedOp>(op))
    return success();
  if (auto dataflow = dyn_cast<DataflowOp>(op->getParentOp()); dataflow) {
    InFlightDiagnostic diag =
        op->emitOpError()
        << "is in a dataflow block: run relax-to-non-dataflow before";
    diag.attachNote(dataflow.getLoc()) << "the dataflow block begins here";
    return diag;
  }
  auto call = dyn_cast<NormalizeOpInterface>(op);
  return call ? verifyReady(call) : success();
}

namespace {
struct RelaxLowerCallTIRPass
    : relax::impl::RelaxLowerCallTIRPassBase<RelaxLowerCallTIRPass> {
  void runOnOperation() override {
    WalkResult ready = getOperation().walk([](Operation *op) {
      return failed(verifyReady(op)) ? WalkResult::interrupt()
                                     : WalkResult::advance();
    });
    if (ready.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      rewriter.setInsertionPoint(op);
      TypeSwitch<Operation *>(op)
          .Case<CallTIROp, CallTIRInplaceOp, CallDPSPackedOp, CallPurePackedOp,
                CallInplacePackedOp, PrintOp, AssertOp, FatalOp>(
              [&](auto call) { lower(rewriter, call); });
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
    // A former pure call may be a call of a packed function now.
    getOperation()->walk([&](Operation *op) {
      if (isa<FuncOp, ClosureOp>(op))
        forcePurity(op);
    });
  }
};
} // namespace
