//===- ElementBody.h - The body of an operation, on elements ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One iteration of a linalg.generic on memrefs in three steps, so that a thread
// can load what several iterations need before it stores the first result:
// nothing else tells that they do not alias.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ELEMENTBODY_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ELEMENTBODY_H

#include "IndexBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::relax {

/// A place of an iteration space.
struct ElementPlace {
  ElementPlace(SmallVector<Value> indices, Value number = Value())
      : indices(std::move(indices)), number(number) {}
  ElementPlace(ArrayRef<Value> indices)
      : ElementPlace(llvm::to_vector(indices)) {}

  SmallVector<Value> indices;
  /// Its number in row-major order, where bodies have flat operands.
  Value number;
};

class ElementBody {
public:
  /// `known`: the elements of memory that needs no load, whatever the place.
  explicit ElementBody(linalg::GenericOp op,
                       const llvm::DenseMap<Value, Value> *known = nullptr)
      : op(op), known(known) {}

  /// Views what lies in memory in the order of the loops as of one dimension.
  /// The builder is in front of the launch.
  void flatten(IndexBuilder &b);

  /// The operands at a place, inputs first; null for those that the body does
  /// not look at.
  SmallVector<Value> load(IndexBuilder &b, const ElementPlace &place) const;
  SmallVector<Value> loadInputs(IndexBuilder &b,
                                const ElementPlace &place) const;

  /// The results of an iteration.
  SmallVector<Value> compute(IndexBuilder &b, const ElementPlace &place,
                             ArrayRef<Value> operands) const;

  void store(IndexBuilder &b, const ElementPlace &place,
             ArrayRef<Value> results) const;

  /// The element of an operand at a place.
  Value loadOperand(IndexBuilder &b, OpOperand &operand,
                    const ElementPlace &place) const;

private:
  SmallVector<Value> loadRead(IndexBuilder &b, MutableArrayRef<OpOperand> those,
                              const ElementPlace &place) const;
  /// The memory of an operand and where an element is in it.
  std::pair<Value, SmallVector<Value>>
  locate(IndexBuilder &b, OpOperand &operand, const ElementPlace &place) const;

  linalg::GenericOp op;
  const llvm::DenseMap<Value, Value> *known;
  /// For each operand its flat view, or null; empty where there is none.
  SmallVector<Value> flat;
};

/// Whether an operand lies in memory in the order of the loops, all of it.
bool hasOrderOfLoops(linalg::GenericOp op, OpOperand &operand);

/// A view of such memory as of one dimension.
Value viewFlat(IndexBuilder &b, Value memref);

/// The memory that an operation, and what is in it, uses, without the views
/// that it is seen through.
llvm::SetVector<Value> findBuffers(Operation *op);

/// The sizes of the loops of an operation.
SmallVector<Value> getLoopSizes(IndexBuilder &b, linalg::GenericOp op);

/// The place in an iteration space, in row-major order. `isSmall`: there are
/// fewer than 2^31 places, as there are of blocks, so that quotients of 32 bits
/// do. The first size does not matter.
SmallVector<Value> delinearize(IndexBuilder &b, Value place,
                               ArrayRef<Value> sizes, bool isSmall = false);

Value makeProduct(IndexBuilder &b, ArrayRef<Value> sizes);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ELEMENTBODY_H
