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
// weights, where the definition has 9 * m^2 products. Of windows of 3 x 1 or
// 1 x 3 one dimension is transformed: m results follow from m + 2 products.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_WINOGRAD_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_WINOGRAD_H

#include "IndexBuilder.h"

namespace mlir::relax {

/// The transforms of one dimension. They are those of polynomials that are
/// multiplied by their values at points: 0, pairs of opposite numbers,
/// infinity. A dimension in which windows have one element is left as it is:
/// that has no points.
class Winograd {
public:
  static constexpr int64_t kWindow = 3;
  /// Elements less than these powers of two, of images and of weights, do not
  /// overflow.
  static constexpr int kLargestInput = 80, kLargestWeight = 16;

  /// With tiles of 2 or 4 results of windows of 3 elements, or of 1 of 1.
  Winograd(int64_t outputs, int64_t window);

  /// The numbers of elements of a window, of results, and of elements of the
  /// image that these depend on.
  int64_t window() const { return points.empty() ? 1 : kWindow; }
  int64_t outputs() const { return points.empty() ? 1 : 2 * points.size(); }
  int64_t size() const { return outputs() + window() - 1; }

  using Matrix = SmallVector<SmallVector<double>>;

  /// Of weights: size() x window().
  Matrix getWeightTransform() const;
  /// Weights from what they are transformed to: window() x size().
  Matrix getWeightInverse() const;

  /// Transforms size() elements of the image; each is a vector.
  SmallVector<Value> transformInputs(IndexBuilder &b, ValueRange inputs) const;
  /// Makes outputs() results of size() sums of products.
  SmallVector<Value> transformOutputs(IndexBuilder &b,
                                      ValueRange products) const;

private:
  double point(int64_t index) const;
  SmallVector<double> multiplyPoints(int64_t without) const;

  /// Of pairs of opposite numbers the positive one.
  SmallVector<double, 2> points;
};

/// The transforms of both dimensions.
struct WinogradTile {
  Winograd rows, columns;

  /// With `outputs` results in the dimensions in which windows have three
  /// elements.
  WinogradTile(int64_t outputs, int64_t windowRows, int64_t windowColumns)
      : rows(outputs, windowRows), columns(outputs, windowColumns) {}

  /// The results in a dimension that is transformed.
  int64_t outputs() const {
    return std::max(rows.outputs(), columns.outputs());
  }
  /// The elements of a tile.
  int64_t places() const { return rows.size() * columns.size(); }

  using Load = llvm::function_ref<Value(IndexBuilder &, int64_t, int64_t)>;
  using Store =
      llvm::function_ref<void(IndexBuilder &, int64_t, int64_t, Value)>;

  /// Transforms the elements of the image of a tile; each is a vector.
  void transformInputs(IndexBuilder &b, Load load, Store store) const;
  /// Makes the results of a tile of its sums of products.
  void transformOutputs(IndexBuilder &b, Load load, Store store) const;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_WINOGRAD_H
