//===- Manipulate.cpp - Operators that move elements ------------*- C++ -*-===//
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
// Shapes given by a value
//===----------------------------------------------------------------------===//

LogicalResult BroadcastToOp::inferReturnTypes(MLIRContext *,
                                              OptionalLoc location,
                                              Adaptor adaptor,
                                              InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  ShapeStructInfoType shape = shapeType(adaptor.getShape());
  FailureOr<TensorStructInfoType> result =
      tensorOfShape(location, adaptor.getShape(), x.getDtype(), x.getVdevice());
  if (failed(result))
    return failure();
  results.push_back(*result);
  if (!x.hasShape() || !shape.getValues())
    return success();
  ArrayRef<PrimExprAttr> target = shape.getValues().getDims();
  if (x.getDims().size() > target.size())
    return inferError(location, "expected a shape of rank ", x.getNdim(),
                      " or more, but got ", shape);
  ArrayRef<PrimExprAttr> tail = target.take_back(x.getDims().size());
  DimensionProver prover(x.getDims(), target);
  for (auto [from, to] : llvm::zip(x.getDims(), tail))
    if (prover.proveEqual(from, to) == Ternary::No &&
        prover.proveEqual(from, 1) == Ternary::No)
      return inferError(location,
                        "expected dimensions that broadcast, but got ",
                        from.str(), " and ", to.str());
  return success();
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *context,
                                          OptionalLoc location, Adaptor adaptor,
                                          InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  ShapeStructInfoType shape = shapeType(adaptor.getShape());
  FailureOr<TensorStructInfoType> result =
      tensorOfShape(location, adaptor.getShape(), x.getDtype(), x.getVdevice());
  if (failed(result))
    return failure();
  results.push_back(*result);
  if (!x.hasShape() || !shape.getValues())
    return success();
  PrimExprAttr before = PrimExprAttr::getProduct(context, x.getDims());
  PrimExprAttr after =
      PrimExprAttr::getProduct(context, shape.getValues().getDims());
  DimensionProver prover(x.getDims(), shape.getValues().getDims());
  if (prover.proveEqual(before, after) == Ternary::No)
    return inferError(location, "expected a shape of ", before.str(),
                      " elements, but got ", after.str());
  return success();
}

LogicalResult FlattenOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  PrimExprAttr size = x.hasShape()
                          ? PrimExprAttr::getProduct(context, x.getDims())
                          : PrimExprAttr();
  results.push_back(size && !size.isTooLarge() ? withDims(x, size)
                                               : withRank(x, 1));
  return success();
}

//===----------------------------------------------------------------------===//
// Dimensions of size 1
//===----------------------------------------------------------------------===//

LogicalResult ExpandDimsOp::inferReturnTypes(MLIRContext *context,
                                             OptionalLoc location,
                                             Adaptor adaptor,
                                             InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  if (!x.hasRank()) {
    results.push_back(x);
    return success();
  }
  int64_t ndim = x.getNdim() + adaptor.getAxis().size();
  FailureOr<SmallVector<int64_t>> axes =
      normalizeAxes(location, adaptor.getAxis(), ndim);
  if (failed(axes))
    return failure();
  if (!x.hasShape()) {
    results.push_back(withRank(x, ndim));
    return success();
  }
  SmallVector<PrimExprAttr> dims;
  ArrayRef<PrimExprAttr> rest = x.getDims();
  for (int64_t i = 0; i < ndim; ++i) {
    if (llvm::is_contained(*axes, i)) {
      dims.push_back(PrimExprAttr::getInt(context, 1));
    } else {
      dims.push_back(rest.front());
      rest = rest.drop_front();
    }
  }
  results.push_back(withDims(x, dims));
  return success();
}

/// squeeze without axes: every dimension must be known to be 1 or not.
static LogicalResult squeezeAll(OptionalLoc location, TensorStructInfoType x,
                                InferredTypes &results) {
  if (!x.hasShape()) {
    results.push_back(withoutRank(x));
    return success();
  }
  SmallVector<PrimExprAttr> dims;
  DimensionProver prover(x.getDims());
  for (PrimExprAttr dim : x.getDims()) {
    Ternary isOne = prover.proveEqual(dim, 1);
    if (isOne == Ternary::Yes)
      continue;
    if (isOne == Ternary::Unknown)
      return inferError(location, "expected axes to squeeze, as dimension ",
                        dim.str(), " may be 1");
    dims.push_back(dim);
  }
  results.push_back(withDims(x, dims));
  return success();
}

