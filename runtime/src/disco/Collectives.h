//===- Collectives.h - What workers compute together ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function is called by all workers of a channel, with compact tensors in
// host memory, and throws an error of `site` where they do not agree, or where
// one of them does not come. Elements are exchanged in slices, through buffers
// of the session.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_DISCO_COLLECTIVES_H
#define RELAX_RUNTIME_DISCO_COLLECTIVES_H

#include "Communicator.h"
#include "Reduce.h"

namespace relax_runtime {

enum class CollectiveKind : int64_t {
  AllReduce,
  AllGather,
  Broadcast,
  Scatter,
  Gather
};

// The worker that this thread is, or an error that says how to make one.
Worker &findWorker(const relax_site &site);

// The tensor in a value, which is kept by `holder`: that one, or a compact
// copy.
const DLTensor &readCompact(const relax_site &site, ffi::AnyView value,
                            ffi::Any &holder);
// The tensor in a value, which is written to and has to be compact.
const DLTensor &writeCompact(const relax_site &site, ffi::AnyView value);

// to = the reduction of the `from` of all workers.
void allReduce(const relax_site &site, Channel channel, const DLTensor &from,
               const DLTensor &to, Reduction reduction);

// to = the `from` of all workers, one after the other. With `isForFirst` the
// first worker alone has a `to`, the others pass NULL.
void allGather(const relax_site &site, Channel channel, const DLTensor &from,
               const DLTensor *to, bool isForFirst);

// to = the `from` of the first worker; the others may pass NULL.
void broadcast(const relax_site &site, Channel channel, const DLTensor *from,
               const DLTensor &to);

// to = the part of the `from` of the first worker; the others may pass NULL.
// `from` has so many rows, each of which all workers share.
void scatter(const relax_site &site, Channel channel, const DLTensor *from,
             const DLTensor &to, int64_t rows);

// to = the part of `from`, which all workers have, that belongs to this one. It
// waits for nobody.
void takePart(const relax_site &site, Channel channel, const DLTensor &from,
              const DLTensor &to, int64_t rows);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_DISCO_COLLECTIVES_H
