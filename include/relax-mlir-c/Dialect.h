//===- Dialect.h - C interface of the Relax dialect -------------*- C -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types and attributes belong to their context and are never freed. A function
// that takes a context loads the dialect into it first. The `GetChecked`
// functions return null for an invalid type and report why at the location.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_C_DIALECT_H
#define RELAX_MLIR_C_DIALECT_H

#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Relax, relax);

//===----------------------------------------------------------------------===//
// Threads
//
// Contexts with the pool of threads that is shared work in a child of fork(),
// too. A context whose threads are disabled keeps to that.
//===----------------------------------------------------------------------===//

/// Has every context share threads into which the registry loads the dialect.
MLIR_CAPI_EXPORTED void mlirRelaxShareThreads(MlirDialectRegistry registry);

/// Loads the dialect into a context that was made without such a registry,
/// which gets `transform.relax.*`, too. A context that has it stays as it is.
MLIR_CAPI_EXPORTED void
mlirRelaxLoadDialectAndShareThreads(MlirContext context);

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Adds the operations `transform.relax.*` to the transform dialect of every
/// context of the registry.
MLIR_CAPI_EXPORTED void
mlirRelaxRegisterTransformExtension(MlirDialectRegistry registry);

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// An operation that uses a result of one that is to be erased, or what is
/// inside of it; null where it can be erased.
MLIR_CAPI_EXPORTED MlirOperation mlirRelaxFindUserOfErased(MlirOperation op);

//===----------------------------------------------------------------------===//
// Dimension expressions
//===----------------------------------------------------------------------===//

/// The operations of an expression, in the order of mlir::relax::PrimExprKind.
typedef enum MlirRelaxPrimExprKind {
  MlirRelaxPrimExprVar,
  MlirRelaxPrimExprInt,
  MlirRelaxPrimExprAdd,
  MlirRelaxPrimExprMul,
  MlirRelaxPrimExprFloorDiv,
  MlirRelaxPrimExprMod,
  MlirRelaxPrimExprMin,
  MlirRelaxPrimExprMax,
  MlirRelaxPrimExprSelect,
  MlirRelaxPrimExprNot,
  MlirRelaxPrimExprAnd,
  MlirRelaxPrimExprOr,
  MlirRelaxPrimExprEq,
  MlirRelaxPrimExprLt,
  MlirRelaxPrimExprLe
} MlirRelaxPrimExprKind;

/// The answer to a question that may not be decided.
typedef enum MlirRelaxTernary {
  MlirRelaxTernaryNo,
  MlirRelaxTernaryUnknown,
  MlirRelaxTernaryYes
} MlirRelaxTernary;

/// Receives a variable's name, valid during the call only.
typedef void (*MlirRelaxNameCallback)(MlirStringRef name, void *userData);

MLIR_CAPI_EXPORTED bool mlirRelaxAttributeIsAPrimExpr(MlirAttribute attr);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxPrimExprGetTypeID(void);

/// Leaves. The name of a variable must be an identifier of MLIR's syntax.
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprVarGet(MlirContext context,
                                                         MlirStringRef name);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprIntGet(MlirContext context,
                                                         int64_t value);

/// The limits of an expression: its nesting, and the number of nodes of its
/// tree, where parts that are shared count each time.
#define MLIR_RELAX_PRIM_EXPR_MAX_DEPTH 128
#define MLIR_RELAX_PRIM_EXPR_MAX_SIZE 4096

/// Operations, in canonical form. Division rounds towards minus infinity; the
/// divisor must not be the constant 0. They give null where the expression
/// would be beyond the limits.
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprAddGet(MlirAttribute lhs,
                                                         MlirAttribute rhs);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprSubGet(MlirAttribute lhs,
                                                         MlirAttribute rhs);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprMulGet(MlirAttribute lhs,
                                                         MlirAttribute rhs);
MLIR_CAPI_EXPORTED MlirAttribute
mlirRelaxPrimExprFloorDivGet(MlirAttribute lhs, MlirAttribute rhs);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprModGet(MlirAttribute lhs,
                                                         MlirAttribute rhs);
