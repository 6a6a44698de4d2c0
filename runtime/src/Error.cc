//===- Error.cc - Text of errors --------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns values into words and raises them through the error slot of tvm-ffi:
// "function: what: expected E, but got A (at location)".
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

using namespace relax_runtime;

std::string relax_runtime::countText(int64_t count, const char *noun) noexcept {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string relax_runtime::dimsText(const int64_t *dims,
                                    int64_t ndim) noexcept {
  std::string text = "(";
  for (int64_t i = 0; i < ndim; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + (ndim == 1 ? ",)" : ")");
}

std::string relax_runtime::dtypeText(DLDataType dtype) noexcept {
  ffi::Any text;
  if (TVMFFIDataTypeToString(&dtype, reinterpret_cast<TVMFFIAny *>(&text)) == 0)
    if (auto string = text.as<ffi::String>())
      return std::string(string->data(), string->size());
  return "data type with code " + std::to_string(dtype.code);
}

std::string relax_runtime::deviceText(DLDevice device) noexcept {
  static const struct {
    DLDeviceType type;
    const char *name;
  } names[] = {{kDLCPU, "cpu"},
               {kDLCUDA, "cuda"},
               {kDLCUDAHost, "cuda_host"},
               {kDLOpenCL, "opencl"},
               {kDLVulkan, "vulkan"},
               {kDLMetal, "metal"},
               {kDLVPI, "vpi"},
               {kDLROCM, "rocm"},
               {kDLROCMHost, "rocm_host"},
               {kDLExtDev, "ext_dev"},
               {kDLCUDAManaged, "cuda_managed"},
               {kDLOneAPI, "oneapi"},
               {kDLWebGPU, "webgpu"},
               {kDLHexagon, "hexagon"},
               {kDLMAIA, "maia"}};
  std::string index = ":" + std::to_string(device.device_id);
  for (const auto &entry : names)
    if (entry.type == device.device_type)
      return entry.name + index;
  return "device type " + std::to_string(device.device_type) + index;
}

std::string relax_runtime::describeTensor(const DLTensor &tensor) noexcept {
  return "a tensor of rank " + std::to_string(tensor.ndim) + ", " +
         dtypeText(tensor.dtype) + ", shape " +
         dimsText(tensor.shape, tensor.ndim);
}

// The name of a value whose kind says it all.
static std::string describeKind(int32_t typeIndex) {
  switch (typeIndex) {
  case kTVMFFINone:
    return "None";
  case kTVMFFIOpaquePtr:
    return "a pointer";
  case kTVMFFIDataType:
    return "a data type";
  case kTVMFFIDevice:
    return "a device";
  case kTVMFFIRawStr:
  case kTVMFFISmallStr:
  case kTVMFFIStr:
    return "a string";
  case kTVMFFIByteArrayPtr:
  case kTVMFFISmallBytes:
  case kTVMFFIBytes:
    return "bytes";
  case kTVMFFIObjectRValueRef:
    return "a value to be moved";
  case kTVMFFIFunction:
    return "a function";
  case kTVMFFIList:
    return "a list";
  case kTVMFFIBigInt:
    return "an integer beyond int64";
  case kTVMFFIOpaquePyObject:
    return "a Python object of another library";
  default:
    return "an object of type " + ffi::TypeIndexToTypeKey(typeIndex);
  }
}

std::string relax_runtime::describe(const TVMFFIAny *value) noexcept {
  if (const DLTensor *tensor = getTensor(value))
    return describeTensor(*tensor);
  switch (value->type_index) {
  case kTVMFFIInt:
    return "the integer " + std::to_string(value->v_int64);
  case kTVMFFIBool:
    return value->v_int64 ? "the Boolean True" : "the Boolean False";
  case kTVMFFIFloat:
    return "the float " + std::to_string(value->v_float64);
  case kTVMFFIShape: {
    const TVMFFIShapeCell *cell = TVMFFIShapeGetCellPtr(value->v_obj);
    return "a shape of rank " + std::to_string(cell->size) + ", " +
           dimsText(cell->data, static_cast<int64_t>(cell->size));
  }
  case kTVMFFIArray:
    return "a tuple of " + countText(getTupleSize(value), "field");
  default:
    return describeKind(value->type_index);
  }
}

static std::string locationText(const relax_site *site) {
  std::string location = site->location;
  return location.empty() ? location : " (at " + location + ")";
}

void relax_runtime::raiseText(const char *kind, const char *message) noexcept {
  auto bytes = [](const char *text) {
    return TVMFFIByteArray{text, std::strlen(text)};
  };
  TVMFFIByteArray kindBytes = bytes(kind), text = bytes(message),
                  backtrace = bytes("");
  TVMFFIObjectHandle error = nullptr;
  if (TVMFFIErrorCreate(&kindBytes, &text, &backtrace, &error))
    return TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
}

int relax_runtime::raiseInFunction(const relax_site *site, const char *kind,
                                   const std::string &text) noexcept {
  std::string message =
      std::string(site->function) + ": " + text + locationText(site);
  raiseText(kind, message.c_str());
  return -1;
}

int relax_runtime::raiseError(const relax_site *site, const char *kind,
                              const std::string &text) noexcept {
  std::string what = site->what;
  return raiseInFunction(site, kind, what.empty() ? text : what + ": " + text);
}

int relax_runtime::raiseMismatch(const relax_site *site, const char *kind,
                                 const std::string &actual) noexcept {
  return raiseError(site, kind,
                    std::string("expected ") + site->expected + ", but got " +
                        actual);
}

// A `DLTensor*` is only valid during the call it was passed to.
int relax_runtime::raiseBorrowed(const relax_site *site,
                                 const char *verb) noexcept {
  return raiseError(site, "TypeError",
                    std::string("a tensor that was passed as a borrowed view "
                                "cannot be ") +
                        verb + ", pass `tvm_ffi.from_dlpack(x)` instead");
}

static int raiseMessage(const relax_site *site, const char *kind,
                        const char *message) noexcept {
  return raiseError(site, kind, message);
}

int relax_error_raise(const relax_site *site, const char *kind,
                      const char *message) {
  return raiseMessage(site, kind, message);
}
