//===- VM.h - Code for the virtual machine ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_CODEGEN_VM_H
#define RELAX_MLIR_CODEGEN_VM_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::relax {

/// The execution mode of a compiled program.
enum class ExecMode {
  /// All of it is machine code.
  Compiled,
  /// The virtual machine runs functions; kernels are machine code.
  Bytecode
};

/// The form in which the constants of the pool are written.
enum class ConstantMode {
  Inline,  ///< with all elements
  External ///< by number: the reader of the text needs them, too
};

/// Writes the functions of a module, whose shapes are lowered, as text assembly
/// of the virtual machine (docs/dev/vm.md). Kernels are called by name. Of
/// functions that are compiled it says only that they are there.
LogicalResult translateToVM(ModuleOp module, raw_ostream &os,
                            ConstantMode constants = ConstantMode::Inline,
                            ExecMode execMode = ExecMode::Bytecode);

} // namespace mlir::relax

#endif // RELAX_MLIR_CODEGEN_VM_H