LogicalResult SqueezeOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  if (!adaptor.getAxis())
    return squeezeAll(location, x, results);
  if (!x.hasRank()) {
    results.push_back(x);
    return success();
  }
  FailureOr<SmallVector<int64_t>> axes =
      normalizeAxes(location, *adaptor.getAxis(), x.getNdim());
  if (failed(axes))
    return failure();
  if (!x.hasShape()) {
    results.push_back(withRank(x, x.getNdim() - axes->size()));
    return success();
  }
  SmallVector<PrimExprAttr> dims;
  DimensionProver prover(x.getDims());
  for (auto [index, dim] : llvm::enumerate(x.getDims())) {
    if (!llvm::is_contained(*axes, static_cast<int64_t>(index)))
      dims.push_back(dim);
    else if (prover.proveEqual(dim, 1) == Ternary::No)
      return inferError(location, "expected dimension ", index,
                        " to be 1, but got ", dim.str());
  }
  results.push_back(withDims(x, dims));
  return success();
}

//===----------------------------------------------------------------------===//
// Order and parts
//===----------------------------------------------------------------------===//

LogicalResult PermuteDimsOp::inferReturnTypes(MLIRContext *,
                                              OptionalLoc location,
                                              Adaptor adaptor,
                                              InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  std::optional<ArrayRef<int64_t>> axes = adaptor.getAxes();
  if (!x.hasRank()) {
    results.push_back(axes ? withRank(x, axes->size()) : Type(x));
    return success();
  }
  if (axes && static_cast<int64_t>(axes->size()) != x.getNdim())
    return inferError(location, "expected ", x.getNdim(), " axes, but got ",
                      axes->size());
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(x.getNdim())));
  FailureOr<SmallVector<int64_t>> normalized =
      normalizeAxes(location, axes.value_or(order), x.getNdim());
  if (failed(normalized))
    return failure();
  if (!x.hasShape()) {
    results.push_back(x);
    return success();
  }
  results.push_back(
      withDims(x, llvm::map_to_vector(
                      *normalized, [&](int64_t i) { return x.getDims()[i]; })));
  return success();
}

/// Checks that a part of a concatenation fits the first one.
static LogicalResult checkConcatPart(OptionalLoc location,
                                     TensorStructInfoType first,
                                     TensorStructInfoType part, int64_t axis) {
  if (part.getNdim() != first.getNdim())
    return inferError(location, "expected tensors of the same rank, but got ",
                      first, " and ", part);
  if (!first.hasShape() || !part.hasShape())
    return success();
  DimensionProver prover(first.getDims(), part.getDims());
  for (int64_t i = 0; i < first.getNdim(); ++i)
    if (i != axis &&
        prover.proveEqual(first.getDims()[i], part.getDims()[i]) == Ternary::No)
      return inferError(location, "expected dimension ", i, " to be ",
                        first.getDims()[i].str(), ", but got ",
                        part.getDims()[i].str());
  return success();
}

/// Whether all dimensions but `axis` are known to be equal.
static bool concatIsDecided(TensorStructInfoType first,
                            TensorStructInfoType part, int64_t axis) {
  DimensionProver prover(first.getDims(), part.getDims());
  for (int64_t i = 0; i < first.getNdim(); ++i)
    if (i != axis && prover.proveEqual(first.getDims()[i], part.getDims()[i]) !=
                         Ternary::Yes)
      return false;
  return true;
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                         Adaptor adaptor,
                                         InferredTypes &results) {
  if (adaptor.getTensors().empty())
    return inferError(location, "expected at least one tensor");
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(
      location, llvm::map_to_vector(adaptor.getTensors(), tensorType));
  if (failed(vdevice))
    return failure();
  auto first = cast<TensorStructInfoType>(
      fillVDevices(tensorType(adaptor.getTensors().front()), *vdevice));
  bool ranked = true, shaped = true;
  for (Value value : adaptor.getTensors()) {
    TensorStructInfoType part = tensorType(value);
    ranked &= part.hasRank();
    shaped &= part.hasShape();
    if (failed(commonDType(location, first, part)))
      return failure();
  }
  if (!ranked) {
    results.push_back(withoutRank(first));
    return success();
  }
  FailureOr<int64_t> axis =
      normalizeAxis(location, adaptor.getAxis(), first.getNdim());
  if (failed(axis))
    return failure();
  SmallVector<PrimExprAttr> dims;
  if (shaped)
    dims.assign(first.getDims().begin(), first.getDims().end());
  for (Value value : adaptor.getTensors().drop_front()) {
    TensorStructInfoType part = tensorType(value);
    if (failed(checkConcatPart(location, first, part, *axis)))
      return failure();
    shaped = shaped && concatIsDecided(first, part, *axis);
    if (shaped)
      dims[*axis] = PrimExprAttr::getAdd(dims[*axis], part.getDims()[*axis]);
  }
  results.push_back(shaped ? withDims(first, dims)
                           : withRank(first, first.getNdim()));
  return success();
}

