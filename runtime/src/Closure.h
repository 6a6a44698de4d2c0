//===- Closure.h - Functions that hold values -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The object behind a closure: a tvm-ffi Function, followed in the same piece
// of memory by the captured values and dimensions.
//
// Rationale: tvm-ffi calls whatever has the type index of a function, so a
// closure has that one and is recognized by its deleter, which no other object
// has.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_CLOSURE_H
#define RELAX_RUNTIME_CLOSURE_H

#include "StructInfo.h"

namespace relax_runtime {

class ClosureObj : public ffi::FunctionObj {
public:
  // A function in the interface of MLIR's execution engine, which takes an
  // array of pointers to the arguments and the result.
  using EngineEntry = void (*)(void **);

  // Makes a closure that captures None `numCaptures` times and the dimensions;
  // NULL where no memory is left.
  static ClosureObj *make(int32_t numCaptures, int32_t numDims,
                          const int64_t *dims);

  // The closure in a value; NULL for any other value.
  static ClosureObj *get(const TVMFFIAny *value) {
    return value->type_index == kTVMFFIFunction ? get(value->v_obj) : nullptr;
  }
  // The closure behind a Function; NULL for a packed function.
  static ClosureObj *get(TVMFFIObject *function) {
    if (function->deleter != release)
      return nullptr;
    return ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<ClosureObj>(
        function);
  }

  // Sets the function that a call runs.
  void setEntry(TVMFFISafeCallType entry);
  void setEntry(EngineEntry entry);
  // Of a function of the VM: `entry` gets the closure as its handle and the
  // arguments alone.
  void setBytecode(TVMFFISafeCallType entry, const void *code) {
    safe_call = entry;
    this->code = code;
  }

  ffi::Any *captures() { return reinterpret_cast<ffi::Any *>(this + 1); }
  ffi::ShapeView dims() {
    return {reinterpret_cast<int64_t *>(captures() + numCaptures),
            static_cast<size_t>(numDims)};
  }
  // The StructInfo, read from the text on first use. Throws.
  const StructInfo &structInfo();

  // Keeps the code alive; may be None.
  ffi::Any root;
  // The StructInfo as text: static, or where the closure owns it, in `ownText`.
  const char *sinfo = "";
  ffi::String ownText;
  // Of a function of the VM: what it runs.
  const void *code = nullptr;
  const int32_t numCaptures, numDims;

private:
  ClosureObj(int32_t numCaptures, int32_t numDims)
      : numCaptures(numCaptures), numDims(numDims) {}
  ~ClosureObj();

  static int callEngine(void *self, const TVMFFIAny *args, int32_t nargs,
                        TVMFFIAny *result);
  static int callWithCaptures(void *self, const TVMFFIAny *args, int32_t nargs,
                              TVMFFIAny *result);
  int callPacked(const TVMFFIAny *args, int32_t nargs, TVMFFIAny *packed,
                 TVMFFIAny *result);
  static void release(void *self, int flags);

  union {
    TVMFFISafeCallType entry;
    EngineEntry engineEntry;
  };
  std::atomic<const StructInfo *> parsed{nullptr};
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_CLOSURE_H
