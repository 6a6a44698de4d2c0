//===- PrimExprProver.cpp - Proofs about dimensions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A question is answered by the normal form, by ranges, or by the Presburger
// library, in this order. For the last one, expressions become affine forms:
//
// - Quotients by constants become columns with their definition; a remainder is
//   what its quotient leaves.
// - Minima, maxima, truth values and choices are split into cases, one system
// of
//   constraints for each combination. Where these are too many, they are
//   columns within their bounds, as one system.
// - Everything else, such as n * m, is a column within its range.
//
// An expression that is never evaluated, because another branch is taken, may
// be undefined. Its column can have any value then, so nothing is concluded
// from it: the constraints of a column can be satisfied whatever the other
// columns are.
//
// Systems, the numbers in them, and their count are limited. Beyond that, facts
// are not split into cases, then left out; then a question stays open.
//
//===----------------------------------------------------------------------===//

#include "PrimExprAnalysis.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::relax;
using namespace mlir::presburger;

namespace {
constexpr unsigned kMaxColumns = 24;
constexpr unsigned kMaxRows = 96;
constexpr unsigned kMaxCases = 32;
/// Up to these an integer solution is searched for, not only a rational one.
constexpr unsigned kMaxExactColumns = 8;
constexpr int64_t kMaxExactCoefficient = 1 << 16;

/// A sum of columns with coefficients, and a constant. Operations return false
/// where they overflow.
struct AffineForm {
  std::map<unsigned, int64_t> coefficients;
  int64_t constant = 0;

  static AffineForm of(int64_t value) { return {{}, value}; }
  static AffineForm column(unsigned index) { return {{{index, 1}}, 0}; }

  bool add(const AffineForm &other, int64_t factor) {
    int64_t scaled;
    if (llvm::MulOverflow(other.constant, factor, scaled) ||
        llvm::AddOverflow(constant, scaled, constant))
      return false;
    for (auto [index, coefficient] : other.coefficients) {
      int64_t &slot = coefficients[index];
      if (llvm::MulOverflow(coefficient, factor, scaled) ||
          llvm::AddOverflow(slot, scaled, slot))
        return false;
      if (slot == 0)
        coefficients.erase(index);
    }
    return true;
  }
};
using MaybeForm = std::optional<AffineForm>;

/// The decisions of one combination of cases, and the step to the next one.
class Cases {
public:
  /// The case to take of `count`, at a place that asks.
  unsigned choose(unsigned count) {
    if (position == decisions.size())
      decisions.push_back({0, count});
    return decisions[position++].taken;
  }

  /// Goes on to the next combination; false where there is none.
  bool advance() {
    position = 0;
    while (!decisions.empty() &&
           decisions.back().taken + 1 == decisions.back().count)
      decisions.pop_back();
    if (decisions.empty())
      return false;
    ++decisions.back().taken;
    return true;
  }

  /// A lower bound of the number of combinations after this one.
  size_t countLeft() const {
    size_t result = 0;
    for (const Decision &decision : decisions)
      result += decision.count - 1 - decision.taken;
    return result;
  }

private:
  struct Decision {
    unsigned taken, count;
  };
  SmallVector<Decision> decisions;
  size_t position = 0;
};

/// A system of constraints over columns, for one combination of cases.
class System {
public:
  /// Without `cases` nothing is split.
  System(RangeAnalysis &ranges, Cases *cases) : ranges(ranges), cases(cases) {}

  /// Requires that two expressions compare like this. False where they have no
  /// affine form.
  bool require(PrimExprAttr lhs, PrimExprAttr rhs, PrimExprOrder order);
  void require(const PrimExprFacts::Relation &relation);
  bool hasSolution() const;
  /// Has what is required from here on add no cases.
  void stopSplitting() { cases = nullptr; }
  bool isTooLarge() const {
    return numColumns > kMaxColumns || rows.size() > kMaxRows;
  }
  /// Whether there are cases to distinguish that were not distinguished.
  bool isSimplified() const { return simplified; }

private:
  MaybeForm formOf(PrimExprAttr expr);
  MaybeForm formOf(const Polynomial &polynomial);
  MaybeForm formOfProduct(const Monomial &monomial);
  MaybeForm formOfAtom(PrimExprAttr atom);
  MaybeForm computeAtom(PrimExprAttr atom);
  MaybeForm quotient(PrimExprAttr dividend, int64_t divisor);
  MaybeForm remainder(PrimExprAttr dividend, int64_t divisor);
  AffineForm division(PrimExprAttr atom);
  MaybeForm minMax(PrimExprAttr atom);
  MaybeForm choice(PrimExprAttr atom);
  AffineForm columnFor(PrimExprAttr expr, PrimExprRange range);
  /// The column of what is only split into cases.
  AffineForm unsplit(PrimExprAttr atom);
  AffineForm newColumn() { return AffineForm::column(numColumns++); }

