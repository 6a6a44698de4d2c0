//===- Polynomial.cpp - The normal form of expressions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of expressions, and arithmetic on polynomials that says where it
// overflows or grows too large.
//
//===----------------------------------------------------------------------===//

#include "Polynomial.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Compares all but the operands.
static int compareNodes(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (lhs.getKind() != rhs.getKind())
    return lhs.getKind() < rhs.getKind() ? -1 : 1;
  if (int order = lhs.getName().compare(rhs.getName()))
    return order;
  if (lhs.getValue() != rhs.getValue())
    return lhs.getValue() < rhs.getValue() ? -1 : 1;
  if (lhs.getOperands().size() != rhs.getOperands().size())
    return lhs.getOperands().size() < rhs.getOperands().size() ? -1 : 1;
  return 0;
}

int mlir::relax::compare(PrimExprAttr lhs, PrimExprAttr rhs) {
  // Expressions are unique, so the first operands that differ decide: there is
  // one path to follow.
  while (lhs != rhs) {
    if (int order = compareNodes(lhs, rhs))
      return order;
    auto [left, right] =
        std::mismatch(lhs.getOperands().begin(), lhs.getOperands().end(),
                      rhs.getOperands().begin());
    if (left == lhs.getOperands().end())
      return 0;
    lhs = *left;
    rhs = *right;
  }
  return 0;
}

static bool isBefore(PrimExprAttr lhs, PrimExprAttr rhs) {
  return compare(lhs, rhs) < 0;
}

bool MonomialOrder::operator()(const Monomial &lhs, const Monomial &rhs) const {
  if (lhs.size() != rhs.size())
    return lhs.size() > rhs.size();
  for (auto [l, r] : llvm::zip(lhs, rhs))
    if (int order = compare(l, r))
      return order < 0;
  return false;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

bool Polynomial::addTerm(const Monomial &monomial, int64_t coefficient) {
  int64_t &slot = terms[monomial];
  if (llvm::AddOverflow(slot, coefficient, slot))
    return false;
  if (slot == 0)
    terms.erase(monomial);
  return terms.size() <= kMaxTerms;
}

bool Polynomial::add(const Polynomial &other, int64_t factor) {
  for (const auto &[monomial, coefficient] : other.terms) {
    int64_t scaled;
    if (llvm::MulOverflow(coefficient, factor, scaled) ||
        !addTerm(monomial, scaled))
      return false;
  }
  return true;
}

std::optional<Polynomial> Polynomial::product(const Polynomial &lhs,
                                              const Polynomial &rhs) {
  Polynomial result;
  for (const auto &[left, leftCoefficient] : lhs.terms) {
    for (const auto &[right, rightCoefficient] : rhs.terms) {
      if (left.size() + right.size() > kMaxTerms)
        return std::nullopt;
      Monomial monomial;
      std::merge(left.begin(), left.end(), right.begin(), right.end(),
                 std::back_inserter(monomial), isBefore);
      int64_t coefficient;
      if (llvm::MulOverflow(leftCoefficient, rightCoefficient, coefficient) ||
          !result.addTerm(monomial, coefficient))
        return std::nullopt;
    }
  }
  return result;
}

std::optional<Polynomial> Polynomial::of(PrimExprAttr expr) {
  Polynomial result;
  if (expr.isTooLarge()) {
    result.addTerm({expr}, 1);
    return result;
  }
  switch (expr.getKind()) {
  case PrimExprKind::Int:
    if (expr.getValue() != 0)
      result.addTerm({}, expr.getValue());
    return result;
  case PrimExprKind::Add:
    for (PrimExprAttr operand : expr.getOperands()) {
      std::optional<Polynomial> term = of(operand);
      if (!term || !result.add(*term))
        return std::nullopt;
    }
    return result;
  case PrimExprKind::Mul:
    result.addTerm({}, 1);
    for (PrimExprAttr operand : expr.getOperands()) {
      std::optional<Polynomial> factor = of(operand);
      std::optional<Polynomial> next =
          factor ? product(result, *factor) : std::nullopt;
      if (!next)
        return std::nullopt;
      result = std::move(*next);
    }
    return result;
  default:
    result.addTerm({expr}, 1);
    return result;
  }
}

std::optional<Polynomial> Polynomial::linear(PrimExprAttr lhs, PrimExprAttr rhs,
                                             int64_t factor) {
  std::optional<Polynomial> result = of(lhs);
  std::optional<Polynomial> other = of(rhs);
  if (!result || !other || !result->add(*other, factor))
    return std::nullopt;
  return result;
}

PrimExprAttr mlir::relax::rawNode(PrimExprKind kind,
                                  ArrayRef<PrimExprAttr> operands) {
  return PrimExprAttr::get(operands.front().getContext(), kind, 0, StringRef(),
                           operands);
}

/// The product of factors, at least one, that is canonical already.
static PrimExprAttr buildFactors(ArrayRef<PrimExprAttr> factors) {
  return factors.size() == 1 ? factors.front()
                             : rawNode(PrimExprKind::Mul, factors);
}

PrimExprAttr mlir::relax::buildProduct(const Monomial &monomial,
                                       MLIRContext *context) {
  return monomial.empty() ? PrimExprAttr::getInt(context, 1)
                          : buildFactors(monomial);
}

PrimExprAttr Polynomial::build(MLIRContext *context) const {
  SmallVector<PrimExprAttr> sum;
  for (const auto &[monomial, coefficient] : terms) {
    SmallVector<PrimExprAttr> factors(monomial.begin(), monomial.end());
    if (coefficient != 1 || factors.empty())
      factors.push_back(PrimExprAttr::getInt(context, coefficient));
    sum.push_back(buildFactors(factors));
  }
  if (sum.empty())
    return PrimExprAttr::getInt(context, 0);
  return sum.size() == 1 ? sum.front() : rawNode(PrimExprKind::Add, sum);
}

std::optional<int64_t> Polynomial::getConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

int64_t Polynomial::constantTerm() const {
  auto it = terms.find({});
  return it == terms.end() ? 0 : it->second;
}

int64_t Polynomial::gcdOfTerms() const {
  int64_t result = 0;
  for (const auto &[monomial, coefficient] : terms) {
    if (coefficient == INT64_MIN) // it has no absolute value
      return 1;
    if (!monomial.empty())
      result = std::gcd(result, coefficient);
  }
  return result;
}

void Polynomial::divide(int64_t divisor, Polynomial &quotient,
                        Polynomial &rest) const {
  for (const auto &[monomial, coefficient] : terms) {
    if (coefficient % divisor == 0 && coefficient != INT64_MIN)
      quotient.addTerm(monomial, coefficient / divisor);
    else
      rest.addTerm(monomial, coefficient);
  }
}
