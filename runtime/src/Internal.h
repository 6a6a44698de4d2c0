//===- Internal.h - Helpers shared by the runtime ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The view of a slot as an owning `ffi::Any`, access to the `DLTensor` of a
// value, and the functions that build errors.
//
// Rationale: a check that succeeds costs a few instructions, so all text is
// built in functions that are cold and never inlined. They are noexcept: when
// not even the text of an error fits in memory, the process ends.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_INTERNAL_H
#define RELAX_RUNTIME_INTERNAL_H

#include "relax_runtime.h"

#include <atomic>
#include <cstring>
#include <new>
#include <string>
#include <tvm/ffi/tvm_ffi.h>

#if defined(__GNUC__)
#define RELAX_COLD __attribute__((noinline, cold))
#define RELAX_NOINLINE __attribute__((noinline))
#define RELAX_LIKELY(condition) __builtin_expect(!!(condition), 1)
#else
#define RELAX_COLD
#define RELAX_NOINLINE
#define RELAX_LIKELY(condition) (condition)
#endif

// Throws an error of tvm-ffi without a backtrace, whose frames of C++ would
// stand between the user's call and the message: RELAX_THROW(ValueError) <<
// "text".
#define RELAX_THROW(kind)                                                      \
  ::tvm::ffi::detail::ErrorBuilder(#kind, std::string(), false).stream()

namespace relax_runtime {

namespace ffi = tvm::ffi;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

static_assert(sizeof(ffi::Any) == sizeof(TVMFFIAny),
              "a slot must have the layout of ffi::Any");

// A slot as the value that owns its reference.
inline ffi::Any &owned(TVMFFIAny *slot) {
  return *reinterpret_cast<ffi::Any *>(slot);
}
inline const ffi::Any &owned(const TVMFFIAny *slot) {
  return *reinterpret_cast<const ffi::Any *>(slot);
}

// dst = src, with a reference of its own; they may be the same slot. Plain
// copies instead of Any's copy and swap: this is the hottest code here, and
// GCC compiles a swap to code that stalls the loads after it.
inline void assign(TVMFFIAny *dst, const TVMFFIAny *src) {
  TVMFFIAny held = *dst;
  TVMFFIAny next = *src;
  new (dst) ffi::Any(owned(const_cast<const TVMFFIAny *>(&next)));
  owned(&held).~Any();
}

// dst = value, whose reference moves along.
inline void assignOwned(TVMFFIAny *dst, TVMFFIAny value) {
  TVMFFIAny held = *dst;
  *dst = value;
  owned(&held).~Any();
}

// dst = the object `handle`, with a reference of its own.
inline void assignObject(TVMFFIAny *dst, int32_t typeIndex, void *handle) {
  TVMFFIAny object = {};
  object.type_index = typeIndex;
  object.v_obj = static_cast<TVMFFIObject *>(handle);
  assign(dst, &object);
}

// A cache of generated code, which holds one reference to an object.
inline std::atomic<void *> &atomicCache(void **cache) {
  static_assert(sizeof(std::atomic<void *>) == sizeof(void *),
                "an atomic pointer must have the layout of a pointer");
  return *reinterpret_cast<std::atomic<void *> *>(cache);
}

// Moves the reference `handle` into an empty cache; where another thread was
// first, drops it. Returns what the cache holds.
void *publish(void **cache, void *handle);

//===----------------------------------------------------------------------===//
// Data types, tensors, tuples
//===----------------------------------------------------------------------===//

inline DLDataType unpackDType(relax_dtype dtype) {
  return DLDataType{static_cast<uint8_t>(dtype),
                    static_cast<uint8_t>(dtype >> 8),
                    static_cast<uint16_t>(dtype >> 16)};
}

inline relax_dtype packDType(DLDataType dtype) {
  return dtype.code | static_cast<relax_dtype>(dtype.bits) << 8 |
         static_cast<relax_dtype>(dtype.lanes) << 16;
}

inline bool isBool(DLDataType dtype) {
  return dtype.code == kDLBool || (dtype.code == kDLUInt && dtype.bits == 1);
}

// The tensor in a value, owned or borrowed; NULL for any other value.
inline const DLTensor *getTensor(const TVMFFIAny *value) {
  if (RELAX_LIKELY(value->type_index == kTVMFFITensor))
    return TVMFFITensorGetDLTensorPtr(value->v_obj);
  if (value->type_index == kTVMFFIDLTensorPtr)
    return static_cast<const DLTensor *>(value->v_ptr);
  return nullptr;
}

// The fields of a tuple; the value must be one.
inline const ffi::ArrayObj *getTuple(const TVMFFIAny *value) {
  return static_cast<const ffi::ArrayObj *>(
      reinterpret_cast<const ffi::Object *>(value->v_obj));
}
inline int64_t getTupleSize(const TVMFFIAny *value) {
  return static_cast<int64_t>(getTuple(value)->size());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

// Whether a value is one that only lives during a call.
inline bool isView(const TVMFFIAny &value) {
  return value.type_index >= kTVMFFIDLTensorPtr &&
         value.type_index <= kTVMFFIObjectRValueRef;
}

// result = function(args...), an owned value in memory that holds none. Returns
// 0, or -1 with the error of the function.
int callPackedArgs(const relax_site *site, TVMFFIObject *function,
                   const TVMFFIAny *args, int32_t nargs, TVMFFIAny *result);

// Counts a frame that is not on the stack of the thread towards the limit of
// recursion; see relax_frame_enter.
int enterHeapFrame(const relax_site *site);
void leaveHeapFrame();

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

// "2 arguments", "1 argument".
RELAX_COLD std::string countText(int64_t count, const char *noun) noexcept;
// "(2, 3)", "(2,)", "()".
RELAX_COLD std::string dimsText(const int64_t *dims, int64_t ndim) noexcept;
// "float32".
RELAX_COLD std::string dtypeText(DLDataType dtype) noexcept;
// "cuda:1".
RELAX_COLD std::string deviceText(DLDevice device) noexcept;
// "a tensor of rank 2, float32, shape (2, 3)".
RELAX_COLD std::string describeTensor(const DLTensor &tensor) noexcept;
// The same for any value: "None", "the integer 3", "a tuple of 2 fields".
RELAX_COLD std::string describe(const TVMFFIAny *value) noexcept;

// Raises an error without a backtrace, as RELAX_THROW throws it.
RELAX_COLD void raiseText(const char *kind, const char *message) noexcept;
// Raises "function: what: text (at location)". Returns -1.
RELAX_COLD int raiseError(const relax_site *site, const char *kind,
                          const std::string &text) noexcept;
// Raises "function: text (at location)". Returns -1.
RELAX_COLD int raiseInFunction(const relax_site *site, const char *kind,
                               const std::string &text) noexcept;
// Raises "function: what: expected E, but got `actual`". Returns -1.
RELAX_COLD int raiseMismatch(const relax_site *site, const char *kind,
                             const std::string &actual) noexcept;
// Raises "function: what: a tensor that was passed as a borrowed view cannot be
// `verb`". Returns -1.
RELAX_COLD int raiseBorrowed(const relax_site *site, const char *verb) noexcept;

} // namespace relax_runtime

#endif // RELAX_RUNTIME_INTERNAL_H
