//===- Winograd.h - Convolution of tiles with fewer products ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithm of Winograd (Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks", 2016): a tile of m x m results of windows of 3 x 3 follows
// from (m + 2)^2 products of sums of elements of the image and of sums of
// weights, where the definition has 9 * m^2 products.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_WINOGRAD_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_WINOGRAD_H

#include "IndexBuilder.h"

namespace mlir::relax {

/// The transforms of one dimension. They are those of polynomials that are
/// multiplied by their values at points: 0, pairs of opposite numbers,
/// infinity.
class Winograd {
public:
  static constexpr int64_t kWindow = 3;
  /// Elements less than these powers of two, of images and of weights, do not
  /// overflow.
  static constexpr int kLargestInput = 80, kLargestWeight = 16;

  /// With tiles of 2 or 4 results.
  explicit Winograd(int64_t outputs);

  /// The numbers of results, and of elements, of a tile in a dimension.
  int64_t outputs() const { return 2 * points.size(); }
  int64_t size() const { return outputs() + kWindow - 1; }

  using Matrix = SmallVector<SmallVector<double>>;

  /// Of weights: size() x 3.
  Matrix getWeightTransform() const;
  /// Weights from what they are transformed to: 3 x size().
  Matrix getWeightInverse() const;

  using Load = llvm::function_ref<Value(IndexBuilder &, int64_t, int64_t)>;
  using Store =
      llvm::function_ref<void(IndexBuilder &, int64_t, int64_t, Value)>;

  /// Transforms size() x size() elements of the image; each is a vector.
  void transformInputs(IndexBuilder &b, Load load, Store store) const;

  /// Makes outputs() x outputs() results of size() x size() sums of products.
  void transformOutputs(IndexBuilder &b, Load load, Store store) const;

private:
  double point(int64_t index) const;
  SmallVector<double> multiplyPoints(int64_t without) const;
  SmallVector<Value> transformInputs(IndexBuilder &b, ValueRange inputs) const;
  SmallVector<Value> transformOutputs(IndexBuilder &b,
                                      ValueRange products) const;

  /// Of pairs of opposite numbers the positive one.
  SmallVector<double, 2> points;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_WINOGRAD_H
