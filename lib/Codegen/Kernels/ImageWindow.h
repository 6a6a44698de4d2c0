//===- ImageWindow.h - Sliding windows of images ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by convolution and pooling: which elements of the image a window
// covers (strides, dilation, padding), and loads of vectors of them.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_IMAGEWINDOW_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_IMAGEWINDOW_H

#include "IndexBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <array>
#include <functional>

namespace mlir::relax {

/// The window along one dimension of an image: element j of the window at
/// position i is element i * stride + j * dilation - padding of the image.
struct Window {
  int64_t size = 1, stride = 1, dilation = 1, padding = 0;
};

/// The loops of an operation that reduces the windows along the last two
/// dimensions of images. They come in this order, as do the dimensions of the
/// operands: batch, groups, output channels, rows and columns of the result,
/// input channels, rows and columns of the window. Nothing where it does
/// anything else, or where the size of the window is not known.
std::optional<linalg::ConvolutionDimensions>
matchWindows(linalg::LinalgOp op, Window &rows, Window &columns);

/// A number that a tensor is filled with; null where it is not.
TypedAttr getFillValue(Value tensor);

/// The tensor that is copied into one filled with `value`, and the padding
/// before its rows and columns, which are the last of four dimensions. Where
/// the padding ends does not matter: no window reaches beyond it.
Value matchPadding(Value data, Window &rows, Window &columns, TypedAttr &value);

/// Lanes `begin` to `end`; either may be beyond the vector.
Value makeLaneMask(IndexBuilder &b, int64_t lanes, Value begin, Value end);

/// Loads vectors of every `stride`-th element of rows of an image.
class RowLoader {
public:
  /// `padding` is a vector, and what the image does not have.
  RowLoader(Value base, Value width, int64_t stride, Value padding)
      : base(base), width(width), stride(stride), padding(padding) {}

  using Load = std::function<Value(IndexBuilder &, Value)>;

  /// Prepares loads of elements `first`, `first` + stride, ... of a row that
  /// begins at an offset, as many as `count`. The rows are in the image where
  /// `isInside` says so; null where all of them are.
  Load prepare(IndexBuilder &b, Value first, Value count, Value isInside) const;

  /// Vectors of every other element, and of their neighbours; the lanes of both
  /// are in some order.
  struct Pairs {
    std::function<std::array<Value, 2>(IndexBuilder &, Value)> load;
    /// Where the first, second, ... element is; none where they are in order.
    SmallVector<int64_t> places;
  };

  /// The same for two columns of windows at a time, whose stride is 2: elements
  /// `first`, `first` + 2, ..., and `first` + 1, `first` + 3, ...
  Pairs preparePairs(IndexBuilder &b, Value first, Value count) const;

private:
  /// Two vectors that follow one another.
  using Halves =
      std::function<std::array<Value, 2>(IndexBuilder &, Value offset)>;
  Halves prepareHalves(IndexBuilder &b, Value before, Value end) const;
  Value load(IndexBuilder &b, Value offset, Value mask) const;
  VectorType getType() const { return cast<VectorType>(padding.getType()); }

  Value base, width;
  int64_t stride;
  Value padding;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_IMAGEWINDOW_H
