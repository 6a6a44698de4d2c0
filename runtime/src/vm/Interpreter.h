//===- Interpreter.h - Frames and the loop that runs them -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A frame holds the registers, the shape heap and room for the arguments of
// calls of one call of a function. Frames lie on a stack of their own, one for
// each thread, so that recursion in bytecode takes none of the C stack and
// calls need no lock.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_INTERPRETER_H
#define RELAX_RUNTIME_VM_INTERPRETER_H

#include "../Closure.h"
#include "Program.h"

namespace relax_runtime::vm {

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

struct alignas(16) Frame {
  VirtualMachineObj *vm;
  const FunctionCode *code;
  // The call that is running.
  const Step *step;
  // NULL for the function that was called from outside.
  Frame *caller;
  TVMFFIAny *registers;
  int64_t *heap;
  char *scratch;

  const TVMFFIAny *getValue(const Arg &arg) const {
    return arg.kind == Arg::Kind::Register
               ? &registers[arg.index]
               : static_cast<const TVMFFIAny *>(arg.pointer);
  }
  int64_t getInt(const Arg &arg) const {
    return arg.kind == Arg::Kind::Integer ? arg.integer : heap[arg.index];
  }
  // The argument of a call, as a view.
  TVMFFIAny getView(const Arg &arg) const {
    if (arg.kind == Arg::Kind::Register || arg.kind == Arg::Kind::Pointer)
      return *getValue(arg);
    TVMFFIAny value = {};
    value.type_index = kTVMFFIInt;
    value.v_int64 = getInt(arg);
    return value;
  }
};

// The frames of a thread, in segments that never move.
class FrameStack {
public:
  FrameStack() = default;
  FrameStack(const FrameStack &) = delete;
  FrameStack &operator=(const FrameStack &) = delete;
  ~FrameStack();

  // Returns the frame stack of this thread.
  static FrameStack &get();

  // A frame whose registers are None and whose heap slots are 0; NULL where
  // there is no memory.
  Frame *push(VirtualMachineObj *vm, const FunctionCode &code,
              Frame *caller) noexcept;
  // Releases the registers of the last frame and drops it.
  void pop(Frame *frame) noexcept;

private:
  struct Segment;

  bool grow(size_t bytes) noexcept;
  void shrink() noexcept;

  Segment *segment = nullptr;
  char *top = nullptr, *end = nullptr;
};

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

// Observes the calls of one run, from a call from outside to its return.
class RunObserver {
public:
  enum class Action { Run, Skip, Raise };

  virtual ~RunObserver() = default;
  // Before a call. With Skip, `replacement` is its result; with Raise there is
  // an error.
  virtual Action before(Frame &frame, const Step &step,
                        ffi::Any &replacement) noexcept = 0;
  // After a call that ran: its result, which may be replaced. Returns 0, or -1
  // with an error.
  virtual int after(Frame &frame, const Step &step) noexcept = 0;
  // In the place of `after`: the call takes the frame, so it ends when the call
  // of that does.
  virtual void replaced(const Frame &frame, const Step &step) noexcept = 0;
  // In the place of `after`: the call raised.
  virtual void failed(const Frame &frame, const Step &step) noexcept = 0;
};

// Sees every call that a VM makes, in any thread: see Instrument.cc and
// Profiler.cc.
class Observer {
public:
  virtual ~Observer() = default;
  // NULL where there is no memory.
  virtual std::unique_ptr<RunObserver> start() noexcept = 0;
};

// Returns the name of the callee: "main", "exp", "tensor_check".
std::string getCalleeName(const Frame &frame, const Step &step);
// "function", "kernel", "packed", "builtin", "closure".
const char *getCalleeKind(const Step &step);
inline bool isCall(const Step &step) {
  return step.kind <= StepKind::CallRegister;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

// Calls a function with captured values and arguments, which are only borrowed.
// Returns 0 and an owned result, or -1 with an error.
int runFunction(VirtualMachineObj *vm, const FunctionCode &code,
                const TVMFFIAny *captures, const TVMFFIAny *args, int32_t nargs,
                TVMFFIAny *result) noexcept;

// A closure over a function of the VM, which it keeps alive; of machine code
// too. `structInfo` is kept alive by the VM. The captured values are None.
// Throws.
ClosureObj *makeClosure(VirtualMachineObj *vm, const FunctionCode &code,
                        const char *structInfo, int32_t numDims,
                        const int64_t *dims);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_INTERPRETER_H
