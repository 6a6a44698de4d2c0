//===- Tensor.cc - Memory and elements of tensors ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors in host memory: allocated, viewed as constants, and made compact for
// kernels. What is already compact and aligned is never copied.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <cstdint>
#include <memory>
#include <new>
#include <tvm/ffi/reflection/registry.h>
#include <vector>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

namespace {

constexpr std::align_val_t kAlignment{64};
constexpr DLDevice kHost{kDLCPU, 0};

struct HostDelete {
  void operator()(void *data) const { ::operator delete(data, kAlignment); }
};
using HostMemory = std::unique_ptr<void, HostDelete>;

// Hands memory that is there already to a tensor, which frees it.
struct AdoptMemory {
  void *data;
  void AllocData(DLTensor *tensor) { tensor->data = data; }
  void FreeData(DLTensor *tensor) { HostDelete()(tensor->data); }
};

// Lets a tensor view memory that outlives it.
struct ViewMemory {
  const void *data;
  void AllocData(DLTensor *tensor) { tensor->data = const_cast<void *>(data); }
  void FreeData(DLTensor *) {}
};

} // namespace

// Multiplies; false when the product is beyond 63 bits.
static bool scale(uint64_t &product, uint64_t factor) {
  if (factor != 0 && product > uint64_t(INT64_MAX) / factor)
    return false;
  product *= factor;
  return true;
}

// Computes the bytes of a compact tensor; false for an unknown data type, a
// negative dimension, and bytes or strides beyond 63 bits. Elements smaller
// than a byte are packed.
static bool countBytes(int32_t ndim, const int64_t *dims, DLDataType dtype,
                       uint64_t *bytes) {
  uint64_t extent = uint64_t(dtype.bits) * dtype.lanes;
  bool isEmpty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    isEmpty |= dims[i] == 0;
    if (dims[i] < 0 || !scale(extent, dims[i] == 0 ? 1 : dims[i]))
      return false;
  }
  if (extent == 0)
    return false;
  *bytes = isEmpty ? 0 : (extent + 7) / 8;
  return true;
}

// Says why there is no such tensor.
RELAX_COLD static int raiseAlloc(const relax_site *site, int32_t ndim,
                                 const int64_t *dims,
                                 DLDataType dtype) noexcept {
  if (dtype.bits == 0 || dtype.lanes == 0)
    return raiseError(site, "ValueError",
                      "cannot allocate a tensor of unknown data type");
  for (int32_t i = 0; i < ndim; ++i)
    if (dims[i] < 0)
      return raiseError(site, "ValueError",
                        "expected dimensions of at least 0, but dimension " +
                            std::to_string(i) + " is " +
                            std::to_string(dims[i]));
  DLTensor tensor = {};
  tensor.ndim = ndim;
  tensor.shape = const_cast<int64_t *>(dims);
  tensor.dtype = dtype;
  return raiseError(site, "MemoryError",
                    "out of memory for " + describeTensor(tensor));
}

// dst = a new compact tensor in host memory.
static int allocHost(const relax_site *site, TVMFFIAny *dst, int32_t ndim,
                     const int64_t *dims, DLDataType dtype, DLDevice device) {
  TVM_FFI_SAFE_CALL_BEGIN();
  uint64_t bytes;
  if (!countBytes(ndim, dims, dtype, &bytes))
    return raiseAlloc(site, ndim, dims, dtype);
  HostMemory memory(::operator new(bytes, kAlignment, std::nothrow));
  if (!memory)
    return raiseAlloc(site, ndim, dims, dtype);
  ffi::Tensor tensor = ffi::Tensor::FromNDAlloc(
      AdoptMemory{memory.get()}, ffi::ShapeView(dims, ndim), dtype, device);
  memory.release();
  owned(dst) = std::move(tensor);
  TVM_FFI_SAFE_CALL_END();
}

RELAX_COLD static int raiseDevice(const relax_site *site, const char *verb,
                                  DLDevice device) noexcept {
  return raiseError(site, "RuntimeError",
                    std::string("cannot ") + verb + " a tensor on " +
                        deviceText(device) + "; only cpu is supported");
}

int relax_tensor_alloc(const relax_site *site, TVMFFIAny *dst, int32_t ndim,
                       const int64_t *dims, relax_dtype dtype,
                       int32_t device_type, int32_t device_id) {
  DLDevice device = TVMFFIDLDeviceFromIntPair(device_type, device_id);
  if (!RELAX_LIKELY(device_type == kDLCPU))
    return raiseDevice(site, "allocate", device);
  return allocHost(site, dst, ndim, dims, unpackDType(dtype), device);
}

