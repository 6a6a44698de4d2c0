//===- PrimExprSimplify.cpp - Simpler expressions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simplification from the leaves up, under known facts. A rule keeps the value
// wherever what it replaces is defined; the divisor is not 0 there.
//
// Where a rule needs to know how two expressions compare, ranges are asked
// first, then the Presburger library, a limited number of times.
//
//===----------------------------------------------------------------------===//

#include "PrimExprAnalysis.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::relax;

namespace {
constexpr unsigned kMaxProofs = 8;
constexpr size_t kMaxMinMaxOperands = 8;

class Simplifier {
public:
  Simplifier(const PrimExprFacts &facts, MLIRContext *context, bool withProofs)
      : facts(facts), ranges(facts), context(context),
        proofsLeft(withProofs ? kMaxProofs : 0) {}

  PrimExprAttr of(PrimExprAttr expr);

private:
  PrimExprAttr combine(PrimExprKind kind, ArrayRef<PrimExprAttr> operands);
  PrimExprAttr sum(ArrayRef<PrimExprAttr> terms);
  PrimExprAttr floorDivision(PrimExprAttr lhs, PrimExprAttr rhs);
  PrimExprAttr divideByConstant(PrimExprAttr dividend, int64_t divisor);
  PrimExprAttr divideRest(const Polynomial &rest, int64_t divisor);
  PrimExprAttr remainder(PrimExprAttr lhs, PrimExprAttr rhs);
  PrimExprAttr remainderByConstant(PrimExprAttr dividend, int64_t divisor);
  PrimExprAttr minMax(PrimExprKind kind, PrimExprAttr lhs, PrimExprAttr rhs);
  PrimExprAttr select(PrimExprAttr condition, PrimExprAttr yes,
                      PrimExprAttr no);
  PrimExprAttr negation(PrimExprAttr operand);
  PrimExprAttr logic(PrimExprKind kind, PrimExprAttr lhs, PrimExprAttr rhs);
  PrimExprAttr comparison(PrimExprKind kind, PrimExprAttr lhs,
                          PrimExprAttr rhs);

  Ternary isEqual(PrimExprAttr lhs, PrimExprAttr rhs);
  Ternary isLessEqual(PrimExprAttr lhs, PrimExprAttr rhs);
  /// Whether 0 <= lhs < rhs.
  bool isBelow(PrimExprAttr lhs, PrimExprAttr rhs);
  bool isTruthValue(PrimExprAttr expr);
  PrimExprAttr number(int64_t value) {
    return PrimExprAttr::getInt(context, value);
  }

  const PrimExprFacts &facts;
  RangeAnalysis ranges;
  MLIRContext *context;
  unsigned proofsLeft;
  DenseMap<PrimExprAttr, PrimExprAttr> done;
};
} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Ternary Simplifier::isEqual(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (proofsLeft == 0)
    return proveEqual(lhs, rhs);
  --proofsLeft;
  return proveEqualOnce(lhs, rhs, facts);
}

Ternary Simplifier::isLessEqual(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1)) {
    PrimExprRange range = ranges.of(*difference);
    if (range.upper.value_or(1) <= 0)
      return Ternary::Yes;
    if (range.lower.value_or(0) > 0)
      return Ternary::No;
  }
  if (proofsLeft == 0)
    return Ternary::Unknown;
  --proofsLeft;
  return proveLessEqualOnce(lhs, rhs, facts);
}

bool Simplifier::isBelow(PrimExprAttr lhs, PrimExprAttr rhs) {
  return isLessEqual(number(0), lhs) == Ternary::Yes &&
         isLessEqual(PrimExprAttr::getAdd(lhs, number(1)), rhs) == Ternary::Yes;
}

