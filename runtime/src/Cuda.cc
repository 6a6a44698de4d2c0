//===- Cuda.cc - Devices of the CUDA driver ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the CUDA driver where there is one, on the first use of a CUDA device,
// and gives its memory and copies. RELAX_CUDA_DRIVER names another library to
// load. Work goes to the primary context of a device, as that of other
// libraries in the process does, on the stream that the caller has set for this
// thread in tvm-ffi (that of PyTorch, where its tensors are arguments), or the
// default one.
//
// All work of a device is in order, on whatever streams: memory that one call
// releases is that of the next one. So where another stream is next, the device
// is waited for, which needs no stream or event of a caller to live on.
//
// Rationale: the driver is part of the system, so the same runtime serves
// machines with and without one. No header of CUDA is needed to build it.
//
//===----------------------------------------------------------------------===//

#include "Pool.h"

#include <tvm/ffi/extra/c_env_api.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>
#if !defined(_WIN32)
#include <dlfcn.h>
#endif

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

namespace {

// Types and functions of the driver, as its stable binary interface has them.
using CUresult = int;
using CUdevice = int;
using CUcontext = struct CUctx_st *;
using CUdeviceptr = unsigned long long;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUjit_option = int;
constexpr CUresult CUDA_SUCCESS = 0;
constexpr CUresult CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222;
constexpr CUjit_option CU_JIT_ERROR_LOG_BUFFER = 5;
constexpr CUjit_option CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
// More needs the attribute above.
constexpr int64_t kSharedBytes = 48 << 10;
constexpr int64_t kMostSharedBytes = 1 << 20;
// The largest grid in x, and in y and z; see the limits of CUDA.
constexpr int64_t kMostBlocksInX = INT32_MAX, kMostBlocks = 65535;
constexpr int64_t kMostBlockThreads = 1024;

// CUDA_KERNEL_NODE_PARAMS_v2.
struct CUkernelNodeParams {
  CUfunction function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **params, **extra;
  void *kernel;      // NULL: `function` is the kernel
  CUcontext context; // NULL: the current one
};

struct Driver {
  CUresult (*cuInit)(unsigned flags);
  CUresult (*cuGetErrorName)(CUresult error, const char **text);
  CUresult (*cuGetErrorString)(CUresult error, const char **text);
  CUresult (*cuDriverGetVersion)(int *version);
  CUresult (*cuDeviceGetCount)(int *count);
  CUresult (*cuDeviceGet)(CUdevice *device, int index);
  CUresult (*cuDeviceGetAttribute)(int *value, int attribute, CUdevice device);
  CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device);
  CUresult (*cuCtxPushCurrent)(CUcontext context);
  CUresult (*cuCtxPopCurrent)(CUcontext *context);
  CUresult (*cuCtxSynchronize)();
  CUresult (*cuMemAlloc)(CUdeviceptr *memory, size_t bytes);
  CUresult (*cuMemFree)(CUdeviceptr memory);
  CUresult (*cuMemcpyHtoD)(CUdeviceptr to, const void *from, size_t bytes);
  CUresult (*cuMemcpyDtoH)(void *to, CUdeviceptr from, size_t bytes);
  CUresult (*cuMemcpyDtoD)(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  CUresult (*cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                            CUstream stream);
  CUresult (*cuStreamSynchronize)(CUstream stream);
  CUresult (*cuModuleLoadDataEx)(CUmodule *module, const void *image,
                                 unsigned numOptions, CUjit_option *options,
                                 void **values);
  CUresult (*cuModuleGetFunction)(CUfunction *function, CUmodule module,
                                  const char *name);
  CUresult (*cuFuncSetAttribute)(CUfunction function, int attribute, int value);
  CUresult (*cuLaunchKernel)(CUfunction function, unsigned gridX,
                             unsigned gridY, unsigned gridZ, unsigned blockX,
                             unsigned blockY, unsigned blockZ,
                             unsigned sharedBytes, CUstream stream,
                             void **params, void **extra);
  CUresult (*cuMemcpyPeer)(CUdeviceptr to, CUcontext toContext,
                           CUdeviceptr from, CUcontext fromContext,
                           size_t bytes);

  // From CUDA 12 on; the first one is NULL where one is not there.
  CUresult (*cuGraphCreate)(CUgraph *graph, unsigned flags);
  CUresult (*cuGraphAddKernelNode)(CUgraphNode *node, CUgraph graph,
                                   const CUgraphNode *before, size_t numBefore,
                                   const CUkernelNodeParams *params);
  CUresult (*cuGraphInstantiate)(CUgraphExec *exec, CUgraph graph,
                                 unsigned long long flags);
  CUresult (*cuGraphSetKernelParams)(CUgraphExec exec, CUgraphNode node,
                                     const CUkernelNodeParams *params);
  CUresult (*cuGraphLaunch)(CUgraphExec exec, CUstream stream);
  CUresult (*cuGraphExecDestroy)(CUgraphExec exec);
  CUresult (*cuGraphDestroy)(CUgraph graph);

  // Returns what went wrong, "" where nothing did.
  std::string load(const char *library);
  // "cuda:0: cannot `verb`: CUDA_ERROR_...: text", "" for success.
  std::string words(CUresult result, const char *verb, DLDevice device) const;
};

} // namespace

