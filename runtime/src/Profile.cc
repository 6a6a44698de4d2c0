//===- Profile.cc - Costs of the calls of one run ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects calls to rows and events. What a row says is put into words once, at
// its first call.
//
//===----------------------------------------------------------------------===//

#include "Profile.h"

#include <algorithm>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

// As in types: "[2, 3]".
static std::string typeDims(const int64_t *dims, int64_t ndim) {
  std::string text = "[";
  for (int64_t i = 0; i < ndim; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

void OperandShapes::addTensor(DLDataType dtype, const int64_t *dims,
                              int64_t ndim) {
  int64_t size = (int64_t(dtype.bits) * dtype.lanes + 7) / 8;
  for (int64_t i = 0; i < ndim; ++i)
    size *= dims[i];
  bytes += size;
  text += (text.empty() ? "" : ", ") + dtypeText(dtype) + typeDims(dims, ndim);
}

void OperandShapes::addShape(const int64_t *dims, int64_t ndim) {
  text += (text.empty() ? "" : ", ") + typeDims(dims, ndim);
}

void OperandShapes::addValue(const TVMFFIAny *value) {
  if (const DLTensor *tensor = getTensor(value))
    addTensor(tensor->dtype, tensor->shape, tensor->ndim);
  else if (value->type_index == kTVMFFIShape)
    addShape(relax_shape_dims(value), relax_shape_ndim(value));
}

static OperandShapes describeOperands(const relax_call *call,
                                      const int64_t *dims) {
  OperandShapes shapes;
  for (int32_t i = 0; i < call->num_operands; ++i) {
    const relax_operand &operand = call->operands[i];
    if (operand.dtype == 0)
      shapes.addShape(dims, operand.ndim);
    else
      shapes.addTensor(unpackDType(operand.dtype), dims, operand.ndim);
    dims += operand.ndim;
  }
  return shapes;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

Profile::Profile(int64_t maxEvents)
    : maxEvents(maxEvents), start0(Clock::now()) {}

static int64_t nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

size_t Profile::findRow(RowKey key) {
  auto [entry, isNew] = rowsByKey.emplace(std::move(key), rows.size());
  if (isNew)
    rows.emplace_back();
  return entry->second;
}

void Profile::open(CallId id, size_t row, int64_t bytes) {
  openCalls.push_back({id, row, bytes, 0, Clock::time_point()});
  // Last, so that this is not measured.
  openCalls.back().start = Clock::now();
}

void Profile::begin(CallId id, RowKey key, int64_t bytes) {
  open(id, findRow(std::move(key)), bytes);
}

static Profile::RowKey makeKey(const relax_call *call, std::string shapes) {
  const relax_site *site = call->site;
  return {site->function, call->number,      call->kind,
          call->name,     std::move(shapes), site->location};
}

void Profile::begin(const relax_call *call, const int64_t *dims) {
  int64_t numDims = 0;
  for (int32_t i = 0; i < call->num_operands; ++i)
    numDims += call->operands[i].ndim;
  NativeKey key(call, std::vector<int64_t>(dims, dims + numDims));
  auto found = nativeRows.find(key);
  if (found == nativeRows.end()) {
    OperandShapes shapes = describeOperands(call, dims);
    size_t row = findRow(makeKey(call, shapes.text));
    found =
        nativeRows.emplace(std::move(key), NativeRow{row, shapes.bytes}).first;
  }
  open({nullptr, call}, found->second.row, found->second.bytes);
}

void Profile::begin(const relax_call *call, OperandShapes shapes) {
  begin(CallId(nullptr, call), makeKey(call, std::move(shapes.text)),
        shapes.bytes);
}

void Profile::end(const relax_call *call, bool isFailure) {
  end(CallId(nullptr, call), isFailure);
}

void Profile::end(CallId id, bool isFailure) {
  Clock::time_point now = Clock::now();
  if (openCalls.empty() || openCalls.back().id != id)
    return;
  OpenCall call = openCalls.back();
  openCalls.pop_back();
  int64_t duration = nanoseconds(now - call.start);
  Row &row = rows[call.row];
  ++row.calls;
  row.failures += isFailure;
  row.total += duration;
  row.self += duration - call.childTime;
  row.least = std::min(row.least, duration);
  row.most = std::max(row.most, duration);
  row.bytes += call.bytes;
  if (!openCalls.empty())
    openCalls.back().childTime += duration;
  if (static_cast<int64_t>(events.size()) < maxEvents)
    events.push_back({call.row, nanoseconds(call.start - start0), duration,
                      static_cast<int64_t>(openCalls.size())});
  else
    ++dropped;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

static thread_local Profile *current = nullptr;

Profile::Scope::Scope(Profile &profile) : outer(current) { current = &profile; }

Profile::Scope::~Scope() { current = outer; }

// Where there is no memory to measure a call, it has no row.
template <typename Fn> static void measure(Fn &&fn) noexcept {
  if (RELAX_LIKELY(current == nullptr))
    return;
  try {
    fn(*current);
  } catch (const std::bad_alloc &) {
  }
}

void relax_profile_begin(const relax_call *call, const int64_t *dims) {
  measure([&](Profile &profile) { profile.begin(call, dims); });
}

void relax_profile_begin_values(const relax_call *call, int32_t count,
                                const TVMFFIAny *const *values) {
  measure([&](Profile &profile) {
    OperandShapes shapes;
    for (int32_t i = 0; i < count; ++i)
      shapes.addValue(values[i]);
    profile.begin(call, std::move(shapes));
  });
}

void relax_profile_end(const relax_call *call, int32_t status) {
  measure([&](Profile &profile) { profile.end(call, status != 0); });
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

ffi::Array<ffi::Any> Profile::takeRows() const {
  std::vector<ffi::Any> result(rows.size());
  for (const auto &[key, index] : rowsByKey) {
    const auto &[caller, number, kind, name, shapes, place] = key;
    const Row &row = rows[index];
    result[index] = ffi::Array<ffi::Any>(
        {ffi::String(caller), number, ffi::String(kind), ffi::String(name),
         ffi::String(shapes), ffi::String(place), row.calls, row.total,
         row.self, row.calls ? row.least : 0, row.most, row.bytes,
         row.failures});
  }
  return ffi::Array<ffi::Any>(result.begin(), result.end());
}

ffi::Array<ffi::Any> Profile::takeEvents() const {
  ffi::Array<ffi::Any> result;
  for (const Event &event : events)
    result.push_back(ffi::Shape({static_cast<int64_t>(event.row), event.start,
                                 event.duration, event.depth}));
  return result;
}
