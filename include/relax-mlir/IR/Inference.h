//===- Inference.h - Derivation of StructInfo shared by operators -*- C++
//-*-===//
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

/// The classes of data types that operators ask for.
enum class DTypeClass { Any, Bool, Integer, Float, Numeric };

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
