//===- Inference.h - Shared derivation of StructInfo ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function derives the result of a family of operators (DR11), or reports
// at `location` why there is none. A dimension that cannot be decided makes the
// shape of the result unknown, not an error.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_INFERENCE_H
#define RELAX_MLIR_IR_INFERENCE_H

#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/Diagnostics.h"

namespace mlir::relax {

/// The classes of data types that operators ask for; Integral has Booleans.
enum class DTypeClass { Any, Bool, Integer, Integral, Float, Numeric };

using OptionalLoc = std::optional<Location>;
using InferredTypes = SmallVectorImpl<Type>;

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

LogicalResult inferUnary(OptionalLoc location, Value x, DTypeClass dtypes,
                         InferredTypes &results);
LogicalResult inferBroadcast(OptionalLoc location, ValueRange operands,
                             DTypeClass dtypes, bool isComparison,
                             InferredTypes &results);
LogicalResult inferReduce(OptionalLoc location, Value x,
                          std::optional<ArrayRef<int64_t>> axes, bool keepdims,
                          DTypeClass dtypes, InferredTypes &results);
LogicalResult inferSoftmax(OptionalLoc location, Value x, int64_t axis,
                           InferredTypes &results);
LogicalResult inferFill(OptionalLoc location, Value shape, Type dtype,
                        InferredTypes &results);

LogicalResult inferTest(OptionalLoc location, Value x, InferredTypes &results);
LogicalResult inferHint(Value x, InferredTypes &results);
LogicalResult inferLike(OptionalLoc location, Value x,
                        std::optional<Type> dtype, InferredTypes &results);
LogicalResult inferTriangle(OptionalLoc location, Value x, Value k,
                            InferredTypes &results);
LogicalResult inferArgReduce(OptionalLoc location, Value x,
                             std::optional<int64_t> axis, bool keepdims,
                             InferredTypes &results);
LogicalResult inferScan(OptionalLoc location, Value data,
                        std::optional<int64_t> axis, std::optional<Type> dtype,
                        InferredTypes &results);

/// The dimensions of a scale, or a zero point, of rank `ndim`, for data whose
/// rank and shape are known; any of them but that of blocks may be 1, too.
SmallVector<PrimExprAttr> getQuantizationDims(TensorStructInfoType data,
                                              int64_t ndim, int64_t axis,
                                              int64_t blockSize);
LogicalResult inferQuantization(OptionalLoc location, ValueRange operands,
                                int64_t axis, int64_t blockSize, Type outDtype,
                                bool quantizes, InferredTypes &results);

/// The attributes that convolutions share. The layouts are permutations of "NC"
/// and "OI" followed by `letters`, the spatial dimensions.
struct ConvAttrs {
  StringRef letters;
  ArrayRef<int64_t> strides, padding, dilation;
  int64_t groups;
  StringRef dataLayout, kernelLayout, outLayout;
  std::optional<Type> outDtype;
};
template <typename OpTy> ConvAttrs getConvAttrs(OpTy op, StringRef letters) {
  return {letters,
          op.getStrides(),
          op.getPadding(),
          op.getDilation(),
          static_cast<int64_t>(op.getGroups()),
          op.getDataLayout(),
          op.getKernelLayout(),
          op.getOutLayout().value_or(op.getDataLayout()),
          op.getOutDtype()};
}
LogicalResult inferConv(OptionalLoc location, Value data, Value weight,
                        const ConvAttrs &attrs, InferredTypes &results);

/// The attributes that pooling operators share.
struct PoolAttrs {
  StringRef letters;
  ArrayRef<int64_t> sizes, strides, padding, dilation;
  bool ceilMode, countIncludePad;
  StringRef layout, outLayout;
};
template <typename OpTy> PoolAttrs getPoolAttrs(OpTy op, StringRef letters) {
  return {letters,
          op.getPoolSize(),
          op.getStrides(),
          op.getPadding(),
          op.getDilation(),
          op.getCeilMode(),
          op.getCountIncludePad(),
          op.getLayout(),
          op.getOutLayout().value_or(op.getLayout())};
}
LogicalResult inferPool(OptionalLoc location, Value data,
                        const PoolAttrs &attrs, InferredTypes &results);

struct AdaptivePoolAttrs {
  StringRef letters;
  std::optional<ArrayRef<int64_t>> sizes;
  StringRef layout, outLayout;
};
template <typename OpTy>
AdaptivePoolAttrs getAdaptivePoolAttrs(OpTy op, StringRef letters) {
  return {letters, op.getOutputSize(), op.getLayout(),
          op.getOutLayout().value_or(op.getLayout())};
}
LogicalResult inferAdaptivePool(OptionalLoc location, Value data,
                                const AdaptivePoolAttrs &attrs,
                                InferredTypes &results);

/// DR12: what a call of `callee`, which is no packed function, gives for
/// arguments of these types. Reports a wrong number of arguments, and those
/// that are incompatible; `reportUnproven` is called with each that is possibly
/// compatible and the type expected. `isInScope` is as in `instantiate`.
FailureOr<Type>
deriveClosureCall(FuncStructInfoType callee, TypeRange args,
                  function_ref<InFlightDiagnostic()> emitError,
                  function_ref<void(unsigned, Type)> reportUnproven = {},
                  function_ref<bool(StringRef)> isInScope = {});

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

/// Checks that the data type of `x`, where known, belongs to `dtypes`.
LogicalResult checkDType(OptionalLoc location, TensorStructInfoType x,
                         StringRef name, DTypeClass dtypes);

/// The type of a tensor whose shape is the value `shape`; an error where it has
/// a negative dimension.
FailureOr<TensorStructInfoType> tensorOfShape(OptionalLoc location, Value shape,
                                              Type dtype,
                                              FlatSymbolRefAttr vdevice = {});

/// The common data type of `lhs` and `rhs`: an error where they differ, null
/// where one of them is unknown.
FailureOr<Type> commonDType(OptionalLoc location, TensorStructInfoType lhs,
                            TensorStructInfoType rhs);

/// The virtual device that `tensors` are on: an error where two of them are on
/// different ones, null where none names one.
FailureOr<FlatSymbolRefAttr>
commonVDevice(OptionalLoc location, ArrayRef<TensorStructInfoType> tensors);

/// `axis` with negative numbers counted from the end of `ndim` dimensions.
FailureOr<int64_t> normalizeAxis(OptionalLoc location, int64_t axis,
                                 int64_t ndim);

/// All axes, normalized, distinct, in the order given.
FailureOr<SmallVector<int64_t>>
normalizeAxes(OptionalLoc location, ArrayRef<int64_t> axes, int64_t ndim);

/// The place of each of `letters` in `layout`, which is a permutation of them.
FailureOr<SmallVector<int64_t>> parseLayout(OptionalLoc location,
                                            StringRef layout, StringRef letters,
                                            StringRef name);

/// A tensor like `x` with other dimensions, with another rank, with none known.
TensorStructInfoType withDims(TensorStructInfoType x,
                              ArrayRef<PrimExprAttr> dims);
TensorStructInfoType withRank(TensorStructInfoType x, int64_t ndim);
inline TensorStructInfoType withoutRank(TensorStructInfoType x) {
  return withRank(x, TensorStructInfoType::kUnknownDim);
}
/// The same with another data type.
TensorStructInfoType withDType(TensorStructInfoType x, Type dtype);

/// Reports a `dtype` that is no data type of tensors.
LogicalResult checkIsDType(OptionalLoc location, std::optional<Type> dtype);

/// Reports an `out_dtype` in which nothing is added or multiplied.
LogicalResult checkOutDType(OptionalLoc location, std::optional<Type> dtype);

/// The data type of a scalar; null where the value is none, as types are
/// derived before operands are verified.
Type scalarType(Value value);

/// Reports a scalar that is no integer of 64 bits.
LogicalResult checkInteger(OptionalLoc location, Value value, StringRef name);

/// The value of an integer scalar; null where it is unknown.
PrimExprAttr primValue(Value value);

/// Of strided_slice: where the slice of one dimension begins, and how long it
/// is. Null where they are not known.
struct SliceDim {
  PrimExprAttr begin, stride, length;
};
SliceDim sliceDim(PrimExprAttr dim, PrimExprAttr begin, PrimExprAttr end,
                  PrimExprAttr stride, bool assumeInbound);

/// The result of broadcasting two lists of dimensions. A null list means that
/// some dimension cannot be decided.
FailureOr<ShapeExprAttr> broadcastDims(OptionalLoc location,
                                       ArrayRef<PrimExprAttr> lhs,
                                       ArrayRef<PrimExprAttr> rhs,
                                       MLIRContext *context);

/// Reports at `location` where there is one; failure in any case.
template <typename... Args>
LogicalResult inferError(OptionalLoc location, Args &&...args) {
  return emitOptionalError(location, std::forward<Args>(args)...);
}

/// The type of a tensor value. Types are derived before operands are verified:
/// for a value of another kind it is a tensor of which nothing is known, and
/// the verifier reports the operand.
inline TensorStructInfoType tensorType(Value value) {
  if (auto type = dyn_cast<TensorStructInfoType>(value.getType()))
    return type;
  return TensorStructInfoType::get(value.getContext(),
                                   TensorStructInfoType::kUnknownDim, Type());
}

/// The same for a shape value.
inline ShapeStructInfoType shapeType(Value value) {
  if (auto type = dyn_cast<ShapeStructInfoType>(value.getType()))
    return type;
  return ShapeStructInfoType::get(value.getContext(), ShapeExprAttr(),
                                  TensorStructInfoType::kUnknownDim);
}

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_INFERENCE_H
