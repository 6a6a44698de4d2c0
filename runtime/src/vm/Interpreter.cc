//===- Interpreter.cc - Runs the steps of a program -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop. A call of bytecode pushes a frame, or puts it in the place of the
// caller's frame where that has nothing left to do; everything else is a C
// call. There are two copies of the loop: one for VMs without an observer.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"

#include "../Pool.h"
#include "../Signals.h"
#include "../Tensor.h"
#include "Builtins.h"
#include "VirtualMachine.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

RELAX_COLD static int raiseFrameMemory(const FunctionCode &code) noexcept {
  return raiseInFunction(&code.site, "MemoryError",
                         "out of memory for a frame of " +
                             std::to_string(code.frameBytes) + " bytes");
}

RELAX_COLD static int raiseUnbound(const Frame &frame, const Step &step,
                                   const char *kind) noexcept {
  return raiseInFunction(step.site, "RuntimeError",
                         std::string(kind) + " '" + getCalleeName(frame, step) +
                             "' has no machine code: bind it before the call");
}

RELAX_COLD static int raiseNotTensor(const Frame &frame, const Step &step,
                                     uint32_t index,
                                     const TVMFFIAny *value) noexcept {
  return raiseInFunction(step.site, "TypeError",
                         "argument " + std::to_string(index) + " of kernel '" +
                             getCalleeName(frame, step) +
                             "': expected a tensor, but got " +
                             describe(value));
}

RELAX_COLD static int raiseCondition(const relax_site *site,
                                     const TVMFFIAny *value) noexcept {
  return raiseError(site, "TypeError",
                    "expected one Boolean, but got " + describe(value));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

// The arguments of a kernel, in the scratch memory of the frame.
struct KernelArgs {
  void **data;
  const int64_t **dims;
  int64_t *scalars;
  // Compact copies of operands that are not compact.
  TVMFFIAny *copies;

  KernelArgs(char *scratch, const Step &step) {
    copies = reinterpret_cast<TVMFFIAny *>(scratch);
    data = reinterpret_cast<void **>(copies + step.numTensors);
    scalars = reinterpret_cast<int64_t *>(data + 2 * step.numTensors);
    char *behind = reinterpret_cast<char *>(data + step.numTensors);
    dims = reinterpret_cast<const int64_t **>(behind);
  }
};

} // namespace

// OP02: what is updated shares no memory with what is updated or read.
RELAX_NOINLINE static int checkDisjoint(const Frame &frame, const Step &step,
                                        void *const *data) {
  int32_t first = -1;
  for (uint32_t i = 0; i < step.numArgs; ++i) {
    first += step.args[i].role != Role::Scalar;
    if (step.args[i].role != Role::Update)
      continue;
    int32_t second = -1;
    for (uint32_t j = 0; j < step.numArgs; ++j) {
      Role role = step.args[j].role;
      second += role != Role::Scalar;
      // Of two that are updated, one check is enough.
      if (role != Role::Read && !(role == Role::Update && i < j))
        continue;
      if (relax_tensor_check_disjoint(step.site, frame.getValue(step.args[i]),
                                      data[first], static_cast<int32_t>(i),
                                      frame.getValue(step.args[j]),
                                      data[second], static_cast<int32_t>(j)))
        return -1;
    }
  }
  return 0;
}

static inline int fillData(const Step &step, Role role, const TVMFFIAny *value,
                           TVMFFIAny *copy, void **data) {
  if (!RELAX_LIKELY(!step.isOnDevice))
    return relax_tensor_device_data(step.site, value, data);
  return role == Role::Read ? relax_tensor_data(step.site, value, copy, data)
                            : relax_tensor_data_inplace(step.site, value, data);
}

static int fillKernelArgs(const Frame &frame, const Step &step,
                          KernelArgs &args) {
  uint32_t tensor = 0, scalar = 0;
  bool updates = false;
  for (uint32_t i = 0; i < step.numArgs; ++i) {
    const Arg &arg = step.args[i];
    if (arg.role == Role::Scalar) {
      args.scalars[scalar++] = frame.getInt(arg);
      continue;
    }
    const TVMFFIAny *value = frame.getValue(arg);
    const DLTensor *held = getTensor(value);
    if (!RELAX_LIKELY(held != nullptr))
      return raiseNotTensor(frame, step, i, value);
    int failed = fillData(step, arg.role, value, &args.copies[tensor],
                          &args.data[tensor]);
    if (!RELAX_LIKELY(!failed))
      return -1;
    updates |= arg.role == Role::Update;
    args.dims[tensor++] = held->shape;
  }
  return updates ? checkDisjoint(frame, step, args.data) : 0;
}

