//===- Function.cc - Packed functions and their calls -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds functions by name once, and calls them with slots as arguments. The
// error of a callee stays in the error slot of tvm-ffi as the callee left it.
//
//===----------------------------------------------------------------------===//

#include "Objects.h"
#include "Packed.h"
#include "Recording.h"
#include "Tensor.h"

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

RELAX_COLD static int raiseMissing(const relax_site *site,
                                   const char *name) noexcept {
  std::string text = name;
  return raiseInFunction(site, "ValueError",
                         "packed function '" + text +
                             "' is not registered; register it with "
                             "tvm_ffi.register_global_func(\"" +
                             text + "\", ...)");
}

RELAX_COLD static int findFunction(const relax_site *site, void **cache,
                                   const char *name) noexcept {
  RELAX_SAFE_CALL_BEGIN();
  std::optional<ffi::Function> function = findPackedFunction(name);
  if (!function)
    return raiseMissing(site, name);
  publish(cache, ffi::details::ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(
                     std::move(*function)));
  RELAX_SAFE_CALL_END();
}

int relax_function_get(const relax_site *site, TVMFFIAny *dst, void **cache,
                       const char *name) {
  std::atomic<void *> &shared = atomicCache(cache);
  if (!RELAX_LIKELY(shared.load(std::memory_order_acquire)) &&
      findFunction(site, cache, name))
    return -1;
  assignObject(dst, kTVMFFIFunction, shared.load(std::memory_order_acquire));
  return 0;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

// What a packed function or a closure does is not known.
static constexpr const char *kCallsFunction =
    "it calls packed functions or closures";

// Calls with the arguments side by side in `packed`, as views: the slots keep
// them alive.
static int callPacked(TVMFFISafeCallType entry, void *handle, int32_t nargs,
                      const TVMFFIAny *const *args, TVMFFIAny *packed,
                      TVMFFIAny *result) {
  for (int32_t i = 0; i < nargs; ++i)
    packed[i] = *args[i];
  if (RELAX_LIKELY(entry(handle, packed, nargs, result) == 0))
    return 0;
  owned(result).reset();
  return -1;
}

RELAX_NOINLINE static int callMany(TVMFFISafeCallType entry, void *handle,
                                   int32_t nargs, const TVMFFIAny *const *args,
                                   TVMFFIAny *result) {
  RELAX_SAFE_CALL_BEGIN();
  Scratch<TVMFFIAny, 1> packed(static_cast<size_t>(nargs));
  return callPacked(entry, handle, nargs, args, packed.data(), result);
  RELAX_SAFE_CALL_END();
}

static int call(TVMFFISafeCallType entry, void *handle, int32_t nargs,
                const TVMFFIAny *const *args, TVMFFIAny *result) {
  constexpr int32_t kFew = 16;
  if (!RELAX_LIKELY(nargs <= kFew))
    return callMany(entry, handle, nargs, args, result);
  TVMFFIAny packed[kFew];
  return callPacked(entry, handle, nargs, args, packed, result);
}

// A result should own its value. A callee written in C may hand out a view all
// the same: what can be owned is made so.
RELAX_COLD static int ownResult(const relax_site *site, TVMFFIAny *result) {
  RELAX_SAFE_CALL_BEGIN();
  if (result->type_index == kTVMFFIDLTensorPtr)
    return raiseError(site, "TypeError",
                      "expected the callee to return an owned tensor, but got "
                      "a borrowed view");
  ffi::Any value(ffi::AnyView::CopyFromTVMFFIAny(*result));
  owned(result) = std::move(value);
  RELAX_SAFE_CALL_END();
}

int relax_runtime::callPackedArgs(const relax_site *site,
                                  TVMFFIObject *function, const TVMFFIAny *args,
                                  int32_t nargs, TVMFFIAny *result) {
  refuseRecording(kCallsFunction);
  if (!RELAX_LIKELY(TVMFFIFunctionGetCellPtr(function)->safe_call(
                        function, args, nargs, result) == 0)) {
    owned(result).reset();
    return -1;
  }
  if (!RELAX_LIKELY(!isView(*result)) && ownResult(site, result)) {
    owned(result).reset();
    return -1;
  }
  return 0;
}

int relax_function_call(const relax_site *site, TVMFFIAny *dst,
                        const TVMFFIAny *callee, int32_t nargs,
                        const TVMFFIAny *const *args) {
  if (!RELAX_LIKELY(callee->type_index == kTVMFFIFunction))
    return raiseKind(site, "a function", callee);
  refuseRecording(kCallsFunction);
  TVMFFIObject *function = callee->v_obj;
  TVMFFIAny result = {};
  if (call(TVMFFIFunctionGetCellPtr(function)->safe_call, function, nargs, args,
           &result))
    return -1;
  if (!RELAX_LIKELY(!isView(result)) && ownResult(site, &result))
    return -1;
  assignOwned(dst, result);
  return 0;
}

int relax_entry_call(void *handle, TVMFFIAny *dst, TVMFFISafeCallType entry,
                     int32_t nargs, const TVMFFIAny *const *args) {
  TVMFFIAny result = {};
  if (call(entry, handle, nargs, args, &result))
    return -1;
  assignOwned(dst, result);
  return 0;
}
