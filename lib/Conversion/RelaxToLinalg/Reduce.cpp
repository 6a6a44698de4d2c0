//===- Reduce.cpp - Kernels of reductions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills the accumulator with the identity and reduces into it. Sums and
// products of floats of 16 bits accumulate in f32.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using Combine = Value (*)(ScalarBuilder &, Value, Value);

/// The axes that `op` reduces, counted from 0.
template <typename OpTy> static SmallVector<int64_t> reducedAxes(OpTy op) {
  int64_t ndim = tensorType(op.getX()).getNdim();
  if (std::optional<ArrayRef<int64_t>> axes = op.getAxis())
    return getAxes(*axes, ndim);
  return llvm::to_vector(llvm::seq<int64_t>(ndim));
}

/// Reduces `x` into `output`, whatever it holds before.
static Value reduceInto(KernelBuilder &b, Value x, Value output,
                        ArrayRef<int64_t> axes, bool keepdims,
                        Identity identity, Combine combine) {
  int64_t loops = b.getRank(x);
  Value init = b.scalars().identity(identity, b.getElementType(output));
  return b.compute(x, b.fill(init, output),
                   {b.identityMap(loops), b.dropMap(loops, axes, keepdims)},
                   axes, [&](S s, ValueRange elements) {
                     return combine(s, elements[1], elements[0]);
                   });
}

/// Reductions that pick an element: exact in any data type.
template <typename OpTy>
static void addPick(LegalizationTable &table, Identity identity,
                    Combine combine) {
  table.add<OpTy>([=](KernelBuilder &b, OpTy op, ValueRange inputs,
                      ValueRange outputs) -> KernelResult {
    if (failed(requireArithmetic(op)))
      return failure();
    return one(reduceInto(b, inputs[0], outputs[0], reducedAxes(op),
                          op.getKeepdims(), identity, combine));
  });
}

/// Reductions that compute, in the type of the accumulator.
template <typename OpTy>
static Value accumulate(KernelBuilder &b, OpTy op, Value x, Value output,
                        Identity identity, Combine combine) {
  SmallVector<int64_t> axes = reducedAxes(op);
  auto dims = [&] {
    SmallVector<OpFoldResult> dims;
    for (int64_t i = 0; i < b.getRank(x); ++i) {
      if (!llvm::is_contained(axes, i))
        dims.push_back(b.dim(x, i));
      else if (op.getKeepdims())
        dims.push_back(b.getIndexAttr(1));
    }
    return dims;
  };
  return reduceInto(b, x, b.accumulator(output, dims), axes, op.getKeepdims(),
                    identity, combine);
}

template <typename OpTy>
static void addCompute(LegalizationTable &table, Identity identity,
                       Combine combine) {
  table.add<OpTy>([=](KernelBuilder &b, OpTy op, ValueRange inputs,
                      ValueRange outputs) -> KernelResult {
    if (failed(requireArithmetic(op)))
      return failure();
    Value result = accumulate(b, op, inputs[0], outputs[0], identity, combine);
    return one(b.store(result, outputs[0]));
  });
}

static Value sum(ScalarBuilder &s, Value lhs, Value rhs) {
  return s.add(lhs, rhs);
}

static KernelResult buildMean(KernelBuilder &b, MeanOp op, ValueRange inputs,
                              ValueRange outputs) {
  if (failed(requireArithmetic(op)))
    return failure();
  Value total = accumulate(b, op, inputs[0], outputs[0], Identity::Zero, sum);
  Value count = b.count(inputs[0], reducedAxes(op), b.getElementType(total));
  Value mean = b.elementwise({}, total, [&](S s, ValueRange elements) {
    return s.div(elements[0], count);
  });
  return one(b.store(mean, outputs[0]));
}

void mlir::relax::populateReduce(LegalizationTable &table) {
  addCompute<SumOp>(table, Identity::Zero, sum);
  addCompute<ProdOp>(table, Identity::One,
                     [](S s, Value x, Value y) { return s.mul(x, y); });
  addPick<MaxOp>(table, Identity::Lowest,
                 [](S s, Value x, Value y) { return s.max(x, y); });
  addPick<MinOp>(table, Identity::Highest,
                 [](S s, Value x, Value y) { return s.min(x, y); });
  table.add<MeanOp>(buildMean);
}
