//===- Native.cpp - C interface of object files -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir-c/Native.h"

#include "relax-mlir/Codegen/Native.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace mlir::relax;

static NativeTarget unwrap(MlirRelaxNativeTarget target) {
  return {unwrap(target.triple).str(), unwrap(target.cpu).str(),
          unwrap(target.features).str()};
}

static NativeObject &unwrap(MlirRelaxObject object) {
  return *static_cast<NativeObject *>(object.ptr);
}

static LoadedObject &unwrap(MlirRelaxLoadedObject object) {
  return *static_cast<LoadedObject *>(object.ptr);
}

static std::vector<std::string> unwrapNames(intptr_t count,
                                            MlirStringRef const *names) {
  std::vector<std::string> result;
  for (MlirStringRef name : ArrayRef(names, count))
    result.push_back(unwrap(name).str());
  return result;
}

MlirRelaxObject mlirRelaxEmitObject(MlirModule module,
                                    MlirRelaxNativeTarget target,
                                    unsigned optLevel) {
  auto object = std::make_unique<NativeObject>();
  if (failed(emitObject(unwrap(module), unwrap(target), optLevel, *object)))
    return {nullptr};
  return {object.release()};
}

MlirRelaxObject
mlirRelaxEmitLibraryTable(MlirContext context, MlirRelaxNativeTarget target,
                          intptr_t numSymbols, MlirStringRef const *symbols,
                          intptr_t numExports, MlirStringRef const *exports) {
  auto object = std::make_unique<NativeObject>();
  if (failed(emitLibraryTable(unwrap(context), unwrap(target),
                              unwrapNames(numSymbols, symbols),
                              unwrapNames(numExports, exports), *object)))
    return {nullptr};
  return {object.release()};
}

void mlirRelaxObjectDestroy(MlirRelaxObject object) { delete &unwrap(object); }

MlirStringRef mlirRelaxObjectGetBytes(MlirRelaxObject object) {
  const auto &bytes = unwrap(object).bytes;
  return wrap(StringRef(bytes.data(), bytes.size()));
}

MlirRelaxNativeTarget mlirRelaxObjectGetTarget(MlirRelaxObject object) {
  const NativeTarget &target = unwrap(object).target;
  return {wrap(StringRef(target.triple)), wrap(StringRef(target.cpu)),
          wrap(StringRef(target.features))};
}

intptr_t mlirRelaxObjectGetNumSymbols(MlirRelaxObject object) {
  return unwrap(object).symbols.size();
}

MlirStringRef mlirRelaxObjectGetSymbol(MlirRelaxObject object, intptr_t index) {
  return wrap(StringRef(unwrap(object).symbols[index]));
}

MlirRelaxLoadedObject mlirRelaxLoadObject(MlirStringRef bytes,
                                          intptr_t numLibraries,
                                          MlirStringRef const *libraries,
                                          MlirStringCallback onError,
                                          void *userData) {
  std::string error;
  std::unique_ptr<LoadedObject> object = LoadedObject::load(
      unwrap(bytes), unwrapNames(numLibraries, libraries), error);
  if (!object)
    onError(wrap(StringRef(error)), userData);
  return {object.release()};
}

void mlirRelaxLoadedObjectDestroy(MlirRelaxLoadedObject object) {
  delete &unwrap(object);
}

void *mlirRelaxLoadedObjectLookUp(MlirRelaxLoadedObject object,
                                  MlirStringRef symbol) {
  return unwrap(object).lookUp(unwrap(symbol));
}