static int callKernel(Frame &frame, const Step &step) {
  KernelEntry entry = frame.vm->getExecutable().getKernel(step.index);
  if (!RELAX_LIKELY(entry != nullptr))
    return raiseUnbound(frame, step, "kernel");
  KernelArgs args(frame.scratch, step);
  for (uint32_t i = 0; i < step.numTensors; ++i)
    args.copies[i] = TVMFFIAny{};
  int status = fillKernelArgs(frame, step, args);
  if (RELAX_LIKELY(status == 0))
    status = entry(args.data, args.dims, args.scalars);
  for (uint32_t i = 0; i < step.numTensors; ++i)
    if (!RELAX_LIKELY(args.copies[i].type_index == kTVMFFINone))
      owned(&args.copies[i]).reset();
  return status == 0 ? 0 : -1;
}

//===----------------------------------------------------------------------===//
// Calls of functions that are not bytecode
//===----------------------------------------------------------------------===//

static const TVMFFIAny *packArgs(const Frame &frame, const Step &step) {
  TVMFFIAny *packed = reinterpret_cast<TVMFFIAny *>(frame.scratch);
  for (uint32_t i = 0; i < step.numArgs; ++i)
    packed[i] = frame.getView(step.args[i]);
  return packed;
}

static void storeResult(Frame &frame, const Step &step, TVMFFIAny value) {
  if (step.hasRegister)
    assignOwned(&frame.registers[step.destination], value);
  else
    owned(&value).~Any();
}

static int callFunction(Frame &frame, const Step &step,
                        TVMFFIObject *function) {
  TVMFFIAny result = {};
  if (callPackedArgs(step.site, function, packArgs(frame, step),
                     static_cast<int32_t>(step.numArgs), &result))
    return -1;
  storeResult(frame, step, result);
  return 0;
}

static int callPacked(Frame &frame, const Step &step) {
  TVMFFIObject *function = frame.vm->getPacked(step.site, step.index);
  return function ? callFunction(frame, step, function) : -1;
}

