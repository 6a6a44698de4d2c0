//===- AssignKernelDevices.cpp - The devices of kernels ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/RuntimeSteps.h"
#include "relax-mlir/IR/VDevice.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXASSIGNKERNELDEVICESPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// The device of the tensors of a call; null for the host.
static VDeviceAttr findDevice(CallKernelOp call) {
  auto of = [&](ValueRange values) -> VDeviceAttr {
    for (Value value : values)
      if (auto type = dyn_cast<TensorStructInfoType>(value.getType());
          type && type.getVdevice())
        if (VDeviceAttr device = lookupVDevice(call, type.getVdevice()))
          return device;
    return {};
  };
  VDeviceAttr device = of(call.getOutputs());
  if (!device)
    device = of(call.getInputs());
  return device && getDLDeviceType(device).value_or(kCpu) != kCpu
             ? device
             : VDeviceAttr();
}

/// A kernel has one device: where calls differ, each has a copy of its own.
static void assignDevices(ModuleOp module, SymbolTable &symbols) {
  RelaxDialect::DeviceAttrHelper attribute(module.getContext());
  llvm::MapVector<std::pair<func::FuncOp, VDeviceAttr>, func::FuncOp> made;
  llvm::DenseSet<func::FuncOp> taken;
  SmallVector<CallKernelOp> calls;
  module.walk([&](CallKernelOp call) { calls.push_back(call); });
  for (CallKernelOp call : calls) {
    auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!kernel)
      continue;
    VDeviceAttr device = findDevice(call);
    func::FuncOp &own = made[{kernel, device}];
    if (!own) {
      own = kernel;
      if (!taken.insert(kernel).second) {
        own = kernel.clone();
        symbols.insert(own); // renames it
        own->removeAttr(attribute.getName());
      }
      if (device)
        attribute.setAttr(own, device);
    }
    call.setCallee(own.getSymName());
  }
}

namespace {
struct RelaxAssignKernelDevicesPass
    : relax::impl::RelaxAssignKernelDevicesPassBase<
          RelaxAssignKernelDevicesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    assignDevices(getOperation(), symbols);
  }
};
} // namespace
