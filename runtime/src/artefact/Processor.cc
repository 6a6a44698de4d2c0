//===- Processor.cc - Features of this processor ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processor.h"

using namespace relax_runtime;

// LibraryTable.cpp writes these names into libraries.
bool relax_runtime::hasFeature(const std::string &name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#define RELAX_FEATURE(feature)                                                 \
  if (name == feature)                                                         \
    return __builtin_cpu_supports(feature);
  RELAX_FEATURE("sse3")
  RELAX_FEATURE("ssse3")
  RELAX_FEATURE("sse4.1")
  RELAX_FEATURE("sse4.2")
  RELAX_FEATURE("sse4a")
  RELAX_FEATURE("popcnt")
  RELAX_FEATURE("aes")
  RELAX_FEATURE("pclmul")
  RELAX_FEATURE("bmi")
  RELAX_FEATURE("bmi2")
  RELAX_FEATURE("avx")
  RELAX_FEATURE("avx2")
  RELAX_FEATURE("fma")
  RELAX_FEATURE("fma4")
  RELAX_FEATURE("xop")
  RELAX_FEATURE("gfni")
  RELAX_FEATURE("vpclmulqdq")
  RELAX_FEATURE("avx512f")
  RELAX_FEATURE("avx512bw")
  RELAX_FEATURE("avx512cd")
  RELAX_FEATURE("avx512dq")
  RELAX_FEATURE("avx512vl")
  RELAX_FEATURE("avx512ifma")
  RELAX_FEATURE("avx512vbmi")
  RELAX_FEATURE("avx512vbmi2")
  RELAX_FEATURE("avx512vnni")
  RELAX_FEATURE("avx512bitalg")
  RELAX_FEATURE("avx512vpopcntdq")
  RELAX_FEATURE("avx512bf16")
#undef RELAX_FEATURE
#endif
  return true;
}
