//===- WrittenInPlace.cpp - Tensors that are written in place ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows a value back, from write to write, to the tensor that it began as.
// Each tensor on the way has one use, the next write, besides reads of elements
// before it. Operations that write: those on elements, vectors and linalg;
// loops that carry the tensor, and branches that both write into it.
//
//===----------------------------------------------------------------------===//

#include "WrittenInPlace.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// Whether there is one use of a tensor on each path, besides elements that are
/// read before it.
static bool isUsedOnce(Value tensor) {
  SmallVector<Operation *> users, reads;
  for (Operation *user : tensor.getUsers()) {
    if (isa<tensor::ExtractOp>(user))
      reads.push_back(user);
    else if (!isa<tensor::DimOp>(user))
      users.push_back(user);
  }
  bool areReadBefore = llvm::all_of(reads, [&](Operation *read) {
    return llvm::any_of(users, [&](Operation *user) {
      return read->getBlock() == user->getBlock() &&
             read->isBeforeInBlock(user);
    });
  });
  if (users.size() != 2 || !areReadBefore)
    return users.size() == 1 && areReadBefore;
  // In both branches.
  auto getBranch = [&](Operation *user) -> Region * {
    Region *region = user->getParentRegion();
    while (region && !isa<scf::IfOp>(region->getParentOp()))
      region = region->getParentOp()->getParentRegion();
    return region && !region->isAncestor(tensor.getParentRegion()) ? region
                                                                   : nullptr;
  };
  Region *first = getBranch(users[0]), *second = getBranch(users[1]);
  return first && second && first != second &&
         first->getParentOp() == second->getParentOp();
}

static Value findWrittenInBranches(scf::IfOp branches, unsigned index);

/// The tensor that the operation of a value writes a part of, or all of. Null
/// where it makes another one, or where the value has more uses.
static Value findWritten(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isUsedOnce(value))
    return {};
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return insert.getDest();
  if (auto write = dyn_cast<vector::TransferWriteOp>(op))
    return write.getBase();
  auto result = cast<OpResult>(value);
  unsigned index = result.getResultNumber();
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    return linalg.getTiedOpOperand(result)->get();
  if (auto branches = dyn_cast<scf::IfOp>(op))
    return findWrittenInBranches(branches, index);
  auto loop = dyn_cast<scf::ForOp>(op);
  bool isInPlace = loop && isWrittenInPlace(loop.getYieldedValues()[index],
                                            loop.getRegionIterArg(index));
  return isInPlace ? loop.getInitArgs()[index] : Value();
}

/// The tensor that both branches write into; null where there are others.
static Value findWrittenInBranches(scf::IfOp branches, unsigned index) {
  Value found;
  for (Region *region : branches.getRegions()) {
    if (region->empty())
      return {};
    Value value = region->front().getTerminator()->getOperand(index);
    while (value && region->isAncestor(value.getParentRegion()))
      value = findWritten(value);
    if (!value || (found && value != found))
      return {};
    found = value;
  }
  return found;
}

bool mlir::relax::isWrittenInPlace(Value value, Value tensor) {
  while (value && value != tensor)
    value = findWritten(value);
  return value && isUsedOnce(value);
}
