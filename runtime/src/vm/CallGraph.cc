//===- CallGraph.cc - A call as a graph of launches -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the arguments of a call, makes a graph of what was recorded, and
// replays it.
//
//===----------------------------------------------------------------------===//

#include "CallGraph.h"

#include "../Objects.h"

#include <algorithm>
#include <numeric>

using namespace relax_runtime;
using namespace relax_runtime::vm;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

// Kernels are chosen by how addresses are aligned; memory of a device is
// aligned to this.
static constexpr uintptr_t kPointerAlignment = 256;
// Tuples of arguments, and of results, are nested at most so deep.
static constexpr int kDeepest = 100;

const char *CallArguments::read(const TVMFFIAny *args, int32_t nargs) {
  const char *reason = nullptr;
  for (int32_t i = 0; i < nargs && !reason; ++i)
    reason = add(&args[i], 0);
  return reason;
}

const char *CallArguments::addTensor(const TVMFFIAny *value,
                                     const DLTensor &tensor) {
  if (tensor.device.device_type != kDLCUDA)
    return "an argument is a tensor of the host";
  uint64_t bytes;
  if (!isCompact(tensor) ||
      !countBytes(tensor.ndim, tensor.shape, tensor.dtype, &bytes))
    return "an argument is a strided tensor";
  uintptr_t begin = reinterpret_cast<uintptr_t>(address(tensor));
  key.insert(key.end(),
             {tensor.device.device_id, packDType(tensor.dtype), tensor.ndim,
              static_cast<int64_t>(begin % kPointerAlignment)});
  key.insert(key.end(), tensor.shape, tensor.shape + tensor.ndim);
  tensors.push_back(value);
  ranges.push_back({begin, bytes});
  return nullptr;
}

const char *CallArguments::add(const TVMFFIAny *value, int depth) {
  key.push_back(value->type_index);
  switch (value->type_index) {
  case kTVMFFINone:
    return nullptr;
  case kTVMFFIInt:
  case kTVMFFIBool:
  case kTVMFFIFloat:
  case kTVMFFIDataType:
    key.push_back(value->v_int64);
    return nullptr;
  case kTVMFFIShape: {
    const int64_t *dims = relax_shape_dims(value);
    int64_t ndim = relax_shape_ndim(value);
    key.push_back(ndim);
    key.insert(key.end(), dims, dims + ndim);
    return nullptr;
  }
  case kTVMFFIArray: {
    const ffi::ArrayObj *tuple = getTuple(value);
    key.push_back(static_cast<int64_t>(tuple->size()));
    const char *reason =
        depth < kDeepest ? nullptr : "an argument is a deeply nested tuple";
    for (size_t i = 0; i < tuple->size() && !reason; ++i)
      reason = add(reinterpret_cast<const TVMFFIAny *>(tuple->begin() + i),
                   depth + 1);
    return reason;
  }
  }
  if (const DLTensor *tensor = getTensor(value))
    return addTensor(value, *tensor);
  return "an argument is not a tensor, a number, a shape or a tuple of these";
}

