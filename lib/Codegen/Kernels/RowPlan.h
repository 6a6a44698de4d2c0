//===- RowPlan.h - The schedule of a row kernel -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is one point of the outer dimensions, those that nothing reduces. Its
// loops run one after the other, each as soon as the reductions that it
// consumes are done. A loop recomputes the producers of earlier loops, or reads
// them from a buffer where that is cheaper. Without reductions there is one
// loop, over the innermost dimension.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWPLAN_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWPLAN_H

#include "KernelSpace.h"

#include "relax-mlir/Analysis/TargetModel.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::relax {

/// The operation that combines the elements of a reduction.
struct Combiner {
  Operation *op;
  vector::CombiningKind kind;
  TypedAttr neutral;
};

/// Nothing where the body does more than combine with the accumulator.
std::optional<Combiner> getCombiner(linalg::LinalgOp reduction);

struct RowPlan {
  /// A shorter dimension is not worth a vector.
  static constexpr int64_t kNarrow = 8;

  /// The most elements of a short row.
  static constexpr int64_t kShort = 8;

  struct Loop {
    /// Where the elements of a row are lanes, the last one is that of vectors.
    SmallVector<unsigned> dims;
    SmallVector<linalg::LinalgOp> reductions;
    /// Indices of outputs.
    SmallVector<unsigned> outputs;
    /// The values that are stored in a buffer.
    SmallVector<Value> stored;
  };

  /// The numbers of accesses that have lanes next to each other, and that do
  /// not.
  struct Contiguity {
    int64_t contiguous = 0, strided = 0;
    int64_t getScore() const { return contiguous - strided; }
  };

  struct Buffer {
    /// The output whose memory it is; null: memory of its own.
    const KernelSpace::Output *output = nullptr;
    /// The loop that fills it.
    unsigned loop = 0;
  };

  enum class Form {
    /// Whatever is fastest where rows are long.
    Any,
    /// Without vectors.
    Elements,
    /// Rows that are short are the lanes of vectors.
    ShortRows
  };

  /// Null where a kernel is not of this kind.
  static std::unique_ptr<RowPlan> make(std::unique_ptr<KernelSpace> space,
                                       const TargetModel &target,
                                       Form form = Form::Any);

  /// Makes rows that are short, and follow one another in the outputs, one
  /// range of elements. Nothing changes where that is not possible.
  bool flatten();

  bool hasReductions() const { return hasReduction; }
  /// The dimensions of the first output in the order of memory.
  SmallVector<unsigned> getOrder() const;
  /// Whether sizes determine the length of a row.
  bool hasKnownRows() const;
  bool isFlat() const { return !flatDims.empty(); }
  /// The length of rows up to which they are one range.
  int64_t getLongestFlatRow() const { return lanes - 1; }
  /// Whether all that is done is to transpose an operand.
  bool isCopy() const;
  /// Whether a value is the same for the whole row.
  bool isUniform(Operation *op) const;
  bool isUniform(const Access &access) const;
  /// The maximum number of elements of short rows, or the known number.
  int64_t getShortSize() const;
  std::optional<unsigned> findShortDim() const;

  std::unique_ptr<KernelSpace> space;
  DimSet outer;
  SmallVector<Loop> loops;
  /// The outer dimension whose rows are the lanes of vectors; nothing where the
  /// elements of a row are.
  std::optional<unsigned> lane;
  /// The outer dimension along which those operands are contiguous that are not
  /// so along vectors: blocks of them are transposed. Nothing without any.
  std::optional<unsigned> tileDim;
  SmallVector<Access> transposed;
  /// The outer dimensions in the order of memory, where all rows are one range
  /// of elements; `outer` is empty then. Operands that do not lie like the
  /// outputs are expanded.
  SmallVector<unsigned> flatDims;
  SmallVector<Access> expanded;
  /// The only dimension of short rows. Elements of operands and outputs in
  /// which they follow one another go through blocks that are transposed.
  std::optional<unsigned> shortDim;
  SmallVector<Access> blocks;
  /// Rows are short along this dimension and long along others, over which all
  /// that there is to do is to reduce: blocks are transposed at the end.
  bool isReducedFirst = false;
  /// Outputs with one element for each row.
  SmallVector<unsigned> rowOutputs;
  llvm::MapVector<Value, Buffer> buffers;
  int64_t lanes = 1;
  /// Elements of a row are computed one by one, as it is known to be shorter
  /// than vectors; or as many as `lanes`, which are read one by one.
  bool isScalar = false;
  /// The cost of an element of a row, in additions of vectors.
  int64_t cost = 0;

private:
  bool findOuterDims();
  bool checkOutputs() const;
  bool chooseLoops(Form form);
  bool isNarrow(unsigned dim) const;
  Contiguity getContiguity(unsigned dim) const;
  Contiguity chooseVectorDim(Loop &loop) const;
  bool chooseLane(bool isRowContiguous, int64_t rowScore);
  bool chooseShortRows();
  bool canReduceFirst(unsigned lane, unsigned row) const;
  SmallVector<Access> getReads() const;
  SmallVector<Access> getAccesses() const;
  void chooseTransposed();
  void chooseLanes(const TargetModel &target);
  void findLevels();
  void findBuffers();
  std::optional<unsigned> findFirstLoop(Value value) const;
  void placeBuffers();
  int64_t getRecomputeCost(linalg::LinalgOp op) const;
  llvm::SmallBitVector getFirst(const llvm::SmallBitVector &passes) const;
  void findUses();
  Loop &getLoop(unsigned pass, DimSet dims);
  DimSet getRowDims(Operation *op) const;

  bool hasReduction = false;
  /// The pass in which an operation can be computed.
  DenseMap<Operation *, unsigned> levels;
  unsigned numPasses = 1;
  /// The passes that need the result of an operation.
  DenseMap<Operation *, llvm::SmallBitVector> uses;
  /// The pass of each loop, and its dimensions.
  SmallVector<std::pair<unsigned, DimSet>> loopKeys;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWPLAN_H
