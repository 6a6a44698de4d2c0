//===- NN.cpp - Kernels of linear algebra and neural networks -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel is a few loops over the dimensions of its input. Floats of 16
// bits are computed with as f32, in memory of the kernel where a sum is
// involved.
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

namespace {
/// The loops of a matrix product: batch..., [m], k, [n]. The innermost one runs
/// over consecutive elements.
struct MatmulLoops {
  MatmulLoops(int64_t lhsRank, int64_t rhsRank, int64_t resultRank)
      : hasRow(lhsRank > 1), hasColumn(rhsRank > 1),
        batch(resultRank - hasRow - hasColumn), k(batch + hasRow),
        count(k + 1 + hasColumn) {}

  bool hasRow, hasColumn;
  int64_t batch, k, count;
};
} // namespace

/// The loops of the batch dimensions of an operand; -1 where it broadcasts.
static SmallVector<int64_t> batchLoops(Value operand, Value result,
                                       const MatmulLoops &loops) {
  ArrayRef<int64_t> shape = KernelBuilder::getType(operand).getShape();
  ArrayRef<int64_t> target = KernelBuilder::getType(result).getShape();
  SmallVector<int64_t> indices;
  int64_t rank = std::max<int64_t>(static_cast<int64_t>(shape.size()) - 2, 0);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t loop = loops.batch - rank + i;
    indices.push_back(shape[i] == 1 && target[loop] != 1 ? -1 : loop);
  }
  return indices;
}

static SmallVector<AffineMap> matmulMaps(KernelBuilder &b, Value lhs, Value rhs,
                                         Value result,
                                         const MatmulLoops &loops) {
  SmallVector<int64_t> lhsLoops = batchLoops(lhs, result, loops);
  SmallVector<int64_t> rhsLoops = batchLoops(rhs, result, loops);
  if (loops.hasRow)
    lhsLoops.push_back(loops.batch);
  lhsLoops.push_back(loops.k);
  rhsLoops.push_back(loops.k);
  if (loops.hasColumn)
    rhsLoops.push_back(loops.k + 1);
  return {b.map(loops.count, lhsLoops), b.map(loops.count, rhsLoops),
          b.dropMap(loops.count, {loops.k})};
}

/// The dimensions of the result, taken from the operands.
static SmallVector<OpFoldResult> resultDims(KernelBuilder &b, ValueRange inputs,
                                            Value result,
                                            const MatmulLoops &loops) {
  SmallVector<OpFoldResult> dims(b.getRank(result));
  for (Value operand : {inputs[0], inputs[1]})
    for (auto [axis, loop] :
         llvm::enumerate(batchLoops(operand, result, loops)))
      if (loop >= 0 && !dims[loop])
        dims[loop] = b.dim(operand, axis);
  if (loops.hasRow)
    dims[loops.batch] = b.dim(inputs[0], b.getRank(inputs[0]) - 2);
  if (loops.hasColumn)
    dims.back() = b.dim(inputs[1], b.getRank(inputs[1]) - 1);
  return dims;
}

