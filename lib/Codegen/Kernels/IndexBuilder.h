//===- IndexBuilder.h - Index arithmetic that folds -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds loops and index arithmetic. Constants fold, so that one emitter serves
// static and dynamic sizes.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_INDEXBUILDER_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_INDEXBUILDER_H

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::relax {

/// Whether a processor with such vectors has registers for masks. Without them
/// a masked store takes as long as a dozen others.
inline bool hasMaskRegisters(VectorType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() >= 512;
}

class IndexBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(*this, value);
  }

  Value f32(double value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }

  Value add(Value lhs, Value rhs) {
    return createOrFold<arith::AddIOp>(lhs, rhs);
  }
  Value add(Value lhs, int64_t rhs) { return add(lhs, index(rhs)); }
  Value sub(Value lhs, Value rhs) {
    return createOrFold<arith::SubIOp>(lhs, rhs);
  }
  Value mul(Value lhs, Value rhs) {
    return createOrFold<arith::MulIOp>(lhs, rhs);
  }
  Value mul(Value lhs, int64_t rhs) { return mul(lhs, index(rhs)); }
  Value min(Value lhs, Value rhs) {
    return createOrFold<arith::MinSIOp>(lhs, rhs);
  }
  Value max(Value lhs, Value rhs) {
    return createOrFold<arith::MaxSIOp>(lhs, rhs);
  }

  /// Quotients of what is not negative.
  Value floorDiv(Value lhs, Value rhs) {
    return createOrFold<arith::DivUIOp>(lhs, rhs);
  }
  Value rem(Value lhs, Value rhs) {
    return createOrFold<arith::RemUIOp>(lhs, rhs);
  }
  Value ceilDiv(Value lhs, Value rhs) {
    return floorDiv(add(lhs, sub(rhs, index(1))), rhs);
  }
  Value roundUp(Value value, int64_t multiple) {
    return mul(ceilDiv(value, index(multiple)), multiple);
  }

  Value atLeastOne(Value value) { return max(value, index(1)); }
  /// The size of so many parts of `count` or, rounded up, of fewer.
  Value divideEvenly(Value count, Value &parts) {
    Value size = atLeastOne(ceilDiv(count, atLeastOne(parts)));
    parts = ceilDiv(count, size);
    return size;
  }
  /// So many tasks for each thread; a single one has no use for several.
  Value countTasks(Value threads, int64_t ofThread) {
    return createOrFold<arith::SelectOp>(isAtMost(threads, 1), index(1),
                                         mul(threads, ofThread));
  }
  /// Fewer than `count` where threads would not have as many, unless each has
  /// no more than one.
  Value shareEvenly(Value count, Value threads) {
    return createOrFold<arith::SelectOp>(isBelow(count, threads), count,
                                         sub(count, rem(count, threads)));
  }

  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return createOrFold<arith::CmpIOp>(predicate, lhs, rhs);
  }
  Value isAtMost(Value lhs, int64_t rhs) {
    return compare(arith::CmpIPredicate::sle, lhs, index(rhs));
  }
  Value isBelow(Value lhs, Value rhs) {
    return compare(arith::CmpIPredicate::slt, lhs, rhs);
  }
  Value isEqual(Value lhs, Value rhs) {
    return compare(arith::CmpIPredicate::eq, lhs, rhs);
  }
  /// Whether 0 <= `place` < `size`.
  Value isInside(Value place, Value size) {
    return arith::AndIOp::create(
        *this, compare(arith::CmpIPredicate::sge, place, index(0)),
        isBelow(place, size));
  }
  /// Returns the index from 0 to `size` - 1 that is nearest to `place`.
  Value clamp(Value place, Value size) {
    return max(min(place, sub(size, index(1))), index(0));
  }

  using Body = llvm::function_ref<void(IndexBuilder &)>;
  using LoopBody = llvm::function_ref<void(IndexBuilder &, Value)>;
  using ReduceBody =
      llvm::function_ref<SmallVector<Value>(IndexBuilder &, Value, ValueRange)>;

  /// if (condition) then else otherwise; only one of them where it is known.
  void branch(Value condition, Body then, Body otherwise = nullptr) {
    if (std::optional<int64_t> known = getConstantIntValue(condition)) {
      if (*known)
        then(*this);
      else if (otherwise)
        otherwise(*this);
      return;
    }
    auto op = scf::IfOp::create(*this, condition,
                                /*withElseRegion=*/bool(otherwise));
    IndexBuilder inside(getLoc(), op.getThenBodyBuilder());
    then(inside);
    if (!otherwise)
      return;
    IndexBuilder outside(getLoc(), op.getElseBodyBuilder());
    otherwise(outside);
  }

  void loop(Value begin, Value end, int64_t step, LoopBody body) {
    loop(begin, end, index(step), body);
  }
  void loop(Value begin, Value end, Value step, LoopBody body) {
    scf::ForOp::create(*this, begin, end, step, ValueRange(),
                       [&](OpBuilder &b, Location loc, Value i, ValueRange) {
                         IndexBuilder inside(loc, b);
                         body(inside, i);
                         scf::YieldOp::create(inside);
                       });
  }

  /// A loop that carries values.
  SmallVector<Value> reduce(Value begin, Value end, int64_t step,
                            ValueRange inits, ReduceBody body) {
    auto op = scf::ForOp::create(
        *this, begin, end, index(step), inits,
        [&](OpBuilder &b, Location loc, Value i, ValueRange carried) {
          IndexBuilder inside(loc, b);
          scf::YieldOp::create(inside, body(inside, i, carried));
        });
    return op.getResults();
  }

  /// One of several steps of an iteration: `offset` from where it begins. Of
  /// several steps, addresses differ by numbers then.
  struct Step {
    Value begin;
    int64_t offset = 0;
  };
  using StepBody = llvm::function_ref<SmallVector<Value>(
      IndexBuilder &, const Step &, ValueRange)>;

  /// A place in memory: `base`, and `stride` for each step.
  Value add(Value base, const Step &step, int64_t stride) {
    return add(add(base, mul(step.begin, stride)), step.offset * stride);
  }
  Value add(Value base, const Step &step, Value stride) {
    return add(add(base, mul(step.begin, stride)), mul(stride, step.offset));
  }

  /// How many steps of so many products are worth an iteration.
  static int64_t countSteps(int64_t products) {
    constexpr int64_t kProducts = 48, kMostSteps = 4;
    return std::clamp<int64_t>(llvm::bit_floor<uint64_t>(kProducts / products),
                               1, kMostSteps);
  }

  /// A loop from 0 that carries values, `factor` steps in an iteration: fewer
  /// instructions for addresses and branches, which count where two threads
  /// share a core.
  SmallVector<Value> reduceUnrolled(Value end, int64_t factor, ValueRange inits,
                                    StepBody body) {
    Value whole = sub(end, rem(end, index(factor)));
    SmallVector<Value> carried =
        reduce(index(0), whole, factor, inits,
               [&](IndexBuilder &b, Value begin, ValueRange values) {
                 SmallVector<Value> next = llvm::to_vector(values);
                 for (int64_t offset = 0; offset < factor; ++offset)
                   next = body(b, {begin, offset}, next);
                 return next;
               });
    if (isConstantIntValue(sub(end, whole), 0))
      return carried;
    return reduce(whole, end, 1, carried,
                  [&](IndexBuilder &b, Value begin, ValueRange values) {
                    return body(b, {begin}, values);
                  });
  }

  /// Iterations that threads may share, at least `grain` for each.
  void parallel(Value count, int64_t grain, LoopBody body) {
    auto op = scf::ParallelOp::create(
        *this, index(0), count, index(1),
        [&](OpBuilder &b, Location loc, ValueRange indices) {
          IndexBuilder inside(loc, b);
          body(inside, indices.front());
        });
    RelaxDialect::GrainAttrHelper(getContext())
        .setAttr(op, getI64IntegerAttr(grain));
  }
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_INDEXBUILDER_H