  /// The truth of `condition` in this case, required from here on; none where
  /// it has no affine form.
  std::optional<bool> decide(PrimExprAttr condition);
  bool assume(PrimExprAttr condition, bool truth);
  bool assumeNumber(PrimExprAttr number, bool truth);

  /// Requires lhs - rhs >= offset, or = offset.
  bool addRow(const AffineForm &lhs, const AffineForm &rhs, int64_t offset,
              bool isEquality = false);
  bool addOrder(const AffineForm &lhs, const AffineForm &rhs,
                PrimExprOrder order);

  struct Row {
    AffineForm form;
    bool isEquality;
  };
  RangeAnalysis &ranges;
  Cases *cases;
  SmallVector<Row> rows;
  unsigned numColumns = 0;
  bool simplified = false;
  DenseMap<PrimExprAttr, AffineForm> forms;
  DenseMap<PrimExprAttr, bool> truths;
  std::map<std::pair<const void *, int64_t>, MaybeForm> quotients;
};
} // namespace

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

bool System::addRow(const AffineForm &lhs, const AffineForm &rhs,
                    int64_t offset, bool isEquality) {
  AffineForm form = lhs;
  if (!form.add(rhs, -1) || !form.add(AffineForm::of(offset), -1))
    return false;
  rows.push_back({std::move(form), isEquality});
  return true;
}

bool System::addOrder(const AffineForm &lhs, const AffineForm &rhs,
                      PrimExprOrder order) {
  switch (order) {
  case PrimExprOrder::Less:
    return addRow(rhs, lhs, 1);
  case PrimExprOrder::Equal:
    return addRow(lhs, rhs, 0, /*isEquality=*/true);
  case PrimExprOrder::Greater:
    return addRow(lhs, rhs, 1);
  }
  llvm_unreachable("all orders are covered");
}

bool System::require(PrimExprAttr lhs, PrimExprAttr rhs, PrimExprOrder order) {
  // Common terms cancel, whether they have an affine form or not.
  std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1);
  MaybeForm form = difference ? formOf(*difference) : std::nullopt;
  return form && addOrder(*form, AffineForm::of(0), order);
}

void System::require(const PrimExprFacts::Relation &relation) {
  std::optional<Polynomial> difference =
      Polynomial::linear(relation.lhs, relation.rhs, -1);
  MaybeForm form = difference ? formOf(*difference) : std::nullopt;
  // Without a form the fact is left out, as if it were not known.
  if (!form)
    return;
  if (relation.isEquality)
    addRow(*form, AffineForm::of(0), 0, /*isEquality=*/true);
  else
    addRow(AffineForm::of(0), *form, 0);
}

/// Whether a search for an integer solution is affordable.
static bool isSmall(const IntegerRelation &set) {
  if (set.getNumVars() > kMaxExactColumns)
    return false;
  auto isSmallRow = [](ArrayRef<DynamicAPInt> row) {
    return llvm::all_of(row.drop_back(), [](const DynamicAPInt &value) {
      return abs(value) <= kMaxExactCoefficient;
    });
  };
  for (unsigned i = 0; i < set.getNumEqualities(); ++i)
    if (!isSmallRow(set.getEquality(i)))
      return false;
  for (unsigned i = 0; i < set.getNumInequalities(); ++i)
    if (!isSmallRow(set.getInequality(i)))
      return false;
  return true;
}

bool System::hasSolution() const {
  IntegerRelation set(PresburgerSpace::getSetSpace(numColumns));
  for (const Row &row : rows) {
    SmallVector<int64_t> coefficients(numColumns + 1);
    for (auto [index, coefficient] : row.form.coefficients)
      coefficients[index] = coefficient;
    coefficients.back() = row.form.constant;
    if (row.isEquality)
      set.addEquality(coefficients);
    else
      set.addInequality(coefficients);
  }
  set.removeTrivialRedundancy();
  if (set.isObviouslyEmpty() || Simplex(set).isEmpty())
    return false;
  return !isSmall(set) || !set.isIntegerEmpty();
}

//===----------------------------------------------------------------------===//
// Affine forms
//===----------------------------------------------------------------------===//

