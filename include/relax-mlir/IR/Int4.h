//===- Int4.h - Tensors of integers of 4 bits -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In memory two elements share a byte, in row-major order of the whole tensor:
// the first one is in the lower half. The last byte of an odd number of
// elements has an upper half without meaning.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_INT4_H
#define RELAX_MLIR_IR_INT4_H

#include "relax-mlir/IR/Inference.h"

namespace mlir::relax {

/// Whether a data type has 4 bits: i4 or ui4.
bool isInt4(Type dtype);

/// The data type of 8 bits with the same sign.
Type getWideInt4(Type dtype);

/// Reports a tensor of 4 bits among operands and results of an operator that
/// neither moves elements nor converts them.
LogicalResult checkInt4(OptionalLoc location, StringRef name,
                        TypeRange operands, TypeRange results);

/// The memory of a tensor of 4 bits, as a vector of ui8.
TensorStructInfoType getInt4Memory(TensorStructInfoType tensor);

/// Packs elements of a byte each, of which the lower half counts.
void packInt4(ArrayRef<char> elements, std::string &packed);

/// The elements of a tensor of data type `dtype` in bytes of their own.
SmallVector<char> unpackInt4(ArrayRef<char> packed, int64_t count, Type dtype);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_INT4_H
