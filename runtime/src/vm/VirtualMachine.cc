//===- VirtualMachine.cc - Machine that runs an executable ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of a VM as tvm-ffi Functions, packed functions by name, and
// observers.
//
//===----------------------------------------------------------------------===//

#include "VirtualMachine.h"

#include "Builtins.h"
#include "FunctionGraphs.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

VirtualMachineObj::VirtualMachineObj(Executable given, bool usesGraphs)
    : executable(std::move(given)) {
  packed.resize(getParts().packed.size());
  named.resize(getParts().strings.size());
  if (usesGraphs)
    for (const FunctionCode &code : executable->getProgram().getFunctions())
      graphs.push_back(std::make_unique<FunctionGraphs>(code));
}

VirtualMachineObj::~VirtualMachineObj() {
  for (std::vector<void *> *cache : {&packed, &named})
    for (void *function : *cache)
      if (function)
        TVMFFIObjectDecRef(function);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// The entry point of tvm-ffi for calls of a function of a VM.
static int callBytecode(void *self, const TVMFFIAny *args, int32_t nargs,
                        TVMFFIAny *result) {
  ClosureObj *closure = static_cast<ClosureObj *>(self);
  auto *vm =
      const_cast<VirtualMachineObj *>(closure->root.as<VirtualMachineObj>());
  return runFunction(vm, *static_cast<const FunctionCode *>(closure->code),
                     reinterpret_cast<TVMFFIAny *>(closure->captures()), args,
                     nargs, result);
}

// The same where calls may be replayed.
static int callReplaying(void *self, const TVMFFIAny *args, int32_t nargs,
                         TVMFFIAny *result) {
  ClosureObj *closure = static_cast<ClosureObj *>(self);
  auto *vm =
      const_cast<VirtualMachineObj *>(closure->root.as<VirtualMachineObj>());
  const auto *code = static_cast<const FunctionCode *>(closure->code);
  return vm->getGraphs(code->index)->call(vm, args, nargs, result);
}

const FunctionCode *
VirtualMachineObj::getBytecode(ClosureObj *closure,
                               const VirtualMachineObj *vm) {
  return closure->safe_call == callBytecode &&
                 closure->root.as<VirtualMachineObj>() == vm
             ? static_cast<const FunctionCode *>(closure->code)
             : nullptr;
}

ClosureObj *relax_runtime::vm::makeClosure(VirtualMachineObj *vm,
                                           const FunctionCode &code,
                                           const char *structInfo,
                                           int32_t numDims,
                                           const int64_t *dims) {
  TVMFFISafeCallType native = nullptr;
  if (code.def->kind == FunctionDef::Kind::Native) {
    native = vm->getExecutable().getNative(code.index);
    if (!native)
      RELAX_THROW(RuntimeError) << "function '" << code.def->name
                                << "' has no machine code: bind it before "
                                   "the call";
  }
  ClosureObj *closure = ClosureObj::make(code.numCaptures, numDims, dims);
  if (!closure)
    throw std::bad_alloc();
  if (native)
    closure->setEntry(native);
  else
    closure->setBytecode(callBytecode, &code);
  closure->root = ffi::GetRef<VirtualMachine>(vm);
  closure->sinfo = structInfo;
  return closure;
}

FunctionGraphs *VirtualMachineObj::getGraphs(int64_t index) const {
  return graphs.empty() ? nullptr : graphs[static_cast<size_t>(index)].get();
}

ffi::Function VirtualMachineObj::getFunction(std::string_view name) {
  int64_t index = executable->findFunction(name);
  if (index < 0 || getParts().functions[index].isPrivate)
    RELAX_THROW(ValueError) << "expected the name of a public function, but "
                               "got '"
                            << std::string(name) << "'";
  const FunctionCode &code = executable->getProgram().getFunctions()[index];
  if (code.numCaptures != 0)
    RELAX_THROW(ValueError) << "function '" << std::string(name)
                            << "' takes captured values, so only a closure "
                               "calls it";
  ClosureObj *closure =
      makeClosure(this, code, code.def->structInfo.c_str(), 0, nullptr);
  if (!graphs.empty())
    closure->setBytecode(callReplaying, &code);
  TVMFFIAny value = {};
  value.type_index = kTVMFFIFunction;
  value.v_obj = ffi::detail::ObjectUnsafe::GetHeader(closure);
  ffi::Any function;
  assignOwned(reinterpret_cast<TVMFFIAny *>(&function), value);
  return function.cast<ffi::Function>();
}

TVMFFIObject *VirtualMachineObj::look(const relax_site *site, void *&cache,
                                      const std::string &name) {
  void *held = atomicCache(&cache).load(std::memory_order_acquire);
  if (RELAX_LIKELY(held != nullptr))
    return static_cast<TVMFFIObject *>(held);
  ffi::Any found;
  if (relax_function_get(site, reinterpret_cast<TVMFFIAny *>(&found), &cache,
                         name.c_str()))
    return nullptr;
  return reinterpret_cast<const TVMFFIAny *>(&found)->v_obj;
}

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

void VirtualMachineObj::setObserver(std::shared_ptr<Observer> next) {
  std::lock_guard<std::mutex> lock(observerMutex);
  observed.store(next != nullptr, std::memory_order_release);
  std::swap(observer, next);
}

static thread_local VirtualMachineObj::Profiling *profiling = nullptr;

VirtualMachineObj::Profiling::Profiling(VirtualMachineObj *vm,
                                        std::shared_ptr<Observer> observer)
    : vm(vm), observer(std::move(observer)), outer(profiling) {
  profiling = this;
}

VirtualMachineObj::Profiling::~Profiling() { profiling = outer; }

VirtualMachineObj::Profiling *VirtualMachineObj::findProfiling() const {
  Profiling *found = profiling;
  while (found && found->vm != this)
    found = found->outer;
  return found;
}

bool VirtualMachineObj::isProfiled() const {
  return !RELAX_LIKELY(profiling == nullptr) && findProfiling();
}

std::shared_ptr<Observer> VirtualMachineObj::getObserver() {
  if (Profiling *found = findProfiling())
    return found->observer;
  std::lock_guard<std::mutex> lock(observerMutex);
  return observer;
}

std::string relax_runtime::vm::getCalleeName(const Frame &frame,
                                             const Step &step) {
  const ExecutableParts &parts = frame.vm->getExecutable().getParts();
  switch (step.kind) {
  case StepKind::Builtin:
    return builtinInfos[step.builtinIndex].name;
  case StepKind::Kernel:
    return parts.kernels[step.index];
  case StepKind::Packed:
    return parts.packed[step.index];
  case StepKind::CallBytecode:
  case StepKind::CallNative:
    return step.function->def->name;
  case StepKind::CallRegister: {
    const TVMFFIAny *callee = &frame.registers[step.index];
    ClosureObj *closure = ClosureObj::get(callee);
    const FunctionCode *code =
        closure ? VirtualMachineObj::getBytecode(closure, frame.vm) : nullptr;
    return code ? code->def->name : "%" + std::to_string(step.index);
  }
  default:
    return "";
  }
}

const char *relax_runtime::vm::getCalleeKind(const Step &step) {
  switch (step.kind) {
  case StepKind::Builtin:
    return "builtin";
  case StepKind::Kernel:
    return "kernel";
  case StepKind::Packed:
    return "packed";
  case StepKind::CallBytecode:
  case StepKind::CallNative:
    return "function";
  case StepKind::CallRegister:
    return "closure";
  default:
    return "";
  }
}

RELAX_COLD static int raiseReplacement(const Frame &frame, const Step &step,
                                       const ffi::Any &value) noexcept {
  return raiseInFunction(
      step.site, "TypeError",
      "the result of '" + getCalleeName(frame, step) +
          "' is an integer, but the instrument gives " +
          describe(reinterpret_cast<const TVMFFIAny *>(&value)));
}

int relax_runtime::vm::replaceResult(Frame &frame, const Step &step,
                                     ffi::Any value) {
  if (step.hasRegister) {
    owned(&frame.registers[step.destination]) = std::move(value);
  } else if (step.hasHeapSlot) {
    if (value.type_index() != kTVMFFIInt)
      return raiseReplacement(frame, step, value);
    frame.heap[step.destination] = value.cast<int64_t>();
  }
  return 0;
}
