//===- Tensor.cc - Elements of tensors, constants ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of tensors for kernels and conditions, and constants. Elements
// that are already compact and aligned are never copied.
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

const int64_t *relax_tensor_dims(const TVMFFIAny *value) {
  return getTensor(value)->shape;
}

int32_t relax_tensor_ndim(const TVMFFIAny *value) {
  return getTensor(value)->ndim;
}

int relax_runtime::raiseDevice(const relax_site *site, const char *verb,
                               DLDevice device) noexcept {
  return raiseError(site, "RuntimeError",
                    std::string("cannot ") + verb + " a tensor on " +
                        deviceText(device) + "; only cpu is supported");
}

int relax_runtime::raiseKind(const relax_site *site, const char *kind,
                             const TVMFFIAny *value) noexcept {
  const char *why =
      value->type_index == kTVMFFINone ? ", as a value that was killed is" : "";
  return raiseError(site, "TypeError",
                    std::string("expected ") + kind + ", but got " +
                        describe(value) + why);
}

// Whether the host can read the memory of a tensor.
static bool isOnHost(const DLTensor &tensor) {
  switch (tensor.device.device_type) {
  case kDLCPU:
  case kDLCUDAHost:
  case kDLROCMHost:
  case kDLCUDAManaged:
    return true;
  default:
    return false;
  }
}

RELAX_NOINLINE static int copyCompact(const relax_site *site,
                                      const TVMFFIAny *value, TVMFFIAny *tmp,
                                      void **data) {
  const DLTensor *from = getTensor(value);
  if (!from)
    return raiseKind(site, "a tensor", value);
  if (!isOnHost(*from))
    return raiseDevice(site, "read", from->device);
  if (isCompact(*from) && isAligned(*from)) {
    *data = address(*from);
    return 0;
  }
  if (copyTensor(site, tmp, *from, from->device))
    return -1;
  *data = getTensor(tmp)->data;
  return 0;
}

int relax_tensor_data(const relax_site *site, const TVMFFIAny *value,
                      TVMFFIAny *tmp, void **data) {
  const DLTensor *tensor = getTensor(value);
  if (!RELAX_LIKELY(tensor && tensor->device.device_type == kDLCPU &&
                    isCompact(*tensor) && isAligned(*tensor)))
    return copyCompact(site, value, tmp, data);
  *data = address(*tensor);
  return 0;
}

RELAX_COLD static int raiseNotCompact(const relax_site *site,
                                      const TVMFFIAny *value) noexcept {
  const DLTensor *tensor = getTensor(value);
  if (!tensor)
    return raiseKind(site, "a tensor", value);
  if (tensor->device.device_type != kDLCPU)
    return raiseDevice(site, "update", tensor->device);
  return raiseError(site, "ValueError",
                    "expected a compact, aligned tensor, as the kernel may "
                    "update it in place, but got a strided view: " +
                        describeTensor(*tensor));
}

int relax_tensor_data_inplace(const relax_site *site, const TVMFFIAny *value,
                              void **data) {
  const DLTensor *tensor = getTensor(value);
  if (!RELAX_LIKELY(tensor && tensor->device.device_type == kDLCPU &&
                    isCompact(*tensor) && isAligned(*tensor)))
    return raiseNotCompact(site, value);
  *data = address(*tensor);
  return 0;
}

int relax_tensor_device_data(const relax_site *site, const TVMFFIAny *value,
                             void **data) {
  const DLTensor *tensor = getTensor(value);
  if (!tensor)
    return raiseKind(site, "a tensor", value);
  if (tensor->device.device_type == kDLCPU)
    return raiseError(site, "RuntimeError",
                      "a kernel of another device cannot read a tensor on " +
                          deviceText(tensor->device));
  if (!isCompact(*tensor) || !isAligned(*tensor))
    return raiseError(
        site, "ValueError",
        "expected a compact, aligned tensor on " + deviceText(tensor->device) +
            ", but got a strided view: " + describeTensor(*tensor));
  *data = address(*tensor);
  return 0;
}

