//===- IntegerRanges.cpp - Ranges of integers of the host -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What upstream's analysis of integer ranges learns of operations that read
// integers from values. A dimension is not taken from the type of its tensor:
// checks read the dimensions of arguments that may not be what their type says.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"

using namespace mlir;
using namespace mlir::relax;

static ConstantIntRanges notNegative() {
  return ConstantIntRanges::fromSigned(APInt::getZero(64),
                                       APInt::getSignedMaxValue(64));
}

void DimOp::inferResultRangesFromOptional(ArrayRef<IntegerValueRange>,
                                          SetIntLatticeFn setRange) {
  // A primitive value may be negative.
  setRange(getResult(), isa<TensorStructInfoType>(getValue().getType())
                            ? IntegerValueRange(notNegative())
                            : IntegerValueRange::getMaxRange(getResult()));
}

void TagOp::inferResultRangesFromOptional(ArrayRef<IntegerValueRange>,
                                          SetIntLatticeFn setRange) {
  setRange(getResult(), notNegative());
}
