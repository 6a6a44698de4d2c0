//===- ShapeNames.cpp - Names of shape variables -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shape variable is a name in attributes and types, so operations that move
// into another scope are searched for names, and get others.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace mlir::relax;

void mlir::relax::collectNames(Operation *root, llvm::StringSet<> &names) {
  AttrTypeWalker walker;
  walker.addWalk([&](PrimExprAttr expr) {
    collectVars(expr, names);
    return WalkResult::skip();
  });
  walker.addWalk([&](TensorStructInfoType type) {
    if (type.getShapeVar())
      names.insert(type.getShapeVar().getValue());
  });
  walker.addWalk([&](ShapeStructInfoType type) {
    if (type.getVar())
      names.insert(type.getVar().getValue());
  });
  root->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
    for (Region &region : op->getRegions())
      for (Type type : region.getArgumentTypes())
        walker.walk(type);
  });
}

std::string mlir::relax::makeFreshName(StringRef name,
                                       llvm::StringSet<> &taken) {
  std::string fresh;
  for (unsigned i = 1; fresh.empty() || taken.contains(fresh); ++i)
    fresh = (name + "_" + Twine(i)).str();
  taken.insert(fresh);
  return fresh;
}

void mlir::relax::replaceVars(Operation *root, const ShapeVarMap &values) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](PrimExprAttr expr) -> std::pair<Attribute, WalkResult> {
        return {substitute(expr, values.dims), WalkResult::skip()};
      });
  replacer.addReplacement(
      [&](Type type) -> std::optional<std::pair<Type, WalkResult>> {
        if (!isa<StructInfoTypeInterface>(type))
          return std::nullopt;
        return std::make_pair(substitute(type, values), WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}
