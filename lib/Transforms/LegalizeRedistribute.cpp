//===- LegalizeRedistribute.cpp - Moves between workers ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases, on a mesh of one dimension: nothing to do; from a replica to parts;
// from parts to a replica; from parts to other parts, by a replica. A tensor
// that is not distributed is left to relax-lower-dist-ir, where it is one of
// each worker.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Sharding.h"
#include "relax-mlir/Transforms/Passes.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLEGALIZEREDISTRIBUTEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// Moves `axis` to the front, or back from there.
static Value moveAxis(OpBuilder &builder, Location loc, Value x, int64_t axis,
                      bool toFront) {
  if (axis == 0)
    return x;
  SmallVector<int64_t> axes;
  for (int64_t i : llvm::seq(tensorType(x).getNdim()))
    if (i != (toFront ? axis : 0))
      axes.push_back(i);
  axes.insert(toFront ? axes.begin() : axes.begin() + axis, toFront ? axis : 0);
  return PermuteDimsOp::create(builder, loc, x,
                               builder.getDenseI64ArrayAttr(axes))
      .getResult();
}

/// What each worker has is gathered along the first axis.
static Value gatherParts(OpBuilder &builder, Location loc, Value x,
                         int64_t axis, int64_t count) {
  Value first = moveAxis(builder, loc, x, axis, /*toFront=*/true);
  Value whole =
      AllGatherOp::create(builder, loc, first, builder.getI64IntegerAttr(count),
                          /*in_group=*/builder.getBoolAttr(false));
  return moveAxis(builder, loc, whole, axis, /*toFront=*/false);
}

static LogicalResult legalize(RedistributeOp op) {
  ShardingAttr from = getSharding(op.getInput().getType());
  if (!from)
    return success();
  DeviceMeshAttr mesh = op.getDeviceMesh();
  if (from.getMesh() != mesh)
    return op.emitOpError("expected tensors to stay on one mesh, which is all "
                          "that is supported, but got ")
           << from.getMesh() << " and " << mesh;
  int64_t source = 0, target = 0;
  bool isSame = from.getPlacement() == op.getPlacement();
  if (!isSame && mesh.getShape().size() != 1)
    return op.emitOpError("expected a mesh of one dimension, which is all that "
                          "is supported, but got ")
           << mesh;
  OpBuilder builder(op);
  Value value = op.getInput();
  if (!isSame) {
    source = from.getPlacement().getAxes()[0];
    target = op.getPlacement().getAxes()[0];
    int64_t count = mesh.getShape()[0];
    if (source != PlacementAttr::kReplica)
      value = gatherParts(builder, op.getLoc(), value, source, count);
    if (target != PlacementAttr::kReplica)
      value = RedistributeReplicaToShardOp::create(
          builder, op.getLoc(), value, builder.getI64IntegerAttr(count),
          builder.getI64IntegerAttr(target));
  }
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return success();
}

namespace {
struct RelaxLegalizeRedistributePass
    : relax::impl::RelaxLegalizeRedistributePassBase<
          RelaxLegalizeRedistributePass> {
  void runOnOperation() override {
    SmallVector<RedistributeOp> ops;
    getOperation().walk([&](RedistributeOp op) { ops.push_back(op); });
    for (RedistributeOp op : ops)
      if (failed(legalize(op)))
        signalPassFailure();
  }
};
} // namespace
