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

#include "Int4.h"
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
  table.add<OpTy>([body](KernelBuilder &b, OpTy, ValueRange inputs,
                         ValueRange outputs) -> KernelResult {
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

static Value selu(ScalarBuilder &s, ValueRange elements) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  Value x = elements[0];
  Value below = s.mul(s.constant(x, kAlpha), math::ExpM1Op::create(s, x));
  Value isAbove = s.compare(Comparison::Gt, x, s.constant(x, 0));
  return s.mul(s.constant(x, kScale), s.select(isAbove, x, below));
}

static KernelResult buildLeakyRelu(KernelBuilder &b, LeakyReluOp op,
                                   ValueRange inputs, ValueRange outputs) {
  double alpha = op.getAlpha().convertToDouble();
  return one(b.computeElementwise(inputs, outputs[0], [&](S s, V e) {
    Value isAbove = s.compare(Comparison::Gt, e[0], s.constant(e[0], 0));
    return s.select(isAbove, e[0], s.mul(e[0], s.constant(e[0], alpha)));
  }));
}

static KernelResult buildSoftplus(KernelBuilder &b, SoftplusOp op,
                                  ValueRange inputs, ValueRange outputs) {
  double beta = op.getBeta().convertToDouble();
  double threshold = op.getThreshold().convertToDouble();
  return one(b.computeElementwise(inputs, outputs[0], [&](S s, V e) {
    Value scaled = s.mul(e[0], s.constant(e[0], beta));
    // log(1 + exp(z)), of which no part overflows.
    Value rest =
        math::Log1pOp::create(s, math::ExpOp::create(s, s.neg(s.abs(scaled))));
    Value log = s.add(s.max(scaled, s.constant(e[0], 0)), rest);
    Value isLinear =
        s.compare(Comparison::Gt, scaled, s.constant(e[0], threshold));
    return s.select(isLinear, e[0], s.div(log, s.constant(e[0], beta)));
  }));
}

//===----------------------------------------------------------------------===//
// Tests, bits and bounds
//===----------------------------------------------------------------------===//

/// Compares |x| with infinity; an integer is finite.
template <Comparison comparison>
static Value testInfinite(ScalarBuilder &s, ValueRange elements) {
  Value x = elements[0];
  if (!isa<FloatType>(x.getType()))
    return s.constant(s.getI1Type(), comparison == Comparison::Lt);
  Value infinity = s.identity(Identity::Highest, x.getType());
  return s.compare(comparison, s.abs(x), infinity);
}

static Value isNan(ScalarBuilder &s, ValueRange x) {
  if (!isa<FloatType>(x[0].getType()))
    return s.constant(s.getI1Type(), 0);
  return s.compare(Comparison::Ne, x[0], x[0]);
}

template <typename IntOp> static Value bits(ScalarBuilder &s, ValueRange x) {
  return IntOp::create(s, x[0], x[1]);
}

/// A shift by the number of bits or more, which has no meaning in arith, gives
/// what is left of all bits: 0, or the sign.
static Value shift(ScalarBuilder &s, ValueRange x, bool isLeft) {
  int64_t width = x[0].getType().getIntOrFloatBitWidth();
  Value last = s.constant(x[1], width - 1);
  Value isLarge =
      arith::CmpIOp::create(s, arith::CmpIPredicate::ugt, x[1], last);
  Value amount = s.select(isLarge, last, x[1]);
  if (!isLeft && !s.isUnsigned())
    return arith::ShRSIOp::create(s, x[0], amount);
  Value shifted = isLeft ? Value(arith::ShLIOp::create(s, x[0], amount))
                         : Value(arith::ShRUIOp::create(s, x[0], amount));
  return s.select(isLarge, s.constant(x[0], 0), shifted);
}

/// max + log(1 + exp(-|x1 - x2|)); infinities that are equal have no
/// difference.
static Value logAddExp(ScalarBuilder &s, ValueRange x) {
  Value distance = s.abs(s.sub(x[0], x[1]));
  Value rest =
      math::Log1pOp::create(s, math::ExpOp::create(s, s.neg(distance)));
  Value isEqual = s.compare(Comparison::Eq, x[0], x[1]);
  return s.select(isEqual, s.add(x[0], s.constant(x[0], M_LN2)),
                  s.add(s.max(x[0], x[1]), rest));
}

/// A bound as a number of the data type of `x`; an integer that is out of its
/// range becomes the nearest one in range.
static Value castBound(ScalarBuilder &s, Value bound, Type from, Type to) {
  if (!isa<IntegerType>(from) || !isa<IntegerType>(to) ||
      from.isUnsignedInteger() || from.getIntOrFloatBitWidth() > 64)
    return s.cast(bound, from, to);
  ScalarBuilder wide(s, s.getLoc(), s.getI64Type());
  bound = wide.cast(bound, from, wide.getI64Type());
  unsigned width = to.getIntOrFloatBitWidth();
  bool isUnsigned = ScalarBuilder::isUnsigned(to);
  if (isUnsigned)
    bound = wide.max(bound, wide.constant(bound, 0));
  if (width < 64) {
    APInt low = isUnsigned ? APInt::getZero(64)
                           : APInt::getSignedMinValue(width).sext(64);
    APInt high = isUnsigned ? APInt::getMaxValue(width).zext(64)
                            : APInt::getSignedMaxValue(width).sext(64);
    auto integer = [&](const APInt &value) -> Value {
      return arith::ConstantOp::create(
          wide, IntegerAttr::get(wide.getI64Type(), value));
    };
    bound = wide.min(wide.max(bound, integer(low)), integer(high));
  }
  return wide.cast(bound, wide.getI64Type(), to);
}

static KernelResult buildClip(KernelBuilder &b, ClipOp op, ValueRange inputs,
                              ValueRange outputs) {
  Type dtype = tensorType(op.getX()).getDtype();
  auto boundType = [](Value value) {
    return cast<PrimStructInfoType>(value.getType()).getDtype();
  };
  ScalarBuilder s = b.scalars();
  Value low = castBound(s, inputs[1], boundType(op.getMin()), dtype);
  Value high = castBound(s, inputs[2], boundType(op.getMax()), dtype);
  return one(b.computeElementwise(inputs[0], outputs[0], [&](S s, V e) {
    return s.min(s.max(e[0], s.widen(low)), s.widen(high));
  }));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void populateUnary(LegalizationTable &t) {
  add<AbsOp>(t, [](S s, V x) { return s.abs(x[0]); });
  add<AcosOp>(t, unary<math::AcosOp>);
  add<AcoshOp>(t, unary<math::AcoshOp>);
  add<AsinOp>(t, unary<math::AsinOp>);
  add<AsinhOp>(t, unary<math::AsinhOp>);
  add<AtanOp>(t, unary<math::AtanOp>);
  add<AtanhOp>(t, unary<math::AtanhOp>);
  add<BitwiseNotOp>(t, [](S s, V x) {
    return Value(arith::XOrIOp::create(s, x[0], s.constant(x[0], -1)));
  });
  add<CeilOp>(t, unary<math::CeilOp>);
  add<CosOp>(t, unary<math::CosOp>);
  add<CoshOp>(t, unary<math::CoshOp>);
  add<ErfOp>(t, unary<math::ErfOp>);
  add<ExpOp>(t, unary<math::ExpOp>);
  add<FloorOp>(t, unary<math::FloorOp>);
  add<GeluOp>(t, gelu);
  add<GeluTanhOp>(t, geluTanh);
  add<IsFiniteOp>(t, testInfinite<Comparison::Lt>);
  add<IsInfOp>(t, testInfinite<Comparison::Eq>);
  add<IsNanOp>(t, isNan);
  add<LogOp>(t, unary<math::LogOp>);
  add<LogicalNotOp>(t, [](S s, V x) {
    return s.compare(Comparison::Eq, x[0], s.constant(x[0], 0));
  });
  add<NegativeOp>(t, [](S s, V x) { return s.neg(x[0]); });
  add<ReluOp>(t, [](S s, V x) { return s.max(x[0], s.constant(x[0], 0)); });
  add<RoundOp>(t, unary<math::RoundEvenOp>);
  add<RsqrtOp>(t, unary<math::RsqrtOp>);
  add<SeluOp>(t, selu);
  add<SigmoidOp>(t, [](S s, V x) { return s.sigmoid(x[0]); });
  add<SignOp>(t, [](S s, V x) { return s.sign(x[0]); });
  add<SiluOp>(t, [](S s, V x) { return s.mul(x[0], s.sigmoid(x[0])); });
  add<SinOp>(t, unary<math::SinOp>);
  add<SinhOp>(t, unary<math::SinhOp>);
  add<SqrtOp>(t, unary<math::SqrtOp>);
  add<SquareOp>(t, [](S s, V x) { return s.mul(x[0], x[0]); });
  add<TanOp>(t, unary<math::TanOp>);
  add<TanhOp>(t, unary<math::TanhOp>);
  add<TruncOp>(t, unary<math::TruncOp>);
}

static void populateBinary(LegalizationTable &t) {
  add<AddOp>(t, [](S s, V x) { return s.add(x[0], x[1]); });
  add<Atan2Op>(
      t, [](S s, V x) { return Value(math::Atan2Op::create(s, x[0], x[1])); });
  add<BitwiseAndOp>(t, bits<arith::AndIOp>);
  add<BitwiseOrOp>(t, bits<arith::OrIOp>);
  add<BitwiseXorOp>(t, bits<arith::XOrIOp>);
  add<DivideOp>(t, [](S s, V x) { return s.div(x[0], x[1]); });
  add<FloorDivideOp>(t, [](S s, V x) { return s.floorDiv(x[0], x[1]); });
  add<FloorModOp>(t, [](S s, V x) { return s.mod(x[0], x[1]); });
  add<LeftShiftOp>(t, [](S s, V x) { return shift(s, x, /*isLeft=*/true); });
  add<LogAddExpOp>(t, logAddExp);
  add<LogicalAndOp>(t, bits<arith::AndIOp>);
  add<LogicalOrOp>(t, bits<arith::OrIOp>);
  add<LogicalXorOp>(t, bits<arith::XOrIOp>);
  add<MaximumOp>(t, [](S s, V x) { return s.max(x[0], x[1]); });
  add<MinimumOp>(t, [](S s, V x) { return s.min(x[0], x[1]); });
  add<ModOp>(t, [](S s, V x) { return s.mod(x[0], x[1]); });
  add<MultiplyOp>(t, [](S s, V x) { return s.mul(x[0], x[1]); });
  add<PowerOp>(
      t, [](S s, V x) { return Value(math::PowFOp::create(s, x[0], x[1])); });
  add<RightShiftOp>(t, [](S s, V x) { return shift(s, x, /*isLeft=*/false); });
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
  if (from == to && !isInt4(from))
    return one(b.copy(inputs[0], outputs[0]));
  if (isInt4(from))
    return one(buildUnpack(b, inputs[0], outputs[0], from.isUnsignedInteger()));
  if (isInt4(to))
    return one(buildPack(b, inputs[0], outputs[0]));
  return one(b.elementwise(inputs, outputs[0],
                           [&](S s, V x) { return s.cast(x[0], from, to); }));
}

/// All have the same shape.
static DimPairs checkEwiseFMA(EwiseFMAOp op, Type) {
  ArrayRef<PrimExprAttr> first = tensorType(op.getX1()).getDims();
  DimPairs pairs;
  for (Value other : {op.getX2(), op.getX3()})
    for (auto [dim, wanted] : llvm::zip(tensorType(other).getDims(), first))
      pairs.emplace_back(dim, wanted);
  return pairs;
}

void mlir::relax::populateElementwise(LegalizationTable &table) {
  populateUnary(table);
  populateBinary(table);
  populateCompare(table);
  table.add<WhereOp>(buildWhere);
  table.add<AstypeOp>(buildAstype);
  table.add<ClipOp>(buildClip);
  table.add<LeakyReluOp>(buildLeakyRelu);
  table.add<SoftplusOp>(buildSoftplus);
  add<EwiseFMAOp>(table,
                  [](S s, V x) { return s.add(s.mul(x[0], x[1]), x[2]); });
  table.addChecks<EwiseFMAOp>(checkEwiseFMA);
}
