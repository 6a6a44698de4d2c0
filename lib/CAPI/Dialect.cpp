//===- Dialect.cpp - C interface of the Relax dialect -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir-c/Dialect.h"
#include "relax-mlir/Analysis/TargetModel.h"

#include "relax-mlir/Codegen/VM.h"
#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/DeriveFunc.h"
#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Nesting.h"
#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/WellFormed.h"
#include "relax-mlir/Pipelines/Pipelines.h"
#include "relax-mlir/TransformOps/Registration.h"
#include "relax-mlir/Transforms/Instrumentation.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/SetVector.h"
#include <map>
#include <memory>
#include <mutex>

using namespace mlir;
using namespace mlir::relax;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Relax, relax, mlir::relax::RelaxDialect)

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// The context with the dialect in it: types of a dialect that is not loaded
/// cannot be made.
static MLIRContext *loaded(MlirContext context) {
  MLIRContext *unwrapped = unwrap(context);
  unwrapped->getOrLoadDialect<RelaxDialect>();
  return unwrapped;
}

static Location loaded(MlirLocation location) {
  Location unwrapped = unwrap(location);
  unwrapped->getContext()->getOrLoadDialect<RelaxDialect>();
  return unwrapped;
}

static PrimExprAttr expr(MlirAttribute attr) {
  return cast<PrimExprAttr>(unwrap(attr));
}

template <typename T> static T structInfo(MlirType type) {
  return cast<T>(unwrap(type));
}

static SmallVector<Type> unwrapTypes(intptr_t count, MlirType const *types) {
  return llvm::map_to_vector(ArrayRef(types, count),
                             [](MlirType type) { return unwrap(type); });
}

static SmallVector<PrimExprAttr> exprs(intptr_t count,
                                       MlirAttribute const *attrs) {
  return llvm::map_to_vector(ArrayRef(attrs, count), expr);
}

static MlirRelaxTernary wrap(Ternary answer) {
  return static_cast<MlirRelaxTernary>(answer);
}

static MlirStringRef wrap(FlatSymbolRefAttr symbol) {
  return wrap(symbol ? symbol.getValue() : StringRef());
}

static MlirStringRef wrapName(StringAttr name) {
  return wrap(name ? name.getValue() : StringRef());
}

static StringAttr stringOrNull(MLIRContext *context, MlirStringRef text) {
  return text.length == 0 ? StringAttr()
                          : StringAttr::get(context, unwrap(text));
}

static void reportSorted(const llvm::StringSet<> &names,
                         MlirRelaxNameCallback callback, void *userData) {
  SmallVector<StringRef> sorted(names.keys());
  llvm::sort(sorted);
  for (StringRef name : sorted)
    callback(wrap(name), userData);
}

//===----------------------------------------------------------------------===//
// Dimension expressions
//===----------------------------------------------------------------------===//

static_assert(static_cast<int>(PrimExprKind::Le) == MlirRelaxPrimExprLe &&
                  static_cast<int>(PrimExprKind::Min) == MlirRelaxPrimExprMin,
              "the kinds of the C interface are those of PrimExprKind");

bool mlirRelaxAttributeIsAPrimExpr(MlirAttribute attr) {
  return isa<PrimExprAttr>(unwrap(attr));
}

MlirTypeID mlirRelaxPrimExprGetTypeID() {
  return wrap(PrimExprAttr::getTypeID());
}

MlirAttribute mlirRelaxPrimExprVarGet(MlirContext context, MlirStringRef name) {
  return wrap(PrimExprAttr::getVar(loaded(context), unwrap(name)));
}

MlirAttribute mlirRelaxPrimExprIntGet(MlirContext context, int64_t value) {
  return wrap(PrimExprAttr::getInt(loaded(context), value));
}

static_assert(PrimExprAttr::kMaxDepth == MLIR_RELAX_PRIM_EXPR_MAX_DEPTH &&
                  PrimExprAttr::kMaxSize == MLIR_RELAX_PRIM_EXPR_MAX_SIZE,
              "the limits of the C interface are those of PrimExprAttr");

