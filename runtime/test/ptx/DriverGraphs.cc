//===- DriverGraphs.cc - Graphs of the driver of tests ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs, which streams capture or which are made of kernels. A handle that is
// not one any more is refused. Of steps that do not wait for each other, those
// that were added last run first: a device may run them in any order.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <algorithm>
#include <atomic>
#include <set>

using namespace relax_ptx;

static constexpr Result kNotSupported = 801;

static std::atomic<long long> numGraphLaunches{0}, numGraphUpdates{0};

// What tests look at: launches of graphs, and nodes that got new parameters.
EXPORT long long relax_ptx_graph_launches() { return numGraphLaunches; }
EXPORT long long relax_ptx_graph_updates() { return numGraphUpdates; }

namespace {

// What can be launched: steps in the order in which they run, each with its
// node.
struct Executable {
  const Graph *graph;
  std::vector<std::pair<const Node *, Step>> steps;
};

// The layout is that of CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  Kernel *function;
  unsigned grid[3], block[3], sharedBytes;
  void **params, **extra;
  void *kernel;
  Context *context;
};

// Those that were not destroyed.
struct Live {
  std::mutex lock;
  std::set<const Graph *> graphs;
  std::set<const Executable *> executables;
  bool isFull = false, launchesFail = false;

  bool has(const Graph *graph) {
    Lock guard(lock);
    return graphs.count(graph) != 0;
  }
  bool has(const Executable *executable) {
    Lock guard(lock);
    return executables.count(executable) != 0;
  }
};

} // namespace

static Live &live() {
  static Live &result = *new Live;
  return result;
}

// From now on no graph can be instantiated, or launched.
EXPORT void relax_ptx_refuse_graphs(bool refuse) { live().isFull = refuse; }
EXPORT void relax_ptx_fail_graphs(bool fail) { live().launchesFail = fail; }

static Result wrongHandle(const char *what) {
  return wrong(kHandle, std::string("there is no such ") + what);
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

static Graph *makeGraph() {
  auto *graph = new Graph;
  Lock guard(live().lock);
  live().graphs.insert(graph);
  return graph;
}

// A stream captures steps that wait for each other.
Result relax_ptx::enqueue(Stream *stream, Step step) {
  if (!stream || !stream->capture)
    return step();
  std::vector<std::unique_ptr<Node>> &nodes = stream->capture->nodes;
  std::vector<const Node *> before;
  if (!nodes.empty())
    before.push_back(nodes.back().get());
  nodes.push_back(
      std::make_unique<Node>(Node{std::move(step), std::move(before)}));
  return kSuccess;
}

EXPORT Result cuStreamBeginCapture_v2(Stream *stream, int) {
  if (!stream || stream->capture)
    return kCaptureUnsupported;
  stream->capture = makeGraph();
  return kSuccess;
}
EXPORT Result cuStreamEndCapture(Stream *stream, Graph **graph) {
  if (!stream || !stream->capture)
    return kCaptureUnmatched;
  *graph = stream->capture;
  stream->capture = nullptr;
  return kSuccess;
}
EXPORT Result cuStreamIsCapturing(Stream *stream, int *status) {
  *status = stream && stream->capture ? 1 : 0;
  return kSuccess;
}

EXPORT Result cuGraphCreate(Graph **graph, unsigned flags) {
  if (flags != 0)
    return kInvalid;
  *graph = makeGraph();
  return kSuccess;
}

static Result prepareNode(const KernelNodeParams &params, Step *step) {
  if (params.kernel || params.context)
    return kNotSupported;
  LaunchSizes sizes = {{params.grid[0], params.grid[1], params.grid[2]},
                       {params.block[0], params.block[1], params.block[2]},
                       params.sharedBytes};
  return prepareLaunch(params.function, sizes, params.params, params.extra,
                       step);
}

EXPORT Result cuGraphAddKernelNode_v2(Node **node, Graph *graph,
                                      const Node *const *before,
                                      size_t numBefore,
                                      const KernelNodeParams *params) {
  if (!live().has(graph))
    return wrongHandle("graph");
  auto added = std::make_unique<Node>();
  for (size_t i = 0; i < numBefore; ++i) {
    auto isIt = [&](const auto &each) { return each.get() == before[i]; };
    if (std::none_of(graph->nodes.begin(), graph->nodes.end(), isIt))
      return wrongHandle("node");
    added->before.push_back(before[i]);
  }
  if (Result refused = prepareNode(*params, &added->step))
    return refused;
  *node = added.get();
  graph->nodes.push_back(std::move(added));
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

// The last node whose turn it may be.
static const Node *findNext(const Graph &graph,
                            const std::set<const Node *> &done) {
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node *node = graph.nodes[i].get();
    auto isDone = [&](const Node *each) { return done.count(each) != 0; };
    if (!isDone(node) &&
        std::all_of(node->before.begin(), node->before.end(), isDone))
      return node;
  }
  return nullptr;
}

EXPORT Result cuGraphInstantiateWithFlags(Executable **executable, Graph *graph,
                                          unsigned long long) {
  if (!live().has(graph))
    return wrongHandle("graph");
  if (live().isFull)
    return kOutOfMemory;
  auto *made = new Executable{graph, {}};
  std::set<const Node *> done;
  while (const Node *next = findNext(*graph, done)) {
    done.insert(next);
    made->steps.emplace_back(next, next->step);
  }
  Lock guard(live().lock);
  live().executables.insert(made);
  *executable = made;
  return kSuccess;
}

EXPORT Result cuGraphExecKernelNodeSetParams_v2(
    Executable *executable, Node *node, const KernelNodeParams *params) {
  if (!live().has(executable))
    return wrongHandle("executable graph");
  if (!live().has(executable->graph))
    return wrongHandle("graph");
  for (auto &[known, step] : executable->steps)
    if (known == node) {
      ++numGraphUpdates;
      return prepareNode(*params, &step);
    }
  return wrongHandle("node");
}

EXPORT Result cuGraphLaunch(Executable *executable, Stream *stream) {
  if (!live().has(executable))
    return wrongHandle("executable graph");
  if (live().launchesFail)
    return wrong(kLaunchFailed, "");
  ++numGraphLaunches;
  return enqueue(stream, [executable] {
    for (const auto &[node, step] : executable->steps)
      if (Result result = step())
        return result;
    return kSuccess;
  });
}

EXPORT Result cuGraphExecDestroy(Executable *executable) {
  {
    Lock guard(live().lock);
    if (live().executables.erase(executable) == 0)
      return kHandle;
  }
  delete executable;
  return kSuccess;
}
EXPORT Result cuGraphDestroy(Graph *graph) {
  {
    Lock guard(live().lock);
    if (live().graphs.erase(graph) == 0)
      return kHandle;
  }
  delete graph;
  return kSuccess;
}
