//===- OpenCL.cc - Devices of OpenCL ----------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the loader of OpenCL where there is one, on the first use of an OpenCL
// device, and gives the memory of its devices, copies and kernels.
// RELAX_OPENCL_DRIVER names another library to load. Devices of all platforms
// are numbered through, GPUs first. Each has a context and a queue of its own,
// which runs commands in order.
//
// Memory is shared virtual memory, whose addresses are those of the host and of
// the device. Kernels come in SPIR-V; a device that does not take it may take
// the LLVM bitcode that a translator makes of it.
//
// Rationale: drivers are part of the system, so the same runtime serves
// machines with and without one. No header of OpenCL is needed to build it.
//
//===----------------------------------------------------------------------===//

#include "Pool.h"
#include "Spirv.h"

#include <algorithm>
#include <cstdlib>
#include <vector>
#if !defined(_WIN32)
#include <dlfcn.h>
#endif

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

namespace {

// Types, numbers and functions of OpenCL, as its binary interface has them.
using cl_int = int32_t;
using cl_uint = uint32_t;
using cl_bitfield = uint64_t;
using cl_platform_id = struct _cl_platform_id *;
using cl_device_id = struct _cl_device_id *;
using cl_context = struct _cl_context *;
using cl_command_queue = struct _cl_command_queue *;
using cl_program = struct _cl_program *;
using cl_kernel = struct _cl_kernel *;
using cl_event = struct _cl_event *;
constexpr cl_int CL_SUCCESS = 0;
constexpr cl_bitfield CL_DEVICE_TYPE_ALL = 0xFFFFFFFF;
constexpr cl_bitfield CL_DEVICE_TYPE_CPU = 1 << 1, CL_DEVICE_TYPE_GPU = 1 << 2;
constexpr cl_uint CL_PLATFORM_VERSION = 0x0901;
constexpr cl_uint CL_DEVICE_TYPE = 0x1000;
constexpr cl_uint CL_DEVICE_NAME = 0x102B;
constexpr cl_uint CL_DEVICE_EXTENSIONS = 0x1030;
constexpr cl_uint CL_DEVICE_SVM_CAPABILITIES = 0x1053;
constexpr cl_uint CL_DEVICE_IL_VERSION = 0x105B;
constexpr cl_bitfield CL_DEVICE_SVM_COARSE_GRAIN_BUFFER = 1;
constexpr cl_bitfield CL_MEM_READ_WRITE = 1;
constexpr cl_uint CL_PROGRAM_BUILD_LOG = 0x1183;
// Of memory, in bytes.
constexpr cl_uint kAlignment = 64;

struct Driver {
  cl_int (*clGetPlatformIDs)(cl_uint room, cl_platform_id *platforms,
                             cl_uint *count);
  cl_int (*clGetPlatformInfo)(cl_platform_id platform, cl_uint what,
                              size_t room, void *value, size_t *size);
  cl_int (*clGetDeviceIDs)(cl_platform_id platform, cl_bitfield type,
                           cl_uint room, cl_device_id *devices, cl_uint *count);
  cl_int (*clGetDeviceInfo)(cl_device_id device, cl_uint what, size_t room,
                            void *value, size_t *size);
  cl_context (*clCreateContext)(const intptr_t *properties, cl_uint count,
                                const cl_device_id *devices, void *notify,
                                void *data, cl_int *error);
  cl_command_queue (*clCreateCommandQueueWithProperties)(
      cl_context context, cl_device_id device, const uint64_t *properties,
      cl_int *error);
  void *(*clSVMAlloc)(cl_context context, cl_bitfield flags, size_t bytes,
                      cl_uint alignment);
  void (*clSVMFree)(cl_context context, void *memory);
  cl_int (*clEnqueueSVMMemcpy)(cl_command_queue queue, cl_uint isBlocking,
                               void *to, const void *from, size_t bytes,
                               cl_uint numWaits, const cl_event *waits,
                               cl_event *event);
  cl_int (*clFinish)(cl_command_queue queue);
  cl_program (*clCreateProgramWithBinary)(cl_context context, cl_uint count,
                                          const cl_device_id *devices,
                                          const size_t *sizes,
                                          const unsigned char **binaries,
                                          cl_int *status, cl_int *error);
  cl_int (*clBuildProgram)(cl_program program, cl_uint count,
                           const cl_device_id *devices, const char *options,
                           void *notify, void *data);
  cl_int (*clGetProgramBuildInfo)(cl_program program, cl_device_id device,
                                  cl_uint what, size_t room, void *value,
                                  size_t *size);
  cl_int (*clReleaseProgram)(cl_program program);
  cl_kernel (*clCreateKernel)(cl_program program, const char *name,
                              cl_int *error);
  cl_int (*clSetKernelArg)(cl_kernel kernel, cl_uint index, size_t bytes,
                           const void *value);
  cl_int (*clSetKernelArgSVMPointer)(cl_kernel kernel, cl_uint index,
                                     const void *value);
  cl_int (*clEnqueueNDRangeKernel)(cl_command_queue queue, cl_kernel kernel,
                                   cl_uint numDims, const size_t *offset,
                                   const size_t *global, const size_t *local,
                                   cl_uint numWaits, const cl_event *waits,
                                   cl_event *event);

