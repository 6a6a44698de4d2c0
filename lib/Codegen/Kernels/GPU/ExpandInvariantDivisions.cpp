//===- ExpandInvariantDivisions.cpp - Quotients by products -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs have no instruction for quotients of integers: those of 64 bits are
// calls of a subroutine, around which threads spill registers. Divisors of
// indices are sizes of tensors, which the host knows, so that it computes what
// a thread multiplies by (Granlund and Montgomery, "Division by invariant
// integers using multiplication", 1994). For numbers of w bits and a divisor d,
//
//   l = ceil(log2(d)), magic = floor(2^w * (2^l - d) / d) + 1
//   n / d = (high + ((n - high) >> min(l, 1))) >> max(l - 1, 0)
//
// where `high` are the high w bits of magic * n. That is exact for all n.
//
//===----------------------------------------------------------------------===//

#include "IndexBuilder.h"
#include "Launch.h"

#include "relax-mlir/Codegen/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXEXPANDINVARIANTDIVISIONSPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// What the host computes of a divisor, of the same type: floor(2^w * (2^l - d)
/// / d) + 1, and the shifts min(l, 1) and max(l - 1, 0).
struct MagicNumber {
  Value factor, firstShift, secondShift;
};

/// The divisions of one launch.
class LaunchDivisions {
public:
  explicit LaunchDivisions(gpu::LaunchOp launch)
      : launch(launch), host(launch.getLoc(), launch) {
    auto know = [&](gpu::KernelDim3 sizes, gpu::KernelDim3 values) {
      known.map(ValueRange{sizes.x, sizes.y, sizes.z},
                ValueRange{values.x, values.y, values.z});
    };
    know(launch.getGridSize(), launch.getGridSizeOperandValues());
    know(launch.getBlockSize(), launch.getBlockSizeOperandValues());
  }
  void expand();

private:
  static Value i64(IndexBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  Value hoist(Value value);
  Value divideWide(Value rest, Value divisor);
  MagicNumber compute(Value divisor);
  Value multiplyHigh(IndexBuilder &b, Value lhs, Value rhs);
  Value divide(Operation *op, Value divisor);
  void expand(Operation *op, Value divisor);

  gpu::LaunchOp launch;
  IndexBuilder host;
  /// What the host knows of values of threads.
  IRMapping known;
  llvm::DenseMap<Value, MagicNumber> magicNumbers;
  /// The quotients of a block, by number and divisor.
  llvm::DenseMap<std::tuple<Block *, Value, Value>, Value> quotients;
};
} // namespace

/// Returns what the host knows as a value of threads, null where it does not.
Value LaunchDivisions::hoist(Value value) {
  llvm::SetVector<Operation *> copied;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value needed = pending.pop_back_val();
    if (!launch.getBody().isAncestor(needed.getParentRegion()) ||
        known.contains(needed))
      continue;
    Operation *op = needed.getDefiningOp();
    if (!op || op->getNumRegions() > 0 || !isPure(op))
      return Value();
    if (copied.insert(op))
      llvm::append_range(pending, op->getOperands());
  }
  for (Operation *op : topologicalSort(copied))
    host.clone(*op, known);
  return known.lookupOrDefault(value);
}

/// Returns floor(2^64 * rest / divisor) of a rest less than the divisor, as
/// schoolbooks divide: as many bits at a time as the divisor has zeros in
/// front, which are 32 or more of all but huge sizes.
Value LaunchDivisions::divideWide(Value rest, Value divisor) {
  // No size has none.
  Value digit = arith::MaxUIOp::create(
      host, math::CountLeadingZerosOp::create(host, divisor), i64(host, 1));
  Value step = arith::IndexCastOp::create(host, host.getIndexType(), digit);
  Value inits[] = {i64(host, 0), rest};
  auto loop = scf::ForOp::create(
      host, host.index(0), host.index(64), step, inits,
      [&](OpBuilder &builder, Location loc, Value done, ValueRange carried) {
        IndexBuilder in(loc, builder);
        Value left = arith::IndexCastOp::create(in, in.getI64Type(),
                                                in.sub(in.index(64), done));
        Value shift = arith::MinUIOp::create(in, digit, left);
        Value number = arith::ShLIOp::create(in, carried[1], shift);
        Value quotient = in.add(arith::ShLIOp::create(in, carried[0], shift),
                                in.floorDiv(number, divisor));
        scf::YieldOp::create(in, ValueRange{quotient, in.rem(number, divisor)});
      });
  return loop.getResult(0);
}

