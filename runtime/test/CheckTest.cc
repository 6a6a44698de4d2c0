//===- CheckTest.cc - Checks and their messages -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check passes on what it names and raises its exact message otherwise.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

// The value is a view that lives as long as the program.
static TVMFFIAny rawValue(int32_t typeIndex) {
  TVMFFIAny value = {};
  value.type_index = typeIndex;
  return value;
}

static int checkTensor(const TVMFFIAny *value, int32_t ndim = 2,
                       relax_dtype dtype = kF32, int32_t deviceType = 0,
                       int32_t deviceId = 0) {
  return relax_tensor_check(&kSite, value, ndim, dtype, deviceType, deviceId);
}

static void testArgs() {
  CHECK(relax_args_check(&kSite, 2, 2) == 0);
  CHECK_RAISES(relax_args_check(&kSite, 3, 2), "TypeError",
               "main: expected 2 arguments, but got 3");
  CHECK_RAISES(relax_args_check(&kSite, 0, 1), "TypeError",
               "main: expected 1 argument, but got 0");
}

static void testTensorPasses() {
  float data[8] = {};
  View view(data, {2, 4}, kF32);
  Slot tensor(makeTensor({2, 4}));
  for (const TVMFFIAny *value : {view.operator const TVMFFIAny *(),
                                 static_cast<const TVMFFIAny *>(tensor)}) {
    CHECK(checkTensor(value) == 0);
    CHECK(checkTensor(value, -1) == 0);
    CHECK(checkTensor(value, 2, 0) == 0);
    CHECK(checkTensor(value, 2, kF32, kDLCPU, 0) == 0);
    CHECK(relax_tensor_ndim(value) == 2);
    CHECK(relax_tensor_dims(value)[0] == 2 && relax_tensor_dims(value)[1] == 4);
  }
  CHECK(tensor.uses() == 1);
}

static void testTensorRaises() {
  const std::string prefix =
      "main: argument 'x': expected !relax.tensor<[n, 4], f32>";
  float data[24] = {};
  View rank3(data, {2, 3, 4}, kF32);
  CHECK_RAISES(checkTensor(rank3), "ValueError",
               prefix + ", but got a tensor of rank 3, float32, shape "
                        "(2, 3, 4)");
  View rank1(data, {2}, kF32);
  CHECK_RAISES(checkTensor(rank1), "ValueError",
               prefix + ", but got a tensor of rank 1, float32, shape (2,)");
  View rank0(data, {}, kI64);
  CHECK_RAISES(checkTensor(rank0), "ValueError",
               prefix + ", but got a tensor of rank 0, int64, shape ()");
  View wrongDType(data, {2, 4}, makeDType(kDLBfloat, 16));
  CHECK_RAISES(checkTensor(wrongDType), "TypeError",
               prefix + ", but got a tensor of rank 2, bfloat16, shape (2, 4)");
  View boolean(data, {2, 4}, kBool);
  CHECK_RAISES(checkTensor(boolean), "TypeError",
               prefix + ", but got a tensor of rank 2, bool, shape (2, 4)");
  View unknown(data, {2, 4}, makeDType(99, 8));
  CHECK_RAISES(checkTensor(unknown), "TypeError",
               prefix + ", but got a tensor of rank 2, data type with code 99, "
                        "shape (2, 4)");
  View cuda(data, {2, 4}, kF32);
  cuda.tensor.device = {kDLCUDA, 1};
  CHECK(checkTensor(cuda, 2, kF32, kDLCUDA, 1) == 0);
  CHECK_RAISES(checkTensor(cuda, 2, kF32, kDLCPU, 0), "ValueError",
               prefix + " on cpu:0, but got a tensor on cuda:1");
  CHECK_RAISES(checkTensor(cuda, 2, kF32, kDLCUDA, 0), "ValueError",
               prefix + " on cuda:0, but got a tensor on cuda:1");
  cuda.tensor.device.device_type = static_cast<DLDeviceType>(77);
  CHECK_RAISES(checkTensor(cuda, 2, kF32, kDLCPU, 0), "ValueError",
               prefix + " on cpu:0, but got a tensor on device type 77:1");
}

