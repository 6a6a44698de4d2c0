//===- run_model.c - A model in a C program -----------------------*- C -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <dlfcn.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

// What an object of tvm-ffi holds stands behind its header.
static void *contentOf(TVMFFIObjectHandle object) {
  return (TVMFFIObject *)object + 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run_model_c MODEL.so\n");
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  TVMFFISafeCallType run = (TVMFFISafeCallType)dlsym(library, "__tvm_ffi_main");
  if (!run) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }

  // A view of memory of this program, for the time of the call.
  float elements[] = {0, 1, 2, 3, 4, 5};
  int64_t shape[] = {2, 3};
  DLTensor x = {.data = elements,
                .device = {kDLCPU, 0},
                .ndim = 2,
                .dtype = {kDLFloat, 32, 1},
                .shape = shape};
  TVMFFIAny argument = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &x};
  TVMFFIAny result = {.type_index = kTVMFFINone};

  if (run(NULL, &argument, 1, &result) != 0) {
    TVMFFIObjectHandle error;
    TVMFFIErrorMoveFromRaised(&error);
    TVMFFIErrorCell *cell = contentOf(error);
    fprintf(stderr, "%.*s\n", (int)cell->message.size, cell->message.data);
    TVMFFIObjectDecRef(error);
    return 1;
  }
  DLTensor *y = contentOf(result.v_obj);
  for (int64_t i = 0; i < y->shape[0] * y->shape[1]; ++i)
    printf("%g ", ((float *)y->data)[i]);
  printf("\n");
  TVMFFIObjectDecRef(result.v_obj);
  return 0;
}
