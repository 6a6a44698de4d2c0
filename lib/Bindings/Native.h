//===- Native.h - Object files in Python ------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_BINDINGS_NATIVE_H
#define RELAX_MLIR_LIB_BINDINGS_NATIVE_H

#include <nanobind/nanobind.h>

/// Adds emit_object, emit_library_table and LoadedObject to the module.
void bindNative(nanobind::module_ &m);

#endif // RELAX_MLIR_LIB_BINDINGS_NATIVE_H
