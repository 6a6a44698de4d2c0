//===- Packed.h - Packed functions of the runtime ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The packed functions that programs call where no operator knows the shape of
// its result, and for effects. They are the runtime's own, so a model that
// holds its runtime needs nothing else; functions of the same name that are
// registered come first.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_PACKED_H
#define RELAX_RUNTIME_PACKED_H

#include <tvm/ffi/function.h>

#include <optional>
#include <string_view>

namespace relax_runtime {

// The packed function that is registered under a name, or is the runtime's own.
std::optional<tvm::ffi::Function> findPackedFunction(std::string_view name);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_PACKED_H
