//===- Contraction.h - Sums of products as matrix products ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches linalg operations that sum products of two operands, and reads their
// iteration space as a batch of matrix products: batch, rows, columns, inner
// dimension. Dimensions that are known to be 1 are left out.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_CONTRACTION_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_CONTRACTION_H

#include "IndexBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// Loops that are run as one: from the outermost to the innermost.
using LoopGroup = SmallVector<unsigned, 2>;

/// The loops of a contraction, but for those that are known to run once. A
/// group of rows or of the depth is contiguous in all operands that have it, so
/// that only the stride of its innermost loop counts.
struct Contraction {
  /// Null where this is no contraction that starts with zeros, or where its
  /// loops are not those of matrix products.
  static std::optional<Contraction> match(linalg::LinalgOp op);

  /// The same for one that adds to what its result has, which may be anything.
  static std::optional<Contraction> matchUpdate(linalg::LinalgOp op);

  linalg::LinalgOp op;
  SmallVector<AffineMap> maps;
  /// The operands that are the left and the right matrix: a column of the
  /// result is one of the right matrix.
  unsigned lhs = 0, rhs = 1;
  LoopGroup batch, rows, depth, columns;

  unsigned getNumLoops() const { return maps.front().getNumDims(); }
};

/// The sizes of the loops of a linalg operation whose operands are now in
/// memory, and the strides of those operands in each loop.
class LoopMemory {
public:
  /// `operands` are memrefs of the identity layout.
  LoopMemory(IndexBuilder &b, ArrayRef<AffineMap> maps, ValueRange operands);

  /// The loops of an operand whose shape is known, and which is not in memory.
  void setSizes(IndexBuilder &b, AffineMap map, ShapedType type);

  Value size(unsigned loop) const { return sizes[loop]; }
  Value size(IndexBuilder &b, const LoopGroup &loops) const;

  /// 0 where an operand does not have the loop.
  Value stride(IndexBuilder &b, unsigned operand, unsigned loop) const;
  /// Of the innermost loop; 0 without loops.
  Value stride(IndexBuilder &b, unsigned operand, const LoopGroup &loops) const;

  /// The indices of loops whose iterations are counted as one.
  void delinearize(IndexBuilder &b, Value index, const LoopGroup &loops,
                   MutableArrayRef<Value> indices) const;

private:
  SmallVector<AffineMap> maps;
  SmallVector<Value> sizes;
  SmallVector<SmallVector<Value>> strides; // of dimensions of operands
};

/// The only operation with reductions; null where there is none or several.
linalg::LinalgOp findReduction(Block &body);

/// Whether the tensor is filled with +0, or the integer 0.
bool isZeroFill(Value tensor);

/// Whether the operation sums products of two operands, from +0 on.
bool isSumOfProducts(linalg::LinalgOp op);

/// Whether each dimension of an operand of `type` is a loop, or is one element.
bool isMapOfLoops(AffineMap map, Type type);

/// The size of a dimension of a memref.
Value getDim(IndexBuilder &b, Value memref, int64_t axis);

/// The elements of a memref of the identity layout, in one dimension.
Value flatten(IndexBuilder &b, Value memref);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_CONTRACTION_H
