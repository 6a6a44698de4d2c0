//===- Create.cpp - Derivation of operators that create tensors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult mlir::relax::inferFill(OptionalLoc location, Value shape,
                                     Type dtype, InferredTypes &results) {
  if (!isDataType(dtype))
    return inferError(location, "expected dtype to be a data type, but got ",
                      dtype);
  FailureOr<TensorStructInfoType> type = tensorOfShape(location, shape, dtype);
  if (failed(type))
    return failure();
  results.push_back(*type);
  return success();
}

LogicalResult FullOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                       Adaptor adaptor,
                                       InferredTypes &results) {
  TensorStructInfoType fill = tensorType(adaptor.getFillValue());
  if (fill.hasRank() && fill.getNdim() != 0)
    return inferError(location, "expected fill_value of rank 0, but got ",
                      fill);
  std::optional<Type> dtype = adaptor.getDtype();
  if (dtype && !isDataType(*dtype))
    return inferError(location, "expected dtype to be a data type, but got ",
                      *dtype);
  FailureOr<TensorStructInfoType> type =
      tensorOfShape(location, adaptor.getShape(),
                    dtype.value_or(fill.getDtype()), fill.getVdevice());
  if (failed(type))
    return failure();
  results.push_back(*type);
  return success();
}
