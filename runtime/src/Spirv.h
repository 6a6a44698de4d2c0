//===- Spirv.h - Programs in SPIR-V -----------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime reads of SPIR-V, and its translation for devices that do not
// take it.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_SPIRV_H
#define RELAX_RUNTIME_SPIRV_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relax_runtime {

enum class SpirvCapability : uint32_t { Float16 = 9, Float64 = 10 };

// Whether a module declares a capability. Words of another byte order, and
// modules that are cut off, declare none.
bool declaresCapability(std::string_view module, SpirvCapability capability);

// Translates a module to LLVM bitcode by `llvm-spirv -r`, the tool of the
// SPIRV-LLVM translator, best of a version of LLVM (0: of any). Returns what
// went wrong.
std::string translateSpirv(std::string_view module, int version,
                           std::vector<char> &bitcode);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_SPIRV_H
