//===- Nesting.h - The depth of text -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR parses by recursion, so deeply nested text would overflow the stack of
// the thread.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_NESTING_H
#define RELAX_MLIR_IR_NESTING_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mlir::relax {

/// How many brackets may be open at once.
constexpr unsigned kMaxNesting = 1000;

/// The position of the first bracket of a text of MLIR that is nested more
/// deeply than `limit`; none where there is no such one.
std::optional<size_t> findDeepNesting(llvm::StringRef text,
                                      unsigned limit = kMaxNesting);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_NESTING_H
