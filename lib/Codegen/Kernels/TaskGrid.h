//===- TaskGrid.h - Tasks of a kernel that threads share --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The outer loops of a kernel as one parallel loop: dimensions of the iteration
// space, groups of them, or parts of one that is long.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_TASKGRID_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_TASKGRID_H

#include "IndexBuilder.h"

namespace mlir::relax {

class TaskGrid {
public:
  /// The number of elements of one iteration where each takes little time.
  static constexpr int64_t kChunk = 4096;

  /// Adds a loop of `count` steps inside of the others.
  void add(Value count) { counts.push_back(count); }

  /// Returns the number of tasks.
  Value getCount(IndexBuilder &b) const;

  /// Returns the step of each loop in a task.
  SmallVector<Value> split(IndexBuilder &b, Value task) const;

  /// A parallel loop over the tasks, or another loop inside of a parallel one;
  /// none where nothing was added. The body gets the step of each loop.
  using Body = llvm::function_ref<void(IndexBuilder &, ArrayRef<Value>)>;
  void emit(IndexBuilder &b, int64_t grain, Body body) const;

  /// Returns how many tasks of so many elements are worth a thread, which is
  /// some microseconds of work. `cost` is that of an element, and `least` that
  /// of a thread, in additions.
  static int64_t getGrain(int64_t elements, int64_t cost,
                          int64_t least = 1 << 18);

private:
  SmallVector<Value> counts;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_TASKGRID_H