/// An expression that was built, or null where it is beyond the limits.
static MlirAttribute bounded(PrimExprAttr expr) {
  return wrap(expr.isTooLarge() ? PrimExprAttr() : expr);
}

MlirAttribute mlirRelaxPrimExprAddGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getAdd(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprSubGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getSub(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprMulGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getMul(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprFloorDivGet(MlirAttribute lhs,
                                           MlirAttribute rhs) {
  return bounded(PrimExprAttr::getFloorDiv(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprModGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getMod(expr(lhs), expr(rhs)));
}

intptr_t mlirRelaxPrimExprGetArity(MlirRelaxPrimExprKind kind) {
  if (kind < MlirRelaxPrimExprMin || kind > MlirRelaxPrimExprLe)
    return 0;
  return kind == MlirRelaxPrimExprSelect ? 3
         : kind == MlirRelaxPrimExprNot  ? 1
                                         : 2;
}

MlirAttribute mlirRelaxPrimExprCallGet(MlirRelaxPrimExprKind kind,
                                       intptr_t numOperands,
                                       MlirAttribute const *operands) {
  if (numOperands == 0 || numOperands != mlirRelaxPrimExprGetArity(kind))
    return {nullptr};
  return bounded(PrimExprAttr::getCall(static_cast<PrimExprKind>(kind),
                                       exprs(numOperands, operands)));
}

MlirRelaxPrimExprKind mlirRelaxPrimExprGetKind(MlirAttribute attr) {
  return static_cast<MlirRelaxPrimExprKind>(expr(attr).getKind());
}

int64_t mlirRelaxPrimExprGetInt(MlirAttribute attr) {
  return expr(attr).getConstant().value_or(0);
}

MlirStringRef mlirRelaxPrimExprGetName(MlirAttribute attr) {
  return wrap(expr(attr).getName());
}

intptr_t mlirRelaxPrimExprGetNumOperands(MlirAttribute attr) {
  return expr(attr).getOperands().size();
}

MlirAttribute mlirRelaxPrimExprGetOperand(MlirAttribute attr, intptr_t index) {
  return wrap(expr(attr).getOperands()[index]);
}

void mlirRelaxPrimExprPrint(MlirAttribute attr, MlirStringCallback callback,
                            void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  printPrimExpr(stream, expr(attr));
}

void mlirRelaxPrimExprCollectVars(MlirAttribute attr,
                                  MlirRelaxNameCallback callback,
                                  void *userData) {
  llvm::StringSet<> names;
  collectVars(expr(attr), names);
  reportSorted(names, callback, userData);
}

MlirRelaxTernary mlirRelaxPrimExprProveEqual(MlirAttribute lhs,
                                             MlirAttribute rhs) {
  return wrap(proveEqual(expr(lhs), expr(rhs)));
}

bool mlirRelaxPrimExprEvaluate(MlirAttribute attr, intptr_t numVars,
                               MlirStringRef const *names,
                               int64_t const *values, int64_t *result) {
  llvm::StringMap<int64_t> bindings;
  for (intptr_t i = 0; i < numVars; ++i)
    bindings[unwrap(names[i])] = values[i];
  std::optional<int64_t> value = evaluate(expr(attr), bindings);
  if (value)
    *result = *value;
  return value.has_value();
}

MlirAttribute mlirRelaxPrimExprSubstitute(MlirAttribute attr, intptr_t numVars,
                                          MlirStringRef const *names,
                                          MlirAttribute const *values) {
  PrimExprMap bindings;
  for (intptr_t i = 0; i < numVars; ++i)
    bindings[unwrap(names[i])] = expr(values[i]);
  return wrap(substitute(expr(attr), bindings));
}

static PrimExprFacts &facts(MlirRelaxPrimExprFacts facts) {
  return *static_cast<PrimExprFacts *>(facts.ptr);
}

MlirRelaxPrimExprFacts mlirRelaxPrimExprFactsCreate() {
  return {new PrimExprFacts()};
}

void mlirRelaxPrimExprFactsDestroy(MlirRelaxPrimExprFacts known) {
  delete &facts(known);
}

void mlirRelaxPrimExprFactsAddBounds(MlirRelaxPrimExprFacts known,
                                     MlirStringRef name, int64_t const *lower,
                                     int64_t const *upper) {
  auto orNone = [](int64_t const *end) {
    return end ? std::optional<int64_t>(*end) : std::nullopt;
  };
  facts(known).addBounds(unwrap(name), orNone(lower), orNone(upper));
}

void mlirRelaxPrimExprFactsAddEqual(MlirRelaxPrimExprFacts known,
                                    MlirAttribute lhs, MlirAttribute rhs) {
  facts(known).addEqual(expr(lhs), expr(rhs));
}

void mlirRelaxPrimExprFactsAddLessEqual(MlirRelaxPrimExprFacts known,
                                        MlirAttribute lhs, MlirAttribute rhs) {
  facts(known).addLessEqual(expr(lhs), expr(rhs));
}

MlirRelaxTernary
mlirRelaxPrimExprProveEqualUnder(MlirAttribute lhs, MlirAttribute rhs,
                                 MlirRelaxPrimExprFacts known) {
  return wrap(proveEqual(expr(lhs), expr(rhs), facts(known)));
}

MlirRelaxTernary mlirRelaxPrimExprProveLessEqual(MlirAttribute lhs,
                                                 MlirAttribute rhs,
                                                 MlirRelaxPrimExprFacts known) {
  return wrap(proveLessEqual(expr(lhs), expr(rhs), facts(known)));
}

MlirAttribute mlirRelaxPrimExprSimplify(MlirAttribute attr,
                                        MlirRelaxPrimExprFacts known) {
  return wrap(simplify(expr(attr), facts(known)));
}

MlirRelaxPrimExprFacts mlirRelaxCollectFacts(MlirOperation op) {
  return {new PrimExprFacts(collectFacts(unwrap(op)))};
}

void mlirRelaxPrimExprFactsVisit(
    MlirRelaxPrimExprFacts known,
    void (*visitBounds)(MlirStringRef name, int64_t const *lower,
                        int64_t const *upper, void *userData),
    void (*visitRelation)(MlirAttribute lhs, MlirAttribute rhs, bool isEquality,
                          void *userData),
    void *userData) {
  SmallVector<StringRef> names(facts(known).getAllBounds().keys());
  llvm::sort(names);
  for (StringRef name : names) {
    PrimExprRange range = facts(known).getBounds(name);
    visitBounds(wrap(name), range.lower ? &*range.lower : nullptr,
                range.upper ? &*range.upper : nullptr, userData);
  }
  for (const PrimExprFacts::Relation &relation : facts(known).getRelations())
    visitRelation(wrap(relation.lhs), wrap(relation.rhs), relation.isEquality,
                  userData);
}

bool mlirRelaxAttributeIsAShapeExpr(MlirAttribute attr) {
  return isa<ShapeExprAttr>(unwrap(attr));
}

MlirTypeID mlirRelaxShapeExprGetTypeID() {
  return wrap(ShapeExprAttr::getTypeID());
}

MlirAttribute mlirRelaxShapeExprGet(MlirContext context, intptr_t numDims,
                                    MlirAttribute const *dims) {
  return wrap(ShapeExprAttr::get(loaded(context), exprs(numDims, dims)));
}

intptr_t mlirRelaxShapeExprGetNumDims(MlirAttribute shape) {
  return cast<ShapeExprAttr>(unwrap(shape)).size();
}

MlirAttribute mlirRelaxShapeExprGetDim(MlirAttribute shape, intptr_t index) {
  return wrap(cast<ShapeExprAttr>(unwrap(shape))[index]);
}

//===----------------------------------------------------------------------===//
// StructInfo
//===----------------------------------------------------------------------===//

bool mlirRelaxTypeIsAStructInfo(MlirType type) {
  return isa<StructInfoTypeInterface>(unwrap(type));
}

#define RELAX_TYPE_IDENTITY(Kind)                                              \
  bool mlirRelaxTypeIsA##Kind##StructInfo(MlirType type) {                     \
    return isa<Kind##StructInfoType>(unwrap(type));                            \
  }                                                                            \
  MlirTypeID mlirRelax##Kind##StructInfoGetTypeID() {                          \
    return wrap(Kind##StructInfoType::getTypeID());                            \
  }
RELAX_TYPE_IDENTITY(Object)
RELAX_TYPE_IDENTITY(Tensor)
RELAX_TYPE_IDENTITY(Shape)
RELAX_TYPE_IDENTITY(Prim)
RELAX_TYPE_IDENTITY(Tuple)
RELAX_TYPE_IDENTITY(Func)
#undef RELAX_TYPE_IDENTITY

MlirType mlirRelaxObjectStructInfoGet(MlirContext context) {
  return wrap(ObjectStructInfoType::get(loaded(context)));
}

MlirType mlirRelaxTensorStructInfoGetChecked(MlirLocation location,
                                             MlirAttribute shape, int64_t ndim,
                                             MlirType dtype,
                                             MlirStringRef vdevice,
                                             MlirStringRef shapeVar) {
  Location loc = loaded(location);
  auto dims = cast_or_null<ShapeExprAttr>(unwrap(shape));
  // The parser checks this too; the verifier must not, as shapes that are
  // computed from unreachable code may be negative.
  if (dims && hasNegativeDim(dims)) {
    emitError(loc) << "expected dimensions of 0 or more";
    return {nullptr};
  }
  FlatSymbolRefAttr device;
  if (vdevice.length != 0)
    device = FlatSymbolRefAttr::get(loc.getContext(), unwrap(vdevice));
  return wrap(TensorStructInfoType::getChecked(
      loc, loc.getContext(), dims, ndim, unwrap(dtype), device,
      stringOrNull(loc.getContext(), shapeVar), ShardingAttr()));
}

MlirType mlirRelaxTensorStructInfoWithShardingChecked(MlirLocation location,
                                                      MlirType type,
                                                      MlirAttribute sharding) {
  Location loc = loaded(location);
  auto tensor = structInfo<TensorStructInfoType>(type);
  return wrap(TensorStructInfoType::getChecked(
      loc, loc.getContext(), tensor.getShape(), tensor.getNdim(),
      tensor.getDtype(), tensor.getVdevice(), tensor.getShapeVar(),
      cast_or_null<ShardingAttr>(unwrap(sharding))));
}

MlirAttribute mlirRelaxTensorStructInfoGetSharding(MlirType type) {
  return wrap(structInfo<TensorStructInfoType>(type).getSharding());
}

bool mlirRelaxAttributeIsASharding(MlirAttribute attr) {
  return isa<ShardingAttr>(unwrap(attr));
}

MlirStringRef mlirRelaxTensorStructInfoGetShapeVar(MlirType type) {
  return wrapName(structInfo<TensorStructInfoType>(type).getShapeVar());
}

MlirAttribute mlirRelaxTensorStructInfoGetShape(MlirType type) {
  return wrap(structInfo<TensorStructInfoType>(type).getShape());
}

int64_t mlirRelaxTensorStructInfoGetNdim(MlirType type) {
  return structInfo<TensorStructInfoType>(type).getNdim();
}

MlirType mlirRelaxTensorStructInfoGetDtype(MlirType type) {
  return wrap(structInfo<TensorStructInfoType>(type).getDtype());
}

MlirStringRef mlirRelaxTensorStructInfoGetVDevice(MlirType type) {
  return wrap(structInfo<TensorStructInfoType>(type).getVdevice());
}

MlirType mlirRelaxShapeStructInfoGetChecked(MlirLocation location,
                                            MlirAttribute values, int64_t ndim,
                                            MlirStringRef var) {
  Location loc = loaded(location);
  return wrap(ShapeStructInfoType::getChecked(
      loc, loc.getContext(), cast_or_null<ShapeExprAttr>(unwrap(values)), ndim,
      stringOrNull(loc.getContext(), var)));
}

MlirStringRef mlirRelaxShapeStructInfoGetVar(MlirType type) {
  return wrapName(structInfo<ShapeStructInfoType>(type).getVar());
}

MlirAttribute mlirRelaxShapeStructInfoGetValues(MlirType type) {
  return wrap(structInfo<ShapeStructInfoType>(type).getValues());
}

int64_t mlirRelaxShapeStructInfoGetNdim(MlirType type) {
  return structInfo<ShapeStructInfoType>(type).getNdim();
}

MlirType mlirRelaxPrimStructInfoGetChecked(MlirLocation location,
                                           MlirType dtype,
                                           MlirAttribute value) {
  Location loc = loaded(location);
  return wrap(PrimStructInfoType::getChecked(
      loc, loc.getContext(), unwrap(dtype),
      cast_or_null<PrimExprAttr>(unwrap(value))));
}

MlirType mlirRelaxPrimStructInfoGetDtype(MlirType type) {
  return wrap(structInfo<PrimStructInfoType>(type).getDtype());
}

MlirAttribute mlirRelaxPrimStructInfoGetValue(MlirType type) {
  return wrap(structInfo<PrimStructInfoType>(type).getValue());
}

MlirType mlirRelaxTupleStructInfoGetChecked(MlirLocation location,
                                            intptr_t numFields,
                                            MlirType const *fields) {
  Location loc = loaded(location);
  SmallVector<Type> types = unwrapTypes(numFields, fields);
  return wrap(TupleStructInfoType::getChecked(loc, loc.getContext(),
                                              ArrayRef<Type>(types)));
}

intptr_t mlirRelaxTupleStructInfoGetNumFields(MlirType type) {
  return structInfo<TupleStructInfoType>(type).getFields().size();
}

MlirType mlirRelaxTupleStructInfoGetField(MlirType type, intptr_t index) {
  return wrap(structInfo<TupleStructInfoType>(type).getFields()[index]);
}

MlirType mlirRelaxFuncStructInfoGetChecked(MlirLocation location,
                                           intptr_t numParams,
                                           MlirType const *params,
                                           MlirType result, bool isPure) {
  Location loc = loaded(location);
  SmallVector<Type> types = unwrapTypes(numParams, params);
  return wrap(FuncStructInfoType::getChecked(
      loc, loc.getContext(), ArrayRef<Type>(types), unwrap(result), isPure,
      FlatSymbolRefAttr()));
}

MlirType mlirRelaxFuncStructInfoPackedGet(MlirContext context,
                                          MlirStringRef derive) {
  return wrap(FuncStructInfoType::get(loaded(context), unwrap(derive)));
}

intptr_t mlirRelaxFuncStructInfoGetNumParams(MlirType type) {
  return structInfo<FuncStructInfoType>(type).getParams().size();
}

MlirType mlirRelaxFuncStructInfoGetParam(MlirType type, intptr_t index) {
  return wrap(structInfo<FuncStructInfoType>(type).getParams()[index]);
}

MlirType mlirRelaxFuncStructInfoGetResult(MlirType type) {
  return wrap(structInfo<FuncStructInfoType>(type).getRet());
}

bool mlirRelaxFuncStructInfoIsPure(MlirType type) {
  return structInfo<FuncStructInfoType>(type).getPure();
}

MlirStringRef mlirRelaxFuncStructInfoGetDerive(MlirType type) {
  return wrap(structInfo<FuncStructInfoType>(type).getDerive());
}

//===----------------------------------------------------------------------===//
// Reasoning about StructInfo
//===----------------------------------------------------------------------===//

MlirRelaxTernary mlirRelaxIsSubtype(MlirType sub, MlirType super) {
  return wrap(isSubtype(unwrap(sub), unwrap(super)));
}

MlirRelaxTernary mlirRelaxIsSubtypeUnder(MlirType sub, MlirType super,
                                         MlirRelaxPrimExprFacts known) {
  FactsScope scope(facts(known));
  return wrap(isSubtype(unwrap(sub), unwrap(super)));
}

MlirRelaxTernary
mlirRelaxCheckCompatibilityUnder(MlirType actual, MlirType expected,
                                 MlirRelaxPrimExprFacts known) {
  FactsScope scope(facts(known));
  return wrap(checkCompatibility(unwrap(actual), unwrap(expected)));
}

MlirType mlirRelaxUnifyStructInfoUnder(MlirType lhs, MlirType rhs,
                                       MlirRelaxPrimExprFacts known) {
  FactsScope scope(facts(known));
  return wrap(unifyStructInfo(unwrap(lhs), unwrap(rhs)));
}

MlirRelaxTernary mlirRelaxCheckCompatibility(MlirType actual,
                                             MlirType expected) {
  return wrap(checkCompatibility(unwrap(actual), unwrap(expected)));
}

MlirType mlirRelaxUnifyStructInfo(MlirType lhs, MlirType rhs) {
  return wrap(unifyStructInfo(unwrap(lhs), unwrap(rhs)));
}

MlirType mlirRelaxEraseDims(MlirType type) {
  return wrap(eraseDims(unwrap(type)));
}

MlirType mlirRelaxEraseStructInfo(MlirType type) {
  return wrap(eraseStructInfo(unwrap(type)));
}

MlirType mlirRelaxSubstitute(MlirType type, intptr_t numVars,
                             MlirStringRef const *names,
                             MlirAttribute const *values) {
  ShapeVarMap map;
  for (intptr_t i = 0; i < numVars; ++i) {
    Attribute value = unwrap(values[i]);
    StringRef name = unwrap(names[i]);
    auto dim = dyn_cast<PrimExprAttr>(value);
    if (!dim) {
      map.shapes[name] = value;
      continue;
    }
    map.dims[name] = dim;
    if (dim.isVar()) // one variable for another, whatever it stands for
      map.shapes[name] = StringAttr::get(dim.getContext(), dim.getName());
  }
  return wrap(substitute(unwrap(type), map));
}

void mlirRelaxGetShapeVarMapping(MlirType formal, MlirType actual,
                                 MlirRelaxBindingCallback callback,
                                 void *userData) {
  ShapeVarMap map;
  getShapeVarMapping(unwrap(formal), unwrap(actual), map);
  std::map<StringRef, Attribute> sorted;
  for (const auto &entry : map.shapes)
    sorted.emplace(entry.getKey(), entry.getValue());
  for (const auto &entry : map.dims)
    sorted.emplace(entry.getKey(), entry.getValue());
  for (auto [name, value] : sorted)
    callback(wrap(name), wrap(value), userData);
}

static llvm::StringSet<> nameSet(intptr_t count, MlirStringRef const *names) {
  llvm::StringSet<> result;
  for (MlirStringRef name : ArrayRef(names, count))
    result.insert(unwrap(name));
  return result;
}

MlirType mlirRelaxEraseToWellDefined(MlirType type, intptr_t numShapeVars,
                                     MlirStringRef const *shapeVars,
                                     intptr_t numDimVars,
                                     MlirStringRef const *dimVars) {
  llvm::StringSet<> shapes = nameSet(numShapeVars, shapeVars);
  llvm::StringSet<> dims = nameSet(numDimVars, dimVars);
  return wrap(eraseToWellDefined(
      unwrap(type), [&](StringRef name) { return shapes.contains(name); },
      [&](StringRef name) { return dims.contains(name); }));
}

void mlirRelaxCollectBindingVars(MlirType type, MlirRelaxNameCallback callback,
                                 void *userData) {
  llvm::StringSet<> names;
  collectBindingVars(unwrap(type), names);
  reportSorted(names, callback, userData);
}

MlirType mlirRelaxDeriveCallResult(MlirType callee, intptr_t numArguments,
                                   MlirType const *arguments,
                                   MlirRelaxNameCallback onError,
                                   MlirRelaxUnprovenCallback onUnproven,
                                   void *userData) {
  auto func = structInfo<FuncStructInfoType>(callee);
  MLIRContext *context = func.getContext();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    std::string message = diagnostic.str();
    onError(wrap(StringRef(message)), userData);
    return success();
  });
  FailureOr<Type> result = deriveClosureCall(
      func, unwrapTypes(numArguments, arguments),
      [&] { return emitError(UnknownLoc::get(context)); },
      [&](unsigned index, Type expected) {
        onUnproven(index, wrap(expected), userData);
      },
      /*isInScope=*/[](StringRef) { return false; });
  return wrap(failed(result) ? Type() : *result);
}

//===----------------------------------------------------------------------===//
// Derive functions
//===----------------------------------------------------------------------===//

bool mlirRelaxRegisterDeriveFunc(MlirStringRef name, MlirRelaxDeriveFunc derive,
                                 void *userData, void (*deleteUserData)(void *),
                                 bool override) {
  auto isTaken = std::make_shared<bool>(false);
  // Copies of the function share what it owns.
  std::shared_ptr<void> owned(userData, [=](void *data) {
    if (deleteUserData && *isTaken)
      deleteUserData(data);
  });
  auto wrapTypes = [](TypeRange types) {
    return llvm::map_to_vector(types, [](Type type) { return wrap(type); });
  };
  auto call = [=](MLIRContext *, Location location, TypeRange arguments,
                  TypeRange structInfoArgs) -> FailureOr<Type> {
    SmallVector<MlirType> args = wrapTypes(arguments);
    SmallVector<MlirType> infos = wrapTypes(structInfoArgs);
    MlirType result = derive(wrap(location), args.size(), args.data(),
                             infos.size(), infos.data(), owned.get());
    if (mlirTypeIsNull(result))
      return failure();
    return unwrap(result);
  };
  if (failed(registerDeriveFunc(unwrap(name), call, override)))
    return false;
  *isTaken = true;
  return true;
}

void mlirRelaxGetDeriveFuncNames(MlirRelaxNameCallback callback,
                                 void *userData) {
  for (const std::string &name : getDeriveFuncNames())
    callback(wrap(StringRef(name)), userData);
}

MlirType mlirRelaxDeriveByName(MlirStringRef name, MlirLocation location,
                               intptr_t numArguments, MlirType const *arguments,
                               intptr_t numStructInfoArgs,
                               MlirType const *structInfoArgs) {
  FailureOr<Type> result = deriveByName(
      unwrap(name), loaded(location), unwrapTypes(numArguments, arguments),
      unwrapTypes(numStructInfoArgs, structInfoArgs));
  return failed(result) ? MlirType{nullptr} : wrap(*result);
}

MlirType mlirRelaxGetFuncStructInfo(MlirOperation function) {
  return wrap(getFuncStructInfo(unwrap(function)));
}

void mlirRelaxGetRuntimeStructInfo(MlirType type, MlirAttribute devices,
                                   MlirStringCallback callback,
                                   void *userData) {
  callback(wrap(StringRef(toRuntimeStructInfo(
               unwrap(type), /*captured=*/{},
               dyn_cast_or_null<DictionaryAttr>(unwrap(devices))))),
           userData);
}

//===----------------------------------------------------------------------===//
// Well-formedness
//===----------------------------------------------------------------------===//

MlirModule mlirRelaxModuleParseUnverified(MlirContext context,
                                          MlirStringRef text) {
  ParserConfig config(loaded(context), /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(unwrap(text), config);
  return {module ? module.release().getOperation() : nullptr};
}

intptr_t mlirRelaxFindDeepNesting(MlirStringRef text, unsigned limit) {
  std::optional<size_t> place = findDeepNesting(unwrap(text), limit);
  return place ? unwrap(text).take_front(*place).count('\n') + 1 : 0;
}

bool mlirRelaxCheckWellFormed(MlirModule module) {
  return succeeded(checkWellFormed(unwrap(module)));
}

void mlirRelaxTidyKernel(MlirOperation op) {
  if (auto kernel = dyn_cast<func::FuncOp>(unwrap(op)))
    tidyKernel(kernel);
}

bool mlirRelaxOperationIsPure(MlirOperation op) {
  auto purity = dyn_cast<PurityOpInterface>(unwrap(op));
  return !purity || purity.isPureOp();
}

bool mlirRelaxOperationIsAModule(MlirOperation op) {
  return isa<ModuleOp>(unwrap(op));
}

//===----------------------------------------------------------------------===//
// Code for the virtual machine
//===----------------------------------------------------------------------===//

bool mlirRelaxTranslateToVM(MlirModule module, bool isCompiled,
                            MlirStringCallback callback, void *userData) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(
          translateToVM(unwrap(module), os, ConstantMode::External,
                        isCompiled ? ExecMode::Compiled : ExecMode::Bytecode)))
    return false;
  callback(wrap(StringRef(text)), userData);
  return true;
}

