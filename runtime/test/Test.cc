//===- Test.cc - Helpers of the runtime tests -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that count failures and go on, errors as text, tensors.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <atomic>
#include <cstdio>
#include <numeric>

static std::atomic<int> checks{0}, failures{0};

const relax_site kSite = {"main", "argument 'x'", "!relax.tensor<[n, 4], f32>",
                          ""};

void checkTrue(bool value, const char *text, const char *file, int line) {
  ++checks;
  if (value)
    return;
  ++failures;
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, text);
}

void checkText(const std::string &actual, const std::string &expected,
               const char *file, int line) {
  ++checks;
  if (actual == expected)
    return;
  ++failures;
  std::fprintf(stderr, "%s:%d: expected <%s>\n  but got <%s>\n", file, line,
               expected.c_str(), actual.c_str());
}

std::string takeError() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  std::string text(cell->kind.data, cell->kind.size);
  text += ": " + std::string(cell->message.data, cell->message.size);
  TVMFFIObjectDecRef(error);
  return text;
}

void checkRaises(int code, const std::string &kind, const std::string &message,
                 const char *file, int line) {
  checkTrue(code == -1, "the call returns -1", file, line);
  if (code == 0)
    return;
  checkText(takeError(), kind + ": " + message, file, line);
}

View::View(void *data, std::vector<int64_t> dims, relax_dtype dtype,
           std::vector<int64_t> steps, uint64_t byteOffset)
    : shape(std::move(dims)), strides(std::move(steps)) {
  tensor.data = data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.dtype = {static_cast<uint8_t>(dtype), static_cast<uint8_t>(dtype >> 8),
                  static_cast<uint16_t>(dtype >> 16)};
  tensor.shape = shape.data();
  tensor.strides = strides.empty() ? nullptr : strides.data();
  tensor.byte_offset = byteOffset;
  any.type_index = kTVMFFIDLTensorPtr;
  any.v_ptr = &tensor;
}

ffi::Tensor makeTensor(std::initializer_list<int64_t> dims) {
  Slot slot;
  std::vector<int64_t> shape(dims);
  CHECK(relax_tensor_alloc(&kSite, slot, static_cast<int32_t>(shape.size()),
                           shape.data(), kF32, kDLCPU, 0) == 0);
  ffi::Tensor tensor = slot.any.cast<ffi::Tensor>();
  float *data = static_cast<float *>(tensor.data_ptr());
  std::iota(data, data + tensor.numel(), 0.0f);
  return tensor;
}

int reportChecks() {
  std::printf("%d checks, %d failures\n", checks.load(), failures.load());
  return failures == 0 ? 0 : 1;
}