static const char *libraryName() {
  const char *name = std::getenv("RELAX_CUDA_DRIVER");
  return name && *name ? name : "libcuda.so.1";
}

#if defined(_WIN32)
std::string Driver::load(const char *) {
  return "the CUDA driver is not supported on Windows";
}
#else
std::string Driver::load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return std::string("the CUDA driver could not be loaded: ") + dlerror();
  const auto find = [&](auto &function, const char *name) {
    void *symbol = dlsym(handle, name);
    std::memcpy(&function, &symbol, sizeof(symbol));
    return symbol != nullptr;
  };
  const char *missing = nullptr;
#define FIND(field, name)                                                      \
  if (!missing && !find(field, name))                                          \
  missing = name
  FIND(cuInit, "cuInit");
  FIND(cuGetErrorName, "cuGetErrorName");
  FIND(cuGetErrorString, "cuGetErrorString");
  FIND(cuDriverGetVersion, "cuDriverGetVersion");
  FIND(cuDeviceGetCount, "cuDeviceGetCount");
  FIND(cuDeviceGet, "cuDeviceGet");
  FIND(cuDeviceGetAttribute, "cuDeviceGetAttribute");
  FIND(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  FIND(cuCtxPushCurrent, "cuCtxPushCurrent_v2");
  FIND(cuCtxPopCurrent, "cuCtxPopCurrent_v2");
  FIND(cuCtxSynchronize, "cuCtxSynchronize");
  FIND(cuMemAlloc, "cuMemAlloc_v2");
  FIND(cuMemFree, "cuMemFree_v2");
  FIND(cuMemcpyHtoD, "cuMemcpyHtoD_v2");
  FIND(cuMemcpyDtoH, "cuMemcpyDtoH_v2");
  FIND(cuMemcpyDtoD, "cuMemcpyDtoD_v2");
  FIND(cuMemcpyPeer, "cuMemcpyPeer");
  FIND(cuMemcpyAsync, "cuMemcpyAsync");
  FIND(cuStreamSynchronize, "cuStreamSynchronize");
  FIND(cuModuleLoadDataEx, "cuModuleLoadDataEx");
  FIND(cuModuleGetFunction, "cuModuleGetFunction");
  FIND(cuFuncSetAttribute, "cuFuncSetAttribute");
  FIND(cuLaunchKernel, "cuLaunchKernel");
#undef FIND
  bool hasGraphs =
      find(cuGraphCreate, "cuGraphCreate") &&
      find(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2") &&
      find(cuGraphInstantiate, "cuGraphInstantiateWithFlags") &&
      find(cuGraphSetKernelParams, "cuGraphExecKernelNodeSetParams_v2") &&
      find(cuGraphLaunch, "cuGraphLaunch") &&
      find(cuGraphExecDestroy, "cuGraphExecDestroy") &&
      find(cuGraphDestroy, "cuGraphDestroy");
  if (!hasGraphs)
    cuGraphCreate = nullptr;
  if (missing)
    return std::string("the CUDA driver ") + library + " has no function " +
           missing;
  return words(cuInit(0), "start", {kDLCUDA, 0});
}
#endif

std::string Driver::words(CUresult result, const char *verb,
                          DLDevice device) const {
  if (RELAX_LIKELY(result == CUDA_SUCCESS))
    return "";
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "an unknown error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "no words for it";
  return deviceText(device) + ": cannot " + verb + ": " + name + " (" +
         std::to_string(result) + "): " + text;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace {

class CudaDevice final : public Device {
public:
  CudaDevice(const Driver &driver, int32_t index)
      : Device({kDLCUDA, index}), driver(driver), memory(*this) {
    pool = &memory;
  }

  // Makes the device ready on first use: a context takes memory of it, so those
  // that are not used have none. Returns what went wrong.
  const std::string &activate() {
    std::call_once(once, [this] {
      CUdevice device;
      wrong = driver.words(driver.cuDeviceGet(&device, id.device_id),
                           "find the device", id);
      if (wrong.empty())
        wrong = driver.words(driver.cuDevicePrimaryCtxRetain(&context, device),
                             "make a context", id);
    });
    return wrong;
  }

  void *allocate(size_t bytes) noexcept override;
  void release(void *data, size_t bytes) noexcept override;
  bool reaches(const Device &other) const override {
    return other.isHost() || other.id.device_type == kDLCUDA;
  }
  std::string copy(void *to, const Device &toDevice, const void *from,
                   const Device &fromDevice, size_t bytes) override;
  std::string synchronize() override;
  std::string follow(void **stream) override;
  std::string load(const char *image, void **module) override;
  std::string findKernel(void *module, const char *name,
                         void **kernel) override;
  std::string launch(void *kernel, const char *name,
                     const Launch &launch) override;
  bool hasGraphs() const override { return driver.cuGraphCreate != nullptr; }
  std::unique_ptr<DeviceGraph>
  makeGraph(const std::vector<RecordedLaunch> &launches,
            std::string &reason) override;

private:
  class Current;
  class Work;
  class Graph;
  std::string explain(CUresult result, const char *image) const;
  CUresult copyHere(void *to, const Device &toDevice, const void *from,
                    const Device &fromDevice, size_t bytes, CUstream stream);

  const Driver &driver;
  Pool memory;
  std::once_flag once;
  std::string wrong;
  CUcontext context = nullptr;
  // What begins work holds the lock: no other stream is next meanwhile.
  std::mutex order;
  CUstream last = nullptr;
};

// Makes the context of a device that of this thread, for a while.
class CudaDevice::Current {
public:
  explicit Current(CudaDevice &device)
      : driver(device.driver), result(driver.cuCtxPushCurrent(device.context)) {
  }
  Current(const Current &) = delete;
  ~Current() {
    CUcontext popped;
    if (result == CUDA_SUCCESS)
      driver.cuCtxPopCurrent(&popped);
  }

private:
  const Driver &driver;

public:
  const CUresult result;
};

// Begins work of a device on the stream of this thread.
class CudaDevice::Work {
public:
  explicit Work(CudaDevice &device)
      : guard(device.order), current(device),
        stream(static_cast<CUstream>(
            TVMFFIEnvGetStream(kDLCUDA, device.id.device_id))),
        result(current.result) {
    if (RELAX_LIKELY(stream == device.last) || result != CUDA_SUCCESS)
      return;
    result = device.driver.cuCtxSynchronize();
    device.last = stream;
  }

private:
  std::lock_guard<std::mutex> guard;
  Current current;

public:
  const CUstream stream;
  CUresult result;
};

} // namespace

static CUdeviceptr remote(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

void *CudaDevice::allocate(size_t bytes) noexcept {
  Current current(*this);
  CUdeviceptr data = 0;
  if (current.result != CUDA_SUCCESS ||
      driver.cuMemAlloc(&data, bytes) != CUDA_SUCCESS)
    return nullptr;
  return reinterpret_cast<void *>(static_cast<uintptr_t>(data));
}

// The driver may be gone when the process ends: then so is the memory.
void CudaDevice::release(void *data, size_t) noexcept {
  Current current(*this);
  if (current.result == CUDA_SUCCESS)
    driver.cuMemFree(remote(data));
}

// Copies within the memory of devices do not wait by themselves, and none do on
// a stream of a caller.
CUresult CudaDevice::copyHere(void *to, const Device &toDevice,
                              const void *from, const Device &fromDevice,
                              size_t bytes, CUstream stream) {
  if (stream &&
      (toDevice.isHost() || fromDevice.isHost() || &toDevice == &fromDevice)) {
    CUresult begun =
        driver.cuMemcpyAsync(remote(to), remote(from), bytes, stream);
    return begun == CUDA_SUCCESS ? driver.cuStreamSynchronize(stream) : begun;
  }
  if (fromDevice.isHost())
    return driver.cuMemcpyHtoD(remote(to), from, bytes);
  if (toDevice.isHost())
    return driver.cuMemcpyDtoH(to, remote(from), bytes);
  CUresult result;
  if (&toDevice == &fromDevice)
    result = driver.cuMemcpyDtoD(remote(to), remote(from), bytes);
  else
    result = driver.cuMemcpyPeer(
        remote(to), static_cast<const CudaDevice &>(toDevice).context,
        remote(from), static_cast<const CudaDevice &>(fromDevice).context,
        bytes);
  return result == CUDA_SUCCESS ? driver.cuCtxSynchronize() : result;
}

std::string CudaDevice::copy(void *to, const Device &toDevice, const void *from,
                             const Device &fromDevice, size_t bytes) {
  // Work of another device goes on by itself.
  for (const Device *other : {&toDevice, &fromDevice})
    if (other != this && !other->isHost())
      if (std::string wrong = const_cast<Device *>(other)->synchronize();
          !wrong.empty())
        return wrong;
  Work work(*this);
  CUresult result = work.result;
  if (result == CUDA_SUCCESS)
    result = copyHere(to, toDevice, from, fromDevice, bytes, work.stream);
  return driver.words(result, "copy", id);
}

std::string CudaDevice::synchronize() {
  Current current(*this);
  CUresult result = current.result;
  if (result == CUDA_SUCCESS)
    result = driver.cuCtxSynchronize();
  return driver.words(result, "wait", id);
}

std::string CudaDevice::follow(void **stream) {
  Work work(*this);
  *stream = work.stream;
  return driver.words(work.result, "wait", id);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// The word after a directive of PTX such as ".target", "" where there is none.
static std::string findDirective(const char *image, const char *directive) {
  const char *at = std::strstr(image, directive);
  if (!at)
    return "";
  at += std::strlen(directive);
  at += std::strspn(at, " \t");
  return std::string(at, std::strcspn(at, " \t\r\n,"));
}

// Says what a program wants that the device or the driver has not, "" where it
// is not known: code for an architecture such as sm_90a runs on no other one.
std::string CudaDevice::explain(CUresult result, const char *image) const {
  std::string target = findDirective(image, ".target");
  CUdevice device = 0;
  int major = 0, minor = 0, version = 0;
  if (target.compare(0, 3, "sm_") == 0 &&
      driver.cuDeviceGet(&device, id.device_id) == CUDA_SUCCESS &&
      driver.cuDeviceGetAttribute(&major,
                                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                  device) == CUDA_SUCCESS &&
      driver.cuDeviceGetAttribute(&minor,
                                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                  device) == CUDA_SUCCESS) {
    int wanted = std::atoi(target.c_str() + 3), there = 10 * major + minor;
    if (target.back() == 'a' ? wanted != there : wanted > there)
      return "\nthe program is for " + target + ", but the device is sm_" +
             std::to_string(there) + ": compile it with -arch=sm_" +
             std::to_string(there);
  }
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION &&
      driver.cuDriverGetVersion(&version) == CUDA_SUCCESS)
    return "\nthe program is PTX " + findDirective(image, ".version") +
           ", but the driver is older, of CUDA " +
           std::to_string(version / 1000) + "." +
           std::to_string(version % 1000 / 10) + ": install a newer driver";
  return "";
}

// The driver compiles the text for the device, and keeps that on disk.
std::string CudaDevice::load(const char *image, void **module) {
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUmodule loaded = nullptr;
  Current current(*this);
  CUresult result = current.result;
  if (result == CUDA_SUCCESS)
    result = driver.cuModuleLoadDataEx(&loaded, image, 2, options, values);
  *module = loaded;
  std::string wrong = driver.words(result, "load kernels", id);
  if (wrong.empty())
    return wrong;
  return (*log ? wrong + "\n" + log : wrong) + explain(result, image);
}

std::string CudaDevice::findKernel(void *module, const char *name,
                                   void **kernel) {
  CUfunction function = nullptr;
  Current current(*this);
  CUresult result = current.result;
  if (result == CUDA_SUCCESS)
    result = driver.cuModuleGetFunction(&function,
                                        static_cast<CUmodule>(module), name);
  *kernel = function;
  return driver.words(result,
                      (std::string("find kernel '") + name + "'").c_str(), id);
}

static bool isInLimits(const Launch &launch) {
  for (int i = 0; i < 3; ++i)
    if (launch.blocks[i] > (i == 0 ? kMostBlocksInX : kMostBlocks) ||
        launch.blocks[i] < 0 || launch.threads[i] < 1 ||
        launch.threads[i] > kMostBlockThreads)
      return false;
  return launch.sharedBytes >= 0 && launch.sharedBytes <= kMostSharedBytes;
}

static unsigned size(int64_t value) { return static_cast<unsigned>(value); }

namespace {

// Pointers to the parameters of a launch, which it keeps.
struct Params : Scratch<void *, 64> {
  explicit Params(const Launch &launch) : Scratch(launch.numArgs) {
    for (int32_t i = 0; i < launch.numArgs; ++i)
      data()[i] = const_cast<int64_t *>(&launch.args[i]);
  }
};

} // namespace

std::string CudaDevice::launch(void *kernel, const char *name,
                               const Launch &launch) {
  if (!RELAX_LIKELY(isInLimits(launch)))
    return deviceText(id) + ": cannot launch kernel '" + name +
           "': " + sizesText(launch) + " are more than a device can have";
  Params params(launch);
  Work work(*this);
  CUresult result = work.result;
  if (launch.sharedBytes > kSharedBytes && result == CUDA_SUCCESS)
    result = driver.cuFuncSetAttribute(
        static_cast<CUfunction>(kernel),
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        static_cast<int>(launch.sharedBytes));
  if (RELAX_LIKELY(result == CUDA_SUCCESS))
    result = driver.cuLaunchKernel(
        static_cast<CUfunction>(kernel), size(launch.blocks[0]),
        size(launch.blocks[1]), size(launch.blocks[2]), size(launch.threads[0]),
        size(launch.threads[1]), size(launch.threads[2]),
        size(launch.sharedBytes), work.stream, params.data(),
        /*extra=*/nullptr);
  if (RELAX_LIKELY(result == CUDA_SUCCESS))
    return "";
  return driver.words(
      result,
      (std::string("launch kernel '") + name + "' with " + sizesText(launch))
          .c_str(),
      id);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

// A graph, each of whose nodes depends on the one before, and what is made of
// it. The stream that it is launched on orders it among other work.
class CudaDevice::Graph final : public DeviceGraph {
public:
  explicit Graph(CudaDevice &device) : device(device), driver(device.driver) {}
  ~Graph() override;

  std::string make(const std::vector<RecordedLaunch> &launches);
  std::string update(size_t index, const KernelLaunch &launch) override;
  std::string launch() override;

private:
  std::string add(const KernelLaunch &launch);
  std::string words(CUresult result, const char *verb,
                    const KernelLaunch &launch) const;

  CudaDevice &device;
  const Driver &driver;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  std::vector<CUgraphNode> nodes;
};

// What runs may still use it.
CudaDevice::Graph::~Graph() {
  Current current(device);
  if (current.result != CUDA_SUCCESS || !graph)
    return;
  if (exec) {
    driver.cuCtxSynchronize();
    driver.cuGraphExecDestroy(exec);
  }
  driver.cuGraphDestroy(graph);
}

std::string CudaDevice::Graph::words(CUresult result, const char *verb,
                                     const KernelLaunch &launch) const {
  if (RELAX_LIKELY(result == CUDA_SUCCESS))
    return "";
  return driver.words(result,
                      (std::string(verb) + " kernel '" + launch.name +
                       "' with " + sizesText(launch.launch) + " in a graph")
                          .c_str(),
                      device.id);
}

static CUkernelNodeParams nodeParams(const KernelLaunch &launch,
                                     Params &params) {
  const Launch &sizes = launch.launch;
  return {static_cast<CUfunction>(launch.kernel),
          size(sizes.blocks[0]),
          size(sizes.blocks[1]),
          size(sizes.blocks[2]),
          size(sizes.threads[0]),
          size(sizes.threads[1]),
          size(sizes.threads[2]),
          size(sizes.sharedBytes),
          params.data(),
          /*extra=*/nullptr,
          /*kernel=*/nullptr,
          /*context=*/nullptr};
}

std::string CudaDevice::Graph::add(const KernelLaunch &launch) {
  Params params(launch.launch);
  CUkernelNodeParams node = nodeParams(launch, params);
  CUgraphNode added = nullptr;
  CUresult result = driver.cuGraphAddKernelNode(
      &added, graph, nodes.empty() ? nullptr : &nodes.back(), !nodes.empty(),
      &node);
  nodes.push_back(added);
  return words(result, "put", launch);
}

std::string
CudaDevice::Graph::make(const std::vector<RecordedLaunch> &launches) {
  Current current(device);
  CUresult result = current.result;
  if (result == CUDA_SUCCESS)
    result = driver.cuGraphCreate(&graph, /*flags=*/0);
  std::string wrong = driver.words(result, "make a graph", device.id);
  for (size_t i = 0; wrong.empty() && i < launches.size(); ++i)
    wrong = add(launches[i].get());
  if (!wrong.empty())
    return wrong;
  return driver.words(driver.cuGraphInstantiate(&exec, graph, /*flags=*/0),
                      "make a graph", device.id);
}

std::string CudaDevice::Graph::update(size_t index,
                                      const KernelLaunch &launch) {
  Params params(launch.launch);
  CUkernelNodeParams node = nodeParams(launch, params);
  Current current(device);
  CUresult result = current.result;
  if (RELAX_LIKELY(result == CUDA_SUCCESS))
    result = driver.cuGraphSetKernelParams(exec, nodes[index], &node);
  return words(result, "change", launch);
}

std::string CudaDevice::Graph::launch() {
  Work work(device);
  CUresult result = work.result;
  if (RELAX_LIKELY(result == CUDA_SUCCESS))
    result = driver.cuGraphLaunch(exec, work.stream);
  if (RELAX_LIKELY(result == CUDA_SUCCESS))
    return "";
  return driver.words(result,
                      ("launch a graph of " +
                       countText(static_cast<int64_t>(nodes.size()), "kernel"))
                          .c_str(),
                      device.id);
}

std::unique_ptr<DeviceGraph>
CudaDevice::makeGraph(const std::vector<RecordedLaunch> &launches,
                      std::string &reason) {
  auto graph = std::make_unique<Graph>(*this);
  reason = graph->make(launches);
  return reason.empty() ? std::move(graph) : nullptr;
}

//===----------------------------------------------------------------------===//
// All CUDA devices
//===----------------------------------------------------------------------===//

namespace {

struct Cuda {
  Driver driver = {};
  std::string wrong;
  std::vector<CudaDevice *> devices;

  Cuda() : wrong(driver.load(libraryName())) {
    int count = 0;
    if (wrong.empty())
      wrong = driver.words(driver.cuDeviceGetCount(&count), "count the devices",
                           {kDLCUDA, 0});
    if (wrong.empty() && count == 0)
      wrong = "the CUDA driver finds no device";
    for (int i = 0; wrong.empty() && i < count; ++i)
      devices.push_back(new CudaDevice(driver, i));
  }
};

} // namespace

Device *relax_runtime::findCudaDevice(int32_t index, std::string *reason) {
  static Cuda &cuda = *new Cuda(); // never destroyed, as all devices
  std::string wrong = cuda.wrong;
  int32_t count = static_cast<int32_t>(cuda.devices.size());
  if (!wrong.empty())
    wrong = "no device " + deviceText({kDLCUDA, index}) + ": " + wrong;
  else if (index < 0 || index >= count)
    wrong =
        "expected a device from cuda:0 to cuda:" + std::to_string(count - 1) +
        ", but got " + deviceText({kDLCUDA, index});
  else
    wrong = cuda.devices[index]->activate();
  if (RELAX_LIKELY(wrong.empty()))
    return cuda.devices[index];
  if (reason)
    *reason = wrong;
  return nullptr;
}
