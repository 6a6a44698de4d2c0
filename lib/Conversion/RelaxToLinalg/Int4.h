//===- Int4.h - Integers of 4 bits in kernels -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_INT4_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_INT4_H

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/IR/Int4.h"

namespace mlir::relax {

/// Whether an operator takes or makes integers of 4 bits, and is not their
/// conversion to or from 8 bits, for which there are kernels.
bool computesInt4(Operation *op);

/// Makes such an operator one of 8 bits, between conversions.
void computeInt4InBytes(Operation *op);

/// The memory of a tensor as another tensor of `type`.
Value viewAs(OpBuilder &builder, Location loc, Value tensor,
             TensorStructInfoType type);

/// A tensor of 4 bits as its memory; any other value as it is.
Value viewInt4Memory(OpBuilder &builder, Location loc, Value value);

/// Converts the elements in the bytes `memory` to 8 bits.
Value buildUnpack(KernelBuilder &b, Value memory, Value output,
                  bool isUnsigned);

/// Writes the lower 4 bits of each element to the bytes `memory`.
Value buildPack(KernelBuilder &b, Value input, Value memory);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_INT4_H
