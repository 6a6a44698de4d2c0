//===- KernelParameters.cpp - Kernel parameters as memory -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelParameters.h"

#include "relax-mlir/Analysis/OpPattern.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

/// The parameter and its axis that an axis of a tensor is; null where the
/// tensor is neither a parameter nor one that is expanded along other axes.
static std::pair<BlockArgument, int64_t> findAxis(Value tensor, int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || axis < 0 || axis >= type.getRank())
    return {};
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>()) {
    std::optional<int64_t> source = findSourceAxis(expand, axis);
    if (!source)
      return {};
    return {dyn_cast<BlockArgument>(expand.getSrc()), *source};
  }
  return {dyn_cast<BlockArgument>(tensor), axis};
}

bool mlir::relax::isScalarOp(Operation &op) {
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> axis = dim.getConstantIndex();
    return axis && findAxis(dim.getSource(), *axis).first;
  }
  return op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::none_of(op.getOperandTypes(), llvm::IsaPred<ShapedType>) &&
         llvm::none_of(op.getResultTypes(), llvm::IsaPred<ShapedType>);
}

bool mlir::relax::isKnownScalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return value.getType().isIntOrIndexOrFloat();
  if (!isScalarOp(*op))
    return false;
  return isa<tensor::DimOp>(op) ||
         llvm::all_of(op->getOperands(), isKnownScalar);
}

Value KernelParameters::getSize(IndexBuilder &b, Value tensor,
                                int64_t axis) const {
  while (auto op = tensor.getDefiningOp<linalg::LinalgOp>())
    tensor =
        op.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber())->get();
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || axis < 0 || axis >= type.getRank())
    return Value();
  if (!type.isDynamicDim(axis))
    return b.index(type.getDimSize(axis));
  if (auto [parameter, own] = findAxis(tensor, axis); parameter)
    return (*this)[parameter].sizes[own];
  auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
  return empty ? scalars.lookupOrNull(empty.getDynamicSize(axis)) : Value();
}

KernelParameters::KernelParameters(IndexBuilder &b, func::FuncOp kernel,
                                   ValueRange arguments)
    : memory(arguments.size()) {
  for (auto [argument, value] :
       llvm::zip_equal(kernel.getArguments(), arguments)) {
    if (isa<MemRefType>(value.getType()))
      memory[argument.getArgNumber()] = FlatMemory::get(b, value);
    else
      scalars.map(argument, value);
  }
  auto isKnown = [&](Value value) { return scalars.contains(value); };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto dim = dyn_cast<tensor::DimOp>(op)) {
      std::optional<int64_t> axis = dim.getConstantIndex();
      if (Value size = axis ? getSize(b, dim.getSource(), *axis) : Value())
        scalars.map(dim.getResult(), size);
    } else if (op.getNumResults() != 0 && isScalarOp(op) &&
               llvm::all_of(op.getOperands(), isKnown)) {
      b.clone(op, scalars);
    }
  }
}
