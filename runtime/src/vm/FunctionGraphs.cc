//===- FunctionGraphs.cc - The graphs of a function -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which calls run, are recorded and are replayed. A graph is used under the
// lock: its launches are in the order of the stream then, as are the changes of
// its parameters.
//
//===----------------------------------------------------------------------===//

#include "FunctionGraphs.h"

#include "../Objects.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

// Of so many kinds and sizes of arguments a function knows at a time.
static constexpr size_t kMostEntries = 32;

namespace relax_runtime::vm {

struct FunctionGraphs::Call {
  VirtualMachineObj *vm;
  const FunctionCode &code;
  const TVMFFIAny *args;
  int32_t nargs;
  TVMFFIAny *result;

  int run() const {
    if (code.def->kind == FunctionDef::Kind::Native)
      return vm->getExecutable().getNative(code.index)(vm->getHandle(), args,
                                                       nargs, result);
    return runFunction(vm, code, nullptr, args, nargs, result);
  }
};

} // namespace relax_runtime::vm

size_t FunctionGraphs::Hash::operator()(const Key &key) const {
  uint64_t hash = 0;
  for (int64_t word : key)
    hash = (hash ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15 +
           (hash >> 29);
  return static_cast<size_t>(hash ^ (hash >> 32));
}

// Those that were used least recently go, but for those in use.
void FunctionGraphs::evict() {
  auto oldest = entries.end();
  for (auto it = entries.begin(); it != entries.end(); ++it)
    if (it->second.state != Entry::State::InRecording &&
        (oldest == entries.end() ||
         it->second.lastUse < oldest->second.lastUse))
      oldest = it;
  if (oldest != entries.end())
    entries.erase(oldest);
}

FunctionGraphs::Entry &FunctionGraphs::find(const Key &key) {
  auto found = entries.find(key);
  if (found == entries.end()) {
    if (entries.size() >= kMostEntries)
      evict();
    found = entries.try_emplace(key).first;
  }
  found->second.lastUse = ++clock;
  return found->second;
}

int FunctionGraphs::runRefused(const Call &call, const char *why) {
  {
    Lock lock(mutex);
    if (reason != why)
      reason = why;
  }
  return call.run();
}

// Where that fails, the graph is gone: some of its launches may have changed.
int FunctionGraphs::replay(const Call &call, const CallArguments &arguments,
                           Entry &entry) {
  if (RELAX_LIKELY(entry.graph->replay(&code.site, arguments, call.result) ==
                   0)) {
    ++replays;
    return 0;
  }
  entry.graph.reset();
  entry.state = Entry::State::Seen;
  return -1;
}

int FunctionGraphs::record(const Call &call, const CallArguments &arguments) {
  std::unique_ptr<CallGraph> graph;
  std::string why;
  int status;
  {
    Recording recording;
    status = call.run();
    try {
      if (status == 0)
        graph = CallGraph::make(recording, arguments, *call.result, why);
    } catch (const std::bad_alloc &) {
      why = "there was no memory for a graph";
    }
  }
  Lock lock(mutex);
  auto found = entries.find(arguments.key);
  if (found == entries.end())
    return status;
  Entry &entry = found->second;
  entry.state = graph    ? Entry::State::Ready
                : status ? Entry::State::Seen
                         : Entry::State::Refused;
  entry.graph = std::move(graph);
  if (!why.empty())
    reason.swap(why);
  return status;
}

int FunctionGraphs::callKnown(const Call &call, CallArguments &arguments) {
  Lock lock(mutex);
  Entry &entry = find(arguments.key);
  switch (entry.state) {
  case Entry::State::Ready:
    if (RELAX_LIKELY(entry.graph->fits(arguments)))
      return replay(call, arguments, entry);
    break;
  case Entry::State::New:
    entry.state = Entry::State::Seen;
    break;
  case Entry::State::Seen:
    if (const char *why = arguments.findAliases()) {
      lock.unlock();
      return runRefused(call, why);
    }
    entry.state = Entry::State::InRecording;
    lock.unlock();
    return record(call, arguments);
  case Entry::State::InRecording:
  case Entry::State::Refused:
    break;
  }
  lock.unlock();
  return call.run();
}

int FunctionGraphs::call(VirtualMachineObj *vm, const TVMFFIAny *args,
                         int32_t nargs, TVMFFIAny *result) {
  RELAX_SAFE_CALL_BEGIN();
  Call call{vm, code, args, nargs, result};
  // A call that is part of a recorded one is recorded with it, and those who
  // observe want to see steps.
  if (Recording::current() || vm->isObserved())
    return call.run();
  CallArguments arguments;
  if (const char *why = arguments.read(args, nargs))
    return runRefused(call, why);
  return callKnown(call, arguments);
  RELAX_SAFE_CALL_END();
}

FunctionGraphs::Statistics FunctionGraphs::statistics() {
  Lock lock(mutex);
  Statistics result;
  result.replays = replays;
  result.reason = reason;
  for (const auto &[key, entry] : entries)
    if (entry.graph) {
      ++result.graphs;
      result.bytes += entry.graph->bytes();
    }
  return result;
}
