//===- Elementwise.cpp - Kernels of elementwise operators -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line for each operator: how to compute one element. Operands broadcast by
// their indexing maps.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

/// Computes one element of the result from the elements of the operands.
using ScalarBody = Value (*)(ScalarBuilder &, ValueRange);

template <typename OpTy>
static void add(LegalizationTable &table, ScalarBody body) {
  table.add<OpTy>([body](KernelBuilder &b, OpTy op, ValueRange inputs,
                         ValueRange outputs) -> KernelResult {
    if (failed(requireArithmetic(op)))
      return failure();
    return one(b.computeElementwise(inputs, outputs[0], body));
  });
}

/// An operator that is one operation on floats.
template <typename FloatOp> static Value unary(ScalarBuilder &s, ValueRange x) {
  return FloatOp::create(s, x[0]);
}

template <Comparison comparison>
static Value compare(ScalarBuilder &s, ValueRange x) {
  return s.compare(comparison, x[0], x[1]);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// 0.5 * x * (1 + y)
static Value gate(ScalarBuilder &s, Value x, Value y) {
  return s.mul(s.mul(s.constant(x, 0.5), x), s.add(s.constant(x, 1), y));
}

static Value gelu(ScalarBuilder &s, ValueRange elements) {
  Value x = elements[0];
  Value scaled = s.mul(x, s.constant(x, M_SQRT1_2));
  return gate(s, x, math::ErfOp::create(s, scaled));
}

static Value geluTanh(ScalarBuilder &s, ValueRange elements) {
  Value x = elements[0];
  Value cube = s.mul(s.mul(x, x), x);
  Value sum = s.add(x, s.mul(s.constant(x, 0.044715), cube));
  Value scaled = s.mul(s.constant(x, M_SQRT1_2 * M_2_SQRTPI), sum);
  return gate(s, x, math::TanhOp::create(s, scaled));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void populateUnary(LegalizationTable &t) {
  add<AbsOp>(t, [](S s, V x) { return s.abs(x[0]); });
  add<CeilOp>(t, unary<math::CeilOp>);
  add<CosOp>(t, unary<math::CosOp>);
  add<ErfOp>(t, unary<math::ErfOp>);
  add<ExpOp>(t, unary<math::ExpOp>);
  add<FloorOp>(t, unary<math::FloorOp>);
  add<GeluOp>(t, gelu);
  add<GeluTanhOp>(t, geluTanh);
  add<LogOp>(t, unary<math::LogOp>);
  add<LogicalNotOp>(t, [](S s, V x) {
    return s.compare(Comparison::Eq, x[0], s.constant(x[0], 0));
  });
  add<NegativeOp>(t, [](S s, V x) { return s.neg(x[0]); });
  add<ReluOp>(t, [](S s, V x) { return s.max(x[0], s.constant(x[0], 0)); });
  add<RoundOp>(t, unary<math::RoundEvenOp>);
  add<RsqrtOp>(t, unary<math::RsqrtOp>);
  add<SigmoidOp>(t, [](S s, V x) { return s.sigmoid(x[0]); });
  add<SignOp>(t, [](S s, V x) { return s.sign(x[0]); });
  add<SiluOp>(t, [](S s, V x) { return s.mul(x[0], s.sigmoid(x[0])); });
  add<SinOp>(t, unary<math::SinOp>);
  add<SqrtOp>(t, unary<math::SqrtOp>);
  add<TanhOp>(t, unary<math::TanhOp>);
}

static void populateBinary(LegalizationTable &t) {
  add<AddOp>(t, [](S s, V x) { return s.add(x[0], x[1]); });
  add<DivideOp>(t, [](S s, V x) { return s.div(x[0], x[1]); });
  add<FloorDivideOp>(t, [](S s, V x) { return s.floorDiv(x[0], x[1]); });
  add<LogicalAndOp>(
      t, [](S s, V x) { return Value(arith::AndIOp::create(s, x[0], x[1])); });
  add<LogicalOrOp>(
      t, [](S s, V x) { return Value(arith::OrIOp::create(s, x[0], x[1])); });
  add<MaximumOp>(t, [](S s, V x) { return s.max(x[0], x[1]); });
  add<MinimumOp>(t, [](S s, V x) { return s.min(x[0], x[1]); });
  add<ModOp>(t, [](S s, V x) { return s.mod(x[0], x[1]); });
  add<MultiplyOp>(t, [](S s, V x) { return s.mul(x[0], x[1]); });
  add<PowerOp>(
      t, [](S s, V x) { return Value(math::PowFOp::create(s, x[0], x[1])); });
  add<SubtractOp>(t, [](S s, V x) { return s.sub(x[0], x[1]); });
}

static void populateCompare(LegalizationTable &t) {
  add<EqualOp>(t, compare<Comparison::Eq>);
  add<GreaterOp>(t, compare<Comparison::Gt>);
  add<GreaterEqualOp>(t, compare<Comparison::Ge>);
  add<LessOp>(t, compare<Comparison::Lt>);
  add<LessEqualOp>(t, compare<Comparison::Le>);
  add<NotEqualOp>(t, compare<Comparison::Ne>);
}

static KernelResult buildWhere(KernelBuilder &b, WhereOp, ValueRange inputs,
                               ValueRange outputs) {
  return one(b.elementwise(
      inputs, outputs[0], [](S s, V x) { return s.select(x[0], x[1], x[2]); }));
}

static KernelResult buildAstype(KernelBuilder &b, AstypeOp op,
                                ValueRange inputs, ValueRange outputs) {
  Type from = tensorType(op.getX()).getDtype(), to = op.getDtype();
  if (from == to)
    return one(b.copy(inputs[0], outputs[0]));
  if (failed(requireArithmetic(op, from)) || failed(requireArithmetic(op, to)))
    return failure();
  return one(b.elementwise(inputs, outputs[0],
                           [&](S s, V x) { return s.cast(x[0], from, to); }));
}

void mlir::relax::populateElementwise(LegalizationTable &table) {
  populateUnary(table);
  populateBinary(table);
  populateCompare(table);
  table.add<WhereOp>(buildWhere);
  table.add<AstypeOp>(buildAstype);
}
