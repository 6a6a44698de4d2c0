//===- LowerDistIR.cpp - The program of each worker -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations stay, and their types become those of the parts. Cases with
// more to do: parameters, which the first worker gives to all; shapes that
// operators take; what is gathered, whose size is checked; kernels; tensors
// that each worker has, which are cut.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Sharding.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWERDISTIRPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
class DistIRLowering {
public:
  explicit DistIRLowering(FuncOp func)
      : func(func), builder(func.getContext()) {}
  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult check(Operation *op);
  LogicalResult lowerParams();
  FailureOr<Value> giveToAll(Value whole, Type type);
  LogicalResult lower(Operation *op);
  LogicalResult lowerShapes(Operation *op, Type local);
  LogicalResult lowerRedistribute(RedistributeOp op);
  LogicalResult setTypes(Operation *op);

  FuncOp func;
  OpBuilder builder;
};
} // namespace

//===----------------------------------------------------------------------===//
// What other passes lower
//===----------------------------------------------------------------------===//

static bool isTermOfReduction(Operation *op) {
  if (isa<AllGatherOp, AllReduceOp>(op))
    return false;
  FailureOr<ShardedOp> sharded = shardOperator(op);
  return succeeded(sharded) &&
         llvm::any_of(sharded->reductions,
                      [](StringRef reduction) { return !reduction.empty(); });
}

LogicalResult DistIRLowering::check(Operation *op) {
  if (isa<CallTIROp, CallTIRInplaceOp>(op))
    return op->emitOpError("expected no kernels of distributed tensors: apply "
                           "relax-lower-global-view-to-local-view first");
  if (auto redistribute = dyn_cast<RedistributeOp>(op);
      redistribute && isDistributed(redistribute.getInput().getType()))
    return op->emitOpError("expected tensors that are not redistributed: apply "
                           "relax-legalize-redistribute first");
  if (isa<CallOp, ClosureOp, IfOp, SeqOp>(op))
    return op->emitOpError("expected no distributed tensors in calls of "
                           "functions, closures and branches, which are not "
                           "supported");
  if (!op->hasTrait<OpTrait::TensorOperator>() || !isTermOfReduction(op))
    return success();
  for (Operation *user : op->getResult(0).getUsers())
    if (!isa<AllReduceOp>(user))
      return op->emitOpError("expected relax.allreduce of the terms that "
                             "workers have: apply "
                             "relax-lower-global-view-to-local-view first");
  return success();
}

