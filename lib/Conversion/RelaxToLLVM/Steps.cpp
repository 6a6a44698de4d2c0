//===- Steps.cpp - Calls of the runtime in LLVM -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is a call of a C function, whose arguments an operation describes
// itself (`RuntimeStepOpInterface`). Checks of integers, which nearly always
// hold, are comparisons here: the runtime only raises the error.
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::relax;

Value FunctionEmitter::constant(Type type, int64_t value) {
  return LLVM::ConstantOp::create(builder, type,
                                  builder.getIntegerAttr(type, value));
}

Value FunctionEmitter::site(StringRef what, StringRef expected) {
  return runtime.site(builder, source.getSymName(), what, expected);
}

void FunctionEmitter::branchToError(Value failed) {
  Block *next = new Block();
  entry.getBody().push_back(next);
  cf::CondBranchOp::create(builder, failed, errorExit, next);
  builder.setInsertionPointToStart(next);
}

void FunctionEmitter::emitStep(StringRef name, ValueRange args) {
  leaveUnlessZero(runtime.call(builder, name, builder.getI32Type(), args));
}

void FunctionEmitter::leaveUnlessZero(Value status) {
  branchToError(
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, status, i32(0)));
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

void FunctionEmitter::emitRaise(StringRef what, StringRef kind,
                                StringRef message) {
  runtime.call(builder, "relax_error_raise", builder.getI32Type(),
               {site(what), runtime.string(builder, kind),
                runtime.string(builder, message)});
}

//===----------------------------------------------------------------------===//
// Operations that describe their steps
//===----------------------------------------------------------------------===//

void FunctionEmitter::addArgs(const StepOperand &operand,
                              SmallVectorImpl<Value> &args) {
  switch (operand.kind) {
  case StepOperand::SSAValue:
    args.push_back(map(operand.value));
    return;
  case StepOperand::Int32:
    args.push_back(i32(operand.number));
    return;
  case StepOperand::Int64:
    args.push_back(i64(operand.number));
    return;
  case StepOperand::DType:
    args.push_back(i32(encodeDType(operand.dtype)));
    return;
  case StepOperand::Text:
    args.push_back(runtime.string(builder, operand.text));
    return;
  case StepOperand::Function:
    args.append({entry.getArgument(0), entryAddress(operand.text)});
    return;
  case StepOperand::List: {
    SmallVector<Value> elements = map(operand.elements);
    Type type = runtime.ptrType();
    if (operand.isOfInts)
      type = builder.getI64Type();
    args.push_back(i32(elements.size()));
    args.push_back(emitStackArray(elements, type));
    return;
  }
  }
}

/// What has to hold of the actual and the expected number in a check of
/// integers; none for other steps.
static std::optional<arith::CmpIPredicate> getPredicate(StringRef builtin) {
  using Predicate = std::optional<arith::CmpIPredicate>;
  return llvm::StringSwitch<Predicate>(builtin)
      .Case("dim_check", arith::CmpIPredicate::eq)
      .Case("lower_bound_check", arith::CmpIPredicate::sge)
      .Case("upper_bound_check", arith::CmpIPredicate::sle)
      .Default(std::nullopt);
}

void FunctionEmitter::emitComparison(const RuntimeStep &step,
                                     arith::CmpIPredicate predicate) {
  ArrayRef<StepOperand> operands = step.operands;
  SmallVector<Value> numbers;
  for (const StepOperand &operand : operands.take_back(2))
    addArgs(operand, numbers);
  Value expected = numbers[0], actual = numbers[1];
  Value holds = arith::CmpIOp::create(builder, predicate, actual, expected);
  emitAssert(holds, [&] {
    SmallVector<Value> args = {site(step.what, step.expected)};
    if (predicate != arith::CmpIPredicate::eq)
      args.push_back(i64(-1)); // a bound is one of a variable
    for (const StepOperand &operand : operands.drop_back(2))
      addArgs(operand, args);
    llvm::append_range(args, numbers);
    runtime.call(builder, "relax_dim_raise", builder.getI32Type(), args);
  });
}

void FunctionEmitter::emitDivisorCheck(const RuntimeStep &step) {
  Value nonZero =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                            map(step.operands.front().value), i64(0));
  emitAssert(nonZero, [&] {
    emitRaise(step.what, "ZeroDivisionError", "the divisor is zero");
  });
}

Value FunctionEmitter::emitStepCall(const RuntimeStep &step, Value slot) {
  SmallVector<Value> args = {site(step.what, step.expected)};
  if (slot)
    args.push_back(slot);
  for (const StepOperand &operand : step.operands)
    addArgs(operand, args);
  return runtime.call(builder, ("relax_" + step.builtin).str(),
                      builder.getI32Type(), args);
}

void FunctionEmitter::emitSteps(RuntimeStepOpInterface op) {
  SmallVector<RuntimeStep, 2> steps;
  op.getRuntimeSteps(steps);
  for (const RuntimeStep &step : steps) {
    if (auto predicate = getPredicate(step.builtin)) {
      emitComparison(step, *predicate);
    } else if (step.builtin == "divisor_check") {
      emitDivisorCheck(step);
    } else {
      Value slot = op->getNumResults() != 0 ? resultSlot(op) : Value();
      emitMeasured("builtin", step.builtin, {},
                   [&] { return emitStepCall(step, slot); });
    }
  }
}