  // NULL where the loader is older than OpenCL 2.1.
  cl_program (*clCreateProgramWithIL)(cl_context context, const void *il,
                                      size_t bytes, cl_int *error);

  // Returns what went wrong, "" where nothing did.
  std::string load(const char *library);
  // What a device or a platform says of itself; "" where it says nothing.
  std::string text(cl_device_id device, cl_uint what) const;
  std::string text(cl_platform_id platform, cl_uint what) const;
  cl_bitfield bits(cl_device_id device, cl_uint what) const;
};

} // namespace

static const char *libraryName() {
  const char *name = std::getenv("RELAX_OPENCL_DRIVER");
  return name && *name ? name : "libOpenCL.so.1";
}

#if defined(_WIN32)
std::string Driver::load(const char *) {
  return "OpenCL is not supported on Windows";
}
#else
std::string Driver::load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return std::string("OpenCL could not be loaded: ") + dlerror();
  const auto find = [&](auto &function, const char *name) {
    void *symbol = dlsym(handle, name);
    std::memcpy(&function, &symbol, sizeof(symbol));
    return symbol != nullptr;
  };
  const char *missing = nullptr;
#define FIND(name)                                                             \
  if (!missing && !find(name, #name))                                          \
  missing = #name
  FIND(clGetPlatformIDs);
  FIND(clGetPlatformInfo);
  FIND(clGetDeviceIDs);
  FIND(clGetDeviceInfo);
  FIND(clCreateContext);
  FIND(clCreateCommandQueueWithProperties);
  FIND(clSVMAlloc);
  FIND(clSVMFree);
  FIND(clEnqueueSVMMemcpy);
  FIND(clFinish);
  FIND(clCreateProgramWithBinary);
  FIND(clBuildProgram);
  FIND(clGetProgramBuildInfo);
  FIND(clReleaseProgram);
  FIND(clCreateKernel);
  FIND(clSetKernelArg);
  FIND(clSetKernelArgSVMPointer);
  FIND(clEnqueueNDRangeKernel);
#undef FIND
  find(clCreateProgramWithIL, "clCreateProgramWithIL");
  if (missing)
    return std::string("the library ") + library + " has no function " +
           missing + " of OpenCL 2.0";
  return "";
}
#endif

// The text that `get(room, value, size)` gives.
template <typename Get> static std::string readText(Get get) {
  size_t size = 0;
  if (get(0, nullptr, &size) != CL_SUCCESS || size == 0)
    return "";
  std::string text(size, '\0');
  if (get(size, text.data(), nullptr) != CL_SUCCESS)
    return "";
  return text.c_str(); // without the zero at the end
}

std::string Driver::text(cl_device_id device, cl_uint what) const {
  return readText([&](size_t room, void *value, size_t *size) {
    return clGetDeviceInfo(device, what, room, value, size);
  });
}

std::string Driver::text(cl_platform_id platform, cl_uint what) const {
  return readText([&](size_t room, void *value, size_t *size) {
    return clGetPlatformInfo(platform, what, room, value, size);
  });
}

cl_bitfield Driver::bits(cl_device_id device, cl_uint what) const {
  cl_bitfield value = 0;
  return clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) ==
                 CL_SUCCESS
             ? value
             : 0;
}

