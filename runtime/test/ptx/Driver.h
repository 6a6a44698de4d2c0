//===- Driver.h - State of the driver ------------------------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the functions of the driver share. All of it is used under one lock.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_DRIVER_H
#define RELAX_RUNTIME_TEST_PTX_DRIVER_H

#include "PtxMachine.h"

#include <functional>
#include <memory>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace relax_ptx {

using Result = int;
constexpr Result kSuccess = 0, kInvalid = 1, kOutOfMemory = 2, kNoDevice = 100,
                 kContext = 201, kNoBinary = 209, kInvalidPTX = 218,
                 kUnsupportedPTX = 222, kHandle = 400, kNotFound = 500,
                 kNotReady = 600, kCaptureUnsupported = 900,
                 kCaptureInvalidated = 901, kCaptureUnmatched = 903;
// CUDA 13.0, whose PTX is 9.0.
constexpr int kDriverVersion = 13000, kNewestPTX = 90;
constexpr uint32_t kMostSharedBytes = 227 << 10, kSharedBytes = 48 << 10;

struct Context {
  int device;
};

using Step = std::function<Result()>;

// A step of a graph, and those that it waits for.
struct Node {
  Step step;
  std::vector<const Node *> before;
};

// What a stream captured, or what was put in it.
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

struct Stream {
  Context *context;
  Graph *capture = nullptr;
};

struct Driver {
  std::mutex lock;
  Memory memory;
  int64_t bytesInUse = 0;
  bool copiesFail = false;
};

Driver &driver();
using Lock = std::lock_guard<std::mutex>;

int64_t setting(const char *name, int64_t otherwise);
int deviceArch();
Context *currentContext();

// Keeps what cuGetErrorString says of this error on this thread, and prints it.
Result wrong(Result result, const std::string &text);

// Runs a step now, or keeps it where the stream is captured.
Result enqueue(Stream *stream, Step step);

struct Kernel;
// Reads the parameters of a launch. Returns why the driver would refuse it;
// else *step runs the kernel.
Result prepareLaunch(Kernel *kernel, const LaunchSizes &sizes, void **params,
                     void **extra, Step *step);

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_DRIVER_H