static int callNative(Frame &frame, const Step &step) {
  const ExecutableObj &executable = frame.vm->getExecutable();
  TVMFFISafeCallType entry = executable.getNative(step.function->index);
  if (!RELAX_LIKELY(entry != nullptr))
    return raiseUnbound(frame, step, "function");
  TVMFFIAny result = {};
  if (entry(frame.vm->getHandle(), packArgs(frame, step),
            static_cast<int32_t>(step.numArgs), &result))
    return -1;
  storeResult(frame, step, result);
  return 0;
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

static void copyViews(TVMFFIAny *registers, const TVMFFIAny *values,
                      int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    new (&registers[i]) ffi::Any(owned(&values[i]));
}

// Pushes a frame beyond the first of a run.
static Frame *pushFrame(FrameStack &stack, VirtualMachineObj *vm,
                        const FunctionCode &code, Frame *caller) {
  if (!RELAX_LIKELY(enterHeapFrame(&code.site) == 0))
    return nullptr;
  Frame *frame = stack.push(vm, code, caller);
  if (RELAX_LIKELY(frame != nullptr))
    return frame;
  leaveHeapFrame();
  raiseFrameMemory(code);
  return nullptr;
}

static void popFrame(FrameStack &stack, Frame *frame) {
  stack.pop(frame);
  leaveHeapFrame();
}

// The callee of a call in bytecode: a function, with the captured values of a
// closure in front.
struct Callee {
  const FunctionCode *code;
  const TVMFFIAny *captures;
};

// A call that pushes a frame. NULL with an error where it cannot.
static Frame *enterCall(FrameStack &stack, Frame *frame, const Step &step,
                        Callee callee) {
  Frame *next = pushFrame(stack, frame->vm, *callee.code, frame);
  if (!RELAX_LIKELY(next != nullptr))
    return nullptr;
  int32_t numCaptures = callee.captures ? callee.code->numCaptures : 0;
  copyViews(next->registers, callee.captures, numCaptures);
  for (uint32_t i = 0; i < step.numArgs; ++i) {
    TVMFFIAny view = frame->getView(step.args[i]);
    copyViews(next->registers + numCaptures + i, &view, 1);
  }
  return next;
}

static Frame *replaceFrame(FrameStack &stack, Frame *frame, const Step &step,
                           Callee callee, TVMFFIAny *values) {
  int32_t numCaptures = callee.captures ? callee.code->numCaptures : 0;
  copyViews(values, callee.captures, numCaptures);
  for (uint32_t i = 0; i < step.numArgs; ++i) {
    TVMFFIAny view = frame->getView(step.args[i]);
    copyViews(values + numCaptures + i, &view, 1);
  }
  VirtualMachineObj *vm = frame->vm;
  Frame *caller = frame->caller;
  const FunctionCode &code = *callee.code;
  stack.pop(frame);
  Frame *next = stack.push(vm, code, caller);
  if (RELAX_LIKELY(next != nullptr)) {
    std::memcpy(static_cast<void *>(next->registers), values,
                sizeof(TVMFFIAny) * static_cast<size_t>(code.numParams));
    return next;
  }
  for (int32_t i = 0; i < code.numParams; ++i)
    owned(&values[i]).~Any();
  leaveHeapFrame();
  raiseFrameMemory(code);
  return nullptr;
}

// A call whose result is that of its function: the frame is replaced. NULL with
// an error where it cannot; the frame is gone then, its callers are not.
static Frame *enterTailCall(FrameStack &stack, Frame *frame, const Step &step,
                            Callee callee) {
  constexpr int32_t kFew = 32;
  if (RELAX_LIKELY(callee.code->numParams <= kFew)) {
    TVMFFIAny values[kFew];
    return replaceFrame(stack, frame, step, callee, values);
  }
  auto *values = static_cast<TVMFFIAny *>(allocateHost(
      sizeof(TVMFFIAny) * static_cast<size_t>(callee.code->numParams)));
  if (values) {
    Frame *next = replaceFrame(stack, frame, step, callee, values);
    freeHost(values);
    return next;
  }
  popFrame(stack, frame);
  raiseFrameMemory(*callee.code);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {

// One run of the loop, from a call from outside to its return.
template <bool IsObserved> class Run {
public:
  Run(FrameStack &stack, Frame *first, RunObserver *observer)
      : stack(stack), frame(first), step(first->code->steps),
        observer(observer) {}

  // Pops all frames that it pushes.
  int run(TVMFFIAny *result) {
    int status;
    while ((status = runStep(result)) == kGoOn) {
    }
    while (frame) {
      frame = leave(frame);
      if (IsObserved && frame)
        observer->failed(*frame, *frame->step);
    }
    return status;
  }

private:
  static constexpr int kGoOn = 1;

  int runStep(TVMFFIAny *result);
  int finishCall(int status);
  int enter(Callee callee);
  int callRegister();
  int returnValue(TVMFFIAny value, TVMFFIAny *result);
  int returnRegister(TVMFFIAny *result);
  int branch();
  int jump();
  bool observe(int &status);
  Frame *leave(Frame *frame) {
    Frame *caller = frame->caller;
    popFrame(stack, frame);
    return caller;
  }

  FrameStack &stack;
  Frame *frame;
  const Step *step;
  RunObserver *observer;
  SignalCheck &signals = SignalCheck::get();
};

} // namespace

// After a call that ran in C.
template <bool IsObserved> int Run<IsObserved>::finishCall(int status) {
  if (IsObserved) {
    if (status)
      observer->failed(*frame, *step);
    else
      status = observer->after(*frame, *step);
  }
  if (!RELAX_LIKELY(status == 0))
    return -1;
  ++step;
  return kGoOn;
}

template <bool IsObserved> int Run<IsObserved>::enter(Callee callee) {
  frame->step = step;
  Frame *next;
  if (step->isTail) {
    if (IsObserved)
      observer->replaced(*frame, *step);
    Frame *caller = frame->caller;
    next = enterTailCall(stack, frame, *step, callee);
    frame = caller;
  } else {
    next = enterCall(stack, frame, *step, callee);
    if (!RELAX_LIKELY(next != nullptr))
      return finishCall(-1);
  }
  if (!RELAX_LIKELY(next != nullptr))
    return -1;
  frame = next;
  step = next->code->steps;
  return signals.tick() ? -1 : kGoOn;
}

template <bool IsObserved> int Run<IsObserved>::callRegister() {
  const TVMFFIAny *callee = &frame->registers[step->index];
  if (!RELAX_LIKELY(callee->type_index == kTVMFFIFunction))
    return finishCall(raiseKind(step->site, "a function", callee));
  ClosureObj *closure = ClosureObj::get(callee);
  const FunctionCode *code =
      closure ? VirtualMachineObj::getBytecode(closure, frame->vm) : nullptr;
  if (!code)
    return finishCall(callFunction(*frame, *step, callee->v_obj));
  if (!RELAX_LIKELY(static_cast<int32_t>(step->numArgs) ==
                    code->numParams - code->numCaptures))
    return finishCall(relax_args_check(&code->site,
                                       static_cast<int32_t>(step->numArgs),
                                       code->numParams - code->numCaptures));
  return enter(
      {code, reinterpret_cast<const TVMFFIAny *>(closure->captures())});
}

// Leaves the function with a value that is owned.
template <bool IsObserved>
int Run<IsObserved>::returnValue(TVMFFIAny value, TVMFFIAny *result) {
  frame = leave(frame);
  if (!frame) {
    *result = value;
    return 0;
  }
  step = frame->step;
  storeResult(*frame, *step, value);
  return finishCall(0);
}

template <bool IsObserved>
int Run<IsObserved>::returnRegister(TVMFFIAny *result) {
  TVMFFIAny *held = &frame->registers[step->index];
  TVMFFIAny value = {};
  if (!RELAX_LIKELY(!isView(*held))) {
    if (relax_value_return(&frame->code->resultSite, &value, held))
      return -1;
  } else {
    std::swap(value, *held);
  }
  return returnValue(value, result);
}

template <bool IsObserved> int Run<IsObserved>::branch() {
  const TVMFFIAny *value = &frame->registers[step->index];
  const relax_site *site = &frame->code->conditionSite;
  if (!RELAX_LIKELY(value->type_index == kTVMFFIBool || getTensor(value)))
    return raiseCondition(site, value);
  int32_t holds;
  if (relax_tensor_bool(site, value, &holds))
    return -1;
  if (!holds)
    return jump();
  ++step;
  return kGoOn;
}

template <bool IsObserved> int Run<IsObserved>::jump() {
  bool isBack = step->target <= step;
  step = step->target;
  return isBack && signals.tick() ? -1 : kGoOn;
}

// Whether to run the call; `status` says how to go on where not.
template <bool IsObserved> bool Run<IsObserved>::observe(int &status) {
  frame->step = step;
  ffi::Any replacement;
  switch (observer->before(*frame, *step, replacement)) {
  case RunObserver::Action::Run:
    return true;
  case RunObserver::Action::Raise:
    status = -1;
    return false;
  case RunObserver::Action::Skip:
    break;
  }
  status = replaceResult(*frame, *step, std::move(replacement));
  if (status == 0) {
    ++step;
    status = kGoOn;
  }
  return false;
}

template <bool IsObserved> int Run<IsObserved>::runStep(TVMFFIAny *result) {
  int status;
  if (IsObserved && isCall(*step) && !observe(status))
    return status;
  switch (step->kind) {
  case StepKind::Builtin:
    return finishCall(step->builtin(*frame, *step));
  case StepKind::Kernel:
    return finishCall(signals.tick() ? -1 : callKernel(*frame, *step));
  case StepKind::Packed:
    return finishCall(callPacked(*frame, *step));
  case StepKind::CallNative:
    return finishCall(callNative(*frame, *step));
  case StepKind::CallBytecode:
    return enter({step->function, nullptr});
  case StepKind::CallRegister:
    return callRegister();
  case StepKind::RetRegister:
    return returnRegister(result);
  case StepKind::RetConstant: {
    TVMFFIAny value = {};
    assign(&value, step->constant);
    return returnValue(value, result);
  }
  case StepKind::IfRegister:
    return branch();
  case StepKind::IfHeap:
    if (!frame->heap[step->index])
      return jump();
    ++step;
    return kGoOn;
  case StepKind::Goto:
    return jump();
  }
  return -1;
}

//===----------------------------------------------------------------------===//
// Calls from outside
//===----------------------------------------------------------------------===//

RELAX_NOINLINE static int runObserved(VirtualMachineObj *vm, FrameStack &stack,
                                      Frame *frame, TVMFFIAny *result) {
  std::shared_ptr<Observer> observer = vm->getObserver();
  if (!observer)
    return Run<false>(stack, frame, nullptr).run(result);
  std::unique_ptr<RunObserver> run = observer->start();
  if (run)
    return Run<true>(stack, frame, run.get()).run(result);
  int status = raiseFrameMemory(*frame->code);
  popFrame(stack, frame);
  return status;
}

int relax_runtime::vm::runFunction(VirtualMachineObj *vm,
                                   const FunctionCode &code,
                                   const TVMFFIAny *captures,
                                   const TVMFFIAny *args, int32_t nargs,
                                   TVMFFIAny *result) noexcept {
  int32_t numCaptures = captures ? code.numCaptures : 0;
  if (!RELAX_LIKELY(nargs == code.numParams - numCaptures))
    return relax_args_check(&code.site, nargs, code.numParams - numCaptures);
  if (relax_frame_enter(&code.site))
    return -1;
  FrameStack &stack = FrameStack::get();
  Frame *frame = stack.push(vm, code, nullptr);
  if (!RELAX_LIKELY(frame != nullptr)) {
    leaveHeapFrame();
    return raiseFrameMemory(code);
  }
  copyViews(frame->registers, captures, numCaptures);
  copyViews(frame->registers + numCaptures, args, nargs);
  if (RELAX_LIKELY(!vm->isObserved()))
    return Run<false>(stack, frame, nullptr).run(result);
  return runObserved(vm, stack, frame, result);
}
