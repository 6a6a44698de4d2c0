//===- Elementwise.cpp - Derivation of elementwise operators -*- C++ -*-===//
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

LogicalResult mlir::relax::inferUnary(OptionalLoc location, Value x,
                                      DTypeClass dtypes,
                                      InferredTypes &results) {
  TensorStructInfoType type = tensorType(x);
  if (failed(checkDType(location, type, "x", dtypes)))
    return failure();
  results.push_back(type);
  return success();
}

LogicalResult mlir::relax::inferTest(OptionalLoc, Value x,
                                     InferredTypes &results) {
  results.push_back(
      withDType(tensorType(x), IntegerType::get(x.getContext(), 1)));
  return success();
}

LogicalResult mlir::relax::inferHint(Value x, InferredTypes &results) {
  results.push_back(x.getType());
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

LogicalResult EwiseFMAOp::inferReturnTypes(MLIRContext *context,
                                           OptionalLoc location,
                                           Adaptor adaptor,
                                           InferredTypes &results) {
  SmallVector<TensorStructInfoType> tensors =
      llvm::map_to_vector(adaptor.getOperands(), tensorType);
  constexpr StringLiteral names[] = {"x1", "x2", "x3"};
  for (auto [tensor, name] : llvm::zip(tensors, names))
    if (failed(checkDType(location, tensor, name, DTypeClass::Numeric)))
      return failure();
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(location, tensors);
  if (failed(vdevice))
    return failure();
  TensorStructInfoType best = tensors.front();
  Type dtype = best.getDtype();
  for (TensorStructInfoType next : ArrayRef(tensors).drop_front()) {
    FailureOr<Type> common = commonDType(location, tensors.front(), next);
    if (failed(common))
      return failure();
    dtype = dtype ? *common : Type();
    if (best.hasRank() && next.hasRank() && best.getNdim() != next.getNdim())
      return inferError(location,
                        "expected tensors of the same shape, but got ", best,
                        " and ", next);
    if (best.hasShape() && next.hasShape() &&
        DimensionProver(best.getDims(), next.getDims())
                .proveEqual(best.getDims(), next.getDims()) == Ternary::No)
      return inferError(location,
                        "expected tensors of the same shape, but got ", best,
                        " and ", next);
    if (!best.hasShape() && next.hasRank())
      best = next;
  }
  results.push_back(TensorStructInfoType::get(context, best.getShape(),
                                              best.getNdim(), dtype, *vdevice));
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

LogicalResult AstypeOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                         Adaptor adaptor,
                                         InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  Type dtype = adaptor.getDtype();
  if (failed(checkIsDType(location, dtype)))
    return failure();
  results.push_back(withDType(x, dtype));
  return success();
}
