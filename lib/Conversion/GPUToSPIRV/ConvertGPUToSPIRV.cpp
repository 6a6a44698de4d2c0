//===- ConvertGPUToSPIRV.cpp - Kernels of OpenCL ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels for OpenCL need no structured control flow, so loops become branches
// first. Memory becomes pointers by a pass of our own, all else is converted by
// upstream's patterns. The image is the size of the SPIR-V, in 8 bytes, and
// its words.
//
//===----------------------------------------------------------------------===//

#include "ExpandMath.h"
#include "KernelMemory.h"

#include "relax-mlir/Conversion/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/ControlFlowToSPIRV/ControlFlowToSPIRV.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRV.h"
#include "mlir/Conversion/IndexToSPIRV/IndexToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToSPIRV/UBToSPIRV.h"
#include "mlir/Conversion/VectorToSPIRV/VectorToSPIRV.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXCONVERTGPUTOSPIRVPASS
#include "relax-mlir/Conversion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Patterns of our own
//===----------------------------------------------------------------------===//

namespace {
/// Threads of a block exchange what is in memory of the device, too.
struct BarrierPattern : OpConversionPattern<gpu::BarrierOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::ControlBarrierOp>(
        op, spirv::Scope::Workgroup, spirv::Scope::Workgroup,
        spirv::MemorySemantics::SequentiallyConsistent |
            spirv::MemorySemantics::WorkgroupMemory |
            spirv::MemorySemantics::CrossWorkgroupMemory);
    return success();
  }
};

/// Upstream has a pattern for indices with signs alone.
struct IndexCastUIPattern : OpConversionPattern<arith::IndexCastUIOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::IndexCastUIOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    Value value = adaptor.getIn();
    if (!type)
      return failure();
    if (value.getType() == type)
      rewriter.replaceOp(op, value);
    else if (value.getType().isInteger(1))
      rewriter.replaceOpWithNewOp<spirv::SelectOp>(
          op, value, spirv::ConstantOp::getOne(type, op.getLoc(), rewriter),
          spirv::ConstantOp::getZero(type, op.getLoc(), rewriter));
    else
      rewriter.replaceOpWithNewOp<spirv::UConvertOp>(op, type, value);
    return success();
  }
};

/// Numbers of a type that SPIR-V has not are their bits.
struct BitsConstantPattern : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto number = dyn_cast<FloatAttr>(op.getValue());
    if (!number || getElementBits(op.getType()) == op.getType())
      return failure();
    rewriter.replaceOpWithNewOp<spirv::ConstantOp>(
        op, getElementBits(op.getType()),
        rewriter.getIntegerAttr(getElementBits(op.getType()),
                                number.getValue().bitcastToAPInt()));
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct RelaxConvertGPUToSPIRVPass
    : relax::impl::RelaxConvertGPUToSPIRVPassBase<RelaxConvertGPUToSPIRVPass> {
  using RelaxConvertGPUToSPIRVPassBase::RelaxConvertGPUToSPIRVPassBase;

  void runOnOperation() override {
    for (auto module :
         llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
      if (spirv::lookupTargetEnv(module) && failed(convert(module)))
        return signalPassFailure();
  }

private:
  LogicalResult convert(gpu::GPUModuleOp module);
  LogicalResult prepare(gpu::GPUModuleOp module);
  LogicalResult lowerKernels(gpu::GPUModuleOp module, spirv::ModuleOp target);
  LogicalResult convertOps(spirv::ModuleOp module, spirv::TargetEnvAttr env);
  LogicalResult finish(spirv::ModuleOp module);
  LogicalResult makeBinary(gpu::GPUModuleOp module, spirv::ModuleOp target);
};
} // namespace

/// To arithmetic of types that devices have, and branches.
LogicalResult RelaxConvertGPUToSPIRVPass::prepare(gpu::GPUModuleOp module) {
  OpPassManager pm(gpu::GPUModuleOp::getOperationName());
  math::MathExpandOpsPassOptions integers;
  integers.opMnemonics = {"ctlz"};
  pm.addPass(math::createMathExpandOpsPass(integers));
  pm.addPass(math::createMathExtendToSupportedTypes());
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createSCFToControlFlowPass());
  if (failed(runPipeline(pm, module)))
    return failure();
  RewritePatternSet patterns(&getContext());
  populateExpandMathPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