int relax_tensor_check_disjoint(const relax_site *site,
                                const TVMFFIAny *updated,
                                const void *updated_data, int32_t index,
                                const TVMFFIAny *other, const void *other_data,
                                int32_t other_index) {
  if (isEmpty(*getTensor(updated)) || isEmpty(*getTensor(other)))
    return 0;
  auto begin = reinterpret_cast<uintptr_t>(updated_data);
  auto other_begin = reinterpret_cast<uintptr_t>(other_data);
  uintptr_t end = begin + ffi::GetDataSize(*getTensor(updated));
  uintptr_t other_end = other_begin + ffi::GetDataSize(*getTensor(other));
  if (end <= other_begin || other_end <= begin)
    return 0;
  return raiseError(site, "ValueError",
                    "argument " + std::to_string(index) +
                        " is updated in place, but shares memory with "
                        "argument " +
                        std::to_string(other_index));
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static bool isOneBoolean(const DLTensor &tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] != 1)
      return false;
  return isBool(tensor.dtype);
}

// A Boolean that is not on a host comes from its device.
RELAX_COLD static int fetchBool(const relax_site *site, const TVMFFIAny *value,
                                int32_t *result) {
  RELAX_SAFE_CALL_BEGIN();
  const DLTensor *tensor = getTensor(value);
  if (!tensor)
    return raiseKind(site, "a Boolean", value);
  if (!isOneBoolean(*tensor))
    return raiseError(site, isBool(tensor->dtype) ? "ValueError" : "TypeError",
                      "expected one Boolean, but got " +
                          describeTensor(*tensor));
  std::string wrong;
  uint8_t byte = 0;
  if (Device *device = findDevice(tensor->device, &wrong))
    wrong = copyBytes(&byte, hostPool().device, address(*tensor), *device, 1);
  if (!wrong.empty())
    return raiseError(site, "RuntimeError", wrong);
  *result = byte != 0;
  RELAX_SAFE_CALL_END();
}

int relax_tensor_bool(const relax_site *site, const TVMFFIAny *value,
                      int32_t *result) {
  if (value->type_index == kTVMFFIBool) {
    *result = value->v_int64 != 0;
    return 0;
  }
  const DLTensor *tensor = getTensor(value);
  if (!RELAX_LIKELY(tensor && isOneBoolean(*tensor) &&
                    tensor->device.device_type == kDLCPU))
    return fetchBool(site, value, result);
  *result = *address(*tensor) != 0;
  return 0;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

// Makes the shared tensor of a constant.
RELAX_COLD static int makeConstant(void **cache, const void *data, int32_t ndim,
                                   const int64_t *dims, DLDataType dtype) {
  TVMFFIObject *tensor =
      makeView(nullptr, const_cast<void *>(data), kHost, ndim, dims, dtype);
  if (!tensor)
    return raiseMemory("a constant of shape " + dimsText(dims, ndim));
  publish(cache, tensor);
  return 0;
}

int relax_constant_get(const relax_site *site, TVMFFIAny *dst, void **cache,
                       const void *data, int32_t ndim, const int64_t *dims,
                       relax_dtype dtype, int32_t fresh) {
  DLDataType type = unpackDType(dtype);
  if (fresh) {
    if (allocTensor(site, dst, ndim, dims, type, hostPool().device))
      return -1;
    const DLTensor &tensor = *getTensor(dst);
    if (size_t bytes = ffi::GetDataSize(tensor))
      std::memcpy(tensor.data, data, bytes);
    return 0;
  }
  std::atomic<void *> &shared = atomicCache(cache);
  if (!RELAX_LIKELY(shared.load(std::memory_order_acquire)) &&
      makeConstant(cache, data, ndim, dims, type))
    return -1;
  assignObject(dst, kTVMFFITensor, shared.load(std::memory_order_acquire));
  return 0;
}
