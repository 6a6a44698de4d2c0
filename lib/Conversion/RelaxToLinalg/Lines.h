//===- Lines.h - Loops over the lines of a tensor ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line has the elements of a tensor along one axis. Operators whose elements
// depend on others of their line (scans, sorts) go over the lines, and threads
// may share them.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_LINES_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_LINES_H

#include "ControlFlow.h"

#include "relax-mlir/Conversion/KernelBuilder.h"

namespace mlir::relax {

/// The loops over the lines of `data` along `axis`.
class LineLoops {
public:
  /// Writes a line: gets the tensors, and the indices of its elements, of which
  /// that of the axis is to be filled in; returns the tensors.
  using Line =
      llvm::function_ref<Carried(ValueRange, SmallVectorImpl<Value> &)>;

  /// `cost` is the time of an element, in that of an addition. Threads share
  /// the outermost loop, unless lines are to go one after the other.
  LineLoops(KernelBuilder &b, Value data, int64_t axis, int64_t cost = 1,
            bool isShared = true)
      : b(b), data(data), axis(axis), cost(cost), isShared(isShared) {}

  /// Writes all lines.
  Carried overLines(ValueRange tensors, Line line) const;
  /// The same for an axis that is not the last dimension: `block` writes lines
  /// `width` of which are neighbors, from the index of the last dimension on,
  /// and `line` each of those that are left.
  Carried overBlocks(ValueRange tensors, int64_t width, Line block,
                     Line line) const;
  /// The number of lines.
  Value count() const;
  /// Goes along a line.
  Carried alongLine(ValueRange carried,
                    llvm::function_ref<Carried(Value, ValueRange)> body) const;

private:
  /// Lines of which `width` are written at once; without it each alone.
  struct Block {
    int64_t width;
    Line write;
  };
  Carried overDims(ValueRange tensors, SmallVectorImpl<Value> &place,
                   int64_t depth, Line line, const Block *block) const;
  /// The loop of one dimension, which writes `width` lines at once.
  Carried overDim(ValueRange tensors, int64_t depth, Value begin, Value end,
                  int64_t width,
                  llvm::function_ref<Carried(Value, ValueRange)> body) const;
  int64_t getGrain(int64_t depth) const;

  KernelBuilder &b;
  Value data;
  int64_t axis, cost;
  bool isShared;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_LINES_H