LogicalResult RelaxConvertGPUToSPIRVPass::lowerKernels(gpu::GPUModuleOp module,
                                                       spirv::ModuleOp target) {
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<gpu::GPUFuncOp>())) {
    FailureOr<spirv::FuncOp> function = lowerKernelMemory(kernel, target);
    if (failed(function))
      return failure();
    (*function)->setAttr(spirv::getEntryPointABIAttrName(),
                         spirv::getEntryPointABIAttr(&getContext()));
    kernel.erase();
  }
  return success();
}

LogicalResult RelaxConvertGPUToSPIRVPass::convertOps(spirv::ModuleOp module,
                                                     spirv::TargetEnvAttr env) {
  SPIRVConversionOptions options;
  options.use64bitIndex = true;
  SPIRVTypeConverter converter(env, options);
  converter.addConversion([](FloatType type) -> std::optional<Type> {
    Type bits = getElementBits(type);
    return bits == type ? std::nullopt : std::optional(bits);
  });
  RewritePatternSet patterns(&getContext());
  arith::populateArithToSPIRVPatterns(converter, patterns);
  cf::populateControlFlowToSPIRVPatterns(converter, patterns);
  index::populateIndexToSPIRVPatterns(converter, patterns);
  populateGPUToSPIRVPatterns(converter, patterns);
  populateMathToSPIRVPatterns(converter, patterns);
  populateVectorToSPIRVPatterns(converter, patterns);
  ub::populateUBToSPIRVConversionPatterns(converter, patterns);
  patterns.add<BarrierPattern, BitsConstantPattern, IndexCastUIPattern>(
      converter, &getContext(), /*benefit=*/10);
  std::unique_ptr<SPIRVConversionTarget> target =
      SPIRVConversionTarget::get(env);
  // Those of arguments of blocks, which nothing uses in the end.
  target->addLegalOp<UnrealizedConversionCastOp>();
  return applyFullConversion(module, *target, std::move(patterns));
}

LogicalResult RelaxConvertGPUToSPIRVPass::finish(spirv::ModuleOp module) {
  OpPassManager pm(spirv::ModuleOp::getOperationName());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(spirv::createSPIRVLowerABIAttributesPass());
  pm.addPass(spirv::createSPIRVUpdateVCEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  return runPipeline(pm, module);
}

LogicalResult RelaxConvertGPUToSPIRVPass::makeBinary(gpu::GPUModuleOp module,
                                                     spirv::ModuleOp target) {
  SmallVector<uint32_t, 0> words;
  if (failed(spirv::serialize(target, words)))
    return target.emitError("cannot be written as SPIR-V");
  int64_t size = static_cast<int64_t>(words.size() * sizeof(uint32_t));
  std::string image(reinterpret_cast<const char *>(&size), sizeof(size));
  image.append(reinterpret_cast<const char *>(words.data()), size);
  OpBuilder builder(module);
  auto object = gpu::ObjectAttr::get(
      &getContext(), spirv::lookupTargetEnv(module),
      gpu::CompilationTarget::Binary, builder.getStringAttr(image),
      /*properties=*/nullptr, /*kernels=*/nullptr);
  gpu::BinaryOp::create(builder, module.getLoc(), module.getName(),
                        /*offloadingHandler=*/nullptr,
                        ArrayRef<Attribute>(object));
  target.erase();
  module.erase();
  return success();
}

LogicalResult RelaxConvertGPUToSPIRVPass::convert(gpu::GPUModuleOp module) {
  spirv::TargetEnvAttr env = spirv::lookupTargetEnv(module);
  if (failed(prepare(module)))
    return failure();
  OpBuilder builder(module);
  auto target = spirv::ModuleOp::create(
      builder, module.getLoc(), spirv::AddressingModel::Physical64,
      spirv::MemoryModel::OpenCL, /*vce_triple=*/std::nullopt,
      ("spirv_" + module.getName()).str());
  target->setAttr(spirv::getTargetEnvAttrName(), env);
  if (failed(lowerKernels(module, target)) || failed(convertOps(target, env)) ||
      failed(finish(target)))
    return failure();
  return serialize ? makeBinary(module, target) : success();
}
