//===- RowEmitter.h - Emits the loops of a RowPlan --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class, in the parts that RowKernel.cpp, RowElements.cpp,
// RowAccumulators.cpp, RowRanges.cpp, RowShort.cpp and RowTiles.cpp define.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWEMITTER_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWEMITTER_H

#include "IndexBuilder.h"
#include "KernelClass.h"
#include "RowPlan.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::relax {

/// Values that have been computed at one place: for the elements of a vector,
/// or for whole rows.
struct RowScope {
  DenseMap<Value, Value> values;
  SmallVector<std::pair<Access, Value>> loads;
  /// The position of the first lane in the vector dimension; null where values
  /// are scalars.
  Value base;
  /// The lanes that exist; null: all.
  Value mask;
  /// The row that elements belong to; null for a row.
  RowScope *row = nullptr;
  /// The number of the row among those that are worked on together.
  unsigned number = 0;

  RowScope &getRow() { return row ? *row : *this; }
};

class RowEmitter : public KernelEmitter {
public:
  /// The number of elements of rows without reductions, or of short rows, in
  /// one iteration.
  static constexpr int64_t kChunk = 4096;

  /// `narrow` is the plan for rows, or tiles, that turn out to be narrow.
  RowEmitter(std::unique_ptr<RowPlan> plan,
             std::unique_ptr<RowPlan> narrow = nullptr)
      : plan(std::move(plan)), space(*this->plan->space),
        positions(space.getNumDims()), sizes(space.getNumDims()) {
    if (narrow)
      this->narrow = std::make_unique<RowEmitter>(std::move(narrow));
  }

  void emit(ImplicitLocOpBuilder &builder, ValueRange arguments) override;

private:
  using Scope = RowScope;

  Value isNarrow(IndexBuilder &b);

  // The start of the kernel.
  void emitScalars();
  void emitFlatParameters();
  Value getRoot(Value tensor, int64_t axis);
  Value getSize(unsigned dim);
  Value getStride(BlockArgument param, unsigned axis);

  // Rows.
  void emitRows();
  void emitParallel(Value count, llvm::function_ref<void(Value)> body);
  void emitLaneBlock();

  // Several short rows at a time.
  Value getGroupSize(Value length);
  void emitGroups(ArrayRef<unsigned> dims, ArrayRef<Value> counts,
                  Value numRows, Value numParts, int64_t part);
  void emitRowRange(ArrayRef<unsigned> dims, ArrayRef<Value> counts,
                    Value first, Value last,
                    llvm::function_ref<void(Value)> body);

  // Short rows as one range of elements.
  void emitFlat();
  int64_t getRowMultiple() const;
  int64_t getBlockSize() const;
  Value allocateExpanded(const Access &access);
  void emitExpansion(const Access &access, Value memory, Value first,
                     Value last);
  bool isSameForRows(const Access &access) const;
  Value loadExpanded(const Access &access, Scope &scope);

  // Tiles of operands that are transposed.
  void emitTiles(ArrayRef<unsigned> dims);
  Value allocateTile(const Access &access);
  void emitTranspose(const Access &access, Value tile);
  void emitTransposedBlock(const Access &access, Value tile, Value row,
                           Value column, bool isWhole);
  void storeTransposed(ValueRange rows, Value row, Value column, bool isWhole);
  Value loadTransposed(unsigned number, Scope &scope);

  // Short rows.
  void emitShortRows(ArrayRef<unsigned> dims);
  void emitBlock(Value base);
  void loadBlock(const Access &access, Value tile, Scope &scope, Value isWhole);
  void storeBlock(const Access &access, Value tile, Scope &scope,
                  Value isWhole);
  using VisitPart = llvm::function_ref<void(Value address, Value mask)>;
  void visitKnownRows(const Access &access, Scope &scope, bool isWhole,
                      VisitPart visit);
  void visitPaddedRows(const Access &access, Scope &scope, bool isWhole,
                       bool isLoad, VisitPart visit);
  bool isShortSizeKnown() const;
  SmallVector<Value> emitVectorsOfBlock(const RowPlan::Loop &loop,
                                        ValueRange accumulators);
  Value getBlockAddress(const Access &access, Scope &scope);
  SmallVector<Value> transposeBlock(SmallVector<Value> values);
  SmallVector<Value> emitIf(Value condition,
                            llvm::function_ref<SmallVector<Value>(bool)> emit);
  Value getTile(const Access &access) const;
  Value getTileAddress();

  int64_t getGrain();
  unsigned getUnroll() const;
  Value splitPart(Value index, Value numParts, int64_t part, unsigned dim,
                  bool isAll);
  void splitIndex(Value index, ArrayRef<unsigned> dims, ArrayRef<Value> counts,
                  Value numParts, int64_t part, unsigned dim);
  void emitRow(ArrayRef<Scope> scopes);
  Value allocateBuffer(const RowPlan::Loop &loop, Type type);

