//===- Elementwise.cpp - Derivation of elementwise operators -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult mlir::relax::inferUnary(OptionalLoc location, Value x,
                                      DTypeClass dtypes,
                                      InferredTypes &results) {
  TensorStructInfoType type = tensorType(x);
  if (failed(checkDType(location, type, "x", dtypes)))
    return failure();
  results.push_back(type);
  return success();
}

/// The broadcast of the shapes of tensors, data type `dtype`, on their device.
static FailureOr<TensorStructInfoType>
broadcastTensors(OptionalLoc location, ArrayRef<TensorStructInfoType> tensors,
                 Type dtype) {
  MLIRContext *context = tensors.front().getContext();
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(location, tensors);
  if (failed(vdevice))
    return failure();
  int64_t ndim = 0;
  bool ranked = true, shaped = true;
  for (TensorStructInfoType tensor : tensors) {
    ranked &= tensor.hasRank();
    shaped &= tensor.hasShape();
    ndim = std::max(ndim, tensor.getNdim());
  }
  if (!ranked)
    ndim = TensorStructInfoType::kUnknownDim;
  if (!shaped)
    return TensorStructInfoType::get(context, ndim, dtype, *vdevice);
  ShapeExprAttr shape = tensors.front().getShape();
  for (TensorStructInfoType tensor : tensors.drop_front()) {
    FailureOr<ShapeExprAttr> next =
        broadcastDims(location, shape.getDims(), tensor.getDims(), context);
    if (failed(next))
      return failure();
    if (!*next)
      return TensorStructInfoType::get(context, ndim, dtype, *vdevice);
    shape = *next;
  }
  return TensorStructInfoType::get(shape, dtype, *vdevice);
}

LogicalResult mlir::relax::inferBroadcast(OptionalLoc location,
                                          ValueRange operands,
                                          DTypeClass dtypes, bool isComparison,
                                          InferredTypes &results) {
  TensorStructInfoType lhs = tensorType(operands[0]);
  TensorStructInfoType rhs = tensorType(operands[1]);
  if (failed(checkDType(location, lhs, "x1", dtypes)) ||
      failed(checkDType(location, rhs, "x2", dtypes)))
    return failure();
  FailureOr<Type> dtype = commonDType(location, lhs, rhs);
  if (failed(dtype))
    return failure();
  if (isComparison)
    dtype = IntegerType::get(lhs.getContext(), 1);
  FailureOr<TensorStructInfoType> result =
      broadcastTensors(location, {lhs, rhs}, *dtype);
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

LogicalResult WhereOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                        Adaptor adaptor,
                                        InferredTypes &results) {
  TensorStructInfoType condition = tensorType(adaptor.getCondition());
  TensorStructInfoType lhs = tensorType(adaptor.getX1());
  TensorStructInfoType rhs = tensorType(adaptor.getX2());
  if (failed(checkDType(location, condition, "condition", DTypeClass::Bool)))
    return failure();
  FailureOr<Type> dtype = commonDType(location, lhs, rhs);
  if (failed(dtype))
    return failure();
  FailureOr<TensorStructInfoType> result =
      broadcastTensors(location, {condition, lhs, rhs}, *dtype);
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

LogicalResult AstypeOp::inferReturnTypes(MLIRContext *context,
                                         OptionalLoc location, Adaptor adaptor,
                                         InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  Type dtype = adaptor.getDtype();
  if (!isDataType(dtype))
    return inferError(location, "expected dtype to be a data type, but got ",
                      dtype);
  results.push_back(TensorStructInfoType::get(
      context, x.getShape(), x.getNdim(), dtype, x.getVdevice()));
  return success();
}
