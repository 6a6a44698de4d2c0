//===- Functions.cc - Packed functions of workers ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases: operators of programs; functions that sessions call, with the
// arguments that TVM's have; communicators and workers, for Python.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "../Objects.h"
#include "Collectives.h"

#include <memory>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Operators of programs
//===----------------------------------------------------------------------===//

static void checkCount(const relax_site &site, Channel channel,
                       int64_t numWorkers) {
  int64_t count = findWorker(site).size(channel);
  if (count == numWorkers)
    return;
  std::string members = channel == kGroup ? "the workers of the group"
                                          : "the workers of the session";
  throwAt(site, "ValueError",
          "expected num_workers to be " + std::to_string(count) + ", " +
              members + ", but got " + std::to_string(numWorkers));
}

static Channel channelOf(int64_t inGroup) {
  return inGroup ? kGroup : kAllWorkers;
}

void relax_runtime::runAllReduce(ffi::AnyView x, ffi::String reduction,
                                 int64_t inGroup, ffi::String function,
                                 ffi::String location, ffi::AnyView result) {
  const relax_site site = {function.c_str(), "relax.ccl.allreduce", "",
                           location.c_str()};
  findWorker(site);
  std::optional<Reduction> found =
      findReduction({reduction.data(), reduction.size()});
  if (!found)
    throwAt(site, "ValueError",
            "expected sum, prod, min, max or avg, but got " +
                std::string(reduction));
  ffi::Any holder;
  allReduce(site, channelOf(inGroup), readCompact(site, x, holder),
            writeCompact(site, result), *found);
}

void relax_runtime::runAllGather(ffi::AnyView x, int64_t numWorkers,
                                 int64_t inGroup, ffi::String function,
                                 ffi::String location, ffi::AnyView result) {
  const relax_site site = {function.c_str(), "relax.ccl.allgather", "",
                           location.c_str()};
  checkCount(site, channelOf(inGroup), numWorkers);
  ffi::Any holder;
  allGather(site, channelOf(inGroup), readCompact(site, x, holder),
            &writeCompact(site, result), false);
}

void relax_runtime::runBroadcast(ffi::AnyView x, ffi::String function,
                                 ffi::String location, ffi::AnyView result) {
  const relax_site site = {function.c_str(), "relax.ccl.broadcast_from_worker0",
                           "", location.c_str()};
  findWorker(site);
  ffi::Any holder;
  broadcast(site, kAllWorkers, &readCompact(site, x, holder),
            writeCompact(site, result));
}

// How many parts of a worker are one after the other, if a tensor is cut along
// an axis.
static int64_t countRows(const relax_site &site, const DLTensor &from,
                         int64_t axis) {
  if (axis < 0 || axis >= from.ndim)
    throwAt(site, "ValueError",
            "expected an axis below " + std::to_string(from.ndim) +
                ", but got " + std::to_string(axis));
  return ffi::ShapeView(from.shape, static_cast<size_t>(axis)).Product();
}

void relax_runtime::runScatter(ffi::AnyView x, int64_t numWorkers, int64_t axis,
                               ffi::String function, ffi::String location,
                               ffi::AnyView result) {
  const relax_site site = {function.c_str(), "relax.ccl.scatter_from_worker0",
                           "", location.c_str()};
  checkCount(site, kAllWorkers, numWorkers);
  ffi::Any holder;
  const DLTensor &from = readCompact(site, x, holder);
  int64_t rows = countRows(site, from, axis);
  scatter(site, kAllWorkers, &from, writeCompact(site, result), rows);
}

void relax_runtime::runTakePart(ffi::AnyView x, int64_t numWorkers,
                                int64_t axis, ffi::String function,
                                ffi::String location, ffi::AnyView result) {
  const relax_site site = {function.c_str(),
                           "relax.dist.redistribute_replica_to_shard", "",
                           location.c_str()};
  checkCount(site, kAllWorkers, numWorkers);
  ffi::Any holder;
  const DLTensor &from = readCompact(site, x, holder);
  int64_t rows = countRows(site, from, axis);
  takePart(site, kAllWorkers, from, writeCompact(site, result), rows);
}

//===----------------------------------------------------------------------===//
// Functions of sessions
//===----------------------------------------------------------------------===//

// A tensor, or None on workers other than the first one.
static const DLTensor *readOfFirst(const relax_site &site, Channel channel,
                                   ffi::AnyView value, ffi::Any &holder) {
  const Worker &worker = findWorker(site);
  if (worker.index() != worker.first(channel))
    return nullptr;
  return &readCompact(site, value, holder);
}

static void callAllReduce(ffi::AnyView from, ffi::Shape reduction, bool inGroup,
                          ffi::AnyView to) {
  static const relax_site site = {"runtime.disco.allreduce", "", "", ""};
  if (reduction.size() != 1 || reduction[0] < 0 ||
      reduction[0] > static_cast<int64_t>(Reduction::Avg))
    throwAt(site, "ValueError",
            "expected a shape of the number of a reduction, from 0 to 4");
  ffi::Any holder;
  allReduce(site, channelOf(inGroup), readCompact(site, from, holder),
            writeCompact(site, to), static_cast<Reduction>(reduction[0]));
}

static void callAllGather(ffi::AnyView from, bool inGroup, ffi::AnyView to) {
  static const relax_site site = {"runtime.disco.allgather", "", "", ""};
  ffi::Any holder;
  allGather(site, channelOf(inGroup), readCompact(site, from, holder),
            &writeCompact(site, to), false);
}

