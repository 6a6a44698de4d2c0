//===- Polynomial.h - The normal form of expressions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of products of atoms with integer coefficients. An atom is a variable,
// or an operation other than a sum or product.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_IR_POLYNOMIAL_H
#define RELAX_MLIR_LIB_IR_POLYNOMIAL_H

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/SmallVector.h"

#include <map>

namespace mlir::relax {

/// A total order of expressions that does not depend on addresses.
int compare(PrimExprAttr lhs, PrimExprAttr rhs);

/// Visits each node once, operands from left to right after their operation,
/// until `visit` returns false.
void walkNodes(PrimExprAttr expr, llvm::function_ref<bool(PrimExprAttr)> visit);

/// Floor division and remainder of constants; none where undefined.
std::optional<int64_t> floorDiv(int64_t lhs, int64_t rhs);
std::optional<int64_t> floorMod(int64_t lhs, int64_t rhs);

/// A node as it is, not brought into canonical form.
PrimExprAttr rawNode(PrimExprKind kind, ArrayRef<PrimExprAttr> operands);

/// A product of atoms, sorted.
using Monomial = SmallVector<PrimExprAttr, 2>;

/// Products of higher degree come first, the constant last.
struct MonomialOrder {
  bool operator()(const Monomial &lhs, const Monomial &rhs) const;
};

/// A sum of monomials with coefficients. Operations return false, or none,
/// where they overflow or grow beyond kMaxTerms; the polynomial is not to be
/// used then.
class Polynomial {
public:
  using Terms = std::map<Monomial, int64_t, MonomialOrder>;
  static constexpr size_t kMaxTerms = 64;

  static std::optional<Polynomial> of(PrimExprAttr expr);
  /// lhs + factor * rhs
  static std::optional<Polynomial> linear(PrimExprAttr lhs, PrimExprAttr rhs,
                                          int64_t factor);
  static std::optional<Polynomial> product(const Polynomial &lhs,
                                           const Polynomial &rhs);

  bool add(const Polynomial &other, int64_t factor = 1);
  bool addTerm(const Monomial &monomial, int64_t coefficient);
  PrimExprAttr build(MLIRContext *context) const;

  const Terms &getTerms() const { return terms; }
  std::optional<int64_t> getConstant() const;
  /// The greatest common divisor of the coefficients of all but the constant.
  int64_t gcdOfTerms() const;
  int64_t constantTerm() const;
  /// Splits into `divisor * quotient + rest`, term by term.
  void divide(int64_t divisor, Polynomial &quotient, Polynomial &rest) const;

private:
  Terms terms;
};

/// A monomial as an expression.
PrimExprAttr buildProduct(const Monomial &monomial, MLIRContext *context);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_IR_POLYNOMIAL_H