bool Simplifier::isTruthValue(PrimExprAttr expr) {
  PrimExprRange range = ranges.of(expr);
  return range.lower.value_or(-1) >= 0 && range.upper.value_or(2) <= 1;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Puts quotients and remainders together: x floordiv y * y + x mod y = x.
PrimExprAttr Simplifier::sum(ArrayRef<PrimExprAttr> terms) {
  PrimExprAttr result = rebuild(PrimExprKind::Add, terms);
  std::optional<Polynomial> polynomial = Polynomial::of(result);
  if (!polynomial)
    return result;
  const Polynomial whole = *polynomial;
  for (const auto &[monomial, coefficient] : whole.getTerms()) {
    if (monomial.size() != 1 || monomial.front().getKind() != PrimExprKind::Mod)
      continue;
    PrimExprAttr x = monomial.front().getOperands()[0];
    PrimExprAttr y = monomial.front().getOperands()[1];
    PrimExprAttr multiple = PrimExprAttr::getMul(floorDivision(x, y), y);
    std::optional<Polynomial> difference = Polynomial::linear(x, multiple, -1);
    Polynomial merged = *polynomial;
    if (difference && difference->addTerm(monomial, -1) &&
        merged.add(*difference, coefficient) &&
        merged.getTerms().size() < polynomial->getTerms().size())
      polynomial = merged;
  }
  return polynomial->build(context);
}

//===----------------------------------------------------------------------===//
// Divisions
//===----------------------------------------------------------------------===//

/// The rest of a monomial that contains all atoms of another one.
static std::optional<Monomial> divideMonomial(const Monomial &monomial,
                                              const Monomial &divisor) {
  Monomial rest;
  size_t next = 0;
  for (PrimExprAttr atom : monomial) {
    if (next < divisor.size() && atom == divisor[next])
      ++next;
    else
      rest.push_back(atom);
  }
  if (next != divisor.size())
    return std::nullopt;
  return rest;
}

/// Splits `dividend` into divisor * quotient + rest, term by term, where the
/// divisor is one product.
static bool divideByProduct(PrimExprAttr dividend, PrimExprAttr divisor,
                            Polynomial &quotient, Polynomial &rest) {
  std::optional<Polynomial> x = Polynomial::of(dividend);
  std::optional<Polynomial> y = Polynomial::of(divisor);
  if (!x || !y || y->getTerms().size() != 1)
    return false;
  const auto &[product, factor] = *y->getTerms().begin();
  for (const auto &[monomial, coefficient] : x->getTerms()) {
    std::optional<Monomial> left = divideMonomial(monomial, product);
    std::optional<int64_t> count = floorDiv(coefficient, factor);
    if (left && count && *floorMod(coefficient, factor) == 0)
      quotient.addTerm(*left, *count);
    else
      rest.addTerm(monomial, coefficient);
  }
  return true;
}

PrimExprAttr Simplifier::floorDivision(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (std::optional<int64_t> divisor = rhs.getConstant())
    return *divisor > 0 ? divideByConstant(lhs, *divisor)
                        : PrimExprAttr::getFloorDiv(lhs, rhs);
  if (lhs == rhs)
    return number(1);
  if (lhs.getConstant() == 0)
    return lhs;
  Polynomial quotient, rest;
  if (divideByProduct(lhs, rhs, quotient, rest) && !quotient.getTerms().empty())
    return PrimExprAttr::getAdd(quotient.build(context),
                                floorDivision(rest.build(context), rhs));
  if (isBelow(lhs, rhs))
    return number(0);
  return PrimExprAttr::getFloorDiv(lhs, rhs);
}

/// Takes multiples of the divisor out of the coefficients.
PrimExprAttr Simplifier::divideByConstant(PrimExprAttr dividend,
                                          int64_t divisor) {
  std::optional<Polynomial> polynomial = Polynomial::of(dividend);
  if (!polynomial)
    return PrimExprAttr::getFloorDiv(dividend, number(divisor));
  Polynomial quotient, rest;
  for (const auto &[monomial, coefficient] : polynomial->getTerms()) {
    // The constant of the rest is not negative; coefficients keep their sign.
    bool isConstant = monomial.empty();
    int64_t count =
        isConstant ? *floorDiv(coefficient, divisor) : coefficient / divisor;
    int64_t left =
        isConstant ? *floorMod(coefficient, divisor) : coefficient % divisor;
    if (count != 0)
      quotient.addTerm(monomial, count);
    if (left != 0)
      rest.addTerm(monomial, left);
  }
  PrimExprAttr last = divideRest(rest, divisor);
  return PrimExprAttr::getAdd(quotient.build(context), last);
}

/// The quotient of a dividend with coefficients smaller than the divisor.
PrimExprAttr Simplifier::divideRest(const Polynomial &rest, int64_t divisor) {
  // All values in one block of the divisor have the same quotient.
  PrimExprRange range = ranges.of(rest);
  if (range.lower && range.upper) {
    int64_t first = *floorDiv(*range.lower, divisor);
    if (first == *floorDiv(*range.upper, divisor))
      return number(first);
  }
  // (g * x + c) floordiv (g * d) = (x + c floordiv g) floordiv d
  if (int64_t gcd = std::gcd(rest.gcdOfTerms(), divisor); gcd > 1) {
    Polynomial smaller;
    for (const auto &[monomial, coefficient] : rest.getTerms())
      if (int64_t part = *floorDiv(coefficient, gcd))
        smaller.addTerm(monomial, part);
    return divideByConstant(smaller.build(context), divisor / gcd);
  }
  // (x floordiv a + c) floordiv d = (x + a * c) floordiv (a * d)
  const auto &[monomial, coefficient] = *rest.getTerms().begin();
  int64_t constant = rest.constantTerm(), product;
  bool isShifted = rest.getTerms().size() == (constant == 0 ? 1 : 2);
  if (isShifted && coefficient == 1 && monomial.size() == 1 &&
      monomial.front().getKind() == PrimExprKind::FloorDiv) {
    ArrayRef<PrimExprAttr> inner = monomial.front().getOperands();
    int64_t divided = inner[1].getConstant().value_or(0);
    if (divided > 0 && !llvm::MulOverflow(divided, divisor, product))
      return divideByConstant(
          PrimExprAttr::getAdd(
              inner[0], PrimExprAttr::getMul(number(constant), inner[1])),
          product);
  }
  return PrimExprAttr::getFloorDiv(rest.build(context), number(divisor));
}

PrimExprAttr Simplifier::remainder(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (std::optional<int64_t> divisor = rhs.getConstant())
    return *divisor > 0 ? remainderByConstant(lhs, *divisor)
                        : PrimExprAttr::getMod(lhs, rhs);
  if (lhs == rhs || lhs.getConstant() == 0)
    return number(0);
  Polynomial quotient, rest;
  if (divideByProduct(lhs, rhs, quotient, rest) && !quotient.getTerms().empty())
    return remainder(rest.build(context), rhs);
  if (isBelow(lhs, rhs))
    return lhs;
  return PrimExprAttr::getMod(lhs, rhs);
}

/// The dividend without what is a multiple of the divisor: parts of the
/// coefficients, and what an inner remainder takes away.
static std::optional<Polynomial> reduce(const Polynomial &dividend,
                                        int64_t divisor) {
  Polynomial result;
  for (const auto &[monomial, coefficient] : dividend.getTerms()) {
    int64_t rest = monomial.empty() ? *floorMod(coefficient, divisor)
                                    : coefficient % divisor;
    PrimExprAttr inner = monomial.size() == 1 ? monomial.front() : nullptr;
    int64_t removed = 0;
    bool isMultiple = inner && inner.getKind() == PrimExprKind::Mod &&
                      inner.getOperands()[1].getConstant().value_or(0) != 0 &&
                      !llvm::MulOverflow(*inner.getOperands()[1].getConstant(),
                                         rest, removed) &&
                      removed % divisor == 0;
    if (isMultiple) {
      std::optional<Polynomial> whole = Polynomial::of(inner.getOperands()[0]);
      if (!whole || !result.add(*whole, rest))
        return std::nullopt;
    } else if (rest != 0 && !result.addTerm(monomial, rest)) {
      return std::nullopt;
    }
  }
  return result;
}

PrimExprAttr Simplifier::remainderByConstant(PrimExprAttr dividend,
                                             int64_t divisor) {
  std::optional<Polynomial> polynomial = Polynomial::of(dividend);
  std::optional<Polynomial> rest =
      polynomial ? reduce(*polynomial, divisor) : std::nullopt;
  if (!rest)
    return PrimExprAttr::getMod(dividend, number(divisor));
  PrimExprRange range = ranges.of(*rest);
  if (range.lower && range.upper) {
    int64_t block = *floorDiv(*range.lower, divisor), offset;
    if (block == *floorDiv(*range.upper, divisor) &&
        !llvm::MulOverflow(block, divisor, offset))
      return PrimExprAttr::getSub(rest->build(context), number(offset));
  }
  // (g * x) mod (g * d) = g * (x mod d)
  int64_t gcd =
      std::gcd(std::gcd(rest->gcdOfTerms(), divisor), rest->constantTerm());
  if (gcd <= 1)
    return PrimExprAttr::getMod(rest->build(context), number(divisor));
  Polynomial smaller;
  for (const auto &[monomial, coefficient] : rest->getTerms())
    smaller.addTerm(monomial, coefficient / gcd);
  return PrimExprAttr::getMul(
      remainderByConstant(smaller.build(context), divisor / gcd), number(gcd));
}

//===----------------------------------------------------------------------===//
// Minima and maxima
//===----------------------------------------------------------------------===//

/// The operands of nested minima or maxima, each once, in order.
static SmallVector<PrimExprAttr> flatten(PrimExprKind kind, PrimExprAttr lhs,
                                         PrimExprAttr rhs) {
  SmallVector<PrimExprAttr> result, open = {lhs, rhs};
  while (!open.empty()) {
    PrimExprAttr next = open.pop_back_val();
    if (next.getKind() == kind)
      open.append(next.getOperands().begin(), next.getOperands().end());
    else
      result.push_back(next);
  }
  llvm::sort(result,
             [](PrimExprAttr l, PrimExprAttr r) { return compare(l, r) < 0; });
  result.erase(llvm::unique(result), result.end());
  return result;
}

/// Drops each operand that another one is always at most, or at least.
PrimExprAttr Simplifier::minMax(PrimExprKind kind, PrimExprAttr lhs,
                                PrimExprAttr rhs) {
  SmallVector<PrimExprAttr> operands = flatten(kind, lhs, rhs);
  if (operands.size() > kMaxMinMaxOperands)
    return PrimExprAttr::getCall(kind, {lhs, rhs});
  auto isDropped = [&](PrimExprAttr operand) {
    return llvm::any_of(operands, [&](PrimExprAttr other) {
      if (other == operand)
        return false;
      Ternary answer = kind == PrimExprKind::Min ? isLessEqual(other, operand)
                                                 : isLessEqual(operand, other);
      return answer == Ternary::Yes;
    });
  };
  for (size_t i = 0; i < operands.size();) {
    if (isDropped(operands[i]))
      operands.erase(operands.begin() + i);
    else
      ++i;
  }
  PrimExprAttr result = operands.front();
  for (PrimExprAttr operand : ArrayRef(operands).drop_front())
    result = PrimExprAttr::getCall(kind, {result, operand});
  return result;
}

//===----------------------------------------------------------------------===//
// Truth
//===----------------------------------------------------------------------===//

PrimExprAttr Simplifier::comparison(PrimExprKind kind, PrimExprAttr lhs,
                                    PrimExprAttr rhs) {
  Ternary answer;
  if (kind == PrimExprKind::Eq)
    answer = isEqual(lhs, rhs);
  else if (kind == PrimExprKind::Le)
    answer = isLessEqual(lhs, rhs);
  else
    answer = isLessEqual(PrimExprAttr::getAdd(lhs, number(1)), rhs);
  if (answer != Ternary::Unknown)
    return number(answer == Ternary::Yes);
  return PrimExprAttr::getCall(kind, {lhs, rhs});
}

PrimExprAttr Simplifier::negation(PrimExprAttr operand) {
  ArrayRef<PrimExprAttr> inner = operand.getOperands();
  if (operand.getKind() == PrimExprKind::Lt)
    return PrimExprAttr::getCall(PrimExprKind::Le, {inner[1], inner[0]});
  if (operand.getKind() == PrimExprKind::Le)
    return PrimExprAttr::getCall(PrimExprKind::Lt, {inner[1], inner[0]});
  if (operand.getKind() == PrimExprKind::Not && isTruthValue(inner[0]))
    return inner[0];
  return PrimExprAttr::getCall(PrimExprKind::Not, operand);
}

/// And, Or: an operand whose truth is known decides or drops out.
PrimExprAttr Simplifier::logic(PrimExprKind kind, PrimExprAttr lhs,
                               PrimExprAttr rhs) {
  Ternary decisive = kind == PrimExprKind::And ? Ternary::No : Ternary::Yes;
  for (auto [operand, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)}) {
    Ternary truth = truthOf(ranges.of(operand));
    if (truth == decisive)
      return number(truth == Ternary::Yes);
    bool dropsOut = truth != Ternary::Unknown || operand == other;
    if (dropsOut && isTruthValue(other))
      return other;
  }
  return PrimExprAttr::getCall(kind, {lhs, rhs});
}

