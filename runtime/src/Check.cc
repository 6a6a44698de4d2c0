//===- Check.cc - Values against their StructInfo ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of arguments, match_cast and results. A value of the wrong kind or
// data type is a TypeError; a wrong rank, dimension, size, device or range is a
// ValueError.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <algorithm>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

RELAX_COLD static int raiseArgs(const relax_site *site, int32_t actual,
                                int32_t expected) noexcept {
  return raiseInFunction(site, "TypeError",
                         "expected " + countText(expected, "argument") +
                             ", but got " + std::to_string(actual));
}

int relax_args_check(const relax_site *site, int32_t actual, int32_t expected) {
  return RELAX_LIKELY(actual == expected) ? 0
                                          : raiseArgs(site, actual, expected);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

RELAX_COLD static int raiseTensor(const relax_site *site,
                                  const TVMFFIAny *value, int32_t ndim,
                                  relax_dtype dtype, DLDevice device) noexcept {
  const DLTensor *tensor = getTensor(value);
  if (!tensor)
    return raiseMismatch(site, "TypeError", describe(value));
  if (ndim >= 0 && tensor->ndim != ndim)
    return raiseMismatch(site, "ValueError", describeTensor(*tensor));
  if (dtype != 0 && packDType(tensor->dtype) != dtype)
    return raiseMismatch(site, "TypeError", describeTensor(*tensor));
  return raiseError(site, "ValueError",
                    std::string("expected ") + site->expected + " on " +
                        deviceText(device) + ", but got a tensor on " +
                        deviceText(tensor->device));
}

int relax_tensor_check(const relax_site *site, const TVMFFIAny *value,
                       int32_t ndim, relax_dtype dtype, int32_t device_type,
                       int32_t device_id) {
  const DLTensor *tensor = getTensor(value);
  if (RELAX_LIKELY(
          tensor && (ndim < 0 || tensor->ndim == ndim) &&
          (dtype == 0 || packDType(tensor->dtype) == dtype) &&
          (device_type == 0 || (tensor->device.device_type == device_type &&
                                tensor->device.device_id == device_id))))
    return 0;
  return raiseTensor(site, value, ndim, dtype,
                     TVMFFIDLDeviceFromIntPair(device_type, device_id));
}

static int raiseDim(const relax_site *site, int64_t index, const char *expr,
                    int64_t expected, int64_t actual) noexcept {
  std::string wanted = std::to_string(expected);
  std::string text = std::string("expected ") + site->expected + ", but " +
                     (index < 0 ? "it" : "dimension " + std::to_string(index)) +
                     " is " + std::to_string(actual);
  if (*expr != '\0')
    text += expr == wanted ? ", expected " + wanted
                           : std::string(", where ") + expr + " = " + wanted;
  return raiseError(site, "ValueError", text);
}

int relax_dim_raise(const relax_site *site, int64_t index, const char *expr,
                    int64_t expected, int64_t actual) {
  return raiseDim(site, index, expr, expected, actual);
}

static int raiseOverflow(const relax_site *site, const char *op, int64_t lhs,
                         int64_t rhs) noexcept {
  return raiseError(site, "ValueError",
                    "expected a value of 64 bits, but got " +
                        std::to_string(lhs) + " " + op + " " +
                        std::to_string(rhs));
}

int relax_overflow_raise(const relax_site *site, const char *op, int64_t lhs,
                         int64_t rhs) {
  return raiseOverflow(site, op, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Shapes, tuples, functions
//===----------------------------------------------------------------------===//

// A value of the wrong kind, or of the right kind but the wrong size.
RELAX_COLD static int raiseSized(const relax_site *site, const TVMFFIAny *value,
                                 int32_t typeIndex) noexcept {
  bool isKind = value->type_index == typeIndex;
  return raiseMismatch(site, isKind ? "ValueError" : "TypeError",
                       describe(value));
}

int relax_shape_check(const relax_site *site, const TVMFFIAny *value,
                      int32_t ndim) {
  if (RELAX_LIKELY(value->type_index == kTVMFFIShape &&
                   (ndim < 0 || relax_shape_ndim(value) == ndim)))
    return 0;
  return raiseSized(site, value, kTVMFFIShape);
}

int relax_tuple_check(const relax_site *site, const TVMFFIAny *value,
                      int64_t size) {
  if (RELAX_LIKELY(value->type_index == kTVMFFIArray &&
                   (size < 0 || getTupleSize(value) == size)))
    return 0;
  return raiseSized(site, value, kTVMFFIArray);
}

int relax_function_check(const relax_site *site, const TVMFFIAny *value) {
  if (RELAX_LIKELY(value->type_index == kTVMFFIFunction))
    return 0;
  return raiseSized(site, value, kTVMFFIFunction);
}

// The dimensions of a tensor or a shape; none for any other value.
static ffi::ShapeView getDims(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFIShape)
    return ffi::ShapeView(relax_shape_dims(value), relax_shape_ndim(value));
  if (const DLTensor *tensor = getTensor(value))
    return ffi::ShapeView(tensor->shape, tensor->ndim);
  return ffi::ShapeView();
}

static bool hasDims(const TVMFFIAny *value) {
  return value->type_index == kTVMFFIShape || getTensor(value);
}

RELAX_COLD static int raiseShape(const relax_site *site, const TVMFFIAny *value,
                                 const TVMFFIAny *shape) noexcept {
  if (!hasDims(value))
    return raiseMismatch(site, "TypeError", describe(value));
  if (shape->type_index != kTVMFFIShape)
    return raiseError(site, "TypeError",
                      std::string("expected the shape of ") + site->expected +
                          " to be a shape, but it is " + describe(shape));
  ffi::ShapeView actual = getDims(value), wanted = getDims(shape);
  return raiseError(site, "ValueError",
                    std::string("expected ") + site->expected + " of shape " +
                        dimsText(wanted.data(), wanted.size()) +
                        ", but its shape is " +
                        dimsText(actual.data(), actual.size()));
}

int relax_shape_equal_check(const relax_site *site, const TVMFFIAny *value,
                            const TVMFFIAny *shape) {
  ffi::ShapeView actual = getDims(value), wanted = getDims(shape);
  if (RELAX_LIKELY(shape->type_index == kTVMFFIShape && hasDims(value) &&
                   std::equal(actual.begin(), actual.end(), wanted.begin(),
                              wanted.end())))
    return 0;
  return raiseShape(site, value, shape);
}

//===----------------------------------------------------------------------===//
// Primitive values
//===----------------------------------------------------------------------===//

static bool isInteger(DLDataType dtype) {
  return dtype.code == kDLInt || dtype.code == kDLUInt;
}

// Every code from kDLFloat8_e3m4 on is a small float.
static bool isFloat(DLDataType dtype) {
  return dtype.code == kDLFloat || dtype.code == kDLBfloat ||
         dtype.code > kDLBool;
}

static bool fits(int64_t value, DLDataType dtype) {
  if (dtype.code == kDLUInt)
    return value >= 0 && (dtype.bits >= 63 || value >> dtype.bits == 0);
  if (dtype.bits >= 64)
    return true;
  int64_t top = value >> (dtype.bits - 1); // all bits from the sign bit on
  return top == 0 || top == -1;
}

static bool isKindOf(int32_t typeIndex, DLDataType dtype) {
  if (isBool(dtype))
    return typeIndex == kTVMFFIBool;
  if (isInteger(dtype))
    return typeIndex == kTVMFFIInt;
  return isFloat(dtype) &&
         (typeIndex == kTVMFFIFloat || typeIndex == kTVMFFIInt);
}

RELAX_COLD static int raisePrim(const relax_site *site, const TVMFFIAny *value,
                                DLDataType dtype) noexcept {
  bool wantsInteger = isInteger(dtype) && !isBool(dtype);
  // An integer of any dtype is an int64 here, so no big one will do.
  if (wantsInteger && value->type_index == kTVMFFIBigInt)
    return raiseMismatch(site, "ValueError", describe(value));
  if (!wantsInteger || value->type_index != kTVMFFIInt)
    return raiseMismatch(site, "TypeError", describe(value));
  return raiseMismatch(site, "ValueError",
                       describe(value) + ", which does not fit " +
                           dtypeText(dtype));
}

int relax_prim_check(const relax_site *site, const TVMFFIAny *value,
                     relax_dtype dtype) {
  DLDataType type = unpackDType(dtype);
  int32_t kind = value->type_index;
  if (dtype == 0 && kind >= kTVMFFIInt && kind <= kTVMFFIFloat)
    return 0;
  if (RELAX_LIKELY(
          dtype != 0 && isKindOf(kind, type) &&
          (!isInteger(type) || isBool(type) || fits(value->v_int64, type))))
    return 0;
  return raisePrim(site, value, type);
}
