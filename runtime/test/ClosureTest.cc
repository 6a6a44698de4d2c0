//===- ClosureTest.cc - Closures made, called, released ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contents of closures and their lifetime, calls of them, and their type in
// a check.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <thread>

static int make(TVMFFIAny *dst, void *handle, TVMFFISafeCallType entry,
                std::vector<const TVMFFIAny *> captures) {
  return relax_closure_make(&kSite, dst, handle, entry,
                            static_cast<int32_t>(captures.size()),
                            captures.data(), "", 0, nullptr);
}

static void *handleOf(const Slot &slot) {
  return static_cast<const TVMFFIAny *>(slot)->v_obj;
}

// The sum of all arguments, in order: 10 * sum + x.
static int foldDigits(void *, const TVMFFIAny *args, int32_t nargs,
                      TVMFFIAny *result) {
  int64_t sum = 0;
  for (int32_t i = 0; i < nargs; ++i)
    sum = 10 * sum + args[i].v_int64;
  relax_prim_set_int(result, sum);
  return 0;
}

static int64_t callDigits(const Slot &closure,
                          std::vector<const TVMFFIAny *> args) {
  Slot result;
  CHECK(relax_function_call(&kSite, result, closure,
                            static_cast<int32_t>(args.size()),
                            args.data()) == 0);
  return relax_prim_int(result);
}

// SE03: captured values come first.
static void testCall() {
  Slot one(int64_t(1)), two(int64_t(2)), three(int64_t(3)), closure;
  CHECK(make(closure, nullptr, foldDigits, {one, two}) == 0);
  CHECK(callDigits(closure, {}) == 12);
  CHECK(callDigits(closure, {three}) == 123);
  CHECK(callDigits(closure, {three, one, three}) == 12313);
  CHECK(closure.any.cast<ffi::Function>()(int64_t(7)).cast<int64_t>() == 127);
  // Without captured values a call goes straight to the code.
  CHECK(make(closure, nullptr, foldDigits, {}) == 0);
  CHECK(callDigits(closure, {three}) == 3);
  CHECK(TVMFFIFunctionGetCellPtr(handleOf(closure))->safe_call == foldDigits);
}

static int count(void *, const TVMFFIAny *args, int32_t nargs,
                 TVMFFIAny *result) {
  int64_t ones = 0;
  for (int32_t i = 0; i < nargs; ++i)
    ones += args[i].v_int64;
  relax_prim_set_int(result, 100 * ones + nargs);
  return 0;
}

static void testCallMany() {
  Slot one(int64_t(1)), closure;
  for (int captures : {1, 15, 16, 17, 40})
    for (int args : {0, 1, 2, 30}) {
      CHECK(make(closure, nullptr, count,
                 std::vector<const TVMFFIAny *>(captures, one)) == 0);
      CHECK(callDigits(closure, std::vector<const TVMFFIAny *>(args, one)) ==
            101 * (captures + args));
    }
}

static int raise(void *, const TVMFFIAny *, int32_t, TVMFFIAny *) {
  TVMFFIErrorSetRaisedFromCStr("KeyError", "no such thing");
  return -1;
}

static void testCallRaises() {
  Slot one(int64_t(1)), closure, result;
  CHECK(make(closure, nullptr, raise, {one}) == 0);
  CHECK_RAISES(relax_function_call(&kSite, result, closure, 0, nullptr),
               "KeyError", "no such thing");
}

static int returnFirst(void *, const TVMFFIAny *args, int32_t,
                       TVMFFIAny *result) {
  return relax_value_return(&kSite, result, &args[0]);
}

// SE03: a captured value is the value, not a copy.
static void testCaptures() {
  Slot tensor(makeTensor({2})), closure, result;
  CHECK(make(closure, nullptr, returnFirst, {tensor, tensor}) == 0);
  CHECK(tensor.uses() == 3);
  CHECK(relax_function_call(&kSite, result, closure, 0, nullptr) == 0);
  CHECK(handleOf(result) == handleOf(tensor) && tensor.uses() == 4);
  result = Slot();
  closure = Slot();
  CHECK(tensor.uses() == 1);
  // A string of the caller becomes an owned one.
  TVMFFIAny text = {};
  text.type_index = kTVMFFIRawStr;
  text.v_c_str = "a string of the caller";
  CHECK(make(closure, nullptr, returnFirst, {&text}) == 0);
  CHECK(relax_function_call(&kSite, result, closure, 0, nullptr) == 0);
  CHECK(result.any.type_index() == kTVMFFIStr);
  // A closure may take the place of what it captures.
  CHECK(make(tensor, nullptr, returnFirst, {tensor}) == 0);
  CHECK(relax_function_call(&kSite, tensor, tensor, 0, nullptr) == 0);
  CHECK(tensor.uses() == 1 && relax_tensor_ndim(tensor) == 1);
}

