//===- NN.cpp - Derivation of matrix and network operators -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/VDevice.h"

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

//===----------------------------------------------------------------------===//
// outer
//===----------------------------------------------------------------------===//

LogicalResult OuterOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                        Adaptor adaptor,
                                        InferredTypes &results) {
  TensorStructInfoType lhs = tensorType(adaptor.getX1());
  TensorStructInfoType rhs = tensorType(adaptor.getX2());
  FailureOr<Type> dtype = commonDType(location, lhs, rhs);
  if (failed(dtype) ||
      failed(checkDType(location, lhs, "x1", DTypeClass::Numeric)))
    return failure();
  for (TensorStructInfoType x : {lhs, rhs})
    if (x.hasRank() && x.getNdim() != 1)
      return inferError(location, "expected vectors, but got ", x);
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(location, {lhs, rhs});
  if (failed(vdevice))
    return failure();
  TensorStructInfoType result = withDType(withRank(lhs, 2), *dtype);
  if (lhs.hasShape() && rhs.hasShape())
    result = withDims(result, {lhs.getDims().front(), rhs.getDims().front()});
  results.push_back(fillVDevices(result, *vdevice));
  return success();
}

//===----------------------------------------------------------------------===//
// prelu
//===----------------------------------------------------------------------===//

LogicalResult PReluOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                        Adaptor adaptor,
                                        InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType alpha = tensorType(adaptor.getAlpha());
  if (failed(checkDType(location, data, "data", DTypeClass::Float)) ||
      failed(commonDType(location, data, alpha)) ||
      failed(commonVDevice(location, {data, alpha})))
    return failure();
  if (alpha.hasRank() && alpha.getNdim() != 1)
    return inferError(location, "expected alpha of rank 1, but got ", alpha);
  if (data.hasRank()) {
    FailureOr<int64_t> axis =
        normalizeAxis(location, adaptor.getAxis(), data.getNdim());
    if (failed(axis))
      return failure();
    if (data.hasShape() && alpha.hasShape()) {
      PrimExprAttr size = alpha.getDims().front();
      PrimExprAttr wanted = data.getDims()[*axis];
      if (size.getConstant() != 1 &&
          DimensionProver(size, wanted).proveEqual(size, wanted) == Ternary::No)
        return inferError(location, "expected alpha of dimension ",
                          wanted.str(), ", but got ", size.str());
    }
  }
  results.push_back(data);
  return success();
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::inferReturnTypes(MLIRContext *context,
                                      OptionalLoc location, Adaptor adaptor,
                                      InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  ArrayRef<int64_t> widths = adaptor.getPadWidth();
  StringRef mode = adaptor.getPadMode();
  if (!llvm::is_contained({"constant", "reflect", "replicate", "circular"},
                          mode))
    return inferError(location,
                      "expected a pad_mode of constant, reflect, replicate or "
                      "circular, but got ",
                      mode);
  for (int64_t width : widths)
    if (width < 0)
      return inferError(location, "expected pad_width of 0 or more, but got ",
                        width);
  int64_t ndim = static_cast<int64_t>(widths.size() / 2);
  if (widths.size() % 2 != 0 || (data.hasRank() && data.getNdim() != ndim))
    return inferError(location,
                      "expected two of pad_width for each dimension of ", data,
                      ", but got ", widths.size());
  if (!data.hasShape()) {
    results.push_back(withRank(data, ndim));
    return success();
  }
  SmallVector<PrimExprAttr> dims(data.getDims());
  for (auto [axis, dim] : llvm::enumerate(dims))
    for (int64_t width : widths.slice(2 * axis, 2))
      dim = PrimExprAttr::getAdd(dim, PrimExprAttr::getInt(context, width));
  results.push_back(withDims(data, dims));
  return success();
}

//===----------------------------------------------------------------------===//
// pixel_shuffle
//===----------------------------------------------------------------------===//

LogicalResult PixelShuffleOp::inferReturnTypes(MLIRContext *context,
                                               OptionalLoc location,
                                               Adaptor adaptor,
                                               InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  int64_t factor = adaptor.getUpscaleFactor();
  constexpr int64_t kMaxFactor = 1 << 20;
  if (factor < 1 || factor > kMaxFactor)
    return inferError(location, "expected an upscale_factor from 1 to ",
                      kMaxFactor, ", but got ", factor);
  if (data.hasRank() && data.getNdim() < 3)
    return inferError(location, "expected data of rank 3 or more, but got ",
                      data);
  if (!data.hasShape()) {
    results.push_back(data);
    return success();
  }
  SmallVector<PrimExprAttr> dims(data.getDims());
  MutableArrayRef<PrimExprAttr> image = MutableArrayRef(dims).take_back(3);
  if (std::optional<int64_t> channels = image[0].getConstant();
      channels && *channels % (factor * factor) != 0)
    return inferError(location, "expected channels that are a multiple of ",
                      factor * factor, ", but got ", *channels);
  PrimExprAttr by = PrimExprAttr::getInt(context, factor);
  image[0] = PrimExprAttr::getFloorDiv(
      image[0], PrimExprAttr::getInt(context, factor * factor));
  image[1] = PrimExprAttr::getMul(image[1], by);
  image[2] = PrimExprAttr::getMul(image[2], by);
  results.push_back(withDims(data, dims));
  return success();
}
