//===- AttachTarget.cpp - Describes the processor on a module ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/TargetModel.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXATTACHTARGETPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
struct RelaxAttachTargetPass
    : relax::impl::RelaxAttachTargetPassBase<RelaxAttachTargetPass> {
  using RelaxAttachTargetPassBase::RelaxAttachTargetPassBase;

  void runOnOperation() override {
    if (vectorBits != 0 &&
        (!llvm::isPowerOf2_32(vectorBits) || vectorBits < 64)) {
      getOperation().emitError()
          << "expected vector-bits to be 0 or a power of two from 64 on, but "
             "got "
          << vectorBits.getValue();
      return signalPassFailure();
    }
    TargetModel target = TargetModel::getHost();
    if (vectorBits)
      target.vectorBits = vectorBits;
    target.features = llvm::join(features, ",");
    if (l1Bytes)
      target.l1Bytes = l1Bytes;
    if (l2Bytes)
      target.l2Bytes = l2Bytes;
    target.allowsTF32 = tf32;
    target.attach(getOperation());
  }
};
} // namespace
