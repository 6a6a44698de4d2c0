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

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

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
  /// The parts that long rows are divided into, where there are few rows: what
  /// `reduced` makes of each is in `scratch` memory, [row][part].
  struct Parts {
    const RowStep *reduced;
    Value isDivided, count, length;
    SmallVector<Value> scratch; // for each result
  };

  std::optional<Parts> divideRows(ArrayRef<SmallVector<Value>> sizes);
  void launchParts(IndexBuilder &in, ArrayRef<Value> sizes);
  void beginRow(IndexBuilder &in, gpu::LaunchOp op, Value number,
                ArrayRef<Value> rowSizes);
  SmallVector<Value> addParts(IndexBuilder &in, const Reduction &reduction,
                              ValueRange sums);
  SmallVector<Type> getSharedTypes(ArrayRef<RowStep> those);
  Value getNumThreads(ArrayRef<SmallVector<Value>> sizes);
  void emitStep(IndexBuilder &in, const RowStep &step, ArrayRef<Value> sizes);
  void emitElements(IndexBuilder &in, const RowStep &step,
                    ArrayRef<Value> sizes);
  void emitReduction(IndexBuilder &in, const RowStep &step,
                     ArrayRef<Value> sizes);
  SmallVector<Value> reduceElements(IndexBuilder &in, const RowStep &step,
                                    ArrayRef<Value> sizes, Value begin,
                                    Value end);
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
  ElementPlace placeOf(IndexBuilder &in, Value place, ArrayRef<Value> sizes);
  void byFirstThread(IndexBuilder &in, IndexBuilder::Body body);

  const ElementBody &getBody(const RowStep &step) const {
    return bodies[&step - steps.begin()];
  }
  bool needsBarrier(linalg::GenericOp op) const;
  bool isOnlyUsedHere(Value memref) const;
  void keepScalars(IndexBuilder &in, linalg::GenericOp op,
                   ArrayRef<Value> results);

  IndexBuilder &b;
  ArrayRef<RowStep> steps;
  unsigned numRowDims;
  /// Those of steps, which find what each row has one of in registers.
  SmallVector<ElementBody> bodies;
  std::optional<Parts> parts;
  SmallVector<Value> row;
  Value rowNumber, thread, numThreads;
  SmallVector<Value> shared;
  /// Memory with an element for each row: all threads have that of their row.
  llvm::DenseMap<Value, Value> scalars;
  /// The memory that was written, and read, since the last barrier.
  llvm::DenseSet<Value> written, read;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ROWEMITTER_H
