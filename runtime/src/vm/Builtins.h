//===- Builtins.h - Table of builtins ---------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of builtins. A builtin is a C++ function; its operands in bytecode,
// and the code that passes them to it, come from its parameters: see
// ParamTraits.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_BUILTINS_H
#define RELAX_RUNTIME_VM_BUILTINS_H

#include "Program.h"

#include <string_view>

namespace relax_runtime::vm {

enum class ParamKind : uint8_t {
  Site,
  Value,
  Register,
  Int,
  Immediate,
  DType,
  String,
  Function,
  Ints,
  Values
};
constexpr size_t numParamKinds = static_cast<size_t>(ParamKind::Values) + 1;

struct ParamKindInfo {
  const char *name;
  const char *summary;
};
extern const ParamKindInfo paramKindInfos[numParamKinds];

enum class ResultKind : uint8_t { None, Value, Int };

struct BuiltinInfo {
  const char *name;
  BuiltinEntry entry;
  ResultKind result;
  const ParamKind *params;
  size_t numParams;
  const char *paramNames; // separated by spaces
  const char *cFunction;  // of relax_runtime.h; "" where there is none
  const char *summary;
};

// All builtins; an artefact names them by index, so rows are only ever added at
// the end.
extern const BuiltinInfo builtinInfos[];
extern const size_t numBuiltins;

// The index of a builtin; -1 where there is none.
int64_t findBuiltin(std::string_view name);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_BUILTINS_H
