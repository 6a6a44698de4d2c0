//===- StorageTest.cc - Storage, tensors in it, views -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors laid out in storage, views in other shapes, and what goes wrong.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <cstring>
#include <numeric>

static const std::string kPrefix = "main: argument 'x': ";

static int allocStorage(TVMFFIAny *dst, int64_t bytes, int32_t device = 0) {
  return relax_storage_alloc(&kSite, dst, bytes, kDLCPU, device);
}

static int layOut(TVMFFIAny *dst, const TVMFFIAny *storage, int64_t offset,
                  std::vector<int64_t> dims, relax_dtype dtype = kF32) {
  return relax_tensor_from_storage(&kSite, dst, storage, offset,
                                   static_cast<int32_t>(dims.size()),
                                   dims.data(), dtype);
}

static int viewAs(TVMFFIAny *dst, const TVMFFIAny *tensor,
                  std::vector<int64_t> dims) {
  return relax_tensor_view(&kSite, dst, tensor,
                           static_cast<int32_t>(dims.size()), dims.data());
}

// VM02: AllocStorage and AllocTensor.
static void testTensorInStorage() {
  Slot storage, tensor, other;
  CHECK(allocStorage(storage, 256, 1) == 0);
  auto *data = static_cast<char *>(relax_storage_data(storage));
  CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
  std::memset(data, 0, 256);
  CHECK(layOut(tensor, storage, 64, {2, 3}) == 0);
  ffi::Tensor made = tensor.any.cast<ffi::Tensor>();
  CHECK(made.data_ptr() == data + 64 && made.size(1) == 3);
  CHECK(made.device().device_id == 1 && made.IsContiguous());
  CHECK(relax_tensor_check(&kSite, tensor, 2, kF32, kDLCPU, 1) == 0);
  CHECK(layOut(other, storage, 0, {256}, makeDType(kDLUInt, 8)) == 0);
  CHECK(storage.uses() == 3);
  relax_value_kill(storage);
  CHECK(relax_storage_data(storage) == nullptr);
  static_cast<float *>(made.data_ptr())[0] = 1.0f;
  CHECK(static_cast<uint8_t *>(other.tensor()->data)[66] == 0x80);
}

// Whatever fits.
static void testLayouts() {
  Slot storage, tensor;
  CHECK(allocStorage(storage, 0) == 0);
  CHECK(layOut(tensor, storage, 0, {0, 7}) == 0);
  CHECK(layOut(tensor, storage, 0, {}) == -1);
  takeError();
  CHECK(allocStorage(storage, 12) == 0);
  CHECK(layOut(tensor, storage, 12, {0}) == 0);
  CHECK(layOut(tensor, storage, 8, {}) == 0);
  CHECK(layOut(tensor, storage, 3, {18}, makeDType(kDLInt, 4)) == 0);
  CHECK(layOut(tensor, storage, 0, {1}, makeDType(kDLFloat, 32, 3)) == 0);
}

// RF09: sizes, offsets and kinds that are wrong.
static void testStorageRaises() {
  Slot storage, tensor;
  CHECK_RAISES(allocStorage(storage, -1), "ValueError",
               kPrefix + "expected storage of at least 0 bytes, but got -1");
  CHECK_RAISES(allocStorage(storage, INT64_MAX), "MemoryError",
               kPrefix + "out of memory for storage of 9223372036854775807 "
                         "bytes on cpu:0");
  CHECK_RAISES(allocStorage(storage, 1, -3), "RuntimeError",
               kPrefix + "expected a device from cpu:0 to cpu:1023, but got "
                         "cpu:-3");
  CHECK(allocStorage(storage, 100) == 0);
  CHECK_RAISES(layOut(tensor, storage, 80, {2, 3}), "ValueError",
               kPrefix + "the storage is too small: float32 of shape (2, 3) "
                         "needs 24 bytes at offset 80, but there are 100");
  CHECK_RAISES(layOut(tensor, storage, 104, {0}), "ValueError",
               kPrefix + "the storage is too small: float32 of shape (0,) "
                         "needs 0 bytes at offset 104, but there are 100");
  CHECK_RAISES(layOut(tensor, storage, -64, {2}), "ValueError",
               kPrefix + "expected an offset of at least 0, but got -64");
  CHECK_RAISES(layOut(tensor, storage, 6, {2}), "ValueError",
               kPrefix + "expected an offset that is a multiple of 4 bytes "
                         "for float32, but got 6");
  CHECK_RAISES(layOut(tensor, storage, 0, {2, -1}), "ValueError",
               kPrefix + "expected dimensions of at least 0, but dimension 1 "
                         "is -1");
  const int64_t big = int64_t(1) << 40;
  CHECK_RAISES(layOut(tensor, storage, 0, {big, big}), "MemoryError",
               kPrefix + "out of memory for a tensor of rank 2, float32, "
                         "shape (1099511627776, 1099511627776)");
  CHECK_RAISES(layOut(tensor, storage, 0, {2}, 0), "ValueError",
               kPrefix + "cannot allocate a tensor of unknown data type");
  CHECK_RAISES(
      relax_tensor_from_storage(&kSite, tensor, storage, 0, -1, nullptr, kF32),
      "ValueError", kPrefix + "expected a rank of at least 0, but got -1");
  CHECK_RAISES(relax_shape_make(tensor, -2, nullptr), "ValueError",
               "expected a shape of rank at least 0, but got -2");
  CHECK_RAISES(relax_tuple_make(&kSite, tensor, -1, nullptr), "ValueError",
               kPrefix + "expected a tuple of at least 0 fields, but got -1");
  CHECK(tensor.any == nullptr && storage.uses() == 1);
}