// An error message names every kind of value that is no tensor.
static void testDescribe() {
  const std::string prefix = "main: argument 'x': expected "
                             "!relax.tensor<[n, 4], f32>, but got ";
  CHECK_RAISES(checkTensor(Slot()), "TypeError", prefix + "None");
  CHECK_RAISES(checkTensor(Slot(int64_t(-3))), "TypeError",
               prefix + "the integer -3");
  CHECK_RAISES(checkTensor(Slot(true)), "TypeError",
               prefix + "the Boolean True");
  CHECK_RAISES(checkTensor(Slot(false)), "TypeError",
               prefix + "the Boolean False");
  CHECK_RAISES(checkTensor(Slot(2.5)), "TypeError",
               prefix + "the float 2.500000");
  CHECK_RAISES(checkTensor(Slot(ffi::Shape({2, 3}))), "TypeError",
               prefix + "a shape of rank 2, (2, 3)");
  CHECK_RAISES(checkTensor(Slot(ffi::Array<ffi::Any>({1}))), "TypeError",
               prefix + "a tuple of 1 field");
  CHECK_RAISES(checkTensor(Slot(ffi::Array<ffi::Any>())), "TypeError",
               prefix + "a tuple of 0 fields");
  CHECK_RAISES(checkTensor(Slot(ffi::String("abc"))), "TypeError",
               prefix + "a string");
  CHECK_RAISES(checkTensor(Slot(ffi::String("longer than a slot"))),
               "TypeError", prefix + "a string");
  CHECK_RAISES(checkTensor(Slot(ffi::Bytes("abc", 3))), "TypeError",
               prefix + "bytes");
  CHECK_RAISES(checkTensor(Slot(ffi::Function::FromTyped([]() { return 1; }))),
               "TypeError", prefix + "a function");
  CHECK_RAISES(checkTensor(Slot(ffi::Map<ffi::Any, ffi::Any>())), "TypeError",
               prefix + "an object of type ffi.Map");
  CHECK_RAISES(checkTensor(Slot(ffi::List<ffi::Any>())), "TypeError",
               prefix + "a list");
  CHECK_RAISES(checkTensor(Slot(DLDevice{kDLCPU, 0})), "TypeError",
               prefix + "a device");
  CHECK_RAISES(checkTensor(Slot(DLDataType{kDLInt, 8, 1})), "TypeError",
               prefix + "a data type");
  TVMFFIAny pointer = rawValue(kTVMFFIOpaquePtr);
  CHECK_RAISES(checkTensor(&pointer), "TypeError", prefix + "a pointer");
  TVMFFIAny moved = rawValue(kTVMFFIObjectRValueRef);
  CHECK_RAISES(checkTensor(&moved), "TypeError",
               prefix + "a value to be moved");
}

static void testDims() {
  relax_site site = kSite;
  site.expected = "!relax.tensor<[n * 4], f32>";
  CHECK_RAISES(relax_dim_raise(&site, 0, "n * 4", 8, 7), "ValueError",
               "main: argument 'x': expected !relax.tensor<[n * 4], f32>, but "
               "dimension 0 is 7, where n * 4 = 8");
  site.expected = "!relax.tensor<[4], f32>";
  CHECK_RAISES(relax_dim_raise(&site, 0, "4", 4, 7), "ValueError",
               "main: argument 'x': expected !relax.tensor<[4], f32>, but "
               "dimension 0 is 7, expected 4");
}

static void testPlace() {
  relax_site site = kSite;
  site.location = "model.py:3:5";
  CHECK_RAISES(relax_dim_raise(&site, 1, "4", 4, 7), "ValueError",
               "main: argument 'x': expected !relax.tensor<[n, 4], f32>, but "
               "dimension 1 is 7, expected 4 (at model.py:3:5)");
  CHECK_RAISES(relax_args_check(&site, 1, 2), "TypeError",
               "main: expected 2 arguments, but got 1 (at model.py:3:5)");
  CHECK_RAISES(relax_error_raise(&site, "AssertionError", "x is negative"),
               "AssertionError",
               "main: argument 'x': x is negative (at model.py:3:5)");
  site.what = "";
  site.location = "";
  CHECK_RAISES(relax_error_raise(&site, "AssertionError", "x is negative"),
               "AssertionError", "main: x is negative");
}

