//===- Nesting.cpp - The depth of text -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts brackets outside of strings and comments. Arrows and comparisons are
// no brackets.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Nesting.h"

using llvm::StringRef;

/// The position after the string, comment or slash at `start`.
static size_t skip(StringRef text, size_t start) {
  if (text[start] == '/')
    return text.substr(start).starts_with("//")
               ? std::min(text.find('\n', start), text.size())
               : start + 1;
  size_t i = start + 1;
  while (i < text.size() && text[i] != '"' && text[i] != '\n')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

std::optional<size_t> mlir::relax::findDeepNesting(StringRef text,
                                                   unsigned limit) {
  unsigned depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isBeforeEquals = i + 1 < text.size() && text[i + 1] == '=';
    switch (text[i]) {
    case '"':
    case '/':
      i = skip(text, i) - 1;
      break;
    case '-': // of an arrow
      i += i + 1 < text.size() && text[i + 1] == '>';
      break;
    case '<':
      if (isBeforeEquals)
        break;
      [[fallthrough]];
    case '(':
    case '[':
    case '{':
      if (++depth > limit)
        return i;
      break;
    case '>':
      if (isBeforeEquals)
        break;
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return std::nullopt;
}
