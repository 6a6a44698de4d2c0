//===- ExtremaToLLVM.cpp - Maxima as intrinsics -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without signs of zeros, LLVM makes two instructions of a maximum on x86: one
// that returns the second operand where either is NaN, and a selection of the
// first one where that is NaN. The first one is the element, so that what a
// loop has accumulated does not wait for the comparison. A bound that is a
// constant needs the first instruction only, and so does AArch64.
//
// Zeros as constants stay: max(-0, 0) is 0, as of relu.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXEXTREMATOLLVMPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;

/// Whether a value is one that the intrinsics take.
static bool isNumberOrVector(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return isa<FloatType>(type) || (vector && vector.getRank() == 1);
}

template <typename IntrinsicOp, typename OpTy> static void convert(OpTy op) {
  if (!isNumberOrVector(op.getType()) ||
      matchPattern(op.getRhs(), m_AnyZeroFloat()) ||
      matchPattern(op.getLhs(), m_AnyZeroFloat()))
    return;
  OpBuilder b(op);
  auto flags = arith::convertArithFastMathFlagsToLLVM(op.getFastmath()) |
               LLVM::FastmathFlags::nsz;
  Value result = IntrinsicOp::create(b, op.getLoc(), op.getType(), op.getRhs(),
                                     op.getLhs(), flags);
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct RelaxExtremaToLLVMPass
    : relax::impl::RelaxExtremaToLLVMPassBase<RelaxExtremaToLLVMPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto maximum = dyn_cast<arith::MaximumFOp>(op))
        convert<LLVM::MaximumOp>(maximum);
      else if (auto minimum = dyn_cast<arith::MinimumFOp>(op))
        convert<LLVM::MinimumOp>(minimum);
    });
  }
};
} // namespace
