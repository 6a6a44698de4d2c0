//===- Norm.cpp - Derivation of normalization and attention -*- C++ -*-===//
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

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

namespace {
/// A parameter of a normalization, by its name.
struct Parameter {
  StringRef name;
  TensorStructInfoType type;
};
} // namespace

/// Checks that a parameter has the dimensions of `x` at `axes`, as far as is
/// known.
static LogicalResult checkParameter(OptionalLoc location,
                                    TensorStructInfoType x,
                                    const Parameter &parameter,
                                    ArrayRef<int64_t> axes) {
  auto [name, type] = parameter;
  if (failed(commonDType(location, x, type)))
    return failure();
  if (type.hasRank() && type.getNdim() != static_cast<int64_t>(axes.size()))
    return inferError(location, "expected ", name, " of rank ", axes.size(),
                      ", the number of axes, but got ", type);
  if (!x.hasShape() || !type.hasShape())
    return success();
  DimensionProver prover(x.getDims(), type.getDims());
  for (auto [axis, dim] : llvm::zip(axes, type.getDims()))
    if (prover.proveEqual(x.getDims()[axis], dim) == Ternary::No)
      return inferError(location, "expected ", name, " with dimension ",
                        x.getDims()[axis].str(), " as x has at axis ", axis,
                        ", but got ", dim.str());
  return success();
}

/// The normalized tensor, on the device of its operands. `paramAxes` are the
/// axes of the parameters, `axes` those that are averaged.
static FailureOr<TensorStructInfoType>
inferNorm(OptionalLoc location, TensorStructInfoType x, StringRef name,
          ArrayRef<Parameter> parameters, ArrayRef<int64_t> paramAxes,
          ArrayRef<int64_t> axes) {
  if (failed(checkDType(location, x, name, DTypeClass::Float)))
    return failure();
  SmallVector<TensorStructInfoType> tensors = {x};
  for (const Parameter &parameter : parameters)
    tensors.push_back(parameter.type);
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(location, tensors);
  if (failed(vdevice))
    return failure();
  auto result = cast<TensorStructInfoType>(fillVDevices(x, *vdevice));
  if (!x.hasRank())
    return result;
  FailureOr<SmallVector<int64_t>> places =
      normalizeAxes(location, paramAxes, x.getNdim());
  if (failed(places) || failed(normalizeAxes(location, axes, x.getNdim())))
    return failure();
  for (const Parameter &parameter : parameters)
    if (failed(checkParameter(location, x, parameter, *places)))
      return failure();
  return result;
}

/// The result where it is the normalized tensor alone.
static LogicalResult pushNorm(FailureOr<TensorStructInfoType> result,
                              InferredTypes &results) {
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

static LogicalResult checkHasAxes(OptionalLoc location,
                                  ArrayRef<int64_t> axes) {
  return axes.empty() ? inferError(location, "expected at least one axis")
                      : success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  if (failed(checkHasAxes(location, adaptor.getAxes())))
    return failure();
  return pushNorm(inferNorm(location, tensorType(adaptor.getX()), "x",
                            {{"gamma", tensorType(adaptor.getGamma())},
                             {"beta", tensorType(adaptor.getBeta())}},
                            adaptor.getAxes(), adaptor.getAxes()),
                  results);
}

LogicalResult RMSNormOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  if (failed(checkHasAxes(location, adaptor.getAxes())))
    return failure();
  return pushNorm(inferNorm(location, tensorType(adaptor.getData()), "data",
                            {{"weight", tensorType(adaptor.getWeight())}},
                            adaptor.getAxes(), adaptor.getAxes()),
                  results);
}

LogicalResult InstanceNormOp::inferReturnTypes(MLIRContext *,
                                               OptionalLoc location,
                                               Adaptor adaptor,
                                               InferredTypes &results) {
  if (failed(checkHasAxes(location, adaptor.getAxes())))
    return failure();
  int64_t channel = adaptor.getChannelAxis();
  return pushNorm(inferNorm(location, tensorType(adaptor.getData()), "data",
                            {{"gamma", tensorType(adaptor.getGamma())},
                             {"beta", tensorType(adaptor.getBeta())}},
                            channel, adaptor.getAxes()),
                  results);
}

