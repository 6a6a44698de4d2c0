//===- StructInfo.cpp - C interface of StructInfo ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types, what is proven about them, and the functions that derive them.
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"

#include "relax-mlir/IR/DeriveFunc.h"
#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/ShapeScope.h"

#include "mlir/IR/Diagnostics.h"

#include <map>
#include <memory>

using namespace mlir;
using namespace mlir::relax;

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
