//===- ADT.h - Values of algebraic data types -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A constructor's tag and its fields. A tuple has no tag and is an ffi::Array.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_ADT_H
#define RELAX_RUNTIME_VM_ADT_H

#include <tvm/ffi/tvm_ffi.h>

namespace relax_runtime::vm {

namespace ffi = tvm::ffi;

class ADTObj : public ffi::Object {
public:
  int64_t tag = 0;
  ffi::Array<ffi::Any> fields;

  ADTObj(int64_t tag, ffi::Array<ffi::Any> fields)
      : tag(tag), fields(std::move(fields)) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax_mlir.ADT", ADTObj, ffi::Object);
};

class ADT : public ffi::ObjectRef {
public:
  ADT(int64_t tag, ffi::Array<ffi::Any> fields)
      : ffi::ObjectRef(ffi::make_object<ADTObj>(tag, std::move(fields))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(ADT, ffi::ObjectRef, ADTObj);
};

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_ADT_H
