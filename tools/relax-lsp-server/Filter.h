//===- Filter.h - What is added to the answers of the server -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's server knows operations by their names only, and offers no
// symbols. A filter reads what the client sends, and adds to the answers:
//
// - hover: the documentation of the operation under the cursor;
// - completion: the documentation of operations of Relax, also from a part of
//   the name; the symbols of the module, after `@`;
// - initialize: `@`, after which editors ask for completion.
//
// A message that it does not understand passes as it is. Upstream fails in
// three cases, which change on their way: `\r` becomes a blank, since a string
// may end there; completion in a symbol with quotes becomes one after the text;
// text after too many open brackets becomes blanks.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TOOLS_LSP_FILTER_H
#define RELAX_MLIR_TOOLS_LSP_FILTER_H

#include "Text.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <mutex>
#include <string>

namespace mlir::relax::lsp {

class Filter {
public:
  explicit Filter(const DialectRegistry &registry);

  /// Reads a message of the client, and returns what the server gets of it.
  std::string readRequest(std::string message);

  /// Adds to a message of the server. Another thread may call this one.
  std::string addToAnswer(std::string message);

private:
  /// Changes the result of an answer.
  using Addition = llvm::unique_function<void(llvm::json::Value &)>;

  /// The text of a document, and a place in it.
  struct Place {
    StringRef text;
    size_t offset;

    const char *get() const { return text.data() + offset; }
    /// From a place in the text to this one.
    llvm::lsp::Range getRange(const char *start) const;
  };

  /// Keeps the text of a document.
  void readDocument(StringRef method, llvm::json::Object &params);
  std::optional<Place> findPlace(const llvm::json::Object &params) const;

  /// What is added to an answer; null for nothing. It is found when the request
  /// comes, since the text may be another one when the answer comes.
  Addition findAddition(StringRef method, const llvm::json::Object &params);
  Addition findHover(Place place) const;
  Addition findCompletion(Place place);
  std::vector<llvm::lsp::CompletionItem> findSymbolItems(Place place);

  MLIRContext context;
  llvm::StringMap<std::string> documents; // by URI

  std::mutex mutex;
  llvm::StringMap<Addition> additions; // by id: 1 is not "1"
};

} // namespace mlir::relax::lsp

#endif // RELAX_MLIR_TOOLS_LSP_FILTER_H
