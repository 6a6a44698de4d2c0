//===- Float8.h - Floats of 8 bits in kernels -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_FLOAT8_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_FLOAT8_H

#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"

namespace mlir::relax {

class ScalarBuilder;

/// Whether a data type is a float of 8 bits.
bool isFloat8(Type type);

/// The largest number of a float of 8 bits.
double getLargestFloat8(Type type);

/// A float of 8 bits as f32, which has all of them.
Value widenFloat8(ScalarBuilder &s, Value x);

/// An f32 as a float of 8 bits: the nearest one, of two as near the one with
/// the even code (of powers of two alone the larger one). What is too large is
/// infinite, or NaN where the type has no infinity.
Value narrowToFloat8(ScalarBuilder &s, Value x, Type type);

/// Whether an operator computes with floats of 8 bits.
bool computesFloat8(Operation *op);

/// Converts operands of 8 bits to f32, and rounds the result.
void computeFloat8InF32(Operation *op);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_FLOAT8_H
