//===- ModuleParts.h - A module to translate in parts -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_NATIVE_MODULEPARTS_H
#define RELAX_MLIR_LIB_CODEGEN_NATIVE_MODULEPARTS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::relax {

/// Some functions of a module, as a module.
struct ModulePart {
  /// Empty where there is one part, which is the module itself.
  OwningOpRef<ModuleOp> owned;
  ModuleOp module;
  SmallVector<LLVM::LLVMFuncOp> functions;
  /// The amount of code to translate, in operations.
  int64_t size = 0;
  /// Whether LLVM should look for vectors in its loops.
  bool hasScalarLoops = false;
  /// Whether it defines the variables of the module.
  bool definesVariables = false;
};

/// A function, and what decides which part it belongs to.
struct FunctionFacts;

/// Deals the functions of a module in the LLVM dialect out to parts. The parts
/// depend on the module alone, so that the same module always becomes the same
/// code. The module gets its functions back at the end.
class ModuleParts {
public:
  explicit ModuleParts(ModuleOp module);
  ~ModuleParts();
  ModuleParts(const ModuleParts &) = delete;
  ModuleParts &operator=(const ModuleParts &) = delete;

  /// The largest first.
  MutableArrayRef<ModulePart> parts() { return allParts; }
  /// The symbols that one part defines and others refer to.
  const llvm::StringSet<> &shared() const { return sharedSymbols; }

private:
  void split(ArrayRef<LLVM::LLVMFuncOp> functions);
  /// Deals those of one kind out to new parts: each to the smallest, the
  /// largest first.
  void deal(ArrayRef<FunctionFacts> functions, bool hasScalarLoops);
  void declareUses(ModulePart &part,
                   const llvm::StringMap<Operation *> &definitions);

  ModuleOp module;
  /// The operations of the module, in order.
  SmallVector<Operation *> order;
  SmallVector<ModulePart> allParts;
  llvm::StringSet<> sharedSymbols;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_NATIVE_MODULEPARTS_H
