//===- Elements.h - Producers that are computed inline ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes elements of an intermediate tensor of a kernel where its consumer
// needs them: the elementwise producers between it and the parameters are
// evaluated in registers, and the tensor is never materialized.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ELEMENTS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ELEMENTS_H

#include "KernelParameters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::relax {

/// The loops that vectors run along, counted as one.
struct VectorLoops {
  unsigned first, count;

  VectorLoops(unsigned first = 0, unsigned count = 1)
      : first(first), count(count) {}

  /// Whether an expression of loops may differ along a vector.
  bool vary(AffineExpr expr) const {
    for (unsigned loop = first; loop < first + count; ++loop)
      if (expr.isFunctionOfDim(loop))
        return true;
    return false;
  }
};

/// Elements of a tensor: `map` goes from loops, the same ones wherever such
/// elements meet, to its dimensions.
struct Elements {
  /// A tensor that is available where the elements are computed.
  struct Given {
    Value tensor;
    AffineMap map;
  };

  Value tensor;
  AffineMap map;
  VectorLoops vectorLoops = {};
  SmallVector<Given, 2> given = {};
  /// Whether what is computed may depend on indices.
  bool hasIndices = true;
};

/// A parameter that is read, and the loops of each of its dimensions.
struct ParameterAccess {
  BlockArgument parameter;
  AffineMap map;
};

/// Whether ElementBuilder can compute these elements: nothing but operations on
/// single elements is between them and the parameters, whose elements follow
/// one another along the vector or are the same one. `outputs` are not to be
/// read. Adds what is read.
bool canCompute(const Elements &elements, ArrayRef<BlockArgument> outputs,
                SmallVectorImpl<ParameterAccess> &reads);

/// Whether a value, which a body may compute, is the same for all elements and
/// ElementBuilder can compute it.
bool isSameForAll(Value value);

class ElementBuilder {
public:
  ElementBuilder() = default;
  /// `arguments` are the parameters of the kernel in memory. Vectors are as
  /// long as their masks, or have `lanes` elements where there is none.
  ElementBuilder(IndexBuilder &b, func::FuncOp kernel, ValueRange arguments,
                 int64_t lanes = 1)
      : lanes(lanes), parameters(b, kernel, arguments) {}

  /// The elements at `indices` of the loops, and along the vector from there
  /// on; those outside of the mask may hold anything. A null mask means that
  /// all are there. `given` has a value for each available tensor. A scalar
  /// where all elements are the same.
  Value compute(IndexBuilder &b, const Elements &elements, ValueRange indices,
                Value mask, ValueRange given);
  /// The same as a vector.
  Value computeVector(IndexBuilder &b, const Elements &elements,
                      ValueRange indices, Value mask, ValueRange given);

  /// Brings what the elements at `indices` are computed from to the second
  /// level of the cache, where steps of `loop` leave something out: a processor
  /// finds out by itself what comes next in the order of memory.
  void prefetch(IndexBuilder &b, const Elements &elements, ValueRange indices,
                unsigned loop);

  /// A value that is the same for all elements.
  Value computeScalar(IndexBuilder &b, Value value);

  /// Vectors without a mask have `count` elements from now on. With `isAligned`
  /// they lie in memory at multiples of 16 bytes, or of their size where that
  /// is less.
  void setLanes(int64_t count, bool isAligned) {
    lanes = count;
    areAligned = isAligned;
  }

  /// Writes a vector to a parameter; all of it without a mask.
  void store(IndexBuilder &b, Value vector, BlockArgument parameter,
             AffineMap map, ValueRange indices, Value mask);

  /// Prefetches the memory that `count` elements are going to be written to.
  void prefetchStore(IndexBuilder &b, BlockArgument parameter, AffineMap map,
                     ValueRange indices, int64_t count);

  /// The size of a dimension of a parameter.
  Value getSize(IndexBuilder &b, BlockArgument parameter, int64_t axis);

private:
  struct Request;

  /// The number of elements of a vector with a mask, which may be null.
  int64_t getLanes(Value mask) const;
  Value computeTensor(IndexBuilder &b, Request &request, Value tensor,
                      AffineMap map);
  Value load(IndexBuilder &b, Request &request, BlockArgument parameter,
             AffineMap map);
  Value getPlace(IndexBuilder &b, const FlatMemory &memory, AffineMap map,
                 ValueRange indices);

  /// What is known of the place of a vector without a mask.
  llvm::MaybeAlign getAlignment(VectorType type) const;

  int64_t lanes = 1;
  bool areAligned = false;
  KernelParameters parameters;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ELEMENTS_H