static KernelResult buildMatmul(KernelBuilder &b, MatmulOp op,
                                ValueRange inputs, ValueRange outputs) {
  Value output = outputs[0];
  Type lhs = tensorType(op.getX1()).getDtype();
  Type rhs = tensorType(op.getX2()).getDtype();
  Type result = b.accumulatorType(op.getOutDtype().value_or(lhs));
  MatmulLoops loops(b.getRank(inputs[0]), b.getRank(inputs[1]),
                    b.getRank(output));
  auto dims = [&] { return resultDims(b, inputs, output, loops); };
  Value sums = b.accumulator(output, dims);
  Value zero = b.scalars().constant(b.getElementType(sums), 0);
  Value product = b.compute(inputs, b.fill(zero, sums),
                            matmulMaps(b, inputs[0], inputs[1], output, loops),
                            {loops.k}, [&](S s, V x) {
                              Value left = s.cast(x[0], lhs, result);
                              Value right = s.cast(x[1], rhs, result);
                              return s.add(x[2], s.mul(left, right));
                            });
  return one(b.store(product, output));
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

static Value expDifference(ScalarBuilder &s, Value x, Value y) {
  return math::ExpOp::create(s, s.sub(x, y));
}

static KernelResult buildSoftmax(KernelBuilder &b, SoftmaxOp op,
                                 ValueRange inputs, ValueRange outputs) {
  Value x = inputs[0], output = outputs[0];
  SmallVector<int64_t> axes = {getAxis(op.getAxis(), b.getRank(x))};
  RowMaps maps(b, x, axes);
  Value max = rowMax(b, x, axes);
  auto dims = [&] { return b.dims(x); };
  Value exps = b.compute({x, max}, b.accumulator(output, dims),
                         {maps.full, maps.reduced, maps.full}, {},
                         [](S s, V e) { return expDifference(s, e[0], e[1]); });
  Value sums = rowSum(b, exps, axes, x);
  Value result =
      b.compute(sums, exps, {maps.reduced, maps.full}, {},
                [](S s, V e) { return s.divByReciprocal(e[1], e[0]); });
  return one(b.store(result, output));
}

static KernelResult buildLogSoftmax(KernelBuilder &b, LogSoftmaxOp op,
                                    ValueRange inputs, ValueRange outputs) {
  Value x = inputs[0], output = outputs[0];
  SmallVector<int64_t> axes = {getAxis(op.getAxis(), b.getRank(x))};
  RowMaps maps(b, x, axes);
  Value max = rowMax(b, x, axes);
  Value sums =
      b.compute({x, max}, emptyReduced(b, x, axes, Identity::Zero),
                {maps.full, maps.reduced, maps.reduced}, axes, [](S s, V e) {
                  return s.add(e[2], expDifference(s, e[0], e[1]));
                });
  Value logs = b.computeElementwise(
      {}, sums, [](S s, V e) { return Value(math::LogOp::create(s, e[0])); });
  return one(
      b.compute({x, max, logs}, output,
                {maps.full, maps.reduced, maps.reduced, maps.full}, {},
                [](S s, V e) { return s.sub(s.sub(e[0], e[1]), e[2]); }));
}

//===----------------------------------------------------------------------===//
// outer, prelu
//===----------------------------------------------------------------------===//

static KernelResult buildOuter(KernelBuilder &b, OuterOp, ValueRange inputs,
                               ValueRange outputs) {
  return one(b.compute(inputs, outputs[0],
                       {b.map(2, 0), b.map(2, 1), b.identityMap(2)}, {},
                       [](S s, V x) { return s.mul(x[0], x[1]); }));
}

static KernelResult buildPRelu(KernelBuilder &b, PReluOp op, ValueRange inputs,
                               ValueRange outputs) {
  int64_t rank = b.getRank(inputs[0]);
  bool isOne = b.getType(inputs[1]).getDimSize(0) == 1;
  int64_t axis = isOne ? -1 : getAxis(op.getAxis(), rank);
  AffineMap loops = b.identityMap(rank);
  return one(b.compute(inputs, outputs[0], {loops, b.map(rank, axis), loops},
                       {}, [](S s, V x) -> Value {
                         Value isPositive = s.compare(Comparison::Gt, x[0],
                                                      s.constant(x[0], 0));
                         return s.select(isPositive, x[0], s.mul(x[1], x[0]));
                       }));
}

static DimPairs checkPRelu(PReluOp op, Type) {
  TensorStructInfoType data = tensorType(op.getData());
  PrimExprAttr size = tensorType(op.getAlpha()).getDims().front();
  if (size.getConstant() == 1)
    return {};
  return {{size, data.getDims()[getAxis(op.getAxis(), data.getNdim())]}};
}

void mlir::relax::populateNN(LegalizationTable &table) {
  table.add<MatmulOp>(buildMatmul);
  table.add<SoftmaxOp>(buildSoftmax);
  table.add<LogSoftmaxOp>(buildLogSoftmax);
  table.add<OuterOp>(buildOuter);
  table.add<PReluOp>(buildPRelu);
  table.addChecks<PReluOp>(checkPRelu);
}
