//===- FrameTest.cc - Recursion and released slots --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frames count per thread, fail at the limit without counting, and release
// their slots.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <thread>

static const relax_site kRecursive = {"f", "", "", ""};

// Enters until it fails, checks the error, and leaves again.
static int64_t enterAll(const std::string &message) {
  int64_t depth = 0;
  int code;
  while ((code = relax_frame_enter(&kRecursive)) == 0)
    ++depth;
  CHECK_RAISES(code, "RecursionError", message);
  for (int64_t i = 0; i < depth; ++i)
    relax_frame_leave(nullptr, 0);
  return depth;
}

static void testDepth() {
  const std::string message = "f: recursion deeper than 1000 calls; raise the "
                              "limit with relax_mlir.set_recursion_limit";
  CHECK(enterAll(message) == 1000);
  CHECK(enterAll(message) == 1000);
  CHECK(relax_frame_enter(&kRecursive) == 0);
  std::thread([&] { CHECK(enterAll(message) == 1000); }).join();
  CHECK(enterAll(message) == 999);
  relax_frame_leave(nullptr, 0);
}

static void testLimit() {
  CHECK(relax_recursion_limit_set(3) == 1000);
  CHECK(enterAll("f: recursion deeper than 3 calls; raise the limit with "
                 "relax_mlir.set_recursion_limit") == 3);
  CHECK(relax_recursion_limit_set(-5) == 3);
  CHECK(enterAll("f: recursion deeper than 1 call; raise the limit with "
                 "relax_mlir.set_recursion_limit") == 1);
  ffi::Function set = ffi::Function::GetGlobalRequired(
      "relax_mlir.runtime.set_recursion_limit");
  CHECK(set(1000).cast<int64_t>() == 1);
  TVMFFIAny limit = {}, result = {};
  const TVMFFIAny *args[] = {&limit};
  relax_prim_set_int(&limit, 0);
  CHECK_RAISES(relax_function_call(&kSite, &result, Slot(set), 1, args),
               "ValueError",
               "expected a recursion limit of at least 1, but got 0");
  CHECK(relax_recursion_limit_set(1000) == 1000);
}

// Takes stack for each call, as compiled functions do.
static int64_t recurse(int64_t depth) {
  volatile char memory[1024];
  memory[0] = 0;
  if (relax_frame_enter(&kRecursive))
    return depth + memory[0];
  int64_t result = recurse(depth + 1);
  relax_frame_leave(nullptr, 0);
  return result + memory[0];
}

// Whatever the limit, the stack of the thread does not overflow.
static void testStack() {
  CHECK(relax_recursion_limit_set(1000000000) == 1000);
  for (int i = 0; i < 2; ++i) {
    int64_t depth = 0;
    std::thread([&] {
      depth = recurse(0);
      std::string text = "f: recursion deeper than " + std::to_string(depth) +
                         " calls leaves no room on the stack of the thread; "
                         "raise it, for instance with threading.stack_size";
      CHECK_RAISES(-1, "RecursionError", text);
    }).join();
    CHECK(depth > 100);
  }
  CHECK(relax_recursion_limit_set(1000) == 1000000000);
}

static void testSlots() {
  Slot tensor(makeTensor({2, 2}));
  TVMFFIAny slots[3] = {};
  CHECK(relax_frame_enter(&kSite) == 0);
  relax_value_assign(&slots[0], tensor);
  relax_value_assign(&slots[1], &slots[0]);
  relax_prim_set_int(&slots[2], 5);
  CHECK(tensor.uses() == 3);
  relax_frame_leave(slots, 3);
  CHECK(tensor.uses() == 1);
}

void testFrame() {
  testDepth();
  testLimit();
  testStack();
  testSlots();
}
