//===- EmitKernels.cpp - Emits kernels of known classes ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel on tensors that a class matches is replaced by one of the same name
// and parameters on memrefs.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Convolution.h"
#include "GPU/FlashAttention.h"
#include "GPU/HiddenKernels.h"
#include "KernelClass.h"
#include "Matmul.h"
#include "Pool.h"
#include "RowKernel.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXEMITKERNELSPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

static constexpr KernelClass kKernelClasses[] = {
    {"elementwise",
     "operations on single elements, at identity, broadcast or transposed maps",
     matchElementwise},
    {"attention", "softmax of products of queries and keys, times values",
     matchAttention},
    {"matmul", "a contraction and elementwise operations on its result",
     matchMatmul},
    {"conv2d", "a convolution of images and elementwise operations on it",
     matchConv2d},
    {"pool2d", "reductions of windows of images and operations on them",
     matchPool2d},
    {"rows", "reductions of rows and what is computed from them", matchRows},
};

static constexpr KernelClass kDeviceKernelClasses[] = {
    {"attention", "softmax of products of queries and keys, times values",
     matchDeviceAttention},
    {"matmul", "a contraction and elementwise operations on its result",
     matchDeviceMatmul},
    {"conv2d", "a convolution of images and elementwise operations on it",
     matchDeviceConv2d},
};

ArrayRef<KernelClass> mlir::relax::getKernelClasses() { return kKernelClasses; }

ArrayRef<KernelClass> mlir::relax::getDeviceKernelClasses() {
  return kDeviceKernelClasses;
}

/// Whether this is a kernel on tensors that relax-prepare-kernels has prepared:
/// only its callers know its name, and it has one block.
static bool isCandidate(func::FuncOp kernel) {
  return kernel.isPrivate() && !kernel.isExternal() &&
         kernel.getBody().hasOneBlock() &&
         llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<TensorType>) &&
         llvm::all_of(kernel.getArgumentTypes(), [](Type type) {
           return isa<RankedTensorType>(type) || type.isIntOrIndexOrFloat();
         });
}

/// The type of a parameter in memory; Booleans take a byte.
static Type convertType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  Type element = tensor.getElementType();
  if (element.isInteger(1))
    element = IntegerType::get(type.getContext(), 8);
  return MemRefType::get(tensor.getShape(), element);
}

/// Puts the kernel that `emitter` writes in the place of one on tensors.
static func::FuncOp replace(func::FuncOp kernel, StringRef className,
                            KernelEmitter &emitter) {
  SmallVector<Type> params =
      llvm::map_to_vector(kernel.getArgumentTypes(), convertType);
  OpBuilder outer(kernel);
  auto emitted =
      func::FuncOp::create(outer, kernel.getLoc(), kernel.getSymName(),
                           outer.getFunctionType(params, {}));
  emitted.setPrivate();
  if (VDeviceAttr device = getKernelDevice(kernel))
    RelaxDialect::DeviceAttrHelper(kernel.getContext())
        .setAttr(emitted, device);
  RelaxDialect::KernelClassAttrHelper(kernel.getContext())
      .setAttr(emitted, outer.getStringAttr(className));
  Block *block = emitted.addEntryBlock();
  auto builder = ImplicitLocOpBuilder::atBlockEnd(kernel.getLoc(), block);
  emitter.emit(builder, block->getArguments());
  builder.setInsertionPointToEnd(block);
  func::ReturnOp::create(builder);
  kernel.erase();
  return emitted;
}

namespace {
struct RelaxEmitKernelsPass
    : relax::impl::RelaxEmitKernelsPassBase<RelaxEmitKernelsPass> {
  using RelaxEmitKernelsPassBase::RelaxEmitKernelsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    RelaxEmitKernelsPassBase::getDependentDialects(registry);
    registry.insert<gpu::GPUDialect, nvgpu::NVGPUDialect, NVVM::NVVMDialect>();
    registry.insert<LLVM::LLVMDialect>(); // for calls of the runtime
  }

  void runOnOperation() override {
    TargetModel target = TargetModel::get(getOperation());
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!isCandidate(kernel))
        continue;
      bool isOnDevice = bool(getKernelDevice(kernel));
      for (const KernelClass &kernelClass :
           isOnDevice ? getDeviceKernelClasses() : getKernelClasses()) {
        std::unique_ptr<KernelEmitter> emitter =
            kernelClass.match(kernel, target);
        if (!emitter)
          continue;
        func::FuncOp emitted = replace(kernel, kernelClass.name, *emitter);
        if (isOnDevice)
          hideKernel(emitted);
        break;
      }
    }
  }
};
} // namespace
