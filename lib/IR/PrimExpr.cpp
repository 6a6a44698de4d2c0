//===- PrimExpr.cpp - Dimension expressions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Construction brings expressions into a canonical form: a sum of products of
// atoms with integer coefficients, where an atom is a variable or one of the
// other operations on canonical operands. Folding that would overflow, or that
// would make more than kMaxTerms terms, is left undone.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace mlir::relax;

llvm::hash_code mlir::relax::hash_value(PrimExprKind kind) {
  return llvm::hash_value(static_cast<uint8_t>(kind));
}

Ternary mlir::relax::both(Ternary lhs, Ternary rhs) {
  return std::min(lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// A total order that does not depend on addresses.
static int compare(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (lhs == rhs)
    return 0;
  if (lhs.getKind() != rhs.getKind())
    return lhs.getKind() < rhs.getKind() ? -1 : 1;
  if (int order = lhs.getName().compare(rhs.getName()))
    return order;
  if (lhs.getValue() != rhs.getValue())
    return lhs.getValue() < rhs.getValue() ? -1 : 1;
  if (lhs.getOperands().size() != rhs.getOperands().size())
    return lhs.getOperands().size() < rhs.getOperands().size() ? -1 : 1;
  for (auto [l, r] : llvm::zip(lhs.getOperands(), rhs.getOperands()))
    if (int order = compare(l, r))
      return order;
  return 0;
}

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

namespace {
/// A product of atoms, sorted.
using Monomial = SmallVector<PrimExprAttr, 2>;

/// Products of higher degree come first, the constant last.
struct MonomialOrder {
  bool operator()(const Monomial &lhs, const Monomial &rhs) const {
    if (lhs.size() != rhs.size())
      return lhs.size() > rhs.size();
    for (auto [l, r] : llvm::zip(lhs, rhs))
      if (int order = compare(l, r))
        return order < 0;
    return false;
  }
};

constexpr size_t kMaxTerms = 64;

/// A sum of monomials with coefficients. Operations return false where they
/// overflow or grow beyond kMaxTerms; the polynomial is not to be used then.
class Polynomial {
public:
  static std::optional<Polynomial> of(PrimExprAttr expr);

  bool add(const Polynomial &other, int64_t factor = 1);
  static std::optional<Polynomial> product(const Polynomial &lhs,
                                           const Polynomial &rhs);
  PrimExprAttr build(MLIRContext *context) const;

  std::optional<int64_t> getConstant() const;
  /// The greatest common divisor of the coefficients of all but the constant.
  int64_t gcdOfTerms() const;
  int64_t constantTerm() const;
  /// Splits into `divisor * quotient + rest`, term by term.
  void divide(int64_t divisor, Polynomial &quotient, Polynomial &rest) const;

private:
  bool addTerm(const Monomial &monomial, int64_t coefficient);
  std::map<Monomial, int64_t, MonomialOrder> terms;
};
} // namespace

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
  for (const auto &[lhsMonomial, lhsCoefficient] : lhs.terms) {
    for (const auto &[rhsMonomial, rhsCoefficient] : rhs.terms) {
      Monomial monomial(lhsMonomial);
      monomial.append(rhsMonomial.begin(), rhsMonomial.end());
      llvm::sort(monomial, [](PrimExprAttr l, PrimExprAttr r) {
        return compare(l, r) < 0;
      });
      int64_t coefficient;
      if (llvm::MulOverflow(lhsCoefficient, rhsCoefficient, coefficient) ||
          monomial.size() > kMaxTerms || !result.addTerm(monomial, coefficient))
        return std::nullopt;
    }
  }
  return result;
}

std::optional<Polynomial> Polynomial::of(PrimExprAttr expr) {
  Polynomial result;
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
  for (const auto &[monomial, coefficient] : terms)
    if (!monomial.empty() && coefficient != INT64_MIN)
      result = std::gcd(result, coefficient);
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

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

PrimExprAttr PrimExprAttr::getVar(MLIRContext *context, StringRef name) {
  return get(context, PrimExprKind::Var, 0, name, ArrayRef<PrimExprAttr>());
}

PrimExprAttr PrimExprAttr::getInt(MLIRContext *context, int64_t value) {
  return get(context, PrimExprKind::Int, value, StringRef(),
             ArrayRef<PrimExprAttr>());
}

/// A node as it is, not brought into canonical form.
static PrimExprAttr rawNode(PrimExprKind kind,
                            ArrayRef<PrimExprAttr> operands) {
  return PrimExprAttr::get(operands.front().getContext(), kind, 0, StringRef(),
                           operands);
}

PrimExprAttr Polynomial::build(MLIRContext *context) const {
  SmallVector<PrimExprAttr> sum;
  for (const auto &[monomial, coefficient] : terms) {
    SmallVector<PrimExprAttr> factors(monomial.begin(), monomial.end());
    if (coefficient != 1 || factors.empty())
      factors.push_back(PrimExprAttr::getInt(context, coefficient));
    sum.push_back(factors.size() == 1 ? factors.front()
                                      : rawNode(PrimExprKind::Mul, factors));
  }
  if (sum.empty())
    return PrimExprAttr::getInt(context, 0);
  return sum.size() == 1 ? sum.front() : rawNode(PrimExprKind::Add, sum);
}

std::optional<int64_t> PrimExprAttr::getConstant() const {
  if (getKind() == PrimExprKind::Int)
    return getValue();
  return std::nullopt;
}

/// lhs + factor * rhs as a polynomial, where it does not overflow.
static std::optional<Polynomial> linear(PrimExprAttr lhs, PrimExprAttr rhs,
                                        int64_t factor) {
  std::optional<Polynomial> result = Polynomial::of(lhs);
  std::optional<Polynomial> other = Polynomial::of(rhs);
  if (!result || !other || !result->add(*other, factor))
    return std::nullopt;
  return result;
}

PrimExprAttr PrimExprAttr::getAdd(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (std::optional<Polynomial> sum = linear(lhs, rhs, 1))
    return sum->build(lhs.getContext());
  return rawNode(PrimExprKind::Add, {lhs, rhs});
}

PrimExprAttr PrimExprAttr::getSub(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (std::optional<Polynomial> difference = linear(lhs, rhs, -1))
    return difference->build(lhs.getContext());
  return rawNode(PrimExprKind::Add,
                 {lhs, getMul(rhs, getInt(lhs.getContext(), -1))});
}

PrimExprAttr PrimExprAttr::getMul(PrimExprAttr lhs, PrimExprAttr rhs) {
  std::optional<Polynomial> left = Polynomial::of(lhs);
  std::optional<Polynomial> right = Polynomial::of(rhs);
  if (left && right)
    if (std::optional<Polynomial> result = Polynomial::product(*left, *right))
      return result->build(lhs.getContext());
  return rawNode(PrimExprKind::Mul, {lhs, rhs});
}

PrimExprAttr PrimExprAttr::getProduct(MLIRContext *context,
                                      ArrayRef<PrimExprAttr> dims) {
  PrimExprAttr result = getInt(context, 1);
  for (PrimExprAttr dim : dims)
    result = getMul(result, dim);
  return result;
}

/// Floor division and remainder of constants; none where undefined.
static std::optional<int64_t> floorDiv(int64_t lhs, int64_t rhs) {
  if (rhs == 0 || (lhs == INT64_MIN && rhs == -1))
    return std::nullopt;
  int64_t quotient = lhs / rhs;
  return quotient - ((lhs % rhs != 0) && ((lhs < 0) != (rhs < 0)));
}
static std::optional<int64_t> floorMod(int64_t lhs, int64_t rhs) {
  std::optional<int64_t> quotient = floorDiv(lhs, rhs);
  if (!quotient)
    return std::nullopt;
  return lhs - *quotient * rhs;
}

PrimExprAttr PrimExprAttr::getFloorDiv(PrimExprAttr lhs, PrimExprAttr rhs) {
  MLIRContext *context = lhs.getContext();
  std::optional<int64_t> divisor = rhs.getConstant();
  std::optional<int64_t> dividend = lhs.getConstant();
  if (divisor && dividend)
    if (std::optional<int64_t> value = floorDiv(*dividend, *divisor))
      return getInt(context, *value);
  std::optional<Polynomial> polynomial = Polynomial::of(lhs);
  if (!divisor || *divisor <= 0 || !polynomial)
    return rawNode(PrimExprKind::FloorDiv, {lhs, rhs});
  // (d * q + r) floordiv d = q + r floordiv d
  Polynomial quotient, rest;
  polynomial->divide(*divisor, quotient, rest);
  std::optional<int64_t> constant = rest.getConstant();
  PrimExprAttr last =
      constant ? getInt(context, *floorDiv(*constant, *divisor))
               : rawNode(PrimExprKind::FloorDiv, {rest.build(context), rhs});
  return getAdd(quotient.build(context), last);
}

PrimExprAttr PrimExprAttr::getMod(PrimExprAttr lhs, PrimExprAttr rhs) {
  MLIRContext *context = lhs.getContext();
  std::optional<int64_t> divisor = rhs.getConstant();
  std::optional<int64_t> dividend = lhs.getConstant();
  if (divisor && dividend)
    if (std::optional<int64_t> value = floorMod(*dividend, *divisor))
      return getInt(context, *value);
  std::optional<Polynomial> polynomial = Polynomial::of(lhs);
  if (!divisor || *divisor <= 0 || !polynomial)
    return rawNode(PrimExprKind::Mod, {lhs, rhs});
  // (d * q + r) mod d = r mod d
  Polynomial quotient, rest;
  polynomial->divide(*divisor, quotient, rest);
  if (std::optional<int64_t> constant = rest.getConstant())
    return getInt(context, *floorMod(*constant, *divisor));
  return rawNode(PrimExprKind::Mod, {rest.build(context), rhs});
}

/// lhs - rhs where it is a constant.
static std::optional<int64_t> constantDifference(PrimExprAttr lhs,
                                                 PrimExprAttr rhs) {
  std::optional<Polynomial> difference = linear(lhs, rhs, -1);
  return difference ? difference->getConstant() : std::nullopt;
}

static PrimExprAttr foldMinMax(PrimExprKind kind, PrimExprAttr lhs,
                               PrimExprAttr rhs) {
  if (compare(lhs, rhs) > 0)
    std::swap(lhs, rhs);
  if (std::optional<int64_t> difference = constantDifference(lhs, rhs))
    return ((*difference <= 0) == (kind == PrimExprKind::Min)) ? lhs : rhs;
  return rawNode(kind, {lhs, rhs});
}

static PrimExprAttr foldCompare(PrimExprKind kind, PrimExprAttr lhs,
                                PrimExprAttr rhs) {
  MLIRContext *context = lhs.getContext();
  if (kind == PrimExprKind::Eq) {
    if (compare(lhs, rhs) > 0)
      std::swap(lhs, rhs);
    Ternary equal = proveEqual(lhs, rhs);
    if (equal != Ternary::Unknown)
      return PrimExprAttr::getInt(context, equal == Ternary::Yes);
    return rawNode(kind, {lhs, rhs});
  }
  if (std::optional<int64_t> difference = constantDifference(lhs, rhs))
    return PrimExprAttr::getInt(
        context, kind == PrimExprKind::Lt ? *difference < 0 : *difference <= 0);
  return rawNode(kind, {lhs, rhs});
}

/// And, Or: a constant operand decides or drops out (any other keeps its value,
/// so the result is taken as a truth value).
static PrimExprAttr foldLogic(PrimExprKind kind, PrimExprAttr lhs,
                              PrimExprAttr rhs) {
  bool isAnd = kind == PrimExprKind::And;
  for (PrimExprAttr operand : {lhs, rhs})
    if (std::optional<int64_t> value = operand.getConstant())
      if ((*value != 0) != isAnd)
        return PrimExprAttr::getInt(lhs.getContext(), !isAnd);
  if (lhs.getConstant() && rhs.getConstant())
    return PrimExprAttr::getInt(lhs.getContext(), isAnd);
  if (compare(lhs, rhs) > 0)
    std::swap(lhs, rhs);
  return rawNode(kind, {lhs, rhs});
}

PrimExprAttr PrimExprAttr::getCall(PrimExprKind kind,
                                   ArrayRef<PrimExprAttr> operands) {
  switch (kind) {
  case PrimExprKind::Min:
  case PrimExprKind::Max:
    return foldMinMax(kind, operands[0], operands[1]);
  case PrimExprKind::Eq:
  case PrimExprKind::Lt:
  case PrimExprKind::Le:
    return foldCompare(kind, operands[0], operands[1]);
  case PrimExprKind::And:
  case PrimExprKind::Or:
    return foldLogic(kind, operands[0], operands[1]);
  case PrimExprKind::Not:
    if (std::optional<int64_t> value = operands[0].getConstant())
      return getInt(operands[0].getContext(), *value == 0);
    return rawNode(kind, operands);
  case PrimExprKind::Select:
    if (std::optional<int64_t> value = operands[0].getConstant())
      return *value != 0 ? operands[1] : operands[2];
    if (operands[1] == operands[2])
      return operands[1];
    return rawNode(kind, operands);
  case PrimExprKind::Add:
    return getAdd(operands[0], operands[1]);
  case PrimExprKind::Mul:
    return getMul(operands[0], operands[1]);
  case PrimExprKind::FloorDiv:
    return getFloorDiv(operands[0], operands[1]);
  case PrimExprKind::Mod:
    return getMod(operands[0], operands[1]);
  case PrimExprKind::Var:
  case PrimExprKind::Int:
    break;
  }
  llvm_unreachable("a leaf is not a call");
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Ternary mlir::relax::proveEqual(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (lhs == rhs)
    return Ternary::Yes;
  if (lhs.getConstant() && rhs.getConstant())
    return Ternary::No;
  std::optional<Polynomial> difference = linear(lhs, rhs, -1);
  if (!difference)
    return Ternary::Unknown;
  if (std::optional<int64_t> constant = difference->getConstant())
    return *constant == 0 ? Ternary::Yes : Ternary::No;
  // 2 * n = 3 has no solution in integers.
  int64_t gcd = difference->gcdOfTerms();
  if (gcd > 1 && difference->constantTerm() % gcd != 0)
    return Ternary::No;
  return Ternary::Unknown;
}

Ternary mlir::relax::proveEqual(ArrayRef<PrimExprAttr> lhs,
                                ArrayRef<PrimExprAttr> rhs) {
  if (lhs.size() != rhs.size())
    return Ternary::No;
  Ternary result = Ternary::Yes;
  for (auto [l, r] : llvm::zip(lhs, rhs))
    result = both(result, proveEqual(l, r));
  return result;
}

void mlir::relax::collectVars(PrimExprAttr expr, llvm::StringSet<> &names) {
  if (expr.isVar())
    names.insert(expr.getName());
  for (PrimExprAttr operand : expr.getOperands())
    collectVars(operand, names);
}

std::optional<StringRef>
mlir::relax::findUnbound(PrimExprAttr expr,
                         llvm::function_ref<bool(StringRef)> isBound) {
  if (expr.isVar() && !isBound(expr.getName()))
    return expr.getName();
  for (PrimExprAttr operand : expr.getOperands())
    if (std::optional<StringRef> name = findUnbound(operand, isBound))
      return name;
  return std::nullopt;
}

PrimExprAttr mlir::relax::substitute(PrimExprAttr expr,
                                     const PrimExprMap &values) {
  if (expr.isVar()) {
    auto it = values.find(expr.getName());
    return it == values.end() ? expr : it->second;
  }
  if (expr.getOperands().empty())
    return expr;
  SmallVector<PrimExprAttr> operands =
      llvm::map_to_vector(expr.getOperands(), [&](PrimExprAttr e) {
        return substitute(e, values);
      });
  if (expr.getKind() != PrimExprKind::Add &&
      expr.getKind() != PrimExprKind::Mul)
    return PrimExprAttr::getCall(expr.getKind(), operands);
  PrimExprAttr result = operands.front();
  for (PrimExprAttr operand : ArrayRef(operands).drop_front())
    result = PrimExprAttr::getCall(expr.getKind(), {result, operand});
  return result;
}

/// One operation on values; none where it is undefined or overflows.
static std::optional<int64_t> apply(PrimExprKind kind, ArrayRef<int64_t> args) {
  int64_t result;
  switch (kind) {
  case PrimExprKind::Add:
    return llvm::AddOverflow(args[0], args[1], result) ? std::nullopt
                                                       : std::optional(result);
  case PrimExprKind::Mul:
    return llvm::MulOverflow(args[0], args[1], result) ? std::nullopt
                                                       : std::optional(result);
  case PrimExprKind::FloorDiv:
    return floorDiv(args[0], args[1]);
  case PrimExprKind::Mod:
    return floorMod(args[0], args[1]);
  case PrimExprKind::Min:
    return std::min(args[0], args[1]);
  case PrimExprKind::Max:
    return std::max(args[0], args[1]);
  case PrimExprKind::Not:
    return args[0] == 0;
  case PrimExprKind::And:
    return args[0] != 0 && args[1] != 0;
  case PrimExprKind::Or:
    return args[0] != 0 || args[1] != 0;
  case PrimExprKind::Eq:
    return args[0] == args[1];
  case PrimExprKind::Lt:
    return args[0] < args[1];
  case PrimExprKind::Le:
    return args[0] <= args[1];
  case PrimExprKind::Select:
  case PrimExprKind::Var:
  case PrimExprKind::Int:
    break;
  }
  llvm_unreachable("not an operation on values");
}

std::optional<int64_t>
mlir::relax::evaluate(PrimExprAttr expr,
                      const llvm::StringMap<int64_t> &values) {
  if (expr.isVar()) {
    auto it = values.find(expr.getName());
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }
  if (std::optional<int64_t> constant = expr.getConstant())
    return constant;
  ArrayRef<PrimExprAttr> operands = expr.getOperands();
  std::optional<int64_t> result = evaluate(operands[0], values);
  if (!result)
    return std::nullopt;
  // Only the branch that is taken has to have a value.
  if (expr.getKind() == PrimExprKind::Select)
    return evaluate(operands[*result != 0 ? 1 : 2], values);
  if (operands.size() == 1)
    return apply(expr.getKind(), {*result});
  for (PrimExprAttr operand : operands.drop_front()) {
    std::optional<int64_t> next = evaluate(operand, values);
    if (!next || !(result = apply(expr.getKind(), {*result, *next})))
      return std::nullopt;
  }
  return result;
}
