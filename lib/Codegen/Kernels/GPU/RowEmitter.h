//===- RowEmitter.h - A launch of rows of threads ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ROWEMITTER_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ROWEMITTER_H

#include "BestElement.h"
#include "ElementBody.h"
#include "Reduction.h"

namespace mlir::relax {

/// A step of a launch: what is done with a row.
struct RowStep {
  linalg::GenericOp op;
  /// Where the loops behind those over rows reduce.
  std::optional<Reduction> reduction;
  /// Where the loop behind those over rows looks for an element.
  std::optional<BestElement> best;

  bool reduces() const { return reduction || best; }
  /// What threads hand over.
  SmallVector<Type> getSharedTypes() const;

  static std::optional<RowStep> get(linalg::GenericOp op, unsigned numRowDims);
};

/// Emits the launch of such steps.
class RowEmitter {
public:
  RowEmitter(IndexBuilder &b, ArrayRef<RowStep> steps, unsigned numRowDims)
      : b(b), steps(steps), numRowDims(numRowDims) {}
  void emit();

private:
  SmallVector<Type> getSharedTypes();
  Value getNumThreads(ArrayRef<SmallVector<Value>> sizes);
  void emitStep(IndexBuilder &in, const RowStep &step, ArrayRef<Value> sizes);
  void emitElements(IndexBuilder &in, const RowStep &step,
                    ArrayRef<Value> sizes);
  void emitReduction(IndexBuilder &in, const RowStep &step,
                     ArrayRef<Value> sizes);
  Value reduceByWarps(IndexBuilder &in, Value value, Value neutral,
                      Operation *combiner, Value memory);
  /// Combines what two threads have.
  using Combine = llvm::function_ref<SmallVector<Value>(
      IndexBuilder &, ValueRange mine, ValueRange other)>;
  SmallVector<Value> reduceByHalves(IndexBuilder &in, ValueRange values,
                                    Combine combine);
  void emitBest(IndexBuilder &in, const RowStep &step, Value length);
  void waitForReads(IndexBuilder &in);
  SmallVector<Value> findShared(TypeRange types) const;
  Value reduceBlock(IndexBuilder &in, Value value, Value neutral,
                    Operation *combiner);
  SmallVector<Value> placeOf(IndexBuilder &in, Value place,
                             ArrayRef<Value> sizes);
  void byFirstThread(IndexBuilder &in, IndexBuilder::Body body);

  /// The body of a step, which finds what each row has one of in registers.
  ElementBody makeBody(linalg::GenericOp op) const {
    return ElementBody(op, &scalars);
  }
  bool needsBarrier(linalg::GenericOp op) const;
  bool isOnlyUsedHere(Value memref) const;
  void keepScalars(IndexBuilder &in, linalg::GenericOp op,
                   ArrayRef<Value> results);

  IndexBuilder &b;
  ArrayRef<RowStep> steps;
  unsigned numRowDims;
  SmallVector<Value> row;
  Value thread, numThreads;
  SmallVector<Value> shared;
  /// Memory with an element for each row: all threads have that of their row.
  llvm::DenseMap<Value, Value> scalars;
  /// The memory that was written, and read, since the last barrier.
  llvm::DenseSet<Value> written, read;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ROWEMITTER_H