/// The number of operands of the kinds from Min on; 0 for the others.
MLIR_CAPI_EXPORTED intptr_t
mlirRelaxPrimExprGetArity(MlirRelaxPrimExprKind kind);
/// The kinds from Min on. Null for another kind or number of operands.
MLIR_CAPI_EXPORTED MlirAttribute
mlirRelaxPrimExprCallGet(MlirRelaxPrimExprKind kind, intptr_t numOperands,
                         MlirAttribute const *operands);

MLIR_CAPI_EXPORTED MlirRelaxPrimExprKind
mlirRelaxPrimExprGetKind(MlirAttribute expr);
/// The value of a constant; 0 otherwise.
MLIR_CAPI_EXPORTED int64_t mlirRelaxPrimExprGetInt(MlirAttribute expr);
/// The name of a variable; empty otherwise.
MLIR_CAPI_EXPORTED MlirStringRef mlirRelaxPrimExprGetName(MlirAttribute expr);
MLIR_CAPI_EXPORTED intptr_t mlirRelaxPrimExprGetNumOperands(MlirAttribute expr);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprGetOperand(MlirAttribute expr,
                                                             intptr_t index);

/// The expression as text, "n * 4 + 1".
MLIR_CAPI_EXPORTED void mlirRelaxPrimExprPrint(MlirAttribute expr,
                                               MlirStringCallback callback,
                                               void *userData);
/// Calls back for each variable once, sorted by name.
MLIR_CAPI_EXPORTED void
mlirRelaxPrimExprCollectVars(MlirAttribute expr, MlirRelaxNameCallback callback,
                             void *userData);
/// Whether two expressions are equal for all values of their variables, by
/// their normal form alone.
MLIR_CAPI_EXPORTED MlirRelaxTernary
mlirRelaxPrimExprProveEqual(MlirAttribute lhs, MlirAttribute rhs);
/// Stores the value of `expr`; false where a variable is missing, a divisor is
/// zero or 64 bits do not suffice.
MLIR_CAPI_EXPORTED bool mlirRelaxPrimExprEvaluate(MlirAttribute expr,
                                                  intptr_t numVars,
                                                  MlirStringRef const *names,
                                                  int64_t const *values,
                                                  int64_t *result);
/// Replaces variables by expressions, all at once. Null where the result would
/// be beyond the limits.
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimExprSubstitute(
    MlirAttribute expr, intptr_t numVars, MlirStringRef const *names,
    MlirAttribute const *values);

/// Known facts about shape variables. The caller destroys the object. The
/// expressions must outlive it, which they do as long as their context.
typedef struct MlirRelaxPrimExprFacts {
  void *ptr;
} MlirRelaxPrimExprFacts;

MLIR_CAPI_EXPORTED MlirRelaxPrimExprFacts mlirRelaxPrimExprFactsCreate(void);
MLIR_CAPI_EXPORTED void
mlirRelaxPrimExprFactsDestroy(MlirRelaxPrimExprFacts facts);
/// The variable is from `*lower` to `*upper`; null for an end that is not
/// known.
MLIR_CAPI_EXPORTED void
mlirRelaxPrimExprFactsAddBounds(MlirRelaxPrimExprFacts facts,
                                MlirStringRef name, int64_t const *lower,
                                int64_t const *upper);
/// lhs = rhs
MLIR_CAPI_EXPORTED void
mlirRelaxPrimExprFactsAddEqual(MlirRelaxPrimExprFacts facts, MlirAttribute lhs,
                               MlirAttribute rhs);
/// lhs <= rhs
MLIR_CAPI_EXPORTED void
mlirRelaxPrimExprFactsAddLessEqual(MlirRelaxPrimExprFacts facts,
                                   MlirAttribute lhs, MlirAttribute rhs);

/// Whether lhs = rhs, or lhs <= rhs, for all values that the facts allow, for
/// none, or neither is proven. Values for which an expression is not defined do
/// not count.
MLIR_CAPI_EXPORTED MlirRelaxTernary mlirRelaxPrimExprProveEqualUnder(
    MlirAttribute lhs, MlirAttribute rhs, MlirRelaxPrimExprFacts facts);
MLIR_CAPI_EXPORTED MlirRelaxTernary mlirRelaxPrimExprProveLessEqual(
    MlirAttribute lhs, MlirAttribute rhs, MlirRelaxPrimExprFacts facts);
