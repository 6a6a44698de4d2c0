//===- Matmul.cpp - Products of matrices on GPUs -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

using namespace mlir;
using namespace mlir::relax;

std::unique_ptr<KernelEmitter>
mlir::relax::matchDeviceMatmul(func::FuncOp, const TargetModel &) {
  return nullptr;
}
