//===- Storage.cc - Memory for tensors --------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocates tensors and storage, lays out tensors in storage, and views tensors
// in other shapes.
//
//===----------------------------------------------------------------------===//

#include "Recording.h"
#include "Tensor.h"

#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

// Says why there is no such shape. Returns -1.
RELAX_COLD static int raiseShape(const relax_site *site, int32_t ndim,
                                 const int64_t *dims,
                                 DLDataType dtype) noexcept {
  if (dtype.bits == 0 || dtype.lanes == 0)
    return raiseError(site, "ValueError",
                      "cannot allocate a tensor of unknown data type");
  if (ndim < 0)
    return raiseError(site, "ValueError",
                      "expected a rank of at least 0, but got " +
                          std::to_string(ndim));
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
  return raiseMemory(site, describeTensor(tensor));
}

// What writes memory of the host would have to run again.
static void noteHostMemory(const Device &device) noexcept {
  if (device.isHost())
    refuseRecording("it computes on the host");
}

// On a device that is not a host: storage, and a view of all of it.
static TVMFFIObject *makeRemoteTensor(Device &device, int32_t ndim,
                                      const int64_t *dims, DLDataType dtype,
                                      uint64_t bytes) noexcept {
  TVMFFIObject *storage = makeStorage(*device.pool, bytes);
  if (!storage)
    return nullptr;
  TVMFFIAny value = ownedValue(storage);
  TVMFFIObject *tensor = makeView(storage, StorageObj::get(&value)->data,
                                  device.id, ndim, dims, dtype);
  TVMFFIObjectDecRef(storage);
  return tensor;
}

int relax_runtime::allocTensor(const relax_site *site, TVMFFIAny *dst,
                               int32_t ndim, const int64_t *dims,
                               DLDataType dtype, Device &device) {
  uint64_t bytes;
  if (!RELAX_LIKELY(countBytes(ndim, dims, dtype, &bytes)))
    return raiseShape(site, ndim, dims, dtype);
  noteHostMemory(device);
  TVMFFIObject *tensor =
      RELAX_LIKELY(device.isHost())
          ? makeTensor(*device.pool, ndim, dims, dtype, bytes)
          : makeRemoteTensor(device, ndim, dims, dtype, bytes);
  if (!RELAX_LIKELY(tensor != nullptr))
    return raiseShape(site, ndim, dims, dtype);
  assignOwned(dst, ownedValue(tensor));
  return 0;
}

