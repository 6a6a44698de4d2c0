//===- Values.cpp - Constants, scalars and shapes in LLVM -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

using namespace mlir;
using namespace mlir::relax;

/// One that is only read stays in the pool; it needs no slot.
LogicalResult FunctionEmitter::emit(LoadConstantOp op) {
  Value constant = runtime.constant(builder, op.getIndex());
  if (!op.getFresh()) {
    mapping.map(op.getResult(), constant);
    return success();
  }
  emitStep("relax_tensor_to_device",
           {site("constant"), resultSlot(op), constant, i32(kCpu), i32(0)});
  return success();
}

LogicalResult FunctionEmitter::emit(PrimValueOp op) {
  Value slot = resultSlot(op);
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
    Value value = LLVM::ConstantOp::create(
        builder, builder.getF64Type(),
        builder.getF64FloatAttr(number.getValueAsDouble()));
    runtime.call(builder, "relax_prim_set_float", Type(), {slot, value});
    return success();
  }
  auto integer = cast<IntegerAttr>(op.getValue());
  if (integer.getType().isInteger(1))
    runtime.call(builder, "relax_prim_set_bool", Type(),
                 {slot, i32(integer.getValue().getZExtValue())});
  else
    runtime.call(builder, "relax_prim_set_int", Type(),
                 {slot, i64(integer.getType().isUnsignedInteger()
                                ? integer.getValue().getZExtValue()
                                : integer.getValue().getSExtValue())});
  return success();
}

LogicalResult FunctionEmitter::emit(MakePrimOp op) {
  if (op.getResult().getType().getDtype().isInteger(1)) {
    Value flag = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                       map(op.getValue()), i64(0));
    runtime.call(builder, "relax_prim_set_bool", Type(),
                 {resultSlot(op),
                  arith::ExtUIOp::create(builder, builder.getI32Type(), flag)});
    return success();
  }
  runtime.call(builder, "relax_prim_set_int", Type(),
               {resultSlot(op), map(op.getValue())});
  return success();
}

LogicalResult FunctionEmitter::emit(MakeShapeOp op) {
  SmallVector<Value> dims = map(op.getDims());
  Value array = emitStackArray(dims, builder.getI64Type());
  emitStep("relax_shape_make", {resultSlot(op), i32(dims.size()), array});
  return success();
}

LogicalResult FunctionEmitter::emit(ShapeOfOp op) {
  emitStep("relax_shape_of", {resultSlot(op), map(op.getTensor())});
  return success();
}

Value mlir::relax::loadElement(ImplicitLocOpBuilder &builder, Value array,
                               int64_t index) {
  Value address = LLVM::GEPOp::create(
      builder, array.getType(), builder.getI64Type(), array,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))});
  return LLVM::LoadOp::create(builder, builder.getI64Type(), address);
}

LogicalResult FunctionEmitter::emit(DimOp op) {
  if (isRaw(op.getValue())) {
    ArrayRef<Value> dims = rawTensors[op.getValue()].dims;
    // A cast that always fails is trusted where checks are left out: what
    // follows it never runs.
    mapping.map(op.getResult(),
                op.getIndex() < dims.size()
                    ? dims[op.getIndex()]
                    : LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                               builder.getI64IntegerAttr(0)));
    return success();
  }
  Value value = map(op.getValue());
  if (isa<PrimStructInfoType>(op.getValue().getType())) {
    mapping.map(op.getResult(), runtime.call(builder, "relax_prim_int",
                                             builder.getI64Type(), {value}));
    return success();
  }
  bool isShape = isa<ShapeStructInfoType>(op.getValue().getType());
  Value dims =
      runtime.call(builder, isShape ? "relax_shape_dims" : "relax_tensor_dims",
                   runtime.ptrType(), {value});
  mapping.map(op.getResult(), loadElement(builder, dims, op.getIndex()));
  return success();
}

LogicalResult FunctionEmitter::emit(TagOp op) {
  Value address = emitStackArray({}, builder.getI64Type());
  emitStep("relax_adt_tag", {site("adt_tag"), map(op.getValue()), address});
  mapping.map(op.getResult(),
              LLVM::LoadOp::create(builder, builder.getI64Type(), address));
  return success();
}

LogicalResult FunctionEmitter::emit(StringOp op) {
  emitStep("relax_string_make",
           {resultSlot(op), runtime.string(builder, op.getValue()),
            i64(op.getValue().size())});
  return success();
}

LogicalResult FunctionEmitter::emit(DTypeOp op) {
  runtime.call(builder, "relax_dtype_make", Type(),
               {resultSlot(op), i32(encodeDType(op.getValue()))});
  return success();
}

LogicalResult FunctionEmitter::emit(NullValueOp op) {
  resultSlot(op); // None from the start
  return success();
}

LogicalResult FunctionEmitter::emit(relax::CastOp op) {
  if (isRaw(op.getValue())) {
    RawTensor raw = rawTensors.lookup(op.getValue());
    rawTensors[op.getResult()] = raw;
    return success();
  }
  runtime.call(builder, "relax_value_assign", Type(),
               {resultSlot(op), map(op.getValue())});
  return success();
}

LogicalResult FunctionEmitter::emit(KillOp op) {
  auto constant = op.getValue().getDefiningOp<LoadConstantOp>();
  if (constant && !constant.getFresh())
    return success(); // the pool holds it
  // Without an object it is nothing but its memory.
  if (isRaw(op.getValue()))
    return success();
  runtime.call(builder, "relax_value_kill", Type(), {map(op.getValue())});
  return success();
}
