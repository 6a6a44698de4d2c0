//===- MatrixUnit.h - The matrix unit of a processor ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMX of x86: eight registers, each of which holds a tile of 16 rows of 64
// bytes, and instructions that multiply two tiles of bf16 or bytes and add the
// product to a third one, of sums. Elements of a word of 32 bits follow one
// another along the depth, in both factors: see WordProducts.h.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_MATRIXUNIT_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_MATRIXUNIT_H

#include "WordProducts.h"

namespace mlir::relax {

class MatrixUnit {
public:
  /// The rows of a tile, and the words or sums of a row.
  static constexpr int64_t kSize = 16;
  /// The rows and columns of tiles whose sums stay in registers, beside two
  /// tiles of each factor.
  static constexpr int64_t kTiles = 2;

  /// Nothing where the target has none for elements and sums of these types.
  static std::optional<MatrixUnit> find(const FactorType &lhs,
                                        const FactorType &rhs, Type sum,
                                        const TargetModel &target);

  Value makeZeros(IndexBuilder &b) const;
  /// A tile of sums or of words in memory. Offset and stride count elements of
  /// the memory, which may be parts of words.
  Value loadSums(IndexBuilder &b, Value memory, Value offset,
                 Value stride) const;
  void storeSums(IndexBuilder &b, Value sums, Value memory, Value offset,
                 Value stride) const;
  Value loadWords(IndexBuilder &b, Value memory, Value offset,
                  Value stride) const;
  /// Adds the product of two tiles of words to a tile of sums.
  Value multiplyAdd(IndexBuilder &b, Value lhs, Value rhs, Value sums) const;

private:
  MatrixUnit(const FactorType &lhs, const FactorType &rhs, Type sum)
      : lhs(lhs), rhs(rhs), sum(sum) {}
  Type getSumsType() const;
  Type getWordsType() const;

  FactorType lhs, rhs;
  Type sum;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_MATRIXUNIT_H
