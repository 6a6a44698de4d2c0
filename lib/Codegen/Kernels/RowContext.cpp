//===- RowContext.cpp - What the loops of a row kernel share ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowContext.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

RowContext::RowContext(IndexBuilder &b, const RowPlan &plan,
                       ValueRange arguments)
    : plan(plan), space(*plan.space), parameters(b, space.kernel, arguments) {
  for (const KernelSpace::Dim &dim : space.dims) {
    Value size = b.index(1);
    for (const KernelSpace::Factor &factor : dim.factors)
      size = b.mul(size, factor.isKnown()
                             ? b.index(factor.size)
                             : parameters[factor.param].sizes[factor.axis]);
    sizes.push_back(size);
  }
}

Value RowContext::splat(IndexBuilder &b, TypedAttr value) const {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(getVectorType(value.getType()), value));
}

Value RowContext::makeMask(IndexBuilder &b, Value count) const {
  return vector::CreateMaskOp::create(b, getVectorType(b.getI1Type()), count);
}

Value mlir::relax::allocateScratch(IndexBuilder &b, Type element,
                                   OpFoldResult size) {
  SmallVector<Value> dynamicSizes;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResult(size, dynamicSizes, shape);
  // Booleans are bytes in memory.
  if (element.isInteger(1))
    element = b.getI8Type();
  auto alloc =
      memref::AllocOp::create(b, MemRefType::get(shape, element), dynamicSizes);
  alloc.setAlignment(64);
  return alloc;
}

RowScope RowGroup::getElements(unsigned number, ArrayRef<Value> positions) {
  RowScope scope;
  scope.positions.assign(positions.begin(), positions.end());
  scope.row = &rows[number];
  scope.group = this;
  return scope;
}

const RowCopy *RowGroup::findCopy(const Access &access) const {
  for (auto &[known, copy] : copies)
    if (known == access)
      return &copy;
  return nullptr;
}