static void testCapturesRaise() {
  float data[2] = {};
  View view(data, {2}, kF32);
  Slot tensor(makeTensor({2})), closure(int64_t(1));
  CHECK_RAISES(make(closure, nullptr, returnFirst, {tensor, view}), "TypeError",
               "main: argument 'x': a tensor that was passed as a borrowed "
               "view cannot be captured, pass `tvm_ffi.from_dlpack(x)` "
               "instead");
  CHECK(tensor.uses() == 1 && relax_prim_int(closure) == 1);
}

static int makeInner(void *handle, const TVMFFIAny *args, int32_t nargs,
                     TVMFFIAny *result) {
  *result = {};
  return relax_closure_make(&kSite, result, handle, makeInner, nargs ? 1 : 0,
                            &args, "", 0, nullptr);
}

static int callAsEntry(void *handle, const TVMFFIAny *, int32_t,
                       TVMFFIAny *result) {
  *result = {};
  return relax_entry_call(handle, result, makeInner, 0, nullptr);
}

// However long closures make closures, each holds the root alone.
static void testRoot() {
  Slot root(makeTensor({1})), outer, inner;
  // A Function that is no closure is a root itself.
  Slot function(ffi::Function::FromTyped([](int64_t x) { return x; }));
  CHECK(make(outer, handleOf(function), makeInner, {}) == 0);
  CHECK(function.uses() == 2);
  for (int i = 0; i < 3; ++i) {
    CHECK(relax_function_call(&kSite, inner, outer, 0, nullptr) == 0);
    CHECK(function.uses() == 3 && outer.uses() == 1);
    outer = inner;
    inner = Slot();
    CHECK(function.uses() == 2);
  }
  // Through an argument of the call, and through a function of the module.
  const TVMFFIAny *args[] = {root};
  CHECK(relax_function_call(&kSite, inner, outer, 1, args) == 0);
  CHECK(function.uses() == 3 && root.uses() == 2);
  CHECK(make(outer, handleOf(inner), callAsEntry, {}) == 0);
  inner = Slot();
  CHECK(function.uses() == 2 && root.uses() == 1);
  CHECK(relax_function_call(&kSite, inner, outer, 0, nullptr) == 0);
  outer = Slot();
  CHECK(function.uses() == 2);
  inner = Slot();
  CHECK(function.uses() == 1);
}

static const relax_site kRecursive = {"f", "", "", ""};

// Calls itself through its handle, with a captured value.
static int recurse(void *handle, const TVMFFIAny *args, int32_t,
                   TVMFFIAny *result) {
  if (relax_frame_enter(&kRecursive))
    return -1;
  TVMFFIAny self = {};
  self.type_index = kTVMFFIFunction;
  self.v_obj = static_cast<TVMFFIObject *>(handle);
  TVMFFIAny left = {};
  relax_prim_set_int(&left, args[1].v_int64 - 1);
  const TVMFFIAny *next = &left;
  int code = 0;
  if (args[1].v_int64 == 0)
    relax_value_assign(result, &args[0]);
  else
    code = relax_function_call(&kRecursive, result, &self, 1, &next);
  relax_frame_leave(nullptr, 0);
  return code;
}

// SE03: a closure is its own handle, by which it can call itself.
static void testRecursion() {
  Slot captured(int64_t(42)), closure, result, depth(int64_t(999));
  CHECK(make(closure, nullptr, recurse, {captured}) == 0);
  const TVMFFIAny *args[] = {depth};
  CHECK(relax_function_call(&kSite, result, closure, 1, args) == 0);
  CHECK(relax_prim_int(result) == 42);
  depth.any = int64_t(1000);
  CHECK_RAISES(relax_function_call(&kSite, result, closure, 1, args),
               "RecursionError",
               "f: recursion deeper than 1000 calls; raise the limit with "
               "relax_mlir.set_recursion_limit");
}

// Each link captures the link before, bare or in a tuple.
static void testChain() {
  Slot tensor(makeTensor({1})), chain(tensor);
  for (int i = 0; i < 1000000; ++i) {
    if (i % 3 == 0) {
      const TVMFFIAny *fields[] = {chain};
      CHECK(relax_tuple_make(&kSite, chain, 1, fields) == 0);
    }
    CHECK(make(chain, nullptr, returnFirst, {chain}) == 0);
  }
  CHECK(tensor.uses() == 2);
  chain = Slot();
  CHECK(tensor.uses() == 1);
}

