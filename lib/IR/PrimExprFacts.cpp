//===- PrimExprFacts.cpp - Facts and ranges -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fact about one variable becomes its bounds; others are kept as relations
// for the Presburger library. Ranges follow from bounds by interval arithmetic.
// Ends are computed in 128 bits, where no operation on ends of 64 bits
// overflows, and those that do not fit afterwards are infinite.
//
//===----------------------------------------------------------------------===//

#include "PrimExprAnalysis.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

void PrimExprFacts::addBounds(StringRef name, std::optional<int64_t> lower,
                              std::optional<int64_t> upper) {
  PrimExprRange &range = bounds[name];
  if (lower && (!range.lower || *range.lower < *lower))
    range.lower = lower;
  if (upper && (!range.upper || *range.upper > *upper))
    range.upper = upper;
  contradictory |= range.isEmpty();
}

PrimExprRange PrimExprFacts::getBounds(StringRef name) const {
  return bounds.lookup(name);
}

/// Records a fact that is constant, or about one variable, as bounds:
/// c * n + d = 0, or c * n + d <= 0.
bool PrimExprFacts::addAsBounds(PrimExprAttr lhs, PrimExprAttr rhs,
                                bool isEquality) {
  std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1);
  if (!difference)
    return false;
  if (std::optional<int64_t> constant = difference->getConstant()) {
    contradictory |= isEquality ? *constant != 0 : *constant > 0;
    return true;
  }
  const auto &[monomial, factor] = *difference->getTerms().begin();
  int64_t offset = difference->constantTerm();
  if (monomial.size() != 1 || !monomial.front().isVar() ||
      difference->getTerms().size() != (offset == 0 ? 1 : 2) ||
      factor == INT64_MIN || offset == INT64_MIN)
    return false;
  StringRef name = monomial.front().getName();
  if (isEquality && offset % factor != 0) {
    contradictory = true;
    return true;
  }
  // n <= floor(-d / c) for positive c, n >= ceil(-d / c) for negative c.
  std::optional<int64_t> lower, upper;
  if (isEquality || factor > 0)
    upper = *floorDiv(-offset, factor);
  if (isEquality || factor < 0)
    lower = -*floorDiv(offset, factor);
  addBounds(name, lower, upper);
  return true;
}

void PrimExprFacts::addRelation(PrimExprAttr lhs, PrimExprAttr rhs,
                                bool isEquality) {
  if (lhs.isTooLarge() || rhs.isTooLarge() || addAsBounds(lhs, rhs, isEquality))
    return;
  if (llvm::any_of(relations, [&](const Relation &known) {
        return known.lhs == lhs && known.rhs == rhs &&
               known.isEquality == isEquality;
      }))
    return;
  llvm::StringSet<> names;
  collectVars(lhs, names);
  collectVars(rhs, names);
  relations.push_back({lhs, rhs, isEquality, {}});
  for (StringRef name : names.keys())
    relations.back().vars.push_back(name.str());
}

void PrimExprFacts::addEqual(PrimExprAttr lhs, PrimExprAttr rhs) {
  addRelation(lhs, rhs, /*isEquality=*/true);
}

void PrimExprFacts::addLessEqual(PrimExprAttr lhs, PrimExprAttr rhs) {
  addRelation(lhs, rhs, /*isEquality=*/false);
}

void PrimExprFacts::addDimension(PrimExprAttr expr) {
  addLessEqual(PrimExprAttr::getInt(expr.getContext(), 0), expr);
}

