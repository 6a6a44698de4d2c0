//===- MemoryLayout.h - Placing blocks in one piece of memory -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_MEMORYLAYOUT_H
#define RELAX_MLIR_LIB_TRANSFORMS_MEMORYLAYOUT_H

#include "mlir/Support/LLVM.h"

namespace mlir::relax {

/// The offsets of blocks, and the size of the memory.
struct MemoryLayout {
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Places blocks of these sizes, given in the order in which they come up, so
/// that those which interfere do not overlap. Offsets are aligned to the size
/// of a block rounded up to a power of two, at most 64.
MemoryLayout
layOutMemory(ArrayRef<int64_t> sizes,
             llvm::function_ref<bool(unsigned, unsigned)> interfere);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_MEMORYLAYOUT_H
