//===- Text.h - The text of a document -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be said of a text that does not parse, as while it is edited: its
// tokens, and where a position of the protocol lies.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TOOLS_LSP_TEXT_H
#define RELAX_MLIR_TOOLS_LSP_TEXT_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/LSP/Protocol.h"

#include <optional>
#include <vector>

namespace mlir::relax::lsp {

/// A token of MLIR's assembly format. Comments are none.
struct Token {
  enum Kind {
    Word,   // relax.add, private
    Symbol, // @main, @"a name", and @ alone
    Sigil,  // %x, !relax.tensor, #map, ^bb0
    String,
    Arrow,
    Other, // a number, or one character
  };

  Kind kind;
  StringRef text; // in the document

  bool is(char character) const {
    return kind == Other && text.size() == 1 && text[0] == character;
  }
};

std::vector<Token> readTokens(StringRef text);

/// The token at an offset; of two that meet there, the one that starts; null
/// where there is none. The end of a token belongs to it.
const Token *findToken(ArrayRef<Token> tokens, const char *place);

/// The offset of a position; of the end of the line where that is shorter.
/// Columns count units of UTF-16.
std::optional<size_t> findOffset(StringRef text, int64_t line, int64_t column);

/// The position of an offset.
llvm::lsp::Position findPosition(StringRef text, size_t offset);

/// The part of the text around an offset that is one module: `// -----`
/// separates them.
StringRef findModule(StringRef text, size_t offset);

} // namespace mlir::relax::lsp

#endif // RELAX_MLIR_TOOLS_LSP_TEXT_H
