//===- Pipelines.cpp - The phases of compilation -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Pipelines/Pipelines.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/Conversion/Passes.h"
#include "relax-mlir/Fusion/Passes.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::relax;

static void buildNormalize(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(createRelaxAttachTargetPass(
      {options.vectorBits, options.l1Bytes, options.l2Bytes,
       llvm::to_vector(ArrayRef<std::string>(options.features)),
       options.tf32}));
  pm.addNestedPass<relax::FuncOp>(createRelaxNormalizePass());
  pm.addPass(createRelaxCheckWellFormedPass());
  pm.addPass(createRelaxDeriveStructInfoPass());
}

static void buildLegalize(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(
      createRelaxAssignVDevicePass({options.device, options.deviceArch}));
  pm.addPass(createRelaxRealizeVDevicePass());
  pm.addPass(createRelaxLambdaLiftPass());
  if (options.planMemory)
    pm.addNestedPass<relax::FuncOp>(createRelaxRewriteReshapePass());
  pm.addPass(createRelaxLegalizeOpsPass());
  if (options.fuse || options.emitKernels)
    pm.addPass(createRelaxRaiseKernelsPass());
  if (options.fuse) {
    pm.addPass(createRelaxFuseOpsPass());
    pm.addPass(createRelaxFuseTIRPass());
  }
  if (options.emitKernels)
    pm.addPass(createRelaxPackConstantsPass(
        {options.winograd, options.dynamicQuantization}));
}

static void buildMemory(OpPassManager &pm, const CompileOptions &options) {
  OpPassManager &func = pm.nest<relax::FuncOp>();
  func.addPass(createRelaxToNonDataflowPass());
  func.addPass(createRelaxLowerCallTIRPass());
  if (options.planMemory)
    func.addPass(createRelaxPlanMemoryPass());
}

static void buildShapes(OpPassManager &pm, const CompileOptions &options) {
  OpPassManager &func = pm.nest<relax::FuncOp>();
  func.addPass(createRelaxLowerShapesPass({options.checks}));
  func.addPass(createCSEPass());
  // Proofs rely on the checks before them.
  if (options.checks == CheckMode::All) {
    func.addPass(createRelaxEliminateChecksPass());
    func.addPass(createCSEPass());
  }
  func.addPass(createRelaxKillAfterLastUsePass());
  pm.addPass(createRelaxPoolConstantsPass());
  // Bytecode is made of the result, and names kernels.
  pm.addPass(createRelaxAssignKernelDevicesPass());
}

static void buildKernels(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(createRelaxPrepareKernelsPass());
  if (options.emitKernels)
    pm.addPass(createRelaxEmitKernelsPass());
  pm.addPass(createRelaxBufferizeKernelsPass());
  pm.addPass(createRelaxDeallocateBuffersPass());
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createRelaxMapKernelsToGPUPass());
  if (options.emitKernels) {
    pm.addNestedPass<func::FuncOp>(createRelaxVectorizeLoopsPass());
    pm.addNestedPass<func::FuncOp>(createRelaxLowerLinalgPass());
  }
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createRelaxWidenBoolMemrefsPass());
  pm.addNestedPass<func::FuncOp>(createRelaxLowerExpandShapePass());
  addTidying(pm.nest<func::FuncOp>());
}

/// Adds passes for kernels, and for functions that are in LLVM already.
static void addToFunctions(OpPassManager &pm,
                           llvm::function_ref<void(OpPassManager &)> add) {
  add(pm.nest<func::FuncOp>());
  add(pm.nest<LLVM::LLVMFuncOp>());
}

/// From launches to images and calls of the runtime.
static void addDeviceCode(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createRelaxExpandInvariantDivisionsPass());
  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createRelaxGatherDeviceKernelsPass());
  // Those for OpenCL; what is left is for CUDA.
  pm.addPass(createRelaxConvertGPUToSPIRVPass());
  OpPassManager &device = pm.nest<gpu::GPUModuleOp>();
  device.addPass(createConvertNVGPUToNVVMPass());
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16"};
  emulate.targetTypeStr = "f32";
  device.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  device.addPass(memref::createExpandStridedMetadataPass());
  device.addPass(createLowerAffinePass());
  device.addPass(arith::createArithExpandOpsPass());
  device.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions convert;
  convert.indexBitwidth = 64;
  device.addPass(createConvertGpuOpsToNVVMOps(convert));
  device.addPass(createConvertMathToLLVMPass());
  device.addPass(createConvertNVVMToLLVMPass());
  device.addPass(createReconcileUnrealizedCastsPass());
  addTidying(device, /*simplifyBlocks=*/true);
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = "isa";
  pm.addPass(createGpuModuleToBinaryPass(binary));
  pm.addPass(createRelaxLowerLaunchesPass());
}

