//===- Values.cc - Slots, shapes, primitive values, tuples ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies values between slots and makes the ones that are not tensors.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

void *relax_runtime::publish(void **cache, void *handle) {
  void *held = nullptr;
  if (atomicCache(cache).compare_exchange_strong(held, handle,
                                                 std::memory_order_acq_rel))
    return handle;
  TVMFFIObjectDecRef(handle);
  return held;
}

void relax_value_assign(TVMFFIAny *dst, const TVMFFIAny *src) {
  assign(dst, src);
}

void relax_value_kill(TVMFFIAny *slot) { owned(slot) = ffi::Any(); }

int relax_value_return(const relax_site *site, TVMFFIAny *dst,
                       const TVMFFIAny *src) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (!RELAX_LIKELY(src->type_index != kTVMFFIDLTensorPtr))
    return raiseBorrowed(site, "returned");
  new (dst) ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(*src));
  TVM_FFI_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

int relax_shape_make(TVMFFIAny *dst, int32_t ndim, const int64_t *dims) {
  TVM_FFI_SAFE_CALL_BEGIN();
  owned(dst) = ffi::Shape(dims, dims + ndim);
  TVM_FFI_SAFE_CALL_END();
}

int relax_shape_of(TVMFFIAny *dst, const TVMFFIAny *tensor) {
  return relax_shape_make(dst, relax_tensor_ndim(tensor),
                          relax_tensor_dims(tensor));
}

const int64_t *relax_shape_dims(const TVMFFIAny *value) {
  return TVMFFIShapeGetCellPtr(value->v_obj)->data;
}

int32_t relax_shape_ndim(const TVMFFIAny *value) {
  return static_cast<int32_t>(TVMFFIShapeGetCellPtr(value->v_obj)->size);
}

//===----------------------------------------------------------------------===//
// Primitive values, strings, data types
//===----------------------------------------------------------------------===//

void relax_prim_set_int(TVMFFIAny *dst, int64_t value) { owned(dst) = value; }

void relax_prim_set_float(TVMFFIAny *dst, double value) { owned(dst) = value; }

void relax_prim_set_bool(TVMFFIAny *dst, int32_t value) {
  owned(dst) = value != 0;
}

int64_t relax_prim_int(const TVMFFIAny *value) { return value->v_int64; }

int relax_string_make(TVMFFIAny *dst, const char *data, int64_t size) {
  TVM_FFI_SAFE_CALL_BEGIN();
  owned(dst) = ffi::String(data, static_cast<size_t>(size));
  TVM_FFI_SAFE_CALL_END();
}

void relax_dtype_make(TVMFFIAny *dst, relax_dtype dtype) {
  // tvm-ffi spells Void as a handle of no bits.
  owned(dst) = dtype ? unpackDType(dtype) : DLDataType{kDLOpaqueHandle, 0, 0};
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

int relax_tuple_make(const relax_site *site, TVMFFIAny *dst, int64_t size,
                     const TVMFFIAny *const *fields) {
  TVM_FFI_SAFE_CALL_BEGIN();
  ffi::Array<ffi::Any> tuple;
  tuple.reserve(size);
  for (int64_t i = 0; i < size; ++i) {
    if (fields[i]->type_index == kTVMFFIDLTensorPtr)
      return raiseBorrowed(site, "put in a tuple");
    tuple.push_back(ffi::AnyView::CopyFromTVMFFIAny(*fields[i]));
  }
  owned(dst) = std::move(tuple);
  TVM_FFI_SAFE_CALL_END();
}

RELAX_COLD static int raiseField(const relax_site *site, const TVMFFIAny *value,
                                 int64_t index) noexcept {
  if (value->type_index != kTVMFFIArray)
    return raiseError(site, "TypeError",
                      "expected a tuple, but got " + describe(value));
  return raiseError(site, "IndexError",
                    "expected a tuple with field " + std::to_string(index) +
                        ", but got " + describe(value));
}

int relax_tuple_get(const relax_site *site, TVMFFIAny *dst,
                    const TVMFFIAny *tuple, int64_t index) {
  if (!RELAX_LIKELY(tuple->type_index == kTVMFFIArray && index >= 0 &&
                    index < getTupleSize(tuple)))
    return raiseField(site, tuple, index);
  const ffi::Any *fields = getTuple(tuple)->begin();
  assign(dst, reinterpret_cast<const TVMFFIAny *>(&fields[index]));
  return 0;
}
