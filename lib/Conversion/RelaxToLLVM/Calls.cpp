//===- Calls.cpp - Calls of functions in LLVM -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "relax-mlir/IR/KernelStatus.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult FunctionEmitter::emit(ExternFuncOp op) {
  StringRef name = op.getGlobalSymbol();
  emitStep("relax_function_get",
           {site("extern_func"), resultSlot(op), runtime.cache(builder),
            runtime.string(builder, name)});
  return success();
}

void FunctionEmitter::emitCall(Operation *op, Value callee, StringRef what,
                               StringRef kind, StringRef name,
                               ValueRange args) {
  SmallVector<Value> values = map(args);
  Value array = emitStackArray(values, runtime.ptrType());
  reads.data.clear(); // it may change what it knows
  Value slot = resultSlot(op);
  emitMeasured(kind, name, args, [&] {
    return runtime.call(builder, "relax_function_call", builder.getI32Type(),
                        {site(what), slot, callee, i32(values.size()), array});
  });
}

LogicalResult FunctionEmitter::emit(CallPackedOp op) {
  Value callee = nextSlot();
  emitStep("relax_function_get",
           {site("call_packed"), callee, runtime.cache(builder),
            runtime.string(builder, op.getCallee())});
  emitCall(op, callee, "call_packed", "packed", op.getCallee(), op.getArgs());
  return success();
}

Value FunctionEmitter::entryAddress(StringRef function) {
  Value entry = func::ConstantOp::create(
      builder, entryType(source.getContext()),
      FlatSymbolRefAttr::get(source.getContext(), entryName(function)));
  return UnrealizedConversionCastOp::create(builder, runtime.ptrType(), entry)
      .getResult(0);
}

LogicalResult FunctionEmitter::emit(CallOp op) {
  if (Value function = op.getFunction()) {
    emitCall(op, map(function), "call", "closure", "closure", op.getArgs());
    return success();
  }
  if (auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          op, op.getCalleeAttr()))
    return emitKernelCall(op, kernel);
  if (isSelfTailCall(op)) {
    emitSelfTailCall(op);
    return success();
  }
  SmallVector<Value> values = map(op.getArgs());
  Value array = emitStackArray(values, runtime.ptrType());
  reads.data.clear(); // it may change what it knows
  Value slot = resultSlot(op);
  emitMeasured("function", *op.getCallee(), op.getArgs(), [&] {
    return runtime.call(builder, "relax_entry_call", builder.getI32Type(),
                        {entry.getArgument(0), slot,
                         entryAddress(*op.getCallee()), i32(values.size()),
                         array});
  });
  return success();
}

/// A double as the one of the two floats around it whose last bit is 1, unless
/// it is a float itself. Rounded once more, to fewer bits, the result is what
/// rounding the double at once would give; that has no instruction.
static Value roundToOdd(ImplicitLocOpBuilder &builder, Value number) {
  Type i32 = builder.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  };
  Value nearest =
      arith::TruncFOp::create(builder, builder.getF32Type(), number);
  Value back = arith::ExtFOp::create(builder, number.getType(), nearest);
  Value inexact =
      arith::CmpFOp::create(builder, arith::CmpFPredicate::ONE, back, number);
  Value isBelow = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT,
                                        LLVM::FAbsOp::create(builder, back),
                                        LLVM::FAbsOp::create(builder, number));
  Value bits = arith::BitcastOp::create(builder, i32, nearest);
  Value isEven = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::eq,
      arith::AndIOp::create(builder, bits, constant(1)), constant(0));
  Value step =
      arith::SelectOp::create(builder, isBelow, constant(1), constant(-1));
  Value odd = arith::AddIOp::create(builder, bits, step);
  Value moves = arith::AndIOp::create(builder, inexact, isEven);
  return arith::BitcastOp::create(
      builder, builder.getF32Type(),
      arith::SelectOp::create(builder, moves, odd, bits));
}