static void testShapeTupleFunction() {
  relax_site site = {"main", "match_cast", "!relax.shape<[n, m]>", ""};
  Slot shape(ffi::Shape({2, 3}));
  CHECK(relax_shape_check(&site, shape, 2) == 0);
  CHECK(relax_shape_check(&site, shape, -1) == 0);
  CHECK_RAISES(relax_shape_check(&site, shape, 3), "ValueError",
               "main: match_cast: expected !relax.shape<[n, m]>, but got a "
               "shape of rank 2, (2, 3)");
  CHECK_RAISES(relax_shape_check(&site, Slot(int64_t(1)), 2), "TypeError",
               "main: match_cast: expected !relax.shape<[n, m]>, but got the "
               "integer 1");
  site.expected = "!relax.tuple<!relax.object, !relax.object>";
  Slot tuple(ffi::Array<ffi::Any>({1, 2, 3}));
  CHECK(relax_tuple_check(&site, tuple, 3) == 0);
  CHECK(relax_tuple_check(&site, tuple, -1) == 0);
  CHECK_RAISES(relax_tuple_check(&site, tuple, 2), "ValueError",
               "main: match_cast: expected !relax.tuple<!relax.object, "
               "!relax.object>, but got a tuple of 3 fields");
  CHECK_RAISES(relax_tuple_check(&site, shape, 2), "TypeError",
               "main: match_cast: expected !relax.tuple<!relax.object, "
               "!relax.object>, but got a shape of rank 2, (2, 3)");
  site.expected = "!relax.func";
  Slot function(ffi::Function::FromTyped([]() { return 1; }));
  CHECK(relax_function_check(&site, function) == 0);
  CHECK_RAISES(relax_function_check(&site, Slot()), "TypeError",
               "main: match_cast: expected !relax.func, but got None");
  CHECK(shape.uses() == 1 && tuple.uses() == 1 && function.uses() == 1);
}

static int checkPrim(Slot value, relax_dtype dtype) {
  relax_site site = {"main", "argument 'i'", "!relax.prim<T>", ""};
  return relax_prim_check(&site, value, dtype);
}

static void testIntegers() {
  const std::string prefix = "main: argument 'i': expected !relax.prim<T>, "
                             "but got ";
  for (uint32_t bits : {8, 16, 32}) {
    int64_t top = int64_t(1) << (bits - 1);
    std::string name = "int" + std::to_string(bits);
    CHECK(checkPrim(Slot(top - 1), makeDType(kDLInt, bits)) == 0);
    CHECK(checkPrim(Slot(-top), makeDType(kDLInt, bits)) == 0);
    CHECK(checkPrim(Slot(2 * top - 1), makeDType(kDLUInt, bits)) == 0);
    CHECK_RAISES(checkPrim(Slot(top), makeDType(kDLInt, bits)), "ValueError",
                 prefix + "the integer " + std::to_string(top) +
                     ", which does not fit " + name);
    CHECK_RAISES(checkPrim(Slot(-top - 1), makeDType(kDLInt, bits)),
                 "ValueError",
                 prefix + "the integer " + std::to_string(-top - 1) +
                     ", which does not fit " + name);
    CHECK_RAISES(checkPrim(Slot(2 * top), makeDType(kDLUInt, bits)),
                 "ValueError",
                 prefix + "the integer " + std::to_string(2 * top) +
                     ", which does not fit u" + name);
  }
  CHECK(checkPrim(Slot(INT64_MIN), kI64) == 0);
  CHECK(checkPrim(Slot(INT64_MAX), kI64) == 0);
  CHECK(checkPrim(Slot(INT64_MAX), makeDType(kDLUInt, 64)) == 0);
  CHECK(checkPrim(Slot(int64_t(0)), makeDType(kDLUInt, 8)) == 0);
  CHECK_RAISES(checkPrim(Slot(int64_t(-1)), makeDType(kDLUInt, 64)),
               "ValueError",
               prefix + "the integer -1, which does not fit uint64");
  CHECK_RAISES(checkPrim(Slot(1.0), kI64), "TypeError",
               prefix + "the float 1.000000");
  CHECK_RAISES(checkPrim(Slot(true), kI64), "TypeError",
               prefix + "the Boolean True");
}

