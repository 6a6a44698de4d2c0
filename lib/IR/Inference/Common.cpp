//===- Common.cpp - Building blocks of derivation -*- C++ -*-===//
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

static bool isInClass(Type dtype, DTypeClass dtypes) {
  switch (dtypes) {
  case DTypeClass::Any:
    return true;
  case DTypeClass::Bool:
    return dtype.isInteger(1);
  case DTypeClass::Integer:
    return isa<IntegerType>(dtype) && !dtype.isInteger(1);
  case DTypeClass::Integral:
    return isa<IntegerType>(dtype);
  case DTypeClass::Float:
    return isa<FloatType>(dtype);
  case DTypeClass::Numeric:
    return !dtype.isInteger(1);
  }
  llvm_unreachable("unknown class of data types");
}

static StringRef describe(DTypeClass dtypes) {
  switch (dtypes) {
  case DTypeClass::Any:
    return "any";
  case DTypeClass::Bool:
    return "Boolean";
  case DTypeClass::Integer:
    return "integer";
  case DTypeClass::Integral:
    return "integer or Boolean";
  case DTypeClass::Float:
    return "float";
  case DTypeClass::Numeric:
    return "integer or float";
  }
  llvm_unreachable("unknown class of data types");
}

LogicalResult mlir::relax::checkDType(OptionalLoc location,
                                      TensorStructInfoType x, StringRef name,
                                      DTypeClass dtypes) {
  if (!x.getDtype() || isInClass(x.getDtype(), dtypes))
    return success();
  return inferError(location, "expected ", name, " of ", describe(dtypes),
                    " data type, but got ", x);
}

LogicalResult mlir::relax::checkIsDType(OptionalLoc location,
                                        std::optional<Type> dtype) {
  if (!dtype || isDataType(*dtype))
    return success();
  return inferError(location, "expected dtype to be a data type, but got ",
                    *dtype);
}

LogicalResult mlir::relax::checkOutDType(OptionalLoc location,
                                         std::optional<Type> dtype) {
  if (failed(checkIsDType(location, dtype)))
    return failure();
  if (!dtype || isInClass(*dtype, DTypeClass::Numeric))
    return success();
  return inferError(location,
                    "expected out_dtype to be an integer or float, but got ",
                    *dtype);
}

TensorStructInfoType mlir::relax::withDims(TensorStructInfoType x,
                                           ArrayRef<PrimExprAttr> dims) {
  return TensorStructInfoType::get(ShapeExprAttr::get(x.getContext(), dims),
                                   x.getDtype(), x.getVdevice());
}

TensorStructInfoType mlir::relax::withRank(TensorStructInfoType x,
                                           int64_t ndim) {
  return TensorStructInfoType::get(x.getContext(), ndim, x.getDtype(),
                                   x.getVdevice());
}

TensorStructInfoType mlir::relax::withDType(TensorStructInfoType x,
                                            Type dtype) {
  return TensorStructInfoType::get(x.getContext(), x.getShape(), x.getNdim(),
                                   dtype, x.getVdevice());
}

Type mlir::relax::scalarType(Value value) {
  auto type = dyn_cast<PrimStructInfoType>(value.getType());
  return type ? type.getDtype() : Type();
}

LogicalResult mlir::relax::checkInteger(OptionalLoc location, Value value,
                                        StringRef name) {
  Type type = scalarType(value);
  if (!type || type.isInteger(64))
    return success();
  return inferError(location, "expected ", name,
                    " of data type 'i64', but got ", type);
}

PrimExprAttr mlir::relax::primValue(Value value) {
  auto type = dyn_cast<PrimStructInfoType>(value.getType());
  return type ? type.getValue() : PrimExprAttr();
}

FailureOr<TensorStructInfoType>
mlir::relax::tensorOfShape(OptionalLoc location, Value shape, Type dtype,
                           FlatSymbolRefAttr vdevice) {
  ShapeStructInfoType type = shapeType(shape);
  if (type.getValues() && hasNegativeDim(type.getValues()))
    return inferError(location, "expected dimensions of 0 or more, but got ",
                      type);
  return TensorStructInfoType::get(type.getContext(), type.getValues(),
                                   type.getNdim(), dtype, vdevice);
}

FailureOr<Type> mlir::relax::commonDType(OptionalLoc location,
                                         TensorStructInfoType lhs,
                                         TensorStructInfoType rhs) {
  if (!lhs.getDtype() || !rhs.getDtype())
    return Type();
  if (lhs.getDtype() != rhs.getDtype())
    return inferError(
        location, "expected operands of the same data type, but got ",
        lhs.getDtype(), " and ", rhs.getDtype(), "; insert relax.astype");
  return lhs.getDtype();
}

