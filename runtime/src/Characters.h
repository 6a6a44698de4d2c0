//===- Characters.h - Kinds of characters in text ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_CHARACTERS_H
#define RELAX_RUNTIME_CHARACTERS_H

namespace relax_runtime {

// Not those of <cctype>, which look at the locale.
inline bool isDigit(char c) { return c >= '0' && c <= '9'; }
inline bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

} // namespace relax_runtime

#endif // RELAX_RUNTIME_CHARACTERS_H
