//===- Kernels.cpp - Allocation and calls of kernels in LLVM -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult FunctionEmitter::emit(AllocStorageOp op) {
  if (!op.getBytes())
    return op.emitOpError() << "has a size over shape variables: run "
                               "relax-lower-shapes before";
  auto [kind, id] = device(op.getDeviceAttr());
  Value slot = resultSlot(op);
  emitStep("relax_storage_alloc",
           {site("alloc_storage"), slot, map(op.getBytes()), kind, id});
  if (llvm::any_of(op->getUsers(), [&](Operation *user) {
        return isa<AllocTensorOp>(user) && isRaw(user->getResult(0));
      }))
    storageData[op.getResult()] =
        runtime.call(builder, "relax_storage_data", runtime.ptrType(), {slot});
  return success();
}

LogicalResult FunctionEmitter::emit(AllocTensorOp op) {
  if (isRaw(op.getResult())) {
    emitRawTensor(op);
    return success();
  }
  TensorStructInfoType type = op.getResult().getType();
  SmallVector<Value> dims = map(op.getDims());
  Value array = emitStackArray(dims, builder.getI64Type());
  reads.dims[op.getResult()] = dims;
  if (op.getStorage()) {
    emitStep("relax_tensor_from_storage",
             {site("alloc_tensor"), resultSlot(op), map(op.getStorage()),
              i64(op.getOffsetAttr().getInt()), i32(dims.size()), array,
              i32(encodeDType(type.getDtype()))});
    return success();
  }
  auto [kind, id] = device(op.getDeviceAttr());
  emitStep("relax_tensor_alloc",
           {site("alloc_tensor"), resultSlot(op), i32(dims.size()), array,
            i32(encodeDType(type.getDtype())), kind, id});
  return success();
}

LogicalResult FunctionEmitter::emit(ViewOp op) {
  if (isRaw(op.getResult())) {
    emitRawView(op);
    return success();
  }
  SmallVector<Value> dims = map(op.getDims());
  Value array = emitStackArray(dims, builder.getI64Type());
  emitStep("relax_tensor_view", {site("view"), resultSlot(op),
                                 map(op.getData()), i32(dims.size()), array});
  reads.dims[op.getResult()] = dims;
  return success();
}

LogicalResult FunctionEmitter::emit(ToDeviceOp op) {
  // Kernels read the memory of any device of this target.
  if (op.getData().getDefiningOp<LoadConstantOp>() &&
      isOnlyRead(op.getResult()) &&
      llvm::none_of(op->getUsers(), llvm::IsaPred<CheckOp>)) {
    runtime.call(builder, "relax_value_assign", Type(),
                 {resultSlot(op), map(op.getData())});
    return success();
  }
  auto [kind, id] = device(op.getDevice());
  emitStep("relax_tensor_to_device",
           {site("to_vdevice"), resultSlot(op), map(op.getData()), kind, id});
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
Value FunctionEmitter::emitData(Value tensor, const Twine &what,
                                Access access) {
  if (isRaw(tensor))
    return rawTensors[tensor].data;
  if (access != Access::Update)
    if (Value known = reads.data.lookup(tensor))
      return known;
  Value value = map(tensor);
  Value address = emitStackArray({}, runtime.ptrType());
  if (access == Access::Update) {
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
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!kernel)
    return op.emitOpError()
           << "expected " << op.getCalleeAttr() << " to be a func.func";
  bool mayFail = returnsStatus(kernel);
  if (kernel.getNumResults() != (mayFail ? 1 : 0))
    return kernel.emitOpError() << "expected a kernel without results, but it "
                                   "does not update its outputs in place";
  SmallVector<Value> tensors(op.getInputs());
  llvm::append_range(tensors, op.getOutputs());
  if (kernel.getNumArguments() != tensors.size() + op.getInts().size())
    return op.emitOpError() << "expected " << kernel.getNumArguments()
                            << " values for the kernel";
  // A scalar has no data.
  SmallVector<Value> args, data;
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    data.push_back(
        isa<PrimStructInfoType>(input.getType())
            ? Value()
            : emitData(input, "kernel",
                       op.isUpdated(index) ? Access::Update : Access::Read));
  emitDisjoint(op, data);
  for (Value output : op.getOutputs())
    data.push_back(emitData(output, "kernel", Access::Output));
  auto addValues = [&](ValueRange values, ArrayRef<Value> data) {
    for (auto [value, elements] : llvm::zip(values, data)) {
      Type param = kernel.getArgumentTypes()[args.size()];
      if (!elements && isa<IntegerType, FloatType>(param)) {
        args.push_back(emitScalar(value, param));
        continue;
      }
      if (!elements)
        return LogicalResult(op.emitOpError()
                             << "expected parameter " << args.size() << " of "
                             << op.getCallee() << " to be a scalar, but got "
                             << param);
      auto memref = dyn_cast<MemRefType>(param);
      int64_t ndim = cast<TensorStructInfoType>(value.getType()).getNdim();
      if (!memref || memref.getRank() != ndim)
        return LogicalResult(op.emitOpError()
                             << "expected parameter " << args.size() << " of "
                             << op.getCallee() << " to be a memref of rank "
                             << ndim << ", but got " << param);
      args.push_back(emitMemref(value, memref, elements));
    }
    return success();
  };
  size_t numInputs = op.getInputs().size();
  if (failed(addValues(op.getInputs(), ArrayRef(data).take_front(numInputs))))
    return failure();
  llvm::append_range(args, map(op.getInts()));
  if (failed(addValues(op.getOutputs(), ArrayRef(data).drop_front(numInputs))))
    return failure();
  // In front of the first one the function was entered, which checks too.
  if (hasCalledKernel)
    emitStep("relax_signals_check", {});
  hasCalledKernel = true;
  auto call = func::CallOp::create(builder, kernel, args);
  if (mayFail)
    leaveUnlessZero(call.getResult(0));
  return success();
}
