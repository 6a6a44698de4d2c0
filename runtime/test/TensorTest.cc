//===- TensorTest.cc - Allocation, elements, constants ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of every layout, and constants shared by threads.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <cstring>
#include <numeric>
#include <thread>

static int alloc(TVMFFIAny *dst, std::vector<int64_t> dims,
                 relax_dtype dtype = kF32, int32_t deviceType = kDLCPU,
                 int32_t deviceId = 0) {
  return relax_tensor_alloc(&kSite, dst, static_cast<int32_t>(dims.size()),
                            dims.data(), dtype, deviceType, deviceId);
}

static bool isAligned(const void *data, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

static void testAlloc() {
  Slot slot;
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{}, {3}, {2, 3, 5}, {4, 0, 2}, {1, 1, 1, 1, 1}}) {
    CHECK(alloc(slot, dims) == 0);
    ffi::Tensor tensor = slot.any.cast<ffi::Tensor>();
    CHECK(std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()) ==
          dims);
    CHECK(tensor.IsContiguous() && isAligned(tensor.data_ptr(), 64));
    CHECK(tensor.device().device_type == kDLCPU);
    std::memset(tensor.data_ptr(), 1, ffi::GetDataSize(*slot.tensor()));
  }
  CHECK(alloc(slot, {3}, makeDType(kDLInt, 4)) == 0);
  CHECK(slot.uses() == 1);
}

static void testAllocRaises() {
  Slot slot(makeTensor({2}));
  CHECK_RAISES(alloc(slot, {2, -3}), "ValueError",
               "main: argument 'x': expected dimensions of at least 0, but "
               "dimension 1 is -3");
  CHECK_RAISES(alloc(slot, {2}, 0), "ValueError",
               "main: argument 'x': cannot allocate a tensor of unknown data "
               "type");
  CHECK_RAISES(alloc(slot, {2}, kF32, kDLROCM), "RuntimeError",
               "main: argument 'x': no device API for rocm:0 in this runtime");
  const int64_t big = int64_t(1) << 40;
  CHECK_RAISES(alloc(slot, {big, big}), "MemoryError",
               "main: argument 'x': out of memory for a tensor of rank 2, "
               "float32, shape (1099511627776, 1099511627776)");
  CHECK_RAISES(alloc(slot, {0, big, big}), "MemoryError",
               "main: argument 'x': out of memory for a tensor of rank 3, "
               "float32, shape (0, 1099511627776, 1099511627776)");
  CHECK(slot.uses() == 1);
}

// Fits in 63 bits of size, but in no machine.
static void testOutOfMemory() {
  Slot slot;
  CHECK_RAISES(alloc(slot, {int64_t(1) << 55}), "MemoryError",
               "main: argument 'x': out of memory for a tensor of rank 1, "
               "float32, shape (36028797018963968,)");
}

static void testEmptyGlobal() {
  ffi::Function empty =
      ffi::Function::GetGlobalRequired("relax_mlir.runtime.empty");
  ffi::Tensor tensor =
      empty(ffi::Shape({2, 3}), DLDataType{kDLInt, 64, 1}).cast<ffi::Tensor>();
  CHECK(tensor.numel() == 6 && tensor.dtype().bits == 64);
  CHECK(tensor.use_count() == 1);
  Slot shape(ffi::Shape({-1})), dtype(DLDataType{kDLInt, 64, 1}), result;
  const TVMFFIAny *args[] = {shape, dtype};
  CHECK_RAISES(relax_function_call(&kSite, result, Slot(empty), 2, args),
               "ValueError",
               "relax_mlir.runtime.empty: expected dimensions of at least 0, "
               "but dimension 0 is -1");
}

