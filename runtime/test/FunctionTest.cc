//===- FunctionTest.cc - Lookup and calls -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions found once by name, called with few and many arguments, and errors
// passed on as they are.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <thread>

static int64_t countArgs(ffi::PackedArgs args) {
  int64_t sum = 0;
  for (int i = 0; i < args.size(); ++i)
    sum += args[i].cast<int64_t>();
  return sum;
}

static void registerFunctions() {
  ffi::Function::SetGlobal(
      "relax_mlir.test.sum",
      ffi::Function::FromPacked([](ffi::PackedArgs args, ffi::Any *result) {
        *result = countArgs(args);
      }));
  ffi::Function::SetGlobal(
      "relax_mlir.test.same",
      ffi::Function::FromTyped([](ffi::Any value) { return value; }));
  ffi::Function::SetGlobal("relax_mlir.test.raise",
                           ffi::Function::FromTyped([](int64_t index) -> int {
                             TVM_FFI_THROW(IndexError) << "no item " << index;
                           }));
}

static void testLookup() {
  void *cache = nullptr;
  Slot function;
  CHECK_RAISES(relax_function_get(&kSite, function, &cache, "foo"),
               "ValueError",
               "main: packed function 'foo' is not registered; register it "
               "with tvm_ffi.register_global_func(\"foo\", ...)");
  CHECK(cache == nullptr && function.any == nullptr);
  const char *name = "relax_mlir.test.sum";
  CHECK(relax_function_get(&kSite, function, &cache, name) == 0);
  int uses = function.uses();
  CHECK(cache == function.any.cast<ffi::ObjectRef>().get());
  CHECK(relax_function_get(&kSite, function, &cache, "not looked at") == 0);
  CHECK(function.uses() == uses);
  TVMFFIObjectDecRef(cache);
}

static void testLookupFromThreads() {
  void *cache = nullptr;
  const int before =
      ffi::Function::GetGlobalRequired("relax_mlir.test.sum").use_count();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&cache] {
      Slot function;
      CHECK(relax_function_get(&kSite, function, &cache,
                               "relax_mlir.test.sum") == 0);
    });
  for (std::thread &thread : threads)
    thread.join();
  TVMFFIObjectDecRef(cache);
  CHECK(ffi::Function::GetGlobalRequired("relax_mlir.test.sum").use_count() ==
        before);
}

static void testCall() {
  Slot sum(ffi::Function::GetGlobalRequired("relax_mlir.test.sum"));
  TVMFFIAny numbers[40];
  const TVMFFIAny *args[40];
  for (int i = 0; i < 40; ++i) {
    numbers[i] = {};
    relax_prim_set_int(&numbers[i], i);
    args[i] = &numbers[i];
  }
  for (int count : {0, 1, 16, 17, 40}) {
    Slot result(makeTensor({2}));
    CHECK(relax_function_call(&kSite, result, sum, count, args) == 0);
    CHECK(result.any.cast<int64_t>() == count * (count - 1) / 2);
  }
}

static void testCallReferences() {
  Slot same(ffi::Function::GetGlobalRequired("relax_mlir.test.same"));
  Slot tensor(makeTensor({2}));
  const TVMFFIAny *args[] = {tensor};
  {
    Slot result;
    CHECK(relax_function_call(&kSite, result, same, 1, args) == 0);
    CHECK(tensor.uses() == 2);
    CHECK(relax_function_call(&kSite, tensor, same, 1, args) == 0);
    CHECK(tensor.uses() == 2);
  }
  CHECK(tensor.uses() == 1);
  // The callee may be released by its own result.
  Slot callee = same;
  const TVMFFIAny *self[] = {callee};
  CHECK(relax_function_call(&kSite, callee, callee, 1, self) == 0);
  CHECK(callee.any.as<ffi::Function>().has_value());
}

static void testBorrowedArgument() {
  Slot rank(ffi::Function::FromTyped(
      [](DLTensor *tensor) -> int64_t { return tensor->ndim; }));
  float data[6] = {};
  View view(data, {2, 3}, kF32);
  const TVMFFIAny *args[] = {view};
  Slot result;
  CHECK(relax_function_call(&kSite, result, rank, 1, args) == 0);
  CHECK(relax_prim_int(result) == 2);
}

static void testRaise() {
  Slot raises(ffi::Function::GetGlobalRequired("relax_mlir.test.raise"));
  Slot index(int64_t(7)), result(makeTensor({2}));
  const TVMFFIAny *args[] = {index};
  CHECK_RAISES(relax_function_call(&kSite, result, raises, 1, args),
               "IndexError", "no item 7");
  CHECK(result.uses() == 1);
  CHECK_RAISES(relax_function_call(&kSite, result, index, 0, args), "TypeError",
               "main: argument 'x': expected a function, but got the integer "
               "7");
}

// A callee in C may return what it does not own.
static int returnFirst(void *, const TVMFFIAny *args, int32_t,
                       TVMFFIAny *result) {
  *result = args[0];
  return 0;
}

static int returnThenFail(void *, const TVMFFIAny *args, int32_t,
                          TVMFFIAny *result) {
  relax_value_assign(result, &args[0]);
  TVMFFIErrorSetRaisedFromCStr("KeyError", "too late");
  return -1;
}

static ffi::Function makeC(TVMFFISafeCallType entry) {
  return ffi::Function::FromExternC(nullptr, entry, nullptr);
}

static void testViewResults() {
  Slot callee(makeC(returnFirst)), result;
  TVMFFIAny text = {};
  text.type_index = kTVMFFIRawStr;
  text.v_c_str = "a string of the caller";
  const TVMFFIAny *args[] = {&text};
  CHECK(relax_function_call(&kSite, result, callee, 1, args) == 0);
  CHECK_TEXT(std::string(result.any.cast<ffi::String>()),
             "a string of the caller");
  CHECK(result.any.type_index() == kTVMFFIStr);
  float data[6] = {};
  View view(data, {2, 3}, kF32);
  args[0] = view;
  CHECK_RAISES(relax_function_call(&kSite, result, callee, 1, args),
               "TypeError",
               "main: argument 'x': expected the callee to return an owned "
               "tensor, but got a borrowed view");
}

static void testLateFailure() {
  Slot tensor(makeTensor({2})), result;
  const TVMFFIAny *args[] = {tensor};
  CHECK_RAISES(
      relax_function_call(&kSite, result, Slot(makeC(returnThenFail)), 1, args),
      "KeyError", "too late");
  CHECK_RAISES(relax_entry_call(nullptr, result, returnThenFail, 1, args),
               "KeyError", "too late");
  CHECK(tensor.uses() == 1);
}

static int returnHandle(void *handle, const TVMFFIAny *, int32_t nargs,
                        TVMFFIAny *result) {
  relax_prim_set_int(result, handle ? *static_cast<int64_t *>(handle) : nargs);
  return 0;
}

static void testEntryCall() {
  Slot one(int64_t(1)), result(makeTensor({2}));
  const TVMFFIAny *args[] = {one, one};
  CHECK(relax_entry_call(nullptr, result, returnHandle, 2, args) == 0);
  CHECK(relax_prim_int(result) == 2);
  int64_t seven = 7;
  CHECK(relax_entry_call(&seven, result, returnHandle, 2, args) == 0);
  CHECK(relax_prim_int(result) == 7);
}

void testFunction() {
  registerFunctions();
  testLookup();
  testLookupFromThreads();
  testCall();
  testCallReferences();
  testBorrowedArgument();
  testRaise();
  testViewResults();
  testLateFailure();
  testEntryCall();
}
