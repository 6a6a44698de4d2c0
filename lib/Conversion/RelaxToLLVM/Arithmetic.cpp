//===- Arithmetic.cpp - From vectors and numbers to LLVM --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns are upstream's. Its passes make them anew for each function,
// which takes longer than to convert a small one, and convert one dialect after
// the other; here they are made once, for one conversion of all of them.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Conversion/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXCONVERTARITHMETICTOLLVMPASS
#include "relax-mlir/Conversion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// From operations of vectors to simpler ones.
static FrozenRewritePatternSet makeVectorLowering(MLIRContext *context) {
  RewritePatternSet patterns(context);
  vector::populateVectorToVectorCanonicalizationPatterns(patterns);
  vector::populateVectorBitCastLoweringPatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorContractLoweringPatterns(
      patterns, vector::VectorContractLowering::Dot);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorInterleaveLoweringPatterns(patterns);
  vector::populateVectorTransposeLoweringPatterns(
      patterns, vector::VectorTransposeLowering::EltWise);
  vector::populateVectorTransferLoweringPatterns(patterns,
                                                 /*maxTransferRank=*/1);
  vector::populateVectorMaskMaterializationPatterns(
      patterns, /*force32BitVectorIndices=*/false);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  vector::populateVectorRankReducingFMAPattern(patterns);
  vector::populateVectorGatherLoweringPatterns(patterns);
  return patterns;
}

static FrozenRewritePatternSet makeConversion(LLVMTypeConverter &converter) {
  RewritePatternSet patterns(&converter.getContext());
  vector::populateVectorTransferLoweringPatterns(patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  return patterns;
}

/// Whether an operation is in the body of another one, which may ask for what
/// it is, as that of a reduction does.
static bool isInRegion(Operation *op) {
  return !isa_and_nonnull<FunctionOpInterface>(op->getParentOp());
}

namespace {
struct RelaxConvertArithmeticToLLVMPass
    : relax::impl::RelaxConvertArithmeticToLLVMPassBase<
          RelaxConvertArithmeticToLLVMPass> {
  LogicalResult initialize(MLIRContext *context) override {
    converter = std::make_shared<LLVMTypeConverter>(context);
    vectorLowering = makeVectorLowering(context);
    conversion = makeConversion(*converter);
    return success();
  }

  void runOnOperation() override {
    // Blocks are simplified once, at the end of the phase.
    GreedyRewriteConfig lowering;
    lowering.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    lowering.setMaxIterations(1);
    // It may stop before all patterns were applied, which is no failure.
    (void)applyPatternsGreedily(getOperation(), vectorLowering, lowering);
    LLVMConversionTarget target(getContext());
    target.addLegalDialect<memref::MemRefDialect>();
    target.addDynamicallyLegalDialect<index::IndexDialect>(isInRegion);
    target
        .addDynamicallyLegalDialect<arith::ArithDialect, vector::VectorDialect>(
            [](Operation *op) -> std::optional<bool> {
              if (isInRegion(op))
                return true;
              return std::nullopt; // where there is a pattern for it
            });
    // None of the patterns fails after it has changed something.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(
            applyPartialConversion(getOperation(), target, conversion, config)))
      signalPassFailure();
  }

  std::shared_ptr<LLVMTypeConverter> converter;
  FrozenRewritePatternSet vectorLowering, conversion;
};
} // namespace
