//===- ApproximateMath.cpp - The pass of elementary functions ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces elementary functions of float32, and some of doubles, by arithmetic;
// Math/ has it. Those of f16 and bf16 are computed in float32.
//
//===----------------------------------------------------------------------===//

#include "Math/ElementaryFunctions.h"

#include "relax-mlir/Analysis/TargetModel.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXAPPROXIMATEMATHPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

using Function = Value (*)(MathBuilder &, ValueRange);

template <Value (*buildOf)(MathBuilder &, Value)>
static Value buildUnary(MathBuilder &b, ValueRange operands) {
  return buildOf(b, operands[0]);
}

/// The error function that an operation adds 1 to, as GELU does, if nothing
/// else needs it.
static math::ErfOp matchOnePlusErf(Operation *op) {
  auto sum = dyn_cast_or_null<arith::AddFOp>(op);
  if (!sum)
    return {};
  for (auto [term, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                             std::pair(sum.getRhs(), sum.getLhs())}) {
    auto erf = term.getDefiningOp<math::ErfOp>();
    if (erf && erf->hasOneUse() && matchPattern(other, m_OneFloat()))
      return erf;
  }
  return {};
}

/// x where an operation computes x / 2 * (1 + erf(x / sqrt(2))), and nothing
/// else needs the error function.
static Value matchGelu(Operation *op) {
  auto isProduct = [](Value product, Value x, double factor) {
    auto mul = product.getDefiningOp<arith::MulFOp>();
    auto isFactor = [&](Value value) {
      APFloat number(0.0);
      return matchPattern(value, m_ConstantFloat(&number)) &&
             number.convertToDouble() == factor;
    };
    return mul && ((mul.getLhs() == x && isFactor(mul.getRhs())) ||
                   (mul.getRhs() == x && isFactor(mul.getLhs())));
  };
  auto product = dyn_cast<arith::MulFOp>(op);
  if (!product || !getElementTypeOrSelf(product.getType()).isF32())
    return {};
  for (auto [half, gate] : {std::pair(product.getLhs(), product.getRhs()),
                            std::pair(product.getRhs(), product.getLhs())}) {
    math::ErfOp erf = matchOnePlusErf(gate.getDefiningOp());
    auto scaled =
        erf ? erf.getOperand().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!scaled || !gate.hasOneUse())
      continue;
    for (Value x : scaled->getOperands())
      if (isProduct(scaled, x, float(M_SQRT1_2)) && isProduct(half, x, 0.5))
        return x;
  }
  return {};
}

/// The function of float32 that an operation computes in doubles, and rounds,
/// of a number that `x` becomes: a power of 2, or a logarithm to base 2 or 10.
static Function matchOtherBase(Operation *op, Value &x) {
  auto narrow = dyn_cast<arith::TruncFOp>(op);
  if (!narrow)
    return nullptr;
  auto exp = narrow.getIn().getDefiningOp<math::ExpOp>();
  Value value = exp ? exp.getOperand() : narrow.getIn();
  auto product = value.getDefiningOp<arith::MulFOp>();
  APFloat number(0.0);
  if (!product || !getElementTypeOrSelf(value.getType()).isF64() ||
      !matchPattern(product.getRhs(), m_ConstantFloat(&number)))
    return nullptr;
  double factor = number.convertToDouble();
  auto log = product.getLhs().getDefiningOp<math::LogOp>();
  Value wide = log ? log.getOperand() : product.getLhs();
  auto extended = wide.getDefiningOp<arith::ExtFOp>();
  if (!extended || extended.getIn().getType() != narrow.getType() ||
      !getElementTypeOrSelf(narrow.getType()).isF32())
    return nullptr;
  x = extended.getIn();
  if (exp && !log && factor == M_LN2)
    return buildUnary<buildExp2>;
  if (exp || !log || (factor != 1 / M_LN2 && factor != 1 / M_LN10))
    return nullptr;
  return factor == 1 / M_LN2 ? buildUnary<buildLog2> : buildUnary<buildLog10>;
}

/// Whether a value is only used rounded to bf16.
static bool isRoundedToBF16(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<arith::TruncFOp>(user) &&
           getElementTypeOrSelf(user->getResult(0).getType()).isBF16();
  });
}