LogicalResult GroupNormOp::inferReturnTypes(MLIRContext *context,
                                            OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  int64_t channel = adaptor.getChannelAxis(), groups = adaptor.getNumGroups();
  if (groups < 1)
    return inferError(location, "expected one group or more, but got ", groups);
  FailureOr<TensorStructInfoType> result =
      inferNorm(location, data, "data",
                {{"gamma", tensorType(adaptor.getGamma())},
                 {"beta", tensorType(adaptor.getBeta())}},
                channel, adaptor.getAxes());
  if (failed(result))
    return failure();
  results.push_back(*result);
  if (!data.hasRank())
    return success();
  channel = *normalizeAxis(location, channel, data.getNdim());
  if (llvm::is_contained(
          *normalizeAxes(location, adaptor.getAxes(), data.getNdim()), channel))
    return inferError(location, "expected axes without channel_axis, but got ",
                      channel);
  if (!data.hasShape())
    return success();
  PrimExprAttr channels = data.getDims()[channel];
  PrimExprAttr rest =
      PrimExprAttr::getMod(channels, PrimExprAttr::getInt(context, groups));
  if (DimensionProver(channels).proveEqual(rest, 0) == Ternary::No)
    return inferError(location, "expected a multiple of ", groups,
                      " groups as channels, but got ", channels.str());
  return success();
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *context,
                                            OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType mean = tensorType(adaptor.getMovingMean());
  TensorStructInfoType variance = tensorType(adaptor.getMovingVar());
  int64_t axis = adaptor.getAxis();
  FailureOr<TensorStructInfoType> result =
      inferNorm(location, data, "data",
                {{"gamma", tensorType(adaptor.getGamma())},
                 {"beta", tensorType(adaptor.getBeta())},
                 {"moving_mean", mean},
                 {"moving_var", variance}},
                axis, {});
  if (failed(result))
    return failure();
  auto moving = [&](TensorStructInfoType type) -> Type {
    Type known = type.hasShape() ? type : withRank(type, 1);
    return fillVDevices(known, result->getVdevice());
  };
  results.push_back(TupleStructInfoType::get(
      context, {*result, moving(mean), moving(variance)}));
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// Checks dimensions of the tensors that an attention operator takes.
struct AttentionChecker {
  OptionalLoc location;

  LogicalResult equal(PrimExprAttr lhs, PrimExprAttr rhs, StringRef what,
                      StringRef name) const {
    if (DimensionProver(lhs, rhs).proveEqual(lhs, rhs) != Ternary::No)
      return success();
    return inferError(location, "expected ", name, " with ", what, " ",
                      lhs.str(), ", but got ", rhs.str());
  }
  LogicalResult equalOrOne(PrimExprAttr lhs, PrimExprAttr rhs,
                           StringRef what) const {
    if (DimensionProver(rhs, lhs).proveEqual(rhs, 1) != Ternary::No)
      return success();
    return equal(lhs, rhs, what, "bias");
  }
  LogicalResult divides(PrimExprAttr count, PrimExprAttr divisor,
                        StringRef name) const {
    PrimExprAttr rest = PrimExprAttr::getMod(count, divisor);
    if (divisor.getConstant() != 0 &&
        DimensionProver(count, divisor).proveEqual(rest, 0) != Ternary::No)
      return success();
    return inferError(location, "expected ", name,
                      " with a number of heads that divides ", count.str(),
                      ", but got ", divisor.str());
  }
};
} // namespace

/// Checks the dimensions, as far as they are known.
static LogicalResult checkAttention(OptionalLoc location,
                                    TensorStructInfoType query,
                                    TensorStructInfoType key,
                                    TensorStructInfoType value,
                                    TensorStructInfoType bias) {
  AttentionChecker check{location};
  ArrayRef<PrimExprAttr> q, k, v;
  if (query.hasShape())
    q = query.getDims();
  if (key.hasShape())
    k = key.getDims();
  if (value.hasShape())
    v = value.getDims();
  if (!q.empty() && !k.empty() &&
      (failed(check.equal(q[0], k[0], "batch size", "key")) ||
       failed(check.divides(q[2], k[2], "key")) ||
       failed(check.equal(q[3], k[3], "number of features", "key"))))
    return failure();
  if (!q.empty() && !v.empty() &&
      (failed(check.equal(q[0], v[0], "batch size", "value")) ||
       failed(check.divides(q[2], v[2], "value"))))
    return failure();
  if (!k.empty() && !v.empty() &&
      failed(check.equal(k[1], v[1], "sequence length", "value")))
    return failure();
  if (!bias || !bias.hasShape())
    return success();
  ArrayRef<PrimExprAttr> b = bias.getDims();
  if (!q.empty() && (failed(check.equalOrOne(q[0], b[0], "batch size")) ||
                     failed(check.equalOrOne(q[2], b[1], "number of heads")) ||
                     failed(check.equalOrOne(q[1], b[2], "sequence length"))))
    return failure();
  if (!k.empty() && failed(check.equal(k[1], b[3], "number of keys", "bias")))
    return failure();
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context,
                                            OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  TensorStructInfoType query = tensorType(adaptor.getQuery());
  TensorStructInfoType key = tensorType(adaptor.getKey());
  TensorStructInfoType value = tensorType(adaptor.getValue());
  TensorStructInfoType bias;
  SmallVector<Parameter> tensors = {
      {"query", query}, {"key", key}, {"value", value}};
  if (adaptor.getBias()) {
    bias = tensorType(adaptor.getBias());
    tensors.push_back({"bias", bias});
  }
  for (const Parameter &tensor : tensors) {
    if (failed(checkDType(location, tensor.type, tensor.name,
                          DTypeClass::Float)) ||
        failed(commonDType(location, query, tensor.type)))
      return failure();
    if (tensor.type.hasRank() && tensor.type.getNdim() != 4)
      return inferError(location, "expected ", tensor.name,
                        " of rank 4, but got ", tensor.type);
  }
  std::optional<StringRef> mask = adaptor.getCausalMask();
  if (mask && *mask != "TopLeft" && *mask != "BottomRight")
    return inferError(location,
                      "expected causal_mask 'TopLeft' or 'BottomRight', but "
                      "got '",
                      *mask, "'");
  if (std::optional<uint64_t> size = adaptor.getWindowSize())
    if (!mask || static_cast<int64_t>(*size) < 1)
      return inferError(
          location,
          "expected window_size of 1 or more with a causal_mask, but "
          "got ",
          static_cast<int64_t>(*size), mask ? "" : " without one");
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(
      location, llvm::map_to_vector(tensors, [](const Parameter &tensor) {
        return tensor.type;
      }));
  if (failed(vdevice) ||
      failed(checkAttention(location, query, key, value, bias)))
    return failure();
  ShapeExprAttr shape;
  if (query.hasShape() && value.hasShape()) {
    SmallVector<PrimExprAttr> dims(query.getDims());
    dims.back() = value.getDims().back();
    shape = ShapeExprAttr::get(context, dims);
  }
  results.push_back(
      TensorStructInfoType::get(context, shape, 4, query.getDtype(), *vdevice));
  return success();
}
