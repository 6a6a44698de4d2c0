//===- Patterns.h - What canonicalization patterns share --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_IR_CANONICALIZE_PATTERNS_H
#define RELAX_MLIR_LIB_IR_CANONICALIZE_PATTERNS_H

#include "relax-mlir/IR/Alias.h"
#include "relax-mlir/IR/Canonicalize.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {

/// Replaces an operator by a value with the same elements.
LogicalResult forward(Operation *op, Value value, PatternRewriter &rewriter);

/// The operation before `op` in the same block that made `value`, if it is one
/// of `OpTys` and nothing may update tensors between the two.
template <typename... OpTys> Operation *producerOf(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  if (!producer || !isa<OpTys...>(producer) ||
      producer->getBlock() != op->getBlock())
    return nullptr;
  for (Operation *between = producer->getNextNode(); between != op;
       between = between->getNextNode())
    if (between->getNumRegions() != 0 || mayUpdateTensors(between))
      return nullptr;
  return producer;
}

/// Whether the error that an operator may end with can go: dataflow blocks may
/// become more defined, and an operator whose types say all has none.
bool mayDropErrors(Operation *op);

/// An axis counted from the start; nothing where the rank is not known.
std::optional<int64_t> normalizeAxis(int64_t axis, Value tensor);

/// Add the patterns for operators of one family.
void populateArithmeticPatterns(RewritePatternSet &patterns);
void populateConversionPatterns(RewritePatternSet &patterns);
void populateMovePatterns(RewritePatternSet &patterns);
void populateSlicePatterns(RewritePatternSet &patterns);
/// Adds the pattern for `if` with a known condition.
void populateBranchPatterns(RewritePatternSet &patterns);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_IR_CANONICALIZE_PATTERNS_H
