//===- HostProgram.cpp - Questions about lowered functions ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/HostProgram.h"

#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/RuntimeSteps.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

/// Verifies that the sizes of memory are operands.
static LogicalResult verifyShapesLowered(Operation *op) {
  bool isLowered =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([](AllocStorageOp alloc) { return bool(alloc.getBytes()); })
          .Case<AllocTensorOp, ViewOp>([](auto op) {
            TensorStructInfoType type = op.getResult().getType();
            return static_cast<int64_t>(op.getDims().size()) == type.getNdim();
          })
          .Default(true);
  if (isLowered)
    return success();
  return op->emitOpError() << "has a size that is not lowered: run "
                              "relax-lower-shapes before";
}

/// Verifies that target 'llvm' can run an operation on the device that it
/// names.
static LogicalResult verifyDevice(Operation *op) {
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
  if (!device && type && type.getVdevice())
    return op->emitOpError() << "needs virtual device " << type.getVdevice()
                             << ", which is not known here: run "
                                "relax-lower-shapes in a module that lists it";
  if (!device || getDLDeviceType(device))
    return success();
  return op->emitOpError() << "needs virtual device " << device
                           << ", but there is no code for '"
                           << device.getTarget()
                           << "', only for 'llvm', 'c', 'cpu', 'cuda' and "
                              "'opencl'";
}

LogicalResult mlir::relax::verifyHostProgram(FuncOp func) {
  WalkResult result = func.walk([&](Operation *op) {
    return WalkResult(success(succeeded(verifyShapesLowered(op)) &&
                              succeeded(verifyDevice(op))));
  });
  return failure(result.wasInterrupted());
}

bool mlir::relax::isReturned(Value result) {
  Operation *next = result.getDefiningOp()->getNextNode();
  while (isa_and_nonnull<KillOp>(next))
    next = next->getNextNode();
  if (!isa_and_nonnull<ReturnOp, YieldOp>(next) ||
      next->getOperand(0) != result)
    return false;
  if (isa<ReturnOp>(next))
    return true;
  auto branch = dyn_cast<IfOp>(next->getParentOp());
  return branch && isReturned(branch.getResult());
}

bool mlir::relax::mayAliasConstant(ToDeviceOp op) {
  return getDLDeviceType(op.getDevice()) == kCpu &&
         op.getData().getDefiningOp<LoadConstantOp>() &&
         isOnlyRead(op.getResult()) &&
         llvm::none_of(op->getUsers(), llvm::IsaPred<CheckOp>);
}

/// Verifies that a kernel takes `value` as parameter `index`.
static LogicalResult verifyParam(CallKernelOp op, func::FuncOp kernel,
                                 unsigned index, Value value) {
  Type param = kernel.getArgumentTypes()[index];
  auto error = [&] {
    return op.emitOpError() << "expected parameter " << index << " of "
                            << op.getCallee() << " to be ";
  };
  if (isa<PrimStructInfoType>(value.getType())) {
    if (isa<IntegerType, FloatType>(param))
      return success();
    return error() << "a scalar, but got " << param;
  }
  int64_t ndim = cast<TensorStructInfoType>(value.getType()).getNdim();
  auto shaped = dyn_cast<ShapedType>(param);
  if (shaped && shaped.hasRank() && shaped.getRank() == ndim)
    return success();
  return error() << "a memref of rank " << ndim << ", but got " << param;
}

FailureOr<func::FuncOp> mlir::relax::getKernel(CallKernelOp op) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!kernel)
    return op.emitOpError()
           << "expected " << op.getCalleeAttr() << " to be a func.func";
  size_t numInputs = op.getInputs().size(), numInts = op.getInts().size();
  if (kernel.getNumArguments() != numInputs + numInts + op.getOutputs().size())
    return op.emitOpError() << "expected " << kernel.getNumArguments()
                            << " values for the kernel";
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    if (failed(verifyParam(op, kernel, index, input)))
      return failure();
  for (auto [index, output] : llvm::enumerate(op.getOutputs()))
    if (failed(verifyParam(op, kernel, numInputs + numInts + index, output)))
      return failure();
  return kernel;
}