PrimExprAttr Simplifier::select(PrimExprAttr condition, PrimExprAttr yes,
                                PrimExprAttr no) {
  if (condition.getKind() == PrimExprKind::Not)
    return select(condition.getOperands()[0], no, yes);
  if (yes.getConstant() == 1 && no.getConstant() == 0 &&
      isTruthValue(condition))
    return condition;
  if (yes.getConstant() == 0 && no.getConstant() == 1)
    return negation(condition);
  // Both operands of the comparison are evaluated in any case.
  if (condition.getKind() == PrimExprKind::Lt ||
      condition.getKind() == PrimExprKind::Le) {
    PrimExprAttr smaller = condition.getOperands()[0];
    PrimExprAttr larger = condition.getOperands()[1];
    if (yes == smaller && no == larger)
      return minMax(PrimExprKind::Min, yes, no);
    if (yes == larger && no == smaller)
      return minMax(PrimExprKind::Max, yes, no);
  }
  return PrimExprAttr::getCall(PrimExprKind::Select, {condition, yes, no});
}

//===----------------------------------------------------------------------===//
// All kinds
//===----------------------------------------------------------------------===//

PrimExprAttr Simplifier::combine(PrimExprKind kind,
                                 ArrayRef<PrimExprAttr> operands) {
  switch (kind) {
  case PrimExprKind::Add:
    return sum(operands);
  case PrimExprKind::FloorDiv:
    return floorDivision(operands[0], operands[1]);
  case PrimExprKind::Mod:
    return remainder(operands[0], operands[1]);
  case PrimExprKind::Min:
  case PrimExprKind::Max:
    return minMax(kind, operands[0], operands[1]);
  case PrimExprKind::Select:
    return select(operands[0], operands[1], operands[2]);
  case PrimExprKind::Not:
    return negation(operands[0]);
  case PrimExprKind::And:
  case PrimExprKind::Or:
    return logic(kind, operands[0], operands[1]);
  case PrimExprKind::Eq:
  case PrimExprKind::Lt:
  case PrimExprKind::Le:
    return comparison(kind, operands[0], operands[1]);
  case PrimExprKind::Mul:
  case PrimExprKind::Var:
  case PrimExprKind::Int:
    break;
  }
  return rebuild(kind, operands);
}

