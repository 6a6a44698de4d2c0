//===- Lexer.cc - Tokens of text assembly -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the characters of text assembly.
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"

#include "../Characters.h"
#include "../Internal.h"

#include <algorithm>
#include <cstdio>

using namespace relax_runtime;
using namespace relax_runtime::vm;

//===----------------------------------------------------------------------===//
// Characters
//===----------------------------------------------------------------------===//

static bool isWordChar(char c) { return isLetter(c) || isDigit(c) || c == '.'; }
static bool isNumberChar(char c) {
  return isWordChar(c) || c == '+' || c == '-';
}
static bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void Lexer::fail(size_t offset, const std::string &message) const {
  std::string_view before = text.substr(0, offset);
  size_t line =
      1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  RELAX_THROW(ValueError) << "line " << line << ", column "
                          << offset - lineStart + 1 << ": " << message;
  throw; // not reached
}

static std::string tokenText(const Token &token) {
  switch (token.kind) {
  case TokenKind::End:
    return "the end of the text";
  case TokenKind::String:
    return quote(token.text);
  case TokenKind::Register:
    return "'%" + token.text + "'";
  case TokenKind::Heap:
    return "'$" + token.text + "'";
  case TokenKind::Constant:
    return "'#" + token.text + "'";
  case TokenKind::Function:
    return "'@" + quoteName(token.text) + "'";
  default:
    return "'" + token.text + "'";
  }
}

void Lexer::failAt(const Token &found, const std::string &expected) const {
  fail(found.offset, "expected " + expected + ", but got " + tokenText(found));
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void Lexer::skipBlanks() {
  while (position < text.size()) {
    if (isBlank(text[position]))
      ++position;
    else if (text[position] == ';')
      position = std::min(text.find('\n', position), text.size());
    else
      return;
  }
}

std::string_view Lexer::takeWhile(bool (*belongs)(char)) {
  size_t start = position;
  while (position < text.size() && belongs(text[position]))
    ++position;
  return text.substr(start, position - start);
}

static int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// After a backslash: one of \ " n t r, or two hexadecimal digits.
char Lexer::readEscape() {
  size_t offset = position - 1;
  if (position < text.size()) {
    char c = text[position++];
    static constexpr std::string_view names = "\\\"ntr", values = "\\\"\n\t\r";
    size_t index = names.find(c);
    if (index != std::string_view::npos)
      return values[index];
    int high = digitValue(c);
    int low = position < text.size() ? digitValue(text[position]) : -1;
    if (high >= 0 && low >= 0) {
      ++position;
      return static_cast<char>(16 * high + low);
    }
  }
  fail(offset, "expected \\\\, \\\", \\n, \\t, \\r or a backslash and two "
               "hexadecimal digits");
}

// After the opening quote.
std::string Lexer::readString() {
  size_t offset = position - 1;
  std::string result;
  while (position < text.size()) {
    char c = text[position++];
    if (c == '"')
      return result;
    if (c == '\n')
      break;
    result += c == '\\' ? readEscape() : c;
  }
  fail(offset, "expected the string to end on its line");
}

void Lexer::next() {
  skipBlanks();
  token = Token{TokenKind::End, "", position};
  if (position == text.size())
    return;
  char c = text[position];
  if (isLetter(c)) {
    token.kind = TokenKind::Word;
    token.text = takeWhile(isWordChar);
    return;
  }
  if (isDigit(c) || c == '-') {
    token.kind = TokenKind::Number;
    token.text = takeWhile(isNumberChar);
    return;
  }
  ++position;
  static constexpr std::string_view sigils = "%$#";
  static constexpr TokenKind kinds[] = {TokenKind::Register, TokenKind::Heap,
                                        TokenKind::Constant};
  size_t sigil = sigils.find(c);
  if (sigil != std::string_view::npos) {
    token.kind = kinds[sigil];
    token.text = takeWhile(isDigit);
    if (token.text.empty())
      fail(token.offset, std::string("expected a number behind '") + c + "'");
    return;
  }
  if (c == '"') {
    token.kind = TokenKind::String;
    token.text = readString();
    return;
  }
  if (c == '@') {
    token.kind = TokenKind::Function;
    if (position < text.size() && text[position] == '"') {
      ++position;
      token.text = readString();
      return;
    }
    token.text = takeWhile(isWordChar);
    if (token.text.empty())
      fail(token.offset, "expected a name behind '@'");
    return;
  }
  static constexpr std::string_view marks = "()[]{},=:";
  if (marks.find(c) == std::string_view::npos)
    fail(token.offset, "expected a token, but got the character " +
                           quote(std::string_view(&c, 1)));
  token.kind = TokenKind::Mark;
  token.text = c;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string relax_runtime::vm::quote(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    static constexpr std::string_view values = "\\\"\n\t\r", names = "\\\"ntr";
    size_t index = values.find(c);
    if (index != std::string_view::npos) {
      result += '\\';
      result += names[index];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char digits[4];
      std::snprintf(digits, sizeof(digits), "\\%02x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += digits;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string relax_runtime::vm::quoteName(std::string_view name) {
  bool isBare = !name.empty() && isLetter(name[0]) &&
                std::all_of(name.begin(), name.end(), isWordChar);
  return isBare ? std::string(name) : quote(name);
}
