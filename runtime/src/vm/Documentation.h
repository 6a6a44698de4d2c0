//===- Documentation.h - Text of the tables of the VM -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated part of docs/dev/vm.md.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_DOCUMENTATION_H
#define RELAX_RUNTIME_VM_DOCUMENTATION_H

#include "../Internal.h"

namespace relax_runtime::vm {

// Instructions, callees, kinds of operands and builtins, in Markdown.
ffi::String makeDocumentation();

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_DOCUMENTATION_H
