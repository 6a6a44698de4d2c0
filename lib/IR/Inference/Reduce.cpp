//===- Reduce.cpp - Derivation of reductions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult mlir::relax::inferReduce(OptionalLoc location, Value value,
                                       std::optional<ArrayRef<int64_t>> axes,
                                       bool keepdims, DTypeClass dtypes,
                                       InferredTypes &results) {
  TensorStructInfoType x = tensorType(value);
  MLIRContext *context = x.getContext();
  if (failed(checkDType(location, x, "x", dtypes)))
    return failure();
  if (!x.hasRank()) {
    int64_t ndim = !axes && !keepdims ? 0 : TensorStructInfoType::kUnknownDim;
    results.push_back(
        TensorStructInfoType::get(context, ndim, x.getDtype(), x.getVdevice()));
    return success();
  }
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(x.getNdim()));
  FailureOr<SmallVector<int64_t>> reduced =
      normalizeAxes(location, axes.value_or(all), x.getNdim());
  if (failed(reduced))
    return failure();
  if (!x.hasShape() && keepdims &&
      reduced->size() == static_cast<size_t>(x.getNdim())) {
    SmallVector<PrimExprAttr> ones(x.getNdim(),
                                   PrimExprAttr::getInt(context, 1));
    results.push_back(withDims(x, ones));
    return success();
  }
  if (!x.hasShape()) {
    int64_t ndim = keepdims ? x.getNdim() : x.getNdim() - reduced->size();
    results.push_back(
        TensorStructInfoType::get(context, ndim, x.getDtype(), x.getVdevice()));
    return success();
  }
  SmallVector<PrimExprAttr> dims;
  for (auto [index, dim] : llvm::enumerate(x.getDims())) {
    if (!llvm::is_contained(*reduced, static_cast<int64_t>(index)))
      dims.push_back(dim);
    else if (keepdims)
      dims.push_back(PrimExprAttr::getInt(context, 1));
  }
  results.push_back(TensorStructInfoType::get(ShapeExprAttr::get(context, dims),
                                              x.getDtype(), x.getVdevice()));
  return success();
}

LogicalResult mlir::relax::inferArgReduce(OptionalLoc location, Value value,
                                          std::optional<int64_t> axis,
                                          bool keepdims,
                                          InferredTypes &results) {
  std::optional<ArrayRef<int64_t>> axes;
  if (axis)
    axes = ArrayRef<int64_t>(*axis);
  if (failed(inferReduce(location, value, axes, keepdims, DTypeClass::Numeric,
                         results)))
    return failure();
  results.back() = withDType(cast<TensorStructInfoType>(results.back()),
                             IntegerType::get(value.getContext(), 64));
  return success();
}

LogicalResult mlir::relax::inferScan(OptionalLoc location, Value value,
                                     std::optional<int64_t> axis,
                                     std::optional<Type> dtype,
                                     InferredTypes &results) {
  TensorStructInfoType data = tensorType(value);
  if (failed(checkIsDType(location, dtype)))
    return failure();
  TensorStructInfoType result =
      withDType(data, dtype.value_or(data.getDtype()));
  if (failed(checkDType(location, result, dtype ? "the result" : "data",
                        DTypeClass::Numeric)))
    return failure();
  if (axis && data.hasRank() &&
      failed(normalizeAxis(location, *axis, data.getNdim())))
    return failure();
  if (!axis) {
    PrimExprAttr size =
        data.hasShape()
            ? PrimExprAttr::getProduct(value.getContext(), data.getDims())
            : PrimExprAttr();
    result = size && !size.isTooLarge() ? withDims(result, size)
                                        : withRank(result, 1);
  }
  results.push_back(result);
  return success();
}
