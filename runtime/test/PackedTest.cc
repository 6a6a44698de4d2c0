//===- PackedTest.cc - The runtime's own packed functions -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What programs call without Python: shapes that depend on data, scalars of any
// data type, and effects. test/python/runtime/test_packed.py has the numbers.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <cmath>

static const std::string kRun = "relax_mlir.run.";

static ffi::Function find(const std::string &name) {
  void *cache = nullptr;
  Slot function;
  CHECK(relax_function_get(&kSite, function, &cache, (kRun + name).c_str()) ==
        0);
  TVMFFIObjectDecRef(cache);
  return function.any.cast<ffi::Function>();
}

// Calls a function that has to fail, and leaves its error to take.
template <typename... Args>
static int fail(const std::string &name, Args... args) {
  ffi::Function function = find(name);
  std::vector<ffi::AnyView> views = {args...};
  ffi::Any result;
  return function.get()->safe_call(
      const_cast<ffi::FunctionObj *>(function.get()),
      reinterpret_cast<const TVMFFIAny *>(views.data()),
      static_cast<int32_t>(views.size()),
      reinterpret_cast<TVMFFIAny *>(&result));
}

static std::vector<int64_t> numbers(const ffi::Any &value) {
  auto tensor = value.cast<ffi::Tensor>();
  auto *data = static_cast<const int64_t *>(tensor.data_ptr());
  return {data, data + tensor.numel()};
}

static void testUnique() {
  int64_t data[] = {7, 3, 0, 7, 0, 0, -1, 3}; // steps of 2: 7, 0, 0, -1
  View x(data, {4}, kI64, {2});
  auto found =
      find("unique")(&x.tensor, true, true, true).cast<ffi::Array<ffi::Any>>();
  CHECK((numbers(found[0]) == std::vector<int64_t>{-1, 0, 7}));
  CHECK((numbers(found[1]) == std::vector<int64_t>{3, 1, 0}));
  CHECK((numbers(found[2]) == std::vector<int64_t>{2, 1, 1, 0}));
  CHECK((numbers(found[3]) == std::vector<int64_t>{1, 2, 1}));
  float floats[] = {NAN, 1, NAN, -0.0f, 0};
  View y(floats, {5}, kF32);
  CHECK(find("unique")(&y.tensor).cast<ffi::Tensor>().numel() == 3);
  CHECK_RAISES(fail("unique", &y.tensor, false, false, false, 1), "ValueError",
               "unique: expected an axis from -1 to 0, but got 1");
  CHECK_RAISES(fail("unique", 3), "TypeError",
               "unique: expected a tensor, but got the integer 3");
  View codes(data, {2}, makeDType(kDLInt, 4));
  CHECK_RAISES(fail("unique", &codes.tensor), "TypeError",
               "unique: expected integers, Booleans or floats, but got a "
               "tensor of rank 1, int4, shape (2,)");
}

static void testShapes() {
  int64_t data[] = {2, 0, 5};
  View x(data, {3}, kI64);
  auto shape = find("tensor_to_shape")(&x.tensor).cast<ffi::Shape>();
  CHECK(shape.size() == 3 && shape[0] == 2 && shape[2] == 5);
  data[1] = -4;
  CHECK_RAISES(fail("tensor_to_shape", &x.tensor), "ValueError",
               "tensor_to_shape: expected dimensions of at least 0, but got "
               "(2, -4, 5)");
  CHECK((numbers(find("nonzero")(&x.tensor)) == std::vector<int64_t>{0, 1, 2}));
}

static void testSlices() {
  int64_t data[] = {0, 1, 2, 3, 4, 5}, begin = 4, end = INT64_MIN, step = -2;
  View x(data, {6}, kI64), b(&begin, {1}, kI64), e(&end, {1}, kI64),
      s(&step, {1}, kI64);
  auto slice = [&] {
    return numbers(find("dynamic_strided_slice")(&x.tensor, &b.tensor,
                                                 &e.tensor, &s.tensor));
  };
  CHECK((slice() == std::vector<int64_t>{4, 2, 0}));
  step = INT64_MIN;
  CHECK((slice() == std::vector<int64_t>{4}));
  step = INT64_MAX, begin = -2, end = INT64_MAX;
  CHECK((slice() == std::vector<int64_t>{4}));
  begin = 9;
  CHECK(slice().empty());
  step = 0;
  CHECK_RAISES(
      fail("dynamic_strided_slice", &x.tensor, &b.tensor, &e.tensor, &s.tensor),
      "ValueError", "dynamic_strided_slice: expected strides other than 0");
}

// The bits of a scalar.
static uint16_t halfOf(double value, const char *dtype) {
  auto tensor = find("scalar_tensor")(value, dtype).cast<ffi::Tensor>();
  CHECK(tensor.ndim() == 0);
  return *static_cast<uint16_t *>(tensor.data_ptr());
}

static void testScalars() {
  CHECK(halfOf(1, "float16") == 0x3c00 && halfOf(1, "bfloat16") == 0x3f80);
  CHECK(halfOf(-0.0, "float16") == 0x8000);
  CHECK(halfOf(65504, "float16") == 0x7bff); // the greatest
  CHECK(halfOf(65520, "float16") == 0x7c00); // halfway to the next
  CHECK(halfOf(65519, "float16") == 0x7bff);
  CHECK(halfOf(std::ldexp(1, -24), "float16") == 1); // the least
  CHECK(halfOf(std::ldexp(1, -25), "float16") == 0);
  CHECK(halfOf(std::ldexp(3, -25), "float16") == 2);
  CHECK(halfOf(INFINITY, "bfloat16") == 0x7f80);
  CHECK((halfOf(NAN, "bfloat16") & 0x7fff) == 0x7fc0);
  auto word = find("scalar_tensor")(uint64_t(1) << 40, "uint64");
  CHECK(*static_cast<uint64_t *>(word.cast<ffi::Tensor>().data_ptr()) ==
        uint64_t(1) << 40);
  CHECK_RAISES(fail("scalar_tensor", 300, "int8"), "ValueError",
               "scalar_tensor: 300 is no number of int8");
  CHECK_RAISES(fail("scalar_tensor", 2147483648.0, "int32"), "ValueError",
               "scalar_tensor: 2147483648 is no number of int32");
  CHECK_RAISES(fail("scalar_tensor", NAN, "int64"), "ValueError",
               "scalar_tensor: nan is no number of int64");
  CHECK(find("truth")(3).cast<bool>() && !find("truth")(0).cast<bool>());
}

