//===- Sites.cpp - Places in programs ---------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/Sites.h"

#include "relax-mlir/IR/Relax.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::relax;

std::string mlir::relax::getLocationText(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  std::string text = file.getFilename().str();
  // Otherwise a place in something that has no lines, such as a graph.
  if (file.getLine() != 0)
    text += llvm::formatv(":{0}:{1}", file.getLine(), file.getColumn());
  if (auto module = loc->findInstanceOf<FusedLocWith<StringAttr>>())
    text += " in " + module.getMetadata().str();
  return text;
}

std::string mlir::relax::describeExpr(Operation *op) {
  auto expr = RelaxDialect::ExprAttrHelper(op->getContext()).getAttr(op);
  return expr ? ("dimension " + expr.getValue()).str() : "a dimension";
}