/// The sizes of the parts of a split of a constant dimension.
static SmallVector<PrimExprAttr>
constantSplitSizes(MLIRContext *context, int64_t dim,
                   std::optional<int64_t> sections,
                   std::optional<ArrayRef<int64_t>> indices) {
  SmallVector<int64_t> bounds = {0};
  if (sections) {
    int64_t size = llvm::divideCeil(dim, *sections);
    for (int64_t i = 1; i < *sections; ++i)
      bounds.push_back(std::min(i * size, dim));
  } else {
    for (int64_t index : *indices)
      bounds.push_back(std::clamp<int64_t>(index, 0, dim));
  }
  bounds.push_back(dim);
  SmallVector<PrimExprAttr> sizes;
  for (auto [begin, end] : llvm::zip(bounds, ArrayRef(bounds).drop_front()))
    sizes.push_back(
        PrimExprAttr::getInt(context, std::max<int64_t>(end - begin, 0)));
  return sizes;
}

/// The sizes of the parts of a split of dimension `dim`.
static FailureOr<SmallVector<PrimExprAttr>>
splitSizes(OptionalLoc location, PrimExprAttr dim,
           std::optional<int64_t> sections,
           std::optional<ArrayRef<int64_t>> indices) {
  MLIRContext *context = dim.getContext();
  if (std::optional<int64_t> constant = dim.getConstant();
      constant && *constant >= 0)
    return constantSplitSizes(context, *constant, sections, indices);
  SmallVector<PrimExprAttr> sizes;
  if (sections) {
    PrimExprAttr divisor = PrimExprAttr::getInt(context, *sections);
    if (DimensionProver(dim).proveEqual(PrimExprAttr::getMod(dim, divisor),
                                        0) != Ternary::Yes)
      return inferError(location, "expected dimension ", dim.str(),
                        " to be a known multiple of ", *sections,
                        " sections; use indices");
    sizes.assign(*sections, PrimExprAttr::getFloorDiv(dim, divisor));
    return sizes;
  }
  int64_t previous = 0;
  for (int64_t index : *indices) {
    if (index < previous)
      return inferError(location,
                        "expected indices that ascend from 0, but got ", index,
                        " after ", previous);
    sizes.push_back(PrimExprAttr::getInt(context, index - previous));
    previous = index;
  }
  PrimExprAttr last =
      PrimExprAttr::getSub(dim, PrimExprAttr::getInt(context, previous));
  if (DimensionProver(dim).getRange(last).upper.value_or(0) < 0)
    return inferError(location, "expected indices up to ", dim.str(),
                      ", the dimension, but got ", previous);
  sizes.push_back(last);
  return sizes;
}

LogicalResult SplitOp::inferReturnTypes(MLIRContext *context,
                                        OptionalLoc location, Adaptor adaptor,
                                        InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  std::optional<uint64_t> sections = adaptor.getSections();
  std::optional<ArrayRef<int64_t>> indices = adaptor.getIndices();
  if (sections.has_value() == indices.has_value())
    return inferError(location, "expected either sections or indices");
  if (sections && static_cast<int64_t>(*sections) <= 0)
    return inferError(location, "expected one section or more, but got ",
                      static_cast<int64_t>(*sections));
  constexpr uint64_t kMaxParts = 65536;
  if (sections && *sections > kMaxParts)
    return inferError(location, "expected at most ", kMaxParts,
                      " sections, but got ", *sections);
  size_t parts = sections ? *sections : indices->size() + 1;
  SmallVector<Type> fields(parts, withRank(x, x.getNdim()));
  if (x.hasRank()) {
    FailureOr<int64_t> axis =
        normalizeAxis(location, adaptor.getAxis(), x.getNdim());
    if (failed(axis))
      return failure();
    if (x.hasShape()) {
      FailureOr<SmallVector<PrimExprAttr>> sizes =
          splitSizes(location, x.getDims()[*axis], sections, indices);
      if (failed(sizes))
        return failure();
      SmallVector<PrimExprAttr> dims(x.getDims());
      for (auto [field, size] : llvm::zip(fields, *sizes)) {
        dims[*axis] = size;
        field = withDims(x, dims);
      }
    }
  }
  results.push_back(TupleStructInfoType::get(context, fields));
  return success();
}

