//===- MatmulEmitter.h - The loops of a GEMM --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a batch of matrix products over memory, all sizes of which may be
// dynamic. A callback stores the sums, so that an epilogue can be fused.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMULEMITTER_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMULEMITTER_H

#include "MatrixUnit.h"

#include "mlir/IR/BuiltinTypes.h"

#include <functional>

namespace mlir::relax {

/// A matrix in a vector of memory: element (i, j) is at
/// `offset + i * rowStride + j * columnStride`.
struct MatrixView {
  Value base; // memref<?xT>
  Value offset, rowStride, columnStride;
  /// Whether integers are extended by zeros.
  bool isUnsigned = false;
  /// Of kernels of devices: loads element (i, j) of a matrix that does not lie
  /// in memory so, or gives 0 where one of the last values says that it has no
  /// row i, or no column j; only the type of `base` counts then, and which
  /// stride is 1. There is memory where the product has a depth.
  using Element = std::function<Value(IndexBuilder &, Value i, Value j,
                                      Value isRow, Value isColumn)>;
  Element element = nullptr;
  /// Whether that computes with numbers of 64 bits.
  bool isWide = false;

  bool hasUnitRows() const { return isConstantIntValue(rowStride, 1); }
  bool hasUnitColumns() const { return isConstantIntValue(columnStride, 1); }
  MatrixView transposed() const {
    MatrixView result = {base, offset, columnStride, rowStride, isUnsigned};
    if (element)
      result.element = [element = element](IndexBuilder &b, Value i, Value j,
                                           Value isRow, Value isColumn) {
        return element(b, j, i, isColumn, isRow);
      };
    result.isWide = isWide;
    return result;
  }
};

/// The sizes of tiles and blocks. A tile of rows x vectors sums stays in
/// registers; a block of blockRows x blockDepth of the left matrix stays in the
/// second level of the cache.
struct MatmulBlocking {
  /// `bits` of a vector, bytes of the caches. Products that are not fused with
  /// their sums take a register more. `tile` is that of a schedule, which
  /// counts where it is one (KernelTile.h).
  static MatmulBlocking get(unsigned bits, int64_t l1, int64_t l2,
                            unsigned elementBits, bool areFused = true,
                            ArrayRef<int64_t> tile = {});

  /// The same where a matrix unit multiplies, with its tiles of rows. A tile
  /// has two vectors, whose lanes are the columns of tiles of the unit.
  MatmulBlocking forMatrixUnit() const;

  int64_t lanes, rows, vectors, blockRows, blockDepth;
  /// Whether there are 32 registers for vectors, else 16.
  bool hasManyRegisters;
  /// Whether a matrix unit multiplies.
  bool isOfMatrixUnit = false;

  int64_t columns() const { return vectors * lanes; }
};

/// A right matrix of codes of 4 or 8 bits, as PackedWeights.h lays them out; an
/// element is (code - bias - zero) * scale. Panels have as many columns as a
/// vector has lanes.
struct WeightPanels {
  Value codes;         // memref<?xi32> of words, or memref<?xi8>
  Value scales, zeros; // memref<?xT>, or a number of type f32
  int64_t bits, group; // a group of 0 is the whole depth
  int64_t bias = 0;
  bool isUnsigned = false, isUnsignedZero = false;
  /// How bytes are multiplied, where rows become bytes.
  std::optional<ByteProducts> byteProducts = std::nullopt;
};

/// Products of matrices lhs (m x k) and rhs (k x n), one for each of `batch`.
struct MatmulProblem {
  Value batch, m, n, k;
  /// The matrices of one product of the batch.
  std::function<MatrixView(IndexBuilder &, Value)> lhs, rhs;
  /// Whether `rhs` is packed for this blocking: all elements, or words, of as
  /// many columns as a tile has, row by row, then those of the next ones. Of
  /// the view only the base and the offset count.
  bool isPacked = false;
  /// Whether `lhs` is packed for this blocking: all elements of as many rows as
  /// a tile has, column by column, then those of the next ones. Of the view
  /// only the base and the offset count. The right matrix is packed a panel at
  /// a time then.
  bool isLhsPacked = false;

  /// Instead of `rhs`. There is no batch, and the depth is known.
  std::optional<WeightPanels> weights = std::nullopt;

  /// Columns of the right matrix, from row `begin` on.
  struct Columns {
    Value batch, column, columns;
    Value begin, depth;
  };
  /// Instead of `rhs`: writes a panel to scratch memory at an offset, row by
  /// row. A row takes as many elements as a tile has columns; those past the
  /// end may have any values.
  std::function<void(IndexBuilder &, const Columns &, Value, Value)> packRhs;

  /// Takes a vector of sums of row `row` from column `column` on, of which
  /// those in the mask are in the result. Each sum is given once, complete.
  struct Place {
    Value batch, row, column, mask;
    /// Of kernels of devices: all are in the result, and memory is aligned to
    /// the vector, as far as `canAlign` says.
    bool isAligned = false;
  };
  std::function<void(IndexBuilder &, Value, const Place &)> finish;
  /// Whether sums have so few products that other work on them counts. Then
  /// `finish` may be given no mask, where all sums are in the result.
  bool isShallow = false;
  /// If at all: prefetches where `finish` writes so many elements of a row.
  std::function<void(IndexBuilder &, const Place &, int64_t)> prefetchResult =
      nullptr;
  /// Of kernels of devices, if at all: whether what `finish` reads and writes
  /// is aligned to 16 bytes at multiples of this many columns.
  std::function<Value(IndexBuilder &, int64_t)> canAlign = nullptr;

  /// Of kernels of devices, if at all: where the part of the depth begins and
  /// ends that a product of the batch sums up.
  std::function<std::pair<Value, Value>(IndexBuilder &, Value)> depthRange =
      nullptr;

  /// The type of the sums; elements that are smaller are extended to it.
  Type sumType;

  /// How several products are added at a time. Panels are made of words then,
  /// with zeros where the depth ends.
  std::optional<WordProducts> words = std::nullopt;
  /// What multiplies words of more rows than tiles of vectors have, if the left
  /// matrix has unit columns.
  std::optional<MatrixUnit> matrixUnit = std::nullopt;
};

/// Emits the loops. The columns or the rows of `rhs` must be contiguous.
void emitMatmul(IndexBuilder &b, const MatmulProblem &problem,
                const MatmulBlocking &blocking);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMULEMITTER_H
