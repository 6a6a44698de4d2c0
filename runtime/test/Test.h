//===- Test.h - Helpers of the runtime tests --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that count failures and go on, errors compared by kind and text, slots
// that release themselves, and tensors laid out at will.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_H
#define RELAX_RUNTIME_TEST_H

#include "relax_runtime.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <tvm/ffi/tvm_ffi.h>
#include <vector>

namespace ffi = tvm::ffi;

void checkTrue(bool value, const char *text, const char *file, int line);
void checkText(const std::string &actual, const std::string &expected,
               const char *file, int line);
// Takes the error that was raised: "kind: message".
std::string takeError();
// Checks that a call returned -1 and left this error; takes the error.
void checkRaises(int code, const std::string &kind, const std::string &message,
                 const char *file, int line);

// Prints how many checks there were; the exit code.
int reportChecks();

#define CHECK(condition) checkTrue((condition), #condition, __FILE__, __LINE__)
#define CHECK_TEXT(actual, expected)                                           \
  checkText((actual), (expected), __FILE__, __LINE__)
#define CHECK_RAISES(call, kind, message)                                      \
  checkRaises((call), (kind), (message), __FILE__, __LINE__)

constexpr relax_dtype makeDType(uint32_t code, uint32_t bits,
                                uint32_t lanes = 1) {
  return code | bits << 8 | lanes << 16;
}
constexpr relax_dtype kF32 = makeDType(kDLFloat, 32);
constexpr relax_dtype kI64 = makeDType(kDLInt, 64);
constexpr relax_dtype kBool = makeDType(kDLBool, 8);

// The site of most tests: main, argument 'x'.
extern const relax_site kSite;

// A slot, or a view of one: releases what it holds.
struct Slot {
  ffi::Any any;
  Slot() = default;
  template <typename T> explicit Slot(T value) : any(std::move(value)) {}
  operator TVMFFIAny *() { return reinterpret_cast<TVMFFIAny *>(&any); }
  operator const TVMFFIAny *() const {
    return reinterpret_cast<const TVMFFIAny *>(&any);
  }
  DLTensor *tensor() const {
    const TVMFFIAny *value = *this;
    return TVMFFITensorGetDLTensorPtr(value->v_obj);
  }
  int uses() const { return any.cast<ffi::ObjectRef>().use_count() - 1; }
};

// A borrowed tensor with memory of its own.
struct View {
  std::vector<int64_t> shape, strides;
  DLTensor tensor = {};
  TVMFFIAny any = {};
  View(void *data, std::vector<int64_t> dims, relax_dtype dtype,
       std::vector<int64_t> steps = {}, uint64_t byteOffset = 0);
  View(const View &) = delete;
  operator const TVMFFIAny *() const { return &any; }
};

// A new float32 tensor 0, 1, 2, ...
ffi::Tensor makeTensor(std::initializer_list<int64_t> dims);

void testCheck();
void testClosure();
void testConcat();
void testDisco();
void testFrame();
void testFunction();
void testHeader();
void testPacked();
void testParallel();
void testPool();
void testScratch();
void testStorage();
void testStructInfoOfClosures();
void testTensor();
void testValues();
void testVm();

#endif // RELAX_RUNTIME_TEST_H