MaybeForm System::formOf(PrimExprAttr expr) {
  if (std::optional<Polynomial> polynomial = Polynomial::of(expr))
    return formOf(*polynomial);
  return columnFor(expr, {});
}

MaybeForm System::formOf(const Polynomial &polynomial) {
  AffineForm result;
  for (const auto &[monomial, coefficient] : polynomial.getTerms()) {
    MaybeForm product = formOfProduct(monomial);
    if (!product || !result.add(*product, coefficient))
      return std::nullopt;
  }
  return result;
}

/// A product of atoms of which at most one is not constant under the facts; a
/// column of its own otherwise.
MaybeForm System::formOfProduct(const Monomial &monomial) {
  int64_t factor = 1;
  Monomial open;
  for (PrimExprAttr atom : monomial) {
    std::optional<int64_t> constant = ranges.of(atom).getConstant();
    if (!constant)
      open.push_back(atom);
    else if (llvm::MulOverflow(factor, *constant, factor))
      return std::nullopt;
  }
  AffineForm result;
  if (open.empty() || factor == 0)
    return AffineForm::of(factor);
  MaybeForm product =
      open.size() == 1
          ? formOfAtom(open.front())
          : MaybeForm(columnFor(buildProduct(open, open[0].getContext()),
                                ranges.of(open)));
  if (!product || !result.add(*product, factor))
    return std::nullopt;
  return result;
}

AffineForm System::columnFor(PrimExprAttr expr, PrimExprRange range) {
  auto it = forms.find(expr);
  if (it != forms.end())
    return it->second;
  AffineForm column = newColumn();
  // An end that overflows is left out, as if it were not known.
  if (range.lower)
    addRow(column, AffineForm::of(*range.lower), 0);
  if (range.upper)
    addRow(AffineForm::of(*range.upper), column, 0);
  forms.try_emplace(expr, column);
  return column;
}

AffineForm System::unsplit(PrimExprAttr atom) {
  simplified = true;
  return columnFor(atom, ranges.of(atom));
}

MaybeForm System::formOfAtom(PrimExprAttr atom) {
  auto it = forms.find(atom);
  if (it != forms.end())
    return it->second;
  if (isTooLarge())
    return std::nullopt;
  MaybeForm form = computeAtom(atom);
  // Where its parts have no form, the atom is a number in its range.
  if (!form)
    return columnFor(atom, ranges.of(atom));
  forms.try_emplace(atom, *form);
  return form;
}

MaybeForm System::computeAtom(PrimExprAttr atom) {
  PrimExprRange range = ranges.of(atom);
  if (std::optional<int64_t> constant = range.getConstant())
    return AffineForm::of(*constant);
  if (atom.isTooLarge())
    return columnFor(atom, range);
  ArrayRef<PrimExprAttr> operands = atom.getOperands();
  switch (atom.getKind()) {
  case PrimExprKind::FloorDiv:
  case PrimExprKind::Mod: {
    std::optional<int64_t> divisor = ranges.of(operands[1]).getConstant();
    if (!divisor || *divisor == 0 || *divisor == INT64_MIN)
      return division(atom);
    return atom.getKind() == PrimExprKind::Mod
               ? remainder(operands[0], *divisor)
               : quotient(operands[0], *divisor);
  }
  case PrimExprKind::Min:
  case PrimExprKind::Max:
    return minMax(atom);
  case PrimExprKind::Select:
    return choice(atom);
  case PrimExprKind::Not:
  case PrimExprKind::And:
  case PrimExprKind::Or:
  case PrimExprKind::Eq:
  case PrimExprKind::Lt:
  case PrimExprKind::Le: {
    if (!cases)
      return unsplit(atom);
    std::optional<bool> truth = decide(atom);
    return truth ? MaybeForm(AffineForm::of(*truth)) : std::nullopt;
  }
  default:
    return columnFor(atom, range);
  }
}

/// The column of a quotient q = x floordiv d: d * q <= x <= d * q + d - 1; for
/// negative d, that of -x floordiv -d.
MaybeForm System::quotient(PrimExprAttr dividend, int64_t divisor) {
  auto key = std::make_pair(dividend.getAsOpaquePointer(), divisor);
  auto it = quotients.find(key);
  if (it != quotients.end())
    return it->second;
  MaybeForm x = formOf(dividend);
  AffineForm positive, product;
  if (!x || !positive.add(*x, divisor < 0 ? -1 : 1))
    return std::nullopt;
  AffineForm column = newColumn();
  int64_t size = std::abs(divisor);
  if (!product.add(column, size) || !addRow(positive, product, 0) ||
      !addRow(product, positive, 1 - size))
    return std::nullopt;
  return quotients[key] = column;
}

