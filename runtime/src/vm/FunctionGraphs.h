//===- FunctionGraphs.h - The graphs of a function --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls a function of a VM, by a graph of launches where there is one for
// arguments of these kinds and sizes. The first call with such arguments runs,
// the second one is recorded, those after it replay what it did. What cannot be
// replayed always runs.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_FUNCTIONGRAPHS_H
#define RELAX_RUNTIME_VM_FUNCTIONGRAPHS_H

#include "CallGraph.h"
#include "VirtualMachine.h"

#include <unordered_map>

namespace relax_runtime::vm {

class FunctionGraphs {
public:
  explicit FunctionGraphs(const FunctionCode &code) : code(code) {}

  // The entry point of tvm-ffi, but for the handle.
  int call(VirtualMachineObj *vm, const TVMFFIAny *args, int32_t nargs,
           TVMFFIAny *result);

  struct Statistics {
    int64_t graphs = 0, replays = 0, bytes = 0;
    // Why the last call that could not be replayed could not, "" where all can.
    std::string reason;
  };
  Statistics statistics();

private:
  using Key = std::vector<int64_t>;
  struct Hash {
    size_t operator()(const Key &key) const;
  };
  // Arguments of some kinds and sizes.
  struct Entry {
    enum class State { New, Seen, InRecording, Refused, Ready };
    State state = State::New;
    uint64_t lastUse = 0;
    std::unique_ptr<CallGraph> graph;
  };
  struct Call;
  using Lock = std::unique_lock<std::mutex>;

  int runRefused(const Call &call, const char *why);
  int callKnown(const Call &call, CallArguments &arguments);
  int replay(const Call &call, const CallArguments &arguments, Entry &entry);
  int record(const Call &call, const CallArguments &arguments);
  Entry &find(const Key &key);
  void evict();

  const FunctionCode &code;
  std::mutex mutex;
  std::unordered_map<Key, Entry, Hash> entries;
  uint64_t clock = 0;
  int64_t replays = 0;
  std::string reason;
};

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_FUNCTIONGRAPHS_H
