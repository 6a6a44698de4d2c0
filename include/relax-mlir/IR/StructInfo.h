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

#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeRange.h"

namespace mlir::relax {

inline StructInfoTypeInterface asStructInfo(Type type) {
  return cast<StructInfoTypeInterface>(type);
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

/// Whether each value of type `sub` is of type `super` (ST01-ST06).
Ternary isSubtype(Type sub, Type super);

/// Whether isSubtype is Yes for all pairs of two lists of equal length.
bool areSubtypes(TypeRange subs, TypeRange supers);

/// Whether a value of type `actual` may be used where `expected` is (ST10): Yes
/// compatible, Unknown possibly compatible, No incompatible.
Ternary checkCompatibility(Type actual, Type expected);

/// The least upper bound (ST07). Where two types have the same values the first
/// one is the result.
Type unifyStructInfo(Type lhs, Type rhs);

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// One place where a type names a variable.
struct ShapeVarUse {
  StringRef name;
  /// Whether it may be bound here: it stands alone, in no function type.
  bool mayBind;
  /// Whether it stands for a shape rather than for a dimension, of rank `ndim`
  /// (-1 where that is not known).
  bool isShape;
  int64_t ndim;
};

/// Visits the variables of `type` in order, without those that a function type
/// in it binds.
void walkVars(Type type, llvm::function_ref<void(const ShapeVarUse &)> visit);

/// Adds the variables that stand alone in a dimension of `type`, or as the
/// variable of a shape: those that it may bind.
void collectBindingVars(Type type, llvm::StringSet<> &names);

/// Adds all names of variables in `type`, also of those that function types
/// bind.
void collectNames(Type type, llvm::StringSet<> &names);

/// The first variable of `type` for which `isBound` is false.
std::optional<StringRef>
findUnbound(Type type, llvm::function_ref<bool(StringRef)> isBound);

/// The variables that a function type binds for itself: those that its
/// parameters may bind.
llvm::StringSet<> getOwnVars(FuncStructInfoType func);

/// `type` without the dimensions, values and shape variables that use a
/// variable which is not in scope (ST08). Variables that a function type binds
/// are in scope in it.
Type eraseToWellDefined(Type type,
                        llvm::function_ref<bool(StringRef)> isShapeInScope,
                        llvm::function_ref<bool(StringRef)> isDimInScope);
inline Type eraseToWellDefined(Type type,
                               llvm::function_ref<bool(StringRef)> isInScope) {
  return eraseToWellDefined(type, isInScope, isInScope);
}

/// `type` without any dimension, value and shape variable: rank, data type,
/// device and structure stay.
Type eraseDims(Type type);

/// The traditional type (ST11) as StructInfo: eraseDims, also in function
/// types, and no device. Packed functions are one type, as are pure and impure
/// ones.
Type eraseStructInfo(Type type);

/// Replaces variables, all at once. Variables that a function type in `type`
/// binds are renamed where a value would be captured; a variable that `values`
/// holds is one of the scope around, which the function type does not bind
/// again.
Type substitute(Type type, const ShapeVarMap &values);

/// Whether substitution makes a dimension too large to be known.
bool growsTooLarge(Type type, const ShapeVarMap &values);

/// Has `map` replace one variable by another, whatever it stands for.
void renameVar(ShapeVarMap &map, MLIRContext *context, StringRef from,
               StringRef to);

/// Adds to `mapping` what the variables that `formal` may bind are in `actual`
/// (ST09). The first occurrence of a variable counts. For two function types it
/// is what the variables of the first one's parameters are in the second one.
void getShapeVarMapping(Type formal, Type actual, ShapeVarMap &mapping);

/// The same for all pairs of two lists of equal length, such as parameters and
/// arguments. Values come before functions, and of what a function accepts only
/// that counts which is in terms of the scope around it.
void getShapeVarMapping(TypeRange formals, TypeRange actuals,
                        ShapeVarMap &mapping);

/// Returns the same mapping, of the variables `names` only.
ShapeVarMap matchVars(const llvm::StringSet<> &names, TypeRange formals,
                      TypeRange actuals);

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// A function type in terms of one call.
struct CallSignature {
  SmallVector<Type> params;
  /// Whether a dimension of the parameter is too large to be known.
  SmallVector<bool> isOpen;
  Type ret;
};

/// Returns the parameter types and the result type of `callee` for arguments of
/// these types (DR12). A variable of the callee that they do not determine is
/// `?n` in a parameter, other than any variable of the caller, and erased in
/// the result, as is one of the scope around `callee` for which `isInScope` is
/// given and false. `callee` has as many parameters.
CallSignature instantiate(FuncStructInfoType callee, TypeRange arguments,
                          llvm::function_ref<bool(StringRef)> isInScope = {});

/// Derives the result type of a call of a packed function by `default_derive`
/// (DR10): Object, the one type, or a tuple of them.
Type defaultDerive(MLIRContext *context, TypeRange sinfoArgs);

//===----------------------------------------------------------------------===//
// Run time
//===----------------------------------------------------------------------===//

/// Whether a value of `type` is a function or holds one.
bool holdsFunction(Type type);

/// Adds the variables that the function types in `type` use. Those that are in
/// scope stand for what they are there, all others for what a call binds.
void collectFunctionVars(Type type, llvm::StringSet<> &names);

/// A data type as DLPack spells it: "float32", "uint8", "bool",
/// "float8_e4m3fn".
std::string getDataTypeName(Type dtype);

/// `type` as the JSON by which closures are compared at run time (MC06), see
/// relax_runtime.h. `captured` names the variables of the scope around it,
/// `devices` are those that the module lists.
std::string toRuntimeStructInfo(Type type, ArrayRef<StringRef> captured = {},
                                DictionaryAttr devices = {});

/// The bytes that an element takes in memory.
int64_t getElementBytes(Type dtype);

/// The bytes that a compact tensor takes; null where its shape or data type are
/// not known. The product may be beyond the limits of an expression.
PrimExprAttr getByteSize(TensorStructInfoType type);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_STRUCTINFO_H
