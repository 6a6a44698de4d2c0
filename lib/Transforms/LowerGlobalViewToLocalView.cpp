//===- LowerGlobalViewToLocalView.cpp - Terms of contractions ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases: operators that reduce over an axis that is cut; kernels.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Sharding.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWERGLOBALVIEWTOLOCALVIEWPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// Follows `value`, of which each worker has a term, by a reduction.
static LogicalResult addReduction(Operation *op, Value value,
                                  const ShardedOp &sharded) {
  StringRef reduction;
  for (StringRef each : sharded.reductions)
    if (!each.empty())
      reduction = each;
  if (reduction.empty())
    return success();
  if (sharded.mesh.getShape().size() != 1)
    return op->emitOpError(
               "expected a mesh of one dimension, which is all that "
               "is supported for reductions over an axis that is "
               "cut, but got ")
           << sharded.mesh;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto sum = AllReduceOp::create(builder, op->getLoc(), value,
                                 builder.getStringAttr(reduction),
                                 /*in_group=*/builder.getBoolAttr(false));
  value.replaceAllUsesExcept(sum.getResult(), sum);
  return success();
}

/// Operators that are followed by their reduction alone are lowered already.
static LogicalResult lowerOperator(Operation *op) {
  if (isa<AllGatherOp, AllReduceOp>(op))
    return success();
  Value result = op->getResult(0);
  if (result.hasOneUse() && isa<AllReduceOp>(*result.getUsers().begin()))
    return success();
  FailureOr<ShardedOp> sharded = shardOperator(op);
  if (failed(sharded))
    return failure();
  return addReduction(op, result, *sharded);
}

/// A kernel that works on replicas works on all that each worker has.
static LogicalResult lowerKernelCall(CallTIROp call) {
  SmallVector<Type> types(call->getOperandTypes());
  llvm::append_range(types, call->getResultTypes());
  SmallVector<ShardingAttr> shardings;
  for (Type type : types) {
    if (auto tuple = dyn_cast<TupleStructInfoType>(type))
      llvm::append_range(shardings,
                         llvm::map_range(tuple.getFields(), getSharding));
    else
      shardings.push_back(getSharding(type));
  }
  for (ShardingAttr sharding : shardings)
    if (sharding && !sharding.isReplicated())
      return call.emitOpError(
                 "expected a kernel of replicas, which is all that "
                 "is supported, but got a tensor that is sharded "
                 "as ")
             << sharding.getPlacement().str()
             << "; write the kernel of the parts, and call it by "
                "relax.call_tir_local_view";
  if (call.getPackedInts())
    return call.emitOpError("expected a kernel of distributed tensors without "
                            "packed_ints");
  OpBuilder builder(call);
  auto local = CallTIRLocalViewOp::create(builder, call.getLoc(),
                                          call.getResult().getType(),
                                          call.getCalleeAttr(), call.getArgs());
  call.getResult().replaceAllUsesWith(local.getResult());
  call.erase();
  return success();
}

namespace {
struct RelaxLowerGlobalViewToLocalViewPass
    : relax::impl::RelaxLowerGlobalViewToLocalViewPassBase<
          RelaxLowerGlobalViewToLocalViewPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      bool isKnown =
          isa<CallTIROp>(op) || op->hasTrait<OpTrait::TensorOperator>();
      if (isKnown && (isDistributed(op->getOperandTypes()) ||
                      isDistributed(op->getResultTypes())))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      auto call = dyn_cast<CallTIROp>(op);
      if (failed(call ? lowerKernelCall(call) : lowerOperator(op)))
        signalPassFailure();
    }
  }
};
} // namespace
