//===- Conv.cpp - Derivation of convolution and pooling -*- C++ -*-===//
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

using Dims = SmallVector<PrimExprAttr>;

/// Checks a list of numbers that an attribute gives for spatial dimensions.
static LogicalResult checkNumbers(OptionalLoc location,
                                  ArrayRef<int64_t> numbers, StringRef name,
                                  size_t count, int64_t least) {
  if (numbers.size() != count)
    return inferError(location, "expected ", count, " numbers as ", name,
                      ", but got ", numbers.size());
  for (int64_t number : numbers)
    if (number < least || number > INT32_MAX)
      return inferError(location, "expected ", name, " from ", least, " to ",
                        INT32_MAX, ", but got ", number);
  return success();
}

/// Checks what the attributes of a window have in common.
static LogicalResult checkWindow(OptionalLoc location, StringRef letters,
                                 ArrayRef<int64_t> strides,
                                 ArrayRef<int64_t> padding,
                                 ArrayRef<int64_t> dilation) {
  size_t count = letters.size();
  return failure(
      failed(checkNumbers(location, strides, "strides", count, 1)) ||
      failed(checkNumbers(location, padding, "padding", 2 * count, 0)) ||
      failed(checkNumbers(location, dilation, "dilation", count, 1)));
}

/// The rank of a tensor, where known, is that of its layout.
static LogicalResult checkRank(OptionalLoc location, TensorStructInfoType x,
                               StringRef name, StringRef layout) {
  if (!x.hasRank() || x.getNdim() == static_cast<int64_t>(layout.size()))
    return success();
  return inferError(location, "expected ", name, " of rank ", layout.size(),
                    ", as its layout is '", layout, "', but got ", x);
}

namespace {
/// The positions of batch, channels and spatial dimensions in a tensor and in
/// the result.
struct Layouts {
  SmallVector<int64_t> data, out;
};
} // namespace

/// The layouts of `data`, which an attribute of this name gives, and of the
/// result.
static FailureOr<Layouts> parseLayouts(OptionalLoc location,
                                       TensorStructInfoType data,
                                       StringRef spatial, StringRef layout,
                                       StringRef name, StringRef outLayout) {
  std::string letters = ("NC" + spatial).str();
  FailureOr<SmallVector<int64_t>> places =
      parseLayout(location, layout, letters, name);
  if (failed(places))
    return failure();
  FailureOr<SmallVector<int64_t>> outPlaces =
      parseLayout(location, outLayout, letters, "out_layout");
  if (failed(outPlaces) || failed(checkRank(location, data, "data", layout)))
    return failure();
  return Layouts{*places, *outPlaces};
}

/// The dimensions in the order of letters, from those of a tensor, and back.
static Dims fromLayout(ArrayRef<PrimExprAttr> dims, ArrayRef<int64_t> places) {
  return llvm::map_to_vector(places,
                             [&](int64_t place) { return dims[place]; });
}
static Dims toLayout(ArrayRef<PrimExprAttr> dims, ArrayRef<int64_t> places) {
  Dims result(dims.size());
  for (auto [dim, place] : llvm::zip(dims, places))
    result[place] = dim;
  return result;
}

/// Counts the positions of a window in a padded dimension: the number of its
/// first elements, which are multiples of `stride` from 0 to `last`.
static PrimExprAttr countFirst(PrimExprAttr last, int64_t stride) {
  auto integer = [&](int64_t value) {
    return PrimExprAttr::getInt(last.getContext(), value);
  };
  return PrimExprAttr::getAdd(PrimExprAttr::getFloorDiv(last, integer(stride)),
                              integer(1));
}

static PrimExprAttr plus(PrimExprAttr dim, int64_t value) {
  return PrimExprAttr::getAdd(dim,
                              PrimExprAttr::getInt(dim.getContext(), value));
}

/// Returns the extent of a window in elements, of the spatial dimension `size`.
static PrimExprAttr reachOf(PrimExprAttr size, int64_t dilation) {
  PrimExprAttr steps = PrimExprAttr::getMul(
      PrimExprAttr::getInt(size.getContext(), dilation), plus(size, -1));
  return plus(steps, 1);
}