LogicalResult DistIRLowering::check() {
  WalkResult result = func.getBody().walk([&](Operation *op) {
    bool isConcerned = isDistributed(op->getOperandTypes()) ||
                       isDistributed(op->getResultTypes());
    return isConcerned && failed(check(op)) ? WalkResult::interrupt()
                                            : WalkResult::advance();
  });
  return success(!result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Gives each worker its part of what the first one has.
FailureOr<Value> DistIRLowering::giveToAll(Value whole, Type type) {
  Location loc = whole.getLoc();
  if (auto tuple = dyn_cast<TupleStructInfoType>(type)) {
    SmallVector<Value> fields;
    for (auto [index, field] : llvm::enumerate(tuple.getFields())) {
      Value item = GetItemOp::create(builder, loc, whole, index);
      FailureOr<Value> part = giveToAll(item, field);
      if (failed(part))
        return failure();
      fields.push_back(*part);
    }
    return Value(TupleOp::create(builder, loc, fields));
  }
  ShardingAttr sharding = getSharding(type);
  if (!sharding)
    return whole;
  if (sharding.isReplicated())
    return Value(BroadcastFromWorker0Op::create(builder, loc, whole));
  ArrayRef<int64_t> extents = sharding.getMesh().getShape();
  if (extents.size() != 1)
    return func.emitError("expected parameters on a mesh of one dimension, "
                          "which is all that is supported, but got ")
           << type;
  FailureOr<Type> local =
      getLocalType(type, [&] { return mlir::emitError(loc); });
  if (failed(local))
    return failure();
  return Value(ScatterFromWorker0Op::create(
      builder, loc, whole, builder.getI64IntegerAttr(extents[0]),
      builder.getI64IntegerAttr(sharding.getPlacement().getAxes()[0])));
}

LogicalResult DistIRLowering::lowerParams() {
  builder.setInsertionPointToStart(&func.getBody().front());
  for (BlockArgument argument : func.getArguments()) {
    Type type = argument.getType();
    if (!isDistributed(type))
      continue;
    argument.setType(eraseShardings(type));
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    FailureOr<Value> part = giveToAll(argument, type);
    if (failed(part))
      return failure();
    for (OpOperand *use : uses)
      use->set(*part);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The shape that an operator gives its result is that of the part.
LogicalResult DistIRLowering::lowerShapes(Operation *op, Type local) {
  auto tensor = dyn_cast<TensorStructInfoType>(local);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<ShapeStructInfoType>(operand.get().getType()))
      continue;
    if (!tensor || !tensor.hasShape())
      return op->emitOpError("expected a result of known shape, since it is "
                             "cut, but got ")
             << op->getResult(0).getType();
    builder.setInsertionPoint(op);
    operand.set(ShapeOp::create(builder, op->getLoc(), tensor.getShape()));
  }
  return success();
}

/// A tensor that each worker has: it keeps it, or takes its part.
LogicalResult DistIRLowering::lowerRedistribute(RedistributeOp op) {
  builder.setInsertionPoint(op);
  Value value = op.getInput();
  ArrayRef<int64_t> extents = op.getDeviceMesh().getShape();
  if (!getSharding(op.getResult().getType()).isReplicated()) {
    if (extents.size() != 1)
      return op.emitOpError("expected a mesh of one dimension, which is all "
                            "that is supported, but got ")
             << op.getDeviceMesh();
    if (failed(getLocalType(op.getResult().getType(),
                            [&] { return op.emitOpError(); })))
      return failure();
    value = RedistributeReplicaToShardOp::create(
        builder, op.getLoc(), value, builder.getI64IntegerAttr(extents[0]),
        builder.getI64IntegerAttr(op.getPlacement().getAxes()[0]));
  }
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return success();
}

LogicalResult DistIRLowering::setTypes(Operation *op) {
  for (OpResult result : op->getResults()) {
    Type type = result.getType();
    FailureOr<Type> local =
        getLocalType(type, [&] { return op->emitOpError(); });
    if (failed(local))
      return failure();
    if (isDistributed(type) && op->hasTrait<OpTrait::TensorOperator>() &&
        failed(lowerShapes(op, *local)))
      return failure();
    result.setType(*local);
  }
  return success();
}

/// The parts together have the size of the whole, which may need a proof.
static void castGathered(OpBuilder &builder, AllGatherOp gather) {
  Value result = gather.getResult();
  auto whole = cast<TensorStructInfoType>(result.getType());
  if (!whole.hasShape() || whole.getDims()[0].getConstant())
    return;
  SmallVector<PrimExprAttr> dims(whole.getDims());
  PrimExprAttr count =
      PrimExprAttr::getInt(gather.getContext(), gather.getNumWorkers());
  dims[0] =
      PrimExprAttr::getMul(PrimExprAttr::getFloorDiv(dims[0], count), count);
  result.setType(withDims(whole, dims));
  builder.setInsertionPointAfter(gather);
  auto cast = MatchCastOp::create(builder, gather.getLoc(), whole, result);
  result.replaceAllUsesExcept(cast.getResult(), cast);
}

LogicalResult DistIRLowering::lower(Operation *op) {
  if (auto redistribute = dyn_cast<RedistributeOp>(op))
    return lowerRedistribute(redistribute);
  bool wasDistributed = isDistributed(op->getResultTypes());
  if (failed(setTypes(op)))
    return failure();
  if (auto gather = dyn_cast<AllGatherOp>(op); gather && wasDistributed)
    castGathered(builder, gather);
  auto call = dyn_cast<CallTIRLocalViewOp>(op);
  if (!call)
    return success();
  builder.setInsertionPoint(call);
  auto local = CallTIROp::create(
      builder, call.getLoc(), call.getResult().getType(), call.getCalleeAttr(),
      call.getArgs(), /*packed_ints=*/Value());
  call.getResult().replaceAllUsesWith(local.getResult());
  call.erase();
  return success();
}

LogicalResult DistIRLowering::run() {
  if (failed(check()))
    return failure();
  // Those that are there now: parameters are whole.
  SmallVector<Operation *> ops;
  func.getBody().walk([&](Operation *op) { ops.push_back(op); });
  if (failed(lowerParams()))
    return failure();
  for (Operation *op : ops)
    if (failed(lower(op)))
      return failure();
  FailureOr<Type> result = getLocalType(func.getFunctionType().getResult(0),
                                        [&] { return func.emitOpError(); });
  if (failed(result))
    return failure();
  SmallVector<Type> inputs =
      llvm::map_to_vector(func.getFunctionType().getInputs(), eraseShardings);
  func.setFunctionType(FunctionType::get(func.getContext(), inputs, *result));
  return success();
}

namespace {
struct RelaxLowerDistIRPass
    : relax::impl::RelaxLowerDistIRPassBase<RelaxLowerDistIRPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<relax::FuncOp>()) {
      if (func.isExternal()) {
        if (isDistributed(func.getFunctionType().getInputs()) ||
            isDistributed(func.getFunctionType().getResults())) {
          func.emitOpError("expected a body of a function of distributed "
                           "tensors");
          return signalPassFailure();
        }
        continue;
      }
      if (failed(DistIRLowering(func).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