static void testMemory() {
  float data[] = {1, 2, 3, 4};
  View x(data, {2, 2}, kF32);
  x.tensor.byte_offset = 8;
  x.tensor.shape[0] = 1;
  auto inspect = [&](const char *what, int axis) {
    return find("inspect")(&x.tensor, what, axis).cast<int64_t>();
  };
  CHECK(inspect("ndim", -1) == 2 && inspect("shape_i", 1) == 2);
  CHECK(inspect("stride_i", 0) == 2 && inspect("stride_i", 1) == 1);
  CHECK(inspect("byte_offset", -1) == 8 && inspect("elem_offset", -1) == 2);
  CHECK(inspect("dtype_code", -1) == kDLFloat &&
        inspect("dtype_bits", -1) == 32 && inspect("dtype_lanes", -1) == 1);
  CHECK_RAISES(fail("inspect", &x.tensor, "shape_i", 2), "ValueError",
               "inspect: expected one of the 2 dimensions of a tensor, but got "
               "2");
  CHECK_RAISES(fail("inspect", &x.tensor, "color", -1), "ValueError",
               "inspect: a tensor has no field 'color'");
  CHECK_RAISES(fail("inspect", 3, "ndim", -1), "TypeError",
               "inspect: expected a tensor, but got the integer 3");
  auto moved = find("ensure_zero_offset")(&x.tensor).cast<ffi::Tensor>();
  CHECK(moved.GetDLTensorPtr()->byte_offset == 0 &&
        static_cast<float *>(moved.data_ptr())[1] == 4);
  CHECK(find("ensure_zero_offset")(moved).cast<ffi::Tensor>().same_as(moved));
  // A view of a tensor with an owner shares its memory.
  auto half =
      find("view")(moved, ffi::Shape({2}), "int16", 4).cast<ffi::Tensor>();
  CHECK(half.data_ptr() == static_cast<float *>(moved.data_ptr()) + 1);
  CHECK(half.numel() == 2 && half.dtype().bits == 16);
  auto copied = find("view")(&x.tensor, ffi::Shape({1}), "float32", 4)
                    .cast<ffi::Tensor>();
  CHECK(*static_cast<float *>(copied.data_ptr()) == 4);
  CHECK_RAISES(fail("view", moved, ffi::Shape({2}), "float32", 4), "ValueError",
               "view: expected a part of a tensor of rank 2, float32, shape "
               "(1, 2), but got float32 of shape (2,) at byte 4");
  CHECK_RAISES(fail("view", moved, ffi::Shape({1}), "float32", 2), "ValueError",
               "view: expected an offset that is a multiple of 4 bytes, but "
               "got float32 of shape (1,) at byte 2");
}

static void testAssert() {
  bool holds = true;
  View condition(&holds, {}, kBool);
  float data[] = {0.1f, -2, NAN, INFINITY};
  View x(data, {2, 2}, kF32);
  CHECK(fail("assert_op", &condition.tensor, "never") == 0);
  holds = false;
  CHECK_RAISES(
      fail("assert_op", &condition.tensor, "{}: {{{}}} {}", "x", 3, &x.tensor),
      "AssertionError", "x: {3} [[0.1, -2], [nan, inf]]");
  CHECK_RAISES(fail("assert_op", false, ""), "AssertionError",
               "Assertion Failed");
  CHECK_RAISES(fail("assert_op", false, "", 0.5, ffi::Shape({2, 3})),
               "AssertionError", "0.5, (2, 3)");
  CHECK_RAISES(fail("assert_op", &x.tensor, ""), "TypeError",
               "relax.assert_op: expected a condition that is a scalar of data "
               "type bool, but got a tensor of rank 2, float32, shape (2, 2)");
}

// A result is allocated; a function that is registered comes first.
static void testLookup() {
  auto fill = ffi::Function::FromTyped([](double value, ffi::Tensor output) {
    std::fill_n(static_cast<double *>(output.data_ptr()), output.numel(),
                value);
  });
  ffi::Function::SetGlobal("relax_mlir.test.fill", fill);
  ffi::Shape shape({2, 2});
  auto filled =
      find("call_dps_packed")("relax_mlir.test.fill", shape, "float64", 1.5)
          .cast<ffi::Tensor>();
  CHECK(filled.numel() == 4 &&
        static_cast<double *>(filled.data_ptr())[3] == 1.5);
  CHECK_RAISES(fail("call_dps_packed", "relax_mlir.test.none", shape, "int8"),
               "ValueError",
               "call_dps_packed: packed function 'relax_mlir.test.none' is not "
               "registered; register it with tvm_ffi.register_global_func");
  ffi::Function::SetGlobal(kRun + "truth",
                           ffi::Function::FromTyped([](int) { return 42; }));
  CHECK(find("truth")(0).cast<int>() == 42);
  ffi::Function::RemoveGlobal(kRun + "truth");
}

void testPacked() {
  testUnique();
  testShapes();
  testSlices();
  testScalars();
  testMemory();
  testAssert();
  testLookup();
}
