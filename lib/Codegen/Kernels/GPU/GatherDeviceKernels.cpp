//===- GatherDeviceKernels.cpp - One gpu.module for a target ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outlining makes a module of each launch, and drops what is written on it. A
// driver loads one image faster than many, so those of a target are put
// together: of an architecture for CUDA, all for OpenCL.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXGATHERDEVICEKERNELSPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// The alignment of shared memory, in bytes.
static constexpr int64_t kAlignment = 128;

/// A name that PTX can have.
static std::string makeName(StringRef kernel) {
  std::string name = getKernelLabel(kernel).str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  // PTX has instructions of names such as `add`.
  return "relax_" + name;
}

namespace {
struct RelaxGatherDeviceKernelsPass
    : relax::impl::RelaxGatherDeviceKernelsPassBase<
          RelaxGatherDeviceKernelsPass> {
  void runOnOperation() override;

private:
  /// A launch of a kernel, and `relax.resident_blocks` of it, null where it has
  /// none.
  using Launch = std::pair<gpu::LaunchFuncOp, IntegerAttr>;
  FailureOr<SmallVector<Launch>> outline();
  gpu::GPUModuleOp getModule(VDeviceAttr device);

  llvm::StringMap<gpu::GPUModuleOp> modules;
};
} // namespace

/// What devices of OpenCL have; the runtime asks for what not all of them do.
static spirv::TargetEnvAttr getOpenCLTarget(MLIRContext *context) {
  using spirv::Capability;
  auto triple = spirv::VerCapExtAttr::get(
      spirv::Version::V_1_0,
      {Capability::Kernel, Capability::Addresses, Capability::Linkage,
       Capability::Vector16, Capability::Int8, Capability::Int16,
       Capability::Int64, Capability::Float16, Capability::Float64},
      ArrayRef<spirv::Extension>(), context);
  return spirv::TargetEnvAttr::get(triple,
                                   spirv::getDefaultResourceLimits(context),
                                   spirv::ClientAPI::OpenCL);
}

gpu::GPUModuleOp RelaxGatherDeviceKernelsPass::getModule(VDeviceAttr device) {
  StringRef chip = isCuda(device) ? getChip(device) : "opencl";
  gpu::GPUModuleOp &module = modules[chip];
  if (module)
    return module;
  OpBuilder builder(&getContext());
  builder.setInsertionPointToEnd(getOperation().getBody());
  module = gpu::GPUModuleOp::create(builder, getOperation().getLoc(),
                                    ("relax_device_" + chip).str());
  if (!isCuda(device)) {
    module->setAttr(spirv::getTargetEnvAttrName(),
                    getOpenCLTarget(&getContext()));
    return module;
  }
  Attribute target = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                               "nvptx64-nvidia-cuda", chip);
  module.setTargetsAttr(builder.getArrayAttr(target));
  return module;
}

/// The most blocks that a multiprocessor of any GPU runs at a time.
static constexpr int64_t kMostBlocks = 32;

/// `relax.resident_blocks` of a launch, which is null where it has none.
static FailureOr<IntegerAttr> getResidentBlocks(Operation *launch) {
  MLIRContext *context = launch->getContext();
  auto blocks = RelaxDialect::ResidentBlocksAttrHelper(context).getAttr(launch);
  if (!blocks)
    return IntegerAttr();
  std::optional<int64_t> count = blocks.getValue().trySExtValue();
  if (!count || *count < 1 || *count > kMostBlocks)
    return launch->emitError("expected relax.resident_blocks from 1 to ")
           << kMostBlocks << ", but got " << blocks;
  return Builder(context).getI32IntegerAttr(*count);
}

/// Makes launches those of kernels, in the same order.
FailureOr<SmallVector<RelaxGatherDeviceKernelsPass::Launch>>
RelaxGatherDeviceKernelsPass::outline() {
  SmallVector<IntegerAttr> blocks;
  WalkResult found = getOperation().walk([&](Operation *op) {
    if (!isa<gpu::LaunchOp, gpu::LaunchFuncOp>(op))
      return WalkResult::advance();
    FailureOr<IntegerAttr> known = getResidentBlocks(op);
    if (succeeded(known))
      blocks.push_back(*known);
    return WalkResult(known);
  });
  if (found.wasInterrupted())
    return failure();
  OpPassManager pm(ModuleOp::getOperationName());
  pm.addPass(createGpuKernelOutliningPass());
  if (failed(runPipeline(pm, getOperation())))
    return failure();
  SmallVector<Launch> launches;
  getOperation().walk([&](gpu::LaunchFuncOp op) {
    launches.emplace_back(op, blocks[launches.size()]);
  });
  return launches;
}

void RelaxGatherDeviceKernelsPass::runOnOperation() {
  modules.clear();
  FailureOr<SmallVector<Launch>> launches = outline();
  if (failed(launches))
    return signalPassFailure();
  SymbolTableCollection tables;
  llvm::SetVector<Operation *> emptied;
  for (auto [launch, residentBlocks] : *launches) {
    auto host = launch->getParentOfType<func::FuncOp>();
    VDeviceAttr device = host ? getKernelDevice(host) : VDeviceAttr();
    auto kernel = tables.lookupSymbolIn<gpu::GPUFuncOp>(getOperation(),
                                                        launch.getKernel());
    if (!device || !kernel)
      continue;
    emptied.insert(kernel->getParentOp());
    gpu::GPUModuleOp module = getModule(device);
    // Copies and matrices of tensor cores want their addresses aligned.
    unsigned numShared =
        isCuda(device) ? kernel.getNumWorkgroupAttributions() : 0;
    for (unsigned i = 0; i < numShared; ++i)
      kernel.setWorkgroupAttributionAttr(
          i, LLVM::LLVMDialect::getAlignAttrName(),
          IntegerAttr::get(IntegerType::get(&getContext(), 64), kAlignment));
    if (residentBlocks && isCuda(device))
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), residentBlocks);
    kernel->remove();
    kernel.setName(makeName(host.getSymName()));
    StringAttr name = SymbolTable(module).insert(kernel);
    launch.setKernelAttr(SymbolRefAttr::get(module.getNameAttr(),
                                            {FlatSymbolRefAttr::get(name)}));
  }
  for (Operation *module : emptied)
    module->erase();
}
