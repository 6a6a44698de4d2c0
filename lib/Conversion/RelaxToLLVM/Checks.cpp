//===- Checks.cpp - Checks and dimensions in LLVM -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult FunctionEmitter::emit(CheckOp op) {
  Value where = site(op.getWhat(), op.getExpected());
  Value value = map(op.getValue());
  // Without virtual devices all tensors are on the host; with them, those that
  // name none may be on any.
  DictionaryAttr listed = getGlobalInfo(source);
  bool isAny = !op.getDeviceAttr() && listed && !listed.empty();
  llvm::TypeSwitch<Type>(op.getType())
      .Case([&](TensorStructInfoType type) {
        auto [kind, id] = device(op.getDeviceAttr());
        emitStep("relax_tensor_check", {where, value, i32(type.getNdim()),
                                        i32(encodeDType(type.getDtype())),
                                        isAny ? i32(0) : kind, id});
      })
      .Case([&](ShapeStructInfoType type) {
        emitStep("relax_shape_check", {where, value, i32(type.getNdim())});
      })
      .Case([&](PrimStructInfoType type) {
        emitStep("relax_prim_check",
                 {where, value, i32(encodeDType(type.getDtype()))});
      })
      .Case([&](TupleStructInfoType type) {
        emitStep("relax_tuple_check",
                 {where, value, i64(type.getFields().size())});
      })
      .Case([&](FuncStructInfoType) {
        emitStep("relax_function_check", {where, value});
      });
  return success();
}

/// The run-time StructInfo of a function type, the number of its captured
/// dimensions, and their values.
SmallVector<Value> FunctionEmitter::emitFunctionInfo(FuncStructInfoType type,
                                                     ArrayAttr names,
                                                     ValueRange dims) {
  std::string info = toRuntimeStructInfo(
      type, llvm::to_vector(names.getAsValueRange<StringAttr>()),
      getGlobalInfo(source));
  return {runtime.string(builder, info), i32(dims.size()),
          emitStackArray(map(dims), builder.getI64Type())};
}

LogicalResult FunctionEmitter::emit(CheckFunctionOp op) {
  auto type = cast<FuncStructInfoType>(op.getType());
  SmallVector<Value> args = {site(op.getWhat(), toString(type)),
                             map(op.getValue())};
  if (type.isPacked()) {
    emitStep("relax_packed_check", args);
    return success();
  }
  llvm::append_range(args, emitFunctionInfo(type, op.getNames(), op.getDims()));
  emitStep("relax_closure_check", args);
  return success();
}

LogicalResult FunctionEmitter::emit(CheckShapeOp op) {
  emitStep("relax_shape_equal_check", {site(op.getWhat(), op.getExpected()),
                                       map(op.getValue()), map(op.getShape())});
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
    mapping.map(op.getResult(), rawTensors[op.getValue()].dims[op.getIndex()]);
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

/// Goes on in a new block where `holds`; elsewhere `raise` sets an error.
void FunctionEmitter::emitAssert(Value holds, function_ref<void()> raise) {
  Block *fail = new Block(), *next = new Block();
  cf::CondBranchOp::create(builder, holds, next, fail);
  entry.getBody().push_back(fail);
  builder.setInsertionPointToStart(fail);
  raise();
  cf::BranchOp::create(builder, errorExit);
  entry.getBody().push_back(next);
  builder.setInsertionPointToStart(next);
}

LogicalResult FunctionEmitter::emit(CheckDimOp op) {
  Value actual = map(op.getActual()), wanted = map(op.getWanted());
  Value equal =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, actual, wanted);
  emitAssert(equal, [&] {
    runtime.call(builder, "relax_dim_raise", builder.getI32Type(),
                 {site(op.getWhat(), op.getExpected()), i64(op.getIndex()),
                  runtime.string(builder, op.getExpr()), wanted, actual});
  });
  return success();
}

LogicalResult FunctionEmitter::emit(CheckBoundsOp op) {
  Value actual = map(op.getValue());
  auto check = [&](arith::CmpIPredicate predicate, StringRef relation,
                   std::optional<int64_t> end, StringRef attribute) {
    if (!end)
      return;
    Value bound = i64(*end);
    Value holds = arith::CmpIOp::create(builder, predicate, actual, bound);
    emitAssert(holds, [&] {
      std::string name = op.getName().str();
      std::string expected = name + relation.str() + std::to_string(*end);
      std::string expr = attribute.str() + "['" + name + "']";
      runtime.call(builder, "relax_dim_raise", builder.getI32Type(),
                   {site("shape variable '" + name + "'", expected), i64(-1),
                    runtime.string(builder, expr), bound, actual});
    });
  };
  check(arith::CmpIPredicate::sge, " >= ", op.getLower(),
        RelaxDialect::kLowerBound);
  check(arith::CmpIPredicate::sle, " <= ", op.getUpper(),
        RelaxDialect::kUpperBound);
  return success();
}

LogicalResult FunctionEmitter::emit(CheckNotNegativeOp op) {
  Value actual = map(op.getValue());
  Value holds =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, actual, i64(0));
  emitAssert(holds, [&] {
    runtime.call(builder, "relax_dim_raise", builder.getI32Type(),
                 {site(op.getWhat(), (op.getExpr() + " >= 0").str()), i64(-1),
                  runtime.string(builder, ""), i64(0), actual});
  });
  return success();
}

void FunctionEmitter::emitRaise(StringRef what, StringRef kind,
                                StringRef message) {
  runtime.call(builder, "relax_error_raise", builder.getI32Type(),
               {site(what), runtime.string(builder, kind),
                runtime.string(builder, message)});
}

LogicalResult FunctionEmitter::emit(CheckDivisorOp op) {
  Value nonZero = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                        map(op.getDivisor()), i64(0));
  emitAssert(nonZero, [&] {
    emitRaise("dimension " + op.getExpr().str(), "ZeroDivisionError",
              "the divisor is zero");
  });
  return success();
}
