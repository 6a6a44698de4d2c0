//===- Frame.cc - The depth of recursion, and slots released ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enters and leaves compiled functions. Each thread counts how deep it is; the
// limit is one for the process. Whatever the limit, recursion ends before the
// stack of the thread does.
//
//===----------------------------------------------------------------------===//

#include "Signals.h"

#include <algorithm>
#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif
#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;

static std::atomic<int64_t> recursionLimit{1000};

//===----------------------------------------------------------------------===//
// The stack
//===----------------------------------------------------------------------===//

// The stack space that a compiled function, the functions that it calls before
// the next check, and the handling of an error may need. A function in Python
// needs most.
static constexpr uintptr_t kReserve = 256 << 10;

// The end of the stack of this thread; 0 where it is not known.
static uintptr_t findStackEnd() noexcept {
#if defined(__linux__)
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes))
    return 0;
  void *end = nullptr;
  size_t size = 0;
  int failed = pthread_attr_getstack(&attributes, &end, &size);
  pthread_attr_destroy(&attributes);
  return failed ? 0 : reinterpret_cast<uintptr_t>(end);
#elif defined(__APPLE__)
  pthread_t self = pthread_self();
  return reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(self)) -
         pthread_get_stacksize_np(self);
#else
  return 0;
#endif
}

namespace {

// The part of the stack that is kept in reserve; empty where nothing is known.
struct Reserve {
  uintptr_t begin, end;
};

} // namespace

// A small stack has a small reserve.
RELAX_NOINLINE static Reserve findReserve(uintptr_t here) noexcept {
  uintptr_t begin = findStackEnd();
  if (begin == 0 || begin > here)
    return {1, 1};
  return {begin, begin + std::min<uintptr_t>(kReserve, (here - begin) / 4)};
}

static uintptr_t currentFrame() noexcept {
#if defined(__GNUC__)
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#else
  return UINTPTR_MAX;
#endif
}

// A frame below the stack of the thread is on a stack of some other origin.
static bool hasStack(Reserve &reserve) noexcept {
  uintptr_t here = currentFrame();
  if (!RELAX_LIKELY(reserve.end != 0))
    reserve = findReserve(here);
  return here >= reserve.end || here < reserve.begin;
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

namespace {

// Together, since each thread-local variable of a library is found by a call.
struct ThreadFrames {
  int64_t depth = 0;
  Reserve reserve = {0, 0};
  SignalCheck signals;
};

} // namespace

static thread_local ThreadFrames threadFrames;

SignalCheck &SignalCheck::get() { return threadFrames.signals; }

RELAX_COLD static int raiseStack(const relax_site *site,
                                 int64_t depth) noexcept {
  return raiseInFunction(
      site, "RecursionError",
      "recursion deeper than " + countText(depth, "call") +
          " leaves no room on the stack of the thread; raise it, for instance "
          "with threading.stack_size");
}

RELAX_COLD static int raiseRecursion(const relax_site *site,
                                     int64_t limit) noexcept {
  return raiseInFunction(
      site, "RecursionError",
      "recursion deeper than " + countText(limit, "call") +
          "; raise the limit with relax_mlir.set_recursion_limit");
}

int relax_frame_enter(const relax_site *site) {
  ThreadFrames &thread = threadFrames;
  int64_t limit = recursionLimit.load(std::memory_order_relaxed);
  if (!RELAX_LIKELY(thread.depth < limit))
    return raiseRecursion(site, limit);
  if (!RELAX_LIKELY(hasStack(thread.reserve)))
    return raiseStack(site, thread.depth);
  if (thread.depth == 0)
    thread.signals.start();
  else if (!RELAX_LIKELY(thread.signals.tick() == 0))
    return -1;
  ++thread.depth;
  return 0;
}

int relax_runtime::enterHeapFrame(const relax_site *site) {
  int64_t limit = recursionLimit.load(std::memory_order_relaxed);
  ThreadFrames &thread = threadFrames;
  if (!RELAX_LIKELY(thread.depth < limit))
    return raiseRecursion(site, limit);
  ++thread.depth;
  return 0;
}

void relax_runtime::leaveHeapFrame() { --threadFrames.depth; }

void relax_frame_leave(TVMFFIAny *slots, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    owned(&slots[i]).~Any();
  --threadFrames.depth;
}

int64_t relax_recursion_limit_set(int64_t limit) {
  return recursionLimit.exchange(std::max<int64_t>(limit, 1));
}

// For Python, where a limit that is too small is an error.
static int64_t setRecursionLimit(int64_t limit) {
  if (limit < 1)
    RELAX_THROW(ValueError)
        << "expected a recursion limit of at least 1, but got " << limit;
  return relax_recursion_limit_set(limit);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def(
      "relax_mlir.runtime.set_recursion_limit", setRecursionLimit);
}
