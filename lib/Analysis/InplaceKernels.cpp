//===- InplaceKernels.cpp - Kernels that may write over inputs -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A single linalg operation with parallel loops only, which reads and writes at
// identity maps, has read an element of the input before it writes the same
// element of the output, in any order of the iteration space. Two operations
// would not: the second one would read what the first one wrote.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/TensorLiveness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

/// The only operation of a kernel that computes elements; null where there are
/// others.
static linalg::LinalgOp getOnlyComputation(Block &body) {
  linalg::LinalgOp only;
  for (Operation &op : body) {
    if (isa<arith::ConstantOp, tensor::DimOp, tensor::EmptyOp, func::ReturnOp>(
            op))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || only)
      return {};
    only = linalgOp;
  }
  return only;
}

/// Whether the result of the kernel that is put in parameter `output` is that
/// of the computation, made in place or in a new tensor.
static bool isWrittenInOrder(linalg::LinalgOp op, Value output) {
  if (op->getNumResults() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return false;
  OpOperand *init = op.getDpsInitOperand(0);
  return op.getMatchingIndexingMap(init).isIdentity() &&
         (init->get() == output ||
          init->get().getDefiningOp<tensor::EmptyOp>());
}

static bool isReadInOrder(linalg::LinalgOp op, Value input) {
  return llvm::all_of(input.getUses(), [&](OpOperand &use) {
    if (isa<tensor::DimOp>(use.getOwner()))
      return true;
    return use.getOwner() == op.getOperation() && op.isDpsInput(&use) &&
           op.getMatchingIndexingMap(&use).isIdentity();
  });
}

bool mlir::relax::mayWriteOver(FunctionOpInterface kernel, unsigned input,
                               unsigned output) {
  auto function = dyn_cast_or_null<func::FuncOp>(kernel.getOperation());
  if (!function || function.isExternal() || !function.getBody().hasOneBlock() ||
      std::max(input, output) >= function.getNumArguments())
    return false;
  Block &body = function.getBody().front();
  linalg::LinalgOp op = getOnlyComputation(body);
  auto ret = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!op || !ret || ret.getNumOperands() != 1 ||
      ret.getOperand(0) != op->getResult(0))
    return false;
  auto from = dyn_cast<RankedTensorType>(body.getArgument(input).getType());
  auto to = dyn_cast<RankedTensorType>(body.getArgument(output).getType());
  return from && to &&
         llvm::divideCeil(from.getElementTypeBitWidth(), 8) ==
             llvm::divideCeil(to.getElementTypeBitWidth(), 8) &&
         isWrittenInOrder(op, body.getArgument(output)) &&
         isReadInOrder(op, body.getArgument(input));
}