/// A simpler expression that has the same value where the facts hold.
MLIR_CAPI_EXPORTED MlirAttribute
mlirRelaxPrimExprSimplify(MlirAttribute expr, MlirRelaxPrimExprFacts facts);

/// Returns a copy of the facts about shape variables that hold at an operation;
/// the caller destroys it.
MLIR_CAPI_EXPORTED MlirRelaxPrimExprFacts
mlirRelaxCollectFacts(MlirOperation op);
/// Calls back for each variable with bounds, where an end that is not known is
/// null, in order of their names; then for each relation, lhs = rhs or
/// lhs <= rhs.
MLIR_CAPI_EXPORTED void mlirRelaxPrimExprFactsVisit(
    MlirRelaxPrimExprFacts facts,
    void (*visitBounds)(MlirStringRef name, int64_t const *lower,
                        int64_t const *upper, void *userData),
    void (*visitRelation)(MlirAttribute lhs, MlirAttribute rhs, bool isEquality,
                          void *userData),
    void *userData);

MLIR_CAPI_EXPORTED bool mlirRelaxAttributeIsAShapeExpr(MlirAttribute attr);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxShapeExprGetTypeID(void);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxShapeExprGet(
    MlirContext context, intptr_t numDims, MlirAttribute const *dims);
MLIR_CAPI_EXPORTED intptr_t mlirRelaxShapeExprGetNumDims(MlirAttribute shape);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxShapeExprGetDim(MlirAttribute shape,
                                                          intptr_t index);

//===----------------------------------------------------------------------===//
// StructInfo
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool mlirRelaxTypeIsAStructInfo(MlirType type);

