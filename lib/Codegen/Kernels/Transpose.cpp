//===- Transpose.cpp - Transposition in registers ---------------*- C++ -*-===//
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

/// The inverse: the bits are rotated by one to the right.
static SmallVector<Value> splitParities(IndexBuilder &b,
                                        ArrayRef<Value> vectors) {
  int64_t lanes = cast<VectorType>(vectors.front().getType()).getNumElements();
  SmallVector<int64_t> even, odd;
  for (int64_t i = 0; i < lanes; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  SmallVector<Value> result;
  for (ArrayRef<int64_t> places : {ArrayRef(even), ArrayRef(odd)})
    for (size_t i = 0; i < vectors.size(); i += 2)
      result.push_back(
          vector::ShuffleOp::create(b, vectors[i], vectors[i + 1], places));
  return result;
}

SmallVector<Value> mlir::relax::rotatePlaces(IndexBuilder &b,
                                             SmallVector<Value> vectors,
                                             unsigned bits) {
  int64_t lanes = cast<VectorType>(vectors.front().getType()).getNumElements();
  unsigned all = llvm::Log2_64(lanes * vectors.size());
  bool isLeft = bits <= all - bits;
  for (unsigned i = 0, count = isLeft ? bits : all - bits; i < count; ++i)
    vectors = isLeft ? interleaveHalves(b, vectors) : splitParities(b, vectors);
  return vectors;
}

/// Each vector is put together from those that it has elements of, one by one.
SmallVector<Value>
mlir::relax::permute(IndexBuilder &b, ArrayRef<Value> vectors,
                     llvm::function_ref<int64_t(int64_t)> getSource) {
  int64_t lanes = cast<VectorType>(vectors.front().getType()).getNumElements();
  SmallVector<Value> results;
  for (int64_t number = 0, count = vectors.size(); number < count; ++number) {
    SmallVector<int64_t> sources, places;
    for (int64_t i = 0; i < lanes; ++i) {
      int64_t place = getSource(number * lanes + i);
      sources.push_back(place / lanes);
      places.push_back(place % lanes);
    }
    SmallVector<int64_t> used(sources);
    llvm::sort(used);
    used.erase(llvm::unique(used), used.end());
    // Elements that are in their vector already stay at their place.
    Value value = vectors[used.front()];
    for (size_t next = used.size() > 1 ? 1 : 0; next < used.size(); ++next) {
      SmallVector<int64_t> mask;
      for (int64_t i = 0; i < lanes; ++i) {
        if (sources[i] == used[next])
          mask.push_back(lanes + places[i]);
        else
          mask.push_back(next <= 1 && sources[i] == used.front() ? places[i]
                                                                 : i);
      }
      value = vector::ShuffleOp::create(b, value, vectors[used[next]], mask);
    }
    results.push_back(value);
  }
  return results;
}

/// Once for each bit of the row, and the column comes first.
SmallVector<Value> mlir::relax::transpose(IndexBuilder &b,
                                          SmallVector<Value> rows) {
  for (size_t bit = 1, count = rows.size(); bit < count; bit *= 2)
    rows = interleaveHalves(b, rows);
  return rows;
}

/// The interleaved values are two vectors of columns: those of one parity of
/// the column are in the same vector, and are added before the next step.
Value mlir::relax::addRows(IndexBuilder &b, SmallVector<Value> rows) {
  while (rows.size() > 1) {
    SmallVector<Value> parts = interleaveHalves(b, rows);
    rows.resize(parts.size() / 2);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = arith::AddFOp::create(b, parts[2 * i], parts[2 * i + 1]);
  }
  return rows.front();
}
