//===- RowContext.h - What the loops of a row kernel share ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan of a row kernel with the values that it has before any loop: the
// memory of its parameters, its scalars, the sizes of its iteration space. All
// of it stays as it is. Positions, and what is computed there, are in scopes.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWCONTEXT_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWCONTEXT_H

#include "KernelParameters.h"
#include "RowPlan.h"

namespace mlir::relax {

class RowContext {
public:
  /// `arguments` are the parameters of the kernel in memory.
  RowContext(IndexBuilder &b, const RowPlan &plan, ValueRange arguments);

  Value getSize(unsigned dim) const { return sizes[dim]; }
  Value getStride(BlockArgument param, unsigned axis) const {
    return parameters[param].strides[axis];
  }
  Value getMemory(const Access &access) const {
    return parameters[access.param].elements;
  }
  VectorType getVectorType(Type element) const {
    return VectorType::get({plan.lanes}, element);
  }
  /// A constant vector.
  Value splat(IndexBuilder &b, TypedAttr value) const;
  /// The mask of the first `count` lanes.
  Value makeMask(IndexBuilder &b, Value count) const;

  const RowPlan &plan;
  const KernelSpace &space;
  const KernelParameters parameters;

private:
  SmallVector<Value> sizes; // of dimensions
};

/// Scratch memory of a task, which the passes after bufferization free at its
/// end.
Value allocateScratch(IndexBuilder &b, Type element, OpFoldResult size);

struct RowGroup;

/// Values that have been computed at one place: for the elements of a vector,
/// or for whole rows.
struct RowScope {
  static constexpr unsigned kNoDim = ~0u;

  RowScope &getRow() { return row ? *row : *this; }

  /// The position in each dimension, that of the first lane in `vectorDim`, the
  /// dimension of the innermost loop.
  SmallVector<Value> positions = {};
  unsigned vectorDim = kNoDim;
  /// Whether values are vectors, and which lanes exist; null: all.
  bool isVector = false;
  Value mask = Value();
  /// The row that elements belong to; null for a row.
  RowScope *row = nullptr;
  const RowGroup *group = nullptr;
  /// The number of the row in its group, or of a vector in memory.
  unsigned number = 0;

  DenseMap<Value, Value> values = DenseMap<Value, Value>();
  SmallVector<std::pair<Access, Value>> loads = {};
  /// The elements that flags record NaN of.
  SmallVector<Value, 1> flagged = {};
};

/// Where a task has elements of an operand, of an output or of a value.
struct RowCopy {
  struct Dim {
    unsigned dim;
    Value origin, size;
  };

  Value memory;
  /// The access at whose address they begin; null where memory has nothing
  /// else.
  const Access *place = nullptr;
  /// They lie in the order of these, from the outermost one to the innermost,
  /// and begin at their origins.
  SmallVector<Dim, 2> dims = {};
  /// Each is a number of vectors that have so many lanes.
  int64_t numVectors = 1, lanes = 1;
  /// Whether there are all lanes, whatever the mask.
  bool isPadded = false;
};

/// A part of a dimension; null: all of it.
struct RowRange {
  Value begin, end;
};

/// Rows that are computed together.
struct RowGroup {
  RowGroup(RowScope row) { rows.push_back(std::move(row)); }
  RowGroup(SmallVector<RowScope, 0> rows) : rows(std::move(rows)) {}

  /// A scope of elements of a row.
  RowScope getElements(unsigned number, ArrayRef<Value> positions);
  /// Null where elements are in the parameter.
  const RowCopy *findCopy(const Access &access) const;
  const RowCopy &getBuffer(Value value) const {
    return buffers.find(value)->second;
  }

  /// One, or vectors of them.
  SmallVector<RowScope, 0> rows;
  /// What is computed of the vector dimension.
  RowRange range;
  /// The start of the row in data with the layout of the first output; null
  /// where rows are not counted.
  Value start;
  /// Operands and outputs whose elements the task has elsewhere.
  SmallVector<std::pair<Access, RowCopy>, 0> copies;
  /// Values that wait for a later loop.
  DenseMap<Value, RowCopy> buffers;
  /// The lanes that exist of vectors that hold rows in the order of memory.
  SmallVector<Value> masks;
  /// Whether many vectors are divided by what belongs to the row.
  bool sharesDivisors = false;
  /// The number of the loop.
  unsigned loop = 0;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWCONTEXT_H
