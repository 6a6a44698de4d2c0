//===- Create.cpp - Kernels of operators that create tensors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shape is that of the output, so the shape operand is not a parameter.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

using namespace mlir;
using namespace mlir::relax;

static KernelResult buildFull(KernelBuilder &b, FullOp op, ValueRange inputs,
                              ValueRange outputs) {
  Type from = tensorType(op.getFillValue()).getDtype();
  Type to = op.getDtype().value_or(from);
  if (from == to)
    return one(b.copy(inputs[0], outputs[0]));
  if (failed(requireArithmetic(op, from)) || failed(requireArithmetic(op, to)))
    return failure();
  return one(
      b.elementwise(inputs, outputs[0], [&](ScalarBuilder &s, ValueRange x) {
        return s.cast(x[0], from, to);
      }));
}

/// Fills the output with one number.
template <typename OpTy>
static void addFill(LegalizationTable &table, double value) {
  table.add<OpTy>([value](KernelBuilder &b, OpTy, ValueRange,
                          ValueRange outputs) -> KernelResult {
    Type type = b.getElementType(outputs[0]);
    return one(b.fill(b.scalars().constant(type, value), outputs[0]));
  });
}

void mlir::relax::populateCreate(LegalizationTable &table) {
  table.add<FullOp>(buildFull);
  addFill<ZerosOp>(table, 0);
  addFill<OnesOp>(table, 1);
}
