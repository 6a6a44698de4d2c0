//===- RuntimeSteps.cpp - Calls of the runtime in the host program -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases: operands; checks of values; checks of integers; memory; tuples and
// closures.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/RuntimeSteps.h"

#include "relax-mlir/IR/Constants.h"

#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

using Steps = SmallVectorImpl<RuntimeStep>;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

RuntimeStep &RuntimeStep::addValue(Value value) {
  operands.push_back({StepOperand::SSAValue, value});
  return *this;
}

RuntimeStep &RuntimeStep::addInt32(int64_t number) {
  operands.push_back({StepOperand::Int32, {}, number});
  return *this;
}

RuntimeStep &RuntimeStep::addInt64(int64_t number) {
  operands.push_back({StepOperand::Int64, {}, number});
  return *this;
}

RuntimeStep &RuntimeStep::addDType(Type dtype) {
  operands.push_back({StepOperand::DType, {}, 0, dtype});
  return *this;
}

RuntimeStep &RuntimeStep::addText(StringRef text) {
  operands.push_back({StepOperand::Text, {}, 0, {}, text.str()});
  return *this;
}

RuntimeStep &RuntimeStep::addFunction(StringRef name) {
  operands.push_back({StepOperand::Function, {}, 0, {}, name.str()});
  return *this;
}

RuntimeStep &RuntimeStep::addValues(ValueRange values) {
  operands.push_back({StepOperand::List});
  operands.back().elements = llvm::to_vector(values);
  return *this;
}

RuntimeStep &RuntimeStep::addInts(ValueRange numbers) {
  addValues(numbers);
  operands.back().isOfInts = true;
  return *this;
}

RuntimeStep &RuntimeStep::addDevice(VDeviceAttr device) {
  if (!device)
    return addInt32(kCpu).addInt32(0);
  return addInt32(getDLDeviceType(device).value_or(kCpu))
      .addInt32(device.getDevId());
}

/// The run-time StructInfo of a function type and the values of the shape
/// variables that it uses.
static void addFunctionInfo(RuntimeStep &step, Operation *op, Type type,
                            ArrayAttr names, ValueRange dims) {
  step.addText(toRuntimeStructInfo(
                   type, llvm::to_vector(names.getAsValueRange<StringAttr>()),
                   getGlobalInfo(op)))
      .addInts(dims);
}

//===----------------------------------------------------------------------===//
// Checks of values
//===----------------------------------------------------------------------===//

static void addTensorCheck(RuntimeStep &step, CheckOp op,
                           TensorStructInfoType type) {
  step.addInt32(type.getNdim()).addDType(type.getDtype());
  // Without virtual devices all tensors are on the host; with them, those that
  // name none may be on any.
  DictionaryAttr listed = getGlobalInfo(op);
  if (!op.getDeviceAttr() && listed && !listed.empty())
    step.addInt32(0).addInt32(0);
  else
    step.addDevice(op.getDeviceAttr());
}

void CheckOp::getRuntimeSteps(Steps &steps) {
  auto add = [&](StringRef builtin) -> RuntimeStep & {
    return steps.emplace_back(builtin, getWhat(), getExpected())
        .addValue(getValue());
  };
  llvm::TypeSwitch<Type>(getType())
      .Case([&](TensorStructInfoType type) {
        addTensorCheck(add("tensor_check"), *this, type);
      })
      .Case([&](ShapeStructInfoType type) {
        add("shape_check").addInt32(type.getNdim());
      })
      .Case([&](PrimStructInfoType type) {
        add("prim_check").addDType(type.getDtype());
      })
      .Case([&](TupleStructInfoType type) {
        add("tuple_check").addInt64(type.getFields().size());
      })
      .Case([&](FuncStructInfoType) { add("function_check"); });
}

void CheckFunctionOp::getRuntimeSteps(Steps &steps) {
  auto type = cast<FuncStructInfoType>(getType());
  StringRef builtin = type.isPacked() ? "packed_check" : "closure_check";
  RuntimeStep &step = steps.emplace_back(builtin, getWhat(), toString(type))
                          .addValue(getValue());
  if (!type.isPacked())
    addFunctionInfo(step, *this, type, getNames(), getDims());
}

void CheckShapeOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("shape_equal_check", getWhat(), getExpected())
      .addValue(getValue())
      .addValue(getShape());
}

//===----------------------------------------------------------------------===//
// Checks of integers
//===----------------------------------------------------------------------===//

void CheckDimOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("dim_check", getWhat(), getExpected())
      .addInt64(getIndex())
      .addText(getExpr())
      .addValue(getWanted())
      .addValue(getActual());
}

void CheckBoundsOp::getRuntimeSteps(Steps &steps) {
  auto add = [&](StringRef builtin, StringRef relation,
                 std::optional<int64_t> bound, StringRef attribute) {
    if (bound)
      steps
          .emplace_back(builtin, "shape variable '" + getName() + "'",
                        getName() + relation + Twine(*bound))
          .addText((attribute + "['" + getName() + "']").str())
          .addInt64(*bound)
          .addValue(getValue());
  };
  add("lower_bound_check", " >= ", getLower(), RelaxDialect::kLowerBound);
  add("upper_bound_check", " <= ", getUpper(), RelaxDialect::kUpperBound);
}

void CheckNotNegativeOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("lower_bound_check", getWhat(), getExpr() + " >= 0")
      .addText("")
      .addInt64(0)
      .addValue(getValue());
}

void CheckDivisorOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("divisor_check", "dimension " + getExpr())
      .addValue(getDivisor());
}

void RaiseOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("error_raise", "")
      .addText("RuntimeError")
      .addText(getMessage());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void AllocStorageOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("storage_alloc", "alloc_storage")
      .addValue(getBytes())
      .addDevice(getDeviceAttr());
}

void AllocTensorOp::getRuntimeSteps(Steps &steps) {
  Type dtype = getResult().getType().getDtype();
  if (Value storage = getStorage())
    steps.emplace_back("tensor_from_storage", "alloc_tensor")
        .addValue(storage)
        .addInt64(getOffset().value_or(0))
        .addInts(getDims())
        .addDType(dtype);
  else
    steps.emplace_back("tensor_alloc", "alloc_tensor")
        .addInts(getDims())
        .addDType(dtype)
        .addDevice(getDeviceAttr());
}

void ViewOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("tensor_view", "view")
      .addValue(getData())
      .addInts(getDims());
}

void ToDeviceOp::getRuntimeSteps(Steps &steps) {
  auto constant = getData().getDefiningOp<LoadConstantOp>();
  bool isShared = constant && !constant.getFresh() && isOnlyRead(getResult());
  steps
      .emplace_back(isShared ? "constant_to_device" : "tensor_to_device",
                    "to_vdevice")
      .addValue(getData())
      .addDevice(getDevice());
}

//===----------------------------------------------------------------------===//
// Tuples and closures
//===----------------------------------------------------------------------===//

void TupleOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("tuple_make", "tuple").addValues(getFields());
}

void GetItemOp::getRuntimeSteps(Steps &steps) {
  steps.emplace_back("tuple_get", "get_item")
      .addValue(getTupleValue())
      .addInt64(getIndex());
}

void MakeClosureOp::getRuntimeSteps(Steps &steps) {
  RuntimeStep &step =
      steps.emplace_back("closure_make", "closure '" + getCallee() + "'")
          .addFunction(getCallee())
          .addValues(getCaptures());
  addFunctionInfo(step, *this, getInfo(), getNames(), getDims());
}
