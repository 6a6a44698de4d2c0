//===- Collectives.cc - What workers compute together -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker writes a slice into its buffer, meets the others, and reads theirs.
//
// Rationale: buffers have two halves. A worker that writes into one has met the
// others once since they read it, as it wrote into the other one meanwhile. So
// an exchange takes one meeting for each slice, and a reduction two.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "../Objects.h"
#include "../Tensor.h"

#include <algorithm>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Worker &relax_runtime::findWorker(const relax_site &site) {
  if (Worker *worker = Worker::current())
    return *worker;
  throwAt(site, "RuntimeError",
          "this thread is no worker of a session: load the program by "
          "load_vm_module of a relax_runtime.disco.ThreadedSession or "
          "ProcessSession, and call it there");
}

static const DLTensor &findHostTensor(const relax_site &site,
                                      ffi::AnyView value) {
  TVMFFIAny raw = value.CopyToTVMFFIAny();
  const DLTensor *tensor = getTensor(&raw);
  if (!tensor)
    throwAt(site, "TypeError", "expected a tensor, but got " + describe(&raw));
  if (tensor->device.device_type != kDLCPU)
    throwAt(site, "ValueError",
            "expected a tensor in host memory, but got one on " +
                deviceText(tensor->device));
  if (tensor->dtype.bits * tensor->dtype.lanes % 8 != 0)
    throwAt(site, "TypeError",
            "expected elements of whole bytes, but got " +
                describeTensor(*tensor));
  return *tensor;
}

const DLTensor &relax_runtime::readCompact(const relax_site &site,
                                           ffi::AnyView value,
                                           ffi::Any &holder) {
  const DLTensor &tensor = findHostTensor(site, value);
  if (isCompact(tensor))
    return tensor;
  auto *slot = reinterpret_cast<TVMFFIAny *>(&holder);
  TVM_FFI_CHECK_SAFE_CALL(copyTensor(&site, slot, tensor, tensor.device));
  return *getTensor(slot);
}

const DLTensor &relax_runtime::writeCompact(const relax_site &site,
                                            ffi::AnyView value) {
  const DLTensor &tensor = findHostTensor(site, value);
  if (!isCompact(tensor))
    throwAt(site, "ValueError",
            "expected a compact tensor for the result, but its elements do not "
            "follow each other");
  return tensor;
}

