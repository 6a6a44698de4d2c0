//===- Epilogue.h - Elementwise consumers of a contraction ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue: the linalg operations that follow a contraction in a kernel,
// evaluated on a vector of its accumulators before they are stored.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_EPILOGUE_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_EPILOGUE_H

#include "Elements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::relax {

/// The operations that a kernel applies to the result of one of its operations:
/// they make a tensor of the same shape. That is the result of the kernel, or
/// results are slices of it along the last dimension.
class Epilogue {
public:
  /// Fails where an element of the result needs more than the same element of
  /// `root` and elements of parameters that are contiguous along the vectors,
  /// or the same all along them: the dimensions `vectorDims` of the result,
  /// after which there are ones that are known to have one element. With
  /// `hasIndices` what is computed may depend on the indices in the result.
  static FailureOr<Epilogue> match(func::FuncOp kernel, Value root,
                                   VectorLoops vectorDims,
                                   bool hasIndices = false);

  /// The first parameter that is written.
  BlockArgument getOutput() const { return parts.front().output; }
  bool isOutput(Value value) const;
  /// Whether results are slices.
  bool isSplit() const { return parts.front().isSlice; }
  /// Whether no vector that begins at a multiple of its lanes is in two slices.
  bool canOmitMasks(int64_t lanes) const;

  /// Prepares what does not depend on elements: `arguments` are the parameters
  /// in memory.
  void begin(IndexBuilder &b, func::FuncOp kernel, ValueRange arguments);

  /// Writes the elements that follow from `sums`, which begin at `indices` of
  /// the result and of which the mask says which are there; all where it is
  /// null, and all in one slice (`canOmitMasks`). `isAligned`: there is no
  /// mask, and memory of vectors is aligned as ElementBuilder::setLanes says.
  void finish(IndexBuilder &b, Value sums, ValueRange indices, Value mask,
              bool isAligned = false);

  /// Prefetches where `count` elements from `indices` on are written.
  void prefetch(IndexBuilder &b, ValueRange indices, int64_t count);

private:
  /// A parameter that is written: all elements, or as many as it has, from a
  /// place on the last dimension on.
  struct Part {
    BlockArgument output;
    bool isSlice;
    OpFoldResult begin;
  };

  bool addPart(Value stored, BlockArgument output);
  void store(IndexBuilder &b, const Part &part, Value vector,
             ValueRange indices, Value mask);

  /// The result, of whose dimensions each is a loop.
  Elements elements;
  SmallVector<Part, 1> parts;
  ElementBuilder builder;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_EPILOGUE_H
