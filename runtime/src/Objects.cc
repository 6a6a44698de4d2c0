//===- Objects.cc - Objects that live in the pools --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of each object in its block, and the deleters.
//
//   tensor   head | TVMFFIObject | DLTensor | shape | strides | pad | elements
//   view     head | TVMFFIObject | DLTensor | owner | shape | strides
//   storage  head | StorageObj | pad | bytes
//   tuple    head | ArrayObj | fields
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "Recording.h"

#include <algorithm>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Release
//===----------------------------------------------------------------------===//

// The objects of this thread that wait for their turn, linked through their
// count of references, which is zero by now.
static thread_local TVMFFIObject *waiting = nullptr;
static thread_local bool isReleasing = false;

bool relax_runtime::releaseNested(TVMFFIObject *self, int flags) noexcept {
  static_assert(sizeof(self->combined_ref_count) >= sizeof(self),
                "a pointer fits in the count of references");
  if (flags & kReleaseNow)
    return true;
  // With weak references about, the count is in use.
  if (flags != kTVMFFIObjectDeleterFlagBitMaskBoth)
    return true;
  acquireObject(self);
  if (isReleasing) {
    self->combined_ref_count = reinterpret_cast<uintptr_t>(waiting);
    waiting = self;
    return false;
  }
  isReleasing = true;
  self->deleter(self, flags | kReleaseNow);
  while (TVMFFIObject *next = waiting) {
    waiting = reinterpret_cast<TVMFFIObject *>(
        static_cast<uintptr_t>(next->combined_ref_count));
    next->deleter(next, flags | kReleaseNow);
  }
  isReleasing = false;
  return false;
}

// Nothing but the block goes.
static void releasePlain(void *self, int flags) {
  acquireObject(static_cast<TVMFFIObject *>(self));
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    Pool::free(Block::of(self));
}

int relax_runtime::raiseMemory(const relax_site *site,
                               const std::string &what) noexcept {
  return raiseError(site, "MemoryError", "out of memory for " + what);
}

int relax_runtime::raiseMemory(const std::string &what) noexcept {
  raiseText("MemoryError", ("out of memory for " + what).c_str());
  return -1;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

// Multiplies; false when the product is beyond 63 bits.
static bool scale(uint64_t &product, uint64_t factor) {
  return !__builtin_mul_overflow(product, factor, &product) &&
         product <= uint64_t(INT64_MAX);
}

bool relax_runtime::countBytes(int32_t ndim, const int64_t *dims,
                               DLDataType dtype, uint64_t *bytes) {
  uint64_t extent = uint64_t(dtype.bits) * dtype.lanes;
  bool isEmpty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    isEmpty |= dims[i] == 0;
    if (dims[i] < 0 || !scale(extent, dims[i] == 0 ? 1 : dims[i]))
      return false;
  }
  if (extent == 0 || ndim < 0)
    return false;
  *bytes = isEmpty ? 0 : (extent + 7) / 8;
  return true;
}

namespace {

class ViewObj : public ffi::TensorObj {
public:
  static void release(void *self, int flags);

  TVMFFIObject *owner;
};

constexpr size_t kElementAlignment = 64;

} // namespace

static DLTensor *tensorOf(TVMFFIObject *object) {
  return TVMFFITensorGetDLTensorPtr(object);
}

// The extents of a tensor go to `extents`.
static void fillTensor(DLTensor *tensor, void *data, DLDevice device,
                       int32_t ndim, const int64_t *dims, DLDataType dtype,
                       int64_t *extents) {
  tensor->data = data;
  tensor->device = device;
  tensor->ndim = ndim;
  tensor->dtype = dtype;
  tensor->shape = extents;
  tensor->strides = extents + ndim;
  tensor->byte_offset = 0;
  int64_t stride = 1;
  for (int32_t i = ndim; i-- > 0;) {
    extents[i] = dims[i];
    extents[ndim + i] = stride;
    stride *= dims[i];
  }
}

