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

#ifndef RELAX_RUNTIME_ADT_H
#define RELAX_RUNTIME_ADT_H

#include "Objects.h"

namespace relax_runtime {

class ADTObj : public ffi::Object {
public:
  int64_t tag = 0;
  // A tuple.
  ffi::Any fields;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax_mlir.ADT", ADTObj, ffi::Object);
};

// A value with a tag and a tuple of fields, which it takes; from the pool of
// the host. None where no memory is left.
ffi::Any makeADT(int64_t tag, ffi::Any fields) noexcept;

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ADT_H
