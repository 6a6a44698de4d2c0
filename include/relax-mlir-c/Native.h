//===- Native.h - C interface of object files -------------------*- C -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Machine code as the bytes of object files, and objects that were linked into
// the process. See relax-mlir/Codegen/Native.h.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_C_NATIVE_H
#define RELAX_MLIR_C_NATIVE_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The bytes of a digest.
#define MLIR_RELAX_DIGEST_SIZE 20

/// Writes a digest of all that is in a module: equal modules have equal ones,
/// and others have others.
MLIR_CAPI_EXPORTED void mlirRelaxModuleDigest(MlirModule module,
                                              uint8_t *digest);

/// An object file, or an archive of several; the caller destroys it.
typedef struct MlirRelaxObject {
  void *ptr;
} MlirRelaxObject;

/// A linked object file; the caller destroys it.
typedef struct MlirRelaxLoadedObject {
  void *ptr;
} MlirRelaxLoadedObject;

/// The parts of a target.
typedef struct MlirRelaxNativeTarget {
  MlirStringRef triple;   // empty: that of this process
  MlirStringRef cpu;      // "host": the processor of this machine
  MlirStringRef features; // "+avx2,-avx512f", appended to the host's
} MlirRelaxNativeTarget;

/// The properties of a target; the caller destroys them.
typedef struct MlirRelaxTargetDescription {
  void *ptr;
} MlirRelaxTargetDescription;

/// Returns null and reports an error where LLVM does not know the target.
MLIR_CAPI_EXPORTED MlirRelaxTargetDescription
mlirRelaxDescribeTarget(MlirContext context, MlirRelaxNativeTarget target);
MLIR_CAPI_EXPORTED void
mlirRelaxTargetDescriptionDestroy(MlirRelaxTargetDescription description);
/// The target with nothing left open.
MLIR_CAPI_EXPORTED MlirRelaxNativeTarget
mlirRelaxTargetDescriptionGetTarget(MlirRelaxTargetDescription description);
/// The width of vector registers in bits.
MLIR_CAPI_EXPORTED intptr_t
mlirRelaxTargetDescriptionGetVectorBits(MlirRelaxTargetDescription description);
/// The features that the target has, of those that the runtime can query.
MLIR_CAPI_EXPORTED intptr_t mlirRelaxTargetDescriptionGetNumFeatures(
    MlirRelaxTargetDescription description);
MLIR_CAPI_EXPORTED MlirStringRef mlirRelaxTargetDescriptionGetFeature(
    MlirRelaxTargetDescription description, intptr_t index);
/// The features that the target has and this machine lacks.
MLIR_CAPI_EXPORTED intptr_t
mlirRelaxTargetDescriptionGetNumMissing(MlirRelaxTargetDescription description);
MLIR_CAPI_EXPORTED MlirStringRef mlirRelaxTargetDescriptionGetMissing(
    MlirRelaxTargetDescription description, intptr_t index);

/// Reports how many functions out of how many have been compiled to machine
/// code; called by any thread.
typedef void (*MlirRelaxEmitProgress)(intptr_t done, intptr_t total,
                                      void *userData);

/// Emits a module in the LLVM dialect. Returns null and reports an error at the
/// module where that fails. `progress` may be null.
MLIR_CAPI_EXPORTED MlirRelaxObject mlirRelaxEmitObject(
    MlirModule module, MlirRelaxNativeTarget target, unsigned optLevel,
    MlirRelaxEmitProgress progress, void *userData);

/// Emits the table that makes a library of objects with these symbols and
/// exports. Returns null and reports an error where that fails.
MLIR_CAPI_EXPORTED MlirRelaxObject
mlirRelaxEmitLibraryTable(MlirContext context, MlirRelaxNativeTarget target,
                          intptr_t numSymbols, MlirStringRef const *symbols,
                          intptr_t numExports, MlirStringRef const *exports);

MLIR_CAPI_EXPORTED void mlirRelaxObjectDestroy(MlirRelaxObject object);
MLIR_CAPI_EXPORTED MlirStringRef
mlirRelaxObjectGetBytes(MlirRelaxObject object);
/// The target with nothing left open.
MLIR_CAPI_EXPORTED MlirRelaxNativeTarget
mlirRelaxObjectGetTarget(MlirRelaxObject object);
MLIR_CAPI_EXPORTED intptr_t
mlirRelaxObjectGetNumSymbols(MlirRelaxObject object);
MLIR_CAPI_EXPORTED MlirStringRef
mlirRelaxObjectGetSymbol(MlirRelaxObject object, intptr_t index);

/// Links an object file into this process, with shared libraries given by their
/// paths. Returns null and passes a message on where that fails.
MLIR_CAPI_EXPORTED MlirRelaxLoadedObject mlirRelaxLoadObject(
    MlirStringRef bytes, intptr_t numLibraries, MlirStringRef const *libraries,
    MlirStringCallback onError, void *userData);
MLIR_CAPI_EXPORTED void
mlirRelaxLoadedObjectDestroy(MlirRelaxLoadedObject object);
/// The address of a symbol; null where there is none.
MLIR_CAPI_EXPORTED void *
mlirRelaxLoadedObjectLookUp(MlirRelaxLoadedObject object, MlirStringRef symbol);

#ifdef __cplusplus
}
#endif

#endif // RELAX_MLIR_C_NATIVE_H