TVMFFIObject *relax_runtime::makeTensor(Pool &pool, int32_t ndim,
                                        const int64_t *dims, DLDataType dtype,
                                        uint64_t bytes) noexcept {
  size_t head = sizeof(Block) + sizeof(ffi::TensorObj) +
                2 * sizeof(int64_t) * static_cast<size_t>(ndim);
  head = (head + kElementAlignment - 1) & ~(kElementAlignment - 1);
  if (!RELAX_LIKELY(bytes <= kMaxBytes))
    return nullptr;
  Block *block = pool.allocate(head + bytes);
  if (!RELAX_LIKELY(block != nullptr))
    return nullptr;
  TVMFFIObject *object = initObject(block, kTVMFFITensor, releasePlain);
  fillTensor(tensorOf(object), reinterpret_cast<char *>(block) + head,
             pool.device.id, ndim, dims, dtype,
             reinterpret_cast<int64_t *>(reinterpret_cast<char *>(object) +
                                         sizeof(ffi::TensorObj)));
  return object;
}

static ViewObj *viewOf(TVMFFIObject *object) {
  return ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<ViewObj>(object);
}

void ViewObj::release(void *self, int flags) {
  TVMFFIObject *object = static_cast<TVMFFIObject *>(self);
  acquireObject(object);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    if (TVMFFIObject *owner = viewOf(object)->owner)
      TVMFFIObjectDecRef(owner);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    Pool::free(Block::of(self));
}

TVMFFIObject *relax_runtime::makeView(TVMFFIObject *owner, void *data,
                                      DLDevice device, int32_t ndim,
                                      const int64_t *dims,
                                      DLDataType dtype) noexcept {
  Block *block =
      hostPool().allocate(sizeof(Block) + sizeof(ViewObj) +
                          2 * sizeof(int64_t) * static_cast<size_t>(ndim));
  if (!RELAX_LIKELY(block != nullptr))
    return nullptr;
  TVMFFIObject *object = initObject(block, kTVMFFITensor, ViewObj::release);
  ViewObj *view = viewOf(object);
  view->owner = owner;
  if (owner)
    TVMFFIObjectIncRef(owner);
  fillTensor(tensorOf(object), data, device, ndim, dims, dtype,
             reinterpret_cast<int64_t *>(view + 1));
  return object;
}

TVMFFIObject *relax_runtime::findOwner(TVMFFIObject *tensor) {
  if (tensor->deleter != ViewObj::release)
    return tensor;
  TVMFFIObject *owner = viewOf(tensor)->owner;
  return owner ? owner : tensor;
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

static void releaseStorage(void *self, int flags) {
  TVMFFIObject *object = static_cast<TVMFFIObject *>(self);
  acquireObject(object);
  auto *storage =
      ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<StorageObj>(object);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong && storage->memory)
    freeRemote(storage->memory);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    Pool::free(Block::of(self));
}

StorageObj *StorageObj::get(const TVMFFIAny *value) {
  if (!RELAX_LIKELY(value->type_index == RuntimeTypeIndex()))
    return nullptr;
  return ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<StorageObj>(
      value->v_obj);
}

static StorageObj *initStorage(Block *block, Pool &pool, uint64_t bytes) {
  auto *storage = new (block->memory()) StorageObj();
  initObject(block, StorageObj::RuntimeTypeIndex(), releaseStorage);
  storage->device = pool.device.id;
  storage->bytes = static_cast<int64_t>(bytes);
  return storage;
}

// The memory of a device, and an object for it on the host.
static TVMFFIObject *makeRemoteStorage(Pool &pool, uint64_t bytes) noexcept {
  Block *block = hostPool().allocate(sizeof(Block) + sizeof(StorageObj));
  if (!block)
    return nullptr;
  Block *memory = allocateRemote(pool, std::max<uint64_t>(bytes, 1));
  if (!memory) {
    Pool::free(block);
    return nullptr;
  }
  StorageObj *storage = initStorage(block, pool, bytes);
  storage->memory = memory;
  storage->data = static_cast<DeviceBlock *>(memory)->data;
  return ffi::detail::ObjectUnsafe::GetHeader(storage);
}

