//===- VmProgram.cc - A program in text assembly ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program, and its kernel in C++.
//
//===----------------------------------------------------------------------===//

#include "VmProgram.h"

const char *const kVmProgram = R"(
constant #0 = float 0.5
function main(n, x) registers 8 heap 4 {
  site 0 = "argument 'n'", "!relax.prim<i64>", "vm.py:1"
  site 1 = "body", "something", ""
  call builtin tensor_check(site 1, %1, 1, float32, 1, 0)
  $0 = call builtin prim_int(site 0, %0)
  %2 = call builtin storage_alloc(site 1, 64, 1, 0)
  %3 = call builtin tensor_from_storage(site 1, %2, 0, [1], float32)
  %4 = call builtin tensor_alloc(site 1, [1, $0], float32, 1, 0)
  $1 = call builtin dim(site 1, %4, 1)
  call kernel "increment"(read %1, write %3, scalar $1)
  %4 = call builtin closure_make(site 1, @second, [%0], "", [])
  %5 = call %4(%3)
  %6 = call builtin tuple_make(site 1, [%5, #0, %1])
  %7 = call builtin adt_make(site 1, 3, [%6, %0])
  $2 = call builtin adt_tag(site 1, %7)
  $3 = call builtin eq($2, 3)
  if $3 else wrong
  %7 = call builtin adt_get(site 1, %7, 1)
  if $0 else end
  $0 = call builtin sub($0, 1)
  %4 = call @main($0, %1)
  $1 = call builtin prim_int(site 1, %4)
  $1 = call builtin add($1, 3)
  %4 = call builtin prim_set_int($1)
  ret %4
end:
  ret %7
wrong:
  call builtin error_raise(site 1, "ValueError", "the tag is wrong")
  ret %1
}
private function second(a, b) registers 3 captures 1 {
  %2 = call @last(%1)
  ret %2
}
private function last(a) {
  ret %0
}
)";

static int32_t increment(void *const *data, const int64_t *const *,
                         const int64_t *scalars) {
  const float *from = static_cast<const float *>(data[0]);
  static_cast<float *>(data[1])[0] = from[0] + static_cast<float>(scalars[0]);
  return 0;
}

static ffi::Function find(const char *name) {
  return ffi::Function::GetGlobalRequired(std::string("relax_mlir.vm.") + name);
}

ffi::Function makeVmFunction(const std::string &text, const std::string &name) {
  static const ffi::Function assemble = find("assemble"), bind = find("bind"),
                             create = find("create"),
                             get = find("get_function");
  ffi::Any executable = assemble(text, ffi::Array<ffi::Any>());
  using Symbols = ffi::Map<ffi::String, int64_t>;
  Symbols kernels{{"increment", reinterpret_cast<intptr_t>(increment)}};
  bind(executable, kernels, Symbols(), nullptr);
  return get(create(executable), name).cast<ffi::Function>();
}

std::string callVm(const ffi::Function &main, int64_t n, const Slot &tensor) {
  Slot function(main), number(n), result;
  const TVMFFIAny *callee = function, *args[] = {number, tensor};
  return relax_function_call(&kSite, result, callee, 2, args) ? takeError()
                                                              : "";
}

int64_t runVm(const ffi::Function &main, int64_t n) {
  static const ffi::Tensor tensor = makeTensor({1});
  return main(n, tensor).cast<int64_t>();
}

int64_t expectedOfVm(int64_t n) { return 3 * n; }