static void callGather(ffi::AnyView from, bool inGroup, ffi::AnyView to) {
  static const relax_site site = {"runtime.disco.gather_to_worker0", "", "",
                                  ""};
  Channel channel = channelOf(inGroup);
  const Worker &worker = findWorker(site);
  bool isFirst = worker.index() == worker.first(channel);
  ffi::Any holder;
  allGather(site, channel, readCompact(site, from, holder),
            isFirst ? &writeCompact(site, to) : nullptr, true);
}

static void callBroadcast(ffi::AnyView from, bool inGroup, ffi::AnyView to) {
  static const relax_site site = {"runtime.disco.broadcast_from_worker0", "",
                                  "", ""};
  Channel channel = channelOf(inGroup);
  ffi::Any holder;
  broadcast(site, channel, readOfFirst(site, channel, from, holder),
            writeCompact(site, to));
}

static void callScatter(ffi::AnyView from, bool inGroup, ffi::AnyView to) {
  static const relax_site site = {"runtime.disco.scatter_from_worker0", "", "",
                                  ""};
  Channel channel = channelOf(inGroup);
  ffi::Any holder;
  scatter(site, channel, readOfFirst(site, channel, from, holder),
          writeCompact(site, to), 1);
}

//===----------------------------------------------------------------------===//
// Communicators and workers
//===----------------------------------------------------------------------===//

using CommunicatorRef = ffi::ObjectRef;

static CommunicatorObj &communicatorIn(const CommunicatorRef &handle) {
  auto *object = const_cast<CommunicatorObj *>(handle.as<CommunicatorObj>());
  if (!object)
    RELAX_THROW(TypeError) << "expected a relax_mlir.Communicator";
  return *object;
}

static CommunicatorRef makeCommunicator(int64_t numWorkers, int64_t numGroups,
                                        int64_t file, double timeout,
                                        bool isNew) {
  if (numWorkers < 1 || numWorkers > kMostWorkers || numGroups < 1 ||
      numWorkers % numGroups != 0)
    RELAX_THROW(ValueError)
        << "expected 1 to " << kMostWorkers
        << " workers in groups of the same size, but got " << numWorkers
        << " workers and " << numGroups << " groups";
  return CommunicatorRef(ffi::make_object<CommunicatorObj>(
      numWorkers, numGroups, file, timeout, isNew));
}

static void bindWorker(CommunicatorRef handle, int64_t index) {
  CommunicatorObj &communicator = communicatorIn(handle);
  if (index < 0 || index >= kMostWorkers)
    RELAX_THROW(ValueError)
        << "expected the number of a worker, but got " << index;
  Worker::bind(std::make_unique<Worker>(
      ffi::GetObjectPtr<CommunicatorObj>(&communicator), index));
}

static void unbindWorker() { Worker::bind(nullptr); }

static Worker &boundOne() {
  static const relax_site site = {"relax_runtime.disco", "", "", ""};
  return findWorker(site);
}

static int64_t getWorkerIndex() { return boundOne().index(); }
static int64_t getWorkerCount() { return boundOne().numWorkers(); }
static int64_t getGroupSize() { return boundOne().groupSize(); }
static void beginInstruction(int64_t number) { boundOne().begin(number); }
static void endInstruction(ffi::String failure) {
  boundOne().end({failure.data(), failure.size()});
}

static void interruptWorkers(CommunicatorRef handle, int64_t instruction) {
  communicatorIn(handle).interrupt(instruction);
}

static void markWorkerDead(CommunicatorRef handle, int64_t index,
                           ffi::String why) {
  communicatorIn(handle).markDead(index, {why.data(), why.size()});
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<CommunicatorObj>(refl::init(false));
  // Found here by models that hold a runtime of their own, too, whose threads
  // are no workers.
  refl::GlobalDef()
      .def("relax_mlir.run.allreduce", runAllReduce)
      .def("relax_mlir.run.allgather", runAllGather)
      .def("relax_mlir.run.broadcast_from_worker0", runBroadcast)
      .def("relax_mlir.run.redistribute_replica_to_shard", runTakePart)
      .def("relax_mlir.run.scatter_from_worker0", runScatter);
  refl::GlobalDef()
      .def("relax_mlir.disco.allreduce", callAllReduce)
      .def("relax_mlir.disco.allgather", callAllGather)
      .def("relax_mlir.disco.broadcast_from_worker0", callBroadcast)
      .def("relax_mlir.disco.scatter_from_worker0", callScatter)
      .def("relax_mlir.disco.gather_to_worker0", callGather)
      .def("relax_mlir.disco.worker_id", getWorkerIndex)
      .def("relax_mlir.disco.num_workers", getWorkerCount)
      .def("relax_mlir.disco.group_size", getGroupSize);
  refl::GlobalDef()
      .def("relax_mlir.runtime.disco_bytes", CommunicatorObj::countBytes)
      .def("relax_mlir.runtime.disco_communicator", makeCommunicator)
      .def("relax_mlir.runtime.disco_bind", bindWorker)
      .def("relax_mlir.runtime.disco_unbind", unbindWorker)
      .def("relax_mlir.runtime.disco_begin", beginInstruction)
      .def("relax_mlir.runtime.disco_end", endInstruction)
      .def("relax_mlir.runtime.disco_interrupt", interruptWorkers)
      .def("relax_mlir.runtime.disco_mark_dead", markWorkerDead);
}