const char *CallArguments::findAliases() {
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return ranges[a].begin < ranges[b].begin;
  });
  aliases.assign(ranges.size(), 0);
  const Range *last = nullptr;
  for (size_t i : order) {
    const Range &range = ranges[i];
    aliases[i] = i;
    if (range.bytes == 0)
      continue;
    if (last && last->contains(range.begin)) {
      if (last->begin != range.begin || last->bytes != range.bytes)
        return "arguments share a part of their memory";
      aliases[i] = static_cast<size_t>(last - ranges.data());
      continue;
    }
    last = &range;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Making a graph
//===----------------------------------------------------------------------===//

// Moves what was recorded into a graph. Each function says where that is not
// possible.
class CallGraph::Maker {
public:
  Maker(CallGraph &graph, Recording &recording, const CallArguments &arguments)
      : graph(graph), recording(recording), arguments(arguments) {}

  std::string make(const TVMFFIAny &result);

private:
  const char *check() const;
  const char *addPart(const TVMFFIAny &value, Part &part, int depth);
  const char *addTensor(const TVMFFIAny &value, Part &part);
  const char *addTuple(const TVMFFIAny &value, Part &part, int depth);
  size_t findOutput(const Recording::Memory &memory);
  const char *checkMemory() const;
  const char *addPatches();
  const char *addPatch(size_t launch, size_t word);
  bool isUnused(uintptr_t address) const;
  bool isOfCall(uintptr_t address) const;
  const char *checkConstants() const;
  void takeMemory();

  CallGraph &graph;
  Recording &recording;
  const CallArguments &arguments;
  // The memory of results.
  std::vector<const Block *> outputs;
};

const char *CallGraph::Maker::check() const {
  if (recording.refusal)
    return recording.refusal;
  if (recording.launches.empty())
    return "it launches no kernel";
  return recording.device->hasGraphs() ? nullptr
                                       : "the driver of the device has none";
}

// A number for the memory of a result.
size_t CallGraph::Maker::findOutput(const Recording::Memory &memory) {
  auto found = std::find(outputs.begin(), outputs.end(), memory.block);
  if (found == outputs.end()) {
    outputs.push_back(memory.block);
    return outputs.size() - 1;
  }
  return static_cast<size_t>(found - outputs.begin());
}

// A result is an argument, a constant, or in memory that the call took.
const char *CallGraph::Maker::addTensor(const TVMFFIAny &value, Part &part) {
  for (size_t i = 0; i < arguments.tensors.size(); ++i)
    if (arguments.tensors[i]->type_index == value.type_index &&
        arguments.tensors[i]->v_obj == value.v_obj) {
      part.kind = Part::Kind::Argument;
      part.index = i;
      return nullptr;
    }
  for (const ffi::Any &constant : recording.constants)
    if (reinterpret_cast<const TVMFFIAny *>(&constant)->v_obj == value.v_obj) {
      part.value = constant;
      return nullptr;
    }
  TVMFFIAny owner = ownedValue(findOwner(value.v_obj));
  StorageObj *storage = StorageObj::get(&owner);
  const Recording::Memory *memory =
      storage ? recording.findMemory(storage->memory) : nullptr;
  if (!memory)
    return "a result is a view of an argument, or not of the device";
  const DLTensor &tensor = *getTensor(&value);
  part.kind = Part::Kind::View;
  part.index = findOutput(*memory);
  part.offset = address(tensor) - static_cast<char *>(storage->data);
  part.dims = ffi::Shape(tensor.shape, tensor.shape + tensor.ndim);
  part.dtype = tensor.dtype;
  graph.outputs.resize(outputs.size());
  graph.outputs[part.index] = storage->bytes;
  return nullptr;
}

const char *CallGraph::Maker::addTuple(const TVMFFIAny &value, Part &part,
                                       int depth) {
  if (depth >= kDeepest)
    return "a result is a deeply nested tuple";
  const ffi::ArrayObj *tuple = getTuple(&value);
  part.kind = Part::Kind::Tuple;
  part.fields.resize(tuple->size());
  const char *reason = nullptr;
  for (size_t i = 0; i < tuple->size() && !reason; ++i)
    reason = addPart(*reinterpret_cast<const TVMFFIAny *>(tuple->begin() + i),
                     part.fields[i], depth + 1);
  return reason;
}

const char *CallGraph::Maker::addPart(const TVMFFIAny &value, Part &part,
                                      int depth) {
  part.kind = Part::Kind::Value;
  switch (value.type_index) {
  case kTVMFFITensor:
    return addTensor(value, part);
  case kTVMFFIArray:
    return addTuple(value, part, depth);
  case kTVMFFINone:
  case kTVMFFIInt:
  case kTVMFFIBool:
  case kTVMFFIFloat:
  case kTVMFFIDataType:
  case kTVMFFISmallStr:
  case kTVMFFIStr:
  case kTVMFFIShape: // these do not change
    part.value = owned(&value);
    return nullptr;
  }
  return "a result is not a tensor, a number, a shape or a tuple of these";
}

// What the call took is freed, or is that of results.
const char *CallGraph::Maker::checkMemory() const {
  size_t live = 0;
  for (const Recording::Memory &each : recording.memory)
    live += !each.isFree;
  return live == outputs.size() ? nullptr
                                : "memory that it took stays in use elsewhere";
}

static Range rangeOf(const ffi::Any &constant) {
  const DLTensor &tensor =
      *getTensor(reinterpret_cast<const TVMFFIAny *>(&constant));
  return {reinterpret_cast<uintptr_t>(address(tensor)),
          isEmpty(tensor) ? 0 : ffi::GetDataSize(tensor)};
}

// An address that is in both would have two meanings.
const char *CallGraph::Maker::checkConstants() const {
  for (const ffi::Any &constant : recording.constants) {
    const TVMFFIAny *value = reinterpret_cast<const TVMFFIAny *>(&constant);
    if (!getTensor(value))
      return "a constant is not a tensor";
    Range range = rangeOf(constant);
    for (const Range &argument : arguments.ranges)
      if (range.bytes && argument.bytes && range.meets(argument))
        return "an argument is a constant of the program";
  }
  return nullptr;
}

// The address of a tensor without elements.
bool CallGraph::Maker::isUnused(uintptr_t address) const {
  auto isHere = [&](const Range &range) { return range.begin == address; };
  return address == 0 ||
         std::any_of(arguments.ranges.begin(), arguments.ranges.end(),
                     isHere) ||
         std::any_of(
             recording.constants.begin(), recording.constants.end(),
             [&](const ffi::Any &each) { return isHere(rangeOf(each)); });
}

// An address of an argument or of a result is another one in each call.
const char *CallGraph::Maker::addPatch(size_t launch, size_t word) {
  uintptr_t address = static_cast<uintptr_t>(graph.launches[launch].args[word]);
  auto patch = [&](size_t base, uintptr_t begin) {
    graph.patches.push_back(
        {launch, word, base, static_cast<int64_t>(address - begin)});
    return nullptr;
  };
  for (size_t i = 0; i < arguments.ranges.size(); ++i)
    if (arguments.ranges[i].contains(address))
      return patch(i, arguments.ranges[i].begin);
  for (const Recording::Memory &each : recording.memory)
    if (Range{each.begin(), each.block->bytes()}.contains(address)) {
      auto found = std::find(outputs.begin(), outputs.end(), each.block);
      return found == outputs.end()
                 ? nullptr
                 : patch(arguments.ranges.size() +
                             static_cast<size_t>(found - outputs.begin()),
                         each.begin());
    }
  for (const ffi::Any &constant : recording.constants)
    if (rangeOf(constant).contains(address))
      return nullptr;
  return isUnused(address) ? nullptr
                           : "a kernel uses memory that is not of the call";
}

const char *CallGraph::Maker::addPatches() {
  const char *reason = nullptr;
  for (size_t i = 0; i < graph.launches.size(); ++i)
    for (size_t j = 0; j < graph.launches[i].args.size() && !reason; ++j)
      if (graph.launches[i].isAddress(j))
        reason = addPatch(i, j);
      else if (isOfCall(static_cast<uintptr_t>(graph.launches[i].args[j])))
        reason = "a number that a kernel gets may be an address";
  return reason;
}

// Whether an address is in memory that is another in each call.
bool CallGraph::Maker::isOfCall(uintptr_t address) const {
  return std::any_of(
             arguments.ranges.begin(), arguments.ranges.end(),
             [&](const Range &range) { return range.contains(address); }) ||
         std::any_of(outputs.begin(), outputs.end(), [&](const Block *each) {
           const auto *block = static_cast<const DeviceBlock *>(each);
           return Range{reinterpret_cast<uintptr_t>(block->data),
                        block->bytes()}
               .contains(address);
         });
}

void CallGraph::Maker::takeMemory() {
  graph.memory.reserve(recording.memory.size());
  for (Recording::Memory &each : recording.memory)
    if (each.isFree) {
      each.isFree = false;
      graph.memory.push_back(each.block);
    }
}

std::string CallGraph::Maker::make(const TVMFFIAny &result) {
  const char *reason = check();
  if (!reason)
    reason = addPart(result, graph.result, 0);
  if (!reason)
    reason = checkMemory();
  if (!reason)
    reason = checkConstants();
  if (reason)
    return reason;
  graph.device = recording.device;
  graph.launches = std::move(recording.launches);
  if ((reason = addPatches()))
    return reason;
  for (const Range &range : arguments.ranges)
    graph.bases.push_back(range.begin);
  for (const Block *output : outputs)
    graph.bases.push_back(recording.findMemory(output)->begin());
  graph.aliases = arguments.aliases;
  graph.constants = recording.constants;
  std::string wrong;
  graph.graph = graph.device->makeGraph(graph.launches, wrong);
  if (graph.graph)
    takeMemory();
  return wrong;
}

std::unique_ptr<CallGraph> CallGraph::make(Recording &recording,
                                           const CallArguments &arguments,
                                           const TVMFFIAny &result,
                                           std::string &reason) {
  auto made = std::make_unique<CallGraph>();
  reason = Maker(*made, recording, arguments).make(result);
  return reason.empty() ? std::move(made) : nullptr;
}

// The graph goes first: it uses the memory.
CallGraph::~CallGraph() {
  graph.reset();
  for (Block *block : memory)
    Pool::free(block);
}

int64_t CallGraph::bytes() const {
  int64_t result = 0;
  for (const Block *block : memory)
    result += static_cast<int64_t>(block->bytes());
  return result;
}

//===----------------------------------------------------------------------===//
// Replay
//===----------------------------------------------------------------------===//

bool CallGraph::fits(CallArguments &arguments) const {
  const std::vector<Range> &ranges = arguments.ranges;
  bool isSame = std::equal(
      ranges.begin(), ranges.end(), bases.begin(),
      [](const Range &range, uintptr_t base) { return range.begin == base; });
  return isSame || (!arguments.findAliases() && arguments.aliases == aliases);
}

int CallGraph::makeStorages(const relax_site *site,
                            std::vector<ffi::Any> &storages,
                            std::vector<uintptr_t> &next) {
  for (int64_t bytes : outputs) {
    TVMFFIObject *storage =
        makeStorage(*device->pool, static_cast<uint64_t>(bytes));
    if (!storage)
      return raiseMemory(site, "storage of " + countText(bytes, "byte") +
                                   " on " + deviceText(device->id));
    TVMFFIAny value = ownedValue(storage);
    storages.emplace_back();
    assignOwned(reinterpret_cast<TVMFFIAny *>(&storages.back()), value);
    next.push_back(reinterpret_cast<uintptr_t>(StorageObj::get(&value)->data));
  }
  return 0;
}

// Gives launches the addresses of a call, where they are not those of the last.
std::string CallGraph::update(const std::vector<uintptr_t> &next) {
  for (size_t i = 0; i < patches.size();) {
    size_t launch = patches[i].launch;
    bool isNew = false;
    for (; i < patches.size() && patches[i].launch == launch; ++i) {
      const Patch &patch = patches[i];
      isNew |= bases[patch.base] != next[patch.base];
      launches[launch].args[patch.word] =
          static_cast<int64_t>(next[patch.base]) + patch.offset;
    }
    std::string wrong =
        isNew ? graph->update(launch, launches[launch].get()) : "";
    if (!RELAX_LIKELY(wrong.empty()))
      return wrong;
  }
  return "";
}

int CallGraph::buildTuple(const relax_site *site, const Part &part,
                          const CallArguments &arguments,
                          const std::vector<ffi::Any> &storages,
                          TVMFFIAny *result) const {
  ffi::Any *fields;
  TVMFFIObject *tuple =
      makeTuple(static_cast<int64_t>(part.fields.size()), &fields);
  if (!tuple)
    return raiseMemory(site, "a tuple");
  assignOwned(result, ownedValue(tuple));
  for (size_t i = 0; i < part.fields.size(); ++i)
    if (build(site, part.fields[i], arguments, storages,
              reinterpret_cast<TVMFFIAny *>(&fields[i])))
      return -1;
  return 0;
}

int CallGraph::build(const relax_site *site, const Part &part,
                     const CallArguments &arguments,
                     const std::vector<ffi::Any> &storages,
                     TVMFFIAny *result) const {
  switch (part.kind) {
  case Part::Kind::Value:
    owned(result) = part.value;
    return 0;
  case Part::Kind::Argument:
    assign(result, arguments.tensors[part.index]);
    return 0;
  case Part::Kind::Tuple:
    return buildTuple(site, part, arguments, storages, result);
  case Part::Kind::View:
    break;
  }
  const TVMFFIAny *storage =
      reinterpret_cast<const TVMFFIAny *>(&storages[part.index]);
  TVMFFIObject *view = makeView(
      storage->v_obj,
      static_cast<char *>(StorageObj::get(storage)->data) + part.offset,
      device->id, static_cast<int32_t>(part.dims.size()), part.dims.data(),
      part.dtype);
  if (!view)
    return raiseMemory(site, "a tensor");
  assignOwned(result, ownedValue(view));
  return 0;
}

int CallGraph::replay(const relax_site *site, const CallArguments &arguments,
                      TVMFFIAny *result) {
  std::vector<uintptr_t> next;
  next.reserve(bases.size());
  for (const Range &range : arguments.ranges)
    next.push_back(range.begin);
  std::vector<ffi::Any> storages;
  storages.reserve(outputs.size());
  ffi::Any made;
  if (makeStorages(site, storages, next) ||
      build(site, this->result, arguments, storages,
            reinterpret_cast<TVMFFIAny *>(&made)))
    return -1;
  std::string wrong = next == bases ? "" : update(next);
  if (RELAX_LIKELY(wrong.empty()))
    wrong = graph->launch();
  if (!RELAX_LIKELY(wrong.empty()))
    return raiseInFunction(site, "RuntimeError", wrong);
  bases = std::move(next);
  owned(result) = std::move(made);
  return 0;
}