int relax_tensor_alloc(const relax_site *site, TVMFFIAny *dst, int32_t ndim,
                       const int64_t *dims, relax_dtype dtype,
                       int32_t device_type, int32_t device_id) {
  RELAX_SAFE_CALL_BEGIN();
  Device *device = getDevice(site, device_type, device_id);
  if (!RELAX_LIKELY(device != nullptr))
    return -1;
  return allocTensor(site, dst, ndim, dims, unpackDType(dtype), *device);
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

int relax_storage_alloc(const relax_site *site, TVMFFIAny *dst, int64_t bytes,
                        int32_t device_type, int32_t device_id) {
  RELAX_SAFE_CALL_BEGIN();
  if (!RELAX_LIKELY(bytes >= 0))
    return raiseError(site, "ValueError",
                      "expected storage of at least 0 bytes, but got " +
                          std::to_string(bytes));
  Device *device = getDevice(site, device_type, device_id);
  if (!RELAX_LIKELY(device != nullptr))
    return -1;
  noteHostMemory(*device);
  TVMFFIObject *storage =
      makeStorage(*device->pool, static_cast<uint64_t>(bytes));
  if (!RELAX_LIKELY(storage != nullptr))
    return raiseMemory(site, "storage of " + countText(bytes, "byte") + " on " +
                                 deviceText(device->id));
  assignOwned(dst, ownedValue(storage));
  RELAX_SAFE_CALL_END();
}

void *relax_storage_data(const TVMFFIAny *storage) {
  StorageObj *held = StorageObj::get(storage);
  return held ? held->data : nullptr;
}

// Says why a tensor cannot be laid out so. Returns -1.
RELAX_COLD static int raiseLayout(const relax_site *site,
                                  const StorageObj &storage, int64_t offset,
                                  int32_t ndim, const int64_t *dims,
                                  DLDataType dtype) noexcept {
  uint64_t bytes;
  if (!countBytes(ndim, dims, dtype, &bytes))
    return raiseShape(site, ndim, dims, dtype);
  if (offset < 0)
    return raiseError(site, "ValueError",
                      "expected an offset of at least 0, but got " +
                          std::to_string(offset));
  int64_t alignment = static_cast<int64_t>(findAlignment(dtype));
  if (offset % alignment != 0)
    return raiseError(site, "ValueError",
                      "expected an offset that is a multiple of " +
                          countText(alignment, "byte") + " for " +
                          dtypeText(dtype) + ", but got " +
                          std::to_string(offset));
  return raiseError(site, "ValueError",
                    "the storage is too small: " + dtypeText(dtype) +
                        " of shape " + dimsText(dims, ndim) + " needs " +
                        countText(static_cast<int64_t>(bytes), "byte") +
                        " at offset " + std::to_string(offset) +
                        ", but there are " + std::to_string(storage.bytes));
}

int relax_tensor_from_storage(const relax_site *site, TVMFFIAny *dst,
                              const TVMFFIAny *storage, int64_t offset,
                              int32_t ndim, const int64_t *dims,
                              relax_dtype dtype) {
  StorageObj *held = StorageObj::get(storage);
  if (!RELAX_LIKELY(held != nullptr))
    return raiseKind(site, "a storage", storage);
  DLDataType type = unpackDType(dtype);
  uint64_t bytes;
  if (!RELAX_LIKELY(countBytes(ndim, dims, type, &bytes) && offset >= 0 &&
                    offset <= held->bytes &&
                    bytes <= uint64_t(held->bytes - offset) &&
                    (uintptr_t(offset) & (findAlignment(type) - 1)) == 0))
    return raiseLayout(site, *held, offset, ndim, dims, type);
  TVMFFIObject *tensor =
      makeView(storage->v_obj, static_cast<char *>(held->data) + offset,
               held->device, ndim, dims, type);
  if (!RELAX_LIKELY(tensor != nullptr))
    return raiseShape(site, ndim, dims, type);
  assignOwned(dst, ownedValue(tensor));
  return 0;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

// The number of elements; false for a negative dimension and beyond 63 bits.
static bool countElements(int32_t ndim, const int64_t *dims, uint64_t *count) {
  return countBytes(ndim, dims, DLDataType{kDLInt, 8, 1}, count);
}

// A view of memory without an owner, or that is not compact, is one of a
// compact copy.
RELAX_NOINLINE static int viewCopy(const relax_site *site, TVMFFIAny *dst,
                                   const DLTensor &tensor, int32_t ndim,
                                   const int64_t *dims) {
  ffi::Any copy;
  TVMFFIAny *slot = reinterpret_cast<TVMFFIAny *>(&copy);
  if (copyTensor(site, slot, tensor, tensor.device))
    return -1;
  return relax_tensor_view(site, dst, slot, ndim, dims);
}

// A negative dimension, or more elements than can be counted.
RELAX_COLD static int raiseViewShape(const relax_site *site,
                                     const DLTensor &tensor, int32_t ndim,
                                     const int64_t *dims) noexcept {
  for (int32_t i = 0; i < ndim; ++i)
    if (dims[i] < 0)
      return raiseShape(site, ndim, dims, tensor.dtype);
  return raiseError(site, "ValueError",
                    "cannot view " + describeTensor(tensor) + " in the shape " +
                        dimsText(dims, ndim) +
                        ", which has more elements than can be counted");
}

int relax_tensor_view(const relax_site *site, TVMFFIAny *dst,
                      const TVMFFIAny *tensor, int32_t ndim,
                      const int64_t *dims) {
  const DLTensor *held = getTensor(tensor);
  if (!RELAX_LIKELY(held != nullptr))
    return raiseKind(site, "a tensor", tensor);
  uint64_t count, heldCount;
  if (!RELAX_LIKELY(countElements(ndim, dims, &count)))
    return raiseViewShape(site, *held, ndim, dims);
  if (!RELAX_LIKELY(countElements(held->ndim, held->shape, &heldCount) &&
                    count == heldCount))
    return raiseError(site, "ValueError",
                      "cannot view " + describeTensor(*held) +
                          " in the shape " + dimsText(dims, ndim) +
                          ", which has " +
                          countText(static_cast<int64_t>(count), "element"));
  if (!RELAX_LIKELY(tensor->type_index == kTVMFFITensor && isCompact(*held)))
    return viewCopy(site, dst, *held, ndim, dims);
  TVMFFIObject *view = makeView(findOwner(tensor->v_obj), address(*held),
                                held->device, ndim, dims, held->dtype);
  if (!RELAX_LIKELY(view != nullptr))
    return raiseShape(site, ndim, dims, held->dtype);
  assignOwned(dst, ownedValue(view));
  return 0;
}

//===----------------------------------------------------------------------===//
// Python and tests
//===----------------------------------------------------------------------===//

// An uninitialized tensor in host memory.
static ffi::Tensor makeEmpty(ffi::Shape shape, DLDataType dtype) {
  static const relax_site site = {"relax_mlir.runtime.empty", "", "", ""};
  ffi::Any tensor;
  TVM_FFI_CHECK_SAFE_CALL(allocTensor(&site,
                                      reinterpret_cast<TVMFFIAny *>(&tensor),
                                      static_cast<int32_t>(shape.size()),
                                      shape.data(), dtype, hostPool().device));
  return tensor.cast<ffi::Tensor>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("relax_mlir.runtime.empty", makeEmpty);
}
