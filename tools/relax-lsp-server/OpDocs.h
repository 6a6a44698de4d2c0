//===- OpDocs.h - The documentation of operations -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As ODS has it: summary and description, in Markdown.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TOOLS_LSP_OPDOCS_H
#define RELAX_MLIR_TOOLS_LSP_OPDOCS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::relax::lsp {

struct OpDoc {
  StringLiteral name; // with the prefix of the dialect
  StringLiteral text;
};

/// All operations of the dialect, by name.
ArrayRef<OpDoc> getOpDocs();

/// The documentation of an operation; empty where the dialect has none of this
/// name.
StringRef findOpDoc(StringRef name);

} // namespace mlir::relax::lsp

#endif // RELAX_MLIR_TOOLS_LSP_OPDOCS_H
