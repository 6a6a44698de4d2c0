//===- Collective.cpp - Lowering of operators of workers --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operator becomes `relax.call_dps_packed` of a function of the runtime
// (runtime/src/disco/Functions.cc), which takes the tensor, the attributes, and
// what errors say of the place: the function and the location.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/Sites.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/PrimExpr.h"

using namespace mlir;
using namespace mlir::relax;

static Value buildString(OpBuilder &builder, Location loc, const Twine &text) {
  return StringOp::create(builder, loc, builder.getStringAttr(text));
}

static Value buildInteger(OpBuilder &builder, Location loc, int64_t value) {
  return PrimValueOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

/// Calls the function of the runtime for `op`, with `attrs` after the tensor.
static Value buildCollective(OpBuilder &builder, Operation *op, Type result,
                             ValueRange attrs) {
  Location loc = op->getLoc();
  SmallVector<Value> args = {op->getOperand(0)};
  llvm::append_range(args, attrs);
  auto function = op->getParentOfType<relax::FuncOp>();
  args.push_back(buildString(builder, loc, function.getSymName()));
  args.push_back(buildString(builder, loc, getLocationText(loc)));
  return CallDPSPackedOp::create(
             builder, loc, result,
             builder.getStringAttr("relax_mlir.run." +
                                   op->getName().stripDialect()),
             /*function=*/Value(), args)
      .getResult();
}

static Value callAllReduce(OpBuilder &builder, AllReduceOp op, Type result) {
  Location loc = op.getLoc();
  return buildCollective(builder, op, result,
                         {buildString(builder, loc, op.getOpType()),
                          buildInteger(builder, loc, op.getInGroup())});
}

static Value callAllGather(OpBuilder &builder, AllGatherOp op, Type result) {
  Location loc = op.getLoc();
  return buildCollective(builder, op, result,
                         {buildInteger(builder, loc, op.getNumWorkers()),
                          buildInteger(builder, loc, op.getInGroup())});
}

static Value callBroadcast(OpBuilder &builder, BroadcastFromWorker0Op op,
                           Type result) {
  return buildCollective(builder, op, result, {});
}

/// The axis that is cut, for `OpTy` of scatter_from_worker0 and
/// redistribute_replica_to_shard.
template <typename OpTy> static int64_t getCutAxis(OpTy op) {
  int64_t ndim = tensorType(op->getOperand(0)).getNdim();
  return *normalizeAxis(op.getLoc(), op.getAxis(), ndim);
}

template <typename OpTy>
static Value callCut(OpBuilder &builder, OpTy op, Type result) {
  Location loc = op.getLoc();
  return buildCollective(builder, op, result,
                         {buildInteger(builder, loc, op.getNumWorkers()),
                          buildInteger(builder, loc, getCutAxis(op))});
}

/// The workers share the dimension without a rest.
template <typename OpTy> static DimPairs checkCut(OpTy op, Type) {
  PrimExprAttr dim = tensorType(op->getOperand(0)).getDims()[getCutAxis(op)];
  PrimExprAttr divisor =
      PrimExprAttr::getInt(op.getContext(), op.getNumWorkers());
  PrimExprAttr part = PrimExprAttr::getFloorDiv(dim, divisor);
  return {{dim, PrimExprAttr::getMul(part, divisor)}};
}

void mlir::relax::populateCollective(LegalizationTable &table) {
  table.addCall<AllReduceOp>(callAllReduce);
  table.addCall<AllGatherOp>(callAllGather);
  table.addCall<BroadcastFromWorker0Op>(callBroadcast);
  table.addCall<RedistributeReplicaToShardOp>(
      callCut<RedistributeReplicaToShardOp>);
  table.addChecks<RedistributeReplicaToShardOp>(
      checkCut<RedistributeReplicaToShardOp>);
  table.addCall<ScatterFromWorker0Op>(callCut<ScatterFromWorker0Op>);
  table.addChecks<ScatterFromWorker0Op>(checkCut<ScatterFromWorker0Op>);
}
