//===- Norm.cpp - Kernels of normalization and attention -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Means and variances are computed first, then the result in one pass. Floats
// of 16 bits are computed with as f32.
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

/// 1 / sqrt(x + epsilon), in `output`.
static Value inverseRoot(KernelBuilder &b, Value x, Value output,
                         const APFloat &epsilon) {
  auto body = [&](S s, V e) -> Value {
    Value sum = s.add(e[0], s.constant(e[0], epsilon.convertToDouble()));
    return s.div(s.constant(e[0], 1), math::SqrtOp::create(s, sum));
  };
  // In place there is no input.
  return x == output ? b.computeElementwise({}, x, body)
                     : b.computeElementwise(x, output, body);
}

namespace {
/// (x - mean) * factor * gamma + beta. An operand that is left out is null;
/// maps lead from the loops over x.
struct Normalization {
  Value x;
  Value mean, factor;
  AffineMap statistics;
  Value gamma, beta;
  AffineMap parameters;

  Value build(KernelBuilder &b, Value output) const {
    SmallVector<Value> inputs = {x};
    SmallVector<AffineMap> maps = {b.identityMap(b.getRank(x))};
    auto add = [&](Value value, AffineMap map) {
      if (!value)
        return;
      inputs.push_back(value);
      maps.push_back(map);
    };
    add(mean, statistics);
    add(factor, statistics);
    add(gamma, parameters);
    add(beta, parameters);
    maps.push_back(maps.front());
    return b.compute(inputs, output, maps, {}, [&](S s, V e) {
      Value y = e[0];
      size_t next = 1;
      if (mean)
        y = s.sub(y, e[next++]);
      y = s.mul(y, e[next++]);
      if (gamma)
        y = s.mul(y, e[next++]);
      return beta ? s.add(y, e[next++]) : y;
    });
  }
};
} // namespace

/// Normalizes with the mean and variance of `x` over `axes`.
static Value normalizeOver(KernelBuilder &b, Normalization norm,
                           ArrayRef<int64_t> axes, const APFloat &epsilon,
                           Value output) {
  norm.mean = rowMean(b, norm.x, axes);
  Value variance = rowMeanSquare(b, norm.x, norm.mean, axes);
  norm.factor = inverseRoot(b, variance, variance, epsilon);
  norm.statistics = b.dropMap(b.getRank(norm.x), axes);
  return norm.build(b, output);
}

static KernelResult buildLayerNorm(KernelBuilder &b, LayerNormOp op,
                                   ValueRange inputs, ValueRange outputs) {
  int64_t loops = b.getRank(inputs[0]);
  SmallVector<int64_t> axes = getAxes(op.getAxes(), loops);
  Normalization norm = {};
  norm.x = inputs[0];
  norm.gamma = op.getScale() ? inputs[1] : Value();
  norm.beta = op.getCenter() ? inputs[2] : Value();
  norm.parameters = b.map(loops, axes);
  return one(normalizeOver(b, norm, axes, op.getEpsilon(), outputs[0]));
}

static KernelResult buildRMSNorm(KernelBuilder &b, RMSNormOp op,
                                 ValueRange inputs, ValueRange outputs) {
  int64_t loops = b.getRank(inputs[0]);
  SmallVector<int64_t> axes = getAxes(op.getAxes(), loops);
  Value squares = rowMeanSquare(b, inputs[0], /*mean=*/Value(), axes);
  Normalization norm = {};
  norm.x = inputs[0];
  norm.factor = inverseRoot(b, squares, squares, op.getEpsilon());
  norm.statistics = b.dropMap(loops, axes);
  norm.gamma = inputs[1];
  norm.parameters = b.map(loops, axes);
  return one(norm.build(b, outputs[0]));
}

static KernelResult buildInstanceNorm(KernelBuilder &b, InstanceNormOp op,
                                      ValueRange inputs, ValueRange outputs) {
  int64_t loops = b.getRank(inputs[0]);
  int64_t channel = getAxis(op.getChannelAxis(), loops);
  Normalization norm = {};
  norm.x = inputs[0];
  norm.gamma = op.getScale() ? inputs[1] : Value();
  norm.beta = op.getCenter() ? inputs[2] : Value();
  norm.parameters = b.map(loops, channel);
  return one(normalizeOver(b, norm, getAxes(op.getAxes(), loops),
                           op.getEpsilon(), outputs[0]));
}