intptr_t mlirRelaxModuleGetNumConstants(MlirModule module) {
  return getConstants(unwrap(module)).size();
}

MlirAttribute mlirRelaxModuleGetConstant(MlirModule module, intptr_t index) {
  return wrap(Attribute(getConstants(unwrap(module))[index]));
}

void mlirRelaxConstantGetDataType(MlirAttribute constant,
                                  MlirStringCallback callback, void *userData) {
  std::string name =
      getDataTypeName(cast<ElementsAttr>(unwrap(constant)).getElementType());
  callback(wrap(StringRef(name)), userData);
}

void mlirRelaxConstantGetBytes(MlirAttribute constant,
                               MlirRelaxBytesCallback callback,
                               void *userData) {
  std::string storage;
  ArrayRef<char> bytes =
      getConstantBytes(cast<ElementsAttr>(unwrap(constant)), storage);
  bool isOwned = bytes.data() != storage.data();
  callback(bytes.data(), bytes.size(), isOwned, userData);
}

//===----------------------------------------------------------------------===//
// Passes and phases
//===----------------------------------------------------------------------===//

void mlirRelaxRegisterTransformExtension(MlirDialectRegistry registry) {
  registerTransformExtension(*unwrap(registry));
}

void mlirRelaxRegisterPasses() {
  static std::once_flag once;
  std::call_once(once, registerPassesAndPipelines);
}

void mlirRelaxKeepSignatures(MlirPassManager passManager) {
  unwrap(passManager)->addInstrumentation(createSignatureKeeper());
}

intptr_t mlirRelaxGetNumPhases() { return getPhases().size(); }

MlirStringRef mlirRelaxPhaseGetName(intptr_t index) {
  return wrap(StringRef(getPhases()[index].name));
}

MlirStringRef mlirRelaxPhaseGetDescription(intptr_t index) {
  return wrap(StringRef(getPhases()[index].description));
}

MlirRelaxFastProducts mlirRelaxGetFastProducts(intptr_t vectorBits,
                                               MlirStringRef features) {
  TargetModel target;
  target.vectorBits = vectorBits;
  target.features = unwrap(features).str();
  return {target.multipliesShorts(), target.multipliesBytes(),
          target.multipliesBFloats()};
}