FailureOr<FlatSymbolRefAttr>
mlir::relax::commonVDevice(OptionalLoc location,
                           ArrayRef<TensorStructInfoType> tensors) {
  FlatSymbolRefAttr common;
  for (TensorStructInfoType tensor : tensors) {
    FlatSymbolRefAttr vdevice = tensor.getVdevice();
    if (common && vdevice && vdevice != common)
      return inferError(
          location, "expected operands on the same virtual device, but got ",
          common, " and ", vdevice, "; insert relax.to_vdevice");
    if (vdevice)
      common = vdevice;
  }
  return common;
}

FailureOr<int64_t> mlir::relax::normalizeAxis(OptionalLoc location,
                                              int64_t axis, int64_t ndim) {
  if (axis >= -ndim && axis < ndim)
    return axis < 0 ? axis + ndim : axis;
  if (ndim == 0)
    return inferError(location, "expected a tensor of rank 1 or more for axis ",
                      axis, ", but got a scalar");
  return inferError(location, "expected an axis from ", -ndim, " to ", ndim - 1,
                    ", but got ", axis);
}

FailureOr<SmallVector<int64_t>>
mlir::relax::normalizeAxes(OptionalLoc location, ArrayRef<int64_t> axes,
                           int64_t ndim) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normalized = normalizeAxis(location, axis, ndim);
    if (failed(normalized))
      return failure();
    if (llvm::is_contained(result, *normalized))
      return inferError(location, "expected distinct axes, but got axis ",
                        *normalized, " twice");
    result.push_back(*normalized);
  }
  return result;
}

FailureOr<SmallVector<int64_t>> mlir::relax::parseLayout(OptionalLoc location,
                                                         StringRef layout,
                                                         StringRef letters,
                                                         StringRef name) {
  SmallVector<int64_t> places;
  for (char letter : letters)
    places.push_back(layout.count(letter) == 1
                         ? static_cast<int64_t>(layout.find(letter))
                         : -1);
  if (layout.size() != letters.size() || llvm::is_contained(places, -1))
    return inferError(location, "expected ", name, " to be a permutation of '",
                      letters, "', but got '", layout, "'");
  return places;
}

/// One dimension of a broadcast; null where it cannot be decided.
static FailureOr<PrimExprAttr> broadcastDim(OptionalLoc location,
                                            PrimExprAttr lhs, PrimExprAttr rhs,
                                            DimensionProver &prover) {
  if (lhs.getConstant() == 1)
    return rhs;
  if (rhs.getConstant() == 1)
    return lhs;
  switch (prover.proveEqual(lhs, rhs)) {
  case Ternary::Yes:
    return lhs;
  case Ternary::Unknown:
    return PrimExprAttr();
  case Ternary::No:
    break;
  }
  // Different for sure, but one may still be 1, or is.
  Ternary lhsIsOne = prover.proveEqual(lhs, 1);
  Ternary rhsIsOne = prover.proveEqual(rhs, 1);
  if (lhsIsOne == Ternary::Yes)
    return rhs;
  if (rhsIsOne == Ternary::Yes)
    return lhs;
  if (lhsIsOne == Ternary::Unknown || rhsIsOne == Ternary::Unknown)
    return PrimExprAttr();
  return inferError(location, "expected dimensions that broadcast, but got ",
                    lhs.str(), " and ", rhs.str());
}

FailureOr<ShapeExprAttr> mlir::relax::broadcastDims(OptionalLoc location,
                                                    ArrayRef<PrimExprAttr> lhs,
                                                    ArrayRef<PrimExprAttr> rhs,
                                                    MLIRContext *context) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  size_t offset = lhs.size() - rhs.size();
  SmallVector<PrimExprAttr> dims(lhs.take_front(offset));
  bool decided = true;
  DimensionProver prover(lhs, rhs);
  for (size_t i = offset; i < lhs.size(); ++i) {
    FailureOr<PrimExprAttr> dim =
        broadcastDim(location, lhs[i], rhs[i - offset], prover);
    if (failed(dim))
      return failure();
    decided &= static_cast<bool>(*dim);
    dims.push_back(*dim);
  }
  return decided ? ShapeExprAttr::get(context, dims) : ShapeExprAttr();
}
