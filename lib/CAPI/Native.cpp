//===- Native.cpp - C interface of object files -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir-c/Native.h"

#include "relax-mlir/Codegen/Native.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::relax;

void mlirRelaxModuleDigest(MlirModule module, uint8_t *digest) {
  // The elements of constants are hashed where they lie.
  struct Stream : llvm::raw_ostream {
    Stream() : raw_ostream(/*unbuffered=*/true) {}
    void write_impl(const char *data, size_t size) override {
      hash.update(StringRef(data, size));
      position += size;
    }
    uint64_t current_pos() const override { return position; }
    llvm::BLAKE3 hash;
    uint64_t position = 0;
  } stream;
  (void)writeBytecodeToFile(unwrap(module), stream);
  auto bytes = stream.hash.final<MLIR_RELAX_DIGEST_SIZE>();
  std::copy(bytes.begin(), bytes.end(), digest);
}

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

static MlirRelaxNativeTarget wrap(const NativeTarget &target) {
  return {wrap(StringRef(target.triple)), wrap(StringRef(target.cpu)),
          wrap(StringRef(target.features))};
}

static TargetDescription &unwrap(MlirRelaxTargetDescription description) {
  return *static_cast<TargetDescription *>(description.ptr);
}

MlirRelaxTargetDescription
mlirRelaxDescribeTarget(MlirContext context, MlirRelaxNativeTarget target) {
  std::string error;
  std::optional<TargetDescription> description =
      describeTarget(unwrap(target), error);
  if (description)
    return {new TargetDescription(std::move(*description))};
  emitError(UnknownLoc::get(unwrap(context)), error);
  return {nullptr};
}

void mlirRelaxTargetDescriptionDestroy(MlirRelaxTargetDescription description) {
  delete &unwrap(description);
}

MlirRelaxNativeTarget
mlirRelaxTargetDescriptionGetTarget(MlirRelaxTargetDescription description) {
  return wrap(unwrap(description).target);
}

intptr_t mlirRelaxTargetDescriptionGetVectorBits(
    MlirRelaxTargetDescription description) {
  return unwrap(description).vectorBits;
}

intptr_t mlirRelaxTargetDescriptionGetNumFeatures(
    MlirRelaxTargetDescription description) {
  return unwrap(description).features.size();
}

MlirStringRef
mlirRelaxTargetDescriptionGetFeature(MlirRelaxTargetDescription description,
                                     intptr_t index) {
  return wrap(StringRef(unwrap(description).features[index]));
}

intptr_t mlirRelaxTargetDescriptionGetNumMissing(
    MlirRelaxTargetDescription description) {
  return unwrap(description).missing.size();
}

MlirStringRef
mlirRelaxTargetDescriptionGetMissing(MlirRelaxTargetDescription description,
                                     intptr_t index) {
  return wrap(StringRef(unwrap(description).missing[index]));
}

MlirRelaxObject mlirRelaxEmitObject(MlirModule module,
                                    MlirRelaxNativeTarget target,
                                    unsigned optLevel,
                                    MlirRelaxEmitProgress progress,
                                    void *userData) {
  auto object = std::make_unique<NativeObject>();
  auto report = [&](unsigned done, unsigned total) {
    progress(done, total, userData);
  };
  if (failed(emitObject(unwrap(module), unwrap(target), optLevel, *object,
                        progress ? EmitProgress(report) : EmitProgress())))
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
  return wrap(unwrap(object).target);
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
