//===- Index.cpp - Derivation of operators that compute indices -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::relax;

using Dims = SmallVector<PrimExprAttr>;

static bool isPositive(int64_t number) { return number >= 1; }

/// A result on the device of all operands.
static FailureOr<TensorStructInfoType>
onCommonVDevice(OptionalLoc location, TensorStructInfoType result,
                ArrayRef<TensorStructInfoType> tensors) {
  FailureOr<FlatSymbolRefAttr> vdevice = commonVDevice(location, tensors);
  if (failed(vdevice))
    return failure();
  return cast<TensorStructInfoType>(fillVDevices(result, *vdevice));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

LogicalResult FlipOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                       Adaptor adaptor,
                                       InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  if (data.hasRank() &&
      failed(normalizeAxis(location, adaptor.getAxis(), data.getNdim())))
    return failure();
  results.push_back(data);
  return success();
}

LogicalResult ReverseSequenceOp::inferReturnTypes(MLIRContext *,
                                                  OptionalLoc location,
                                                  Adaptor adaptor,
                                                  InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType lengths = tensorType(adaptor.getSeqLengths());
  if (failed(
          checkDType(location, lengths, "seq_lengths", DTypeClass::Integer)) ||
      failed(commonVDevice(location, {data, lengths})))
    return failure();
  if (lengths.hasRank() && lengths.getNdim() != 1)
    return inferError(location, "expected seq_lengths of rank 1, but got ",
                      lengths);
  if (data.hasRank()) {
    int64_t ndim = data.getNdim();
    FailureOr<int64_t> seq =
        normalizeAxis(location, adaptor.getSeqAxis(), ndim);
    FailureOr<int64_t> batch =
        normalizeAxis(location, adaptor.getBatchAxis(), ndim);
    if (failed(seq) || failed(batch))
      return failure();
    if (*seq == *batch)
      return inferError(location,
                        "expected a seq_axis that is not the batch_axis, but "
                        "got ",
                        *seq, " for both");
    if (data.hasShape() && lengths.hasShape()) {
      PrimExprAttr count = lengths.getDims().front();
      PrimExprAttr wanted = data.getDims()[*batch];
      if (DimensionProver(count, wanted).proveEqual(count, wanted) ==
          Ternary::No)
        return inferError(location, "expected seq_lengths of dimension ",
                          wanted.str(), ", but got ", count.str());
    }
  }
  results.push_back(data);
  return success();
}

/// A dimension some times; null where it is too large.
static PrimExprAttr times(PrimExprAttr dim, int64_t count) {
  return PrimExprAttr::getMul(dim,
                              PrimExprAttr::getInt(dim.getContext(), count));
}

LogicalResult RepeatOp::inferReturnTypes(MLIRContext *context,
                                         OptionalLoc location, Adaptor adaptor,
                                         InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  int64_t repeats = adaptor.getRepeats();
  if (repeats < 0)
    return inferError(location, "expected repeats of 0 or more, but got ",
                      repeats);
  std::optional<int64_t> axis = adaptor.getAxis();
  if (!axis) {
    PrimExprAttr size = data.hasShape()
                            ? PrimExprAttr::getProduct(context, data.getDims())
                            : PrimExprAttr();
    results.push_back(size && !size.isTooLarge()
                          ? withDims(data, times(size, repeats))
                          : withRank(data, 1));
    return success();
  }
  if (!data.hasRank()) {
    results.push_back(data);
    return success();
  }
  FailureOr<int64_t> place = normalizeAxis(location, *axis, data.getNdim());
  if (failed(place))
    return failure();
  if (!data.hasShape()) {
    results.push_back(data);
    return success();
  }
  Dims dims(data.getDims());
  dims[*place] = times(dims[*place], repeats);
  results.push_back(withDims(data, dims));
  return success();
}

LogicalResult TileOp::inferReturnTypes(MLIRContext *context,
                                       OptionalLoc location, Adaptor adaptor,
                                       InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  ArrayRef<int64_t> repeats = adaptor.getRepeats();
  for (int64_t count : repeats)
    if (count < 0)
      return inferError(location, "expected repeats of 0 or more, but got ",
                        count);
  if (!data.hasRank()) {
    results.push_back(data);
    return success();
  }
  int64_t ndim = std::max<int64_t>(data.getNdim(), repeats.size());
  if (!data.hasShape()) {
    results.push_back(withRank(data, ndim));
    return success();
  }
  Dims dims(ndim - data.getNdim(), PrimExprAttr::getInt(context, 1));
  llvm::append_range(dims, data.getDims());
  for (auto [dim, count] :
       llvm::zip(MutableArrayRef(dims).take_back(repeats.size()), repeats))
    dim = times(dim, count);
  results.push_back(withDims(data, dims));
  return success();
}

