//===- TargetModel.cpp - What kernels know of the processor -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TargetModel.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir::relax;

/// 128 bits where nothing better is known: any processor can, in several
/// registers if need be.
static unsigned findHostVectorBits() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512f"))
    return 512;
  return features.lookup("avx") ? 256 : 128;
}

TargetModel TargetModel::get(unsigned vectorBits) {
  static const unsigned hostVectorBits = findHostVectorBits();
  TargetModel target;
  target.vectorBits = vectorBits ? vectorBits : hostVectorBits;
  return target;
}
