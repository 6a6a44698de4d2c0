//===- Operands.cc - Operands of a call as values ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads operands out of a frame, as their kinds say.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "Builtins.h"
#include "VirtualMachine.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

static ffi::Any getValue(const Frame &frame, const Arg &arg) {
  return owned(frame.getValue(arg));
}

static ffi::Any getInts(const Frame &frame, const Arg &list) {
  const Arg *elements = static_cast<const Arg *>(list.pointer);
  std::vector<int64_t> ints;
  for (uint32_t i = 0; i < list.index; ++i)
    ints.push_back(frame.getInt(elements[i]));
  return ffi::Shape(ints.begin(), ints.end());
}

static ffi::Any getValues(const Frame &frame, const Arg &list) {
  const Arg *elements = static_cast<const Arg *>(list.pointer);
  ffi::Array<ffi::Any> values;
  for (uint32_t i = 0; i < list.index; ++i)
    values.push_back(getValue(frame, elements[i]));
  return values;
}

static ffi::Any getBuiltinOperand(const Frame &frame, const Arg &arg,
                                  ParamKind kind) {
  switch (kind) {
  case ParamKind::Site:
    return ffi::Any();
  case ParamKind::Value:
  case ParamKind::Register:
    return getValue(frame, arg);
  case ParamKind::Int:
  case ParamKind::Immediate:
    return frame.getInt(arg);
  case ParamKind::DType: {
    ffi::Any dtype;
    relax_dtype_make(reinterpret_cast<TVMFFIAny *>(&dtype),
                     static_cast<relax_dtype>(arg.integer));
    return dtype;
  }
  case ParamKind::String:
    return ffi::String(static_cast<const char *>(arg.pointer));
  case ParamKind::Function:
    return ffi::String(
        static_cast<const FunctionCode *>(arg.pointer)->def->name);
  case ParamKind::Ints:
    return getInts(frame, arg);
  case ParamKind::Values:
    return getValues(frame, arg);
  }
  return ffi::Any();
}

std::vector<ffi::Any> relax_runtime::vm::getOperands(const Frame &frame,
                                                     const Step &step) {
  std::vector<ffi::Any> operands;
  for (uint32_t i = 0; i < step.numArgs; ++i) {
    if (step.kind != StepKind::Builtin) {
      TVMFFIAny view = frame.getView(step.args[i]);
      operands.push_back(owned(const_cast<const TVMFFIAny *>(&view)));
      continue;
    }
    ParamKind kind = builtinInfos[step.builtinIndex].params[i];
    if (kind != ParamKind::Site)
      operands.push_back(getBuiltinOperand(frame, step.args[i], kind));
  }
  return operands;
}

static ffi::Any functionValue(TVMFFIObject *function) {
  TVMFFIAny value = {};
  value.type_index = kTVMFFIFunction;
  value.v_obj = function;
  return owned(const_cast<const TVMFFIAny *>(&value));
}

ffi::Any relax_runtime::vm::getCallee(const Frame &frame, const Step &step) {
  switch (step.kind) {
  case StepKind::CallBytecode:
  case StepKind::CallNative: {
    const FunctionDef &def = *step.function->def;
    bool isCallable = !def.isPrivate && def.numCaptures == 0;
    return isCallable ? frame.vm->getFunction(def.name) : ffi::Any();
  }
  case StepKind::CallRegister:
    return owned(const_cast<const TVMFFIAny *>(&frame.registers[step.index]));
  case StepKind::Packed: {
    TVMFFIObject *function = frame.vm->getPacked(step.site, step.index);
    if (!function)
      throw ffi::detail::MoveFromSafeCallRaised();
    return functionValue(function);
  }
  default:
    return ffi::Any();
  }
}

ffi::Any relax_runtime::vm::getResult(const Frame &frame, const Step &step) {
  if (step.hasRegister)
    return owned(
        const_cast<const TVMFFIAny *>(&frame.registers[step.destination]));
  if (step.hasHeapSlot)
    return frame.heap[step.destination];
  return ffi::Any();
}
