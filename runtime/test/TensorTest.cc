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
                 relax_dtype dtype = kF32, int32_t deviceType = kDLCPU) {
  return relax_tensor_alloc(&kSite, dst, static_cast<int32_t>(dims.size()),
                            dims.data(), dtype, deviceType, 0);
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
  CHECK_RAISES(alloc(slot, {2}, kF32, kDLCUDA), "RuntimeError",
               "main: argument 'x': cannot allocate a tensor on cuda:0; only "
               "cpu is supported");
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
  CHECK_RAISES(relax_tensor_data(&kSite, remote, tmp, &data), "RuntimeError",
               "main: argument 'x': cannot copy a tensor on cuda:0; only cpu "
               "is supported");
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
  remote.tensor.device = {kDLCUDA, 0};
  CHECK_RAISES(relax_tensor_bool(&site, remote, &result), "RuntimeError",
               "main: if: cannot read a tensor on cuda:0; only cpu is "
               "supported");
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

void testTensor() {
  testAlloc();
  testAllocRaises();
  testOutOfMemory();
  testEmptyGlobal();
  testDataInPlace();
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
}
