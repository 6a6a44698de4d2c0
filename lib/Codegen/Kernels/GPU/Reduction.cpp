//===- Reduction.cpp - Reductions by several threads ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduction.h"

#include "Launch.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::relax;

std::optional<TypedAttr> mlir::relax::getNeutral(Operation *combiner) {
  Type type = combiner->getResult(0).getType();
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() < 8 ||
      !isa<arith::AddFOp, arith::MulFOp, arith::AddIOp, arith::MulIOp,
           arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
           arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
           arith::MinUIOp, arith::AndIOp, arith::OrIOp>(combiner))
    return std::nullopt;
  return arith::getNeutralElement(combiner);
}

/// What a body yields as result `index`: a combination of the element so far,
/// which nothing else sees, and something else.
static std::optional<std::pair<Operation *, TypedAttr>>
findCombiner(linalg::GenericOp op, unsigned index) {
  Block &body = op.getRegion().front();
  BlockArgument carried = body.getArgument(op.getNumDpsInputs() + index);
  Operation *combiner = body.getTerminator()->getOperand(index).getDefiningOp();
  if (!combiner || combiner->getBlock() != &body ||
      combiner->getNumOperands() != 2 || !carried.hasOneUse() ||
      *carried.user_begin() != combiner ||
      !combiner->getResult(0).hasOneUse() ||
      combiner->getOperand(0) == combiner->getOperand(1))
    return std::nullopt;
  std::optional<TypedAttr> neutral = getNeutral(combiner);
  if (!neutral)
    return std::nullopt;
  return std::make_pair(combiner, *neutral);
}

std::optional<Reduction> Reduction::get(linalg::GenericOp op) {
  Reduction result;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    auto found = findCombiner(op, i);
    if (!found)
      return std::nullopt;
    result.combiners.push_back(found->first);
    result.neutral.push_back(found->second);
  }
  return result;
}

Value mlir::relax::combine(IndexBuilder &in, Operation *combiner, Value lhs,
                           Value rhs) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), lhs);
  mapping.map(combiner->getOperand(1), rhs);
  return in.clone(*combiner, mapping)->getResult(0);
}

SmallVector<Value> mlir::relax::accumulate(
    IndexBuilder &b, const ElementBody &body, Value begin, Value end,
    Value step, int64_t unroll, ValueRange neutral,
    llvm::function_ref<ElementPlace(IndexBuilder &, Value)> at) {
  return loopUnrolled(
      b, begin, end, step, unroll, neutral,
      [&](IndexBuilder &loop, ArrayRef<Value> places, ValueRange carried) {
        SmallVector<ElementPlace> where;
        SmallVector<SmallVector<Value>> operands;
        for (Value place : places) {
          where.push_back(at(loop, place));
          operands.push_back(body.loadInputs(loop, where.back()));
        }
        SmallVector<Value> next(carried);
        for (auto [place, values] : llvm::zip(where, operands)) {
          SmallVector<Value> arguments(values);
          llvm::append_range(arguments, next);
          next = body.compute(loop, place, arguments);
        }
        return next;
      });
}