// Each thread releases on its own.
static void testChainInThreads() {
  Slot tensor(makeTensor({1}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&tensor] {
      Slot chain(tensor);
      for (int link = 0; link < 10000; ++link)
        CHECK(make(chain, nullptr, returnFirst, {chain, chain}) == 0);
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(tensor.uses() == 1);
}

// A weak reference outlives what the closure holds.
static void testWeakReference() {
  Slot tensor(makeTensor({1})), closure;
  CHECK(make(closure, nullptr, returnFirst, {tensor}) == 0);
  auto *object =
      const_cast<ffi::FunctionObj *>(static_cast<const ffi::FunctionObj *>(
          closure.any.cast<ffi::Function>().get()));
  ffi::WeakObjectPtr<ffi::FunctionObj> weak(
      ffi::GetObjectPtr<ffi::FunctionObj>(object));
  closure = Slot();
  CHECK(tensor.uses() == 1 && weak.expired());
}

// MC06: closures are no packed functions.
static void testPackedCheck() {
  Slot packed(ffi::Function::FromTyped([](int64_t x) { return x; })), closure;
  CHECK(relax_packed_check(&kSite, packed) == 0);
  CHECK(make(closure, nullptr, returnFirst, {packed}) == 0);
  CHECK(relax_function_check(&kSite, closure) == 0);
  const std::string prefix =
      "main: argument 'x': expected !relax.tensor<[n, 4], f32>, but got ";
  CHECK_RAISES(relax_packed_check(&kSite, closure), "TypeError",
               prefix + "a closure, not a packed function");
  CHECK_RAISES(relax_packed_check(&kSite, Slot(int64_t(3))), "TypeError",
               prefix + "the integer 3");
  // A function of the module under the name of a packed one.
  CHECK(relax_closure_make(&kSite, closure, nullptr, returnFirst, 0, nullptr,
                           "{\"kind\":\"packed\"}", 0, nullptr) == 0);
  CHECK(relax_packed_check(&kSite, closure) == 0);
}

static void foldInEngine(void **pointers) {
  void *handle = *static_cast<void **>(pointers[0]);
  auto *args = *static_cast<const TVMFFIAny **>(pointers[1]);
  auto *result = *static_cast<TVMFFIAny **>(pointers[3]);
  *static_cast<int32_t *>(pointers[4]) =
      args[0].v_int64 == 0
          ? raise(handle, args, 0, result)
          : makeInner(handle, args, *static_cast<int32_t *>(pointers[2]),
                      result);
}

static ffi::Any callGlobal(const char *name, void *address, ffi::Any keep) {
  return ffi::Function::GetGlobalRequired(name)(
      reinterpret_cast<int64_t>(address), "", keep);
}

// A function made by address keeps alive the given owner.
static void testMakeFunction() {
  Slot root(makeTensor({1})), one(int64_t(1)), zero(int64_t(0));
  Slot function(callGlobal("relax_mlir.runtime.make_function",
                           reinterpret_cast<void *>(foldDigits), root.any));
  CHECK(root.uses() == 2);
  CHECK(callDigits(function, {one, one}) == 11);
  function.any = callGlobal("relax_mlir.runtime.make_engine_function",
                            reinterpret_cast<void *>(foldInEngine), root.any);
  CHECK(root.uses() == 2);
  Slot result;
  const TVMFFIAny *args[] = {one};
  CHECK(relax_function_call(&kSite, result, function, 1, args) == 0);
  CHECK(root.uses() == 3); // what it makes has the same root
  args[0] = zero;
  CHECK_RAISES(relax_function_call(&kSite, result, function, 1, args),
               "KeyError", "no such thing");
  function = Slot();
  CHECK(root.uses() == 2);
  result = Slot();
  CHECK(root.uses() == 1);
}

static void testMakeFunctionRaises() {
  Slot make(
      ffi::Function::GetGlobalRequired("relax_mlir.runtime.make_function"));
  Slot address(int64_t(0)), text(ffi::String("")), none, result;
  const TVMFFIAny *args[] = {address, text, none};
  CHECK_RAISES(relax_function_call(&kSite, result, make, 3, args), "ValueError",
               "expected the address of a function, but got 0");
  address.any = reinterpret_cast<int64_t>(foldDigits);
  args[2] = address;
  CHECK(relax_function_call(&kSite, result, make, 3, args) == -1);
  CHECK(takeError().find("TypeError: expected an object to keep alive, or "
                         "None, but got the integer ") == 0);
}

void testClosure() {
  testCall();
  testCallMany();
  testCallRaises();
  testCaptures();
  testCapturesRaise();
  testRoot();
  testRecursion();
  testChain();
  testChainInThreads();
  testWeakReference();
  testPackedCheck();
  testMakeFunction();
  testMakeFunctionRaises();
}