// Elements that are compact already stay where they are.
static void testDataInPlace() {
  alignas(64) float data[24] = {};
  Slot tmp;
  void *found = nullptr;
  const auto inPlace = [&](const View &view, void *expected) {
    return relax_tensor_data(&kSite, view, tmp, &found) == 0 &&
           found == expected && tmp.any == nullptr;
  };
  CHECK(inPlace(View(data, {2, 3, 4}, kF32), data));
  CHECK(inPlace(View(data, {2, 3, 4}, kF32, {12, 4, 1}), data));
  CHECK(inPlace(View(data, {2, 1, 4}, kF32, {4, 99, 1}), data));
  CHECK(inPlace(View(data, {2, 3}, kF32, {}, 8), data + 2));
  CHECK(inPlace(View(data, {}, kF32), data));
  CHECK(inPlace(View(nullptr, {0, 3}, kF32), nullptr));
  CHECK(inPlace(View(nullptr, {2, 0}, kF32, {5, 7}), nullptr));
  CHECK(inPlace(View(data, {3}, makeDType(kDLInt, 4)), data));
  CHECK(inPlace(View(data, {2}, makeDType(kDLFloat, 32, 3)), data));
  Slot tensor(makeTensor({2, 3}));
  CHECK(relax_tensor_data(&kSite, tensor, tmp, &found) == 0);
  CHECK(found == tensor.any.cast<ffi::Tensor>().data_ptr());
  CHECK(tensor.uses() == 1);
}

// SE07: a kernel that updates a tensor gets the tensor itself or nothing.
static void testDataOfUpdated() {
  alignas(64) float data[8] = {};
  void *found = nullptr;
  CHECK(relax_tensor_data_inplace(&kSite, View(data, {2, 3}, kF32), &found) ==
            0 &&
        found == data);
  CHECK_RAISES(
      relax_tensor_data_inplace(&kSite, View(data, {2, 3}, kF32, {1, 2}),
                                &found),
      "ValueError",
      "main: argument 'x': expected a compact, aligned tensor, as the kernel "
      "may update it in place, but got a strided view: a tensor of rank 2, "
      "float32, shape (2, 3)");
}

// Checks that the elements of a view, read as T, are `expected`.
template <typename T>
static void checkCopy(const View &view, const std::vector<T> &expected) {
  Slot tmp;
  void *data = nullptr;
  CHECK(relax_tensor_data(&kSite, view, tmp, &data) == 0);
  CHECK(tmp.uses() == 1 && data == tmp.any.cast<ffi::Tensor>().data_ptr());
  CHECK(expected.empty() ||
        std::memcmp(data, expected.data(), expected.size() * sizeof(T)) == 0);
}

template <typename T> static void testStrided(uint32_t code) {
  std::vector<T> data(24);
  std::iota(data.begin(), data.end(), T(0));
  const relax_dtype dtype = makeDType(code, sizeof(T) * 8);
  checkCopy<T>(View(data.data(), {3, 2}, dtype, {1, 3}), {0, 3, 1, 4, 2, 5});
  checkCopy<T>(View(data.data(), {2, 2}, dtype, {4, 1}), {0, 1, 4, 5});
  checkCopy<T>(View(data.data(), {2, 2}, dtype, {4, 1}, sizeof(T)),
               {1, 2, 5, 6});
  checkCopy<T>(View(data.data(), {3}, dtype, {8}), {0, 8, 16});
  checkCopy<T>(View(&data[5], {3}, dtype, {-2}), {5, 3, 1});
  checkCopy<T>(View(data.data(), {2, 3}, dtype, {0, 1}), {0, 1, 2, 0, 1, 2});
  checkCopy<T>(View(data.data(), {2, 1, 2, 2}, dtype, {1, 9, 12, 4}),
               {0, 4, 12, 16, 1, 5, 13, 17});
}

static void testStridedVectors() {
  float data[12];
  std::iota(data, data + 12, 0.0f);
  checkCopy<float>(View(data, {2}, makeDType(kDLFloat, 32, 3), {2}),
                   {0, 1, 2, 6, 7, 8});
}