LogicalResult StackOp::inferReturnTypes(MLIRContext *context,
                                        OptionalLoc location, Adaptor adaptor,
                                        InferredTypes &results) {
  if (adaptor.getTensors().empty())
    return inferError(location, "expected at least one tensor");
  SmallVector<TensorStructInfoType> tensors =
      llvm::map_to_vector(adaptor.getTensors(), tensorType);
  TensorStructInfoType best = tensors.front();
  Type dtype = best.getDtype();
  for (TensorStructInfoType next : tensors) {
    FailureOr<Type> common = commonDType(location, tensors.front(), next);
    if (failed(common))
      return failure();
    dtype = dtype ? *common : Type();
    bool differ =
        best.hasRank() && next.hasRank() && best.getNdim() != next.getNdim();
    if (!differ && best.hasShape() && next.hasShape())
      differ = DimensionProver(best.getDims(), next.getDims())
                   .proveEqual(best.getDims(), next.getDims()) == Ternary::No;
    if (differ)
      return inferError(location,
                        "expected tensors of the same shape, but got ", best,
                        " and ", next);
    if (!best.hasShape() && next.hasRank())
      best = next;
  }
  FailureOr<TensorStructInfoType> result =
      onCommonVDevice(location, withDType(best, dtype), tensors);
  if (failed(result))
    return failure();
  if (!best.hasRank()) {
    results.push_back(*result);
    return success();
  }
  FailureOr<int64_t> axis =
      normalizeAxis(location, adaptor.getAxis(), best.getNdim() + 1);
  if (failed(axis))
    return failure();
  if (!best.hasShape()) {
    results.push_back(withRank(*result, best.getNdim() + 1));
    return success();
  }
  Dims dims(best.getDims());
  dims.insert(dims.begin() + *axis,
              PrimExprAttr::getInt(context, tensors.size()));
  results.push_back(withDims(*result, dims));
  return success();
}

LogicalResult MeshgridOp::inferReturnTypes(MLIRContext *context,
                                           OptionalLoc location,
                                           Adaptor adaptor,
                                           InferredTypes &results) {
  if (adaptor.getTensors().empty())
    return inferError(location, "expected at least one tensor");
  StringRef indexing = adaptor.getIndexing();
  if (indexing != "ij" && indexing != "xy")
    return inferError(location, "expected indexing of ij or xy, but got ",
                      indexing);
  SmallVector<TensorStructInfoType> tensors =
      llvm::map_to_vector(adaptor.getTensors(), tensorType);
  Type dtype = tensors.front().getDtype();
  Dims dims;
  for (TensorStructInfoType tensor : tensors) {
    FailureOr<Type> common = commonDType(location, tensors.front(), tensor);
    if (failed(common))
      return failure();
    dtype = dtype ? *common : Type();
    if (tensor.hasRank() && tensor.getNdim() > 1)
      return inferError(location, "expected tensors of rank 0 or 1, but got ",
                        tensor);
    if (tensor.hasShape())
      dims.push_back(tensor.getNdim() == 0 ? PrimExprAttr::getInt(context, 1)
                                           : tensor.getDims().front());
  }
  FailureOr<TensorStructInfoType> grid =
      onCommonVDevice(location, withDType(tensors.front(), dtype), tensors);
  if (failed(grid))
    return failure();
  if (indexing == "xy" && dims.size() >= 2)
    std::swap(dims[0], dims[1]);
  Type field = dims.size() == tensors.size() ? withDims(*grid, dims)
                                             : withRank(*grid, tensors.size());
  results.push_back(TupleStructInfoType::get(
      context, SmallVector<Type>(tensors.size(), field)));
  return success();
}

