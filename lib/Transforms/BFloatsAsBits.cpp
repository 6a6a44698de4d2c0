//===- BFloatsAsBits.cpp - Move bf16 as integers ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a processor has no instructions for bf16, LLVM computes shuffles of it
// and what is loaded or stored under a mask as f32, and rounds each element by
// a call of `__truncsfbf2`, which no library of ours has. By now arithmetic is
// done in f32 and rounded by integers, so that bf16 is only moved: as i16,
// which has the same bits, each move is one instruction anywhere. Intrinsics
// that multiply bf16 take it as it is.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXBFLOATSASBITSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;

static bool hasBFloats(Type type) {
  return type
      .walk<WalkOrder::PreOrder>(
          [](BFloat16Type) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// The type that an operation names besides those of its values.
static Type getNamedType(Operation &op) {
  return llvm::TypeSwitch<Operation *, Type>(&op)
      .Case([](LLVM::AllocaOp alloca) { return alloca.getElemType(); })
      .Case([](LLVM::GEPOp gep) { return gep.getElemType(); })
      .Case([](LLVM::GlobalOp global) { return global.getGlobalType(); })
      .Case(
          [](LLVM::LLVMFuncOp function) { return function.getFunctionType(); })
      .Default(Type());
}

namespace {
/// Looks for the type in operations, and in each other type once.
class BFloatFinder {
public:
  bool isIn(Operation &op) {
    Type named = getNamedType(op);
    auto isOne = [&](Type type) { return isIn(type); };
    return llvm::any_of(op.getOperandTypes(), isOne) ||
           llvm::any_of(op.getResultTypes(), isOne) || (named && isIn(named));
  }

private:
  bool isIn(Type type) {
    auto [found, isNew] = types.try_emplace(type, false);
    if (isNew)
      found->second = hasBFloats(type);
    return found->second;
  }

  DenseMap<Type, bool> types;
};
} // namespace

/// Whether an operation does the same with any type of as many bits.
static bool movesBits(Operation &op) {
  return isa<LLVM::AllocaOp, LLVM::BitcastOp, LLVM::BrOp, LLVM::CallOp,
             LLVM::CondBrOp, LLVM::ConstantOp, LLVM::ExtractElementOp,
             LLVM::ExtractValueOp, LLVM::FreezeOp, LLVM::GEPOp, LLVM::GlobalOp,
             LLVM::InsertElementOp, LLVM::InsertValueOp, LLVM::LLVMFuncOp,
             LLVM::LoadOp, LLVM::MaskedLoadOp, LLVM::MaskedStoreOp,
             LLVM::PoisonOp, LLVM::ReturnOp, LLVM::SelectOp,
             LLVM::ShuffleVectorOp, LLVM::StoreOp, LLVM::SwitchOp,
             LLVM::UndefOp, LLVM::ZeroOp, LLVM::masked_gather,
             LLVM::masked_scatter, LLVM::vector_extract, LLVM::vector_insert>(
      op);
}

/// Replaces the type, and constants by their bits.
static void replaceBFloats(Operation *root) {
  Type bits = IntegerType::get(root->getContext(), 16);
  using Replaced = std::optional<std::pair<Attribute, WalkResult>>;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](BFloat16Type) { return bits; });
  replacer.addReplacement([&](FloatAttr number) -> Replaced {
    if (!number.getType().isBF16())
      return std::nullopt;
    APInt value = number.getValue().bitcastToAPInt();
    return std::pair(Attribute(IntegerAttr::get(bits, value)),
                     WalkResult::skip());
  });
  // Other types that attributes of a function name stay as they are.
  replacer.addReplacement([](TypeAttr type) -> Replaced {
    if (LLVM::isCompatibleType(type.getValue()))
      return std::nullopt;
    return std::pair(Attribute(type), WalkResult::skip());
  });
  replacer.addReplacement([&](DenseFPElementsAttr numbers) -> Replaced {
    if (!numbers.getElementType().isBF16())
      return std::nullopt;
    return std::pair(Attribute(numbers.bitcast(bits)), WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// Whether a function is an intrinsic of LLVM, whose types are given.
static bool isIntrinsic(StringRef name) { return name.starts_with("llvm."); }

static bool callsIntrinsic(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  return isa<LLVM::CallIntrinsicOp>(op) ||
         (call && isIntrinsic(call.getCallee().value_or("")));
}

namespace {
/// The types that a call of an intrinsic has before the replacement.
struct IntrinsicCall {
  explicit IntrinsicCall(Operation *op)
      : op(op), operands(op->getOperandTypes()), results(op->getResultTypes()) {
  }

  void restoreTypes() const;

  Operation *op;
  SmallVector<Type> operands, results;
};
} // namespace

void IntrinsicCall::restoreTypes() const {
  OpBuilder b(op);
  for (auto [operand, type] : llvm::zip_equal(op->getOpOperands(), operands))
    if (operand.get().getType() != type)
      operand.set(
          LLVM::BitcastOp::create(b, op->getLoc(), type, operand.get()));
  b.setInsertionPointAfter(op);
  for (auto [result, type] : llvm::zip_equal(op->getResults(), results)) {
    Type bits = result.getType();
    if (bits == type)
      continue;
    result.setType(type);
    auto cast = LLVM::BitcastOp::create(b, op->getLoc(), bits, result);
    result.replaceAllUsesExcept(cast, cast);
  }
}

namespace {
struct RelaxBFloatsAsBitsPass
    : relax::impl::RelaxBFloatsAsBitsPassBase<RelaxBFloatsAsBitsPass> {
  void runOnOperation() override {
    bool isNeeded = false;
    SmallVector<IntrinsicCall> calls;
    BFloatFinder finder;
    // The module lists constants, which are those of tensors.
    WalkResult walk = getOperation().walk([&](Operation *op) {
      if (op == getOperation() || !finder.isIn(*op))
        return WalkResult::advance();
      isNeeded = true;
      if (callsIntrinsic(op))
        calls.emplace_back(op);
      else if (!movesBits(*op))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (!isNeeded || walk.wasInterrupted())
      return;
    for (Operation &op : *getOperation().getBody())
      if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
          !function || !isIntrinsic(function.getName()))
        replaceBFloats(&op);
    for (const IntrinsicCall &call : calls)
      call.restoreTypes();
  }
};
} // namespace