  // Loops of a row.
  using Body = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;
  SmallVector<Value> emitFor(Value begin, Value end, Value step,
                             ValueRange accumulators, Body body);
  void emitLoop(const RowPlan::Loop &loop);
  SmallVector<Value> emitNest(const RowPlan::Loop &loop, unsigned depth,
                              ValueRange accumulators);
  SmallVector<Value> emitVectorLoops(const RowPlan::Loop &loop,
                                     ValueRange accumulators);
  SmallVector<Value> emitElementLoops(const RowPlan::Loop &loop, Value from,
                                      Value to, ValueRange accumulators);
  SmallVector<Value> emitVectors(const RowPlan::Loop &loop,
                                 ValueRange accumulators, unsigned count,
                                 llvm::function_ref<Scope(unsigned)> makeScope);
  SmallVector<Value> computeElements(const RowPlan::Loop &loop, Scope &scope,
                                     ValueRange accumulators,
                                     SmallVectorImpl<Value> &written);
  void storeElements(const RowPlan::Loop &loop, Scope &scope,
                     ArrayRef<Value> written);
  Value combine(const Combiner &combiner, Value lhs, Value rhs);
  Value combineLanes(linalg::LinalgOp op, Value accumulator, ValueRange flags);
  void finishReduction(linalg::LinalgOp op, ValueRange accumulators,
                       ValueRange flags);
  bool hasFlags(linalg::LinalgOp op) const;
  Value chooseExtreme(linalg::LinalgOp op, Value lhs, Value rhs);
  Value updateFlag(Value flag, Value lhs, Value rhs, Value mask);

  // Values.
  void hoist(linalg::LinalgOp op, Scope &row);
  bool isInBuffer(Value value) const;
  bool isOfRow(OpOperand &operand) const;
  Value evaluate(Value value, Scope &scope);
  Value evaluateOperand(OpOperand &operand, Scope &scope);
  void computeElementwise(linalg::LinalgOp op, Scope &scope);
  SmallVector<Value> compute(linalg::LinalgOp op, ValueRange arguments,
                             Scope &scope);
  Value getIndex(Operation *op, unsigned loop, Scope &scope);

  // Memory.
  Value getPosition(unsigned dim, Scope &scope);
  Value getAddress(const Access &access, Scope &scope);
  Value getBufferAddress(Value value, Scope &scope);
  Value load(const Access &access, Scope &scope);
  Value loadElements(const Access &access, Scope &scope);
  Value loadFromMemory(const Access &access, Scope &scope);
  Value fromMemory(Value value, Type type);
  Value loadBuffer(Value value, Scope &scope);
  void storeBuffer(Value element, Value value, Scope &scope);
  Value loadVector(Value memref, Value address, Scope &scope);
  Value gather(Value memref, Value address, Value stride, Scope &scope);
  Value getVectorStride(const Access &access);
  Value getLaneOffsets(Value stride);
  void store(Value value, const Access &access, Scope &scope);
  void storeVector(Value value, Value memref, Value address, Scope &scope);
  Value getMask(Scope &scope);

  // Arithmetic of indices, folded.
  Value index(int64_t value);
  Value add(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value splat(TypedAttr value);
  VectorType vectorType(Type element) {
    return VectorType::get({plan->lanes}, element);
  }

  std::unique_ptr<RowPlan> plan;
  KernelSpace &space;
  std::unique_ptr<RowEmitter> narrow;
  ImplicitLocOpBuilder *builder = nullptr;
  ValueRange arguments;
  /// Code that the whole kernel needs is inserted before this operation.
  Operation *anchor = nullptr;
  IRMapping scalars;
  DenseMap<unsigned, Value> flat;
  DenseMap<std::pair<unsigned, unsigned>, Value> strides;
  SmallVector<Value> positions, sizes;
  /// The rows that are worked on together.
  SmallVector<Scope> rows;
  DenseMap<Value, Value> bufferMemory;
  /// The part of the vector dimension that is worked on.
  Value begin, end;
  /// A tile: its part of the other dimension, its size, and its elements of
  /// operands, row by row of the output. Or a block of short rows: their
  /// elements, of all of them the first one, and so on.
  Value tileBegin, tileEnd;
  int64_t tileRows = 0, tileWidth = 0;
  SmallVector<Value> tiles;
  /// The number of elements of rows in one iteration.
  std::optional<int64_t> numGrouped;
  /// The start of the row in data with the layout of the first output; null
  /// where rows are not counted.
  Value rowBegin;
  /// Operands that are expanded, and the first element that is.
  SmallVector<Value> expansions;
  Value expandedFrom;
  /// The number of rows from the begin of a block on, and the elements that its
  /// vectors have in memory.
  Value rowsLeft;
  SmallVector<Value> blockMasks;
  unsigned loopIndex = 0, vectorDim = 0;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWEMITTER_H
