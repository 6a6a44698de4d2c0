//===- ValuesTest.cc - Slots and small values -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// References taken and dropped, borrowed tensors, shapes, primitive values,
// strings and tuples.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

static void testAssign() {
  Slot tensor(makeTensor({2})), other(makeTensor({3})), dst;
  relax_value_assign(dst, tensor);
  CHECK(tensor.uses() == 2);
  relax_value_assign(dst, dst);
  CHECK(tensor.uses() == 2);
  relax_value_assign(dst, other);
  CHECK(tensor.uses() == 1 && other.uses() == 2);
  float data[2] = {};
  View view(data, {2}, kF32);
  relax_value_assign(dst, view);
  CHECK(other.uses() == 1);
  CHECK(static_cast<TVMFFIAny *>(dst)->v_ptr == &view.tensor);
  relax_value_assign(dst, Slot());
}

static void testReturn() {
  Slot tensor(makeTensor({2}));
  TVMFFIAny result; // uninitialized, as the memory of a caller is
  CHECK(relax_value_return(&kSite, &result, tensor) == 0);
  CHECK(tensor.uses() == 2);
  TVMFFIObjectDecRef(result.v_obj);
  CHECK(relax_value_return(&kSite, &result, Slot(int64_t(4))) == 0);
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 4);
  float data[2] = {};
  CHECK_RAISES(relax_value_return(&kSite, &result, View(data, {2}, kF32)),
               "TypeError",
               "main: argument 'x': a tensor that was passed as a borrowed "
               "view cannot be returned, pass `tvm_ffi.from_dlpack(x)` "
               "instead");
  relax_site site = {"main", "", "", ""};
  CHECK_RAISES(relax_value_return(&site, &result, View(data, {2}, kF32)),
               "TypeError",
               "main: a tensor that was passed as a borrowed view cannot be "
               "returned, pass `tvm_ffi.from_dlpack(x)` instead");
}

// Strings and values to be moved become owned.
static void testReturnViews() {
  TVMFFIAny view = {}, result;
  view.type_index = kTVMFFIRawStr;
  view.v_c_str = "a string of the caller";
  CHECK(relax_value_return(&kSite, &result, &view) == 0);
  CHECK(result.type_index == kTVMFFIStr);
  TVMFFIObjectDecRef(result.v_obj);
  Slot keep(makeTensor({2}));
  TVMFFIObject *moved = static_cast<TVMFFIAny *>(keep)->v_obj;
  TVMFFIObjectIncRef(moved);
  view.type_index = kTVMFFIObjectRValueRef;
  view.v_ptr = &moved;
  CHECK(relax_value_return(&kSite, &result, &view) == 0);
  CHECK(moved == nullptr && result.type_index == kTVMFFITensor);
  CHECK(keep.uses() == 2);
  TVMFFIObjectDecRef(result.v_obj);
  CHECK(relax_value_return(&kSite, &result, &view) == -1);
  CHECK(takeError().find("RValueRef already moved") != std::string::npos);
}

static void testShapes() {
  const int64_t dims[] = {2, 0, 5};
  Slot shape(makeTensor({1}));
  CHECK(relax_shape_make(shape, 3, dims) == 0);
  CHECK(relax_shape_ndim(shape) == 3);
  CHECK(relax_shape_dims(shape)[0] == 2 && relax_shape_dims(shape)[2] == 5);
  CHECK(relax_shape_make(shape, 0, nullptr) == 0);
  CHECK(relax_shape_ndim(shape) == 0);
  Slot tensor(makeTensor({4, 6}));
  CHECK(relax_shape_of(shape, tensor) == 0);
  CHECK(relax_shape_ndim(shape) == 2 && relax_shape_dims(shape)[1] == 6);
  CHECK(relax_shape_of(tensor, tensor) == 0);
  CHECK(relax_shape_dims(tensor)[0] == 4 && tensor.uses() == 1);
  float data[3] = {};
  CHECK(relax_shape_of(shape, View(data, {3}, kF32)) == 0);
  CHECK(relax_shape_dims(shape)[0] == 3);
}

static void testPrims() {
  Slot keep(makeTensor({1})), slot;
  relax_value_assign(slot, keep);
  relax_prim_set_int(slot, INT64_MIN);
  CHECK(keep.uses() == 1 && relax_prim_int(slot) == INT64_MIN);
  relax_prim_set_float(slot, -0.5);
  CHECK(slot.any.cast<double>() == -0.5);
  relax_prim_set_bool(slot, 2);
  CHECK(slot.any.type_index() == kTVMFFIBool && relax_prim_int(slot) == 1);
  relax_prim_set_bool(slot, 0);
  CHECK(relax_prim_int(slot) == 0);
}

