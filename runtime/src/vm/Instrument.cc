//===- Instrument.cc - A function that sees every call ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls `instrument(callee, name, before, result, *operands)` before and after
// each call. Its result says how to continue: None or 0, as if it were not
// there; 1, before a call, that the call is left out and its result is None; a
// tuple of one value, that this is the result, and before a call that the call
// is left out.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "Operands.h"
#include "VirtualMachine.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

namespace {

// A call that has begun.
struct OpenCall {
  const Frame *frame;
  const Step *step;
  ffi::Any callee;
  std::vector<ffi::Any> operands;
};

class InstrumentRun : public RunObserver {
public:
  explicit InstrumentRun(ffi::Function function)
      : function(std::move(function)) {}

  Action before(Frame &frame, const Step &step,
                ffi::Any &replacement) noexcept override;
  int after(Frame &frame, const Step &step) noexcept override;
  void replaced(const Frame &frame, const Step &step) noexcept override {
    failed(frame, step);
  }
  void failed(const Frame &frame, const Step &step) noexcept override {
    if (isOpen(frame, step))
      open.pop_back();
  }

private:
  int begin(Frame &frame, const Step &step, Action &action,
            ffi::Any &replacement);
  int end(Frame &frame, const Step &step);
  ffi::Any notify(const OpenCall &call, const std::string &name, bool isBefore,
                  const ffi::Any &result);
  bool isOpen(const Frame &frame, const Step &step) const {
    return !open.empty() && open.back().frame == &frame &&
           open.back().step == &step;
  }

  ffi::Function function;
  std::vector<OpenCall> open;
};

class Instrument : public Observer {
public:
  explicit Instrument(ffi::Function function) : function(std::move(function)) {}
  std::unique_ptr<RunObserver> start() noexcept override {
    return std::unique_ptr<RunObserver>(new (std::nothrow)
                                            InstrumentRun(function));
  }

private:
  ffi::Function function;
};

} // namespace

ffi::Any InstrumentRun::notify(const OpenCall &call, const std::string &name,
                               bool isBefore, const ffi::Any &result) {
  std::vector<ffi::AnyView> args = {call.callee, name, isBefore, result};
  args.insert(args.end(), call.operands.begin(), call.operands.end());
  ffi::Any answer;
  function.CallPacked(args.data(), static_cast<int32_t>(args.size()), &answer);
  return answer;
}

// Whether the answer holds a result.
static bool readAnswer(const ffi::Any &answer, bool &isSkip, ffi::Any &result) {
  isSkip = false;
  if (answer == nullptr)
    return false;
  if (auto kind = answer.as<int64_t>()) {
    isSkip = *kind == 1;
    if (*kind == 0 || isSkip)
      return false;
  }
  if (auto tuple = answer.as<ffi::Array<ffi::Any>>())
    if (tuple->size() == 1) {
      result = (*tuple)[0];
      return true;
    }
  RELAX_THROW(TypeError)
      << "expected the instrument to return NO_OP, SKIP_RUN or a replacement, "
         "but got "
      << describe(reinterpret_cast<const TVMFFIAny *>(&answer));
  throw; // not reached
}

int InstrumentRun::begin(Frame &frame, const Step &step, Action &action,
                         ffi::Any &replacement) {
  TVM_FFI_SAFE_CALL_BEGIN();
  OpenCall call = {&frame, &step, getCallee(frame, step),
                   getOperands(frame, step)};
  bool isSkip;
  ffi::Any answer =
      notify(call, getCalleeName(frame, step), /*isBefore=*/true, ffi::Any());
  if (readAnswer(answer, isSkip, replacement) || isSkip) {
    action = Action::Skip;
  } else {
    open.push_back(std::move(call));
    action = Action::Run;
  }
  TVM_FFI_SAFE_CALL_END();
}

RunObserver::Action InstrumentRun::before(Frame &frame, const Step &step,
                                          ffi::Any &replacement) noexcept {
  Action action;
  return begin(frame, step, action, replacement) ? Action::Raise : action;
}

int InstrumentRun::end(Frame &frame, const Step &step) {
  TVM_FFI_SAFE_CALL_BEGIN();
  OpenCall call = std::move(open.back());
  open.pop_back();
  bool isSkip;
  ffi::Any replacement;
  ffi::Any answer = notify(call, getCalleeName(frame, step),
                           /*isBefore=*/false, getResult(frame, step));
  if (readAnswer(answer, isSkip, replacement))
    return replaceResult(frame, step, std::move(replacement));
  TVM_FFI_SAFE_CALL_END();
}

int InstrumentRun::after(Frame &frame, const Step &step) noexcept {
  return isOpen(frame, step) ? end(frame, step) : 0;
}

std::shared_ptr<Observer>
relax_runtime::vm::makeInstrument(ffi::Function function) {
  return std::make_shared<Instrument>(std::move(function));
}
