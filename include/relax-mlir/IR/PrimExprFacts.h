//===- PrimExprFacts.h - Proofs about dimensions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The known facts about shape variables in a scope, and their consequences for
// expressions (ST12): equality, order, ranges, simpler forms.
//
// Expressions and facts are about integers, and about those values of the
// variables that satisfy the facts and for which the expressions in question
// are defined (no divisor is 0). Nothing is claimed that is not proven. Where
// facts are found to contradict each other, nothing is concluded from them.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_PRIMEXPRFACTS_H
#define RELAX_MLIR_IR_PRIMEXPRFACTS_H

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace mlir::relax {

/// The integers from `lower` to `upper`; an end that is missing is infinite.
struct PrimExprRange {
  std::optional<int64_t> lower = std::nullopt;
  std::optional<int64_t> upper = std::nullopt;

  static PrimExprRange of(int64_t value) { return {value, value}; }
  bool isEmpty() const { return lower && upper && *lower > *upper; }
  bool contains(int64_t value) const {
    return (!lower || *lower <= value) && (!upper || value <= *upper);
  }
  /// The only integer in it, where there is but one.
  std::optional<int64_t> getConstant() const {
    return lower && lower == upper ? lower : std::nullopt;
  }
};

/// Facts in scope. A fact about an expression says as well that the expression
/// is defined.
class PrimExprFacts {
public:
  /// lhs = rhs, or lhs <= rhs.
  struct Relation {
    PrimExprAttr lhs, rhs;
    bool isEquality;
    SmallVector<std::string, 2> vars;
  };

  /// The variable is from `lower` to `upper`, and in the bounds it had.
  void addBounds(StringRef name, std::optional<int64_t> lower,
                 std::optional<int64_t> upper);
  void addEqual(PrimExprAttr lhs, PrimExprAttr rhs);
  void addLessEqual(PrimExprAttr lhs, PrimExprAttr rhs);
  /// `expr` is a dimension: it is not negative.
  void addDimension(PrimExprAttr expr);

  PrimExprRange getBounds(StringRef name) const;
  /// The variables that have bounds, with them.
  const llvm::StringMap<PrimExprRange> &getAllBounds() const { return bounds; }
  ArrayRef<Relation> getRelations() const { return relations; }
  /// The relations that say something of the variables of `exprs`, directly or
  /// through other variables; at most kMaxRelations of them.
  SmallVector<const Relation *> getRelevant(ArrayRef<PrimExprAttr> exprs) const;
  static constexpr size_t kMaxRelations = 32;

  /// Whether the facts contradict each other plainly, without a proof.
  bool isContradictory() const { return contradictory; }

private:
  void addRelation(PrimExprAttr lhs, PrimExprAttr rhs, bool isEquality);
  bool addAsBounds(PrimExprAttr lhs, PrimExprAttr rhs, bool isEquality);

  llvm::StringMap<PrimExprRange> bounds;
  SmallVector<Relation, 0> relations;
  bool contradictory = false;
};

/// The values that `expr` may have, from the bounds of its variables.
PrimExprRange getRange(PrimExprAttr expr, const PrimExprFacts &facts);

/// Yes: equal for all values that the facts allow. No: for none.
Ternary proveEqual(PrimExprAttr lhs, PrimExprAttr rhs,
                   const PrimExprFacts &facts);
Ternary proveEqual(ArrayRef<PrimExprAttr> lhs, ArrayRef<PrimExprAttr> rhs,
                   const PrimExprFacts &facts);

/// Yes: lhs <= rhs for all values that the facts allow. No: for none.
Ternary proveLessEqual(PrimExprAttr lhs, PrimExprAttr rhs,
                       const PrimExprFacts &facts);
/// The same for lhs < rhs, and for 0 <= expr.
Ternary proveLess(PrimExprAttr lhs, PrimExprAttr rhs,
                  const PrimExprFacts &facts);
Ternary proveNonNegative(PrimExprAttr expr, const PrimExprFacts &facts);

//===----------------------------------------------------------------------===//
// Facts of a place
//===----------------------------------------------------------------------===//

/// While it lives, types are compared and derived under these facts, in this
/// thread. The interfaces through which MLIR derives types have no parameter
/// for them.
class FactsScope {
public:
  explicit FactsScope(const PrimExprFacts &facts);
  ~FactsScope();
  FactsScope(const FactsScope &) = delete;
  FactsScope &operator=(const FactsScope &) = delete;

  /// The facts of the innermost scope; none outside of all.
  static const PrimExprFacts &current();

private:
  const PrimExprFacts *outer;
};

/// Questions about the dimensions of tensors that exist: none of them is
/// negative, and the facts of the FactsScope hold. Questions that the normal
/// form decides cost no more than it does.
class DimensionProver {
public:
  explicit DimensionProver(ArrayRef<PrimExprAttr> dims,
                           ArrayRef<PrimExprAttr> moreDims = {});

  Ternary proveEqual(PrimExprAttr lhs, PrimExprAttr rhs);
  Ternary proveEqual(ArrayRef<PrimExprAttr> lhs, ArrayRef<PrimExprAttr> rhs);
  Ternary proveEqual(PrimExprAttr expr, int64_t value);
  PrimExprRange getRange(PrimExprAttr expr);

private:
  const PrimExprFacts &getFacts();

  SmallVector<PrimExprAttr> dims;
  std::optional<PrimExprFacts> facts;
};

/// An expression with the value of `expr` wherever `expr` is defined and the
/// facts hold; at times it is defined elsewhere too. It has no operations whose
/// outcome is known.
PrimExprAttr simplify(PrimExprAttr expr, const PrimExprFacts &facts);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_PRIMEXPRFACTS_H
