//===- Create.cpp - Derivation of operators that create tensors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/PrimExprFacts.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

LogicalResult mlir::relax::inferFill(OptionalLoc location, Value shape,
                                     Type dtype, InferredTypes &results) {
  if (failed(checkIsDType(location, dtype)))
    return failure();
  FailureOr<TensorStructInfoType> type = tensorOfShape(location, shape, dtype);
  if (failed(type))
    return failure();
  results.push_back(*type);
  return success();
}

static LogicalResult checkFillValue(OptionalLoc location,
                                    TensorStructInfoType fill) {
  if (!fill.hasRank() || fill.getNdim() == 0)
    return success();
  return inferError(location, "expected fill_value of rank 0, but got ", fill);
}

LogicalResult FullOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                       Adaptor adaptor,
                                       InferredTypes &results) {
  TensorStructInfoType fill = tensorType(adaptor.getFillValue());
  std::optional<Type> dtype = adaptor.getDtype();
  if (failed(checkFillValue(location, fill)) ||
      failed(checkIsDType(location, dtype)))
    return failure();
  FailureOr<TensorStructInfoType> type =
      tensorOfShape(location, adaptor.getShape(),
                    dtype.value_or(fill.getDtype()), fill.getVdevice());
  if (failed(type))
    return failure();
  results.push_back(*type);
  return success();
}

LogicalResult mlir::relax::inferLike(OptionalLoc location, Value x,
                                     std::optional<Type> dtype,
                                     InferredTypes &results) {
  if (failed(checkIsDType(location, dtype)))
    return failure();
  TensorStructInfoType type = tensorType(x);
  results.push_back(withDType(type, dtype.value_or(type.getDtype())));
  return success();
}

LogicalResult FullLikeOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                           Adaptor adaptor,
                                           InferredTypes &results) {
  TensorStructInfoType fill = tensorType(adaptor.getFillValue());
  if (failed(checkFillValue(location, fill)) ||
      failed(commonVDevice(location, {tensorType(adaptor.getX()), fill})))
    return failure();
  return inferLike(location, adaptor.getX(), adaptor.getDtype(), results);
}

//===----------------------------------------------------------------------===//
// Operators that take scalars
//===----------------------------------------------------------------------===//

/// The number of steps, where both ends and the step are known. As a program
/// does it, floats are divided as f64.
static PrimExprAttr countFloats(Value start, Value end, Value step) {
  SmallVector<double> numbers;
  for (Value value : {start, end, step}) {
    auto op = value.getDefiningOp<PrimValueOp>();
    auto number = op ? dyn_cast<FloatAttr>(op.getValue()) : FloatAttr();
    if (!number)
      return {};
    numbers.push_back(number.getValueAsDouble());
  }
  double count = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
  if (!(count < 0x1p62))
    return {};
  return PrimExprAttr::getInt(start.getContext(),
                              static_cast<int64_t>(std::max(count, 0.0)));
}

/// max(0, ceil((end - start) / step)), where it is known.
static PrimExprAttr countIntegers(PrimExprAttr start, PrimExprAttr end,
                                  PrimExprAttr step) {
  if (!start || !end || !step || !step.getConstant())
    return {};
  int64_t stride = *step.getConstant();
  if (stride == INT64_MIN)
    return {};
  MLIRContext *context = start.getContext();
  PrimExprAttr distance = stride > 0 ? PrimExprAttr::getSub(end, start)
                                     : PrimExprAttr::getSub(start, end);
  int64_t size = std::abs(stride);
  PrimExprAttr count = PrimExprAttr::getFloorDiv(
      PrimExprAttr::getAdd(distance, PrimExprAttr::getInt(context, size - 1)),
      PrimExprAttr::getInt(context, size));
  if (proveNonNegative(count, FactsScope::current()) == Ternary::Yes)
    return count;
  // Variables that are alone are dimensions as a rule: the end is not less.
  DimensionProver prover(end, start);
  if (prover.getRange(count).lower.value_or(-1) >= 0)
    return count;
  PrimExprAttr zero = PrimExprAttr::getInt(context, 0);
  return PrimExprAttr::getCall(PrimExprKind::Max, {count, zero});
}