static int64_t countElements(const DLTensor &tensor) {
  return ffi::ShapeView(tensor.shape, static_cast<size_t>(tensor.ndim))
      .Product();
}
static int64_t elementBytes(const DLTensor &tensor) {
  return tensor.dtype.bits * tensor.dtype.lanes / 8;
}
static int64_t tensorBytes(const DLTensor &tensor) {
  return countElements(tensor) * elementBytes(tensor);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static CollectiveCall makeCall(CollectiveKind kind, const DLTensor &tensor,
                               int64_t reduction = -1) {
  CollectiveCall call = {};
  call.kind = static_cast<int64_t>(kind);
  call.reduction = reduction;
  call.dtype = packDType(tensor.dtype);
  call.ndim = tensor.ndim;
  std::copy_n(tensor.shape,
              std::min<int64_t>(tensor.ndim, CollectiveCall::kMostDims),
              call.dims);
  call.count = countElements(tensor);
  return call;
}

static bool areSame(const CollectiveCall &a, const CollectiveCall &b) {
  return a.kind == b.kind && a.reduction == b.reduction && a.dtype == b.dtype &&
         a.ndim == b.ndim && a.count == b.count &&
         std::equal(std::begin(a.dims), std::end(a.dims), std::begin(b.dims));
}

std::string relax_runtime::describeCall(const CollectiveCall &call) {
  static constexpr const char *kNames[] = {
      "allreduce", "allgather", "broadcast_from_worker0",
      "scatter_from_worker0", "gather_to_worker0"};
  std::string text = kNames[std::clamp<int64_t>(call.kind, 0, 4)];
  if (call.reduction >= 0)
    text += " \"" +
            std::string(nameOf(
                static_cast<Reduction>(std::min<int64_t>(call.reduction, 4)))) +
            "\"";
  int64_t shown = std::clamp<int64_t>(call.ndim, 0, CollectiveCall::kMostDims);
  text += " of " +
          dtypeText(unpackDType(static_cast<relax_dtype>(call.dtype))) + " " +
          dimsText(call.dims, shown);
  return shown < call.ndim ? text + " and more dimensions" : text;
}

//===----------------------------------------------------------------------===//
// Exchange
//===----------------------------------------------------------------------===//

namespace {
// The slices of one call of a collective.
class Exchange {
public:
  Exchange(const relax_site &site, Channel channel, const CollectiveCall &call)
      : site(site), worker(findWorker(site)), channel(channel), call(call) {
    this->call.half = worker.halves[channel];
    worker.announce(channel, this->call);
  }

  int64_t size() const { return worker.size(channel); }
  // This worker among those of the channel.
  int64_t rank() const { return worker.index() - worker.first(channel); }
  // The buffer of the slice of a worker of the channel. That of another one is
  // known when this worker has met it.
  char *buffer(int64_t member) const {
    int64_t half = halves.empty() ? call.half : halves[member];
    return worker.shared().buffer(channel, worker.first(channel) + member,
                                  (half + slice) & 1);
  }
  void meet() {
    worker.meet(site, channel);
    if (halves.empty())
      compare();
  }
  void next() {
    ++slice;
    worker.halves[channel] ^= 1;
  }

private:
  void compare();
  [[noreturn]] void raiseDifference() const;

  const relax_site &site;
  Worker &worker;
  Channel channel;
  CollectiveCall call;
  int64_t slice = 0;
  std::vector<int64_t> halves; // that the members begin with
};
} // namespace

void Exchange::compare() {
  for (int64_t i = 0; i < size(); ++i) {
    CollectiveCall other = worker.callOf(worker.first(channel) + i, channel);
    if (!areSame(other, call))
      raiseDifference();
    halves.push_back(other.half);
  }
}

// "workers 0 to 2 called ..., worker 3 called ...".
void Exchange::raiseDifference() const {
  constexpr int kMostShown = 8;
  std::string text = "expected all workers to call the same operator with "
                     "tensors of one shape and data type, but ";
  int64_t first = worker.first(channel);
  auto describeMember = [&](int64_t i) {
    return describeCall(worker.callOf(first + i, channel));
  };
  int shown = 0;
  for (int64_t i = 0; i < size() && shown < kMostShown; ++shown) {
    std::string called = describeMember(i);
    int64_t end = i + 1;
    while (end < size() && describeMember(end) == called)
      ++end;
    text += shown ? ", " : "";
    text += end == i + 1 ? "worker " + std::to_string(first + i)
                         : "workers " + std::to_string(first + i) + " to " +
                               std::to_string(first + end - 1);
    text += " called " + called;
    i = end;
  }
  throwAt(site, "ValueError", text);
}

static void copySlice(char *to, const char *from, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

static void checkSameData(const relax_site &site, const DLTensor &from,
                          const DLTensor &to, int64_t parts, int64_t of) {
  bool fits = packDType(from.dtype) == packDType(to.dtype) &&
              countElements(from) * parts == countElements(to) * of;
  if (!fits)
    throwAt(site, "ValueError",
            "expected tensors of one data type and of sizes that fit " +
                countText(std::max(parts, of), "worker") + ", but got " +
                describeTensor(from) + " and " + describeTensor(to));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void relax_runtime::allReduce(const relax_site &site, Channel channel,
                              const DLTensor &from, const DLTensor &to,
                              Reduction reduction) {
  checkSameData(site, from, to, 1, 1);
  if (!isReducible(from.dtype))
    throwAt(site, "TypeError",
            "expected integers or floats of 16 bits and more, but got " +
                describeTensor(from));
  Exchange exchange(site, channel,
                    makeCall(CollectiveKind::AllReduce, from,
                             static_cast<int64_t>(reduction)));
  int64_t bytes = tensorBytes(from), width = elementBytes(from);
  int64_t members = exchange.size(), rank = exchange.rank(), begin = 0;
  // The chunks of the workers begin at lines of the cache.
  constexpr int64_t kLine = 64;
  do {
    int64_t size = std::min(CommunicatorObj::sliceBytes(), bytes - begin);
    int64_t chunk = (size + members * kLine - 1) / (members * kLine) * kLine;
    auto beginOf = [&](int64_t i) { return std::min(i * chunk, size); };
    // The chunk of this worker is read by it alone, off its tensor.
    int64_t own = beginOf(rank), ownEnd = beginOf(rank + 1);
    const char *elements = address(from) + begin;
    copySlice(exchange.buffer(rank), elements, own);
    copySlice(exchange.buffer(rank) + ownEnd, elements + ownEnd, size - ownEnd);
    exchange.meet();
    std::vector<const char *> parts;
    for (int64_t i = 0; i < members; ++i)
      parts.push_back((i == rank ? elements : exchange.buffer(i)) + own);
    reduceInOrder(reduction, from.dtype, parts, exchange.buffer(rank) + own,
                  (ownEnd - own) / width);
    exchange.meet();
    for (int64_t i = 0; i < members; ++i)
      copySlice(address(to) + begin + beginOf(i),
                exchange.buffer(i) + beginOf(i), beginOf(i + 1) - beginOf(i));
    exchange.next();
    begin += size;
  } while (begin < bytes);
}

void relax_runtime::allGather(const relax_site &site, Channel channel,
                              const DLTensor &from, const DLTensor *to,
                              bool isForFirst) {
  Exchange exchange(
      site, channel,
      makeCall(isForFirst ? CollectiveKind::Gather : CollectiveKind::AllGather,
               from));
  int64_t bytes = tensorBytes(from), members = exchange.size(), begin = 0;
  if (to)
    checkSameData(site, from, *to, members, 1);
  do {
    int64_t size = std::min(CommunicatorObj::sliceBytes(), bytes - begin);
    copySlice(exchange.buffer(exchange.rank()), address(from) + begin, size);
    exchange.meet();
    for (int64_t i = 0; to && i < members; ++i)
      copySlice(address(*to) + i * bytes + begin, exchange.buffer(i), size);
    exchange.next();
    begin += size;
  } while (begin < bytes);
}

void relax_runtime::broadcast(const relax_site &site, Channel channel,
                              const DLTensor *from, const DLTensor &to) {
  Exchange exchange(site, channel, makeCall(CollectiveKind::Broadcast, to));
  bool isFirst = exchange.rank() == 0;
  if (isFirst)
    checkSameData(site, *from, to, 1, 1);
  int64_t bytes = tensorBytes(to), begin = 0;
  do {
    int64_t size = std::min(CommunicatorObj::sliceBytes(), bytes - begin);
    if (isFirst)
      copySlice(exchange.buffer(0), address(*from) + begin, size);
    exchange.meet();
    copySlice(address(to) + begin, exchange.buffer(0), size);
    exchange.next();
    begin += size;
  } while (begin < bytes);
}

// Copies bytes [begin, begin + size) of the part of a worker, whose rows are
// `rowBytes` long and `stride` from each other.
static void copyPart(char *to, const char *rows, int64_t rowBytes,
                     int64_t stride, int64_t begin, int64_t size) {
  while (size > 0) {
    int64_t inRow = begin % rowBytes;
    int64_t bytes = std::min(rowBytes - inRow, size);
    copySlice(to, rows + begin / rowBytes * stride + inRow, bytes);
    to += bytes;
    begin += bytes;
    size -= bytes;
  }
}

void relax_runtime::takePart(const relax_site &site, Channel channel,
                             const DLTensor &from, const DLTensor &to,
                             int64_t rows) {
  const Worker &worker = findWorker(site);
  int64_t members = worker.size(channel), bytes = tensorBytes(to);
  checkSameData(site, from, to, 1, members);
  int64_t rowBytes = bytes / std::max<int64_t>(rows, 1);
  copyPart(address(to),
           address(from) + (worker.index() - worker.first(channel)) * rowBytes,
           rowBytes, rowBytes * members, 0, bytes);
}

void relax_runtime::scatter(const relax_site &site, Channel channel,
                            const DLTensor *from, const DLTensor &to,
                            int64_t rows) {
  Exchange exchange(site, channel, makeCall(CollectiveKind::Scatter, to));
  bool isFirst = exchange.rank() == 0;
  int64_t members = exchange.size(), bytes = tensorBytes(to), begin = 0;
  if (isFirst)
    checkSameData(site, *from, to, 1, members);
  int64_t rowBytes = bytes / std::max<int64_t>(rows, 1);
  // All parts of a slice lie in the buffer of the first worker.
  int64_t most = CommunicatorObj::sliceBytes() / members;
  do {
    int64_t size = std::min(most, bytes - begin);
    for (int64_t i = 0; isFirst && i < members; ++i)
      copyPart(exchange.buffer(0) + i * most, address(*from) + i * rowBytes,
               rowBytes, rowBytes * members, begin, size);
    exchange.meet();
    copySlice(address(to) + begin, exchange.buffer(0) + exchange.rank() * most,
              size);
    exchange.next();
    begin += size;
  } while (begin < bytes);
}
