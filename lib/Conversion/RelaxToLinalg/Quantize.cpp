//===- Quantize.cpp - Kernels of quantize and dequantize --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are scaled in f32; a scale may belong to all elements, to an index
// of an axis, or to a block of such indices.
//
//===----------------------------------------------------------------------===//

#include "Float8.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::relax;

using S = ScalarBuilder &;
using V = ValueRange;

/// Maps the loops over `data` to a scale or zero point.
static AffineMap parameterMap(KernelBuilder &b, Value parameter, Value data,
                              int64_t axis, int64_t blockSize) {
  int64_t loops = b.getRank(data), rank = b.getRank(parameter);
  if (rank == 0)
    return b.map(loops, {});
  auto isOne = [&](int64_t dim) {
    return b.getType(parameter).getDimSize(dim) == 1;
  };
  if (blockSize == 0 || loops == 0)
    return b.map(loops,
                 isOne(0) || loops == 0 ? int64_t(-1) : getAxis(axis, loops));
  SmallVector<AffineExpr> places;
  for (int64_t dim = 0; dim < rank; ++dim)
    places.push_back(isOne(dim) ? b.getAffineConstantExpr(0)
                     : dim == getAxis(axis, loops)
                         ? b.getAffineDimExpr(dim).floorDiv(blockSize)
                         : b.getAffineDimExpr(dim));
  return AffineMap::get(loops, 0, places, b.getContext());
}

template <typename OpTy, typename BodyT>
static KernelResult buildQuantization(KernelBuilder &b, OpTy op,
                                      ValueRange inputs, ValueRange outputs,
                                      BodyT body) {
  Value data = inputs[0];
  auto mapOf = [&](Value parameter) {
    return parameterMap(b, parameter, data, op.getAxis(), op.getBlockSize());
  };
  AffineMap loops = b.identityMap(b.getRank(data));
  return one(b.generic(
      inputs, outputs[0], {loops, mapOf(inputs[1]), mapOf(inputs[2]), loops},
      {}, [&](S s, V e) -> Value {
        SmallVector<Value> wide;
        for (auto [value, operand] : llvm::zip(e, op->getOperands()))
          wide.push_back(
              s.cast(value, tensorType(operand).getDtype(), s.getF32Type()));
        return s.cast(body(s, wide), s.getF32Type(), op.getOutDtype());
      }));
}

static DimPairs checkQuantization(ValueRange operands, int64_t axis,
                                  int64_t blockSize) {
  TensorStructInfoType data = tensorType(operands[0]);
  DimPairs pairs;
  for (Value parameter : operands.drop_front()) {
    TensorStructInfoType type = tensorType(parameter);
    SmallVector<PrimExprAttr> wanted =
        getQuantizationDims(data, type.getNdim(), axis, blockSize);
    for (auto [at, size, dim] : llvm::enumerate(type.getDims(), wanted)) {
      bool isBlocked = blockSize != 0 && data.getNdim() > 0 &&
                       int64_t(at) == getAxis(axis, data.getNdim());
      if (isBlocked || size.getConstant() != 1)
        pairs.emplace_back(size, dim);
    }
  }
  return pairs;
}

void mlir::relax::populateQuantize(LegalizationTable &table) {
  table.add<QuantizeOp>([](KernelBuilder &b, QuantizeOp op, ValueRange inputs,
                           ValueRange outputs) {
    bool rounds = isa<IntegerType>(op.getOutDtype());
    return buildQuantization(b, op, inputs, outputs, [&](S s, V e) {
      Value scaled = s.div(e[0], e[1]);
      if (rounds)
        scaled = math::RoundEvenOp::create(s, scaled);
      Value sum = s.add(scaled, e[2]);
      if (!isFloat8(op.getOutDtype()))
        return sum;
      double largest = getLargestFloat8(op.getOutDtype());
      return s.max(s.min(sum, s.constant(sum, largest)),
                   s.constant(sum, -largest));
    });
  });
  table.add<DequantizeOp>([](KernelBuilder &b, DequantizeOp op,
                             ValueRange inputs, ValueRange outputs) {
    return buildQuantization(b, op, inputs, outputs, [](S s, V e) {
      return s.mul(s.sub(e[0], e[2]), e[1]);
    });
  });
  auto check = [](auto op, Type) {
    return checkQuantization(op->getOperands(), op.getAxis(),
                             op.getBlockSize());
  };
  table.addChecks<QuantizeOp>(check);
  table.addChecks<DequantizeOp>(check);
}
