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

#include "Polynomial.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::relax;

llvm::hash_code mlir::relax::hash_value(PrimExprKind kind) {
  return llvm::hash_value(static_cast<uint8_t>(kind));
}

Ternary mlir::relax::both(Ternary lhs, Ternary rhs) {
  return std::min(lhs, rhs);
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

std::optional<int64_t> PrimExprAttr::getConstant() const {
  if (getKind() == PrimExprKind::Int)
    return getValue();
  return std::nullopt;
}

PrimExprAttr PrimExprAttr::getAdd(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (std::optional<Polynomial> sum = Polynomial::linear(lhs, rhs, 1))
    return sum->build(lhs.getContext());
  return rawNode(PrimExprKind::Add, {lhs, rhs});
}

PrimExprAttr PrimExprAttr::getSub(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1))
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

std::optional<int64_t> mlir::relax::floorDiv(int64_t lhs, int64_t rhs) {
  if (rhs == 0 || (lhs == INT64_MIN && rhs == -1))
    return std::nullopt;
  int64_t quotient = lhs / rhs;
  return quotient - ((lhs % rhs != 0) && ((lhs < 0) != (rhs < 0)));
}

std::optional<int64_t> mlir::relax::floorMod(int64_t lhs, int64_t rhs) {
  if (rhs == 0 || (lhs == INT64_MIN && rhs == -1))
    return std::nullopt;
  int64_t rest = lhs % rhs;
  return rest != 0 && (rest < 0) != (rhs < 0) ? rest + rhs : rest;
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
  std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1);
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

/// Replaces each remainder x mod y by x - (x floordiv y) * y, which it is
/// wherever it is defined. Returns false where there is none, or the result
/// would be too large. The operands of atoms stay as they are.
static bool expandRemainders(Polynomial &polynomial) {
  bool found = false;
  Polynomial result;
  for (const auto &[monomial, coefficient] : polynomial.getTerms()) {
    std::optional<Polynomial> product = Polynomial();
    product->addTerm({}, coefficient);
    for (PrimExprAttr atom : monomial) {
      std::optional<Polynomial> factor;
      if (atom.getKind() == PrimExprKind::Mod && !atom.isTooLarge()) {
        PrimExprAttr x = atom.getOperands()[0], y = atom.getOperands()[1];
        factor = Polynomial::linear(
            x, PrimExprAttr::getMul(PrimExprAttr::getFloorDiv(x, y), y), -1);
        found = true;
      } else {
        factor.emplace().addTerm({atom}, 1);
      }
      product = factor ? Polynomial::product(*product, *factor) : std::nullopt;
      if (!product)
        return false;
    }
    if (!result.add(*product))
      return false;
  }
  polynomial = std::move(result);
  return found;
}

Ternary mlir::relax::proveEqual(PrimExprAttr lhs, PrimExprAttr rhs) {
  if (lhs == rhs)
    return Ternary::Yes;
  if (lhs.getConstant() && rhs.getConstant())
    return Ternary::No;
  std::optional<Polynomial> difference = Polynomial::linear(lhs, rhs, -1);
  if (!difference)
    return Ternary::Unknown;
  if (!difference->getConstant()) {
    Polynomial expanded = *difference;
    if (expandRemainders(expanded) && expanded.getConstant())
      difference = std::move(expanded);
  }
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

void mlir::relax::walkNodes(PrimExprAttr expr,
                            llvm::function_ref<bool(PrimExprAttr)> visit) {
  SmallVector<PrimExprAttr> open = {expr};
  llvm::SmallDenseSet<PrimExprAttr> seen = {expr};
  while (!open.empty()) {
    PrimExprAttr next = open.pop_back_val();
    if (!visit(next))
      return;
    for (PrimExprAttr operand : llvm::reverse(next.getOperands()))
      if (seen.insert(operand).second)
        open.push_back(operand);
  }
}

void mlir::relax::collectVars(PrimExprAttr expr, llvm::StringSet<> &names) {
  walkNodes(expr, [&](PrimExprAttr node) {
    if (node.isVar())
      names.insert(node.getName());
    return true;
  });
}

std::optional<StringRef>
mlir::relax::findUnbound(PrimExprAttr expr,
                         llvm::function_ref<bool(StringRef)> isBound) {
  std::optional<StringRef> result;
  walkNodes(expr, [&](PrimExprAttr node) {
    if (node.isVar() && !isBound(node.getName()))
      result = node.getName();
    return !result;
  });
  return result;
}

PrimExprAttr mlir::relax::rebuild(PrimExprKind kind,
                                  ArrayRef<PrimExprAttr> operands) {
  if (kind != PrimExprKind::Add && kind != PrimExprKind::Mul)
    return PrimExprAttr::getCall(kind, operands);
  PrimExprAttr result = operands.front();
  for (PrimExprAttr operand : operands.drop_front())
    result = PrimExprAttr::getCall(kind, {result, operand});
  return result;
}

namespace {
/// A substitution, each node of the expression once. Null where the result
/// would be too large.
class Substitution {
public:
  explicit Substitution(const PrimExprMap &values) : values(values) {}

  PrimExprAttr of(PrimExprAttr expr) {
    if (expr.isVar()) {
      auto it = values.find(expr.getName());
      return it == values.end() ? expr : it->second;
    }
    if (expr.getOperands().empty())
      return expr;
    if (PrimExprAttr known = done.lookup(expr))
      return known;
    SmallVector<PrimExprAttr> operands;
    for (PrimExprAttr operand : expr.getOperands()) {
      operands.push_back(of(operand));
      if (!operands.back())
        return {};
    }
    PrimExprAttr result = rebuild(expr.getKind(), operands);
    if (result.isTooLarge())
      return {};
    return done[expr] = result;
  }

private:
  const PrimExprMap &values;
  llvm::SmallDenseMap<PrimExprAttr, PrimExprAttr> done;
};
} // namespace

PrimExprAttr mlir::relax::substitute(PrimExprAttr expr,
                                     const PrimExprMap &values) {
  if (expr.isTooLarge())
    return {};
  PrimExprAttr result = Substitution(values).of(expr);
  return result && !result.isTooLarge() ? result : PrimExprAttr();
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
  if (expr.isTooLarge())
    return std::nullopt;
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
