//===- Symbols.h - The symbols of a module -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Found in its text, since a module that is edited rarely parses.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TOOLS_LSP_SYMBOLS_H
#define RELAX_MLIR_TOOLS_LSP_SYMBOLS_H

#include "Text.h"

#include "mlir/IR/MLIRContext.h"

namespace mlir::relax::lsp {

/// A symbol that an operation defines.
struct Symbol {
  StringRef name; // with the quotes that it needs
  llvm::lsp::CompletionItemKind kind;
  std::string type;   // of a function, as the text has it
  const Token *token; // the name where it is defined
};

/// The symbols that operations in the custom form define, each name once.
std::vector<Symbol> findSymbols(ArrayRef<Token> tokens, MLIRContext &context);

} // namespace mlir::relax::lsp

#endif // RELAX_MLIR_TOOLS_LSP_SYMBOLS_H
