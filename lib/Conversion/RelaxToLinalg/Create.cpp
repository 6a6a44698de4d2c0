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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::relax;

/// Fills the output with the scalar `value`, which may be of another data type.
static KernelResult fillWith(KernelBuilder &b, Type from, Type to, Value value,
                             Value output) {
  if (from == to)
    return one(b.copy(value, output));
  return one(b.elementwise(value, output, [&](ScalarBuilder &s, ValueRange x) {
    return s.cast(x[0], from, to);
  }));
}

static KernelResult buildFull(KernelBuilder &b, FullOp op, ValueRange inputs,
                              ValueRange outputs) {
  Type from = tensorType(op.getFillValue()).getDtype();
  return fillWith(b, from, op.getDtype().value_or(from), inputs[0], outputs[0]);
}

static KernelResult buildFullLike(KernelBuilder &b, FullLikeOp op,
                                  ValueRange inputs, ValueRange outputs) {
  Type from = tensorType(op.getFillValue()).getDtype();
  Type like = tensorType(op.getX()).getDtype();
  return fillWith(b, from, op.getDtype().value_or(like), inputs[1], outputs[0]);
}

//===----------------------------------------------------------------------===//
// Numbers that depend on the place
//===----------------------------------------------------------------------===//

/// start + i * step, computed in the data type of the scalars.
static KernelResult buildArange(KernelBuilder &b, ArangeOp op,
                                ValueRange inputs, ValueRange outputs) {
  Type from = cast<PrimStructInfoType>(op.getStart().getType()).getDtype();
  return one(b.fromIndices(
      outputs[0], [&](ScalarBuilder &s, ArrayRef<Value> indices) -> Value {
        Value start = s.widen(inputs[0]), step = s.widen(inputs[2]);
        Value place = arith::IndexCastOp::create(s, s.getI64Type(), indices[0]);
        Value offset = s.cast(place, s.getI64Type(), start.getType());
        return s.cast(s.add(start, s.mul(offset, step)), from, op.getDtype());
      }));
}

/// The number of the diagonal that the last two indices are on.
static Value diagonal(ScalarBuilder &s, ArrayRef<Value> indices) {
  Value number =
      arith::SubIOp::create(s, indices.back(), indices[indices.size() - 2]);
  return arith::IndexCastOp::create(s, s.getI64Type(), number);
}

/// Ones in diagonal `k`.
static KernelResult buildEye(KernelBuilder &b, Value k, Value output) {
  Type type = b.getElementType(output);
  return one(b.fromIndices(
      output, [&](ScalarBuilder &s, ArrayRef<Value> indices) -> Value {
        Value isOn = arith::CmpIOp::create(s, arith::CmpIPredicate::eq,
                                           diagonal(s, indices), k);
        return s.select(isOn, s.constant(type, 1), s.constant(type, 0));
      }));
}

/// Keeps elements on diagonals that compare with `k`.
template <typename OpTy>
static void addTriangle(LegalizationTable &table, arith::CmpIPredicate keeps) {
  table.add<OpTy>([keeps](KernelBuilder &b, OpTy, ValueRange inputs,
                          ValueRange outputs) -> KernelResult {
    return one(b.elementwise(
        inputs[0], outputs[0], [&](ScalarBuilder &s, ValueRange e) -> Value {
          SmallVector<Value> indices;
          for (int64_t i = 0; i < b.getRank(outputs[0]); ++i)
            indices.push_back(linalg::IndexOp::create(s, i));
          Value isKept =
              arith::CmpIOp::create(s, keeps, diagonal(s, indices), inputs[1]);
          return s.select(isKept, e[0], s.constant(e[0], 0));
        }));
  });
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
  addFill<ZerosLikeOp>(table, 0);
  addFill<OnesLikeOp>(table, 1);
  table.add<FullLikeOp>(buildFullLike);
  table.add<ArangeOp>(buildArange);
  table.add<EyeOp>(
      [](KernelBuilder &b, EyeOp, ValueRange inputs, ValueRange outputs) {
        return buildEye(b, inputs[2], outputs[0]);
      });
  table.add<EyeLikeOp>(
      [](KernelBuilder &b, EyeLikeOp, ValueRange inputs, ValueRange outputs) {
        return buildEye(b, inputs[1], outputs[0]);
      });
  addTriangle<TrilOp>(table, arith::CmpIPredicate::sle);
  addTriangle<TriuOp>(table, arith::CmpIPredicate::sge);
}
