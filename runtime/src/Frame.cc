//===- Frame.cc - The depth of recursion, and slots released ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enters and leaves compiled functions. Each thread counts how deep it is; the
// limit is one for the process.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <algorithm>
#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;

static thread_local int64_t recursionDepth = 0;
static std::atomic<int64_t> recursionLimit{1000};

RELAX_COLD static int raiseRecursion(const relax_site *site,
                                     int64_t limit) noexcept {
  return raiseInFunction(
      site, "RecursionError",
      "recursion deeper than " + countText(limit, "call") +
          "; raise the limit with relax_mlir.set_recursion_limit");
}

int relax_frame_enter(const relax_site *site) {
  int64_t limit = recursionLimit.load(std::memory_order_relaxed);
  if (!RELAX_LIKELY(recursionDepth < limit))
    return raiseRecursion(site, limit);
  ++recursionDepth;
  return 0;
}

void relax_frame_leave(TVMFFIAny *slots, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    owned(&slots[i]).~Any();
  --recursionDepth;
}

int64_t relax_recursion_limit_set(int64_t limit) {
  return recursionLimit.exchange(std::max<int64_t>(limit, 1));
}

// For Python, where a limit that is too small is an error.
static int64_t setRecursionLimit(int64_t limit) {
  if (limit < 1)
    TVM_FFI_THROW(ValueError)
        << "expected a recursion limit of at least 1, but got " << limit;
  return relax_recursion_limit_set(limit);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def(
      "relax_mlir.runtime.set_recursion_limit", setRecursionLimit);
}
