//===- WrittenInPlace.h - Tensors that are written in place -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_WRITTENINPLACE_H
#define RELAX_MLIR_LIB_TRANSFORMS_WRITTENINPLACE_H

#include "mlir/IR/Value.h"

namespace mlir::relax {

/// Whether a value is a tensor into which elements have been written, and which
/// has no other use on the way: bufferization writes in place.
bool isWrittenInPlace(Value value, Value tensor);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_WRITTENINPLACE_H