static void testMisaligned() {
  alignas(16) char bytes[32];
  const float values[3] = {1.5f, 2.5f, 3.5f};
  std::memcpy(bytes + 1, values, sizeof(values));
  checkCopy<float>(View(bytes + 1, {3}, kF32), {1.5f, 2.5f, 3.5f});
  checkCopy<float>(View(bytes, {3}, kF32, {1}, 1), {1.5f, 2.5f, 3.5f});
  checkCopy<float>(View(bytes + 1, {2}, kF32, {2}), {1.5f, 3.5f});
  checkCopy<float>(View(bytes + 1, {}, kF32), {1.5f});
  checkCopy<float>(View(bytes + 1, {0}, kF32), {});
}

// The slot that is read may also take the copy.
static void testCopyOverSource() {
  Slot slot(makeTensor({4}));
  DLTensor *tensor = slot.tensor();
  tensor->shape[0] = 2;
  tensor->strides[0] = 2;
  void *data = nullptr;
  CHECK(relax_tensor_data(&kSite, slot, slot, &data) == 0);
  CHECK(static_cast<float *>(data)[1] == 2.0f && slot.uses() == 1);
}

static void testDataRaises() {
  alignas(16) char bytes[32] = {};
  Slot tmp;
  void *data = nullptr;
  View packed(bytes, {2, 2}, makeDType(kDLInt, 4), {1, 2});
  CHECK_RAISES(relax_tensor_data(&kSite, packed, tmp, &data), "RuntimeError",
               "main: argument 'x': cannot copy a strided tensor of int4, "
               "whose elements are not whole bytes");
  View remote(bytes, {2, 2}, kF32, {1, 2});
  remote.tensor.device = {kDLCUDA, 0};
  const std::string message = "main: argument 'x': cannot read a tensor on "
                              "cuda:0; only cpu is supported";
  CHECK_RAISES(relax_tensor_data(&kSite, remote, tmp, &data), "RuntimeError",
               message);
  View compact(bytes, {2, 2}, kF32);
  compact.tensor.device = {kDLCUDA, 0};
  CHECK_RAISES(relax_tensor_data(&kSite, compact, tmp, &data), "RuntimeError",
               message);
  compact.tensor.device = {kDLCUDAHost, 0}; // pinned memory of the host
  CHECK(relax_tensor_data(&kSite, compact, tmp, &data) == 0 && data == bytes);
}

static void testBoolean() {
  relax_site site = {"main", "if", "", ""};
  uint8_t data[2] = {0, 7};
  int32_t result = -1;
  CHECK(relax_tensor_bool(&site, View(data, {}, kBool), &result) == 0);
  CHECK(result == 0);
  CHECK(relax_tensor_bool(&site, View(data, {1, 1}, kBool, {}, 1), &result) ==
        0);
  CHECK(result == 1);
  CHECK(relax_tensor_bool(&site, View(data, {}, makeDType(kDLUInt, 1)),
                          &result) == 0);
  TVMFFIAny scalar{};
  scalar.type_index = kTVMFFIBool;
  scalar.v_int64 = 1;
  result = -1;
  CHECK(relax_tensor_bool(&site, &scalar, &result) == 0);
  CHECK(result == 1);
  CHECK_RAISES(relax_tensor_bool(&site, View(data, {2}, kBool), &result),
               "ValueError",
               "main: if: expected one Boolean, but got a tensor of rank 1, "
               "bool, shape (2,)");
  CHECK_RAISES(
      relax_tensor_bool(&site, View(data, {}, makeDType(kDLInt, 8)), &result),
      "TypeError",
      "main: if: expected one Boolean, but got a tensor of rank 0, int8, "
      "shape ()");
  View remote(data, {}, kBool);
  remote.tensor.device = {kDLROCM, 0};
  CHECK_RAISES(relax_tensor_bool(&site, remote, &result), "RuntimeError",
               "main: if: no device API for rocm:0 in this runtime");
}

