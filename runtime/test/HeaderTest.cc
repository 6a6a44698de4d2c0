//===- HeaderTest.cc - The header for C++ -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors, programs, statistics and errors through relax_runtime.hpp.
//
//===----------------------------------------------------------------------===//

#include "relax_runtime.hpp"

#include "Test.h"

// Returns the error that is thrown: "kind: message".
template <typename Call> static std::string caught(const Call &call) {
  try {
    call();
  } catch (const relax::Error &error) {
    return error.kind() + ": " + error.message();
  }
  return "";
}

static void testTensors() {
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  relax::Tensor x = relax::makeTensor(data, {2, 3}, relax::cpu(2));
  CHECK(x.device().device_id == 2 && x.size(1) == 3);
  CHECK(relax::toVector<float>(x) == data);
  relax::Tensor y = relax::reshape(x, {6});
  CHECK(y.data_ptr() == x.data_ptr() && y.ndim() == 1);
  CHECK(relax::copyTo(y, relax::cpu()).device().device_id == 0);
  CHECK(relax::empty({}, relax::dataType<int64_t>()).numel() == 1);
  CHECK(relax::toVector<uint8_t>(relax::makeTensor<uint8_t>({}, {0})).empty());
  CHECK(relax::dataType<bool>().code == kDLBool);
}

static void testTensorErrors() {
  std::vector<int32_t> data = {1, 2, 3};
  CHECK_TEXT(caught([&] { relax::makeTensor(data, {2, 2}); }),
             "ValueError: relax::makeTensor: expected 4 elements for the "
             "shape [2, 2], but got 3");
  relax::Tensor x = relax::makeTensor(data, {3});
  CHECK_TEXT(caught([&] { relax::toVector<float>(x); }),
             "TypeError: relax::toVector: expected a tensor of float32, but "
             "got int32");
  CHECK_TEXT(caught([&] { relax::reshape(x, {2}); }),
             "ValueError: relax::reshape: cannot view a tensor of rank 1, "
             "int32, shape (3,) in the shape (2,), which has 2 elements");
  CHECK_TEXT(caught([&] { relax::copyTo(x, {kDLMetal, 0}); }),
             "RuntimeError: relax::copyTo: no device API for metal:0 in this "
             "runtime");
}

static void testPrograms() {
  relax::VirtualMachine vm(relax::Executable::assemble(R"(
    function main(x, n) registers 3 heap 1 {
      site 0 = "argument 'n'", "!relax.prim<i64>", ""
      $0 = call builtin prim_int(site 0, %1)
      %2 = call builtin tensor_view(site 0, %0, [$0, 2])
      ret %2
    })"));
  relax::Tensor x = relax::makeTensor(std::vector<float>{1, 2, 3, 4}, {4});
  relax::Tensor y = vm.call("main", x, 2).cast<relax::Tensor>();
  CHECK(y.ndim() == 2 && y.data_ptr() == x.data_ptr());
  relax::Function main = vm["main"];
  std::string error = caught([&] { main(x, 3); });
  CHECK(error.find("ValueError: main: argument 'n': cannot view") == 0);
  CHECK(caught([&] { vm.call("other"); }).find("other") != std::string::npos);
  CHECK(caught([&] { relax::Executable::assemble("functio"); }) != "");
}

static void testMemory() {
  relax::Device device = relax::cpu(15);
  {
    relax::Tensor x = relax::empty({100}, relax::dataType<double>(), device);
    CHECK(relax::memoryStats(device).in_use >= 800);
  }
  relax::resetPeakMemory(device);
  CHECK(relax::memoryStats(device).peak == 0);
  relax::releaseMemory(device);
  CHECK(relax::memoryStats(device).cached == 0);
  relax::setMemoryLimit(1 << 20, device);
  relax::synchronize(device);
  CHECK(relax::hasDevice(device) && !relax::hasDevice({kDLWebGPU, 0}));
  CHECK_TEXT(caught([] { relax::memoryStats({kDLWebGPU, 0}); }),
             "RuntimeError: no device API for webgpu:0 in this runtime");
}

void testHeader() {
  testTensors();
  testTensorErrors();
  testPrograms();
  testMemory();
}
