//===- Tensor.h - Helpers for tensors ---------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocates and copies tensors on any device, with error messages. Each
// function returns -1 where it left an error.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TENSOR_H
#define RELAX_RUNTIME_TENSOR_H

#include "Objects.h"

namespace relax_runtime {

// dst = a new, uninitialized, compact tensor.
int allocTensor(const relax_site *site, TVMFFIAny *dst, int32_t ndim,
                const int64_t *dims, DLDataType dtype, Device &device);

// dst = a new, compact copy of a tensor on a device.
int copyTensor(const relax_site *site, TVMFFIAny *dst, const DLTensor &from,
               DLDevice device);

// dst = a tuple of so many fields, all None. Stores where they are.
int allocTuple(const relax_site *site, TVMFFIAny *dst, int64_t size,
               ffi::Any **fields);

// "cannot `verb` a tensor on cuda:0; only cpu is supported".
RELAX_COLD int raiseDevice(const relax_site *site, const char *verb,
                           DLDevice device) noexcept;

// "expected `kind`, but got ...": of the wrong kind, or killed.
RELAX_COLD int raiseKind(const relax_site *site, const char *kind,
                         const TVMFFIAny *value) noexcept;

} // namespace relax_runtime

#endif // RELAX_RUNTIME_TENSOR_H