namespace {
/// What computes the result of an operation, and of which values.
struct Approximation {
  Function function = nullptr;
  SmallVector<Value> operands = {};

  explicit operator bool() const { return function; }
};
} // namespace

template <Value (*buildOf)(MathBuilder &, Value, Value)>
static Value buildBinary(MathBuilder &b, ValueRange operands) {
  return buildOf(b, operands[0], operands[1]);
}

/// Returns what computes an operation at float32 operands; null where libm
/// does.
static Function findFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](math::AcosOp) { return buildUnary<buildAcos>; })
      .Case([](math::AcoshOp) { return buildUnary<buildAcosh>; })
      .Case([](math::AsinOp) { return buildUnary<buildAsin>; })
      .Case([](math::AsinhOp) { return buildUnary<buildAsinh>; })
      .Case([](math::AtanOp) { return buildUnary<buildAtan>; })
      .Case([](math::AtanhOp) { return buildUnary<buildAtanh>; })
      .Case([](math::Atan2Op) { return buildBinary<buildAtan2>; })
      .Case([](math::CosOp) { return buildUnary<buildCos>; })
      .Case([](math::CoshOp) { return buildUnary<buildCosh>; })
      .Case([](math::ErfOp) { return buildUnary<buildErf>; })
      .Case([](math::ExpOp) { return buildUnary<buildExp>; })
      .Case([](math::Exp2Op) { return buildUnary<buildExp2>; })
      .Case([](math::ExpM1Op) { return buildUnary<buildExpM1>; })
      .Case([](math::LogOp) { return buildUnary<buildLog>; })
      .Case([](math::Log10Op) { return buildUnary<buildLog10>; })
      .Case([](math::Log1pOp) { return buildUnary<buildLog1p>; })
      .Case([](math::Log2Op) { return buildUnary<buildLog2>; })
      .Case([](math::SinOp) { return buildUnary<buildSin>; })
      .Case([](math::SinhOp) { return buildUnary<buildSinh>; })
      .Case([](math::TanOp) { return buildUnary<buildTan>; })
      .Case([](math::TanhOp) { return buildUnary<buildTanh>; })
      .Case([](math::PowFOp) { return buildBinary<buildPow>; })
      .Case([](arith::RemFOp) { return buildBinary<buildRemainder>; })
      .Default(Function());
}

/// The same for doubles.
static Function findFunctionOfDouble(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](math::ExpOp) { return buildUnary<buildExpOfDouble>; })
      .Case([](math::ExpM1Op) { return buildUnary<buildExpM1OfDouble>; })
      .Case([](math::LogOp) { return buildUnary<buildLogOfDouble>; })
      .Case([](math::Log1pOp) { return buildUnary<buildLog1pOfDouble>; })
      .Default(Function());
}

/// Returns the approximation of an operation, and of those that it ends; null
/// where there is none.
static Approximation findApproximation(Operation *op) {
  if (op->getNumResults() != 1)
    return {};
  Type type = op->getResult(0).getType();
  if (auto vector = dyn_cast<VectorType>(type); vector && vector.isScalable())
    return {};
  Type element = getElementTypeOrSelf(type);
  if (!isa<VectorType, FloatType>(type))
    return {};
  if (element.isF64())
    return {findFunctionOfDouble(op), op->getOperands()};
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return {};
  if (math::ErfOp erf = matchOnePlusErf(op))
    return {buildUnary<buildOnePlusErf>, {erf.getOperand()}};
  if (Value x = matchGelu(op))
    return {isRoundedToBF16(op->getResult(0)) ? buildUnary<buildShortGelu>
                                              : buildUnary<buildGelu>,
            {x}};
  Value x;
  if (Function function = matchOtherBase(op, x))
    return {function, {x}};
  return {findFunction(op), op->getOperands()};
}

