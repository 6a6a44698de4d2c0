//===- Sharding.h - Distributed tensors -------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A distributed tensor is cut along axes, for dimensions of a mesh of devices.
// What an operator makes of that follows from its *axis groups*: the axes of
// operands and results that one loop of it runs over. An axis of an operand
// that is in no group is needed as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_SHARDING_H
#define RELAX_MLIR_IR_SHARDING_H

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// The sharding of a type; null for what is no distributed tensor.
ShardingAttr getSharding(Type type);

/// Whether a type is, or has in a tuple or a closure, a distributed tensor.
bool isDistributed(Type type);
bool isDistributed(TypeRange types);

/// The first axis of a placement that a tensor of rank `ndim` does not have.
/// One of unknown rank counts as having none.
std::optional<int64_t> findMissingAxis(PlacementAttr placement, int64_t ndim);

/// `type` without shardings.
Type eraseShardings(Type type);

/// The type of the part that each device has of a distributed tensor: the whole
/// where it is replicated. Any other type stays as it is. Reports dimensions
/// that the mesh does not divide, or that are not known.
FailureOr<Type> getLocalType(Type type,
                             function_ref<InFlightDiagnostic()> emitError);

/// A dimension of `count` parts, one of them; null where it has a rest for
/// sure.
PrimExprAttr getPart(PrimExprAttr dim, int64_t count);

/// An axis of an operand, or of a result.
struct TensorAxis {
  unsigned tensor;
  int64_t axis;
  bool operator==(const TensorAxis &other) const {
    return tensor == other.tensor && axis == other.axis;
  }
};

/// The axes that one loop of an operator runs over.
struct AxisGroup {
  SmallVector<TensorAxis, 3> operands;
  SmallVector<TensorAxis, 1> results;
  /// How parts become the whole, as `relax.allreduce` calls it, where the loop
  /// is one of a reduction: there are no axes of results then.
  StringRef reduction = {};
};

/// An operator whose operands and results are tensors without shardings.
struct ShardableOp {
  StringRef name; // with the dialect
  TypeRange operands, results;
  DictionaryAttr attributes;
};

/// The axis groups of an operator. Reports one that has no rule, and shapes
/// that are not known.
FailureOr<SmallVector<AxisGroup>> getAxisGroups(OptionalLoc location,
                                                const ShardableOp &op);

/// The same for an operation of the program, whose types may have shardings.
FailureOr<SmallVector<AxisGroup>> getAxisGroups(OptionalLoc location,
                                                Operation *op);

/// The inherent attributes of an operation.
DictionaryAttr getOperatorAttributes(Operation *op);

/// The inherent attributes of an operation that is being made: from its
/// properties, where it has any.
template <typename OpTy>
DictionaryAttr getInherentAttrs(MLIRContext *context, DictionaryAttr attributes,
                                OpaqueProperties properties) {
  if constexpr (!std::is_same_v<typename OpTy::Properties, EmptyProperties>)
    if (auto *given = properties.as<typename OpTy::Properties *>())
      return dyn_cast_or_null<DictionaryAttr>(
          OpTy::getPropertiesAsAttr(context, *given));
  return attributes;
}

/// What distributed operands make of an operator.
struct ShardedOp {
  DeviceMeshAttr mesh;
  /// One for each result.
  SmallVector<ShardingAttr> results;
  /// For each dimension of the mesh, the reduction of a contraction along it:
  /// each device has a term of the result, not the result. Empty for none.
  SmallVector<StringRef> reductions;
};

/// Applies the axis groups to operands of which some are distributed; one that
/// is not counts as a replica. Reports operands that do not fit together.
FailureOr<ShardedOp> shardOperator(OptionalLoc location, const ShardableOp &op,
                                   ArrayRef<ShardingAttr> operands,
                                   ArrayRef<AxisGroup> groups);

/// The same for an operator of the program with distributed operands.
FailureOr<ShardedOp> shardOperator(Operation *op);

/// Derives an operator of distributed operands: `inferPlain` derives it without
/// shardings.
LogicalResult inferDistributed(
    MLIRContext *context, OptionalLoc location, StringRef name,
    ValueRange operands, DictionaryAttr attributes,
    function_ref<LogicalResult(ValueRange, InferredTypes &)> inferPlain,
    InferredTypes &results);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_SHARDING_H
