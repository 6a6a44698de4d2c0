//===- Indices.h - Indices that are elements of tensors ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operators that gather and those that scatter do with the indices that
// they are given.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_INDICES_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_INDICES_H

#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

namespace mlir::relax {

/// An index of any integer type, as one that may be negative.
Value asIndex(ScalarBuilder &s, Value number, Type dtype);

/// A negative index counts from the end of a dimension.
Value fromEnd(ScalarBuilder &s, Value place, Value size);

/// Dimensions of indices other than the axis are not larger: max(d, i) == d.
DimPairs checkElementIndices(Value data, Value indices, int64_t axis);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_INDICES_H