MaybeForm System::remainder(PrimExprAttr dividend, int64_t divisor) {
  MaybeForm x = formOf(dividend), q = quotient(dividend, divisor);
  if (!x || !q || !x->add(*q, -divisor))
    return std::nullopt;
  return x;
}

/// The column of a division by what is no constant. Where nothing is negative,
/// a quotient is at most the dividend, and a remainder below the divisor too.
AffineForm System::division(PrimExprAttr atom) {
  AffineForm column = columnFor(atom, ranges.of(atom));
  PrimExprAttr dividend = atom.getOperands()[0];
  PrimExprAttr divisor = atom.getOperands()[1];
  if (ranges.of(dividend).lower.value_or(-1) < 0 ||
      ranges.of(divisor).lower.value_or(-1) < 0)
    return column;
  if (MaybeForm x = formOf(dividend))
    addRow(*x, column, 0);
  if (atom.getKind() == PrimExprKind::Mod)
    if (MaybeForm y = formOf(divisor))
      addRow(*y, column, 1);
  return column;
}

/// Either operand, in the case where it is the smaller or larger one.
MaybeForm System::minMax(PrimExprAttr atom) {
  MaybeForm lhs = formOf(atom.getOperands()[0]);
  MaybeForm rhs = formOf(atom.getOperands()[1]);
  if (!lhs || !rhs)
    return std::nullopt;
  bool isMin = atom.getKind() == PrimExprKind::Min;
  auto require = [&](const AffineForm &smaller, const AffineForm &larger) {
    return isMin ? addRow(larger, smaller, 0) : addRow(smaller, larger, 0);
  };
  if (!cases) {
    AffineForm column = unsplit(atom);
    require(column, *lhs);
    require(column, *rhs);
    return column;
  }
  if (cases->choose(2) == 1)
    std::swap(lhs, rhs);
  return require(*lhs, *rhs) ? lhs : std::nullopt;
}