static void testConstant() {
  static const float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3};
  void *cache = nullptr;
  Slot shared, again, fresh;
  CHECK(relax_constant_get(&kSite, shared, &cache, data, 2, dims, kF32, 0) ==
        0);
  CHECK(relax_constant_get(&kSite, again, &cache, data, 2, dims, kF32, 0) == 0);
  ffi::Tensor tensor = shared.any.cast<ffi::Tensor>();
  CHECK(tensor.data_ptr() == data && tensor.size(1) == 3);
  CHECK(shared.tensor() == again.tensor());
  CHECK(tensor.use_count() == 4); // the cache, two slots, and this
  CHECK(relax_constant_get(&kSite, fresh, &cache, data, 2, dims, kF32, 1) == 0);
  ffi::Tensor copy = fresh.any.cast<ffi::Tensor>();
  CHECK(copy.data_ptr() != data && copy.use_count() == 2);
  CHECK(std::memcmp(copy.data_ptr(), data, sizeof(data)) == 0);
  TVMFFIObjectDecRef(cache);
  CHECK(tensor.use_count() == 3);
  const int64_t none[] = {0};
  CHECK(relax_constant_get(&kSite, fresh, &cache, nullptr, 1, none, kF32, 1) ==
        0);
}

static void testConstantFromThreads() {
  static const float data[1] = {1};
  for (int round = 0; round < 50; ++round) {
    void *cache = nullptr;
    const void *seen[4] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&cache, &seen, i] {
        Slot slot;
        CHECK(relax_constant_get(&kSite, slot, &cache, data, 0, nullptr, kF32,
                                 0) == 0);
        seen[i] = static_cast<TVMFFIAny *>(slot)->v_obj;
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const void *tensor : seen)
      CHECK(tensor == cache);
    ffi::Object *object = static_cast<ffi::Object *>(cache);
    CHECK(object->use_count() == 1);
    TVMFFIObjectDecRef(cache);
  }
}

// OP08: where a tensor is said to be, a check finds it.
static void testAllocOnDevice() {
  Slot slot;
  CHECK(alloc(slot, {2}, kF32, kDLCPU, 1) == 0);
  CHECK(slot.tensor()->device.device_id == 1);
  CHECK(relax_tensor_check(&kSite, slot, 1, kF32, kDLCPU, 1) == 0);
  CHECK_RAISES(relax_tensor_check(&kSite, slot, 1, kF32, kDLCPU, 0),
               "ValueError",
               "main: argument 'x': expected !relax.tensor<[n, 4], f32> on "
               "cpu:0, but got a tensor on cpu:1");
}

static int toDevice(TVMFFIAny *dst, const TVMFFIAny *src,
                    int32_t deviceType = kDLCPU) {
  return relax_tensor_to_device(&kSite, dst, src, deviceType, 1);
}

static std::vector<float> floatsOf(const DLTensor &tensor) {
  const float *data = static_cast<const float *>(tensor.data);
  return std::vector<float>(data, data + ffi::GetDataSize(tensor) / 4);
}

// OP08: a copy is made even where the tensor is there already.
static void testToDevice() {
  Slot tensor(makeTensor({2, 3})), copy;
  for (int32_t id : {1, 0}) {
    CHECK(relax_tensor_to_device(&kSite, copy, tensor, kDLCPU, id) == 0);
    CHECK(copy.tensor()->device.device_type == kDLCPU);
    CHECK(copy.tensor()->device.device_id == id);
    CHECK(copy.tensor()->data != tensor.tensor()->data);
    CHECK(floatsOf(*copy.tensor()) == floatsOf(*tensor.tensor()));
    CHECK(tensor.uses() == 1 && copy.uses() == 1);
  }
  CHECK(toDevice(tensor, tensor) == 0); // in place of the source
  CHECK(tensor.tensor()->device.device_id == 1);
  CHECK(floatsOf(*tensor.tensor()) == floatsOf(*copy.tensor()));
  float data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(toDevice(copy, View(data, {3, 2}, kF32, {1, 3})) == 0);
  CHECK((floatsOf(*copy.tensor()) == std::vector<float>{0, 3, 1, 4, 2, 5}));
  CHECK(toDevice(copy, View(nullptr, {0, 2}, kF32)) == 0);
  CHECK(copy.tensor()->shape[1] == 2);
  uint8_t nibbles[] = {0x21, 0x43};
  CHECK(toDevice(copy, View(nibbles, {3}, makeDType(kDLInt, 4))) == 0);
  CHECK(std::memcmp(copy.tensor()->data, nibbles, 2) == 0);
}

