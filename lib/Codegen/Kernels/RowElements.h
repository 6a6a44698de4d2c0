//===- RowElements.h - Values and memory of row kernels ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates vectors of elements, and scalars that a row shares, and loads and
// stores them: contiguous, or strided by gathers and scatters. What is known of
// a place is in its scope.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWELEMENTS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWELEMENTS_H

#include "RowContext.h"

namespace mlir::relax {

class RowElements {
public:
  explicit RowElements(const RowContext &context)
      : context(context), plan(context.plan) {}

  // Values.
  void hoist(IndexBuilder &b, linalg::LinalgOp op, RowScope &row) const;
  Value evaluate(IndexBuilder &b, Value value, RowScope &scope) const;
  Value evaluateOperand(IndexBuilder &b, OpOperand &operand,
                        RowScope &scope) const;
  /// The results of an operation, given its operands.
  SmallVector<Value> compute(IndexBuilder &b, linalg::LinalgOp op,
                             ValueRange operands, RowScope &scope) const;

  // Memory.
  /// The place of an element in its parameter, at the first lane.
  Value getAddress(IndexBuilder &b, const Access &access,
                   const RowScope &scope) const;
  /// Elements as they are in the memory of a parameter.
  Value loadParameter(IndexBuilder &b, const Access &access,
                      const RowScope &scope) const;
  void store(IndexBuilder &b, Value value, const Access &access,
             const RowScope &scope) const;
  void storeBuffer(IndexBuilder &b, Value element, Value value,
                   const RowScope &scope) const;
  /// Elements that follow one another, or one.
  Value loadVector(IndexBuilder &b, Value memref, Value address,
                   const RowScope &scope, bool isPadded = false) const;
  void storeVector(IndexBuilder &b, Value value, Value memref, Value address,
                   const RowScope &scope, bool isPadded = false) const;

private:
  bool isBuffered(Value value, const RowScope &scope) const;
  bool isOfRow(OpOperand &operand) const;
  void computeElementwise(IndexBuilder &b, linalg::LinalgOp op,
                          RowScope &scope) const;
  Value getIndex(IndexBuilder &b, Operation *op, unsigned loop,
                 const RowScope &scope) const;
  Value getAddress(IndexBuilder &b, const RowCopy &copy,
                   const RowScope &scope) const;
  Value load(IndexBuilder &b, const Access &access, RowScope &scope) const;
  Value loadCopy(IndexBuilder &b, const RowCopy &copy,
                 const RowScope &scope) const;
  void storeCopy(IndexBuilder &b, Value value, const RowCopy &copy,
                 const RowScope &scope) const;
  Value gather(IndexBuilder &b, Value memref, Value address, Value stride,
               const RowScope &scope) const;
  Value getVectorStride(IndexBuilder &b, const Access &access,
                        unsigned vectorDim) const;
  Value getLaneOffsets(IndexBuilder &b, Value stride) const;
  Value getMask(IndexBuilder &b, const RowScope &scope) const;
  Value toMemory(IndexBuilder &b, Value value, Type element,
                 const RowScope &scope) const;

  const RowContext &context;
  const RowPlan &plan;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ROWELEMENTS_H
