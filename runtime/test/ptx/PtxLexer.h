//===- PtxLexer.h - Words of PTX --------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a text from the left to the right, and counts its lines.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_LEXER_H
#define RELAX_RUNTIME_TEST_PTX_LEXER_H

#include "PtxProgram.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace relax_ptx {

class Lexer {
public:
  explicit Lexer(const char *text) : at(text) {}

  uint32_t line() const { return lineNumber; }
  [[noreturn]] void fail(const std::string &text) const {
    throw SyntaxError{lineNumber, text};
  }
  [[noreturn]] void failHere(const std::string &text) {
    skip();
    size_t length = std::strcspn(at, "\n");
    std::string here(at, length < 24 ? length : 24);
    fail(text + (here.empty() ? " at the end" : " at '" + here + "'"));
  }

  // The next character that is no blank and in no comment.
  char peek() {
    skip();
    return *at;
  }
  char peekNext() const { return at[1]; }
  const char *place() const { return at; }

  bool eat(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  void need(char c) {
    if (!eat(c))
      failHere(std::string("expected '") + c + "'");
  }
  // A word as .align, to its end.
  bool eat(const char *text) {
    skip();
    size_t length = std::strlen(text);
    if (std::strncmp(at, text, length) || isInWord(at[length]))
      return false;
    at += length;
    return true;
  }
  // A name; with dots where it is one of an instruction or special register.
  std::string word(bool dots) {
    skip();
    const char *begin = at;
    while (isInWord(*at) || (dots && (*at == '.' || isColons())))
      at += isColons() ? 2 : 1;
    if (begin == at)
      failHere("expected a name");
    return std::string(begin, at);
  }
  int64_t integer() {
    skip();
    char *end;
    bool negative = *at == '-';
    if (negative)
      ++at;
    uint64_t value = at[0] == '0' && (at[1] == 'b' || at[1] == 'B')
                         ? std::strtoull(at + 2, &end, 2)
                         : std::strtoull(at, &end, 0);
    if (end == at || !std::isdigit(static_cast<unsigned char>(*at)))
      failHere("expected a number");
    at = *end == 'U' ? end + 1 : end;
    return static_cast<int64_t>(negative ? 0 - value : value);
  }
  // The digits of 0f3F800000 and 0d3FF0000000000000.
  uint64_t hexadecimal(int digits) {
    std::string text(at + 2, strnlen(at + 2, digits));
    char *end;
    uint64_t value = std::strtoull(text.c_str(), &end, 16);
    if (end != text.c_str() + digits)
      failHere("expected a number");
    at += 2 + digits;
    return value;
  }
  double decimal() {
    char *end;
    double value = std::strtod(at, &end);
    at = end;
    return value;
  }
  // Goes on after the next such character, at the end of the text otherwise.
  void skipTo(char c) {
    while (*at && *at != c)
      next();
    if (*at)
      next();
  }
  void skipBraces() {
    need('{');
    for (int depth = 1; depth && *at; next())
      depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
  }

  static bool isInWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '%';
  }

private:
  bool isColons() const { return at[0] == ':' && at[1] == ':'; }
  void next() {
    if (*at++ == '\n')
      ++lineNumber;
  }
  void skip() {
    for (;;) {
      if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n') {
        next();
      } else if (at[0] == '/' && at[1] == '/') {
        while (*at && *at != '\n')
          ++at;
      } else if (at[0] == '/' && at[1] == '*') {
        const char *end = std::strstr(at + 2, "*/");
        end = end ? end + 2 : at + std::strlen(at);
        while (at != end)
          next();
      } else {
        return;
      }
    }
  }

  const char *at;
  uint32_t lineNumber = 1;
};

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_LEXER_H
