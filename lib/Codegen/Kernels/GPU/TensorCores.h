//===- TensorCores.h - Products of 16 x 8 by tensor cores -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices of f16, bf16 or f32 in shared memory, asynchronous copies to them,
// and mma.sync on what ldmatrix takes of them; f32 is rounded to tf32 there.
// Chunks of 16 bytes are swizzled, so that eight rows of a matrix of 8 rows of
// 16 bytes lie in different banks.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_TENSORCORES_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_TENSORCORES_H

#include "Matmul.h"

namespace mlir::relax {

/// The elements of 16 bits of a chunk of 16 bytes.
constexpr int64_t kChunk = 8;
/// A product of mma.sync: 16 x 8 results, 16 elements of 16 bits deep, or 8 of
/// 32 bits: two chunks.
constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaDepth = 16;

/// A matrix in shared memory: `extent` rows of `width` elements, from `offset`
/// on.
struct SharedTile {
  Value memory;
  int64_t extent, width;
  Value offset = nullptr;
  /// Whether lanes read a few neighbors of each of four rows, not chunks of
  /// eight rows.
  bool isReadAcross = false;

  /// The elements of a chunk.
  int64_t chunk() const { return 128 / element().getIntOrFloatBitWidth(); }
  int64_t chunks() const { return width / chunk(); }
  int64_t size() const { return extent * width; }
  Type element() const {
    return cast<MemRefType>(memory.getType()).getElementType();
  }
  /// The place of a chunk.
  Value placeOf(IndexBuilder &b, Value row, Value chunk) const;
};

/// What is copied to a tile: elements from a row and a column on, and zeros
/// beyond the last ones.
struct TileSource {
  MatrixView matrix;
  Value firstRow, firstColumn, numRows, numColumns;
};

/// Copies by `numThreads` threads, asynchronously: rows of the matrix are
/// aligned to chunks. Adds to the tokens.
void copyTile(IndexBuilder &b, const SharedTile &tile, const TileSource &source,
              Value thread, int64_t numThreads, SmallVectorImpl<Value> &tokens);

/// The same in two steps for any matrix: loads what a thread copies, element by
/// element, and stores it.
SmallVector<Value> loadChunks(IndexBuilder &b, const SharedTile &tile,
                              const TileSource &source, Value thread,
                              int64_t numThreads);
void storeChunks(IndexBuilder &b, const SharedTile &tile, ValueRange chunks,
                 Value thread, int64_t numThreads);

/// 16 rows of the left matrix, two chunks deep, as mma.sync takes them.
Value loadLeft(IndexBuilder &b, const SharedTile &tile, Value firstRow,
               int64_t depth, Value lane);

/// The two words of each of two tiles of 8 columns of the right matrix, two
/// chunks deep. The rows of the tile are the depth; with `isTransposed` they
/// are columns.
SmallVector<SmallVector<Value>> loadRight(IndexBuilder &b,
                                          const SharedTile &tile,
                                          Value firstColumn, int64_t depth,
                                          Value lane, bool isTransposed);

/// The words of what `loadLeft` returns.
SmallVector<Value> getPairs(IndexBuilder &b, Value matrices);

/// A word, as mma.sync takes it: vector<2xf16>, vector<2xbf16>, or
/// vector<1xf32>, which is rounded to tf32.
Value makePair(IndexBuilder &b, Value vector);

/// Adds a product of 16 x 8 results to the four sums of a lane: two neighbours
/// in row lane / 4, and two in the one 8 below.
void multiplyAdd(IndexBuilder &b, Type element, ValueRange left,
                 ValueRange right, MutableArrayRef<Value> sums);

/// Sums of warps on their way to the result, in shared memory: 16 rows of
/// `width` columns for each warp.
struct WarpRows {
  Value memory;
  int64_t width;
  Value warp, lane;

  /// The elements of so many warps.
  static int64_t count(int64_t warps, int64_t width) {
    return warps * kMmaRows * stride(width);
  }

  /// Stores what a lane has: of each 8 columns, pairs of rows lane / 4 and
  /// lane / 4 + 8.
  void store(IndexBuilder &b, ValueRange sums) const;

  /// Takes the sums, complete; `first` is the place of the first one.
  /// `canAlign` is what MatmulProblem::canAlign says of chunks, if anything.
  void finish(IndexBuilder &b, const MatmulProblem &problem,
              const BlockPlace &first, Value canAlign) const;

private:
  /// Lanes of a store are in different banks.
  static int64_t stride(int64_t width) { return width + 8; }
  Value begin(IndexBuilder &b) const {
    return b.mul(warp, kMmaRows * stride(width));
  }
  Value placeOf(IndexBuilder &b, Value row, Value column) const;
  void finishVectors(IndexBuilder &b, const MatmulProblem &problem,
                     const BlockPlace &first) const;
  void finishScalars(IndexBuilder &b, const MatmulProblem &problem,
                     const BlockPlace &first, bool areInside) const;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_TENSORCORES_H