/// The number in a primitive value that was checked. The value of a float may
/// be an integer.
Value FunctionEmitter::emitScalar(Value prim, Type type) {
  Value slot = map(prim);
  auto load = [&](int32_t field, Type fieldType) -> Value {
    Value address =
        LLVM::GEPOp::create(builder, runtime.ptrType(), runtime.anyType(), slot,
                            ArrayRef<LLVM::GEPArg>{0, field});
    return LLVM::LoadOp::create(builder, fieldType, address);
  };
  Value bits = load(2, builder.getI64Type());
  if (isa<IntegerType>(type))
    return type.isInteger(64)
               ? bits
               : arith::TruncIOp::create(builder, type, bits).getResult();
  constexpr int64_t kFloat = 3; // kTVMFFIFloat
  Type f64 = builder.getF64Type();
  Value isFloat =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                            load(0, builder.getI32Type()), i32(kFloat));
  Value number = arith::SelectOp::create(
      builder, isFloat, arith::BitcastOp::create(builder, f64, bits),
      arith::SIToFPOp::create(builder, f64, bits));
  if (type.isF64())
    return number;
  if (type.getIntOrFloatBitWidth() < 32)
    number = roundToOdd(builder, number);
  if (number.getType() != type)
    number = arith::TruncFOp::create(builder, type, number);
  return number;
}

/// A number as the value of an operation.
void FunctionEmitter::emitPrim(Operation *op, Value number, Type dtype) {
  Value slot = resultSlot(op);
  if (auto type = dyn_cast<FloatType>(number.getType())) {
    Type f64 = builder.getF64Type();
    if (type.getWidth() < 64)
      number = arith::ExtFOp::create(builder, f64, number);
    runtime.call(builder, "relax_prim_set_float", Type(), {slot, number});
    return;
  }
  bool isBool = number.getType().isInteger(1);
  Type held = isBool ? builder.getI32Type() : builder.getI64Type();
  if (number.getType() != held) {
    if (isBool || dtype.isUnsignedInteger())
      number = arith::ExtUIOp::create(builder, held, number);
    else
      number = arith::ExtSIOp::create(builder, held, number);
  }
  runtime.call(builder, isBool ? "relax_prim_set_bool" : "relax_prim_set_int",
               Type(), {slot, number});
}

/// SE07: a kernel may change its arguments in place, so none is copied.
LogicalResult FunctionEmitter::emitKernelCall(CallOp op, func::FuncOp kernel) {
  auto prim = dyn_cast<PrimStructInfoType>(op.getResult().getType());
  bool mayFail = returnsStatus(kernel);
  size_t numResults = kernel.getNumResults() - (mayFail ? 1 : 0);
  bool returnsScalar = numResults == 1 && prim;
  if (numResults != 0 && !returnsScalar)
    return kernel.emitOpError() << "expected a kernel without results, but it "
                                   "does not update its outputs in place";
  if (kernel.getNumArguments() != op.getArgs().size())
    return op.emitOpError() << "expected " << kernel.getNumArguments()
                            << " values for the kernel";
  SmallVector<Value> args;
  for (auto [index, param] : llvm::enumerate(kernel.getArgumentTypes())) {
    Value arg = op.getArgs()[index];
    auto memref = dyn_cast<MemRefType>(param);
    auto tensor = dyn_cast<TensorStructInfoType>(arg.getType());
    if (memref && tensor && tensor.getNdim() == memref.getRank()) {
      auto entryArgument = dyn_cast<BlockArgument>(arg);
      std::string what = ("argument " + Twine(index)).str();
      if (entryArgument && entryArgument.getOwner() == &source.front())
        what = source.describeArgument(entryArgument.getArgNumber());
      args.push_back(
          emitMemref(arg, memref, emitData(arg, what, Access::Update)));
    } else if (isa<PrimStructInfoType>(arg.getType()) &&
               isa<IntegerType, FloatType>(param)) {
      args.push_back(emitScalar(arg, param));
    } else {
      return op.emitOpError()
             << "cannot pass " << arg.getType() << " for parameter " << index
             << " of " << op.getCalleeAttr() << ", which is " << param;
    }
  }
  func::CallOp call;
  emitMeasured("kernel", getKernelLabel(kernel.getSymName()), op.getArgs(),
               [&] {
                 call = func::CallOp::create(builder, kernel, args);
                 return mayFail ? call.getResults().back() : Value();
               });
  if (returnsScalar) {
    emitPrim(op, call.getResult(0), prim.getDtype());
    return success();
  }
  emitStep("relax_tuple_make", {site("tuple"), resultSlot(op), i32(0),
                                emitStackArray({}, runtime.ptrType())});
  return success();
}
