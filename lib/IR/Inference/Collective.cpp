//===- Collective.cpp - Derivation of operators of workers ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/PrimExpr.h"

using namespace mlir;
using namespace mlir::relax;

static LogicalResult checkNumWorkers(OptionalLoc location, int64_t count) {
  if (count >= 1)
    return success();
  return inferError(location, "expected num_workers of 1 or more, but got ",
                    count);
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  StringRef kind = adaptor.getOpType();
  if (!llvm::is_contained({"sum", "prod", "min", "max", "avg"}, kind))
    return inferError(
        location, "expected an op_type of sum, prod, min, max or avg, but got ",
        kind);
  if (failed(checkDType(location, x, "x", DTypeClass::Numeric)))
    return failure();
  results.push_back(x);
  return success();
}

LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *context,
                                            OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  int64_t count = adaptor.getNumWorkers();
  if (failed(checkNumWorkers(location, count)))
    return failure();
  if (x.hasRank() && x.getNdim() == 0)
    return inferError(location, "expected x of rank 1 or more, but got ", x);
  if (!x.hasShape()) {
    results.push_back(withRank(x, x.getNdim()));
    return success();
  }
  SmallVector<PrimExprAttr> dims(x.getDims());
  dims[0] = PrimExprAttr::getMul(dims[0], PrimExprAttr::getInt(context, count));
  results.push_back(withDims(x, dims));
  return success();
}

LogicalResult BroadcastFromWorker0Op::inferReturnTypes(MLIRContext *,
                                                       OptionalLoc,
                                                       Adaptor adaptor,
                                                       InferredTypes &results) {
  results.push_back(tensorType(adaptor.getX()));
  return success();
}

LogicalResult ScatterFromWorker0Op::inferReturnTypes(MLIRContext *context,
                                                     OptionalLoc location,
                                                     Adaptor adaptor,
                                                     InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  int64_t count = adaptor.getNumWorkers();
  if (failed(checkNumWorkers(location, count)))
    return failure();
  FailureOr<int64_t> axis = adaptor.getAxis();
  if (x.hasRank())
    axis = normalizeAxis(location, adaptor.getAxis(), x.getNdim());
  if (failed(axis))
    return failure();
  if (!x.hasShape()) {
    results.push_back(withRank(x, x.getNdim()));
    return success();
  }
  SmallVector<PrimExprAttr> dims(x.getDims());
  PrimExprAttr &dim = dims[*axis];
  PrimExprAttr divisor = PrimExprAttr::getInt(context, count);
  PrimExprAttr part = PrimExprAttr::getFloorDiv(dim, divisor);
  if (proveEqual(PrimExprAttr::getMul(part, divisor), dim) == Ternary::No)
    return inferError(location, "expected num_workers that divides dimension ",
                      *axis, ", but got ", count, " and ", x);
  dim = part;
  results.push_back(withDims(x, dims));
  return success();
}
