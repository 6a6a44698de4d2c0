//===- Profile.h - Costs of the calls of one run ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the calls that one thread makes while a function is profiled. The
// virtual machine says when calls begin and end in bytecode; machine code that
// was compiled with `profile` says so itself (relax_profile_begin).
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_PROFILE_H
#define RELAX_RUNTIME_PROFILE_H

#include "Internal.h"

#include <chrono>
#include <map>
#include <tuple>
#include <vector>

namespace relax_runtime {

// The text of the shapes of operands, "float32[2, 3], [4]", and the bytes of
// the tensors among them.
struct OperandShapes {
  std::string text;
  int64_t bytes = 0;

  void addTensor(DLDataType dtype, const int64_t *dims, int64_t ndim);
  void addShape(const int64_t *dims, int64_t ndim);
  // Values of other kinds are left out.
  void addValue(const TVMFFIAny *value);
};

class Profile {
public:
  explicit Profile(int64_t maxEvents);

  // What distinguishes the rows of a report: the function that makes the call,
  // the number of the call there, the kind and the name of the callee, the
  // shapes of its operands, and its place in the source.
  using RowKey = std::tuple<std::string, int64_t, std::string, std::string,
                            std::string, std::string>;

  // Tells a call from the calls around it: what makes it, and where.
  using CallId = std::pair<const void *, const void *>;

  // A call begins. Throws where there is no memory.
  void begin(CallId id, RowKey key, int64_t bytes);
  void end(CallId id, bool isFailure);
  // The same for a call that machine code makes; the operands of a kernel are
  // known by their dimensions.
  void begin(const relax_call *call, const int64_t *dims);
  void begin(const relax_call *call, OperandShapes shapes);
  void end(const relax_call *call, bool isFailure);

  // A row:
  //   [caller, number, kind, name, shapes, place, calls, nanoseconds in all, in
  //    itself without the calls that it made, the least, the most, bytes of its
  //    tensors in all calls, calls that raised]
  ffi::Array<ffi::Any> takeRows() const;
  // An event is one call: [row, start in nanoseconds, nanoseconds, depth].
  ffi::Array<ffi::Any> takeEvents() const;
  int64_t getDropped() const { return dropped; }

  // The machine code that this thread runs adds its calls to a profile while
  // this lives.
  class Scope {
  public:
    explicit Scope(Profile &profile);
    ~Scope();
    Scope(const Scope &) = delete;

  private:
    Profile *outer;
  };

private:
  using Clock = std::chrono::steady_clock;

  struct Row {
    int64_t calls = 0, total = 0, self = 0, least = INT64_MAX, most = 0,
            bytes = 0, failures = 0;
  };
  struct Event {
    size_t row;
    int64_t start, duration, depth;
  };
  // A call that has begun.
  struct OpenCall {
    CallId id;
    size_t row;
    int64_t bytes;
    int64_t childTime;
    Clock::time_point start;
  };
  // A call of machine code, with the dimensions of its operands.
  using NativeKey = std::pair<const relax_call *, std::vector<int64_t>>;
  struct NativeRow {
    size_t row;
    int64_t bytes;
  };

  size_t findRow(RowKey key);
  void open(CallId id, size_t row, int64_t bytes);

  int64_t maxEvents;
  Clock::time_point start0;
  std::map<RowKey, size_t> rowsByKey;
  std::map<NativeKey, NativeRow> nativeRows;
  std::vector<Row> rows;
  std::vector<Event> events;
  int64_t dropped = 0;
  std::vector<OpenCall> openCalls;
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_PROFILE_H
