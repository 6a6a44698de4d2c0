//===- Uses.cpp - Uses that keep an operation from being erased -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR ends the process where an operation is destroyed that is still used. So
// Python asks first.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir-c/Dialect.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

/// A user of a value that does not go with `root`; null where there is none.
static Operation *findUser(Operation *root, Value value) {
  for (Operation *user : value.getUsers())
    if (!root->isProperAncestor(user))
      return user;
  return nullptr;
}

/// The same of anything inside of `root`, which uses itself freely.
static Operation *findInnerUser(Operation *root) {
  Operation *found = nullptr;
  auto visit = [&](Value value) {
    found = findUser(root, value);
    return found != nullptr;
  };
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isUsed = op != root && llvm::any_of(op->getResults(), visit);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        isUsed = isUsed || llvm::any_of(block.getArguments(), visit);
    return isUsed ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

MlirOperation mlirRelaxFindUserOfErased(MlirOperation op) {
  Operation *root = unwrap(op);
  // Uses of its results inside of itself are too many, too.
  for (Value result : root->getResults())
    if (!result.use_empty())
      return wrap(*result.getUsers().begin());
  return wrap(findInnerUser(root));
}
