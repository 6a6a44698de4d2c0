//===- Kernels.cpp - Allocation and calls of kernels in LLVM -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "relax-mlir/Analysis/HostProgram.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult FunctionEmitter::emit(AllocStorageOp op) {
  emitSteps(op);
  bool holdsRawTensor = llvm::any_of(op->getUsers(), [&](Operation *user) {
    return isa<AllocTensorOp>(user) && isRaw(user->getResult(0));
  });
  if (holdsRawTensor)
    storageData[op.getResult()] =
        runtime.call(builder, "relax_storage_data", runtime.ptrType(),
                     {map(op.getResult())});
  return success();
}

LogicalResult FunctionEmitter::emit(AllocTensorOp op) {
  if (isRaw(op.getResult())) {
    emitRawTensor(op);
    return success();
  }
  reads.dims[op.getResult()] = map(op.getDims());
  emitSteps(op);
  return success();
}

LogicalResult FunctionEmitter::emit(ViewOp op) {
  if (isRaw(op.getResult())) {
    emitRawView(op);
    return success();
  }
  reads.dims[op.getResult()] = map(op.getDims());
  emitSteps(op);
  return success();
}

LogicalResult FunctionEmitter::emit(ToDeviceOp op) {
  if (mayAliasConstant(op))
    runtime.call(builder, "relax_value_assign", Type(),
                 {resultSlot(op), map(op.getData())});
  else
    emitSteps(op);
  return success();
}

/// Fills the dimensions and row-major strides of a memref descriptor.
static void fillDims(ImplicitLocOpBuilder &builder, MemRefDescriptor &memref,
                     MemRefType type, ArrayRef<Value> dims) {
  Location loc = builder.getLoc();
  Value stride = LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                          builder.getI64IntegerAttr(1));
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    memref.setSize(builder, loc, i, dims[i]);
    memref.setStride(builder, loc, i, stride);
    if (i > 0)
      stride = LLVM::MulOp::create(builder, stride, dims[i]);
  }
}

/// The address of the elements of a tensor in row-major order. An input that is
/// not compact is copied first; one that is updated must be compact, or the
/// update would be lost.
Value FunctionEmitter::emitData(Value tensor, const Twine &what, Access access,
                                bool isOnDevice) {
  if (isRaw(tensor))
    return rawTensors[tensor].data;
  if (access != Access::Update)
    if (Value known = reads.data.lookup(tensor))
      return known;
  Value value = map(tensor);
  Value address = emitStackArray({}, runtime.ptrType());
  if (isOnDevice) {
    emitStep("relax_tensor_device_data", {site(what.str()), value, address});
  } else if (access == Access::Update) {
    emitStep("relax_tensor_data_inplace", {site(what.str()), value, address});
  } else {
    // A fresh output is compact, its slot for a copy is never used.
    Value copy = access == Access::Output ? value : nextSlot();
    emitStep("relax_tensor_data", {site(what.str()), value, copy, address});
  }
  Value data = LLVM::LoadOp::create(builder, runtime.ptrType(), address);
  if (access != Access::Update)
    reads.data[tensor] = data;
  return data;
}

/// The dimensions of a tensor of known rank.
SmallVector<Value> FunctionEmitter::emitDims(Value tensor) {
  if (isRaw(tensor))
    return rawTensors[tensor].dims;
  SmallVector<Value> &known = reads.dims[tensor];
  int64_t ndim = cast<TensorStructInfoType>(tensor.getType()).getNdim();
  if (static_cast<int64_t>(known.size()) == ndim)
    return known;
  Value dims = runtime.call(builder, "relax_tensor_dims", runtime.ptrType(),
                            {map(tensor)});
  for (int64_t i = 0; i < ndim; ++i)
    known.push_back(loadElement(builder, dims, i));
  return known;
}

/// OP02: a tensor that is updated shares no memory with another input.
void FunctionEmitter::emitDisjoint(CallKernelOp op, ArrayRef<Value> data) {
  for (auto [index, updated] : llvm::enumerate(op.getInputs()))
    for (auto [other, input] : llvm::enumerate(op.getInputs()))
      // Of two that are updated, one check is enough.
      // Memory of one's own is disjoint from that of all others.
      if (op.isUpdated(index) && other != index && data[other] &&
          !isRaw(updated) && !isRaw(input) &&
          (!op.isUpdated(other) || index < other))
        emitStep("relax_tensor_check_disjoint",
                 {site("kernel"), map(updated), data[index], i32(index),
                  map(input), data[other], i32(other)});
}

/// A tensor as a memref.
Value FunctionEmitter::emitMemref(Value tensor, MemRefType type, Value data) {
  auto memref = MemRefDescriptor::poison(builder, builder.getLoc(),
                                         typeConverter.convertType(type));
  memref.setAllocatedPtr(builder, builder.getLoc(), data);
  memref.setAlignedPtr(builder, builder.getLoc(), data);
  memref.setOffset(builder, builder.getLoc(), i64(0));
  fillDims(builder, memref, type, emitDims(tensor));
  return UnrealizedConversionCastOp::create(builder, type, Value(memref))
      .getResult(0);
}

LogicalResult FunctionEmitter::emit(CallKernelOp op) {
  FailureOr<func::FuncOp> found = getKernel(op);
  if (failed(found))
    return failure();
  func::FuncOp kernel = *found;
  bool mayFail = returnsStatus(kernel);
  if (kernel.getNumResults() != (mayFail ? 1 : 0))
    return kernel.emitOpError() << "expected a kernel without results, but it "
                                   "does not update its outputs in place";
  for (Type param : kernel.getArgumentTypes())
    if (isa<ShapedType>(param) && !isa<MemRefType>(param))
      return kernel.emitOpError()
             << "expected a kernel that was bufferized, but it takes " << param;
  bool isOnDevice = bool(getKernelDevice(kernel));
  // A scalar has no data.
  SmallVector<Value> args, data;
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    data.push_back(
        isa<PrimStructInfoType>(input.getType())
            ? Value()
            : emitData(input, "kernel",
                       op.isUpdated(index) ? Access::Update : Access::Read,
                       isOnDevice));
  emitDisjoint(op, data);
  for (Value output : op.getOutputs())
    data.push_back(emitData(output, "kernel", Access::Output, isOnDevice));
  auto addArg = [&](Value value, Value elements) {
    Type param = kernel.getArgumentTypes()[args.size()];
    args.push_back(elements
                       ? emitMemref(value, cast<MemRefType>(param), elements)
                       : emitScalar(value, param));
  };
  size_t numInputs = op.getInputs().size();
  for (auto [input, elements] : llvm::zip(op.getInputs(), data))
    addArg(input, elements);
  llvm::append_range(args, map(op.getInts()));
  for (auto [output, elements] :
       llvm::zip(op.getOutputs(), ArrayRef(data).drop_front(numInputs)))
    addArg(output, elements);
  // In front of the first one the function was entered, which checks too.
  if (hasCalledKernel)
    emitStep("relax_signals_check", {});
  hasCalledKernel = true;
  emitMeasured("kernel", getKernelLabel(kernel.getSymName()), op->getOperands(),
               [&] {
                 auto call = func::CallOp::create(builder, kernel, args);
                 return mayFail ? call.getResult(0) : Value();
               });
  return success();
}