static void testBigInteger() {
  const uint64_t words[] = {UINT64_MAX, 0};
  TVMFFIByteArray bytes = {reinterpret_cast<const char *>(words),
                           sizeof(words)};
  Slot big;
  CHECK(TVMFFIBigIntFromByteArray(&bytes, big) == 0);
  const std::string message = "main: argument 'i': expected !relax.prim<T>, "
                              "but got an integer beyond int64";
  CHECK_RAISES(checkPrim(big, makeDType(kDLUInt, 64)), "ValueError", message);
  CHECK_RAISES(checkPrim(big, kF32), "TypeError", message);
  CHECK_RAISES(checkPrim(big, kBool), "TypeError", message);
}

static void testFloatsAndBooleans() {
  const std::string prefix = "main: argument 'i': expected !relax.prim<T>, "
                             "but got ";
  const relax_dtype uint1 = makeDType(kDLUInt, 1);
  for (relax_dtype dtype :
       {kF32, makeDType(kDLBfloat, 16), makeDType(kDLFloat8_e4m3fn, 8)}) {
    CHECK(checkPrim(Slot(1.5), dtype) == 0);
    CHECK(checkPrim(Slot(int64_t(2)), dtype) == 0);
    CHECK_RAISES(checkPrim(Slot(true), dtype), "TypeError",
                 prefix + "the Boolean True");
  }
  for (relax_dtype dtype : {kBool, uint1}) {
    CHECK(checkPrim(Slot(true), dtype) == 0);
    CHECK_RAISES(checkPrim(Slot(int64_t(1)), dtype), "TypeError",
                 prefix + "the integer 1");
  }
  CHECK(checkPrim(Slot(true), 0) == 0);
  CHECK(checkPrim(Slot(int64_t(1)), 0) == 0);
  CHECK(checkPrim(Slot(1.5), 0) == 0);
  CHECK_RAISES(checkPrim(Slot(), 0), "TypeError", prefix + "None");
  CHECK_RAISES(checkPrim(Slot(1.5), makeDType(kDLComplex, 64)), "TypeError",
               prefix + "the float 1.500000");
}

// MC02: the shape of a tensor against a shape value.
static void testShapeEqual() {
  float data[6] = {};
  View view(data, {2, 3}, kF32);
  Slot tensor(makeTensor({2, 3})), shape(ffi::Shape({2, 3}));
  for (const TVMFFIAny *value : {view.operator const TVMFFIAny *(),
                                 static_cast<const TVMFFIAny *>(tensor),
                                 static_cast<const TVMFFIAny *>(shape)})
    CHECK(relax_shape_equal_check(&kSite, value, shape) == 0);
  CHECK(relax_shape_equal_check(&kSite, Slot(makeTensor({})),
                                Slot(ffi::Shape())) == 0);
}

// MC02: the error names both shapes.
static void testShapeEqualRejects() {
  const std::string prefix =
      "main: argument 'x': expected !relax.tensor<[n, 4], f32>";
  Slot tensor(makeTensor({2, 3}));
  CHECK_RAISES(
      relax_shape_equal_check(&kSite, tensor, Slot(ffi::Shape({2, 4}))),
      "ValueError", prefix + " of shape (2, 4), but its shape is (2, 3)");
  CHECK_RAISES(relax_shape_equal_check(&kSite, tensor, Slot(ffi::Shape({2}))),
               "ValueError",
               prefix + " of shape (2,), but its shape is (2, 3)");
  CHECK_RAISES(relax_shape_equal_check(&kSite, Slot(ffi::Shape({2, 3, 1})),
                                       Slot(ffi::Shape({2, 3}))),
               "ValueError",
               prefix + " of shape (2, 3), but its shape is (2, 3, 1)");
  CHECK_RAISES(relax_shape_equal_check(&kSite, Slot(int64_t(3)),
                                       Slot(ffi::Shape({2, 3}))),
               "TypeError", prefix + ", but got the integer 3");
  CHECK_RAISES(relax_shape_equal_check(&kSite, tensor, tensor), "TypeError",
               "main: argument 'x': expected the shape of "
               "!relax.tensor<[n, 4], f32> to be a shape, but it is a tensor "
               "of rank 2, float32, shape (2, 3)");
}

void testCheck() {
  testArgs();
  testTensorPasses();
  testTensorRaises();
  testDescribe();
  testDims();
  testPlace();
  testShapeTupleFunction();
  testIntegers();
  testBigInteger();
  testFloatsAndBooleans();
  testShapeEqual();
  testShapeEqualRejects();
}
