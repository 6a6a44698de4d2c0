//===- VirtualMachine.h - Machine that runs an executable -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A virtual machine: an executable, the packed functions that it found, and the
// observer of its calls. Frames belong to threads, so one VM may run in several
// threads at once.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_VIRTUALMACHINE_H
#define RELAX_RUNTIME_VM_VIRTUALMACHINE_H

#include "Interpreter.h"

namespace relax_runtime::vm {

class FunctionGraphs;

class VirtualMachineObj : public ffi::Object {
public:
  // With `usesGraphs`, functions replay the launches of calls as graphs where
  // they can.
  explicit VirtualMachineObj(Executable executable, bool usesGraphs = false);
  ~VirtualMachineObj();

  const ExecutableObj &getExecutable() const { return *executable.get(); }
  // The handle that functions in machine code get: closures that they make keep
  // it alive.
  TVMFFIObject *getHandle() {
    return ffi::detail::ObjectUnsafe::GetHeader(this);
  }

  // The public function `name` as a tvm-ffi Function that keeps the VM alive.
  // Throws ValueError.
  ffi::Function getFunction(std::string_view name);
  // The graphs of a function by its index; NULL where it uses none.
  FunctionGraphs *getGraphs(int64_t index) const;

  // The packed function with index `index`, looked up on the first call. NULL
  // with an error where there is none.
  TVMFFIObject *getPacked(const relax_site *site, int64_t index) {
    return look(site, packed[index], getParts().packed[index]);
  }
  // The same by the index of a string.
  TVMFFIObject *getNamed(const relax_site *site, int64_t index) {
    return look(site, named[index], getParts().strings[index]);
  }

  // The code of a closure in bytecode over a function of this VM; NULL for any
  // other closure.
  static const FunctionCode *getBytecode(ClosureObj *closure,
                                         const VirtualMachineObj *vm);

  // Sets the observer of the calls that are made from now on; NULL for none.
  void setObserver(std::shared_ptr<Observer> next);
  bool isObserved() const {
    return observed.load(std::memory_order_acquire) || isProfiled();
  }
  std::shared_ptr<Observer> getObserver();

  // Observes the calls of this VM in this thread while it lives.
  class Profiling {
  public:
    Profiling(VirtualMachineObj *vm, std::shared_ptr<Observer> observer);
    ~Profiling();
    Profiling(const Profiling &) = delete;

  private:
    friend class VirtualMachineObj;
    VirtualMachineObj *vm;
    std::shared_ptr<Observer> observer;
    Profiling *outer;
  };

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax_mlir.VirtualMachine",
                                    VirtualMachineObj, ffi::Object);

private:
  const ExecutableParts &getParts() const { return executable->getParts(); }
  TVMFFIObject *look(const relax_site *site, void *&cache,
                     const std::string &name);
  Profiling *findProfiling() const;
  bool isProfiled() const;

  Executable executable;
  // Filled once each, atomically.
  std::vector<void *> packed, named;
  // By the index of a function; empty where no graphs are used.
  std::vector<std::unique_ptr<FunctionGraphs>> graphs;
  std::atomic<bool> observed{false};
  std::mutex observerMutex;
  std::shared_ptr<Observer> observer;
};

class VirtualMachine : public ffi::ObjectRef {
public:
  explicit VirtualMachine(Executable executable, bool usesGraphs = false)
      : ffi::ObjectRef(ffi::make_object<VirtualMachineObj>(
            std::move(executable), usesGraphs)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(VirtualMachine, ffi::ObjectRef,
                                                VirtualMachineObj);
};

// Stores what an observer gives in the place of a result. Returns 0, or -1 with
// a TypeError where the destination is a heap slot and the value no integer.
int replaceResult(Frame &frame, const Step &step, ffi::Any value);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_VIRTUALMACHINE_H