TVMFFIObject *relax_runtime::makeStorage(Pool &pool, uint64_t bytes) noexcept {
  if (bytes > kMaxBytes)
    return nullptr;
  if (!pool.device.isHost())
    return makeRemoteStorage(pool, bytes);
  constexpr size_t head =
      (sizeof(Block) + sizeof(StorageObj) + kElementAlignment - 1) &
      ~(kElementAlignment - 1);
  Block *block = pool.allocate(head + bytes);
  if (!RELAX_LIKELY(block != nullptr))
    return nullptr;
  StorageObj *storage = initStorage(block, pool, bytes);
  storage->data = reinterpret_cast<char *>(block) + head;
  return ffi::detail::ObjectUnsafe::GetHeader(storage);
}

//===----------------------------------------------------------------------===//
// Shapes, tuples, strings
//===----------------------------------------------------------------------===//

TVMFFIObject *relax_runtime::makeShape(int32_t ndim,
                                       const int64_t *dims) noexcept {
  size_t count = static_cast<size_t>(ndim);
  Block *block = hostPool().allocate(sizeof(Block) + sizeof(ffi::ShapeObj) +
                                     sizeof(int64_t) * count);
  if (!RELAX_LIKELY(block != nullptr))
    return nullptr;
  TVMFFIObject *object = initObject(block, kTVMFFIShape, releasePlain);
  auto *shape =
      ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<ffi::ShapeObj>(object);
  auto *extents = reinterpret_cast<int64_t *>(shape + 1);
  std::copy_n(dims, count, extents);
  shape->data = extents;
  shape->size = count;
  return object;
}

namespace {

class TupleObj : public ffi::ArrayObj {
public:
  // Fields follow.
  ffi::Any *init(int64_t count) {
    auto *fields = reinterpret_cast<ffi::Any *>(this + 1);
    for (int64_t i = 0; i < count; ++i)
      new (fields + i) ffi::Any();
    TVMFFISeqCell::data = fields;
    TVMFFISeqCell::size = count;
    TVMFFISeqCell::capacity = count;
    TVMFFISeqCell::data_deleter = nullptr;
    return fields;
  }

  static void release(void *self, int flags) {
    TVMFFIObject *object = static_cast<TVMFFIObject *>(self);
    if (!releaseNested(object, flags))
      return;
    acquireObject(object);
    if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
      ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<TupleObj>(object)
          ->~TupleObj();
    if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
      Pool::free(Block::of(self));
  }
};
static_assert(sizeof(TupleObj) == sizeof(ffi::ArrayObj) &&
                  sizeof(TupleObj) % alignof(ffi::Any) == 0,
              "fields follow the object");

} // namespace

TVMFFIObject *relax_runtime::makeTuple(int64_t size,
                                       ffi::Any **fields) noexcept {
  if (static_cast<uint64_t>(size) > kMaxBytes / sizeof(ffi::Any))
    return nullptr;
  Block *block =
      hostPool().allocate(sizeof(Block) + sizeof(TupleObj) +
                          sizeof(ffi::Any) * static_cast<size_t>(size));
  if (!RELAX_LIKELY(block != nullptr))
    return nullptr;
  auto *tuple = new (block->memory()) TupleObj();
  TVMFFIObject *object = initObject(block, kTVMFFIArray, TupleObj::release);
  *fields = tuple->init(size);
  return object;
}

TVMFFIObject *relax_runtime::makeString(const char *data,
                                        size_t size) noexcept {
  using StringObj = ffi::detail::StringObj;
  if (size > kMaxBytes / 2)
    return nullptr;
  Block *block =
      hostPool().allocate(sizeof(Block) + sizeof(StringObj) + size + 1);
  if (!RELAX_LIKELY(block != nullptr))
    return nullptr;
  TVMFFIObject *object = initObject(block, kTVMFFIStr, releasePlain);
  auto *string =
      ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<StringObj>(object);
  char *characters = reinterpret_cast<char *>(string + 1);
  std::copy_n(data, size, characters);
  characters[size] = 0;
  string->data = characters;
  string->size = size;
  return object;
}
