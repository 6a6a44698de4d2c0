//===- Reduce.cpp - Derivation of reductions -*- C++ -*-===//
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

//===----------------------------------------------------------------------===//
// Sums of what was broadcast
//===----------------------------------------------------------------------===//

/// Derives a sum of `data` of the shape of `result`.
static LogicalResult inferCollapse(OptionalLoc location,
                                   TensorStructInfoType data,
                                   TensorStructInfoType result,
                                   InferredTypes &results) {
  if (failed(checkDType(location, data, "data", DTypeClass::Numeric)))
    return failure();
  if (data.hasRank() && result.hasRank() && data.getNdim() < result.getNdim())
    return inferError(location, "expected a shape of rank ", data.getNdim(),
                      " or less, but got rank ", result.getNdim());
  if (data.hasShape() && result.hasShape()) {
    DimensionProver prover(data.getDims(), result.getDims());
    for (auto [from, to] : llvm::zip(data.getDims().take_back(result.getNdim()),
                                     result.getDims()))
      if (prover.proveEqual(from, to) == Ternary::No &&
          prover.proveEqual(to, 1) == Ternary::No)
        return inferError(location,
                          "expected dimensions that broadcast, but got ",
                          to.str(), " and ", from.str());
  }
  results.push_back(withDType(result, data.getDtype()));
  return success();
}

LogicalResult CollapseSumLikeOp::inferReturnTypes(MLIRContext *,
                                                  OptionalLoc location,
                                                  Adaptor adaptor,
                                                  InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType target = tensorType(adaptor.getCollapseTarget());
  if (failed(commonVDevice(location, {data, target})))
    return failure();
  return inferCollapse(location, data, target, results);
}

LogicalResult CollapseSumToOp::inferReturnTypes(MLIRContext *,
                                                OptionalLoc location,
                                                Adaptor adaptor,
                                                InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  FailureOr<TensorStructInfoType> result = tensorOfShape(
      location, adaptor.getShape(), data.getDtype(), data.getVdevice());
  if (failed(result))
    return failure();
  return inferCollapse(location, data, *result, results);
}