/// Whether `value` is what a loop has accumulated when `update` adds to it: a
/// value that the loop carries, or an element that is loaded and stored again.
static bool isAccumulator(Value value, Operation *update) {
  if (!update->hasOneUse())
    return false;
  OpOperand &use = *update->use_begin();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument != loop.getInductionVar() &&
           isa<scf::YieldOp>(use.getOwner()) &&
           loop.getTiedLoopYieldedValue(argument) == &use;
  }
  auto load = value.getDefiningOp<memref::LoadOp>();
  auto store = dyn_cast<memref::StoreOp>(use.getOwner());
  return load && store && load.getMemRef() == store.getMemRef() &&
         load.getIndices() == store.getIndices();
}

/// Allows LLVM to compute the sums and products of loops in any order, and to
/// ignore the signs of zeros. No other arithmetic may be reassociated: x - x is
/// 0 then, where infinities and NaN have to stay what they are.
static void relaxArithmetic(func::FuncOp function) {
  function.walk([&](arith::ArithFastMathInterface op) {
    auto flags = arith::FastMathFlags::nsz | arith::FastMathFlags::contract;
    if (isa<arith::AddFOp, arith::MulFOp>(op) &&
        llvm::any_of(op->getOperands(),
                     [&](Value value) { return isAccumulator(value, op); }))
      flags = flags | arith::FastMathFlags::reassoc;
    arith::FastMathFlagsAttr given = op.getFastMathFlagsAttr();
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(
                    op.getContext(), given ? given.getValue() | flags : flags));
  });
}

/// Whether an operation alone may have fewer digits.
static bool isApproximate(Operation *op) {
  auto function = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr given =
      function ? function.getFastMathFlagsAttr() : nullptr;
  return given &&
         bitEnumContainsAny(given.getValue(), arith::FastMathFlags::afn);
}

/// LLVM's reciprocals overflow where those of kernels are scaled.
static void forbidReciprocals(func::FuncOp function) {
  function.walk([](arith::DivFOp op) {
    op.setFastmath(
        arith::bitEnumClear(op.getFastmath(), arith::FastMathFlags::arcp));
  });
}

/// Rounds to bf16 by an instruction, which takes what is not normal for 0.
static void roundByInstruction(func::FuncOp function) {
  function.walk([](arith::TruncFOp op) {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!from || !getElementTypeOrSelf(op.getType()).isBF16() ||
        from != VectorType::get(16, Float32Type::get(op.getContext())))
      return;
    OpBuilder b(op);
    auto call = LLVM::CallIntrinsicOp::create(
        b, op.getLoc(), op.getType(),
        b.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"), op.getIn());
    op.replaceAllUsesWith(call.getResults());
    op.erase();
  });
}

namespace {
struct RelaxApproximateMathPass
    : relax::impl::RelaxApproximateMathPassBase<RelaxApproximateMathPass> {
  using RelaxApproximateMathPassBase::RelaxApproximateMathPassBase;

  void runOnOperation() override {
    forbidReciprocals(getOperation());
    // Before there are polynomials, which rely on the order of operations.
    if (fast)
      relaxArithmetic(getOperation());
    auto target = TargetModel::get(getOperation());
    bool hasScalef = target.has("avx512f");
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      // Devices have their own remainder, and not all have doubles.
      bool stays =
          isa<arith::RemFOp>(op) && op->getParentOfType<gpu::LaunchOp>();
      if (!stays && findApproximation(op))
        ops.push_back(op);
    });
    // From the last on: what takes another one in needs no code of that.
    for (Operation *op : llvm::reverse(ops)) {
      SmallPtrSet<Operation *, 2> users(op->user_begin(), op->user_end());
      if (llvm::all_of(users, isOpTriviallyDead)) {
        for (Operation *user : users)
          user->erase();
        op->erase();
        continue;
      }
      MathBuilder b(op, fast || isApproximate(op), hasScalef);
      Type type = op->getResult(0).getType();
      auto [function, operands] = findApproximation(op);
      bool isNarrow = type != b.f32() && type != b.f64();
      if (isNarrow)
        for (Value &operand : operands)
          operand = arith::ExtFOp::create(b, b.f32(), operand);
      Value result = function(b, operands);
      if (isNarrow)
        result = arith::TruncFOp::create(b, type, result);
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
    if (flushBF16 && target.has("avx512bf16"))
      roundByInstruction(getOperation());
  }
};
} // namespace