/// The channels are viewed as two dimensions: groups, and channels of a group.
static KernelResult buildGroupNorm(KernelBuilder &b, GroupNormOp op,
                                   ValueRange inputs, ValueRange outputs) {
  int64_t rank = b.getRank(inputs[0]), groups = op.getNumGroups();
  int64_t channel = getAxis(op.getChannelAxis(), rank);
  SmallVector<int64_t> axes = {channel + 1};
  for (int64_t axis : getAxes(op.getAxes(), rank))
    axes.push_back(axis > channel ? axis + 1 : axis);
  Normalization norm = {};
  norm.x = b.expandAxis(inputs[0], channel, groups);
  if (op.getScale())
    norm.gamma = b.expandAxis(inputs[1], 0, groups);
  if (op.getCenter())
    norm.beta = b.expandAxis(inputs[2], 0, groups);
  norm.parameters = b.map(rank + 1, {channel, channel + 1});
  Value result = normalizeOver(b, norm, axes, op.getEpsilon(),
                               b.expandAxis(outputs[0], channel, groups));
  return one(b.collapseAxis(result, channel, b.getType(outputs[0])));
}

/// (1 - momentum) * moving + momentum * current, in `output`.
static Value buildMoving(KernelBuilder &b, BatchNormOp op, Value moving,
                         Value current, Value output) {
  double momentum = op.getMomentum().convertToDouble();
  return b.computeElementwise({moving, current}, output, [&](S s, V e) {
    Value rest = s.mul(e[0], s.constant(e[0], 1 - momentum));
    return s.add(rest, s.mul(e[1], s.constant(e[1], momentum)));
  });
}

static KernelResult buildBatchNorm(KernelBuilder &b, BatchNormOp op,
                                   ValueRange inputs, ValueRange outputs) {
  Value x = inputs[0], mean = inputs[3], variance = inputs[4];
  int64_t loops = b.getRank(x), axis = getAxis(op.getAxis(), loops);
  Type type = b.accumulatorType(b.getElementType(x));
  Normalization norm = {};
  norm.x = x;
  norm.mean = mean;
  norm.gamma = op.getScale() ? inputs[1] : Value();
  norm.beta = op.getCenter() ? inputs[2] : Value();
  norm.statistics = norm.parameters = b.map(loops, axis);
  SmallVector<Value> results(3);
  if (op.getTraining()) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < loops; ++i)
      if (i != axis)
        axes.push_back(i);
    norm.mean = rowMean(b, x, axes);
    Value current = rowMeanSquare(b, x, norm.mean, axes);
    results[1] = buildMoving(b, op, mean, norm.mean, outputs[1]);
    results[2] = buildMoving(b, op, variance, current, outputs[2]);
    norm.factor = inverseRoot(b, current, current, op.getEpsilon());
  } else {
    norm.factor = inverseRoot(b, variance, b.empty(b.dims(variance), type),
                              op.getEpsilon());
    results[1] = b.copy(mean, outputs[1]);
    results[2] = b.copy(variance, outputs[2]);
  }
  results[0] = norm.build(b, outputs[0]);
  return results;
}

/// Each parameter has the dimensions of `x` at `axes`.
static DimPairs checkParameters(Value x, ValueRange parameters,
                                ArrayRef<int64_t> axes) {
  TensorStructInfoType type = tensorType(x);
  DimPairs pairs;
  for (Value parameter : parameters)
    for (auto [axis, dim] : llvm::zip(getAxes(axes, type.getNdim()),
                                      tensorType(parameter).getDims()))
      pairs.emplace_back(dim, type.getDims()[axis]);
  return pairs;
}

