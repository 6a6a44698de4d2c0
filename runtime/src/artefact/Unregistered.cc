//===- Unregistered.cc - Runtime without registration -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model that holds the runtime (export_library with self_contained=True) is
// linked with --wrap for these functions of tvm-ffi, so that what the runtime
// registers when it is loaded stays within the model.
//
// Rationale: a process may hold several such models beside the shared runtime,
// of other versions, too. A name can be registered once, and the functions of
// the package must be those of the shared runtime.
//
//===----------------------------------------------------------------------===//

#include <tvm/ffi/c_api.h>

#define RELAX_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

RELAX_HIDDEN int __wrap_TVMFFIFunctionSetGlobal(const TVMFFIByteArray *,
                                                TVMFFIObjectHandle, int) {
  return 0;
}

RELAX_HIDDEN int
__wrap_TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo *, int) {
  return 0;
}

RELAX_HIDDEN int __wrap_TVMFFITypeRegisterField(int32_t,
                                                const TVMFFIFieldInfo *) {
  return 0;
}

RELAX_HIDDEN int __wrap_TVMFFITypeRegisterMethod(int32_t,
                                                 const TVMFFIMethodInfo *) {
  return 0;
}

RELAX_HIDDEN int __wrap_TVMFFITypeRegisterMetadata(int32_t,
                                                   const TVMFFITypeMetadata *) {
  return 0;
}

RELAX_HIDDEN int __wrap_TVMFFITypeRegisterAttr(int32_t, const TVMFFIByteArray *,
                                               const TVMFFIAny *) {
  return 0;
}

} // extern "C"
