//===- GenericEmitter.h - Vectorized loops for any operation ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the loops of a GenericPlan: a parallel loop over the iteration space of
// all parallel dimensions but the vectorized one; inside, whole vectors and a
// masked tail. Reductions are innermost, several vectors at a time.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GENERICEMITTER_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GENERICEMITTER_H

#include "FlatMemory.h"
#include "GenericPlan.h"
#include "TaskGrid.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::relax {

class GenericEmitter {
public:
  GenericEmitter(const GenericPlan &plan) : plan(plan), op(plan.op) {}

  /// Writes the loops at the builder; this cannot fail.
  void emit(IndexBuilder &b);

private:
  /// A value of the body: the same in all lanes, a vector, or an index that
  /// grows by `step` from lane to lane.
  struct Lanes {
    Value value, step = Value();
    /// A vector of i32 that lanes add to `value`; null: nothing.
    Value offsets = Value();
    /// The number of lanes with one offset each, which grow by 1; 0: any
    /// offsets.
    int64_t repeats = 0;

    bool isUniform() const {
      return !step && !offsets && !isa<VectorType>(value.getType());
    }
  };
  using LaneMap = DenseMap<Value, Lanes>;
  /// The masks of the lanes of a vector that count; null: all of them.
  struct Place {
    Value mask;
    /// The lanes of `mask` for which the conditions around hold.
    Value conditionMask;
    Value getMask() const { return conditionMask ? conditionMask : mask; }
  };
  /// Where a vector begins along the loop of vectors, and along `rowDim`; null:
  /// where all are.
  struct Position {
    Value base, row;
  };
  void moveTo(const Position &position) {
    positions[plan.vectorDim] = position.base;
    if (position.row)
      positions[rowDim] = position.row;
  }

  // Loops.
  void prepare(IndexBuilder &b);
  void emitIteration(IndexBuilder &b, Value begin, Value end);
  void emitGroup(IndexBuilder &b, Value first, Value last, Value begin,
                 Value end);
  void emitVectors(IndexBuilder &b, Value begin, Value end);
  void emitBlocks(IndexBuilder &b, Value begin, Value end);
  void emitBlock(IndexBuilder &b, Value base, unsigned unroll, Value mask);
  SmallVector<Value> emitReductions(IndexBuilder &b, unsigned depth,
                                    ArrayRef<Position> places, Place place,
                                    ValueRange accumulators);
  void emitRow(IndexBuilder &b);
  SmallVector<Value> combineLanes(IndexBuilder &b, ValueRange accumulators);
  int64_t getGrain(bool hasGroups) const;
  int64_t getPart() const;
  Value getGroupSize(IndexBuilder &b, bool hasParts, size_t numOuter);

  // Elements.
  Value getAddress(IndexBuilder &b, OpOperand &operand);
  Value getLaneStep(IndexBuilder &b, OpOperand &operand);
  Value loadOperand(IndexBuilder &b, OpOperand &operand, const Place &place);
  Value loadWhole(IndexBuilder &b, Value elements, Value address, Value mask);
  Value loadReversed(IndexBuilder &b, Value elements, Value address,
                     Value mask);
  Value loadEverySecond(IndexBuilder &b, Value elements, Value address,
                        Value mask);
  Value loadRepeated(IndexBuilder &b, Value elements, Value address,
                     int64_t repeats, Value mask);
  static Value gather(IndexBuilder &b, Value elements, Value address,
                      Value steps, Value mask);
  Value loadLanes(IndexBuilder &b, Value elements, Value address, Value step,
                  Value mask);
  void storeResult(IndexBuilder &b, OpOperand &operand, Value value,
                   const Place &place);
  void hoistOperands(IndexBuilder &b);
  SmallVector<Value> computeBody(IndexBuilder &b, ValueRange accumulators,
                                 const Place &place);

  // Bodies.
  void computeBlock(IndexBuilder &b, Block &block, const Place &place);
  void computeOp(IndexBuilder &b, Operation &inner, const Place &place);
  void computeLoad(IndexBuilder &b, memref::LoadOp load, const Place &place);
  void computeIf(IndexBuilder &b, scf::IfOp branch, const Place &place);
  bool computeSteps(IndexBuilder &b, Operation &inner);
  bool computeOffsets(IndexBuilder &b, Operation &inner);
  Lanes lookup(Value value) const;
  Value asVector(IndexBuilder &b, Lanes lanes);
  /// The value of a scalar, or a vector.
  Value materialize(IndexBuilder &b, Value value);
  static Value splat(IndexBuilder &b, int64_t lanes, TypedAttr value);

  const GenericPlan &plan;
  linalg::LinalgOp op;
  DenseMap<Value, FlatMemory> memories;
  SmallVector<Value> sizes, positions;
  /// The positions along `rowDim` that are computed together; none: one.
  SmallVector<Value> rows;
  unsigned rowDim = 0;
  /// Where the index of vectors was a multiple of `plan.wrap` last.
  Value wrapStart;
  /// The operand values that are invariant in an inner loop.
  DenseMap<OpOperand *, Value> hoisted;
  LaneMap values;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GENERICEMITTER_H
