//===- Devices.cpp - Devices that a program can run on ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/Devices.h"

#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult mlir::relax::verifyDevices(FuncOp func) {
  WalkResult result = func.walk([&](Operation *op) {
    VDeviceAttr device;
    TensorStructInfoType type;
    if (auto alloc = dyn_cast<AllocTensorOp>(op)) {
      device = alloc.getDeviceAttr();
      type = alloc.getResult().getType();
    } else if (auto storage = dyn_cast<AllocStorageOp>(op)) {
      device = storage.getDeviceAttr();
    } else if (auto check = dyn_cast<CheckOp>(op)) {
      device = check.getDeviceAttr();
      type = dyn_cast<TensorStructInfoType>(check.getType());
    } else if (auto move = dyn_cast<ToDeviceOp>(op)) {
      device = move.getDevice();
    }
    if (!device && type && type.getVdevice()) {
      op->emitOpError() << "needs virtual device " << type.getVdevice()
                        << ", which is not known here: run relax-lower-shapes "
                           "in a module that lists it";
      return WalkResult::interrupt();
    }
    if (!device || getDLDeviceType(device))
      return WalkResult::advance();
    op->emitOpError() << "needs virtual device " << device
                      << ", but target 'llvm' cannot run on '"
                      << device.getTarget()
                      << "', only on 'llvm', 'c' and 'cpu'";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
