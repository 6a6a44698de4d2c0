//===- Indices.cpp - Indices that are elements of tensors -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::relax;

Value mlir::relax::asIndex(ScalarBuilder &s, Value number, Type dtype) {
  if (dtype.isUnsignedInteger(64)) // beyond any dimension, not negative
    number = arith::MinUIOp::create(
        s, number,
        arith::ConstantOp::create(
            s, s.getI64IntegerAttr(std::numeric_limits<int64_t>::max())));
  return arith::IndexCastOp::create(s, s.getIndexType(),
                                    s.cast(number, dtype, s.getI64Type()));
}

Value mlir::relax::fromEnd(ScalarBuilder &s, Value place, Value size) {
  Value isNegative =
      arith::CmpIOp::create(s, arith::CmpIPredicate::slt, place, s.index(0));
  return s.select(isNegative, s.add(place, size), place);
}

DimPairs mlir::relax::checkElementIndices(Value data, Value indices,
                                          int64_t axis) {
  TensorStructInfoType type = tensorType(data);
  axis = getAxis(axis, type.getNdim());
  DimPairs pairs;
  for (auto [i, dims] : llvm::enumerate(
           llvm::zip(type.getDims(), tensorType(indices).getDims()))) {
    auto [dim, count] = dims;
    if (static_cast<int64_t>(i) != axis)
      pairs.emplace_back(PrimExprAttr::getCall(PrimExprKind::Max, {dim, count}),
                         dim);
  }
  return pairs;
}