static DimPairs checkGroupNorm(GroupNormOp op, Type) {
  int64_t channel = op.getChannelAxis();
  DimPairs pairs =
      checkParameters(op.getData(), {op.getGamma(), op.getBeta()}, channel);
  TensorStructInfoType data = tensorType(op.getData());
  PrimExprAttr channels = data.getDims()[getAxis(channel, data.getNdim())];
  pairs.emplace_back(
      PrimExprAttr::getMod(
          channels, PrimExprAttr::getInt(op.getContext(), op.getNumGroups())),
      PrimExprAttr::getInt(op.getContext(), 0));
  return pairs;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// The kernel of attention. Scores have the loops batch, head, query, key.
struct AttentionBuilder {
  AttentionBuilder(KernelBuilder &b, AttentionOp op, ValueRange inputs,
                   Value output)
      : b(b), op(op), query(inputs[0]), key(inputs[1]), value(inputs[2]),
        bias(inputs.size() > 3 ? inputs[3] : Value()), output(output) {}

  Value build();

private:
  Value buildScores();
  Value isVisible(ScalarBuilder &s);
  Value maskAndScale(Value scores);
  AffineMap headMap(Value tensor, int64_t loops, ArrayRef<int64_t> results);

  KernelBuilder &b;
  AttentionOp op;
  Value query, key, value, bias, output;
};
} // namespace

/// A map to the dimensions of `key` or `value`, where several heads of the
/// query may share one. `results` are loops; the one of the heads is third.
AffineMap AttentionBuilder::headMap(Value tensor, int64_t loops,
                                    ArrayRef<int64_t> results) {
  AffineMap map = b.map(loops, results);
  int64_t heads = b.getType(query).getDimSize(2);
  int64_t own = b.getType(tensor).getDimSize(2);
  if (ShapedType::isDynamic(heads) || heads == own || own <= 0)
    return map;
  SmallVector<AffineExpr> exprs(map.getResults());
  exprs[2] = exprs[2].floorDiv(heads / own);
  return AffineMap::get(loops, 0, exprs, b.getContext());
}

/// query * transpose(key)
Value AttentionBuilder::buildScores() {
  Type type = b.accumulatorType(b.getElementType(output));
  Value scores = b.empty(
      {b.dim(query, 0), b.dim(query, 2), b.dim(query, 1), b.dim(key, 1)}, type);
  return b.compute({query, key}, b.fill(b.scalars().constant(type, 0), scores),
                   {b.map(5, {0, 2, 1, 4}), headMap(key, 5, {0, 3, 1, 4}),
                    b.map(5, {0, 1, 2, 3})},
                   {4},
                   [](S s, V e) { return s.add(e[2], s.mul(e[0], e[1])); });
}

/// Whether the query of the loops looks at their key: the key is not beyond the
/// last visible one, nor before the window that ends there.
Value AttentionBuilder::isVisible(ScalarBuilder &s) {
  Value last = linalg::IndexOp::create(s, 2);
  Value place = linalg::IndexOp::create(s, 3);
  if (*op.getCausalMask() == "BottomRight")
    last = s.add(last, s.sub(b.dimValue(key, 1), b.dimValue(query, 1)));
  using P = arith::CmpIPredicate;
  Value visible = arith::CmpIOp::create(s, P::sle, place, last);
  if (std::optional<uint64_t> size = op.getWindowSize()) {
    Value first = s.sub(last, s.index(static_cast<int64_t>(*size)));
    Value inWindow = arith::CmpIOp::create(s, P::sgt, place, first);
    visible = arith::AndIOp::create(s, visible, inWindow);
  }
  return visible;
}

Value AttentionBuilder::maskAndScale(Value scores) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (bias) {
    inputs.push_back(bias);
    maps.push_back(b.broadcastMap(bias, scores));
  }
  maps.push_back(b.identityMap(4));
  double features = b.getType(query).getDimSize(3);
  bool isKnown = !b.getType(query).isDynamicDim(3);
  Value root;
  if (!op.getScale() && !isKnown) {
    Value count = b.count(query, {3}, b.getElementType(scores));
    root = math::SqrtOp::create(b, count);
  }
  return b.compute(inputs, scores, maps, {}, [&](S s, V e) {
    Value x = e.back();
    if (root)
      x = s.div(x, root);
    else
      x = s.mul(x,
                s.constant(x, op.getScale() ? op.getScale()->convertToDouble()
                                            : 1 / std::sqrt(features)));
    if (bias)
      x = s.add(x, e[0]);
    if (!op.getCausalMask())
      return x;
    return s.select(isVisible(s), x, s.identity(Identity::Lowest, x.getType()));
  });
}

