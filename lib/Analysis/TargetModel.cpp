//===- TargetModel.cpp - The processor, as kernels see it -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TargetModel.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <unistd.h>

using namespace mlir::relax;

/// 128 bits where nothing better is known: any processor can, in several
/// registers if need be.
static unsigned findHostVectorBits() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512f"))
    return 512;
  return features.lookup("avx") ? 256 : 128;
}

/// The size of a cache as the system reports it; `known` where it does not.
static int64_t findHostCache(int level, int64_t known) {
  long bytes = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE // not part of POSIX
  bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
#endif
  return bytes > 0 ? bytes : known;
}

TargetModel TargetModel::get(unsigned vectorBits, int64_t l1Bytes,
                             int64_t l2Bytes) {
  static const unsigned hostVectorBits = findHostVectorBits();
  TargetModel target;
  target.vectorBits = vectorBits ? vectorBits : hostVectorBits;
  target.l1Bytes = l1Bytes ? l1Bytes : findHostCache(1, target.l1Bytes);
  target.l2Bytes = l2Bytes ? l2Bytes : findHostCache(2, target.l2Bytes);
  return target;
}
