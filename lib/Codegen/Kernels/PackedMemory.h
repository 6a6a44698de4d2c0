//===- PackedMemory.h - Memory for packed constants -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packed constants lie one after the other, so that huge pages hold those that
// are smaller than a page, too: kernels read all weights of a program once for
// each call, and miss the TLB for each page.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_PACKEDMEMORY_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_PACKEDMEMORY_H

#include "mlir/IR/AsmState.h"

#include <memory>

namespace mlir::relax {

/// Blocks of memory, each of which is freed with the last constant in it.
class PackedMemory {
public:
  /// There will be about `expected` bytes.
  explicit PackedMemory(size_t expected) : expected(expected) {}

  /// Copies the bytes of a constant.
  AsmResourceBlob copy(ArrayRef<char> bytes);

private:
  size_t expected;
  std::shared_ptr<char> block;
  size_t used = 0, size = 0; // of the block
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_PACKEDMEMORY_H
