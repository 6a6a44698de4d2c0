//===- Dequantization.h - Matrices of quantized numbers ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes the operation that makes floats of quantized weights, so that a
// matrix product can do it in registers: fusion asks, and so does the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_DEQUANTIZATION_H
#define RELAX_MLIR_ANALYSIS_DEQUANTIZATION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// Kernels pack so many codes along the depth of a product into a word of 32
/// bits where codes have 4 bits, the first one in the lowest bits.
inline constexpr int64_t kCodesOfWord = 8;

/// A matrix of f32 that is (code - zero) * scale, where codes are integers of 8
/// bits. Scales and zeros may be those of a column, a row, a block of either,
/// or of all.
struct Dequantization {
  static std::optional<Dequantization> match(linalg::LinalgOp op);

  /// A scale or a zero: an operand, or a number.
  struct Term {
    std::optional<unsigned> operand;
    double number = 0;
    bool isUnsigned = false; // where it is an integer
  };

  linalg::LinalgOp op;
  SmallVector<AffineMap> maps; // of its operands
  unsigned codes = 0;          // the operand, whose map is the identity
  bool isUnsigned = false;
  Term scale, zero;

  /// How many indices of a loop share a scale and a zero: 0 where all do.
  /// Nothing where the blocks of both do not fit.
  std::optional<int64_t> getBlock(unsigned loop) const;
};

/// Whether kernels unpack such a matrix in registers where it is the right one
/// of a product, along whose depth the loop is.
bool isUnpackedInRegisters(const Dequantization &matrix, unsigned depthLoop);

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_DEQUANTIZATION_H