static void buildOutline(OpPassManager &pm, const CompileOptions &options) {
  // For kernels that come on memrefs and did not go through the phase before:
  // what is lowered below asserts that there is none of it.
  pm.addNestedPass<func::FuncOp>(createRelaxWidenBoolMemrefsPass());
  pm.addNestedPass<func::FuncOp>(createRelaxLowerExpandShapePass());
  pm.addNestedPass<func::FuncOp>(createRelaxApproximateMathPass(
      {options.fastMath, /*flushBF16=*/options.precision == "bf16"}));
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass());
  pm.addNestedPass<func::FuncOp>(memref::createExpandStridedMetadataPass());
  pm.addNestedPass<func::FuncOp>(createLowerAffinePass());
  addDeviceCode(pm);
  pm.addPass(createRelaxOutlineParallelLoopsPass());
  pm.addNestedPass<func::FuncOp>(createSCFToControlFlowPass());
  pm.addPass(createRelaxLowerScratchMemoryPass());
}

/// Modes of execution differ from here on, in what calls kernels: of which some
/// return a status since the phase before.
static void buildLLVM(OpPassManager &pm, const CompileOptions &options) {
  // As in the phase before, which what comes here may not have gone through.
  pm.addNestedPass<func::FuncOp>(createRelaxWidenBoolMemrefsPass());
  if (options.execMode == ExecMode::Bytecode)
    pm.addPass(createRelaxMakeKernelEntriesPass());
  pm.addPass(createRelaxConvertToLLVMPass({options.profile}));
  // Function by function, on several threads, where nothing else is needed.
  addToFunctions(pm, [](OpPassManager &function) {
    // No processor adds bf16, and LLVM would call a library to round sums.
    arith::ArithEmulateUnsupportedFloatsOptions emulate;
    emulate.sourceTypeStrs = {"bf16"};
    emulate.targetTypeStr = "f32";
    function.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
    function.addPass(createRelaxExtremaToLLVMPass());
    arith::ArithExpandOpsPassOptions expand;
    expand.includeBf16 = true;
    function.addPass(arith::createArithExpandOpsPass(expand));
    function.addPass(createConvertMathToLLVMPass());
  });
  pm.addPass(createConvertMathToLibmPass());
  addToFunctions(pm, [](OpPassManager &function) {
    // It lowers what the pass before makes of vectors.
    function.addPass(createRelaxConvertArithmeticToLLVMPass());
  });
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createRelaxConvertBranchesToLLVMPass());
  OpPassManager &last = pm.nest<LLVM::LLVMFuncOp>();
  last.addPass(createUBToLLVMConversionPass());
  last.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createRelaxBFloatsAsBitsPass());
  addTidying(pm.nest<LLVM::LLVMFuncOp>(), /*simplifyBlocks=*/true);
  // A line of code would belong to several operations.
  if (!options.debugInfo)
    pm.addPass(createRelaxMergeFunctionsPass());
  if (options.debugInfo)
    pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(
        {LLVM::DIEmissionKind::LineTablesOnly}));
}

static constexpr Phase kPhases[] = {
    {"normalize",
     "sequences are flattened, calls take their form, all is checked and "
     "derived",
     buildNormalize},
    {"legalize",
     "operators become call_tir and kernels on tensors, which are fused",
     buildLegalize},
    {"memory",
     "dataflow blocks are inlined, outputs are allocated, tensors share memory",
     buildMemory},
    {"shapes", "shape variables become values, StructInfo becomes checks",
     buildShapes},
    {"kernels", "kernels are bufferized and become loops", buildKernels},
    {"outline",
     "kernels of devices become images, parallel loops functions, loops "
     "branches",
     buildOutline},
    {"llvm", "everything becomes the LLVM dialect", buildLLVM},
};

ArrayRef<Phase> mlir::relax::getPhases() { return kPhases; }

void mlir::relax::registerPassesAndPipelines() {
  registerRelaxTransformsPasses();
  registerRelaxFusionPasses();
  registerRelaxConversionPasses();
  registerRelaxCodegenPasses();
  for (const Phase &phase : kPhases)
    PassPipelineRegistration<CompileOptions>(
        (Twine("relax-phase-") + phase.name).str(), phase.description,
        [build = phase.build](OpPassManager &pm,
                              const CompileOptions &options) {
          build(pm, options);
        });
  PassPipelineRegistration<CompileOptions>(
      "relax-to-llvm", "all phases, from Relax to the LLVM dialect",
      [](OpPassManager &pm, const CompileOptions &options) {
        for (const Phase &phase : kPhases)
          phase.build(pm, options);
      });
}
