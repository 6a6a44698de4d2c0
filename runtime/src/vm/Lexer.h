//===- Lexer.h - Tokens of text assembly ------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits text assembly into tokens and records the position of each of them.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_LEXER_H
#define RELAX_RUNTIME_VM_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace relax_runtime::vm {

enum class TokenKind : uint8_t {
  End,
  Word,     // call, L1, main.f
  Number,   // -17, 0.5, 0x3f80, inf
  String,   // "text", without the quotes and with escapes read
  Register, // %3
  Heap,     // $2
  Constant, // #4
  Function, // @f, @"f g"
  Mark      // one of ( ) [ ] { } , = :
};

struct Token {
  TokenKind kind = TokenKind::End;
  // The word, the digits, the name or the mark.
  std::string text;
  // Where it begins.
  size_t offset = 0;
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) { next(); }

  const Token &peek() const { return token; }
  Token take() {
    Token taken = std::move(token);
    next();
    return taken;
  }

  // Throws ValueError with the line and column of an offset.
  [[noreturn]] void fail(size_t offset, const std::string &message) const;
  // "expected `expected`, but got" the token.
  [[noreturn]] void failAt(const Token &found,
                           const std::string &expected) const;

private:
  void next();
  void skipBlanks();
  std::string_view takeWhile(bool (*belongs)(char));
  std::string readString();
  char readEscape();

  std::string_view text;
  size_t position = 0;
  Token token;
};

// A name as text assembly writes it: bare, or in quotes where it has to be.
std::string quoteName(std::string_view name);
// Text in quotes, with escapes.
std::string quote(std::string_view text);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_LEXER_H
