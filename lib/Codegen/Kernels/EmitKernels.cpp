//===- EmitKernels.cpp - Emits kernels of known classes ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel on tensors that a class matches is replaced by one of the same name
// and parameters on memrefs. The class that a kernel asks for
// (`relax.schedule`) is the only one that is tried, and has to match.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Concat.h"
#include "Convolution.h"
#include "GPU/FlashAttention.h"
#include "GPU/HiddenKernels.h"
#include "KernelClass.h"
#include "KernelTile.h"
#include "Matmul.h"
#include "Pool.h"
#include "RowKernel.h"

#include "relax-mlir/Codegen/Kernels.h"
#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/Schedule.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
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
     matchMatmul, verifyMatmulTile},
    {"conv2d", "a convolution of images and elementwise operations on it",
     matchConv2d, verifyConv2dTile},
    {"pool2d", "reductions of windows of images and operations on them",
     matchPool2d},
    {"rows", "reductions of rows and what is computed from them", matchRows},
    {"concat", "copies of tensors, one after another along an axis",
     matchConcat},
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

bool mlir::relax::isKernelClass(StringRef name) {
  return name == KernelSchedule::kNoClass ||
         llvm::any_of(kKernelClasses, [&](const KernelClass &kernelClass) {
           return kernelClass.name == name;
         });
}

static std::string listClasses(ArrayRef<KernelClass> classes) {
  std::string list;
  for (const KernelClass &kernelClass : classes)
    list += kernelClass.name.str() + ", ";
  return list + KernelSchedule::kNoClass.str();
}

std::string mlir::relax::listKernelClasses() {
  return listClasses(kKernelClasses);
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

/// Whether it is known that there is nothing to compute.
static bool hasNoElements(func::FuncOp kernel) {
  return llvm::all_of(kernel.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && llvm::is_contained(tensor.getShape(), 0);
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

//===----------------------------------------------------------------------===//
// Classes that kernels ask for
//===----------------------------------------------------------------------===//

/// The class that a kernel asks for, with an error where there is none.
static const KernelClass *findClass(func::FuncOp kernel, StringRef name,
                                    ArrayRef<KernelClass> classes) {
  const auto *found =
      llvm::find_if(classes, [&](const KernelClass &kernelClass) {
        return kernelClass.name == name;
      });
  if (found != classes.end())
    return found;
  kernel.emitError() << "expected the class of a kernel of "
                     << (getKernelDevice(kernel) ? "devices" : "the host")
                     << ", one of " << listClasses(classes) << ", but got '"
                     << name << "'";
  return nullptr;
}

/// Reports that a kernel is not of the class that it asks for.
static LogicalResult reportMismatch(func::FuncOp kernel,
                                    const KernelClass &asked,
                                    ArrayRef<KernelClass> classes,
                                    const TargetModel &target) {
  InFlightDiagnostic diag = kernel.emitError()
                            << "expected a kernel of class '" << asked.name
                            << "': " << asked.description << ", but got one ";
  for (const KernelClass &kernelClass : classes)
    if (kernelClass.match(kernel, target))
      return diag << "of class '" << kernelClass.name << "'";
  return diag << "of none";
}

/// Whether a kernel of a class can have the tile that it asks for, if it does.
static LogicalResult verifyTileOf(func::FuncOp kernel,
                                  const KernelClass &kernelClass,
                                  const TargetModel &target) {
  if (KernelSchedule::get(kernel).tile.empty())
    return success();
  if (kernelClass.verifyTile)
    return kernelClass.verifyTile(kernel, target);
  StringRef place = getKernelDevice(kernel) ? " of devices" : "";
  return rejectTile(kernel,
                    ("the class '" + kernelClass.name + "'" + place).str());
}

/// Kernels on memrefs are of no class.
static LogicalResult verifyTensors(func::FuncOp kernel) {
  KernelSchedule schedule = KernelSchedule::get(kernel);
  if (schedule.allows(KernelSchedule::kNoClass) || kernel.isExternal() ||
      llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<TensorType>))
    return success();
  return kernel.emitError() << "expected a kernel on tensors where a class is "
                               "asked for, but got one on memrefs";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct RelaxEmitKernelsPass
    : relax::impl::RelaxEmitKernelsPassBase<RelaxEmitKernelsPass> {
  using RelaxEmitKernelsPassBase::RelaxEmitKernelsPassBase;

  void runOnOperation() override {
    TargetModel target = TargetModel::get(getOperation());
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(verifyTensors(kernel)) ||
          (isCandidate(kernel) && failed(emit(kernel, target))))
        return signalPassFailure();
  }

  /// Emits a kernel by the class that it asks for, or by the first one that
  /// matches.
  LogicalResult emit(func::FuncOp kernel, const TargetModel &target) {
    bool isOnDevice = bool(getKernelDevice(kernel));
    ArrayRef<KernelClass> classes =
        isOnDevice ? getDeviceKernelClasses() : getKernelClasses();
    KernelSchedule schedule = KernelSchedule::get(kernel);
    if (schedule.kernelClass == KernelSchedule::kNoClass) {
      if (!schedule.tile.empty())
        return rejectTile(kernel, "a kernel without class");
      RelaxDialect::ScheduleAttrHelper(&getContext()).removeAttr(kernel);
      return success();
    }
    // A device would divide indices by sizes of 0; loops of none are no launch.
    if (isOnDevice && !schedule && hasNoElements(kernel))
      return success();
    ArrayRef<KernelClass> tried = classes;
    if (schedule) {
      const KernelClass *asked =
          findClass(kernel, schedule.kernelClass, classes);
      if (!asked)
        return failure();
      tried = *asked;
    }
    for (const KernelClass &kernelClass : tried) {
      std::unique_ptr<KernelEmitter> emitter =
          kernelClass.match(kernel, target);
      if (!emitter)
        continue;
      if (failed(verifyTileOf(kernel, kernelClass, target)))
        return failure();
      func::FuncOp emitted = replace(kernel, kernelClass.name, *emitter);
      if (isOnDevice)
        hideKernel(emitted);
      return success();
    }
    return schedule ? reportMismatch(kernel, tried.front(), classes, target)
                    : success();
  }
};
} // namespace
