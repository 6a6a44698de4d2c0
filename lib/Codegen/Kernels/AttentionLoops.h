//===- AttentionLoops.h - The loops of attention ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits blocks of queries times blocks of keys with an online softmax.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ATTENTIONLOOPS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ATTENTIONLOOPS_H

#include "Attention.h"
#include "WordProducts.h"

namespace mlir::relax {

/// Emits the loops of a kernel.
class AttentionLoops {
public:
  AttentionLoops(IndexBuilder &b, func::FuncOp kernel,
                 const AttentionParts &parts, const TargetModel &target,
                 ValueRange arguments);

  void emit(IndexBuilder &b);

private:
  /// Some queries of one element of the batch, and the memory that they need.
  struct Task {
    SmallVector<Value> batch;
    Value query, count; // the first one, and how many there are
    Value depth, width; // of a row of queries, and of sums
    // The offsets in the scratch memory.
    Value scratch, queries, sums, largest, totals, scores, panels, values;
    /// How many elements of queries, keys, weights and values are multiplied as
    /// a word; 1 where they are no words.
    int64_t wordSize;
    bool hasWords() const { return wordSize > 1; }
  };
  /// Keys of a task, that are worked on at a time.
  struct Keys {
    Value first, count;
  };

  Value getSize(IndexBuilder &b, unsigned loop);
  Value computeFactor(IndexBuilder &b, const Elements &factor,
                      ValueRange indices, Value mask, int64_t wordSize = 1);
  Value multiplyAdd(IndexBuilder &b, const Task &task, Value lhs, Value rhs,
                    Value sum);
  Value makeMask(IndexBuilder &b, Value count, int64_t wordSize = 1);
  Value load(IndexBuilder &b, Value scratch, Value offset);
  Value loadScalar(IndexBuilder &b, Value scratch, Value offset);
  void store(IndexBuilder &b, Value value, Value scratch, Value offset);
  SmallVector<Value> getIndices(const Task &task);

  Value getEnd(IndexBuilder &b, Value query);
  void emitTasks(IndexBuilder &b, Value rows, int64_t tile);
  Task begin(IndexBuilder &b, Value index, Value rows, int64_t tile);
  void copyQueries(IndexBuilder &b, const Task &task, int64_t tile);
  void emitKeys(IndexBuilder &b, const Task &task, const Keys &keys,
                int64_t tile);
  void finish(IndexBuilder &b, const Task &task);

  void packKeys(IndexBuilder &b, const Task &task, const Keys &keys);
  void packValues(IndexBuilder &b, const Task &task, const Keys &keys);
  void multiplyPanels(IndexBuilder &b, const Task &task, const Keys &keys,
                      Value query);
  void multiplyRows(IndexBuilder &b, const Task &task, const Keys &keys,
                    Value query);
  void storeWeights(IndexBuilder &b, const Task &task, Value weights,
                    Value begin, Value key);
  void weigh(IndexBuilder &b, const Task &task, const Keys &keys, Value query,
             Value row);
  void rescale(IndexBuilder &b, const Task &task, Value query, Value before,
               Value after);
  Value loadValues(IndexBuilder &b, const Task &task, const Keys &keys, Value k,
                   Value column, Value mask, bool isAhead);
  void addValues(IndexBuilder &b, const Task &task, const Keys &keys,
                 Value query, int64_t rows);

  const AttentionParts &parts;
  ElementBuilder elements;
  SmallVector<Value> sizes; // of loops
  Value batch;              // their product
  int64_t lanes, vectors, tileRows, keyBlock;
  VectorType vectorType;
  /// Where queries, keys and values are of a type that has them.
  std::optional<WordProducts> words;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ATTENTIONLOOPS_H