MaybeForm System::choice(PrimExprAttr atom) {
  if (!cases)
    return unsplit(atom);
  std::optional<bool> truth = decide(atom.getOperands()[0]);
  if (!truth)
    return std::nullopt;
  return formOf(atom.getOperands()[*truth ? 1 : 2]);
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

std::optional<bool> System::decide(PrimExprAttr condition) {
  Ternary known = truthOf(ranges.of(condition));
  if (known != Ternary::Unknown)
    return known == Ternary::Yes;
  auto it = truths.find(condition);
  if (it != truths.end())
    return it->second;
  bool truth = cases->choose(2) == 0;
  truths[condition] = truth;
  if (!assume(condition, truth))
    return std::nullopt;
  return truth;
}

/// Requires a truth. A conjunction is false where either operand is: two cases
/// that may overlap.
bool System::assume(PrimExprAttr condition, bool truth) {
  ArrayRef<PrimExprAttr> operands = condition.getOperands();
  switch (PrimExprKind kind = condition.getKind()) {
  case PrimExprKind::Not:
    return assume(operands[0], !truth);
  case PrimExprKind::And:
  case PrimExprKind::Or:
    if (truth == (kind == PrimExprKind::And))
      return assume(operands[0], truth) && assume(operands[1], truth);
    return assume(operands[cases->choose(2)], truth);
  case PrimExprKind::Eq:
  case PrimExprKind::Lt:
  case PrimExprKind::Le: {
    MaybeForm lhs = formOf(operands[0]), rhs = formOf(operands[1]);
    if (!lhs || !rhs)
      return false;
    if (kind == PrimExprKind::Lt)
      return truth ? addRow(*rhs, *lhs, 1) : addRow(*lhs, *rhs, 0);
    if (kind == PrimExprKind::Le)
      return truth ? addRow(*rhs, *lhs, 0) : addRow(*lhs, *rhs, 1);
    if (truth)
      return addOrder(*lhs, *rhs, PrimExprOrder::Equal);
    return addOrder(*lhs, *rhs,
                    cases->choose(2) == 0 ? PrimExprOrder::Less
                                          : PrimExprOrder::Greater);
  }
  default:
    return assumeNumber(condition, truth);
  }
}

/// A number is true where it is not 0.
bool System::assumeNumber(PrimExprAttr number, bool truth) {
  MaybeForm form = formOf(number);
  AffineForm zero;
  if (!form)
    return false;
  if (!truth)
    return addOrder(*form, zero, PrimExprOrder::Equal);
  PrimExprRange range = ranges.of(number);
  bool isPositive = range.lower.value_or(-1) >= 0 || cases->choose(2) == 0;
  return addOrder(*form, zero,
                  isPositive ? PrimExprOrder::Greater : PrimExprOrder::Less);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Whether no case has a solution; none where there are too many cases, columns
/// or constraints to decide. `require` adds the question to a system, and
/// returns false where it cannot be expressed.
static std::optional<bool>
decideByCases(const PrimExprFacts &facts,
              llvm::function_ref<bool(System &)> require) {
  RangeAnalysis ranges(facts);
  System whole(ranges, /*cases=*/nullptr);
  bool fits = require(whole) && !whole.isTooLarge();
  if (fits && !whole.hasSolution())
    return true;
  if (!whole.isSimplified())
    return fits ? std::optional(false) : std::nullopt;
  Cases cases;
  for (unsigned count = 0; count < kMaxCases; ++count) {
    System system(ranges, &cases);
    if (!require(system) || system.isTooLarge() ||
        cases.countLeft() + count > kMaxCases)
      return std::nullopt;
    if (system.hasSolution())
      return false;
    if (!cases.advance())
      return true;
  }
  return std::nullopt;
}

/// Whether a question has no solution under relations. Where these make it too
/// large, they are not split into cases, and then left out: what is proven
/// under some facts stays proven under more.
static bool hasNoSolution(const PrimExprFacts &facts,
                          ArrayRef<const PrimExprFacts::Relation *> relations,
                          llvm::function_ref<bool(System &)> require) {
  enum { Split, Unsplit, LeftOut };
  for (auto treatment : {Split, Unsplit, LeftOut}) {
    std::optional<bool> answer = decideByCases(facts, [&](System &system) {
      if (!require(system))
        return false;
      if (treatment == Unsplit)
        system.stopSplitting();
      if (treatment != LeftOut)
        for (const PrimExprFacts::Relation *relation : relations)
          system.require(*relation);
      return true;
    });
    if (answer)
      return *answer;
  }
  return false;
}

bool PresburgerProver::isImpossible(PrimExprOrder order) const {
  return hasNoSolution(facts, relations, [&](System &system) {
    return system.require(lhs, rhs, order);
  });
}

bool PresburgerProver::isContradictory() const {
  return !relations.empty() &&
         hasNoSolution(facts, relations, [](System &) { return true; });
}

/// The range of lhs - rhs.
static PrimExprRange differenceRange(PrimExprAttr lhs, PrimExprAttr rhs,
                                     const PrimExprFacts &facts) {
  std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1);
  return difference ? RangeAnalysis(facts).of(*difference) : PrimExprRange();
}

/// Returns the one of two things that is proven; if both are, the facts
/// contradict each other.
static Ternary decide(bool isAlways, bool isNever) {
  if (isAlways == isNever)
    return Ternary::Unknown;
  return isAlways ? Ternary::Yes : Ternary::No;
}

Ternary mlir::relax::proveEqualOnce(PrimExprAttr lhs, PrimExprAttr rhs,
                                    const PrimExprFacts &facts) {
  Ternary equal = proveEqual(lhs, rhs);
  PrimExprRange difference = differenceRange(lhs, rhs, facts);
  if (equal == Ternary::Unknown && difference.getConstant() == 0)
    equal = Ternary::Yes;
  if (equal == Ternary::Unknown && !difference.contains(0))
    equal = Ternary::No;
  PresburgerProver prover(lhs, rhs, facts);
  if (equal != Ternary::Unknown)
    return prover.isContradictory() ? Ternary::Unknown : equal;
  bool isNever = prover.isImpossible(PrimExprOrder::Equal);
  bool isAlways = prover.isImpossible(PrimExprOrder::Less) &&
                  prover.isImpossible(PrimExprOrder::Greater);
  return decide(isAlways, isNever);
}

Ternary mlir::relax::proveLessEqualOnce(PrimExprAttr lhs, PrimExprAttr rhs,
                                        const PrimExprFacts &facts) {
  PresburgerProver prover(lhs, rhs, facts);
  PrimExprRange difference = differenceRange(lhs, rhs, facts);
  if (difference.upper.value_or(1) <= 0)
    return prover.isContradictory() ? Ternary::Unknown : Ternary::Yes;
  if (difference.lower.value_or(0) > 0)
    return prover.isContradictory() ? Ternary::Unknown : Ternary::No;
  bool isAlways = prover.isImpossible(PrimExprOrder::Greater);
  bool isNever = prover.isImpossible(PrimExprOrder::Less) &&
                 prover.isImpossible(PrimExprOrder::Equal);
  return decide(isAlways, isNever);
}

/// Whether there is a division by what is no constant, or a choice: these have
/// no affine form, and may go away by proofs.
static bool mayNeedProofs(PrimExprAttr expr) {
  bool result = false;
  walkNodes(expr, [&](PrimExprAttr node) {
    PrimExprKind kind = node.getKind();
    bool isDivision =
        kind == PrimExprKind::FloorDiv || kind == PrimExprKind::Mod;
    result |= kind == PrimExprKind::Select ||
              (isDivision && !node.getOperands()[1].getConstant());
    return !result;
  });
  return result;
}

/// Asks about expressions simplified by ranges, then by proofs.
static Ternary proveSimplified(PrimExprAttr lhs, PrimExprAttr rhs,
                               const PrimExprFacts &facts,
                               Ternary (*prove)(PrimExprAttr, PrimExprAttr,
                                                const PrimExprFacts &)) {
  if (facts.isContradictory() || lhs.isTooLarge() || rhs.isTooLarge())
    return Ternary::Unknown;
  PrimExprAttr left = simplifyByRanges(lhs, facts);
  PrimExprAttr right = simplifyByRanges(rhs, facts);
  Ternary answer = prove(left, right, facts);
  if (answer != Ternary::Unknown ||
      (!mayNeedProofs(left) && !mayNeedProofs(right)))
    return answer;
  lhs = simplify(left, facts);
  rhs = simplify(right, facts);
  return lhs == left && rhs == right ? answer : prove(lhs, rhs, facts);
}

/// Whether the difference of two expressions is a sum of variables, and
/// products of them, that no relation mentions: each has any value in its
/// range, so the range of the sum says all.
static bool isRangeExact(PrimExprAttr lhs, PrimExprAttr rhs,
                         const PrimExprFacts &facts) {
  std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1);
  return difference &&
         llvm::all_of(difference->getTerms(),
                      [](const auto &term) {
                        const auto &[monomial, factor] = term;
                        return monomial.empty() ||
                               ((factor == 1 || factor == -1) &&
                                llvm::all_of(monomial, [](PrimExprAttr atom) {
                                  return atom.isVar();
                                }));
                      }) &&
         facts.getRelevant({lhs, rhs}).empty();
}