//===----------------------------------------------------------------------===//
// strided_slice
//===----------------------------------------------------------------------===//

namespace {
/// Builds expressions, in which what is known to be chosen is chosen.
struct SliceBuilder {
  explicit SliceBuilder(PrimExprAttr dim) : context(dim.getContext()) {
    facts = FactsScope::current();
    facts.addDimension(dim);
    llvm::StringSet<> names;
    collectVars(dim, names);
    for (const auto &name : names)
      facts.addDimension(PrimExprAttr::getVar(context, name.getKey()));
  }

  PrimExprAttr integer(int64_t value) const {
    return PrimExprAttr::getInt(context, value);
  }
  PrimExprAttr add(PrimExprAttr lhs, PrimExprAttr rhs) const {
    return simplify(PrimExprAttr::getAdd(lhs, rhs), facts);
  }
  PrimExprAttr sub(PrimExprAttr lhs, PrimExprAttr rhs) const {
    return simplify(PrimExprAttr::getSub(lhs, rhs), facts);
  }
  PrimExprAttr clamp(PrimExprAttr x, PrimExprAttr low,
                     PrimExprAttr high) const {
    return max(min(x, high), low);
  }
  PrimExprAttr min(PrimExprAttr lhs, PrimExprAttr rhs) const {
    if (proveLessEqual(lhs, rhs, facts) == Ternary::Yes)
      return lhs;
    if (proveLessEqual(rhs, lhs, facts) == Ternary::Yes)
      return rhs;
    return PrimExprAttr::getCall(PrimExprKind::Min, {lhs, rhs});
  }
  PrimExprAttr max(PrimExprAttr lhs, PrimExprAttr rhs) const {
    if (proveLessEqual(lhs, rhs, facts) == Ternary::Yes)
      return rhs;
    if (proveLessEqual(rhs, lhs, facts) == Ternary::Yes)
      return lhs;
    return PrimExprAttr::getCall(PrimExprKind::Max, {lhs, rhs});
  }
  /// A place that may count from the end.
  PrimExprAttr fromStart(PrimExprAttr place, PrimExprAttr dim) const {
    switch (proveNonNegative(place, facts)) {
    case Ternary::Yes:
      return place;
    case Ternary::No:
      return add(place, dim);
    case Ternary::Unknown:
      break;
    }
    PrimExprAttr negative =
        PrimExprAttr::getCall(PrimExprKind::Lt, {place, integer(0)});
    return PrimExprAttr::getCall(
        PrimExprKind::Select,
        {negative, PrimExprAttr::getAdd(place, dim), place});
  }
  PrimExprAttr ceilDiv(PrimExprAttr x, int64_t divisor) const {
    return simplify(PrimExprAttr::getFloorDiv(add(x, integer(divisor - 1)),
                                              integer(divisor)),
                    facts);
  }

  MLIRContext *context;
  PrimExprFacts facts;
};
} // namespace

SliceDim mlir::relax::sliceDim(PrimExprAttr dim, PrimExprAttr begin,
                               PrimExprAttr end, PrimExprAttr stride,
                               bool assumeInbound) {
  SliceBuilder b(dim);
  int64_t step = *stride.getConstant();
  PrimExprAttr zero = b.integer(0);
  if (assumeInbound)
    return {begin, stride, b.ceilDiv(b.sub(end, begin), step)};
  // Places of a slice that goes backwards end before the first element.
  PrimExprAttr low = step > 0 ? zero : b.integer(-1);
  PrimExprAttr high = step > 0 ? dim : b.sub(dim, b.integer(1));
  begin = b.clamp(b.fromStart(begin, dim), low, high);
  end = b.clamp(b.fromStart(end, dim), low, high);
  PrimExprAttr distance = step > 0 ? b.sub(end, begin) : b.sub(begin, end);
  return {begin, stride,
          b.ceilDiv(b.max(distance, zero), step > 0 ? step : -step)};
}

