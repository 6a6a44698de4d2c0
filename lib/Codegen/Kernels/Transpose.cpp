//===- Transpose.cpp - Transposition of vectors -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transpose.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// Reads vectors of several rows as one array of bits of the element's place,
/// row before column: interleaving each vector with the one half the rows
/// further rotates the bits by one.
static SmallVector<Value> interleaveHalves(IndexBuilder &b,
                                           ArrayRef<Value> rows) {
  int64_t half = rows.size() / 2;
  int64_t lanes = cast<VectorType>(rows.front().getType()).getNumElements();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes; ++i) {
    low.push_back(i / 2 + (i % 2) * lanes);
    high.push_back(lanes / 2 + i / 2 + (i % 2) * lanes);
  }
  SmallVector<Value> result;
  for (int64_t i = 0; i < half; ++i) {
    Value first = rows[i], second = rows[i + half];
    result.push_back(vector::ShuffleOp::create(b, first, second, low));
    result.push_back(vector::ShuffleOp::create(b, first, second, high));
  }
  return result;
}

/// Once for each bit of the row, and the column comes first.
SmallVector<Value> mlir::relax::transpose(IndexBuilder &b,
                                          SmallVector<Value> rows) {
  for (size_t bit = 1, count = rows.size(); bit < count; bit *= 2)
    rows = interleaveHalves(b, rows);
  return rows;
}

/// What is interleaved are two vectors of columns: those of one parity of the
/// column are in the same vector, and are added before the next step.
Value mlir::relax::addRows(IndexBuilder &b, SmallVector<Value> rows) {
  while (rows.size() > 1) {
    SmallVector<Value> parts = interleaveHalves(b, rows);
    rows.resize(parts.size() / 2);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = arith::AddFOp::create(b, parts[2 * i], parts[2 * i + 1]);
  }
  return rows.front();
}
