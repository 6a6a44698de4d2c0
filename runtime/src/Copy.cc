//===- Copy.cc - Copies of tensors, to devices too --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compact copies of tensors of any layout, and copies to and from devices, of
// tuples too.
//
//===----------------------------------------------------------------------===//

#include "Recording.h"
#include "StridedCopy.h"
#include "Tensor.h"

#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Strided elements
//===----------------------------------------------------------------------===//

// Copies the elements of a tensor that is not compact, so has a dimension and
// is not empty, into row-major order: row by row, with the outer dimensions
// counted like an odometer.
static void copyElements(char *to, const DLTensor &from, int64_t size) {
  int32_t last = from.ndim - 1;
  int64_t count = from.shape[last], stride = from.strides[last] * size;
  Scratch<int64_t, 16> index(last);
  std::fill_n(index.data(), last, 0);
  int64_t offset = 0;
  for (int32_t i = last; i >= 0;) {
    copyStrided({to, size}, {address(from) + offset, stride}, size, count);
    to += count * size;
    for (i = last - 1; i >= 0; --i) {
      offset += from.strides[i] * size;
      if (++index[i] < from.shape[i])
        break;
      offset -= from.shape[i] * from.strides[i] * size;
      index[i] = 0;
    }
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

// A compact copy on a host, of a tensor that is on one but not compact.
static int copyHost(const relax_site *site, TVMFFIAny *to, const DLTensor &from,
                    Device &device) {
  int64_t bits = int64_t(from.dtype.bits) * from.dtype.lanes;
  if (from.device.device_type != kDLCPU)
    return raiseDevice(site, "copy a strided view of", from.device);
  if (bits % 8 != 0)
    return raiseError(site, "RuntimeError",
                      "cannot copy a strided tensor of " +
                          dtypeText(from.dtype) +
                          ", whose elements are not whole bytes");
  if (allocTensor(site, to, from.ndim, from.shape, from.dtype, device))
    return -1;
  copyElements(static_cast<char *>(getTensor(to)->data), from, bits / 8);
  return 0;
}

static int copyCompact(const relax_site *site, TVMFFIAny *to,
                       const DLTensor &from, Device &fromDevice,
                       Device &device) {
  if (allocTensor(site, to, from.ndim, from.shape, from.dtype, device))
    return -1;
  std::string wrong =
      copyBytes(getTensor(to)->data, device, address(from), fromDevice,
                isEmpty(from) ? 0 : ffi::GetDataSize(from));
  return wrong.empty() ? 0 : raiseError(site, "RuntimeError", wrong);
}

// The copy is complete before `to` drops what it held.
int relax_runtime::copyTensor(const relax_site *site, TVMFFIAny *to,
                              const DLTensor &from, DLDevice device) {
  RELAX_SAFE_CALL_BEGIN();
  Device *target = getDevice(site, device.device_type, device.device_id);
  if (!target)
    return -1;
  Device *source =
      getDevice(site, from.device.device_type, from.device.device_id);
  if (!source)
    return -1;
  ffi::Any copy, staged;
  TVMFFIAny *slot = reinterpret_cast<TVMFFIAny *>(&copy);
  TVMFFIAny *stage = reinterpret_cast<TVMFFIAny *>(&staged);
  if (isCompact(from)) {
    if (copyCompact(site, slot, from, *source, *target))
      return -1;
  } else if (target->isHost()) {
    if (copyHost(site, slot, from, *target))
      return -1;
  } else if (copyHost(site, stage, from, *source) ||
             copyCompact(site, slot, *getTensor(stage), *source, *target)) {
    return -1;
  }
  owned(to) = std::move(copy);
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

static int copyToDevice(const relax_site *site, TVMFFIAny *dst,
                        const TVMFFIAny *src, DLDevice device, int depth);

// A tuple may come from anywhere, so how deep it nests is limited.
static int copyTuple(const relax_site *site, TVMFFIAny *dst,
                     const ffi::ArrayObj *from, DLDevice device, int depth) {
  RELAX_SAFE_CALL_BEGIN();
  constexpr int kDeepest = 1000;
  if (depth >= kDeepest)
    return raiseError(site, "RecursionError",
                      "the tuple nests deeper than " +
                          countText(kDeepest, "level"));
  ffi::Any tuple;
  ffi::Any *fields;
  int64_t size = static_cast<int64_t>(from->size());
  if (allocTuple(site, reinterpret_cast<TVMFFIAny *>(&tuple), size, &fields))
    return -1;
  for (int64_t i = 0; i < size; ++i)
    if (copyToDevice(site, reinterpret_cast<TVMFFIAny *>(&fields[i]),
                     reinterpret_cast<const TVMFFIAny *>(from->begin() + i),
                     device, depth + 1))
      return -1;
  owned(dst) = std::move(tuple);
  RELAX_SAFE_CALL_END();
}

static int copyToDevice(const relax_site *site, TVMFFIAny *dst,
                        const TVMFFIAny *src, DLDevice device, int depth) {
  if (src->type_index == kTVMFFIArray)
    return copyTuple(site, dst, getTuple(src), device, depth);
  const DLTensor *tensor = getTensor(src);
  if (!tensor)
    return raiseKind(site, "a tensor or a tuple of tensors", src);
  return copyTensor(site, dst, *tensor, device);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {

// The copies of constants, by the object of the constant. It is gone where the
// weak reference says so, also where another object has its address.
class ConstantCopies {
public:
  struct Entry {
    ffi::WeakObjectPtr<ffi::Object> constant;
    Device *device;
    ffi::Any copy;
  };

  // The copy; NULL where there is none.
  const ffi::Any *find(ffi::Object *constant, const Device &device) {
    auto [begin, end] = entries.equal_range(constant);
    for (auto it = begin; it != end; ++it)
      if (it->second.device == &device && !it->second.constant.expired())
        return &it->second.copy;
    return nullptr;
  }

  const ffi::Any &add(ffi::ObjectPtr<ffi::Object> constant, Device &device,
                      ffi::Any copy) {
    for (auto it = entries.begin(); it != entries.end();)
      it = it->second.constant.expired() ? entries.erase(it) : std::next(it);
    Entry entry{ffi::WeakObjectPtr<ffi::Object>(constant), &device,
                std::move(copy)};
    return entries.emplace(constant.get(), std::move(entry))->second.copy;
  }

  std::mutex mutex;

private:
  std::unordered_multimap<ffi::Object *, Entry> entries;
};

} // namespace

int relax_constant_to_device(const relax_site *site, TVMFFIAny *dst,
                             const TVMFFIAny *constant, int32_t device_type,
                             int32_t device_id) {
  RELAX_SAFE_CALL_BEGIN();
  // Never destroyed: the driver may be gone before.
  static ConstantCopies &copies = *new ConstantCopies();
  Device *device = getDevice(site, device_type, device_id);
  if (!device)
    return -1;
  auto held =
      reinterpret_cast<const ffi::Any *>(constant)->cast<ffi::ObjectRef>();
  auto object =
      ffi::detail::ObjectUnsafe::ObjectPtrFromObjectRef<ffi::Object>(held);
  std::lock_guard<std::mutex> lock(copies.mutex);
  const ffi::Any *copy = copies.find(object.get(), *device);
  if (!copy) {
    // Made once for all calls, in memory that outlives this one.
    Recording::Pause pause;
    ffi::Any made;
    if (relax_tensor_to_device(site, reinterpret_cast<TVMFFIAny *>(&made),
                               constant, device_type, device_id))
      return -1;
    copy = &copies.add(std::move(object), *device, std::move(made));
  }
  owned(dst) = *copy;
  if (Recording *recording = Recording::current())
    recording->addConstant(dst);
  RELAX_SAFE_CALL_END();
}

int relax_tensor_to_device(const relax_site *site, TVMFFIAny *dst,
                           const TVMFFIAny *src, int32_t device_type,
                           int32_t device_id) {
  DLDevice device = TVMFFIDLDeviceFromIntPair(device_type, device_id);
  return copyToDevice(site, dst, src, device, 0);
}

//===----------------------------------------------------------------------===//
// Python
//===----------------------------------------------------------------------===//

static ffi::Any toDevice(ffi::Any value, DLDevice device) {
  static const relax_site site = {"relax_mlir.runtime.to_device", "", "", ""};
  ffi::Any result;
  TVM_FFI_CHECK_SAFE_CALL(
      relax_tensor_to_device(&site, reinterpret_cast<TVMFFIAny *>(&result),
                             reinterpret_cast<const TVMFFIAny *>(&value),
                             device.device_type, device.device_id));
  return result;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("relax_mlir.runtime.to_device",
                                        toDevice);
}