// A killed object used again.
static void testKilled() {
  Slot storage, tensor, result;
  CHECK(allocStorage(storage, 64) == 0 && layOut(tensor, storage, 0, {4}) == 0);
  relax_value_kill(storage);
  relax_value_kill(storage);
  CHECK_RAISES(layOut(result, storage, 0, {4}), "TypeError",
               kPrefix + "expected a storage, but got None, as a value that "
                         "was killed is");
  CHECK_RAISES(layOut(result, tensor, 0, {4}), "TypeError",
               kPrefix + "expected a storage, but got a tensor of rank 1, "
                         "float32, shape (4,)");
  relax_value_kill(tensor);
  const std::string message =
      "expected a tensor, but got None, as a value that was killed is";
  void *data = nullptr;
  int32_t condition;
  CHECK_RAISES(viewAs(result, tensor, {4}), "TypeError", kPrefix + message);
  CHECK_RAISES(relax_tensor_data(&kSite, tensor, result, &data), "TypeError",
               kPrefix + message);
  CHECK_RAISES(relax_tensor_data_inplace(&kSite, tensor, &data), "TypeError",
               kPrefix + message);
  CHECK_RAISES(relax_tensor_bool(&kSite, tensor, &condition), "TypeError",
               kPrefix + "expected a Boolean, but got None, as a value that "
                         "was killed is");
  CHECK_RAISES(relax_shape_of(result, tensor), "TypeError",
               "shape_of: " + message);
  CHECK_RAISES(relax_tuple_get(&kSite, result, tensor, 0), "TypeError",
               kPrefix + "expected a tuple, but got None, as a value that was "
                         "killed is");
  CHECK_RAISES(relax_tensor_to_device(&kSite, result, tensor, kDLCPU, 0),
               "TypeError",
               kPrefix + "expected a tensor or a tuple of tensors, but got "
                         "None, as a value that was killed is");
  CHECK(result.any == nullptr);
}

// A view shares memory with what it views, however often.
static void testViews() {
  Slot tensor(makeTensor({2, 6})), view, again;
  CHECK(viewAs(view, tensor, {3, 4}) == 0);
  CHECK(view.tensor()->data == tensor.tensor()->data);
  CHECK(view.tensor()->shape[1] == 4 && view.tensor()->strides[0] == 4);
  CHECK(viewAs(again, view, {12}) == 0);
  relax_value_kill(view);
  CHECK(tensor.uses() == 2); // a view of a view holds the tensor
  CHECK(viewAs(again, again, {1, 12, 1}) == 0);
  CHECK(tensor.uses() == 2 && again.uses() == 1);
  relax_value_kill(tensor);
  CHECK(static_cast<float *>(again.tensor()->data)[11] == 11.0f);
  CHECK(viewAs(view, Slot(makeTensor({})), {1, 1}) == 0);
  CHECK(viewAs(view, Slot(makeTensor({0, 5})), {3, 0}) == 0);
}

// Of what is strided or borrowed a view is a copy.
static void testViewsOfCopies() {
  float data[6];
  std::iota(data, data + 6, 0.0f);
  Slot view;
  CHECK(viewAs(view, View(data, {3, 2}, kF32, {1, 3}), {6}) == 0);
  const float expected[] = {0, 3, 1, 4, 2, 5};
  CHECK(std::memcmp(view.tensor()->data, expected, sizeof(expected)) == 0);
  CHECK(viewAs(view, View(data, {6}, kF32), {2, 3}) == 0);
  CHECK(view.tensor()->data != data && view.uses() == 1);
  // The offset in bytes goes into the address.
  Slot tensor(makeTensor({8}));
  tensor.tensor()->byte_offset = 8;
  tensor.tensor()->shape[0] = 4;
  CHECK(viewAs(view, tensor, {2, 2}) == 0);
  CHECK(view.tensor()->byte_offset == 0);
  CHECK(static_cast<float *>(view.tensor()->data)[0] == 2.0f);
}

static void testViewRaises() {
  Slot tensor(makeTensor({2, 3})), view;
  CHECK_RAISES(viewAs(view, tensor, {4}), "ValueError",
               kPrefix + "cannot view a tensor of rank 2, float32, shape (2, "
                         "3) in the shape (4,), which has 4 elements");
  CHECK_RAISES(viewAs(view, tensor, {-2, -3}), "ValueError",
               kPrefix + "expected dimensions of at least 0, but dimension 0 "
                         "is -2");
  const int64_t big = int64_t(1) << 62;
  CHECK_RAISES(
      viewAs(view, tensor, {big, 8}), "ValueError",
      kPrefix + "cannot view a tensor of rank 2, float32, "
                "shape (2, 3) in the shape (4611686018427387904, 8), which has "
                "more elements than can be counted");
  CHECK(view.any == nullptr && tensor.uses() == 1);
}

void testStorage() {
  testTensorInStorage();
  testLayouts();
  testStorageRaises();
  testKilled();
  testViews();
  testViewsOfCopies();
  testViewRaises();
}
