//===- Text.cpp - The text of a document -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No text is wrong: what no token begins with is a token of one character.
//
//===----------------------------------------------------------------------===//

#include "Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::relax::lsp;

static constexpr StringLiteral kSeparator = "// -----";

static bool isWordStart(char c) { return llvm::isAlpha(c) || c == '_'; }

static bool isWordPart(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
}

/// How many of the bytes after `start` make up a string; a line ends it.
static size_t measureString(StringRef text, size_t start) {
  size_t end = start + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' && end + 1 < text.size() && text[end + 1] != '\n'
               ? 2
               : 1;
  bool isClosed = end < text.size() && text[end] == '"';
  return std::min(end + isClosed, text.size()) - start;
}

static size_t measureWord(StringRef text, size_t start) {
  return text.drop_front(start).take_while(isWordPart).size();
}

static Token readToken(StringRef text, size_t start) {
  auto make = [&](Token::Kind kind, size_t size) {
    return Token{kind, text.substr(start, size)};
  };
  char first = text[start];
  char second = start + 1 < text.size() ? text[start + 1] : '\0';
  if (isWordStart(first))
    return make(Token::Word, measureWord(text, start));
  if (first == '"')
    return make(Token::String, measureString(text, start));
  if (first == '@' && second == '"')
    return make(Token::Symbol, 1 + measureString(text, start + 1));
  if (first == '@')
    return make(Token::Symbol, 1 + measureWord(text, start + 1));
  if (StringRef("%!#^").contains(first))
    return make(Token::Sigil, 1 + measureWord(text, start + 1));
  if (first == '-' && second == '>')
    return make(Token::Arrow, 2);
  return make(Token::Other,
              std::max<size_t>(1, measureWord(text, start))); // 4xf32
}

std::vector<Token> mlir::relax::lsp::readTokens(StringRef text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    if (llvm::isSpace(text[at])) {
      ++at;
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else {
      tokens.push_back(readToken(text, at));
      at += tokens.back().text.size();
    }
  }
  return tokens;
}

const Token *mlir::relax::lsp::findToken(ArrayRef<Token> tokens,
                                         const char *place) {
  const Token *after = llvm::partition_point(
      tokens, [&](const Token &token) { return token.text.begin() <= place; });
  if (after == tokens.begin())
    return nullptr;
  const Token *token = after - 1;
  return place <= token->text.end() ? token : nullptr;
}

/// How many bytes the character has that starts with `byte`, in UTF-8.
static size_t countBytes(unsigned char byte) {
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// How many units of UTF-16 a character has, of its bytes in UTF-8.
static int64_t countUnits(size_t bytes) { return bytes == 4 ? 2 : 1; }

std::optional<size_t> mlir::relax::lsp::findOffset(StringRef text, int64_t line,
                                                   int64_t column) {
  if (line < 0 || column < 0)
    return std::nullopt;
  size_t offset = 0;
  for (; line > 0; --line) {
    offset = text.find('\n', offset);
    if (offset == StringRef::npos)
      return std::nullopt;
    ++offset;
  }
  while (column > 0 && offset < text.size() && text[offset] != '\n') {
    size_t bytes = countBytes(text[offset]);
    column -= countUnits(bytes);
    offset = std::min(offset + bytes, text.size());
  }
  return offset;
}

llvm::lsp::Position mlir::relax::lsp::findPosition(StringRef text,
                                                   size_t offset) {
  StringRef before = text.take_front(offset);
  size_t start = before.rfind('\n') + 1; // 0 where there is none
  llvm::lsp::Position position(before.count('\n'));
  for (size_t at = start; at < before.size();) {
    size_t bytes = countBytes(before[at]);
    position.character += countUnits(bytes);
    at += bytes;
  }
  return position;
}

StringRef mlir::relax::lsp::findModule(StringRef text, size_t offset) {
  size_t before = text.take_front(offset).rfind(kSeparator);
  size_t start = before == StringRef::npos ? 0 : before + kSeparator.size();
  return text.slice(start, text.find(kSeparator, offset));
}
