//===- OpDocs.cpp - The documentation of operations -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The build writes it, from the records of RelaxOps.td
// (scripts/generate_op_docs.py).
//
//===----------------------------------------------------------------------===//

#include "OpDocs.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::relax::lsp;

static constexpr OpDoc kOpDocs[] = {
#include "OpDocs.inc"
};

ArrayRef<OpDoc> mlir::relax::lsp::getOpDocs() { return kOpDocs; }

StringRef mlir::relax::lsp::findOpDoc(StringRef name) {
  const OpDoc *doc = llvm::partition_point(
      kOpDocs, [&](const OpDoc &each) { return each.name < name; });
  bool isFound = doc != std::end(kOpDocs) && doc->name == name;
  return isFound ? StringRef(doc->text) : StringRef();
}