/// The result, from dimensions in the order of letters.
static LogicalResult finish(OptionalLoc location, TensorStructInfoType like,
                            ArrayRef<PrimExprAttr> dims,
                            ArrayRef<int64_t> places, InferredTypes &results) {
  for (PrimExprAttr dim : dims)
    if (dim.getConstant().value_or(0) < 0)
      return inferError(location,
                        "expected a padded dimension that the window fits "
                        "into, but got a result of ",
                        ShapeExprAttr::get(like.getContext(), dims));
  bool isTooLarge =
      llvm::any_of(dims, [](PrimExprAttr dim) { return dim.isTooLarge(); });
  results.push_back(isTooLarge ? withRank(like, dims.size())
                               : withDims(like, toLayout(dims, places)));
  return success();
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// The data type of a convolution.
static FailureOr<Type> convDType(OptionalLoc location,
                                 TensorStructInfoType data,
                                 TensorStructInfoType weight,
                                 std::optional<Type> wanted) {
  if (failed(checkDType(location, data, "data", DTypeClass::Numeric)) ||
      failed(checkDType(location, weight, "weight", DTypeClass::Numeric)) ||
      failed(checkOutDType(location, wanted)))
    return failure();
  if (wanted)
    return *wanted;
  return commonDType(location, data, weight);
}

/// Checks the channels, as far as they are known.
static LogicalResult checkChannels(OptionalLoc location,
                                   ArrayRef<PrimExprAttr> data,
                                   ArrayRef<PrimExprAttr> weight,
                                   int64_t groups) {
  MLIRContext *context = data.front().getContext();
  PrimExprAttr count = PrimExprAttr::getInt(context, groups);
  PrimExprAttr wanted = PrimExprAttr::getMul(weight[1], count);
  DimensionProver prover(data, weight);
  if (prover.proveEqual(data[1], wanted) == Ternary::No)
    return inferError(location, "expected data of ", wanted.str(),
                      " channels, but got ", data[1].str());
  if (prover.proveEqual(PrimExprAttr::getMod(weight[0], count), 0) ==
      Ternary::No)
    return inferError(location, "expected a multiple of ", groups,
                      " groups as output channels, but got ", weight[0].str());
  return success();
}

LogicalResult mlir::relax::inferConv(OptionalLoc location, Value dataValue,
                                     Value weightValue, const ConvAttrs &attrs,
                                     InferredTypes &results) {
  TensorStructInfoType data = tensorType(dataValue);
  TensorStructInfoType weight = tensorType(weightValue);
  FailureOr<Layouts> layouts =
      parseLayouts(location, data, attrs.letters, attrs.dataLayout,
                   "data_layout", attrs.outLayout);
  if (failed(layouts))
    return failure();
  FailureOr<SmallVector<int64_t>> weightPlaces =
      parseLayout(location, attrs.kernelLayout, ("OI" + attrs.letters).str(),
                  "kernel_layout");
  if (failed(weightPlaces) ||
      failed(checkWindow(location, attrs.letters, attrs.strides, attrs.padding,
                         attrs.dilation)) ||
      failed(checkNumbers(location, attrs.groups, "groups", 1, 1)) ||
      failed(checkRank(location, weight, "weight", attrs.kernelLayout)))
    return failure();
  FailureOr<Type> dtype = convDType(location, data, weight, attrs.outDtype);
  FailureOr<FlatSymbolRefAttr> vdevice =
      commonVDevice(location, {data, weight});
  if (failed(dtype) || failed(vdevice))
    return failure();
  auto result = TensorStructInfoType::get(
      data.getContext(), layouts->data.size(), *dtype, *vdevice);
  if (!data.hasShape() || !weight.hasShape()) {
    results.push_back(result);
    return success();
  }
  Dims from = fromLayout(data.getDims(), layouts->data);
  Dims kernel = fromLayout(weight.getDims(), *weightPlaces);
  if (failed(checkChannels(location, from, kernel, attrs.groups)))
    return failure();
  Dims dims = {from[0], kernel[0]};
  size_t count = attrs.letters.size();
  for (size_t i = 0; i < count; ++i)
    dims.push_back(countFirst(
        PrimExprAttr::getSub(
            plus(from[i + 2], attrs.padding[i] + attrs.padding[i + count]),
            reachOf(kernel[i + 2], attrs.dilation[i])),
        attrs.strides[i]));
  return finish(location, result, dims, layouts->out, results);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

LogicalResult mlir::relax::inferPool(OptionalLoc location, Value value,
                                     const PoolAttrs &attrs,
                                     InferredTypes &results) {
  TensorStructInfoType data = tensorType(value);
  FailureOr<Layouts> layouts = parseLayouts(
      location, data, attrs.letters, attrs.layout, "layout", attrs.outLayout);
  size_t count = attrs.letters.size();
  if (failed(layouts) ||
      failed(checkNumbers(location, attrs.sizes, "pool_size", count, 1)) ||
      failed(checkWindow(location, attrs.letters, attrs.strides, attrs.padding,
                         attrs.dilation)) ||
      failed(checkDType(location, data, "data", DTypeClass::Numeric)))
    return failure();
  if (!data.hasShape()) {
    results.push_back(withRank(data, layouts->data.size()));
    return success();
  }
  Dims dims = fromLayout(data.getDims(), layouts->data);
  for (size_t i = 0; i < count; ++i) {
    int64_t before = attrs.padding[i], after = attrs.padding[i + count];
    int64_t reach = (attrs.sizes[i] - 1) * attrs.dilation[i] + 1;
    // The last window ends in the padding. With ceil_mode it may end beyond
    // it, but begins before it.
    int64_t rest = after - reach;
    if (attrs.ceilMode)
      rest = std::min<int64_t>(rest + attrs.strides[i] - 1, -1);
    dims[i + 2] =
        countFirst(plus(dims[i + 2], before + rest), attrs.strides[i]);
  }
  return finish(location, data, dims, layouts->out, results);
}

LogicalResult mlir::relax::inferAdaptivePool(OptionalLoc location, Value value,
                                             const AdaptivePoolAttrs &attrs,
                                             InferredTypes &results) {
  TensorStructInfoType data = tensorType(value);
  FailureOr<Layouts> layouts = parseLayouts(
      location, data, attrs.letters, attrs.layout, "layout", attrs.outLayout);
  size_t count = attrs.letters.size();
  if (failed(layouts) ||
      failed(checkDType(location, data, "data", DTypeClass::Numeric)))
    return failure();
  if (attrs.sizes &&
      failed(checkNumbers(location, *attrs.sizes, "output_size", count, 1)))
    return failure();
  if (!data.hasShape()) {
    results.push_back(withRank(data, layouts->data.size()));
    return success();
  }
  Dims dims = fromLayout(data.getDims(), layouts->data);
  if (attrs.sizes)
    for (auto [index, size] : llvm::enumerate(*attrs.sizes))
      dims[index + 2] = PrimExprAttr::getInt(data.getContext(), size);
  return finish(location, data, dims, layouts->out, results);
}
