//===- PrimExprAnalysis.h - Analyses that proofs consist of -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranges of expressions, simplification by ranges alone, and questions to the
// Presburger library: the steps of a proof, cheap ones first.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_IR_PRIMEXPRANALYSIS_H
#define RELAX_MLIR_LIB_IR_PRIMEXPRANALYSIS_H

#include "Polynomial.h"
#include "relax-mlir/IR/PrimExprFacts.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::relax {

/// The ranges of expressions, each computed once. The facts must outlive it and
/// not contradict each other plainly.
class RangeAnalysis {
public:
  explicit RangeAnalysis(const PrimExprFacts &facts) : facts(facts) {}

  PrimExprRange of(PrimExprAttr expr);
  PrimExprRange of(const Polynomial &polynomial);
  PrimExprRange of(const Monomial &monomial);

private:
  PrimExprRange compute(PrimExprAttr expr);
  PrimExprRange ofCall(PrimExprAttr expr);

  const PrimExprFacts &facts;
  DenseMap<PrimExprAttr, PrimExprRange> known;
};

/// Whether a truth value in the range is true (Yes) or false (No).
Ternary truthOf(PrimExprRange range);

/// simplify without proofs by the Presburger library, which use it themselves.
PrimExprAttr simplifyByRanges(PrimExprAttr expr, const PrimExprFacts &facts);

/// proveEqual and proveLessEqual of expressions that are simple already. The
/// facts must not contradict each other plainly.
Ternary proveEqualOnce(PrimExprAttr lhs, PrimExprAttr rhs,
                       const PrimExprFacts &facts);
Ternary proveLessEqualOnce(PrimExprAttr lhs, PrimExprAttr rhs,
                           const PrimExprFacts &facts);

/// The order of two expressions.
enum class PrimExprOrder { Less, Equal, Greater };

/// Questions to the Presburger library about one pair of expressions.
class PresburgerProver {
public:
  PresburgerProver(PrimExprAttr lhs, PrimExprAttr rhs,
                   const PrimExprFacts &facts)
      : lhs(lhs), rhs(rhs), facts(facts),
        relations(facts.getRelevant({lhs, rhs})) {}

  /// Whether no values that the facts allow compare like this.
  bool isImpossible(PrimExprOrder order) const;
  /// Whether no values at all are allowed.
  bool isContradictory() const;

private:
  PrimExprAttr lhs, rhs;
  const PrimExprFacts &facts;
  SmallVector<const PrimExprFacts::Relation *> relations;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_IR_PRIMEXPRANALYSIS_H
