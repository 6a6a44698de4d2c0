//===- DriverKernels.cc - Modules and launches of the driver of tests  -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules of PTX, launches, streams and events. All work is done when it is
// asked for.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// What tests look at
//===----------------------------------------------------------------------===//

static std::atomic<int> numModules{0};
static std::atomic<long long> numLaunches{0}, numCalls{0}, numSteps{0};
static std::vector<unsigned> launchSizes;
static std::vector<int64_t> launchParams;
static std::string launchName;
static std::set<std::string> launchNames;
static Stream *launchStream = nullptr;

EXPORT int relax_ptx_modules() { return numModules; }
EXPORT const char *relax_ptx_launch_name() { return launchName.c_str(); }
EXPORT Stream *relax_ptx_launch_stream() { return launchStream; }
EXPORT Stream *relax_ptx_make_stream() { return new Stream{nullptr}; }
EXPORT const unsigned *relax_ptx_launch_sizes() { return launchSizes.data(); }
EXPORT const int64_t *relax_ptx_launch_params() { return launchParams.data(); }

// Kernels that ran, their names, calls that launched one, and instructions of
// warps, since the start or the last reset.
EXPORT long long relax_ptx_launches() { return numLaunches; }
EXPORT const char *relax_ptx_launch_names() {
  static std::string lines;
  lines.clear();
  for (const std::string &name : launchNames)
    lines += name + "\n";
  return lines.c_str();
}
EXPORT long long relax_ptx_calls() { return numCalls; }
EXPORT long long relax_ptx_steps() { return numSteps; }
EXPORT void relax_ptx_reset() {
  numLaunches = numCalls = numSteps = 0;
  launchNames.clear();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {
struct LoadedModule;
} // namespace

struct relax_ptx::Kernel {
  LoadedModule *module;
  const Function *entry;
  int mostDynamicBytes;
};

namespace {

struct LoadedModule {
  Context *context;
  Module program;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

// Where the options of a load want its errors.
struct ErrorLog {
  char *text = nullptr;
  size_t size = 1024;

  ErrorLog(unsigned count, const int *options, void *const *values) {
    constexpr int kBuffer = 5, kSize = 6;
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kBuffer)
        text = static_cast<char *>(values[i]);
      else if (options[i] == kSize)
        size = reinterpret_cast<uintptr_t>(values[i]);
  }
  Result write(Result result, const std::string &message) const {
    if (text && size)
      std::snprintf(text, size, "%s", message.c_str());
    return result;
  }
};

} // namespace

static bool placeGlobals(LoadedModule &module) {
  Memory &memory = driver().memory;
  std::vector<GlobalVariable> &globals = module.program.globals;
  for (GlobalVariable &global : globals) {
    global.address = memory.allocate(global.bytes.size(), module.context);
    if (!global.address)
      return false;
  }
  for (GlobalVariable &global : globals) {
    for (const GlobalVariable::Address &address : global.addresses) {
      uint64_t value = globals[address.variable].address + address.offset;
      std::memcpy(&global.bytes[address.place], &value, sizeof(value));
    }
    Allocation *place = memory.find(global.address, global.bytes.size());
    std::copy(global.bytes.begin(), global.bytes.end(), place->host);
  }
  return true;
}

// Blanks a line of an image: mutation tests look whether that is noticed.
static std::string removeLine(std::string image, int64_t line) {
  size_t begin = 0;
  for (; line > 1 && begin != std::string::npos; --line)
    begin = image.find('\n', begin) + 1;
  for (size_t i = begin; i < image.size() && image[i] != '\n'; ++i)
    image[i] = ' ';
  return image;
}

EXPORT Result cuModuleLoadDataEx(LoadedModule **module, const void *image,
                                 unsigned numOptions, int *options,
                                 void **values) {
  ErrorLog log(numOptions, options, values);
  Lock guard(driver().lock);
  ++numModules;
  if (!currentContext())
    return kContext;
  auto loaded = std::make_unique<LoadedModule>();
  loaded->context = currentContext();
  Module &program = loaded->program;
  int64_t removed = setting("RELAX_PTX_REMOVE", 0);
  std::string text = static_cast<const char *>(image);
  if (removed > 0)
    text = removeLine(std::move(text), removed);
  try {
    parse(text.c_str(), program);
    link(program);
  } catch (const SyntaxError &error) {
    return log.write(kInvalidPTX,
                     "line " + std::to_string(error.line) + ": " + error.text);
  }
  if (program.version > kNewestPTX)
    return log.write(kUnsupportedPTX, "");
  if (program.isSpecific ? program.arch != deviceArch()
                         : program.arch > deviceArch())
    return log.write(kNoBinary, "the code is for sm_" +
                                    std::to_string(program.arch) +
                                    ", but the device is sm_" +
                                    std::to_string(deviceArch()));
  if (!placeGlobals(*loaded))
    return kOutOfMemory;
  for (const Function &function : program.functions)
    if (function.isEntry)
      loaded->kernels.push_back(std::make_unique<Kernel>(Kernel{
          loaded.get(), &function,
          static_cast<int>(kSharedBytes -
                           std::min(kSharedBytes, function.sharedBytes))}));
  *module = loaded.release();
  return kSuccess;
}

EXPORT Result cuModuleLoadData(LoadedModule **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

EXPORT Result cuModuleUnload(LoadedModule *module) {
  Lock guard(driver().lock);
  for (const GlobalVariable &global : module->program.globals)
    driver().memory.release(global.address);
  delete module;
  return kSuccess;
}

EXPORT Result cuModuleGetFunction(Kernel **kernel, LoadedModule *module,
                                  const char *name) {
  for (const std::unique_ptr<Kernel> &found : module->kernels)
    if (found->entry->name == name) {
      *kernel = found.get();
      return kSuccess;
    }
  return kNotFound;
}

EXPORT Result cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes,
                                   LoadedModule *module, const char *name) {
  for (const GlobalVariable &global : module->program.globals)
    if (global.name == name) {
      if (address)
        *address = global.address;
      if (bytes)
        *bytes = global.bytes.size();
      return kSuccess;
    }
  return kNotFound;
}

namespace {
enum FunctionAttribute {
  kMostThreadsOf = 0,
  kSharedBytesOf = 1,
  kLocalBytesOf = 3,
  kRegistersOf = 4,
  kArchOf = 6,
  kMostDynamicBytesOf = 8
};
} // namespace

EXPORT Result cuFuncSetAttribute(Kernel *kernel, int attribute, int value) {
  if (attribute != kMostDynamicBytesOf)
    return kSuccess;
  int most = static_cast<int>(kMostSharedBytes - kernel->entry->sharedBytes);
  if (value < 0 || value > most)
    return kInvalid;
  kernel->mostDynamicBytes = value;
  return kSuccess;
}

EXPORT Result cuFuncGetAttribute(int *value, int attribute, Kernel *kernel) {
  const Function &entry = *kernel->entry;
  switch (attribute) {
  case kMostThreadsOf:
    *value = static_cast<int>(entry.mostThreads);
    return kSuccess;
  case kSharedBytesOf:
    *value = static_cast<int>(entry.sharedBytes);
    return kSuccess;
  case kLocalBytesOf:
    *value = static_cast<int>(entry.allFrameBytes);
    return kSuccess;
  case kRegistersOf:
    *value = 32;
    return kSuccess;
  case kArchOf:
    *value = deviceArch();
    return kSuccess;
  case kMostDynamicBytesOf:
    *value = kernel->mostDynamicBytes;
    return kSuccess;
  default:
    *value = 0;
    return attribute >= 0 ? kSuccess : kInvalid;
  }
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

// Returns what the driver would not accept, "" where it would.
static std::string refusal(const Kernel &kernel, const LaunchSizes &sizes) {
  static const uint32_t kGrid[] = {INT32_MAX, 65535, 65535},
                        kBlock[] = {1024, 1024, 64};
  const Function &entry = *kernel.entry;
  for (int i = 0; i < 3; ++i)
    if (sizes.grid[i] == 0 || sizes.grid[i] > kGrid[i] || sizes.block[i] == 0 ||
        sizes.block[i] > kBlock[i])
      return "the sizes are not those of a launch";
  uint32_t threads = sizes.block[0] * sizes.block[1] * sizes.block[2];
  if (threads > std::min(entry.mostThreads, 1024u))
    return std::to_string(threads) + " threads are more than " +
           std::to_string(std::min(entry.mostThreads, 1024u));
  if (entry.threads[0] &&
      !std::equal(entry.threads, entry.threads + 3, sizes.block))
    return "the threads are not those of .reqntid";
  if (sizes.sharedBytes > static_cast<uint32_t>(kernel.mostDynamicBytes) ||
      sizes.sharedBytes + entry.sharedBytes > kMostSharedBytes)
    return std::to_string(sizes.sharedBytes) + " bytes of shared memory with " +
           std::to_string(entry.sharedBytes) + " of its own are too many";
  return "";
}

static std::vector<uint8_t> gatherParams(const Function &entry, void **params) {
  std::vector<uint8_t> bytes(entry.paramBytes);
  launchParams.clear();
  for (size_t i = 0; i < entry.params.size(); ++i) {
    const Param &param = entry.params[i];
    std::memcpy(&bytes[param.offset], params[i], param.bytes);
    int64_t value = 0;
    std::memcpy(&value, params[i], std::min<size_t>(param.bytes, 8));
    launchParams.push_back(value);
  }
  // Kernels without a body are those of tests, which have two parameters.
  for (int i = 0; i < 2 && !entry.hasBody; ++i)
    launchParams.push_back(*static_cast<int64_t *>(params[i]));
  return bytes;
}

static Result runKernel(const Kernel &kernel, const LaunchSizes &sizes,
                        const std::vector<uint8_t> &params) {
  Lock guard(driver().lock);
  ++numLaunches;
  if (!kernel.entry->hasBody)
    return kSuccess;
  Machine machine(kernel.module->program, *kernel.entry, driver().memory,
                  kernel.module->context, sizes, params);
  std::string message;
  Result result = machine.run(message);
  numSteps += static_cast<long long>(machine.steps);
  return result == kSuccess ? kSuccess : wrong(result, message);
}

Result relax_ptx::prepareLaunch(Kernel *kernel, const LaunchSizes &sizes,
                                void **params, void **extra, Step *step) {
  if (!kernel || currentContext() != kernel->module->context)
    return kContext;
  std::string refused = refusal(*kernel, sizes);
  if (!refused.empty() || extra)
    return wrong(kInvalid, "kernel '" + kernel->entry->name +
                               "': " + (extra ? "extra parameters" : refused));
  Lock guard(driver().lock);
  launchName = kernel->entry->name;
  launchNames.insert(launchName);
  launchSizes = {sizes.grid[0],    sizes.grid[1],  sizes.grid[2],
                 sizes.block[0],   sizes.block[1], sizes.block[2],
                 sizes.sharedBytes};
  std::vector<uint8_t> bytes = gatherParams(*kernel->entry, params);
  *step = [=] { return runKernel(*kernel, sizes, bytes); };
  return kSuccess;
}

EXPORT Result cuLaunchKernel(Kernel *kernel, unsigned gridX, unsigned gridY,
                             unsigned gridZ, unsigned blockX, unsigned blockY,
                             unsigned blockZ, unsigned sharedBytes,
                             Stream *stream, void **params, void **extra) {
  LaunchSizes sizes = {
      {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes};
  Step step;
  Result refused = prepareLaunch(kernel, sizes, params, extra, &step);
  if (refused)
    return refused;
  ++numCalls;
  launchStream = stream;
  return enqueue(stream, std::move(step));
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

namespace {
struct Event {
  std::chrono::steady_clock::time_point time;
};
} // namespace

EXPORT Result cuStreamCreate(Stream **stream, unsigned) {
  if (!currentContext())
    return kContext;
  *stream = new Stream{currentContext()};
  return kSuccess;
}
EXPORT Result cuStreamDestroy_v2(Stream *stream) {
  delete stream;
  return kSuccess;
}
EXPORT Result cuStreamSynchronize(Stream *stream) {
  return stream && stream->capture ? kCaptureUnsupported : kSuccess;
}
EXPORT Result cuStreamQuery(Stream *) { return kSuccess; }
EXPORT Result cuStreamWaitEvent(Stream *, Event *, unsigned) {
  return kSuccess;
}

EXPORT Result cuEventCreate(Event **event, unsigned) {
  *event = new Event{};
  return currentContext() ? kSuccess : kContext;
}
EXPORT Result cuEventRecord(Event *event, Stream *) {
  event->time = std::chrono::steady_clock::now();
  return kSuccess;
}
EXPORT Result cuEventSynchronize(Event *) { return kSuccess; }
EXPORT Result cuEventQuery(Event *) { return kSuccess; }
EXPORT Result cuEventElapsedTime(float *milliseconds, Event *begin,
                                 Event *end) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return kSuccess;
}
EXPORT Result cuEventDestroy_v2(Event *event) {
  delete event;
  return kSuccess;
}
