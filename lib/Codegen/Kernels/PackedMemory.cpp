//===- PackedMemory.cpp - Memory for packed constants -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks are as large as all constants of a module, so that most programs have
// one, and what is not used of it takes no memory. Small programs have a block
// for each constant.
//
//===----------------------------------------------------------------------===//

#include "PackedMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemAlloc.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

using namespace mlir;
using namespace mlir::relax;

static constexpr size_t kHugePageBytes = size_t(2) << 20, kPageBytes = 4096;
/// Constants begin with a line of the cache, or a page where they have one.
static constexpr size_t kLineBytes = 64;
/// A block of fewer bytes has one constant, and no huge pages.
static constexpr size_t kLeastBytes = 2 * kHugePageBytes;

static std::shared_ptr<char> allocateBlock(size_t size) {
  size_t alignment = size < kLeastBytes ? kLineBytes : kHugePageBytes;
  auto *data = static_cast<char *>(llvm::allocate_buffer(size, alignment));
#if defined(__linux__)
  // Where this fails, pages are small.
  if (size >= kLeastBytes)
    madvise(data, size, MADV_HUGEPAGE);
#endif
  return {data,
          [=](char *data) { llvm::deallocate_buffer(data, size, alignment); }};
}

AsmResourceBlob PackedMemory::copy(ArrayRef<char> bytes) {
  size_t alignment = bytes.size() < kPageBytes ? kLineBytes : kPageBytes;
  used = llvm::alignTo(used, alignment);
  if (used + bytes.size() > size) {
    size = std::max(bytes.size(), expected < kLeastBytes ? 1 : expected);
    block = allocateBlock(size);
    used = 0;
  }
  MutableArrayRef<char> data(block.get() + used, bytes.size());
  used += bytes.size();
  llvm::copy(bytes, data.begin());
  auto keep = [block = block](void *, size_t, size_t) {};
  return AsmResourceBlob(data, kLineBytes, keep, /*dataIsMutable=*/true);
}
