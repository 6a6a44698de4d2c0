//===- JITEvents.h - Code in memory for perf and gdb ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_NATIVE_JITEVENTS_H
#define RELAX_MLIR_LIB_CODEGEN_NATIVE_JITEVENTS_H

#include "llvm/Support/Error.h"

namespace llvm::orc {
class LLJIT;
}

namespace mlir::relax {

/// Makes the code that a JIT links known to the debuggers and profilers that
/// the environment variable RELAX_MLIR_JIT_EVENTS names.
llvm::Error addJITEvents(llvm::orc::LLJIT &jit);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_NATIVE_JITEVENTS_H
