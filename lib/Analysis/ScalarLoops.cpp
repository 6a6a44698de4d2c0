//===- ScalarLoops.cpp - Loops without vectors ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/ScalarLoops.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// Whether a block leads back to one before it, in whatever order they stand.
static bool hasLoops(Region &body) {
  DenseMap<Block *, bool> isOpen; // and not left yet
  SmallVector<std::pair<Block *, unsigned>> path = {{&body.front(), 0}};
  isOpen[&body.front()] = true;
  while (!path.empty()) {
    auto &[block, next] = path.back();
    if (next == block->getNumSuccessors()) {
      isOpen[block] = false;
      path.pop_back();
      continue;
    }
    Block *successor = block->getSuccessor(next++);
    auto [found, isNew] = isOpen.try_emplace(successor, true);
    if (isNew)
      path.emplace_back(successor, 0);
    else if (found->second)
      return true;
  }
  return false;
}

bool mlir::relax::hasScalarLoops(LLVM::LLVMFuncOp function) {
  auto makesVectors = [](Operation &op) {
    return llvm::any_of(op.getResultTypes(), llvm::IsaPred<VectorType>);
  };
  return hasLoops(function.getBody()) &&
         llvm::none_of(function.getBody().getOps(), makesVectors);
}
