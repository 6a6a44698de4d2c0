//===- NN.cpp - Derivation of matrix and network operators -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/PrimExprFacts.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult mlir::relax::inferSoftmax(OptionalLoc location, Value value,
                                        int64_t axis, InferredTypes &results) {
  TensorStructInfoType x = tensorType(value);
  if (failed(checkDType(location, x, "x", DTypeClass::Float)))
    return failure();
  if (x.hasRank() && failed(normalizeAxis(location, axis, x.getNdim())))
    return failure();
  results.push_back(x);
  return success();
}

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

/// The rank of a matrix product of operands with known ranks.
static int64_t matmulRank(int64_t lhs, int64_t rhs) {
  int64_t rank = std::max<int64_t>({lhs, rhs, 2});
  return rank - (lhs == 1) - (rhs == 1);
}

/// The dimensions of a matrix product; null where they cannot be decided.
static FailureOr<ShapeExprAttr> matmulDims(OptionalLoc location,
                                           ArrayRef<PrimExprAttr> lhs,
                                           ArrayRef<PrimExprAttr> rhs,
                                           MLIRContext *context) {
  PrimExprAttr lhsInner = lhs.back();
  PrimExprAttr rhsInner = rhs.size() == 1 ? rhs[0] : rhs[rhs.size() - 2];
  Ternary inner = DimensionProver(lhs, rhs).proveEqual(lhsInner, rhsInner);
  if (inner == Ternary::No)
    return inferError(location, "expected equal inner dimensions, but got ",
                      lhsInner.str(), " and ", rhsInner.str());
  FailureOr<ShapeExprAttr> batch = broadcastDims(
      location, lhs.size() > 2 ? lhs.drop_back(2) : ArrayRef<PrimExprAttr>(),
      rhs.size() > 2 ? rhs.drop_back(2) : ArrayRef<PrimExprAttr>(), context);
  if (failed(batch))
    return failure();
  if (!*batch || inner == Ternary::Unknown)
    return ShapeExprAttr();
  SmallVector<PrimExprAttr> dims(batch->getDims());
  if (lhs.size() > 1)
    dims.push_back(lhs[lhs.size() - 2]);
  if (rhs.size() > 1)
    dims.push_back(rhs.back());
  return ShapeExprAttr::get(context, dims);
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context,
                                         OptionalLoc location, Adaptor adaptor,
                                         InferredTypes &results) {
  TensorStructInfoType lhs = tensorType(adaptor.getX1());
  TensorStructInfoType rhs = tensorType(adaptor.getX2());
  if (failed(checkDType(location, lhs, "x1", DTypeClass::Numeric)) ||
      failed(checkDType(location, rhs, "x2", DTypeClass::Numeric)))
    return failure();
  if (failed(checkOutDType(location, adaptor.getOutDtype())))
    return failure();
  FailureOr<Type> dtype = adaptor.getOutDtype()
                              ? FailureOr<Type>(*adaptor.getOutDtype())
                              : commonDType(location, lhs, rhs);
  if (failed(dtype))
    return failure();
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(location, {lhs, rhs});
  if (failed(vdevice))
    return failure();
  for (TensorStructInfoType x : {lhs, rhs})
    if (x.getNdim() == 0)
      return inferError(location,
                        "expected operands of rank 1 or more, but got ", x);
  bool ranked = lhs.hasRank() && rhs.hasRank();
  int64_t ndim = ranked ? matmulRank(lhs.getNdim(), rhs.getNdim())
                        : TensorStructInfoType::kUnknownDim;
  ShapeExprAttr shape;
  if (lhs.hasShape() && rhs.hasShape()) {
    FailureOr<ShapeExprAttr> dims =
        matmulDims(location, lhs.getDims(), rhs.getDims(), context);
    if (failed(dims))
      return failure();
    shape = *dims;
  }
  results.push_back(
      TensorStructInfoType::get(context, shape, ndim, *dtype, *vdevice));
  return success();
}