MLIR_CAPI_EXPORTED bool mlirRelaxTypeIsAObjectStructInfo(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxObjectStructInfoGetTypeID(void);
MLIR_CAPI_EXPORTED MlirType mlirRelaxObjectStructInfoGet(MlirContext context);

/// `shape`, `dtype`, `vdevice` and `shapeVar` may be null (or empty); `ndim` is
/// -1 where the rank is unknown.
MLIR_CAPI_EXPORTED bool mlirRelaxTypeIsATensorStructInfo(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxTensorStructInfoGetTypeID(void);
MLIR_CAPI_EXPORTED MlirType mlirRelaxTensorStructInfoGetChecked(
    MlirLocation location, MlirAttribute shape, int64_t ndim, MlirType dtype,
    MlirStringRef vdevice, MlirStringRef shapeVar);
MLIR_CAPI_EXPORTED MlirAttribute
mlirRelaxTensorStructInfoGetShape(MlirType type);
MLIR_CAPI_EXPORTED int64_t mlirRelaxTensorStructInfoGetNdim(MlirType type);
MLIR_CAPI_EXPORTED MlirType mlirRelaxTensorStructInfoGetDtype(MlirType type);
MLIR_CAPI_EXPORTED MlirStringRef
mlirRelaxTensorStructInfoGetVDevice(MlirType type);
/// The name of the variable that stands for the shape; empty for none.
MLIR_CAPI_EXPORTED MlirStringRef
mlirRelaxTensorStructInfoGetShapeVar(MlirType type);
/// How a distributed tensor lies on a mesh, #relax.sharding; null for a tensor
/// that is not distributed.
MLIR_CAPI_EXPORTED MlirAttribute
mlirRelaxTensorStructInfoGetSharding(MlirType type);
/// The tensor with another sharding, null for none; null after an error.
MLIR_CAPI_EXPORTED MlirType mlirRelaxTensorStructInfoWithShardingChecked(
    MlirLocation location, MlirType type, MlirAttribute sharding);
MLIR_CAPI_EXPORTED bool mlirRelaxAttributeIsASharding(MlirAttribute attr);

/// `values` may be null, `var` empty.
MLIR_CAPI_EXPORTED bool mlirRelaxTypeIsAShapeStructInfo(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxShapeStructInfoGetTypeID(void);
MLIR_CAPI_EXPORTED MlirType
mlirRelaxShapeStructInfoGetChecked(MlirLocation location, MlirAttribute values,
                                   int64_t ndim, MlirStringRef var);
MLIR_CAPI_EXPORTED MlirAttribute
mlirRelaxShapeStructInfoGetValues(MlirType type);
MLIR_CAPI_EXPORTED int64_t mlirRelaxShapeStructInfoGetNdim(MlirType type);
/// The name of the variable that the shape binds or is; empty for none.
MLIR_CAPI_EXPORTED MlirStringRef mlirRelaxShapeStructInfoGetVar(MlirType type);

/// `value` may be null.
MLIR_CAPI_EXPORTED bool mlirRelaxTypeIsAPrimStructInfo(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxPrimStructInfoGetTypeID(void);
MLIR_CAPI_EXPORTED MlirType mlirRelaxPrimStructInfoGetChecked(
    MlirLocation location, MlirType dtype, MlirAttribute value);
MLIR_CAPI_EXPORTED MlirType mlirRelaxPrimStructInfoGetDtype(MlirType type);
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxPrimStructInfoGetValue(MlirType type);

MLIR_CAPI_EXPORTED bool mlirRelaxTypeIsATupleStructInfo(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxTupleStructInfoGetTypeID(void);
MLIR_CAPI_EXPORTED MlirType mlirRelaxTupleStructInfoGetChecked(
    MlirLocation location, intptr_t numFields, MlirType const *fields);
MLIR_CAPI_EXPORTED intptr_t mlirRelaxTupleStructInfoGetNumFields(MlirType type);
MLIR_CAPI_EXPORTED MlirType mlirRelaxTupleStructInfoGetField(MlirType type,
                                                             intptr_t index);

/// A closure, or a packed function with the name of its derivation.
MLIR_CAPI_EXPORTED bool mlirRelaxTypeIsAFuncStructInfo(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID mlirRelaxFuncStructInfoGetTypeID(void);
MLIR_CAPI_EXPORTED MlirType mlirRelaxFuncStructInfoGetChecked(
    MlirLocation location, intptr_t numParams, MlirType const *params,
    MlirType result, bool isPure);
MLIR_CAPI_EXPORTED MlirType
mlirRelaxFuncStructInfoPackedGet(MlirContext context, MlirStringRef derive);
MLIR_CAPI_EXPORTED intptr_t mlirRelaxFuncStructInfoGetNumParams(MlirType type);
MLIR_CAPI_EXPORTED MlirType mlirRelaxFuncStructInfoGetParam(MlirType type,
                                                            intptr_t index);
MLIR_CAPI_EXPORTED MlirType mlirRelaxFuncStructInfoGetResult(MlirType type);
MLIR_CAPI_EXPORTED bool mlirRelaxFuncStructInfoIsPure(MlirType type);
/// The name of the derivation; empty for a closure.
MLIR_CAPI_EXPORTED MlirStringRef
mlirRelaxFuncStructInfoGetDerive(MlirType type);

//===----------------------------------------------------------------------===//
// Reasoning about StructInfo. All types here must be StructInfo.
//===----------------------------------------------------------------------===//

/// Whether each value of type `sub` is of type `super`.
MLIR_CAPI_EXPORTED MlirRelaxTernary mlirRelaxIsSubtype(MlirType sub,
                                                       MlirType super);
/// Whether a value of type `actual` may be used where `expected` is.
MLIR_CAPI_EXPORTED MlirRelaxTernary
mlirRelaxCheckCompatibility(MlirType actual, MlirType expected);
/// The least upper bound.
MLIR_CAPI_EXPORTED MlirType mlirRelaxUnifyStructInfo(MlirType lhs,
                                                     MlirType rhs);
/// The same questions where the facts hold.
MLIR_CAPI_EXPORTED MlirRelaxTernary mlirRelaxIsSubtypeUnder(
    MlirType sub, MlirType super, MlirRelaxPrimExprFacts facts);
MLIR_CAPI_EXPORTED MlirRelaxTernary mlirRelaxCheckCompatibilityUnder(
    MlirType actual, MlirType expected, MlirRelaxPrimExprFacts facts);
MLIR_CAPI_EXPORTED MlirType mlirRelaxUnifyStructInfoUnder(
    MlirType lhs, MlirType rhs, MlirRelaxPrimExprFacts facts);
/// `type` without any dimension, value and shape variable.
MLIR_CAPI_EXPORTED MlirType mlirRelaxEraseDims(MlirType type);
/// The traditional type as StructInfo: no dimension, value, shape variable,
/// device, purity and name of a derive function.
MLIR_CAPI_EXPORTED MlirType mlirRelaxEraseStructInfo(MlirType type);
/// `type` without what uses a variable that is not in scope: other ones of
/// shapes than `shapeVars`, or of dimensions than `dimVars`.
MLIR_CAPI_EXPORTED MlirType mlirRelaxEraseToWellDefined(
    MlirType type, intptr_t numShapeVars, MlirStringRef const *shapeVars,
    intptr_t numDimVars, MlirStringRef const *dimVars);
/// Calls back for each variable that `type` may bind, sorted by name.
MLIR_CAPI_EXPORTED void
mlirRelaxCollectBindingVars(MlirType type, MlirRelaxNameCallback callback,
                            void *userData);
/// Replaces variables, all at once: by a PrimExpr for one of a dimension, and
/// by a ShapeExpr or another variable (a PrimExpr or its name as a string
/// attribute) for one of a shape. Variables that function types bind are
/// renamed where it is needed.
MLIR_CAPI_EXPORTED MlirType mlirRelaxSubstitute(MlirType type, intptr_t numVars,
                                                MlirStringRef const *names,
                                                MlirAttribute const *values);
/// Calls back, sorted by name, with what the variables that `formal` may bind
/// are in `actual`, as in mlirRelaxSubstitute.
typedef void (*MlirRelaxBindingCallback)(MlirStringRef name,
                                         MlirAttribute value, void *userData);
MLIR_CAPI_EXPORTED void
mlirRelaxGetShapeVarMapping(MlirType formal, MlirType actual,
                            MlirRelaxBindingCallback callback, void *userData);
/// Called with an argument that is possibly of the type expected.
typedef void (*MlirRelaxUnprovenCallback)(intptr_t index, MlirType expected,
                                          void *userData);
/// The result of a call of `callee`, a FuncStructInfo that is no packed
/// function, with arguments of these types. Dimensions that cannot be expressed
/// in terms of the caller are erased. Null after a call of `onError`, which
/// says what is wrong: the number of arguments, or one that is incompatible.
MLIR_CAPI_EXPORTED MlirType mlirRelaxDeriveCallResult(
    MlirType callee, intptr_t numArguments, MlirType const *arguments,
    MlirRelaxNameCallback onError, MlirRelaxUnprovenCallback onUnproven,
    void *userData);
/// The type of a function of the module, a relax.func or a kernel, as a value;
/// null for any other operation.
MLIR_CAPI_EXPORTED MlirType mlirRelaxGetFuncStructInfo(MlirOperation function);
/// Calls back with `type` as the JSON by which closures are compared at run
/// time. `devices` is what the module lists as `relax.global_info`, or null.
MLIR_CAPI_EXPORTED void
mlirRelaxGetRuntimeStructInfo(MlirType type, MlirAttribute devices,
                              MlirStringCallback callback, void *userData);

//===----------------------------------------------------------------------===//
// Derive functions
//===----------------------------------------------------------------------===//

/// Derives the result of a call of a packed function from the types of its
/// arguments and from its `sinfo_args`. Null after an error that was emitted at
/// `location`.
typedef MlirType (*MlirRelaxDeriveFunc)(
    MlirLocation location, intptr_t numArguments, MlirType const *arguments,
    intptr_t numStructInfoArgs, MlirType const *structInfoArgs, void *userData);

/// Makes a derive function known as `name` for the whole process. Takes
/// `userData`, which `deleteUserData` (may be null) gets when the function is
/// replaced. False, without taking it, where there is one of that name and
/// `override` is not set.
MLIR_CAPI_EXPORTED bool
mlirRelaxRegisterDeriveFunc(MlirStringRef name, MlirRelaxDeriveFunc derive,
                            void *userData, void (*deleteUserData)(void *),
                            bool override);

/// Calls back with the names of all derive functions, sorted.
MLIR_CAPI_EXPORTED void
mlirRelaxGetDeriveFuncNames(MlirRelaxNameCallback callback, void *userData);

/// Returns the type that the derive function `name` derives. Null after an
/// error that was emitted at `location`.
MLIR_CAPI_EXPORTED MlirType mlirRelaxDeriveByName(
    MlirStringRef name, MlirLocation location, intptr_t numArguments,
    MlirType const *arguments, intptr_t numStructInfoArgs,
    MlirType const *structInfoArgs);

//===----------------------------------------------------------------------===//
// Well-formedness
//===----------------------------------------------------------------------===//

/// Parses a module and does not verify it. Null where the text is not one.
MLIR_CAPI_EXPORTED MlirModule
mlirRelaxModuleParseUnverified(MlirContext context, MlirStringRef text);
/// The line of a text where more than `limit` brackets are open, which the
/// parser of MLIR cannot take; 0 where there is no such one.
MLIR_CAPI_EXPORTED intptr_t mlirRelaxFindDeepNesting(MlirStringRef text,
                                                     unsigned limit);
/// Reports every violation of the criteria of the specification as an error,
/// with the id of the rule at its end. The module need not be verified.
MLIR_CAPI_EXPORTED bool mlirRelaxCheckWellFormed(MlirModule module);
/// Whether an operation has no visible side effect of its own (DR15); what its
/// regions hold does not count.
MLIR_CAPI_EXPORTED bool mlirRelaxOperationIsPure(MlirOperation op);

/// Leaves each constant and dimension of a kernel on tensors, a `func.func`,
/// once; any other operation as it is.
MLIR_CAPI_EXPORTED void mlirRelaxTidyKernel(MlirOperation op);
/// Whether an operation is a module.
MLIR_CAPI_EXPORTED bool mlirRelaxOperationIsAModule(MlirOperation op);

//===----------------------------------------------------------------------===//
// Code for the virtual machine
//===----------------------------------------------------------------------===//

/// Calls back with a module, whose shapes are lowered, as text assembly, in
/// which the constants of the pool are external ones. Where functions are
/// compiled it has their heads. False after an error that was emitted.
MLIR_CAPI_EXPORTED bool mlirRelaxTranslateToVM(MlirModule module,
                                               bool isCompiled,
                                               MlirStringCallback callback,
                                               void *userData);

/// The pool of constants of a module.
MLIR_CAPI_EXPORTED intptr_t mlirRelaxModuleGetNumConstants(MlirModule module);
/// One of them, an elements attribute.
MLIR_CAPI_EXPORTED MlirAttribute mlirRelaxModuleGetConstant(MlirModule module,
                                                            intptr_t index);
/// The data type of an elements attribute as DLPack spells it. Calls back.
MLIR_CAPI_EXPORTED void
mlirRelaxConstantGetDataType(MlirAttribute constant,
                             MlirStringCallback callback, void *userData);
/// Calls back with the elements as they lie in the memory of a tensor. They
/// live as long as the context where `isOwned` says so, else as long as the
/// call. The constant is one of the pool of a module that was verified.
typedef void (*MlirRelaxBytesCallback)(const void *bytes, size_t size,
                                       bool isOwned, void *userData);
MLIR_CAPI_EXPORTED void
mlirRelaxConstantGetBytes(MlirAttribute constant,
                          MlirRelaxBytesCallback callback, void *userData);

//===----------------------------------------------------------------------===//
// Passes and phases
//===----------------------------------------------------------------------===//

/// Registers the passes and pipelines with MLIR's global registry, once.
MLIR_CAPI_EXPORTED void mlirRelaxRegisterPasses(void);

/// Lets a pass manager run `remove-dead-values` on modules with kernels and
/// functions as values, which keep their signatures. Call it once, before the
/// pass manager runs.
MLIR_CAPI_EXPORTED void mlirRelaxKeepSignatures(MlirPassManager passManager);

/// The phases of compilation in order; phase `name` is the pipeline
/// `relax-phase-<name>`.
MLIR_CAPI_EXPORTED intptr_t mlirRelaxGetNumPhases(void);
MLIR_CAPI_EXPORTED MlirStringRef mlirRelaxPhaseGetName(intptr_t index);
MLIR_CAPI_EXPORTED MlirStringRef mlirRelaxPhaseGetDescription(intptr_t index);

/// The types whose products a target computes faster than those of float32.
typedef struct {
  bool int16, int8, bfloat16;
} MlirRelaxFastProducts;

/// `features` are those of the options of phases.
MLIR_CAPI_EXPORTED MlirRelaxFastProducts
mlirRelaxGetFastProducts(intptr_t vectorBits, MlirStringRef features);

#ifdef __cplusplus
}
#endif

#endif // RELAX_MLIR_C_DIALECT_H
