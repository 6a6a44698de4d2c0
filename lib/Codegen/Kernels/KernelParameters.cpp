//===- KernelParameters.cpp - Kernel parameters as memory -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelParameters.h"

#include "Contraction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isScalarOp(Operation &op) {
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
    std::optional<int64_t> axis = dim.getConstantIndex();
    return type && isa<BlockArgument>(dim.getSource()) && axis && *axis >= 0 &&
           *axis < type.getRank();
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

KernelParameters::KernelParameters(IndexBuilder &b, func::FuncOp kernel,
                                   ValueRange arguments)
    : memory(arguments.size()) {
  for (auto [argument, value] :
       llvm::zip_equal(kernel.getArguments(), arguments)) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type) {
      scalars.map(argument, value);
      continue;
    }
    Memory &entry = memory[argument.getArgNumber()];
    entry.flat = flatten(b, value);
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      entry.sizes.push_back(getDim(b, value, axis));
    entry.strides.resize(type.getRank());
    Value stride = b.index(1);
    for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
      entry.strides[axis] = stride;
      stride = b.mul(stride, entry.sizes[axis]);
    }
  }
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0 ||
        !llvm::all_of(op.getResults(), isKnownScalar))
      continue;
    auto dim = dyn_cast<tensor::DimOp>(op);
    if (!dim) {
      b.clone(op, scalars);
      continue;
    }
    const Memory &source = (*this)[cast<BlockArgument>(dim.getSource())];
    scalars.map(dim.getResult(), source.sizes[*dim.getConstantIndex()]);
  }
}
