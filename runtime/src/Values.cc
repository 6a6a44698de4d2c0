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

#include "Tensor.h"

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

void relax_values_kill(TVMFFIAny *slots, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    relax_value_kill(&slots[i]);
}

int relax_value_return(const relax_site *site, TVMFFIAny *dst,
                       const TVMFFIAny *src) {
  RELAX_SAFE_CALL_BEGIN();
  if (!RELAX_LIKELY(src->type_index != kTVMFFIDLTensorPtr))
    return raiseBorrowed(site, "returned");
  new (dst) ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(*src));
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

int relax_shape_make(TVMFFIAny *dst, int32_t ndim, const int64_t *dims) {
  if (!RELAX_LIKELY(ndim >= 0)) {
    raiseText("ValueError", ("expected a shape of rank at least 0, but got " +
                             std::to_string(ndim))
                                .c_str());
    return -1;
  }
  TVMFFIObject *shape = makeShape(ndim, dims);
  if (!RELAX_LIKELY(shape != nullptr))
    return raiseMemory("a shape of rank " + std::to_string(ndim));
  assignOwned(dst, ownedValue(shape));
  return 0;
}

int relax_shape_of(TVMFFIAny *dst, const TVMFFIAny *tensor) {
  const DLTensor *held = getTensor(tensor);
  if (!RELAX_LIKELY(held != nullptr)) {
    static const relax_site site = {"shape_of", "", "", ""};
    return raiseKind(&site, "a tensor", tensor);
  }
  return relax_shape_make(dst, held->ndim, held->shape);
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
  // A few characters need no memory.
  if (size <= static_cast<int64_t>(sizeof(int64_t)) - 1) {
    owned(dst) = ffi::String(data, static_cast<size_t>(size));
    return 0;
  }
  TVMFFIObject *string = makeString(data, static_cast<size_t>(size));
  if (!RELAX_LIKELY(string != nullptr))
    return raiseMemory("a string of " + countText(size, "byte"));
  assignOwned(dst, ownedValue(string));
  return 0;
}

void relax_dtype_make(TVMFFIAny *dst, relax_dtype dtype) {
  // tvm-ffi spells Void as a handle of no bits.
  owned(dst) = dtype ? unpackDType(dtype) : DLDataType{kDLOpaqueHandle, 0, 0};
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

int relax_runtime::allocTuple(const relax_site *site, TVMFFIAny *dst,
                              int64_t size, ffi::Any **fields) {
  TVMFFIObject *tuple = makeTuple(size, fields);
  if (!RELAX_LIKELY(tuple != nullptr))
    return raiseMemory(site, "a tuple of " + countText(size, "field"));
  assignOwned(dst, ownedValue(tuple));
  return 0;
}

int relax_tuple_make(const relax_site *site, TVMFFIAny *dst, int32_t size,
                     const TVMFFIAny *const *fields) {
  RELAX_SAFE_CALL_BEGIN();
  if (!RELAX_LIKELY(size >= 0))
    return raiseError(site, "ValueError",
                      "expected a tuple of at least 0 fields, but got " +
                          std::to_string(size));
  ffi::Any tuple;
  ffi::Any *held;
  if (allocTuple(site, reinterpret_cast<TVMFFIAny *>(&tuple), size, &held))
    return -1;
  for (int32_t i = 0; i < size; ++i) {
    if (!RELAX_LIKELY(fields[i]->type_index != kTVMFFIDLTensorPtr))
      return raiseBorrowed(site, "put in a tuple");
    held[i] = ffi::AnyView::CopyFromTVMFFIAny(*fields[i]);
  }
  owned(dst) = std::move(tuple);
  RELAX_SAFE_CALL_END();
}

RELAX_COLD static int raiseField(const relax_site *site, const TVMFFIAny *value,
                                 int64_t index) noexcept {
  if (value->type_index != kTVMFFIArray)
    return raiseKind(site, "a tuple", value);
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
