//===- run_model.cpp - A model in a C++ program -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

namespace ffi = tvm::ffi;

// Memory for tensors that this program makes.
struct HostMemory {
  void AllocData(DLTensor *tensor) {
    tensor->data =
        std::aligned_alloc(64, (ffi::GetDataSize(*tensor) + 63) & ~size_t(63));
  }
  void FreeData(DLTensor *tensor) { std::free(tensor->data); }
};

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_model MODEL.so\n");
    return 2;
  }
  try {
    ffi::Module module = ffi::Module::LoadFromFile(argv[1]);
    ffi::Function run = module->GetFunction("main").value();

    ffi::Tensor x =
        ffi::Tensor::FromNDAlloc(HostMemory(), ffi::Shape({2, 3}),
                                 DLDataType{kDLFloat, 32, 1}, {kDLCPU, 0});
    float *elements = static_cast<float *>(x.data_ptr());
    std::iota(elements, elements + 6, 0.0f);

    ffi::Tensor y = run(x).cast<ffi::Tensor>();
    for (int64_t i = 0; i < y.numel(); ++i)
      std::printf("%g ", static_cast<float *>(y.data_ptr())[i]);
    std::printf("\n");

    // What is wrong with a call is an exception.
    run(3);
  } catch (const ffi::Error &error) {
    std::printf("%s: %s\n", error.kind().c_str(), error.message().c_str());
  }
  return 0;
}
