//===- FunctionTranslator.h - A function as instructions ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_VM_FUNCTIONTRANSLATOR_H
#define RELAX_MLIR_LIB_CODEGEN_VM_FUNCTIONTRANSLATOR_H

#include "Assembly.h"

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::relax::vm {

/// The constants of an executable as text: those of the pool, and what
/// functions need beside it.
class ConstantTable {
public:
  explicit ConstantTable(size_t numPooled) : numPooled(numPooled) {}

  /// The index of `text`, "float 0.5" or "none".
  int64_t getIndex(StringRef text);
  /// Prints the constants that follow the pool.
  void print(raw_ostream &os) const;

private:
  size_t numPooled;
  std::vector<std::string> texts;
  llvm::StringMap<int64_t> indices;
};

/// Makes instructions of a function whose shapes are lowered; only its head if
/// it is native.
FailureOr<FunctionText> translateFunction(FuncOp func, ConstantTable &constants,
                                          bool isNative);

/// The functions that call a kernel as a function, and those that they call in
/// turn: they become machine code.
llvm::DenseSet<Operation *> findNativeFunctions(ModuleOp module);

} // namespace mlir::relax::vm

#endif // RELAX_MLIR_LIB_CODEGEN_VM_FUNCTIONTRANSLATOR_H
