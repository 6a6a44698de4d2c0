//===- BestElement.h - The best element and its place -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_BESTELEMENT_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_BESTELEMENT_H

#include "ElementBody.h"

namespace mlir::relax {

/// An operation that looks for the best element of its only reduction loop, and
/// for the place of that, as `argmax` does: of several best ones for the first,
/// or for the last.
class BestElement {
public:
  static std::optional<BestElement> get(linalg::GenericOp op);

  /// The results of an iteration by itself, from its inputs.
  SmallVector<Value> getFirst(IndexBuilder &b, ArrayRef<Value> place,
                              ArrayRef<Value> operands) const;

  /// The better one of two elements from anywhere in the loop.
  SmallVector<Value> combine(IndexBuilder &b, ValueRange mine,
                             ValueRange other) const;

  /// An element from the loop where it is better than one from before.
  SmallVector<Value> update(IndexBuilder &b, ValueRange before,
                            ValueRange element) const;

private:
  BestElement(linalg::GenericOp op, unsigned element, arith::SelectOp value,
              arith::SelectOp place)
      : op(op), element(element), value(value), place(place) {}

  Value isBetter(IndexBuilder &b, Value mine, Value other) const;

  linalg::GenericOp op;
  /// Which of the results is the element; the other one is its place.
  unsigned element;
  /// What the body yields: that of the iteration, or what was there before.
  arith::SelectOp value, place;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_BESTELEMENT_H
