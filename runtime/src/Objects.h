//===- Objects.h - Objects that live in the pools ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the objects of tvm-ffi that a program needs while it runs: tensors,
// shapes, tuples, strings, storage. Each is one block of a pool, with a deleter
// that returns the block. Parts of variable size follow the object.
//
// The functions named make... return an object with one reference, which the
// caller owns, or NULL where no memory is left.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_OBJECTS_H
#define RELAX_RUNTIME_OBJECTS_H

#include "Pool.h"

namespace relax_runtime {

//===----------------------------------------------------------------------===//
// Release
//===----------------------------------------------------------------------===//

// A deleter gets this flag too when its turn has come; see releaseNested.
constexpr int kReleaseNow = 1 << 30;

// Releases an object that may hold others of its kind, whose deleter was called
// with `flags`. When an object is released while another one is, it waits for
// its turn: chains of objects that hold each other take no stack. Returns
// whether it is the turn of this object, so that its deleter goes on.
bool releaseNested(TVMFFIObject *self, int flags) noexcept;

// Makes the accesses of other threads to an object, before they dropped it,
// happen before this. tvm-ffi makes sure of that with a fence, which
// ThreadSanitizer does not see.
inline void acquireObject(TVMFFIObject *self) {
#if defined(__SANITIZE_THREAD__)
  __atomic_load_n(&self->combined_ref_count, __ATOMIC_ACQUIRE);
#else
  (void)self;
#endif
}

// The first bytes of a block are its object.
inline TVMFFIObject *initObject(Block *block, int32_t typeIndex,
                                void (*deleter)(void *, int)) {
  TVMFFIObject *object = static_cast<TVMFFIObject *>(block->memory());
  object->combined_ref_count = ffi::detail::kCombinedRefCountBothOne;
  object->type_index = typeIndex;
  object->__padding = 0;
  object->deleter = deleter;
  return object;
}

// The object as a value that owns it.
inline TVMFFIAny ownedValue(TVMFFIObject *object) {
  TVMFFIAny value = {};
  value.type_index = object->type_index;
  value.v_obj = object;
  return value;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

// Computes the bytes of a compact tensor; false for an unknown data type, a
// negative dimension or rank, and bytes or strides beyond 63 bits. Elements
// smaller than a byte are packed.
bool countBytes(int32_t ndim, const int64_t *dims, DLDataType dtype,
                uint64_t *bytes);

// An uninitialized, compact tensor of so many bytes on a host, 64-byte aligned.
TVMFFIObject *makeTensor(Pool &pool, int32_t ndim, const int64_t *dims,
                         DLDataType dtype, uint64_t bytes) noexcept;

// A compact tensor over elements that `owner` keeps alive (NULL: they outlive
// everything). Takes a reference of its own.
TVMFFIObject *makeView(TVMFFIObject *owner, void *data, DLDevice device,
                       int32_t ndim, const int64_t *dims,
                       DLDataType dtype) noexcept;

// Returns the owner of the elements of a tensor: the tensor itself, or where it
// is a view made above, what it views.
TVMFFIObject *findOwner(TVMFFIObject *tensor);

inline bool isEmpty(const DLTensor &tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] == 0)
      return true;
  return false;
}

// Row-major without gaps. The stride of a dimension of size 1 does not matter,
// nor does any stride of an empty tensor.
inline bool isCompact(const DLTensor &tensor) {
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

// The size of an element, or where that is no power of two, the largest power
// of two in it.
inline uintptr_t findAlignment(DLDataType dtype) {
  uintptr_t size = (uintptr_t(dtype.bits) * dtype.lanes + 7) / 8;
  return size & (~size + 1);
}

inline char *address(const DLTensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

inline bool isAligned(const DLTensor &tensor) {
  return (reinterpret_cast<uintptr_t>(address(tensor)) &
          (findAlignment(tensor.dtype) - 1)) == 0;
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

// Bytes on a device, which tensors are laid out in.
class StorageObj : public ffi::Object {
public:
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax_mlir.Storage", StorageObj,
                                    ffi::Object);

  // The storage in a value; NULL for any other value.
  static StorageObj *get(const TVMFFIAny *value);

  DLDevice device = kHost;
  int64_t bytes = 0;
  void *data = nullptr;
  // Of the memory on a device that is not a host; on a host the memory follows
  // the object.
  Block *memory = nullptr;
};

// Uninitialized, 64-byte aligned.
TVMFFIObject *makeStorage(Pool &pool, uint64_t bytes) noexcept;

//===----------------------------------------------------------------------===//
// Shapes, tuples, strings
//===----------------------------------------------------------------------===//

TVMFFIObject *makeShape(int32_t ndim, const int64_t *dims) noexcept;

// A tuple of so many fields, all None. Stores where they are.
TVMFFIObject *makeTuple(int64_t size, ffi::Any **fields) noexcept;

// A copy of the characters, with a terminating zero.
TVMFFIObject *makeString(const char *data, size_t size) noexcept;

// Raises MemoryError: "out of memory for `what`". Returns -1.
RELAX_COLD int raiseMemory(const relax_site *site,
                           const std::string &what) noexcept;
// The same where no place is known.
RELAX_COLD int raiseMemory(const std::string &what) noexcept;

} // namespace relax_runtime

// Around the body of a function of the border that may throw: turns exceptions
// into errors of tvm-ffi. Where memory ran out, that is a MemoryError.
#define RELAX_SAFE_CALL_BEGIN() TVM_FFI_SAFE_CALL_BEGIN()
#define RELAX_SAFE_CALL_END()                                                  \
  return 0;                                                                    \
  }                                                                            \
  catch (const std::bad_alloc &) {                                             \
    return ::relax_runtime::raiseMemory("the values of a program");            \
    TVM_FFI_SAFE_CALL_END()

#endif // RELAX_RUNTIME_OBJECTS_H