LogicalResult ArangeOp::inferReturnTypes(MLIRContext *context,
                                         OptionalLoc location, Adaptor adaptor,
                                         InferredTypes &results) {
  Value start = adaptor.getStart(), end = adaptor.getEnd(),
        step = adaptor.getStep();
  if (failed(checkIsDType(location, adaptor.getDtype())))
    return failure();
  Type type = scalarType(start);
  if (type && !type.isInteger(64) && !isa<FloatType>(type))
    return inferError(location,
                      "expected start of data type 'i64' or a float, but got ",
                      type);
  if (scalarType(end) != type || scalarType(step) != type)
    return inferError(
        location,
        "expected start, end and step of the same data type, but got ",
        start.getType(), ", ", end.getType(), " and ", step.getType());
  PrimExprAttr stride = primValue(step);
  auto number = step.getDefiningOp<PrimValueOp>();
  auto real = number ? dyn_cast<FloatAttr>(number.getValue()) : FloatAttr();
  if ((stride && stride.getConstant() == 0) ||
      (real && real.getValue().isZero()))
    return inferError(location, "expected a step other than 0");
  PrimExprAttr count =
      type && isa<FloatType>(type)
          ? countFloats(start, end, step)
          : countIntegers(primValue(start), primValue(end), stride);
  ShapeExprAttr shape =
      count ? ShapeExprAttr::get(context, count) : ShapeExprAttr();
  results.push_back(TensorStructInfoType::get(
      context, shape, 1, adaptor.getDtype(), FlatSymbolRefAttr()));
  return success();
}

LogicalResult EyeOp::inferReturnTypes(MLIRContext *context,
                                      OptionalLoc location, Adaptor adaptor,
                                      InferredTypes &results) {
  if (failed(checkIsDType(location, adaptor.getDtype())) ||
      failed(checkInteger(location, adaptor.getN(), "n")) ||
      failed(checkInteger(location, adaptor.getM(), "m")) ||
      failed(checkInteger(location, adaptor.getK(), "k")))
    return failure();
  PrimExprAttr n = primValue(adaptor.getN()), m = primValue(adaptor.getM());
  ShapeExprAttr shape =
      n && m ? ShapeExprAttr::get(context, {n, m}) : ShapeExprAttr();
  if (shape && hasNegativeDim(shape))
    return inferError(location, "expected dimensions of 0 or more, but got ",
                      n.str(), " and ", m.str());
  results.push_back(TensorStructInfoType::get(
      context, shape, 2, adaptor.getDtype(), FlatSymbolRefAttr()));
  return success();
}

LogicalResult EyeLikeOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  if (failed(checkInteger(location, adaptor.getK(), "k")))
    return failure();
  if (x.hasRank() && x.getNdim() != 2)
    return inferError(location, "expected x of rank 2, but got ", x);
  return inferLike(location, adaptor.getX(), adaptor.getDtype(), results);
}

LogicalResult RandomBitsOp::inferReturnTypes(MLIRContext *context,
                                             OptionalLoc location,
                                             Adaptor adaptor,
                                             InferredTypes &results) {
  TensorStructInfoType key = tensorType(adaptor.getKey());
  if (key.hasRank() && key.getNdim() != 0)
    return inferError(location, "expected key of rank 0, but got ", key);
  if (key.getDtype() && !key.getDtype().isUnsignedInteger(64))
    return inferError(location, "expected key of data type 'ui64', but got ",
                      key);
  if (failed(checkInteger(location, adaptor.getCount(), "count")))
    return failure();
  PrimExprAttr count = primValue(adaptor.getCount());
  ShapeExprAttr shape =
      count ? ShapeExprAttr::get(context, count) : ShapeExprAttr();
  if (shape && hasNegativeDim(shape))
    return inferError(location, "expected count of 0 or more, but got ",
                      count.str());
  Type dtype = IntegerType::get(context, 64, IntegerType::Unsigned);
  results.push_back(
      TensorStructInfoType::get(context, shape, 1, dtype, key.getVdevice()));
  return success();
}

LogicalResult mlir::relax::inferTriangle(OptionalLoc location, Value value,
                                         Value k, InferredTypes &results) {
  TensorStructInfoType x = tensorType(value);
  if (failed(checkInteger(location, k, "k")))
    return failure();
  if (x.hasRank() && x.getNdim() < 2)
    return inferError(location, "expected x of rank 2 or more, but got ", x);
  results.push_back(x);
  return success();
}