static const char *errorName(cl_int error) {
  switch (error) {
#define NAME(name, number)                                                     \
  case number:                                                                 \
    return #name
    NAME(CL_DEVICE_NOT_FOUND, -1);
    NAME(CL_DEVICE_NOT_AVAILABLE, -2);
    NAME(CL_COMPILER_NOT_AVAILABLE, -3);
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4);
    NAME(CL_OUT_OF_RESOURCES, -5);
    NAME(CL_OUT_OF_HOST_MEMORY, -6);
    NAME(CL_BUILD_PROGRAM_FAILURE, -11);
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14);
    NAME(CL_INVALID_VALUE, -30);
    NAME(CL_INVALID_DEVICE, -33);
    NAME(CL_INVALID_CONTEXT, -34);
    NAME(CL_INVALID_COMMAND_QUEUE, -36);
    NAME(CL_INVALID_BINARY, -42);
    NAME(CL_INVALID_PROGRAM, -44);
    NAME(CL_INVALID_PROGRAM_EXECUTABLE, -45);
    NAME(CL_INVALID_KERNEL_NAME, -46);
    NAME(CL_INVALID_KERNEL, -48);
    NAME(CL_INVALID_ARG_INDEX, -49);
    NAME(CL_INVALID_ARG_VALUE, -50);
    NAME(CL_INVALID_ARG_SIZE, -51);
    NAME(CL_INVALID_KERNEL_ARGS, -52);
    NAME(CL_INVALID_WORK_GROUP_SIZE, -54);
    NAME(CL_INVALID_WORK_ITEM_SIZE, -55);
    NAME(CL_INVALID_OPERATION, -59);
    NAME(CL_INVALID_GLOBAL_WORK_SIZE, -63);
    NAME(CL_PLATFORM_NOT_FOUND_KHR, -1001);
#undef NAME
  default:
    return "an error of OpenCL";
  }
}

