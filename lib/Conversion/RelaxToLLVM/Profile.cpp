//===- Profile.cpp - Calls that a profile measures in LLVM -------*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the option `profile`, calls of kernels, functions, and builtins of the
// runtime are between calls of `relax_profile_begin` and `relax_profile_end`.
// Operands of kernels are described by their dimensions, as tensors that only
// kernels use have no object.
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

using namespace mlir;
using namespace mlir::relax;

/// Calls of kernels: data types and ranks are part of the call site.
Value FunctionEmitter::beginKernel(StringRef name, ValueRange operands) {
  SmallVector<std::pair<uint32_t, int32_t>> types;
  SmallVector<Value> dims;
  for (Value operand : operands) {
    auto type = dyn_cast<TensorStructInfoType>(operand.getType());
    if (!type)
      continue;
    types.emplace_back(encodeDType(type.getDtype()), type.getNdim());
    llvm::append_range(dims, emitDims(operand));
  }
  Value call = runtime.callSite(builder, source.getSymName(),
                                numProfiledCalls++, "kernel", name, types);
  runtime.call(builder, "relax_profile_begin", Type(),
               {call, emitStackArray(dims, builder.getI64Type())});
  return call;
}

Value FunctionEmitter::beginCall(StringRef kind, StringRef name,
                                 ValueRange operands) {
  Value call = runtime.callSite(builder, source.getSymName(),
                                numProfiledCalls++, kind, name, {});
  SmallVector<Value> values = map(operands);
  runtime.call(
      builder, "relax_profile_begin_values", Type(),
      {call, i32(values.size()), emitStackArray(values, runtime.ptrType())});
  return call;
}

void FunctionEmitter::emitMeasured(StringRef kind, StringRef name,
                                   ValueRange operands,
                                   function_ref<Value()> emitCall) {
  Value call;
  if (isProfiled)
    call = kind == "kernel" ? beginKernel(name, operands)
                            : beginCall(kind, name, operands);
  Value status = emitCall();
  if (isProfiled)
    runtime.call(builder, "relax_profile_end", Type(),
                 {call, status ? status : i32(0)});
  if (status)
    leaveUnlessZero(status);
}
