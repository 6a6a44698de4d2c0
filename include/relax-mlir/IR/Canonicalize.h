//===- Canonicalize.h - Canonicalization patterns ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Patterns of `--canonicalize`, in sets for passes that want some.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_CANONICALIZE_H
#define RELAX_MLIR_IR_CANONICALIZE_H

namespace llvm {
class SmallBitVector;
} // namespace llvm

namespace mlir {
class Operation;
class RewritePatternSet;
class RewriterBase;
class Value;
} // namespace mlir

namespace mlir::relax {

class DataflowOp;

/// Whether `value` may take the place of the result of `op`. In lowered code a
/// value may have an end, `relax.builtin.kill`, and has no use after it.
bool mayReplace(Operation *op, Value value);

/// Takes outputs away from a dataflow block; their results have no uses.
/// Returns the block in its place.
DataflowOp dropOutputs(DataflowOp dataflow, const llvm::SmallBitVector &dropped,
                       RewriterBase &rewriter);

/// Adds patterns for casts, tuples, shapes and outputs of dataflow blocks.
void populateBindingPatterns(RewritePatternSet &patterns);

/// Adds patterns for operators on tensors.
void populateOperatorPatterns(RewritePatternSet &patterns);

/// Adds patterns that make one of two transposes, reshapes or broadcasts.
void populateJoinPatterns(RewritePatternSet &patterns);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_CANONICALIZE_H