LogicalResult OneHotOp::inferReturnTypes(MLIRContext *context,
                                         OptionalLoc location, Adaptor adaptor,
                                         InferredTypes &results) {
  TensorStructInfoType indices = tensorType(adaptor.getIndices());
  int64_t depth = adaptor.getDepth();
  if (failed(checkDType(location, indices, "indices", DTypeClass::Integer)))
    return failure();
  if (!isPositive(depth))
    return inferError(location, "expected a depth of 1 or more, but got ",
                      depth);
  auto on = dyn_cast<PrimStructInfoType>(adaptor.getOnValue().getType());
  auto off = dyn_cast<PrimStructInfoType>(adaptor.getOffValue().getType());
  if (on && off && on.getDtype() != off.getDtype())
    return inferError(
        location,
        "expected on_value and off_value of the same data type, but got ",
        on.getDtype(), " and ", off.getDtype());
  TensorStructInfoType result = withDType(indices, on ? on.getDtype() : Type());
  if (!indices.hasRank()) {
    results.push_back(result);
    return success();
  }
  FailureOr<int64_t> axis =
      normalizeAxis(location, adaptor.getAxis(), indices.getNdim() + 1);
  if (failed(axis))
    return failure();
  if (!indices.hasShape()) {
    results.push_back(withRank(result, indices.getNdim() + 1));
    return success();
  }
  Dims dims(indices.getDims());
  dims.insert(dims.begin() + *axis, PrimExprAttr::getInt(context, depth));
  results.push_back(withDims(result, dims));
  return success();
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

/// Checks the requirements that gather_elements and scatter_elements share.
static LogicalResult checkElementIndices(OptionalLoc location,
                                         TensorStructInfoType data,
                                         TensorStructInfoType indices,
                                         int64_t axis) {
  if (failed(checkDType(location, indices, "indices", DTypeClass::Integer)))
    return failure();
  if (data.hasRank() && failed(normalizeAxis(location, axis, data.getNdim())))
    return failure();
  if (data.hasRank() && indices.hasRank() &&
      data.getNdim() != indices.getNdim())
    return inferError(location, "expected indices of rank ", data.getNdim(),
                      ", as data has, but got ", indices);
  if (!data.hasShape() || !indices.hasShape())
    return success();
  int64_t place = *normalizeAxis(location, axis, data.getNdim());
  DimensionProver prover(data.getDims(), indices.getDims());
  for (auto [index, dims] :
       llvm::enumerate(llvm::zip(data.getDims(), indices.getDims()))) {
    auto [dim, count] = dims;
    if (static_cast<int64_t>(index) != place &&
        prover.getRange(PrimExprAttr::getSub(dim, count)).upper.value_or(0) < 0)
      return inferError(location, "expected indices of dimension ", index,
                        " up to ", dim.str(), ", but got ", count.str());
  }
  return success();
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *,
                                                 OptionalLoc location,
                                                 Adaptor adaptor,
                                                 InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType indices = tensorType(adaptor.getIndices());
  if (failed(checkElementIndices(location, data, indices, adaptor.getAxis())))
    return failure();
  TensorStructInfoType like =
      indices.hasRank() ? indices : withoutRank(indices);
  if (!indices.hasRank() && data.hasRank())
    like = withRank(indices, data.getNdim());
  FailureOr<TensorStructInfoType> result = onCommonVDevice(
      location, withDType(like, data.getDtype()), {data, indices});
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

/// The dimensions of indices that are broadcast with each other; null where
/// they are not known.
static FailureOr<ShapeExprAttr>
broadcastIndices(OptionalLoc location, ArrayRef<TensorStructInfoType> indices,
                 MLIRContext *context) {
  auto dims = ShapeExprAttr::get(context, {});
  for (TensorStructInfoType index : indices) {
    if (failed(checkDType(location, index, "indices", DTypeClass::Integer)))
      return failure();
    if (!dims || !index.hasShape()) {
      dims = {};
      continue;
    }
    FailureOr<ShapeExprAttr> common =
        broadcastDims(location, dims.getDims(), index.getDims(), context);
    if (failed(common))
      return failure();
    dims = *common;
  }
  return dims;
}

LogicalResult IndexTensorOp::inferReturnTypes(MLIRContext *context,
                                              OptionalLoc location,
                                              Adaptor adaptor,
                                              InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  SmallVector<TensorStructInfoType> indices =
      llvm::map_to_vector(adaptor.getIndices(), tensorType);
  int64_t count = static_cast<int64_t>(indices.size());
  if (count == 0)
    return inferError(location, "expected at least one tensor of indices");
  if (data.hasRank() && count > data.getNdim())
    return inferError(location, "expected at most ", data.getNdim(),
                      " tensors of indices, but got ", count);
  FailureOr<ShapeExprAttr> places =
      broadcastIndices(location, indices, context);
  SmallVector<TensorStructInfoType> all(indices);
  all.push_back(data);
  FailureOr<TensorStructInfoType> result =
      onCommonVDevice(location, withoutRank(data), all);
  if (failed(places) || failed(result))
    return failure();
  int64_t ndim = 0;
  for (TensorStructInfoType index : indices)
    ndim = index.hasRank() && ndim >= 0 ? std::max(ndim, index.getNdim()) : -1;
  if (*places && data.hasShape()) {
    Dims dims((*places).getDims());
    llvm::append_range(dims, data.getDims().drop_front(count));
    results.push_back(withDims(*result, dims));
  } else if (ndim >= 0 && data.hasRank()) {
    results.push_back(withRank(*result, ndim + data.getNdim() - count));
  } else {
    results.push_back(*result);
  }
  return success();
}

/// The number of indices that a place has: the last dimension of `indices`. An
/// error where there are more than `count`; none where it is not known.
static FailureOr<std::optional<int64_t>>
placeLength(OptionalLoc location, TensorStructInfoType indices, int64_t count) {
  if (indices.getNdim() == 0)
    return inferError(location, "expected indices of rank 1 or more, but got ",
                      indices);
  if (!indices.hasShape())
    return std::optional<int64_t>();
  std::optional<int64_t> length = indices.getDims().back().getConstant();
  if (length && *length > count)
    return inferError(location, "expected places of up to ", count,
                      " indices, but got ", *length);
  return length;
}

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                           Adaptor adaptor,
                                           InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType indices = tensorType(adaptor.getIndices());
  if (failed(checkDType(location, indices, "indices", DTypeClass::Integer)))
    return failure();
  FailureOr<TensorStructInfoType> unknown =
      onCommonVDevice(location, withoutRank(data), {data, indices});
  if (failed(unknown))
    return failure();
  if (!data.hasRank() || !indices.hasRank()) {
    results.push_back(*unknown);
    return success();
  }
  if (indices.getNdim() == 0)
    return inferError(location, "expected indices of rank 1 or more, but got ",
                      indices);
  int64_t batch = adaptor.getBatchDims();
  if (batch < 0 || batch > data.getNdim() || batch >= indices.getNdim())
    return inferError(location, "expected batch_dims from 0 to ",
                      std::min(data.getNdim(), indices.getNdim() - 1),
                      ", but got ", batch);
  FailureOr<std::optional<int64_t>> length =
      placeLength(location, indices, data.getNdim() - batch);
  if (failed(length))
    return failure();
  if (data.hasShape() && indices.hasShape()) {
    DimensionProver prover(data.getDims(), indices.getDims());
    for (int64_t i = 0; i < batch; ++i)
      if (prover.proveEqual(data.getDims()[i], indices.getDims()[i]) ==
          Ternary::No)
        return inferError(location, "expected indices with batch dimension ",
                          data.getDims()[i].str(), ", but got ",
                          indices.getDims()[i].str());
  }
  if (!*length) {
    results.push_back(*unknown);
    return success();
  }
  if (!data.hasShape()) {
    results.push_back(withRank(
        *unknown, indices.getNdim() - 1 + data.getNdim() - batch - **length));
    return success();
  }
  Dims dims(indices.getDims().drop_back());
  llvm::append_range(dims, data.getDims().drop_front(batch + **length));
  results.push_back(withDims(*unknown, dims));
  return success();
}

static LogicalResult checkReduction(OptionalLoc location, StringRef reduction,
                                    ArrayRef<StringRef> known,
                                    TensorStructInfoType data) {
  if (reduction == "update")
    return success();
  if (llvm::is_contained(known, reduction))
    return checkDType(location, data, "data", DTypeClass::Numeric);
  return inferError(location, "expected reduction '", llvm::join(known, "', '"),
                    "', but got '", reduction, "'");
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *,
                                                  OptionalLoc location,
                                                  Adaptor adaptor,
                                                  InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType indices = tensorType(adaptor.getIndices());
  TensorStructInfoType updates = tensorType(adaptor.getUpdates());
  if (failed(checkReduction(location, adaptor.getReduction(),
                            {"update", "add", "mul", "min", "max", "mean"},
                            data)) ||
      failed(checkElementIndices(location, data, indices, adaptor.getAxis())) ||
      failed(commonDType(location, data, updates)))
    return failure();
  bool differ = indices.hasRank() && updates.hasRank() &&
                indices.getNdim() != updates.getNdim();
  if (!differ && indices.hasShape() && updates.hasShape())
    differ =
        DimensionProver(indices.getDims(), updates.getDims())
            .proveEqual(indices.getDims(), updates.getDims()) == Ternary::No;
  if (differ)
    return inferError(location, "expected updates of the shape of indices, ",
                      indices, ", but got ", updates);
  FailureOr<TensorStructInfoType> result =
      onCommonVDevice(location, data, {data, indices, updates});
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

LogicalResult ScatterNDOp::inferReturnTypes(MLIRContext *, OptionalLoc location,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  TensorStructInfoType data = tensorType(adaptor.getData());
  TensorStructInfoType indices = tensorType(adaptor.getIndices());
  TensorStructInfoType updates = tensorType(adaptor.getUpdates());
  if (failed(checkReduction(location, adaptor.getReduction(),
                            {"update", "add", "mul", "min", "max"}, data)) ||
      failed(checkDType(location, indices, "indices", DTypeClass::Integer)) ||
      failed(commonDType(location, data, updates)))
    return failure();
  FailureOr<TensorStructInfoType> result =
      onCommonVDevice(location, data, {data, indices, updates});
  if (failed(result))
    return failure();
  results.push_back(*result);
  if (!data.hasRank() || !indices.hasRank())
    return success();
  FailureOr<std::optional<int64_t>> length =
      placeLength(location, indices, data.getNdim());
  if (failed(length))
    return failure();
  if (!*length || !updates.hasRank())
    return success();
  int64_t ndim = indices.getNdim() - 1 + data.getNdim() - **length;
  if (updates.getNdim() != ndim)
    return inferError(location, "expected updates of rank ", ndim, ", but got ",
                      updates);
  if (!data.hasShape() || !updates.hasShape())
    return success();
  Dims dims(indices.getDims().drop_back());
  llvm::append_range(dims, data.getDims().drop_front(**length));
  DimensionProver prover(dims, updates.getDims());
  for (auto [wanted, dim] : llvm::zip(dims, updates.getDims()))
    if (prover.proveEqual(wanted, dim) == Ternary::No)
      return inferError(location, "expected updates with dimension ",
                        wanted.str(), ", but got ", dim.str());
  return success();
}

//===----------------------------------------------------------------------===//
// layout_transform
//===----------------------------------------------------------------------===//

namespace {
/// From `low` to `high`, both of which are included.
struct Interval {
  PrimExprAttr low, high;
};

/// The values of an affine expression where each dimension `i` is from 0 to
/// `dims[i]` - 1.
struct IntervalVisitor : AffineExprVisitor<IntervalVisitor, Interval> {
  explicit IntervalVisitor(ArrayRef<PrimExprAttr> dims, MLIRContext *context)
      : dims(dims), prover(dims), context(context) {}

  PrimExprAttr integer(int64_t value) const {
    return PrimExprAttr::getInt(context, value);
  }
  Interval visitConstantExpr(AffineConstantExpr expr) {
    return {integer(expr.getValue()), integer(expr.getValue())};
  }
  Interval visitDimExpr(AffineDimExpr expr) {
    return {integer(0),
            PrimExprAttr::getSub(dims[expr.getPosition()], integer(1))};
  }
  Interval visitSymbolExpr(AffineSymbolExpr) {
    return {integer(0), integer(0)};
  }
  Interval visitAddExpr(AffineBinaryOpExpr expr) {
    Interval lhs = visit(expr.getLHS()), rhs = visit(expr.getRHS());
    return {PrimExprAttr::getAdd(lhs.low, rhs.low),
            PrimExprAttr::getAdd(lhs.high, rhs.high)};
  }
  Interval visitMulExpr(AffineBinaryOpExpr expr) {
    Interval lhs = visit(expr.getLHS());
    int64_t factor = constantOf(expr.getRHS());
    if (factor < 0)
      std::swap(lhs.low, lhs.high);
    return {PrimExprAttr::getMul(lhs.low, integer(factor)),
            PrimExprAttr::getMul(lhs.high, integer(factor))};
  }
  Interval visitFloorDivExpr(AffineBinaryOpExpr expr) {
    Interval lhs = visit(expr.getLHS());
    PrimExprAttr divisor = integer(constantOf(expr.getRHS()));
    return {PrimExprAttr::getFloorDiv(lhs.low, divisor),
            PrimExprAttr::getFloorDiv(lhs.high, divisor)};
  }
  Interval visitCeilDivExpr(AffineBinaryOpExpr expr) {
    Interval lhs = visit(expr.getLHS());
    PrimExprAttr divisor = integer(constantOf(expr.getRHS()));
    PrimExprAttr rest = integer(constantOf(expr.getRHS()) - 1);
    return {
        PrimExprAttr::getFloorDiv(PrimExprAttr::getAdd(lhs.low, rest), divisor),
        PrimExprAttr::getFloorDiv(PrimExprAttr::getAdd(lhs.high, rest),
                                  divisor)};
  }
  Interval visitModExpr(AffineBinaryOpExpr expr) {
    // Blocks are whole, even where there are fewer elements than one has.
    return {integer(0), integer(constantOf(expr.getRHS()) - 1)};
  }

  /// The constant operand; affine expressions that are not symbolic have one.
  static int64_t constantOf(AffineExpr expr) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    return constant ? constant.getValue() : 1;
  }

  ArrayRef<PrimExprAttr> dims;
  DimensionProver prover;
  MLIRContext *context;
};
} // namespace

/// A failure where a map leads several elements of a tensor to one place.
static LogicalResult verifyKeepsElements(OptionalLoc location,
                                         ArrayRef<PrimExprAttr> before,
                                         ArrayRef<PrimExprAttr> after,
                                         AffineMap map) {
  auto fail = [&](const Twine &reason) {
    return inferError(location,
                      "expected index_map to lead each element to a place of "
                      "its own, but ",
                      reason.str());
  };
  for (auto [index, dim] : llvm::enumerate(before))
    if (dim.getConstant().value_or(2) > 1 && !map.isFunctionOfDim(index))
      return fail("it does not depend on dimension " + Twine(index));
  auto have = PrimExprAttr::getProduct(map.getContext(), before).getConstant();
  auto need = PrimExprAttr::getProduct(map.getContext(), after).getConstant();
  if (have && need && *need < *have)
    return fail("there are " + Twine(*have) + " elements and " + Twine(*need) +
                " places");
  return success();
}

LogicalResult LayoutTransformOp::inferReturnTypes(MLIRContext *context,
                                                  OptionalLoc location,
                                                  Adaptor adaptor,
                                                  InferredTypes &results) {
  TensorStructInfoType x = tensorType(adaptor.getX());
  AffineMap map = adaptor.getIndexMap();
  if (map.getNumSymbols() != 0)
    return inferError(location, "expected an index_map without symbols");
  if (std::optional<TypedAttr> pad = adaptor.getPadValue()) {
    if (!isa<IntegerAttr, FloatAttr>(*pad))
      return inferError(location, "expected pad_value to be a number, but got ",
                        *pad);
    if (x.getDtype() && pad->getType() != x.getDtype())
      return inferError(location, "expected pad_value of data type ",
                        x.getDtype(), ", but got ", pad->getType());
  }
  if (x.hasRank() && x.getNdim() != static_cast<int64_t>(map.getNumDims()))
    return inferError(location, "expected x of rank ", map.getNumDims(),
                      ", as index_map has dimensions, but got ", x);
  if (!x.hasShape()) {
    results.push_back(withRank(x, map.getNumResults()));
    return success();
  }
  IntervalVisitor visitor(x.getDims(), context);
  Dims dims;
  for (AffineExpr expr : map.getResults()) {
    Interval interval = visitor.visit(expr);
    if (visitor.prover.getRange(interval.low).lower.value_or(-1) < 0)
      return inferError(location,
                        "expected indices of 0 or more, but index_map "
                        "leads to ",
                        interval.low.str());
    PrimExprAttr dim =
        PrimExprAttr::getAdd(interval.high, PrimExprAttr::getInt(context, 1));
    if (dim.isTooLarge()) {
      results.push_back(withRank(x, map.getNumResults()));
      return success();
    }
    dims.push_back(dim);
  }
  results.push_back(withDims(x, dims));
  return verifyKeepsElements(location, x.getDims(), dims, map);
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// The number of elements of a scale, or a zero point, along `axis` of data.
static PrimExprAttr countBlocks(PrimExprAttr size, int64_t blockSize) {
  MLIRContext *context = size.getContext();
  if (blockSize == 0)
    return size;
  auto number = [&](int64_t value) {
    return PrimExprAttr::getInt(context, value);
  };
  return PrimExprAttr::getFloorDiv(
      PrimExprAttr::getAdd(size, number(blockSize - 1)), number(blockSize));
}

SmallVector<PrimExprAttr>
mlir::relax::getQuantizationDims(TensorStructInfoType data, int64_t ndim,
                                 int64_t axis, int64_t blockSize) {
  if (ndim == 0)
    return {};
  MLIRContext *context = data.getContext();
  if (data.getNdim() == 0)
    return {PrimExprAttr::getInt(context, 1)};
  axis = axis < 0 ? axis + data.getNdim() : axis;
  PrimExprAttr blocks = countBlocks(data.getDims()[axis], blockSize);
  if (blockSize == 0)
    return {blocks};
  SmallVector<PrimExprAttr> dims(data.getDims());
  dims[axis] = blocks;
  return dims;
}

LogicalResult mlir::relax::inferQuantization(OptionalLoc location,
                                             ValueRange operands, int64_t axis,
                                             int64_t blockSize, Type outDtype,
                                             bool quantizes,
                                             InferredTypes &results) {
  TensorStructInfoType data = tensorType(operands[0]);
  TensorStructInfoType scale = tensorType(operands[1]);
  TensorStructInfoType zero = tensorType(operands[2]);
  if (failed(checkIsDType(location, outDtype)) ||
      failed(checkDType(location, data, "data",
                        quantizes ? DTypeClass::Float : DTypeClass::Numeric)) ||
      failed(checkDType(location, scale, "scale", DTypeClass::Float)) ||
      failed(checkDType(location, zero, "zero_point", DTypeClass::Numeric)))
    return failure();
  bool fits = quantizes ? !outDtype.isInteger(1) : isa<FloatType>(outDtype);
  if (!fits)
    return inferError(location, "expected out_dtype to be ",
                      quantizes ? "an integer or float" : "a float",
                      ", but got ", outDtype);
  FailureOr<TensorStructInfoType> result =
      onCommonVDevice(location, withDType(data, outDtype), {data, scale, zero});
  if (failed(result))
    return failure();
  results.push_back(*result);
  if (blockSize < 0)
    return inferError(location, "expected block_size of at least 0, but got ",
                      blockSize);
  std::optional<int64_t> place;
  if (data.hasRank() && data.getNdim() > 0) {
    FailureOr<int64_t> normalized =
        normalizeAxis(location, axis, data.getNdim());
    if (failed(normalized))
      return failure();
    place = *normalized;
  }
  for (auto [type, name] :
       {std::pair(scale, "scale"), std::pair(zero, "zero_point")}) {
    if (!type.hasRank() || type.getNdim() == 0)
      continue;
    if (blockSize == 0 && type.getNdim() > 1)
      return inferError(location, "expected ", StringRef(name),
                        " of rank 0 or 1, but got ", type);
    if (blockSize != 0 && data.hasRank() && type.getNdim() != data.getNdim())
      return inferError(
          location, "expected ", StringRef(name),
          " of rank 0 or, with block_size, that of data, which is ",
          data.getNdim(), ", but got ", type);
    if (!place || !type.hasShape() || !data.hasShape())
      continue;
    SmallVector<PrimExprAttr> wanted =
        getQuantizationDims(data, type.getNdim(), *place, blockSize);
    for (auto [at, size, dim] : llvm::enumerate(type.getDims(), wanted)) {
      int64_t axisOfData = blockSize == 0 ? *place : at;
      bool isBlocked = blockSize != 0 && axisOfData == *place;
      DimensionProver prover(data.getDims(), size);
      if ((isBlocked || prover.proveEqual(size, 1) == Ternary::No) &&
          prover.proveEqual(size, dim) == Ternary::No)
        return inferError(location, "expected ", StringRef(name), " of size ",
                          dim.str(), ", as data has ",
                          StringRef(isBlocked ? "blocks " : ""), "at axis ",
                          axisOfData, ", but got ", size.str());
    }
  }
  return success();
}
