//===- CallGraph.h - A call as a graph of launches --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of the launches of one call, which does what other calls with
// arguments of the same kinds and sizes do. Addresses of arguments and results
// are those of each call: the nodes that use them get new parameters where they
// differ from those of the last call. What lies between belongs to the graph.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_CALLGRAPH_H
#define RELAX_RUNTIME_VM_CALLGRAPH_H

#include "../Recording.h"

namespace relax_runtime::vm {

// Memory that starts at an address.
struct Range {
  uintptr_t begin;
  size_t bytes;

  bool contains(uintptr_t address) const { return address - begin < bytes; }
  bool meets(const Range &other) const {
    return contains(other.begin) || other.contains(begin);
  }
};

// The arguments of a call: what decides which launches it makes, and where its
// tensors are.
class CallArguments {
public:
  // Returns why no graph does what a call with these does, NULL where one may.
  // The arguments outlive this.
  const char *read(const TVMFFIAny *args, int32_t nargs);
  // The same, where tensors share memory in part.
  const char *findAliases();

  // Kinds, sizes, numbers, and how addresses are aligned.
  std::vector<int64_t> key;
  // The tensors, also those in tuples.
  std::vector<const TVMFFIAny *> tensors;
  std::vector<Range> ranges;
  // For each tensor the first one that has its memory.
  std::vector<size_t> aliases;

private:
  const char *add(const TVMFFIAny *value, int depth);
  const char *addTensor(const TVMFFIAny *value, const DLTensor &tensor);
};

class CallGraph {
public:
  // Of a call that was recorded, with its result. NULL where a graph does not
  // do the same; then says why.
  static std::unique_ptr<CallGraph> make(Recording &recording,
                                         const CallArguments &arguments,
                                         const TVMFFIAny &result,
                                         std::string &reason);
  ~CallGraph();

  // Whether the tensors are where they were, or share memory as they did.
  bool fits(CallArguments &arguments) const;
  // Makes the launches of a call, and its result. Returns 0, or -1 with an
  // error; then the graph is of no use any more.
  int replay(const relax_site *site, const CallArguments &arguments,
             TVMFFIAny *result);

  // The memory between arguments and results.
  int64_t bytes() const;

private:
  // How a part of the result is made again.
  struct Part {
    enum class Kind { Value, Argument, View, Tuple } kind;
    ffi::Any value;        // of Value
    size_t index = 0;      // of an argument, of the storage of a view
    int64_t offset = 0;    // of a view
    ffi::Shape dims;       // of a view
    DLDataType dtype = {}; // of a view
    std::vector<Part> fields;
  };
  // A parameter of a launch that is an address in an argument or a result.
  struct Patch {
    size_t launch, word, base;
    int64_t offset;
  };
  class Maker;

  int makeStorages(const relax_site *site, std::vector<ffi::Any> &storages,
                   std::vector<uintptr_t> &next);
  std::string update(const std::vector<uintptr_t> &next);
  int build(const relax_site *site, const Part &part,
            const CallArguments &arguments,
            const std::vector<ffi::Any> &storages, TVMFFIAny *result) const;
  int buildTuple(const relax_site *site, const Part &part,
                 const CallArguments &arguments,
                 const std::vector<ffi::Any> &storages,
                 TVMFFIAny *result) const;

  Device *device = nullptr;
  std::vector<RecordedLaunch> launches;
  // By the number of their launch.
  std::vector<Patch> patches;
  // Where the arguments and results of the last call were.
  std::vector<uintptr_t> bases;
  std::vector<size_t> aliases;
  // The sizes of the storages of results.
  std::vector<int64_t> outputs;
  Part result;
  // What the launches use besides.
  std::vector<Block *> memory;
  std::vector<ffi::Any> constants;
  std::unique_ptr<DeviceGraph> graph;
};

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_CALLGRAPH_H