/// The entries that strided_slice has for each axis; an error where there are
/// not as many as axes. None where they are not known.
static FailureOr<ArrayRef<PrimExprAttr>>
sliceEntries(OptionalLoc location, Value shape, StringRef name, size_t count) {
  ShapeStructInfoType type = shapeType(shape);
  if (type.getNdim() != TensorStructInfoType::kUnknownDim &&
      type.getNdim() != static_cast<int64_t>(count))
    return inferError(location, "expected ", count, " entries of ", name,
                      ", one for each axis, but got ", type);
  return type.getValues() ? type.getValues().getDims()
                          : ArrayRef<PrimExprAttr>();
}

LogicalResult StridedSliceOp::inferReturnTypes(MLIRContext *context,
                                               OptionalLoc location,
                                               Adaptor adaptor,
                                               InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  size_t count = adaptor.getAxes().size();
  FailureOr<ArrayRef<PrimExprAttr>> begins =
      sliceEntries(location, adaptor.getBegin(), "begin", count);
  FailureOr<ArrayRef<PrimExprAttr>> ends =
      sliceEntries(location, adaptor.getEnd(), "end", count);
  if (failed(begins) || failed(ends))
    return failure();
  SmallVector<PrimExprAttr> strides(count, PrimExprAttr::getInt(context, 1));
  if (adaptor.getStrides()) {
    FailureOr<ArrayRef<PrimExprAttr>> given =
        sliceEntries(location, adaptor.getStrides(), "strides", count);
    if (failed(given))
      return failure();
    strides.assign(given->begin(), given->end());
    for (PrimExprAttr stride : strides)
      if (stride.getConstant() == INT64_MIN)
        return inferError(location, "expected strides from ", -INT64_MAX,
                          ", but got ", stride.str());
      else if (!stride.getConstant() || *stride.getConstant() == 0 ||
               (adaptor.getAssumeInbound() && *stride.getConstant() < 0))
        return inferError(location, "expected strides that are known and ",
                          adaptor.getAssumeInbound() ? "positive" : "not 0",
                          ", but got ", stride.str());
  }
  if (!x.hasRank()) {
    results.push_back(x);
    return success();
  }
  FailureOr<SmallVector<int64_t>> axes =
      normalizeAxes(location, adaptor.getAxes(), x.getNdim());
  if (failed(axes))
    return failure();
  if (!x.hasShape() || begins->size() != count || ends->size() != count ||
      strides.size() != count) {
    results.push_back(withRank(x, x.getNdim()));
    return success();
  }
  SmallVector<PrimExprAttr> dims(x.getDims());
  for (auto [axis, begin, end, stride] :
       llvm::zip_equal(*axes, *begins, *ends, strides)) {
    dims[axis] =
        sliceDim(dims[axis], begin, end, stride, adaptor.getAssumeInbound())
            .length;
    if (hasNegativeDim(ShapeExprAttr::get(context, dims[axis])))
      return inferError(location, "expected an end not before begin, but got ",
                        begin.str(), " to ", end.str());
  }
  results.push_back(withDims(x, dims));
  return success();
}

LogicalResult TakeOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                       Adaptor adaptor,
                                       InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  TensorStructInfoType indices = tensorType(adaptor.getIndices());
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(location, {x, indices});
  if (failed(vdevice))
    return failure();
  x = cast<TensorStructInfoType>(fillVDevices(x, *vdevice));
  if (failed(checkDType(location, indices, "indices", DTypeClass::Integer)))
    return failure();
  if (!llvm::is_contained({"clip", "wrap", "nan"}, adaptor.getMode()))
    return inferError(location,
                      "expected mode 'clip', 'wrap' or 'nan', but got '",
                      adaptor.getMode(), "'");
  if (adaptor.getMode() == "nan" &&
      failed(checkDType(location, x, "x", DTypeClass::Float)))
    return failure();
  if (!x.hasRank() || !indices.hasRank()) {
    results.push_back(withoutRank(x));
    return success();
  }
  std::optional<uint64_t> given = adaptor.getAxis();
  if (!given && x.getNdim() != 1)
    return inferError(location, "expected an axis, as x has rank ",
                      x.getNdim());
  FailureOr<int64_t> axis =
      normalizeAxis(location, given.value_or(0), x.getNdim());
  if (failed(axis))
    return failure();
  if (!x.hasShape() || !indices.hasShape()) {
    results.push_back(withRank(x, x.getNdim() - 1 + indices.getNdim()));
    return success();
  }
  SmallVector<PrimExprAttr> dims(x.getDims().take_front(*axis));
  llvm::append_range(dims, indices.getDims());
  llvm::append_range(dims, x.getDims().drop_front(*axis + 1));
  results.push_back(withDims(x, dims));
  return success();
}