Value AttentionBuilder::build() {
  Value scores = maskAndScale(buildScores());
  Value max = rowMax(b, scores, {3});
  RowMaps maps(b, scores, {3});
  Value exps =
      b.compute(max, scores, {maps.reduced, maps.full}, {}, [&](S s, V e) {
        Value y = math::ExpOp::create(s, s.sub(e[1], e[0]));
        if (!op.getCausalMask())
          return y;
        // A query that looks at no key has no largest score.
        return s.select(isVisible(s), y, s.constant(y, 0));
      });
  Value sums = rowSum(b, exps, {3});
  Value total = b.accumulator(output, [&] { return b.dims(output); });
  Value zero = b.scalars().constant(b.getElementType(total), 0);
  // Loops: batch, query, head, feature, key.
  total =
      b.compute({exps, value}, b.fill(zero, total),
                {b.map(5, {0, 2, 1, 4}), headMap(value, 5, {0, 4, 2, 3}),
                 b.map(5, {0, 1, 2, 3})},
                {4}, [](S s, V e) { return s.add(e[2], s.mul(e[0], e[1])); });
  int64_t keys = b.getType(key).getDimSize(1);
  bool looksAtKeys = !op.getCausalMask() && keys > 0;
  return b.compute({total, sums}, output,
                   {b.identityMap(4), b.map(4, {0, 2, 1}), b.identityMap(4)},
                   {}, [&](S s, V e) {
                     Value quotient = s.divByReciprocal(e[0], e[1]);
                     if (looksAtKeys)
                       return quotient;
                     // A query that looks at no key gets 0.
                     Value zero = s.constant(e[1], 0);
                     return s.select(s.compare(Comparison::Eq, e[1], zero),
                                     zero, quotient);
                   });
}

static KernelResult buildAttention(KernelBuilder &b, AttentionOp op,
                                   ValueRange inputs, ValueRange outputs) {
  return one(AttentionBuilder(b, op, inputs, outputs[0]).build());
}

static DimPairs checkAttention(AttentionOp op, Type) {
  ArrayRef<PrimExprAttr> q = tensorType(op.getQuery()).getDims();
  ArrayRef<PrimExprAttr> k = tensorType(op.getKey()).getDims();
  ArrayRef<PrimExprAttr> v = tensorType(op.getValue()).getDims();
  DimPairs pairs = {{k[0], q[0]}, {v[0], q[0]}, {k[3], q[3]}, {v[1], k[1]}};
  // Heads that are shared are constant.
  for (PrimExprAttr heads : {k[2], v[2]})
    if (!heads.getConstant() || !q[2].getConstant())
      pairs.emplace_back(heads, q[2]);
  if (!op.getBias())
    return pairs;
  PrimExprAttr wanted[] = {q[0], q[2], q[1], k[1]};
  for (auto [dim, want] : llvm::zip(tensorType(op.getBias()).getDims(), wanted))
    if (dim.getConstant() != 1)
      pairs.emplace_back(dim, want);
  return pairs;
}

void mlir::relax::populateNorm(LegalizationTable &table) {
  table.add<LayerNormOp>(buildLayerNorm);
  table.add<RMSNormOp>(buildRMSNorm);
  table.add<InstanceNormOp>(buildInstanceNorm);
  table.add<GroupNormOp>(buildGroupNorm);
  table.add<BatchNormOp>(buildBatchNorm);
  table.add<AttentionOp>(buildAttention);
  table.addChecks<LayerNormOp>([](LayerNormOp op, Type) {
    return checkParameters(op.getX(), {op.getGamma(), op.getBeta()},
                           op.getAxes());
  });
  table.addChecks<RMSNormOp>([](RMSNormOp op, Type) {
    return checkParameters(op.getData(), op.getWeight(), op.getAxes());
  });
  table.addChecks<InstanceNormOp>([](InstanceNormOp op, Type) {
    int64_t channel = op.getChannelAxis();
    return checkParameters(op.getData(), {op.getGamma(), op.getBeta()},
                           channel);
  });
  table.addChecks<GroupNormOp>(checkGroupNorm);
  table.addChecks<BatchNormOp>([](BatchNormOp op, Type) {
    int64_t axis = op.getAxis();
    return checkParameters(op.getData(), op->getOperands().drop_front(), axis);
  });
  table.addChecks<AttentionOp>(checkAttention);
}
