//===- Profiler.cc - Costs of each call -------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets a profile see the calls of a virtual machine, in bytecode and in machine
// code.
//
//===----------------------------------------------------------------------===//

#include "../Profile.h"
#include "Builtins.h"
#include "Instrument.h"
#include "Operands.h"
#include "VirtualMachine.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

// Where the source has the call; a builtin has its site among its operands.
static std::string getPlace(const Step &step) {
  const relax_site *site = step.site;
  if (step.kind == StepKind::Builtin && step.numArgs != 0 &&
      builtinInfos[step.builtinIndex].params[0] == ParamKind::Site)
    site = static_cast<const relax_site *>(step.args[0].pointer);
  return site ? site->location : "";
}

static void beginStep(Profile &profile, const Frame &frame, const Step &step) {
  OperandShapes shapes;
  for (const ffi::Any &operand : getOperands(frame, step))
    shapes.addValue(reinterpret_cast<const TVMFFIAny *>(&operand));
  profile.begin({&frame, &step},
                {frame.code->def->name, static_cast<int64_t>(step.number),
                 getCalleeKind(step), getCalleeName(frame, step), shapes.text,
                 getPlace(step)},
                shapes.bytes);
}

namespace {

class ProfilerRun : public RunObserver {
public:
  explicit ProfilerRun(Profile &profile) : profile(profile) {}

  Action before(Frame &frame, const Step &step, ffi::Any &) noexcept override {
    return begin(frame, step) ? Action::Raise : Action::Run;
  }
  int after(Frame &frame, const Step &step) noexcept override {
    return end(frame, step, /*isFailure=*/false);
  }
  void replaced(const Frame &frame, const Step &step) noexcept override {
    end(frame, step, /*isFailure=*/false);
  }
  void failed(const Frame &frame, const Step &step) noexcept override {
    // The error of the call stays, whatever happens here.
    TVMFFIObjectHandle error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    end(frame, step, /*isFailure=*/true);
    if (error) {
      TVMFFIErrorSetRaised(error);
      TVMFFIObjectDecRef(error);
    }
  }

private:
  int begin(const Frame &frame, const Step &step) {
    TVM_FFI_SAFE_CALL_BEGIN();
    beginStep(profile, frame, step);
    TVM_FFI_SAFE_CALL_END();
  }
  int end(const Frame &frame, const Step &step, bool isFailure) {
    TVM_FFI_SAFE_CALL_BEGIN();
    profile.end({&frame, &step}, isFailure);
    TVM_FFI_SAFE_CALL_END();
  }

  Profile &profile;
};

// All runs within a profile, one in the other, share it.
class Profiler : public Observer {
public:
  explicit Profiler(int64_t maxEvents) : profile(maxEvents) {}

  std::unique_ptr<RunObserver> start() noexcept override {
    return std::unique_ptr<RunObserver>(new (std::nothrow)
                                            ProfilerRun(profile));
  }

  Profile profile;
};

} // namespace

ffi::Array<ffi::Any> relax_runtime::vm::profile(VirtualMachine vm,
                                                std::string_view name,
                                                const ffi::AnyView *args,
                                                int32_t nargs,
                                                int64_t maxEvents) {
  using Clock = std::chrono::steady_clock;
  ffi::Function function = vm->getFunction(name);
  auto profiler = std::make_shared<Profiler>(maxEvents);
  Profile &profile = profiler->profile;
  ffi::Any result;
  Clock::time_point start = Clock::now();
  {
    VirtualMachineObj::Profiling bytecode(vm.get(), profiler);
    Profile::Scope machineCode(profile);
    function.CallPacked(args, nargs, &result);
  }
  int64_t total =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start)
          .count();
  return ffi::Array<ffi::Any>({result, total, profile.takeRows(),
                               profile.takeEvents(), profile.getDropped()});
}
