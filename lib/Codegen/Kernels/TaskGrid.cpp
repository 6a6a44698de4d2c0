//===- TaskGrid.cpp - Tasks of a kernel that threads share ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskGrid.h"

using namespace mlir;
using namespace mlir::relax;

Value TaskGrid::getCount(IndexBuilder &b) const {
  Value count = b.index(1);
  for (Value steps : counts)
    count = b.mul(count, steps);
  return count;
}

SmallVector<Value> TaskGrid::split(IndexBuilder &b, Value task) const {
  SmallVector<Value> steps(counts.size());
  for (size_t loop = counts.size(); loop-- > 0;) {
    steps[loop] = loop == 0 ? task : b.rem(task, counts[loop]);
    task = loop == 0 ? task : b.floorDiv(task, counts[loop]);
  }
  return steps;
}

void TaskGrid::emit(IndexBuilder &b, int64_t grain, Body body) const {
  if (counts.empty())
    return body(b, {});
  auto emitTask = [&](IndexBuilder &inside, Value task) {
    body(inside, split(inside, task));
  };
  Operation *parent = b.getInsertionBlock()->getParentOp();
  if (isa<scf::ParallelOp>(parent) ||
      parent->getParentOfType<scf::ParallelOp>())
    b.loop(b.index(0), getCount(b), 1, emitTask);
  else
    b.parallel(getCount(b), grain, emitTask);
}

int64_t TaskGrid::getGrain(int64_t elements, int64_t cost, int64_t least) {
  int64_t work = std::max<int64_t>(elements, 1) * (cost + 8);
  return std::max<int64_t>(least / work, 1);
}
