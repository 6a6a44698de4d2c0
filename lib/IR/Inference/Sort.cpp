//===- Sort.cpp - Derivation of operators that order and search -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/VDevice.h"

using namespace mlir;
using namespace mlir::relax;

/// Checks the axis of an order, where the rank is known.
static LogicalResult checkAxis(OptionalLoc location, TensorStructInfoType data,
                               int64_t axis) {
  if (!data.hasRank())
    return success();
  return normalizeAxis(location, axis, data.getNdim());
}

/// The data type of indices: integers that count any dimension, by default i32.
static FailureOr<Type> indexDType(OptionalLoc location, MLIRContext *context,
                                  std::optional<Type> dtype) {
  if (!dtype)
    return Type(IntegerType::get(context, 32));
  if (!isa<IntegerType>(*dtype) || dtype->getIntOrFloatBitWidth() < 32)
    return inferError(location,
                      "expected a dtype of integers of 32 or 64 bits, but got ",
                      *dtype);
  return *dtype;
}

LogicalResult SortOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                       Adaptor adaptor,
                                       InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  if (failed(checkAxis(location, x, adaptor.getAxis())))
    return failure();
  results.push_back(x);
  return success();
}

LogicalResult ArgsortOp::inferReturnTypes(MLIRContext *context,
                                          OptionalLoc location, Adaptor adaptor,
                                          InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  FailureOr<Type> dtype = indexDType(location, context, adaptor.getDtype());
  if (failed(dtype) || failed(checkAxis(location, data, adaptor.getAxis())))
    return failure();
  results.push_back(withDType(data, *dtype));
  return success();
}

LogicalResult KthIndexOp::inferReturnTypes(MLIRContext *context,
                                           OptionalLoc location,
                                           Adaptor adaptor,
                                           InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  FailureOr<Type> dtype = indexDType(location, context, adaptor.getDtype());
  if (failed(dtype) || failed(checkAxis(location, data, adaptor.getAxis())) ||
      failed(checkInteger(location, adaptor.getK(), "k")))
    return failure();
  PrimExprAttr k = primValue(adaptor.getK());
  if (!k)
    return inferError(location, "expected k with a known value, but got ",
                      adaptor.getK().getType());
  std::optional<int64_t> number = k.getConstant();
  if (number && *number < 1)
    return inferError(location, "expected k of 1 or more, but got ", *number);
  TensorStructInfoType result = data;
  if (data.hasShape()) {
    SmallVector<PrimExprAttr> dims(data.getDims());
    PrimExprAttr &dim =
        dims[*normalizeAxis(location, adaptor.getAxis(), data.getNdim())];
    std::optional<int64_t> size = dim.getConstant();
    if (size && number && *size < *number)
      return inferError(location, "expected k of at most the dimension, ",
                        *size, ", but got ", *number);
    dim = PrimExprAttr::getInt(context, 1);
    result = withDims(data, dims);
  }
  results.push_back(withDType(result, *dtype));
  return success();
}

LogicalResult TopkOp::inferReturnTypes(MLIRContext *context,
                                       OptionalLoc location, Adaptor adaptor,
                                       InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  FailureOr<Type> dtype = indexDType(location, context, adaptor.getDtype());
  if (failed(dtype) || failed(checkAxis(location, data, adaptor.getAxis())))
    return failure();
  StringRef kind = adaptor.getRetType();
  if (!llvm::is_contained({"both", "values", "indices"}, kind))
    return inferError(
        location, "expected a ret_type of both, values or indices, but got ",
        kind);
  int64_t k = adaptor.getK();
  TensorStructInfoType values = data;
  if (k >= 1 && data.hasShape()) {
    SmallVector<PrimExprAttr> dims(data.getDims());
    PrimExprAttr &dim =
        dims[*normalizeAxis(location, adaptor.getAxis(), data.getNdim())];
    if (std::optional<int64_t> size = dim.getConstant(); size && *size < k)
      return inferError(location, "expected k of at most the dimension, ",
                        *size, ", but got ", k);
    dim = PrimExprAttr::getInt(context, k);
    values = withDims(data, dims);
  }
  TensorStructInfoType indices = withDType(values, *dtype);
  if (kind == "both")
    results.push_back(TupleStructInfoType::get(context, {values, indices}));
  else
    results.push_back(kind == "values" ? values : indices);
  return success();
}

LogicalResult BucketizeOp::inferReturnTypes(MLIRContext *context,
                                            OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  TensorStructInfoType input = tensorType(adaptor.getInputTensor());
  TensorStructInfoType boundaries = tensorType(adaptor.getBoundaries());
  if (failed(commonDType(location, input, boundaries)))
    return failure();
  if (boundaries.hasRank() && boundaries.getNdim() != 1)
    return inferError(location, "expected boundaries of rank 1, but got ",
                      boundaries);
  FailureOr<FlatSymbolRefAttr> vdevice =
      commonVDevice(location, {input, boundaries});
  if (failed(vdevice))
    return failure();
  TensorStructInfoType result = withDType(
      input, IntegerType::get(context, adaptor.getOutInt32() ? 32 : 64));
  results.push_back(cast<TensorStructInfoType>(fillVDevices(result, *vdevice)));
  return success();
}
