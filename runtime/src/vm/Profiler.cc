//===- Profiler.cc - Costs of each call -------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the calls that one thread makes while a function is profiled.
//
// A row is what one instruction did with operands of the same shapes:
//   [caller, instruction, kind, name, shapes, calls, nanoseconds in all, in
//    itself without the calls that it made, the least, the most, bytes of its
//    tensors in all calls, calls that raised]
// An event is one call:
//   [row, start in nanoseconds, nanoseconds, depth]
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"
#include "Operands.h"
#include "VirtualMachine.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

using namespace relax_runtime;
using namespace relax_runtime::vm;

using Clock = std::chrono::steady_clock;

namespace {

struct Row {
  int64_t calls = 0, total = 0, self = 0, least = INT64_MAX, most = 0,
          bytes = 0, failures = 0;
};

struct Event {
  size_t row;
  int64_t start, duration, depth;
};

// Function, instruction, kind, name, shapes.
using RowKey =
    std::tuple<std::string, int64_t, std::string, std::string, std::string>;

// A call that has begun.
struct OpenCall {
  const Frame *frame;
  const Step *step;
  size_t row;
  int64_t bytes;
  int64_t childTime;
  Clock::time_point start;
};

// All of one profile; the runs within it, one in the other, share it.
class Profiler : public Observer {
public:
  explicit Profiler(int64_t maxEvents)
      : maxEvents(maxEvents), start0(Clock::now()) {}

  std::unique_ptr<RunObserver> start() noexcept override;

  void begin(const Frame &frame, const Step &step);
  void end(const Frame &frame, const Step &step, bool isFailure);

  ffi::Array<ffi::Any> takeRows() const;
  ffi::Array<ffi::Any> takeEvents() const;
  int64_t getDropped() const { return dropped; }

private:
  size_t findRow(RowKey key);

  int64_t maxEvents;
  Clock::time_point start0;
  std::map<RowKey, size_t> rowsByKey;
  std::vector<Row> rows;
  std::vector<Event> events;
  int64_t dropped = 0;
  std::vector<OpenCall> open;
};

class ProfilerRun : public RunObserver {
public:
  explicit ProfilerRun(Profiler &profiler) : profiler(profiler) {}

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
    profiler.begin(frame, step);
    TVM_FFI_SAFE_CALL_END();
  }
  int end(const Frame &frame, const Step &step, bool isFailure) {
    TVM_FFI_SAFE_CALL_BEGIN();
    profiler.end(frame, step, isFailure);
    TVM_FFI_SAFE_CALL_END();
  }

  Profiler &profiler;
};

} // namespace

std::unique_ptr<RunObserver> Profiler::start() noexcept {
  return std::unique_ptr<RunObserver>(new (std::nothrow) ProfilerRun(*this));
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

static int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// "float32[2, 3], [4], 5": the shapes that distinguish calls of a kernel.
static std::string shapeText(const ffi::Any &operand, int64_t &bytes) {
  const TVMFFIAny *value = reinterpret_cast<const TVMFFIAny *>(&operand);
  auto dims = [](const int64_t *data, int64_t size) {
    std::string text = "[";
    for (int64_t i = 0; i < size; ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(data[i]);
    return text + "]";
  };
  if (const DLTensor *tensor = getTensor(value)) {
    bytes += static_cast<int64_t>(ffi::GetDataSize(*tensor));
    return dtypeText(tensor->dtype) + dims(tensor->shape, tensor->ndim);
  }
  if (value->type_index == kTVMFFIShape)
    return dims(relax_shape_dims(value), relax_shape_ndim(value));
  return "";
}

size_t Profiler::findRow(RowKey key) {
  auto [entry, isNew] = rowsByKey.emplace(std::move(key), rows.size());
  if (isNew)
    rows.emplace_back();
  return entry->second;
}

void Profiler::begin(const Frame &frame, const Step &step) {
  std::string shapes;
  int64_t bytes = 0;
  for (const ffi::Any &operand : getOperands(frame, step)) {
    std::string shape = shapeText(operand, bytes);
    if (!shape.empty())
      shapes += (shapes.empty() ? "" : ", ") + shape;
  }
  size_t row =
      findRow({frame.code->def->name, static_cast<int64_t>(step.number),
               getCalleeKind(step), getCalleeName(frame, step), shapes});
  open.push_back({&frame, &step, row, bytes, 0, Clock::time_point()});
  // Last, so that this is not measured.
  open.back().start = Clock::now();
}

void Profiler::end(const Frame &frame, const Step &step, bool isFailure) {
  Clock::time_point now = Clock::now();
  if (open.empty() || open.back().frame != &frame || open.back().step != &step)
    return;
  OpenCall call = open.back();
  open.pop_back();
  int64_t duration = nanoseconds(now - call.start);
  Row &row = rows[call.row];
  ++row.calls;
  row.failures += isFailure;
  row.total += duration;
  row.self += duration - call.childTime;
  row.least = std::min(row.least, duration);
  row.most = std::max(row.most, duration);
  row.bytes += call.bytes;
  if (!open.empty())
    open.back().childTime += duration;
  if (static_cast<int64_t>(events.size()) < maxEvents)
    events.push_back({call.row, nanoseconds(call.start - start0), duration,
                      static_cast<int64_t>(open.size())});
  else
    ++dropped;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

ffi::Array<ffi::Any> Profiler::takeRows() const {
  std::vector<ffi::Any> result(rows.size());
  for (const auto &[key, index] : rowsByKey) {
    const auto &[function, number, kind, name, shapes] = key;
    const Row &row = rows[index];
    result[index] = ffi::Array<ffi::Any>(
        {ffi::String(function), number, ffi::String(kind), ffi::String(name),
         ffi::String(shapes), row.calls, row.total, row.self,
         row.calls ? row.least : 0, row.most, row.bytes, row.failures});
  }
  return ffi::Array<ffi::Any>(result.begin(), result.end());
}

ffi::Array<ffi::Any> Profiler::takeEvents() const {
  ffi::Array<ffi::Any> result;
  for (const Event &event : events)
    result.push_back(ffi::Shape({static_cast<int64_t>(event.row), event.start,
                                 event.duration, event.depth}));
  return result;
}

ffi::Array<ffi::Any> relax_runtime::vm::profile(VirtualMachine vm,
                                                std::string_view name,
                                                const ffi::AnyView *args,
                                                int32_t nargs,
                                                int64_t maxEvents) {
  ffi::Function function = vm->getFunction(name);
  auto profiler = std::make_shared<Profiler>(maxEvents);
  ffi::Any result;
  Clock::time_point start = Clock::now();
  {
    VirtualMachineObj::Profiling scope(vm.get(), profiler);
    function.CallPacked(args, nargs, &result);
  }
  int64_t total = nanoseconds(Clock::now() - start);
  return ffi::Array<ffi::Any>({result, total, profiler->takeRows(),
                               profiler->takeEvents(), profiler->getDropped()});
}