MagicNumber LaunchDivisions::compute(Value divisor) {
  Type type = divisor.getType();
  bool isIndex = type.isIndex();
  Value one = i64(host, 1);
  divisor = isIndex
                ? host.createOrFold<arith::IndexCastOp>(one.getType(), divisor)
                : host.createOrFold<arith::ExtUIOp>(one.getType(), divisor);
  // Where it is 0, no thread divides by it.
  divisor = arith::MaxUIOp::create(host, divisor, one);
  Value log =
      host.sub(i64(host, 64),
               math::CountLeadingZerosOp::create(host, host.sub(divisor, one)));
  Value first = arith::MinUIOp::create(host, log, one);
  Value second = host.sub(log, first);
  // In two steps, as 2^64 is 0.
  Value power = arith::ShLIOp::create(
      host, arith::ShLIOp::create(host, one, first), second);
  Value rest = host.sub(power, divisor);
  Value quotient =
      isIndex ? divideWide(rest, divisor)
              : host.floorDiv(arith::ShLIOp::create(host, rest, i64(host, 32)),
                              divisor);
  auto convert = [&](Value value) {
    return isIndex ? host.createOrFold<arith::IndexCastOp>(type, value)
                   : host.createOrFold<arith::TruncIOp>(type, value);
  };
  return {convert(host.add(quotient, one)), convert(first), convert(second)};
}

/// The high bits of a product, by the instruction that computes them alone:
/// LLVM finds it in a product of twice as many bits only where nothing of that
/// leaves a loop. Indices have none.
Value LaunchDivisions::multiplyHigh(IndexBuilder &b, Value lhs, Value rhs) {
  Type type = lhs.getType();
  if (!type.isIndex()) {
    StringRef name =
        type.isInteger(32) ? "llvm.nvvm.mulhi.ui" : "llvm.nvvm.mulhi.ull";
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name),
                                         ValueRange{lhs, rhs})
        .getResult(0);
  }
  auto cast = [&](Type to, Value value) {
    return b.createOrFold<arith::IndexCastOp>(to, value);
  };
  Type wide = b.getI64Type();
  return cast(type, multiplyHigh(b, cast(wide, lhs), cast(wide, rhs)));
}

/// Returns the quotient of a division by what the host has as `divisor`.
Value LaunchDivisions::divide(Operation *op, Value divisor) {
  Value number = op->getOperand(0);
  auto [magicPlace, isNew] = magicNumbers.try_emplace(divisor);
  if (isNew)
    magicPlace->second = compute(divisor);
  // A quotient and a remainder of the same numbers are next to each other.
  auto [place, isFirst] =
      quotients.try_emplace({op->getBlock(), number, divisor});
  if (!isFirst)
    return place->second;
  const MagicNumber &magic = magicPlace->second;
  IndexBuilder b(op->getLoc(), op);
  Value high = multiplyHigh(b, magic.factor, number);
  Value rest = arith::ShRUIOp::create(b, b.sub(number, high), magic.firstShift);
  return place->second =
             arith::ShRUIOp::create(b, b.add(high, rest), magic.secondShift);
}

/// Expands a division by what the host has as `divisor`.
void LaunchDivisions::expand(Operation *op, Value divisor) {
  Value result = divide(op, divisor);
  if (isa<arith::RemUIOp>(op)) {
    IndexBuilder b(op->getLoc(), op);
    result = b.sub(op->getOperand(0), b.mul(result, op->getOperand(1)));
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

void LaunchDivisions::expand() {
  SmallVector<Operation *> divisions;
  launch.walk([&](Operation *op) {
    if (!isa<arith::DivUIOp, arith::RemUIOp>(op))
      return;
    Type type = op->getResult(0).getType();
    if (type.isIndex() || type.isInteger(32))
      divisions.push_back(op);
  });
  for (Operation *op : divisions) {
    Value divisor = op->getOperand(1);
    if (getConstantIntValue(divisor))
      continue; // LLVM does the same with numbers that it knows
    if (Value onHost = hoist(divisor))
      expand(op, onHost);
  }
}

namespace {
struct RelaxExpandInvariantDivisionsPass
    : relax::impl::RelaxExpandInvariantDivisionsPassBase<
          RelaxExpandInvariantDivisionsPass> {
  void runOnOperation() override {
    getOperation().walk([](gpu::LaunchOp launch) {
      if (isOnCuda(launch))
        LaunchDivisions(launch).expand();
    });
  }
};
} // namespace
