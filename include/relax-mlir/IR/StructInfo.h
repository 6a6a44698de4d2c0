//===- StructInfo.h - Reasoning about StructInfo -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The procedures of the specification on structural information, under its
// names. They take any StructInfo type; the cases of one kind are methods of
// StructInfoTypeInterface.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_STRUCTINFO_H
#define RELAX_MLIR_IR_STRUCTINFO_H

#include "relax-mlir/IR/PrimExpr.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/Types.h"

namespace mlir::relax {

/// Whether each value of type `sub` is of type `super` (ST01-ST06).
Ternary isSubtype(Type sub, Type super);

/// Whether isSubtype is Yes for all pairs of two lists of equal length.
bool areSubtypes(TypeRange subs, TypeRange supers);

/// Whether a value of type `actual` may be used where `expected` is (ST10): Yes
/// compatible, Unknown possibly compatible, No incompatible.
Ternary checkCompatibility(Type actual, Type expected);

/// What a call of a packed function gives by `default_derive` (DR10): Object,
/// the one type, or a tuple of them.
Type defaultDerive(MLIRContext *context, TypeRange sinfoArgs);

/// The least upper bound (ST07).
Type unifyStructInfo(Type lhs, Type rhs);

/// `type` without the dimensions that use a variable which is not in scope
/// (ST08).
Type eraseToWellDefined(Type type,
                        llvm::function_ref<bool(StringRef)> isInScope);

/// `type` without any dimension: rank, data type, device and structure stay.
Type eraseDims(Type type);

/// Replaces shape variables.
Type substitute(Type type, const PrimExprMap &values);

/// Adds to `mapping` what the variables of `formal` that stand alone are in
/// `actual` (ST09). The first occurrence of a variable counts.
void getShapeVarMapping(Type formal, Type actual, PrimExprMap &mapping);

/// Adds the variables that stand alone in a dimension of `type`: those that it
/// may bind.
void collectBindingVars(Type type, llvm::StringSet<> &names);

/// The first variable of `type` for which `isBound` is false.
std::optional<StringRef>
findUnbound(Type type, llvm::function_ref<bool(StringRef)> isBound);

/// Whether a value of `type` is a function or holds one.
bool holdsFunction(Type type);

/// Adds the variables that the function types in `type` use. Those that are in
/// scope stand for what they are there, all others for what a call binds.
void collectFunctionVars(Type type, llvm::StringSet<> &names);

/// `type` as the JSON by which closures are compared at run time (MC06), see
/// relax_runtime.h. `captured` names the variables of the scope around it,
/// `devices` are those that the module lists.
std::string toRuntimeStructInfo(Type type, ArrayRef<StringRef> captured = {},
                                DictionaryAttr devices = {});

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_STRUCTINFO_H