SmallVector<const PrimExprFacts::Relation *>
PrimExprFacts::getRelevant(ArrayRef<PrimExprAttr> exprs) const {
  llvm::StringSet<> names;
  for (PrimExprAttr expr : exprs)
    collectVars(expr, names);
  SmallVector<const Relation *> result;
  SmallVector<bool> taken(relations.size());
  // Each round adds the relations of variables that the one before reached.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [index, relation] : llvm::enumerate(relations)) {
      if (taken[index] || llvm::none_of(relation.vars, [&](StringRef name) {
            return names.contains(name);
          }))
        continue;
      if (result.size() == kMaxRelations)
        return result;
      result.push_back(&relation);
      taken[index] = changed = true;
      for (StringRef name : relation.vars)
        names.insert(name);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Interval arithmetic
//===----------------------------------------------------------------------===//

namespace {
using Wide = __int128;

/// A range with ends of 128 bits, where kInfinity and its negative are
/// infinite.
struct WideRange {
  Wide lower, upper;
};
constexpr Wide kInfinity = static_cast<Wide>(1) << 126;
constexpr WideRange kAll = {-kInfinity, kInfinity};
constexpr WideRange kTruth = {0, 1};
} // namespace

static WideRange widen(PrimExprRange range) {
  return {range.lower ? *range.lower : -kInfinity,
          range.upper ? *range.upper : kInfinity};
}

/// Ends that do not fit are infinite; a range that is empty, because the
/// expression is never defined, says nothing.
static PrimExprRange narrow(WideRange range) {
  PrimExprRange result;
  if (range.lower > range.upper)
    return result;
  auto fits = [](Wide value) {
    return value >= INT64_MIN && value <= INT64_MAX;
  };
  if (fits(range.lower))
    result.lower = static_cast<int64_t>(range.lower);
  if (fits(range.upper))
    result.upper = static_cast<int64_t>(range.upper);
  return result;
}

static bool isInfinite(Wide end) {
  return end == kInfinity || end == -kInfinity;
}

static WideRange add(WideRange lhs, WideRange rhs) {
  auto sum = [](Wide l, Wide r) {
    return isInfinite(l)   ? l
           : isInfinite(r) ? r
                           : std::clamp(l + r, -kInfinity, kInfinity);
  };
  return {sum(lhs.lower, rhs.lower), sum(lhs.upper, rhs.upper)};
}

static WideRange negate(WideRange range) {
  return {-range.upper, -range.lower};
}

static Wide multiply(Wide lhs, Wide rhs) {
  if (lhs == 0 || rhs == 0)
    return 0;
  if (isInfinite(lhs) || isInfinite(rhs))
    return (lhs < 0) == (rhs < 0) ? kInfinity : -kInfinity;
  return lhs * rhs;
}

/// Floor division by a positive number or infinity.
static Wide divide(Wide lhs, Wide rhs) {
  if (isInfinite(lhs))
    return lhs;
  if (isInfinite(rhs))
    return lhs < 0 ? -1 : 0;
  Wide quotient = lhs / rhs;
  return lhs % rhs < 0 ? quotient - 1 : quotient;
}

/// The hull of an operation on the ends of two ranges; of one that is monotone
/// in each operand, it is the range of its values.
static WideRange corners(WideRange lhs, WideRange rhs, Wide (*op)(Wide, Wide)) {
  auto [lower, upper] =
      std::minmax({op(lhs.lower, rhs.lower), op(lhs.lower, rhs.upper),
                   op(lhs.upper, rhs.lower), op(lhs.upper, rhs.upper)});
  return {lower, upper};
}

/// The greatest absolute value in a range.
static Wide magnitude(WideRange range) {
  return std::max(range.upper, -range.lower);
}

static WideRange floorDivRange(WideRange lhs, WideRange rhs) {
  if (rhs.lower < 0 && rhs.upper <= 0)
    return floorDivRange(negate(lhs), negate(rhs));
  if (rhs.lower < 0)
    return {-magnitude(lhs), magnitude(lhs)};
  if (rhs.upper == 0)
    return kAll;
  rhs.lower = std::max<Wide>(rhs.lower, 1); // by 0 it is not defined
  return corners(lhs, rhs, divide);
}

static WideRange modRange(WideRange lhs, WideRange rhs) {
  if (rhs.lower < 0 && rhs.upper <= 0)
    return negate(modRange(negate(lhs), negate(rhs)));
  Wide last = isInfinite(magnitude(rhs)) ? kInfinity : magnitude(rhs) - 1;
  if (rhs.lower < 0)
    return {-last, last};
  if (lhs.lower >= 0 && lhs.upper < rhs.lower)
    return lhs;
  return {0, lhs.lower >= 0 ? std::min(last, lhs.upper) : last};
}

static WideRange hull(WideRange lhs, WideRange rhs) {
  return {std::min(lhs.lower, rhs.lower), std::max(lhs.upper, rhs.upper)};
}

Ternary mlir::relax::truthOf(PrimExprRange range) {
  if (!range.contains(0))
    return Ternary::Yes;
  return range.getConstant() ? Ternary::No : Ternary::Unknown;
}

static WideRange truthRange(Ternary truth) {
  if (truth == Ternary::Unknown)
    return kTruth;
  Wide value = truth == Ternary::Yes;
  return {value, value};
}

static Ternary negation(Ternary truth) {
  return truth == Ternary::Yes  ? Ternary::No
         : truth == Ternary::No ? Ternary::Yes
                                : Ternary::Unknown;
}

/// Eq, Lt, Le of values in two ranges.
static Ternary compareRanges(PrimExprKind kind, WideRange lhs, WideRange rhs) {
  if (kind == PrimExprKind::Eq) {
    if (lhs.upper < rhs.lower || rhs.upper < lhs.lower)
      return Ternary::No;
    return lhs.lower == lhs.upper && rhs.lower == rhs.upper ? Ternary::Yes
                                                            : Ternary::Unknown;
  }
  if (kind == PrimExprKind::Lt)
    return negation(compareRanges(PrimExprKind::Le, rhs, lhs));
  if (lhs.upper <= rhs.lower)
    return Ternary::Yes;
  return lhs.lower > rhs.upper ? Ternary::No : Ternary::Unknown;
}

//===----------------------------------------------------------------------===//
// Ranges of expressions
//===----------------------------------------------------------------------===//

PrimExprRange RangeAnalysis::of(PrimExprAttr expr) {
  auto it = known.find(expr);
  if (it != known.end())
    return it->second;
  PrimExprRange range = expr.isTooLarge() ? PrimExprRange() : compute(expr);
  return known[expr] = range;
}

PrimExprRange RangeAnalysis::of(const Monomial &monomial) {
  WideRange result = {1, 1};
  for (size_t i = 0, next; i < monomial.size(); i = next) {
    WideRange range = widen(of(monomial[i])), power = range;
    for (next = i + 1; next < monomial.size() && monomial[next] == monomial[i];
         ++next)
      power = widen(narrow(corners(power, range, multiply)));
    if ((next - i) % 2 == 0) // a square is not negative
      power.lower = std::max<Wide>(power.lower, 0);
    result = widen(narrow(corners(result, power, multiply)));
  }
  return narrow(result);
}

PrimExprRange RangeAnalysis::of(const Polynomial &polynomial) {
  WideRange sum = {0, 0};
  for (const auto &[monomial, coefficient] : polynomial.getTerms())
    sum = add(sum, corners(widen(of(monomial)), {coefficient, coefficient},
                           multiply));
  return narrow(sum);
}

PrimExprRange RangeAnalysis::compute(PrimExprAttr expr) {
  switch (expr.getKind()) {
  case PrimExprKind::Var:
    return facts.getBounds(expr.getName());
  case PrimExprKind::Int:
    return PrimExprRange::of(expr.getValue());
  case PrimExprKind::Add:
  case PrimExprKind::Mul:
    if (std::optional<Polynomial> polynomial = Polynomial::of(expr))
      return of(*polynomial);
    return {};
  case PrimExprKind::Select: {
    Ternary condition = truthOf(of(expr.getOperands()[0]));
    if (condition != Ternary::Unknown)
      return of(expr.getOperands()[condition == Ternary::Yes ? 1 : 2]);
    return narrow(hull(widen(of(expr.getOperands()[1])),
                       widen(of(expr.getOperands()[2]))));
  }
  case PrimExprKind::Not:
    return narrow(truthRange(negation(truthOf(of(expr.getOperands()[0])))));
  default:
    return ofCall(expr);
  }
}

/// The operations on two operands but sums and products.
PrimExprRange RangeAnalysis::ofCall(PrimExprAttr expr) {
  PrimExprRange left = of(expr.getOperands()[0]);
  PrimExprRange right = of(expr.getOperands()[1]);
  WideRange lhs = widen(left), rhs = widen(right);
  switch (PrimExprKind kind = expr.getKind()) {
  case PrimExprKind::FloorDiv:
    return narrow(floorDivRange(lhs, rhs));
  case PrimExprKind::Mod:
    return narrow(modRange(lhs, rhs));
  case PrimExprKind::Min:
    return narrow(
        {std::min(lhs.lower, rhs.lower), std::min(lhs.upper, rhs.upper)});
  case PrimExprKind::Max:
    return narrow(
        {std::max(lhs.lower, rhs.lower), std::max(lhs.upper, rhs.upper)});
  case PrimExprKind::And:
    return narrow(truthRange(both(truthOf(left), truthOf(right))));
  case PrimExprKind::Or:
    return narrow(truthRange(
        negation(both(negation(truthOf(left)), negation(truthOf(right))))));
  case PrimExprKind::Eq:
  case PrimExprKind::Lt:
  case PrimExprKind::Le:
    return narrow(truthRange(compareRanges(kind, lhs, rhs)));
  default:
    llvm_unreachable("handled by compute");
  }
}

PrimExprRange mlir::relax::getRange(PrimExprAttr expr,
                                    const PrimExprFacts &facts) {
  if (facts.isContradictory())
    return {};
  return RangeAnalysis(facts).of(expr);
}

//===----------------------------------------------------------------------===//
// Facts of a place
//===----------------------------------------------------------------------===//

static thread_local const PrimExprFacts *currentFacts = nullptr;

FactsScope::FactsScope(const PrimExprFacts &facts) : outer(currentFacts) {
  currentFacts = &facts;
}

FactsScope::~FactsScope() { currentFacts = outer; }

const PrimExprFacts &FactsScope::current() {
  static const PrimExprFacts none;
  return currentFacts ? *currentFacts : none;
}

DimensionProver::DimensionProver(ArrayRef<PrimExprAttr> dims,
                                 ArrayRef<PrimExprAttr> moreDims)
    : dims(dims) {
  llvm::append_range(this->dims, moreDims);
}

const PrimExprFacts &DimensionProver::getFacts() {
  if (!facts) {
    facts = FactsScope::current();
    for (PrimExprAttr dim : dims)
      facts->addDimension(dim);
  }
  return *facts;
}

Ternary DimensionProver::proveEqual(PrimExprAttr lhs, PrimExprAttr rhs) {
  Ternary equal = mlir::relax::proveEqual(lhs, rhs);
  return equal == Ternary::Unknown
             ? mlir::relax::proveEqual(lhs, rhs, getFacts())
             : equal;
}

Ternary DimensionProver::proveEqual(ArrayRef<PrimExprAttr> lhs,
                                    ArrayRef<PrimExprAttr> rhs) {
  // One pair that the normal form decides may settle all.
  Ternary equal = mlir::relax::proveEqual(lhs, rhs);
  return equal == Ternary::Unknown
             ? mlir::relax::proveEqual(lhs, rhs, getFacts())
             : equal;
}

Ternary DimensionProver::proveEqual(PrimExprAttr expr, int64_t value) {
  return proveEqual(expr, PrimExprAttr::getInt(expr.getContext(), value));
}

PrimExprRange DimensionProver::getRange(PrimExprAttr expr) {
  return mlir::relax::getRange(expr, getFacts());
}