static void testTupleToDevice() {
  Slot tensor(makeTensor({2})), inner, outer, copy;
  const TVMFFIAny *fields[] = {tensor, tensor};
  CHECK(relax_tuple_make(&kSite, inner, 1, fields) == 0);
  fields[1] = inner;
  CHECK(relax_tuple_make(&kSite, outer, 2, fields) == 0);
  CHECK(toDevice(copy, outer) == 0);
  for (int index : {0, 1}) {
    Slot field;
    CHECK(relax_tuple_get(&kSite, field, copy, index) == 0);
    if (index == 1)
      CHECK(relax_tuple_get(&kSite, field, field, 0) == 0);
    CHECK(relax_tensor_check(&kSite, field, 1, kF32, kDLCPU, 1) == 0);
    CHECK(floatsOf(*field.tensor()) == floatsOf(*tensor.tensor()));
  }
  CHECK(relax_tuple_make(&kSite, outer, 0, nullptr) == 0);
  CHECK(toDevice(copy, outer) == 0);
  CHECK(relax_tuple_check(&kSite, copy, 0) == 0);
}

// OP08: what is no tensor, and memory out of reach.
static void testToDeviceRejects() {
  Slot tensor(makeTensor({2})), one(int64_t(1)), tuple, copy;
  const std::string prefix = "main: argument 'x': ";
  CHECK_RAISES(toDevice(copy, tensor, kDLMetal), "RuntimeError",
               prefix + "no device API for metal:1 in this runtime");
  float data[4] = {};
  View view(data, {2}, kF32);
  view.tensor.device = {kDLROCM, 2};
  CHECK_RAISES(toDevice(copy, view), "RuntimeError",
               prefix + "no device API for rocm:2 in this runtime");
  const TVMFFIAny *fields[] = {tensor, one};
  CHECK(relax_tuple_make(&kSite, tuple, 2, fields) == 0);
  CHECK_RAISES(toDevice(tuple, tuple), "TypeError",
               prefix + "expected a tensor or a tuple of tensors, but got the "
                        "integer 1");
  CHECK(relax_tuple_check(&kSite, tuple, 2) == 0);
  View nibbles(data, {2}, makeDType(kDLInt, 4), {2});
  CHECK_RAISES(toDevice(copy, nibbles), "RuntimeError",
               prefix + "cannot copy a strided tensor of int4, whose elements "
                        "are not whole bytes");
  fields[0] = tuple;
  for (int i = 0; i < 1000; ++i)
    CHECK(relax_tuple_make(&kSite, tuple, 1, fields) == 0);
  CHECK_RAISES(toDevice(copy, tuple), "RecursionError",
               prefix + "the tuple nests deeper than 1000 levels");
  CHECK(copy.any == nullptr && tensor.uses() == 2);
}

void testTensor() {
  testAlloc();
  testAllocRaises();
  testOutOfMemory();
  testEmptyGlobal();
  testDataInPlace();
  testDataOfUpdated();
  testStrided<uint8_t>(kDLUInt);
  testStrided<int16_t>(kDLInt);
  testStrided<float>(kDLFloat);
  testStrided<double>(kDLFloat);
  testStridedVectors();
  testMisaligned();
  testCopyOverSource();
  testDataRaises();
  testBoolean();
  testConstant();
  testConstantFromThreads();
  testAllocOnDevice();
  testToDevice();
  testTupleToDevice();
  testToDeviceRejects();
}