// "opencl:0: cannot `verb`: CL_... (-5)", "" for success.
static std::string words(cl_int result, const std::string &verb,
                         DLDevice device) {
  if (RELAX_LIKELY(result == CL_SUCCESS))
    return "";
  return deviceText(device) + ": cannot " + verb + ": " + errorName(result) +
         " (" + std::to_string(result) + ")";
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace {

// A device of a platform.
struct Found {
  cl_platform_id platform;
  cl_device_id device;
};

class OpenCLDevice final : public Device {
public:
  OpenCLDevice(const Driver &driver, const Found &found, int32_t index)
      : Device({kDLOpenCL, index}), driver(driver), found(found),
        memory(*this) {
    pool = &memory;
  }

  // Makes the device ready on first use. Returns what went wrong.
  const std::string &activate() {
    std::call_once(once, [this] { wrong = start(); });
    return wrong;
  }

  void *allocate(size_t bytes) noexcept override;
  void release(void *data, size_t bytes) noexcept override;
  std::string copy(void *to, const Device &toDevice, const void *from,
                   const Device &fromDevice, size_t bytes) override;
  std::string synchronize() override;
  std::string load(const char *image, void **module) override;
  std::string findKernel(void *module, const char *name,
                         void **kernel) override;
  std::string launch(void *kernel, const char *name,
                     const Launch &launch) override;

private:
  std::string start();
  std::string checkCapabilities(std::string_view module) const;
  std::string makeProgram(std::string_view module, cl_program &program) const;
  std::string makeTranslated(std::string_view module,
                             cl_program &program) const;
  std::string buildLog(cl_program program) const;
  cl_int setArguments(cl_kernel kernel, const Launch &launch) const;

  const Driver &driver;
  const Found found;
  Pool memory;
  std::once_flag once;
  std::string wrong;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  // A kernel has its parameters until it is launched.
  std::mutex launching;
};

} // namespace

std::string OpenCLDevice::start() {
  if (!(driver.bits(found.device, CL_DEVICE_SVM_CAPABILITIES) &
        CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
    return deviceText(id) + " (" + driver.text(found.device, CL_DEVICE_NAME) +
           ") has no shared virtual memory, which programs need";
  cl_int error = CL_SUCCESS;
  context = driver.clCreateContext(nullptr, 1, &found.device, nullptr, nullptr,
                                   &error);
  if (error != CL_SUCCESS)
    return words(error, "make a context", id);
  queue = driver.clCreateCommandQueueWithProperties(context, found.device,
                                                    nullptr, &error);
  return words(error, "make a queue", id);
}

void *OpenCLDevice::allocate(size_t bytes) noexcept {
  return driver.clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, kAlignment);
}

// Kernels that were launched may still use it.
void OpenCLDevice::release(void *data, size_t) noexcept {
  driver.clFinish(queue);
  driver.clSVMFree(context, data);
}

std::string OpenCLDevice::copy(void *to, const Device &, const void *from,
                               const Device &, size_t bytes) {
  return words(driver.clEnqueueSVMMemcpy(queue, /*isBlocking=*/1, to, from,
                                         bytes, 0, nullptr, nullptr),
               "copy", id);
}

std::string OpenCLDevice::synchronize() {
  return words(driver.clFinish(queue), "wait", id);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static bool hasWord(const std::string &text, const std::string &word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}

std::string OpenCLDevice::checkCapabilities(std::string_view module) const {
  const std::string extensions =
      driver.text(found.device, CL_DEVICE_EXTENSIONS);
  auto lacks = [&](SpirvCapability capability, const char *extension) {
    return declaresCapability(module, capability) &&
           !hasWord(extensions, extension);
  };
  const char *type = nullptr, *extension = nullptr;
  if (lacks(SpirvCapability::Float16, "cl_khr_fp16"))
    type = "float16", extension = "cl_khr_fp16";
  else if (lacks(SpirvCapability::Float64, "cl_khr_fp64"))
    type = "float64", extension = "cl_khr_fp64";
  if (!type)
    return "";
  return std::string("they compute with ") + type + ", but the device (" +
         driver.text(found.device, CL_DEVICE_NAME) + ") has no " + extension;
}

// The version of LLVM that a platform names, 0 where it names none.
static int llvmVersion(const std::string &platform) {
  size_t at = platform.find("LLVM ");
  return at == std::string::npos ? 0 : std::atoi(platform.c_str() + at + 5);
}

std::string OpenCLDevice::makeTranslated(std::string_view module,
                                         cl_program &program) const {
  const std::string takes = "the device (" +
                            driver.text(found.device, CL_DEVICE_NAME) +
                            ") takes no SPIR-V";
  if (!hasWord(driver.text(found.device, CL_DEVICE_EXTENSIONS), "cl_khr_spir"))
    return takes;
  std::vector<char> bitcode;
  const std::string platform = driver.text(found.platform, CL_PLATFORM_VERSION);
  std::string failed = translateSpirv(module, llvmVersion(platform), bitcode);
  if (!failed.empty())
    return takes + ", and " + failed;
  const auto *binary = reinterpret_cast<const unsigned char *>(bitcode.data());
  const size_t size = bitcode.size();
  cl_int status = CL_SUCCESS, error = CL_SUCCESS;
  program = driver.clCreateProgramWithBinary(context, 1, &found.device, &size,
                                             &binary, &status, &error);
  return error == CL_SUCCESS ? "" : errorName(error);
}

std::string OpenCLDevice::makeProgram(std::string_view module,
                                      cl_program &program) const {
  bool takesIL =
      driver.text(found.device, CL_DEVICE_IL_VERSION).find("SPIR-V") !=
      std::string::npos;
  if (!takesIL || !driver.clCreateProgramWithIL)
    return makeTranslated(module, program);
  cl_int error = CL_SUCCESS;
  program = driver.clCreateProgramWithIL(context, module.data(), module.size(),
                                         &error);
  return error == CL_SUCCESS ? "" : errorName(error);
}

std::string OpenCLDevice::buildLog(cl_program program) const {
  std::string log = readText([&](size_t room, void *value, size_t *size) {
    return driver.clGetProgramBuildInfo(
        program, found.device, CL_PROGRAM_BUILD_LOG, room, value, size);
  });
  return log.empty() ? "" : "\n" + log;
}

std::string OpenCLDevice::load(const char *image, void **module) {
  const std::string prefix = deviceText(id) + ": cannot load kernels: ";
  int64_t size;
  std::memcpy(&size, image, sizeof(size));
  // Words may be read where they are aligned alone.
  std::vector<uint32_t> words(static_cast<size_t>(size) / sizeof(uint32_t));
  std::memcpy(words.data(), image + sizeof(size),
              words.size() * sizeof(uint32_t));
  std::string_view spirv(reinterpret_cast<const char *>(words.data()),
                         words.size() * sizeof(uint32_t));
  cl_program program = nullptr;
  std::string failed = checkCapabilities(spirv);
  if (failed.empty())
    failed = makeProgram(spirv, program);
  if (!failed.empty())
    return prefix + failed;
  cl_int result = driver.clBuildProgram(program, 1, &found.device, nullptr,
                                        nullptr, nullptr);
  *module = program;
  if (result == CL_SUCCESS)
    return "";
  failed = prefix + errorName(result) + buildLog(program);
  driver.clReleaseProgram(program);
  return failed;
}

std::string OpenCLDevice::findKernel(void *module, const char *name,
                                     void **kernel) {
  cl_int error = CL_SUCCESS;
  *kernel =
      driver.clCreateKernel(static_cast<cl_program>(module), name, &error);
  return words(error, std::string("find kernel '") + name + "'", id);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

// Addresses are those of shared virtual memory, other parameters have 64 bits.
cl_int OpenCLDevice::setArguments(cl_kernel kernel,
                                  const Launch &launch) const {
  cl_int result = CL_SUCCESS;
  for (int32_t i = 0; i < launch.numArgs && result == CL_SUCCESS; ++i) {
    auto index = static_cast<cl_uint>(i);
    const int64_t &value = launch.args[i];
    if (launch.kinds[i] == 'p')
      result = driver.clSetKernelArgSVMPointer(
          kernel, index, reinterpret_cast<const void *>(value));
    else
      result = driver.clSetKernelArg(kernel, index, sizeof(value), &value);
  }
  return result;
}

std::string OpenCLDevice::launch(void *kernel, const char *name,
                                 const Launch &launch) {
  size_t global[3], local[3];
  for (int i = 0; i < 3; ++i) {
    local[i] = static_cast<size_t>(launch.threads[i]);
    global[i] = static_cast<size_t>(launch.blocks[i]) * local[i];
  }
  auto *function = static_cast<cl_kernel>(kernel);
  std::lock_guard<std::mutex> lock(launching);
  cl_int result = setArguments(function, launch);
  if (RELAX_LIKELY(result == CL_SUCCESS))
    result = driver.clEnqueueNDRangeKernel(queue, function, 3, nullptr, global,
                                           local, 0, nullptr, nullptr);
  if (RELAX_LIKELY(result == CL_SUCCESS))
    return "";
  return words(result,
               std::string("launch kernel '") + name + "' with " +
                   sizesText(launch),
               id);
}

//===----------------------------------------------------------------------===//
// All OpenCL devices
//===----------------------------------------------------------------------===//

namespace {

struct OpenCL {
  Driver driver = {};
  std::string wrong;
  std::vector<OpenCLDevice *> devices;

  OpenCL();
  std::vector<cl_platform_id> findPlatforms();
  std::vector<Found> findDevices();
  int rank(const Found &found) const;
};

} // namespace

std::vector<cl_platform_id> OpenCL::findPlatforms() {
  cl_uint count = 0;
  std::vector<cl_platform_id> platforms;
  if (driver.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
    return platforms;
  platforms.resize(count);
  if (driver.clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS)
    platforms.clear();
  return platforms;
}

// GPUs come first, and processors last.
int OpenCL::rank(const Found &found) const {
  cl_bitfield type = driver.bits(found.device, CL_DEVICE_TYPE);
  return type & CL_DEVICE_TYPE_GPU ? 0 : type & CL_DEVICE_TYPE_CPU ? 2 : 1;
}

std::vector<Found> OpenCL::findDevices() {
  std::vector<Found> result;
  for (cl_platform_id platform : findPlatforms()) {
    cl_uint count = 0;
    if (driver.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr,
                              &count) != CL_SUCCESS ||
        count == 0)
      continue;
    std::vector<cl_device_id> ids(count);
    if (driver.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(),
                              nullptr) != CL_SUCCESS)
      continue;
    for (cl_device_id device : ids)
      result.push_back({platform, device});
  }
  std::stable_sort(
      result.begin(), result.end(),
      [&](const Found &a, const Found &b) { return rank(a) < rank(b); });
  return result;
}

OpenCL::OpenCL() : wrong(driver.load(libraryName())) {
  if (!wrong.empty())
    return;
  int32_t index = 0;
  for (const Found &found : findDevices())
    devices.push_back(new OpenCLDevice(driver, found, index++));
  if (devices.empty())
    wrong = "OpenCL finds no device";
}

Device *relax_runtime::findOpenCLDevice(int32_t index, std::string *reason) {
  static OpenCL &opencl = *new OpenCL(); // never destroyed, as all devices
  const DLDevice device = {kDLOpenCL, index};
  std::string wrong = opencl.wrong;
  int32_t count = static_cast<int32_t>(opencl.devices.size());
  if (!wrong.empty())
    wrong = "no device " + deviceText(device) + ": " + wrong;
  else if (index < 0 || index >= count)
    wrong = "expected a device from opencl:0 to opencl:" +
            std::to_string(count - 1) + ", but got " + deviceText(device);
  else
    wrong = opencl.devices[static_cast<size_t>(index)]->activate();
  if (RELAX_LIKELY(wrong.empty()))
    return opencl.devices[static_cast<size_t>(index)];
  if (reason)
    *reason = wrong;
  return nullptr;
}