// For Python and tests: an uninitialized tensor in host memory.
static ffi::Tensor makeEmpty(ffi::Shape shape, DLDataType dtype) {
  static const relax_site site = {"relax_mlir.runtime.empty", "", "", ""};
  ffi::Any tensor;
  TVM_FFI_CHECK_SAFE_CALL(allocHost(
      &site, reinterpret_cast<TVMFFIAny *>(&tensor),
      static_cast<int32_t>(shape.size()), shape.data(), dtype, kHost));
  return tensor.cast<ffi::Tensor>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("relax_mlir.runtime.empty", makeEmpty);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

const int64_t *relax_tensor_dims(const TVMFFIAny *value) {
  return getTensor(value)->shape;
}

int32_t relax_tensor_ndim(const TVMFFIAny *value) {
  return getTensor(value)->ndim;
}

static bool isEmpty(const DLTensor &tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] == 0)
      return true;
  return false;
}

// Row-major without gaps. The stride of a dimension of size 1 does not matter,
// nor does any stride of an empty tensor.
static bool isCompact(const DLTensor &tensor) {
  if (!tensor.strides)
    return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return isEmpty(tensor);
    expected *= tensor.shape[i];
  }
  return true;
}

static char *address(const DLTensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

// Aligned to the size of an element, or where that is no power of two, to the
// largest power of two in it.
static bool isAligned(const char *data, DLDataType dtype) {
  uintptr_t size = (uintptr_t(dtype.bits) * dtype.lanes + 7) / 8;
  uintptr_t alignment = size & (~size + 1);
  return (reinterpret_cast<uintptr_t>(data) & (alignment - 1)) == 0;
}

namespace {

// A row of elements of `size` bytes, `stride` bytes apart.
struct Row {
  int64_t count;
  int64_t stride;
  int64_t size;
};

} // namespace

template <int64_t Size>
static void copyRow(char *to, const char *from, const Row &row) {
  for (int64_t i = 0; i < row.count; ++i)
    std::memcpy(to + i * Size, from + i * row.stride, Size);
}

static void copyRow(char *to, const char *from, const Row &row) {
  switch (row.size) {
  case 1:
    return copyRow<1>(to, from, row);
  case 2:
    return copyRow<2>(to, from, row);
  case 4:
    return copyRow<4>(to, from, row);
  case 8:
    return copyRow<8>(to, from, row);
  default:
    for (int64_t i = 0; i < row.count; ++i)
      std::memcpy(to + i * row.size, from + i * row.stride, row.size);
  }
}

// Copies the elements of a tensor that is not compact, so has a dimension and
// is not empty, into row-major order: row by row, with the outer dimensions
// counted like an odometer.
static void copyStrided(char *to, const DLTensor &from, int64_t size) {
  int32_t last = from.ndim - 1;
  Row row = {from.shape[last], from.strides[last] * size, size};
  std::vector<int64_t> index(last, 0);
  int64_t offset = 0;
  for (int32_t i = last; i >= 0;) {
    copyRow(to, address(from) + offset, row);
    to += row.count * size;
    for (i = last - 1; i >= 0; --i) {
      offset += from.strides[i] * size;
      if (++index[i] < from.shape[i])
        break;
      offset -= from.shape[i] * from.strides[i] * size;
      index[i] = 0;
    }
  }
}

// to = a compact copy in host memory, on `device`. The copy is complete before
// `to` drops what it held.
static int copyTo(const relax_site *site, TVMFFIAny *to, const DLTensor &from,
                  DLDevice device) {
  TVM_FFI_SAFE_CALL_BEGIN();
  int64_t bits = int64_t(from.dtype.bits) * from.dtype.lanes;
  if (!isCompact(from) && bits % 8 != 0)
    return raiseError(site, "RuntimeError",
                      "cannot copy a strided tensor of " +
                          dtypeText(from.dtype) +
                          ", whose elements are not whole bytes");
  ffi::Any copy;
  TVMFFIAny *slot = reinterpret_cast<TVMFFIAny *>(&copy);
  if (allocHost(site, slot, from.ndim, from.shape, from.dtype, device))
    return -1;
  void *data = getTensor(slot)->data;
  if (!isCompact(from))
    copyStrided(static_cast<char *>(data), from, bits / 8);
  else if (!isEmpty(from))
    std::memcpy(data, address(from), ffi::GetDataSize(from));
  owned(to) = std::move(copy);
  TVM_FFI_SAFE_CALL_END();
}

RELAX_NOINLINE static int copyCompact(const relax_site *site,
                                      const DLTensor &from, TVMFFIAny *tmp,
                                      void **data) {
  if (from.device.device_type != kDLCPU)
    return raiseDevice(site, "copy", from.device);
  if (copyTo(site, tmp, from, from.device))
    return -1;
  *data = getTensor(tmp)->data;
  return 0;
}

int relax_tensor_data(const relax_site *site, const TVMFFIAny *value,
                      TVMFFIAny *tmp, void **data) {
  const DLTensor &tensor = *getTensor(value);
  char *elements = address(tensor);
  if (!RELAX_LIKELY(isCompact(tensor) && isAligned(elements, tensor.dtype)))
    return copyCompact(site, tensor, tmp, data);
  *data = elements;
  return 0;
}

RELAX_COLD static int raiseNotCompact(const relax_site *site,
                                      const DLTensor &tensor) noexcept {
  if (tensor.device.device_type != kDLCPU)
    return raiseDevice(site, "update", tensor.device);
  return raiseError(site, "ValueError",
                    "expected a compact, aligned tensor, as the kernel may "
                    "update it in place, but got a strided view: " +
                        describeTensor(tensor));
}

int relax_tensor_data_inplace(const relax_site *site, const TVMFFIAny *value,
                              void **data) {
  const DLTensor &tensor = *getTensor(value);
  char *elements = address(tensor);
  if (!RELAX_LIKELY(tensor.device.device_type == kDLCPU && isCompact(tensor) &&
                    isAligned(elements, tensor.dtype)))
    return raiseNotCompact(site, tensor);
  *data = elements;
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
// Devices
//===----------------------------------------------------------------------===//

RELAX_COLD static int raiseNoDevice(const relax_site *site,
                                    DLDevice device) noexcept {
  return raiseError(site, "RuntimeError",
                    "no device API for " + deviceText(device) +
                        " in this runtime");
}

static int copyToDevice(const relax_site *site, TVMFFIAny *dst,
                        const TVMFFIAny *src, DLDevice device, int depth);

// A tuple may come from anywhere, so how deep it nests is limited.
static int copyTuple(const relax_site *site, TVMFFIAny *dst,
                     const ffi::ArrayObj *from, DLDevice device, int depth) {
  TVM_FFI_SAFE_CALL_BEGIN();
  constexpr int kDeepest = 1000;
  if (depth >= kDeepest)
    return raiseError(site, "RecursionError",
                      "the tuple nests deeper than " +
                          countText(kDeepest, "level"));
  ffi::Array<ffi::Any> tuple;
  tuple.reserve(static_cast<int64_t>(from->size()));
  for (const ffi::Any &field : *from) {
    ffi::Any copy;
    if (copyToDevice(site, reinterpret_cast<TVMFFIAny *>(&copy),
                     reinterpret_cast<const TVMFFIAny *>(&field), device,
                     depth + 1))
      return -1;
    tuple.push_back(std::move(copy));
  }
  owned(dst) = std::move(tuple);
  TVM_FFI_SAFE_CALL_END();
}

static int copyToDevice(const relax_site *site, TVMFFIAny *dst,
                        const TVMFFIAny *src, DLDevice device, int depth) {
  if (src->type_index == kTVMFFIArray)
    return copyTuple(site, dst, getTuple(src), device, depth);
  const DLTensor *tensor = getTensor(src);
  if (!tensor)
    return raiseError(site, "TypeError",
                      "expected a tensor or a tuple of tensors, but got " +
                          describe(src));
  if (tensor->device.device_type != kDLCPU)
    return raiseNoDevice(site, tensor->device);
  return copyTo(site, dst, *tensor, device);
}

int relax_tensor_to_device(const relax_site *site, TVMFFIAny *dst,
                           const TVMFFIAny *src, int32_t device_type,
                           int32_t device_id) {
  DLDevice device = TVMFFIDLDeviceFromIntPair(device_type, device_id);
  if (device_type != kDLCPU)
    return raiseNoDevice(site, device);
  return copyToDevice(site, dst, src, device, 0);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

RELAX_COLD static int raiseBool(const relax_site *site,
                                const DLTensor &tensor) noexcept {
  if (tensor.device.device_type != kDLCPU)
    return raiseDevice(site, "read", tensor.device);
  return raiseError(site, isBool(tensor.dtype) ? "ValueError" : "TypeError",
                    "expected one Boolean, but got " + describeTensor(tensor));
}

int relax_tensor_bool(const relax_site *site, const TVMFFIAny *value,
                      int32_t *result) {
  if (value->type_index == kTVMFFIBool) {
    *result = value->v_int64 != 0;
    return 0;
  }
  const DLTensor &tensor = *getTensor(value);
  bool isOne = true;
  for (int32_t i = 0; i < tensor.ndim; ++i)
    isOne &= tensor.shape[i] == 1;
  if (!RELAX_LIKELY(isOne && isBool(tensor.dtype) &&
                    tensor.device.device_type == kDLCPU))
    return raiseBool(site, tensor);
  *result = *address(tensor) != 0;
  return 0;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

// Makes the shared tensor of a constant.
RELAX_COLD static int makeConstant(void **cache, const void *data, int32_t ndim,
                                   const int64_t *dims, DLDataType dtype) {
  TVM_FFI_SAFE_CALL_BEGIN();
  ffi::Any tensor = ffi::Tensor::FromNDAlloc(
      ViewMemory{data}, ffi::ShapeView(dims, ndim), dtype, kHost);
  TVMFFIAny *slot = reinterpret_cast<TVMFFIAny *>(&tensor);
  TVMFFIObjectIncRef(slot->v_obj);
  publish(cache, slot->v_obj);
  TVM_FFI_SAFE_CALL_END();
}

int relax_constant_get(const relax_site *site, TVMFFIAny *dst, void **cache,
                       const void *data, int32_t ndim, const int64_t *dims,
                       relax_dtype dtype, int32_t fresh) {
  DLDataType type = unpackDType(dtype);
  if (fresh) {
    if (allocHost(site, dst, ndim, dims, type, kHost))
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
