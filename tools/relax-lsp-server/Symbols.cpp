//===- Symbols.cpp - The symbols of a module -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A definition is the name of an operation that defines a symbol, keywords and
// strings such as `private`, and the symbol:
//
//   relax.func private @f(%x: !relax.object) -> !relax.object {
//
// The type of a function is what comes next: one pair of parentheses, and after
// an arrow one type.
//
//===----------------------------------------------------------------------===//

#include "Symbols.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::relax::lsp;
using llvm::lsp::CompletionItemKind;

/// The operation that a token names, if it defines a symbol.
static std::optional<RegisteredOperationName>
findSymbolOp(const Token &token, MLIRContext &context) {
  auto [dialect, name] = token.text.split('.');
  if (token.kind != Token::Word || name.empty() ||
      !context.getOrLoadDialect(dialect))
    return std::nullopt;
  auto op = RegisteredOperationName::lookup(token.text, &context);
  return op && op->hasInterface<SymbolOpInterface>() ? op : std::nullopt;
}

static CompletionItemKind getKind(RegisteredOperationName op) {
  if (op.hasInterface<FunctionOpInterface>())
    return CompletionItemKind::Function;
  return op.hasTrait<OpTrait::SymbolTable>() ? CompletionItemKind::Module
                                             : CompletionItemKind::Variable;
}

/// Skips a bracket at the front, with everything up to the one that closes it.
static ArrayRef<Token> skipBracket(ArrayRef<Token> tokens) {
  int64_t depth = 0;
  while (!tokens.empty()) {
    const Token &token = tokens.front();
    bool isBracket = token.kind == Token::Other && token.text.size() == 1;
    depth += isBracket && StringRef("([{<").contains(token.text[0]);
    depth -= isBracket && StringRef(")]}>").contains(token.text[0]);
    tokens = tokens.drop_front();
    if (depth <= 0)
      break;
  }
  return tokens;
}

/// Skips a type at the front: in parentheses, or a name with its parameters.
static ArrayRef<Token> skipType(ArrayRef<Token> tokens) {
  if (tokens.empty() || tokens.front().is('('))
    return skipBracket(tokens);
  tokens = tokens.drop_front();
  bool hasParameters = !tokens.empty() && tokens.front().is('<');
  return hasParameters ? skipBracket(tokens) : tokens;
}

/// The type of a function, whose name is in front of the tokens.
static std::string findType(ArrayRef<Token> tokens) {
  if (tokens.empty() || !tokens.front().is('('))
    return "";
  ArrayRef<Token> rest = skipBracket(tokens);
  if (!rest.empty() && rest.front().kind == Token::Arrow)
    rest = skipType(rest.drop_front());
  tokens = tokens.drop_back(rest.size());
  const char *start = tokens.front().text.begin();
  StringRef text(start, tokens.back().text.end() - start);
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  return llvm::join(words, " ");
}

/// The symbol that an operation defines, whose name is in front of the tokens;
/// null where no symbol follows.
static const Token *findName(ArrayRef<Token> tokens) {
  const Token *name = llvm::find_if_not(tokens, [](const Token &token) {
    bool isKeyword = token.kind == Token::Word && !token.text.contains('.');
    return isKeyword || token.kind == Token::String;
  });
  return name != tokens.end() && name->kind == Token::Symbol ? name : nullptr;
}

std::vector<Symbol> mlir::relax::lsp::findSymbols(ArrayRef<Token> tokens,
                                                  MLIRContext &context) {
  std::vector<Symbol> symbols;
  llvm::StringSet<> seen;
  for (; !tokens.empty(); tokens = tokens.drop_front()) {
    const Token *token = findName(tokens.drop_front());
    if (!token)
      continue;
    auto op = findSymbolOp(tokens.front(), context);
    StringRef name = token->text.drop_front();
    if (!op || !seen.insert(name).second)
      continue;
    CompletionItemKind kind = getKind(*op);
    bool isFunction = kind == CompletionItemKind::Function;
    ArrayRef<Token> after(token + 1, tokens.end());
    symbols.push_back({name, kind, isFunction ? findType(after) : "", token});
  }
  return symbols;
}