static void testStrings() {
  Slot slot(makeTensor({1}));
  CHECK(relax_string_make(slot, "ab\0cd", 5) == 0);
  CHECK_TEXT(std::string(slot.any.cast<ffi::String>()),
             std::string("ab\0cd", 5));
  CHECK(relax_string_make(slot, "longer than a slot", 18) == 0);
  CHECK_TEXT(std::string(slot.any.cast<ffi::String>()), "longer than a slot");
  CHECK(relax_string_make(slot, nullptr, 0) == 0);
  CHECK_TEXT(std::string(slot.any.cast<ffi::String>()), "");
  relax_dtype_make(slot, makeDType(kDLBfloat, 16));
  CHECK_TEXT(std::string(ffi::DLDataTypeToString(slot.any.cast<DLDataType>())),
             "bfloat16");
  relax_dtype_make(slot, 0);
  CHECK(slot.any.cast<DLDataType>() == ffi::StringToDLDataType("void"));
}

static void testTuples() {
  Slot tensor(makeTensor({2})), number(int64_t(3)), tuple, field;
  const TVMFFIAny *fields[] = {tensor, number, tensor};
  CHECK(relax_tuple_make(&kSite, tuple, 3, fields) == 0);
  CHECK(tensor.uses() == 3);
  CHECK(relax_tuple_get(&kSite, field, tuple, 1) == 0);
  CHECK(relax_prim_int(field) == 3);
  CHECK(relax_tuple_get(&kSite, field, tuple, 2) == 0);
  CHECK(tensor.uses() == 4);
  CHECK(relax_tuple_get(&kSite, tuple, tuple, 0) == 0);
  CHECK(tensor.uses() == 3); // the tuple is gone, its slot has the field
  CHECK(relax_tuple_make(&kSite, tuple, 0, nullptr) == 0);
  CHECK(relax_tuple_check(&kSite, tuple, 0) == 0);
}

static void testTuplesRaise() {
  Slot tensor(makeTensor({2})), tuple, field;
  float data[2] = {};
  View view(data, {2}, kF32);
  const TVMFFIAny *fields[] = {tensor, view};
  CHECK_RAISES(relax_tuple_make(&kSite, tuple, 2, fields), "TypeError",
               "main: argument 'x': a tensor that was passed as a borrowed "
               "view cannot be put in a tuple, pass `tvm_ffi.from_dlpack(x)` "
               "instead");
  CHECK(tensor.uses() == 1);
  CHECK(relax_tuple_make(&kSite, tuple, 1, fields) == 0);
  CHECK_RAISES(relax_tuple_get(&kSite, field, tuple, 1), "IndexError",
               "main: argument 'x': expected a tuple with field 1, but got a "
               "tuple of 1 field");
  CHECK_RAISES(relax_tuple_get(&kSite, field, tuple, -1), "IndexError",
               "main: argument 'x': expected a tuple with field -1, but got a "
               "tuple of 1 field");
  CHECK_RAISES(relax_tuple_get(&kSite, field, Slot(int64_t(1)), 0), "TypeError",
               "main: argument 'x': expected a tuple, but got the integer 1");
}

static void testADTs() {
  Slot tensor(makeTensor({2})), number(int64_t(3)), value, field;
  int64_t tag = 0;
  const TVMFFIAny *fields[] = {tensor, number};
  CHECK(relax_adt_make(&kSite, value, 7, 2, fields) == 0);
  CHECK(tensor.uses() == 2);
  CHECK(relax_adt_tag(&kSite, value, &tag) == 0);
  CHECK(tag == 7);
  CHECK(relax_adt_get(&kSite, field, value, 1) == 0);
  CHECK(relax_prim_int(field) == 3);
  CHECK_RAISES(relax_adt_get(&kSite, field, value, 2), "IndexError",
               "main: argument 'x': expected a tuple with field 2, but got a "
               "tuple of 2 fields");
  CHECK_RAISES(relax_adt_tag(&kSite, number, &tag), "TypeError",
               "main: argument 'x': expected a value of an algebraic data "
               "type, but got the integer 3");
  CHECK(relax_adt_get(&kSite, value, value, 0) == 0);
  CHECK(tensor.uses() == 2); // the value is gone, its slot has the field
}

void testValues() {
  testAssign();
  testReturn();
  testReturnViews();
  testShapes();
  testPrims();
  testStrings();
  testTuples();
  testTuplesRaise();
  testADTs();
}