Ternary mlir::relax::proveEqual(PrimExprAttr lhs, PrimExprAttr rhs,
                                const PrimExprFacts &facts) {
  Ternary equal = proveEqual(lhs, rhs);
  if (equal != Ternary::Unknown || facts.isContradictory())
    return equal;
  if (isRangeExact(lhs, rhs, facts)) {
    PrimExprRange difference = differenceRange(lhs, rhs, facts);
    if (!difference.contains(0))
      return Ternary::No;
    return difference.getConstant() ? Ternary::Yes : Ternary::Unknown;
  }
  return proveSimplified(lhs, rhs, facts, proveEqualOnce);
}

Ternary mlir::relax::proveEqual(ArrayRef<PrimExprAttr> lhs,
                                ArrayRef<PrimExprAttr> rhs,
                                const PrimExprFacts &facts) {
  if (lhs.size() != rhs.size())
    return Ternary::No;
  Ternary result = Ternary::Yes;
  for (auto [l, r] : llvm::zip(lhs, rhs)) {
    result = both(result, proveEqual(l, r, facts));
    if (result == Ternary::No)
      return result;
  }
  return result;
}

Ternary mlir::relax::proveLessEqual(PrimExprAttr lhs, PrimExprAttr rhs,
                                    const PrimExprFacts &facts) {
  if (lhs == rhs)
    return Ternary::Yes;
  return proveSimplified(lhs, rhs, facts, proveLessEqualOnce);
}

Ternary mlir::relax::proveLess(PrimExprAttr lhs, PrimExprAttr rhs,
                               const PrimExprFacts &facts) {
  PrimExprAttr one = PrimExprAttr::getInt(lhs.getContext(), 1);
  return proveLessEqual(PrimExprAttr::getAdd(lhs, one), rhs, facts);
}

Ternary mlir::relax::proveNonNegative(PrimExprAttr expr,
                                      const PrimExprFacts &facts) {
  return proveLessEqual(PrimExprAttr::getInt(expr.getContext(), 0), expr,
                        facts);
}