PrimExprAttr Simplifier::of(PrimExprAttr expr) {
  if (PrimExprAttr known = done.lookup(expr))
    return known;
  PrimExprAttr result = expr;
  if (expr.getKind() == PrimExprKind::Select) {
    // Only the branch that is taken counts, if it is known.
    PrimExprAttr condition = of(expr.getOperands()[0]);
    Ternary truth = truthOf(ranges.of(condition));
    if (truth != Ternary::Unknown)
      return done[expr] = of(expr.getOperands()[truth == Ternary::Yes ? 1 : 2]);
  }
  if (!expr.getOperands().empty())
    result =
        combine(expr.getKind(),
                llvm::map_to_vector(expr.getOperands(),
                                    [&](PrimExprAttr e) { return of(e); }));
  if (std::optional<int64_t> value = ranges.of(result).getConstant())
    result = number(*value);
  return done[expr] = result;
}

static PrimExprAttr simplifyWith(PrimExprAttr expr, const PrimExprFacts &facts,
                                 bool withProofs) {
  if (facts.isContradictory() || expr.isTooLarge())
    return expr;
  PrimExprAttr result =
      Simplifier(facts, expr.getContext(), withProofs).of(expr);
  return result.isTooLarge() ? expr : result;
}

PrimExprAttr mlir::relax::simplify(PrimExprAttr expr,
                                   const PrimExprFacts &facts) {
  return simplifyWith(expr, facts, /*withProofs=*/true);
}

PrimExprAttr mlir::relax::simplifyByRanges(PrimExprAttr expr,
                                           const PrimExprFacts &facts) {
  return simplifyWith(expr, facts, /*withProofs=*/false);
}
