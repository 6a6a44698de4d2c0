//===- ShapeScope.cpp - Scopes of shape variables ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over a function in program order with the set of bound variables. A
// dataflow block shares the scope around it; a branch, a sequence and a closure
// have one of their own, in which what is bound around them is visible. Modules
// that were not verified are walked too, so nothing is taken for granted here.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/ShapeScope.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

#include <map>

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The variables that are bound at one place. All have names of one space; one
/// stands for a dimension or, with a rank, for a shape.
class Scope {
public:
  bool contains(StringRef name) const { return vars.contains(name); }
  void bind(const ShapeVarUse &use) { vars.try_emplace(use.name, use); }
  /// Returns the variable of this name as it was bound.
  ShapeVarUse get(StringRef name) const { return vars.lookup(name); }

private:
  llvm::StringMap<ShapeVarUse> vars;
};

/// The variables of which an operation has said something already.
using Names = llvm::StringSet<>;

/// Reports each use of a variable that is not bound there, once for each
/// operation, and goes on.
class ScopeVerifier {
public:
  explicit ScopeVerifier(FuncOp func) : func(func) {}
  LogicalResult verify();

private:
  template <typename FuncOpTy>
  void verifySignature(FuncOpTy op, TypeRange params, Type result,
                       Scope &scope);
  void verifyBlock(Block &block, Scope &scope);
  void verifyOp(Operation &op, Scope &scope);
  void verifyRegions(Operation &op, Scope &scope);
  void verifyAttributes(Operation &op, const Scope &scope, Names &reported);
  void verifyResults(Operation &op, const Scope &scope, Names &reported);
  void verifyKind(Operation *op, const ShapeVarUse &use, const Scope &scope,
                  Names &reported);
  void verifyKinds(Operation *op, Type type, const Scope &scope,
                   Names &reported);
  void bindCast(MatchCastOp cast, Scope &scope);
  void report(Operation *op, StringRef name, const Twine &message,
              StringRef rule);

  FuncOp func;
  bool hasErrors = false;
};
} // namespace

static void forEachUse(PrimExprAttr expr,
                       llvm::function_ref<void(const ShapeVarUse &)> visit) {
  if (expr.isVar())
    return visit({expr.getName(), /*mayBind=*/true, /*isShape=*/false, -1});
  llvm::StringSet<> names;
  collectVars(expr, names);
  SmallVector<StringRef> sorted(names.keys());
  llvm::sort(sorted);
  for (StringRef name : sorted)
    visit({name, /*mayBind=*/false, /*isShape=*/false, -1});
}

static void forEachUse(Type type,
                       llvm::function_ref<void(const ShapeVarUse &)> visit) {
  if (isa_and_nonnull<StructInfoTypeInterface>(type))
    walkVars(type, visit);
}

static bool binds(Type type, StringRef name) {
  bool found = false;
  forEachUse(type, [&](const ShapeVarUse &use) {
    found |= use.mayBind && use.name == name;
  });
  return found;
}

/// The rule on annotations of this kind, for a type that is no tuple.
static StringRef annotationRule(Type type) {
  return isa<ShapeStructInfoType>(type)  ? "WF15"
         : isa<PrimStructInfoType>(type) ? "WF16"
                                         : "WF14";
}

/// Calls back for each variable of `type` that is not bound, once, with the
/// rule on the kind of annotation it is in.
static void
forEachUnbound(Type type, const Scope &scope,
               llvm::function_ref<void(StringRef name, StringRef rule)> visit) {
  Names seen;
  auto visitLeaf = [&](Type leaf) {
    forEachUse(leaf, [&](const ShapeVarUse &use) {
      if (!scope.contains(use.name) && seen.insert(use.name).second)
        visit(use.name, annotationRule(leaf));
    });
  };
  SmallVector<Type> worklist = {type};
  while (!worklist.empty()) {
    Type next = worklist.pop_back_val();
    if (auto tuple = dyn_cast_or_null<TupleStructInfoType>(next))
      llvm::append_range(worklist, llvm::reverse(tuple.getFields()));
    else
      visitLeaf(next);
  }
}

/// Verifies that a variable stands for the same as where it was bound, and that
/// a shape has the same rank there.
void ScopeVerifier::verifyKind(Operation *op, const ShapeVarUse &use,
                               const Scope &scope, Names &reported) {
  if (!scope.contains(use.name) || reported.contains(use.name))
    return;
  ShapeVarUse bound = scope.get(use.name);
  auto fail = [&](const Twine &message, StringRef rule) {
    reported.insert(use.name);
    report(op, use.name, message, rule);
  };
  StringRef kinds[] = {"a dimension", "a shape"};
  if (bound.isShape != use.isShape)
    fail("variable '" + use.name + "' stands for " + kinds[bound.isShape] +
             " and is used as " + kinds[use.isShape],
         use.isShape ? "WF14" : "WF05");
  else if (bound.ndim != use.ndim)
    fail("shape variable '" + use.name + "' has ndim " + Twine(bound.ndim) +
             " where it is bound, but " + Twine(use.ndim) + " here",
         "WF14");
}

void ScopeVerifier::verifyKinds(Operation *op, Type type, const Scope &scope,
                                Names &reported) {
  forEachUse(type, [&](const ShapeVarUse &use) {
    verifyKind(op, use, scope, reported);
  });
}

/// Notes where the variable is bound instead, if anywhere in the function.
void ScopeVerifier::report(Operation *op, StringRef name, const Twine &message,
                           StringRef rule) {
  hasErrors = true;
  InFlightDiagnostic diag = op->emitOpError() << message << " [" << rule << "]";
  func.walk([&](MatchCastOp cast) {
    if (cast == op || !binds(cast->getResultTypes()[0], name))
      return WalkResult::advance();
    diag.attachNote(cast.getLoc())
        << "'" << name << "' is bound here, for what follows in this scope";
    return WalkResult::interrupt();
  });
}

/// The type of the result of an operation that may not be verified; null where
/// there is none. The accessor asserts its kind.
static Type resultType(Operation &op) {
  return op.getNumResults() == 1 ? op.getResultTypes()[0] : Type();
}

template <typename FuncOpTy>
void ScopeVerifier::verifySignature(FuncOpTy op, TypeRange params, Type result,
                                    Scope &scope) {
  for (Type type : params)
    forEachUse(type, [&](const ShapeVarUse &use) {
      if (use.mayBind)
        scope.bind(use);
    });
  Names reported;
  for (auto [index, type] : llvm::enumerate(params))
    forEachUnbound(type, scope, [&](StringRef name, StringRef) {
      report(op, name,
             op.describeArgument(index) + " uses shape variable '" + name +
                 "', which no argument binds: it must be a dimension by "
                 "itself in one of them",
             "WF06");
    });
  forEachUnbound(result, scope, [&](StringRef name, StringRef) {
    report(op, name,
           "result uses shape variable '" + name + "', which no argument binds",
           "WF04");
  });
  for (Type type : params)
    verifyKinds(op, type, scope, reported);
  verifyKinds(op, result, scope, reported);
}

/// Binds the new variables of a cast, left to right.
void ScopeVerifier::bindCast(MatchCastOp cast, Scope &scope) {
  Names reported;
  Type type = resultType(*cast);
  if (!type)
    return;
  forEachUse(type, [&](const ShapeVarUse &use) {
    if (use.mayBind)
      scope.bind(use);
    verifyKind(cast, use, scope, reported);
    if (!scope.contains(use.name) && reported.insert(use.name).second)
      report(cast, use.name,
             "shape variable '" + use.name +
                 "' is used before it is bound: only a dimension that is the "
                 "bare variable binds it",
             "WF05");
  });
}

void ScopeVerifier::verifyAttributes(Operation &op, const Scope &scope,
                                     Names &reported) {
  auto check = [&](PrimExprAttr expr) {
    forEachUse(expr, [&](const ShapeVarUse &use) {
      if (!scope.contains(use.name) && reported.insert(use.name).second)
        report(&op, use.name,
               "shape variable '" + use.name + "' is used before it is bound",
               "WF05");
      verifyKind(&op, use, scope, reported);
    });
  };
  if (auto shape = dyn_cast<ShapeOp>(op)) {
    if (shape.getValuesAttr())
      for (PrimExprAttr dim : shape.getValues())
        check(dim);
  } else if (auto prim = dyn_cast<PrimValueOp>(op)) {
    if (auto expr = dyn_cast_or_null<PrimExprAttr>(prim.getValueAttr()))
      check(expr);
  } else if (auto types = op.getAttrOfType<ArrayAttr>("sinfo_args")) {
    for (Attribute type : types)
      if (isa<TypeAttr>(type))
        forEachUnbound(cast<TypeAttr>(type).getValue(), scope,
                       [&](StringRef name, StringRef rule) {
                         if (reported.insert(name).second)
                           report(
                               &op, name,
                               "shape variable '" + name +
                                   "' of sinfo_args is used before it is bound",
                               rule);
                       });
  }
}

void ScopeVerifier::verifyResults(Operation &op, const Scope &scope,
                                  Names &reported) {
  for (Type type : op.getResultTypes())
    verifyKinds(&op, type, scope, reported);
  for (Type type : op.getResultTypes())
    forEachUnbound(type, scope, [&](StringRef name, StringRef rule) {
      if (reported.insert(name).second)
        report(&op, name,
               "shape variable '" + name +
                   "' of the result is used before it is bound",
               rule);
    });
}

/// A dataflow block shares the scope around it; any other region has its own.
void ScopeVerifier::verifyRegions(Operation &op, Scope &scope) {
  for (Region &region : op.getRegions()) {
    Scope inner;
    if (!isa<DataflowOp>(op))
      inner = scope;
    if (auto closure = dyn_cast<ClosureOp>(op))
      if (auto type = dyn_cast_or_null<FuncStructInfoType>(resultType(op)))
        verifySignature(closure, type.getParams(), type.getRet(), inner);
    for (Block &block : region)
      verifyBlock(block, isa<DataflowOp>(op) ? scope : inner);
  }
}

void ScopeVerifier::verifyOp(Operation &op, Scope &scope) {
  if (auto cast = dyn_cast<MatchCastOp>(op))
    return bindCast(cast, scope);
  Names reported;
  verifyAttributes(op, scope, reported);
  verifyRegions(op, scope);
  if (!isa<ClosureOp>(op)) // its signature says it
    verifyResults(op, scope, reported);
}

void ScopeVerifier::verifyBlock(Block &block, Scope &scope) {
  for (Operation &op : block)
    verifyOp(op, scope);
}

LogicalResult ScopeVerifier::verify() {
  Scope scope;
  Type result = func.getNumResults() == 1 ? func.getResultTypes().front()
                                          : Type(); // the verifier reports it
  verifySignature(func, func.getArgumentTypes(), result, scope);
  for (Block &block : func.getBody())
    verifyBlock(block, scope);
  return failure(hasErrors);
}

LogicalResult mlir::relax::verifyShapeScopes(FuncOp func) {
  return ScopeVerifier(func).verify();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// The casts whose facts and variables the operations after `op` see, in any
/// order. Those that are not valid say nothing.
static void forEachCast(Operation &op,
                        llvm::function_ref<void(MatchCastOp)> visit) {
  if (auto cast = dyn_cast<MatchCastOp>(op))
    if (op.getNumOperands() == 1 && op.getNumResults() == 1 &&
        op.getOperand(0) &&
        isa<StructInfoTypeInterface>(op.getOperand(0).getType()) &&
        isa<StructInfoTypeInterface>(op.getResultTypes()[0]))
      visit(cast);
  if (isa<DataflowOp>(op)) // shares the scope around it
    for (Region &region : op.getRegions())
      for (Operation &inner : region.getOps())
        forEachCast(inner, visit);
}

/// Collects the variables that `op` binds for the operations after it.
static void collectBound(Operation &op, llvm::StringSet<> &names) {
  forEachCast(op, [&](MatchCastOp cast) {
    collectBindingVars(cast->getResultTypes()[0], names);
  });
}

void mlir::relax::collectScope(Operation *op, llvm::StringSet<> &names) {
  for (; op && op->getBlock(); op = op->getParentOp()) {
    for (Operation &before : *op->getBlock()) {
      if (&before == op)
        break;
      collectBound(before, names);
    }
    if (isa<FuncOp, ClosureOp>(op->getParentOp()))
      for (BlockArgument argument : op->getBlock()->getArguments())
        if (isa<StructInfoTypeInterface>(argument.getType()))
          collectBindingVars(argument.getType(), names);
    if (isa<FuncOp>(op->getParentOp()))
      return;
  }
}

Type mlir::relax::eraseOutOfScope(Type type, Operation *op) {
  llvm::StringSet<> scope;
  collectScope(op, scope);
  return eraseToWellDefined(
      type, [&](StringRef name) { return scope.contains(name); });
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

SmallVector<std::pair<StringRef, PrimExprRange>>
mlir::relax::getDeclaredBounds(FuncOp func) {
  std::map<StringRef, PrimExprRange> ranges;
  auto visit = [&](StringRef attribute,
                   std::optional<int64_t> PrimExprRange::*end) {
    if (auto bounds = func->getAttrOfType<DictionaryAttr>(attribute))
      for (NamedAttribute bound : bounds)
        if (auto value = dyn_cast<IntegerAttr>(bound.getValue());
            value && value.getType().isInteger(64)) // else it is not verified
          ranges[bound.getName().getValue()].*end = value.getInt();
  };
  visit(RelaxDialect::kLowerBound, &PrimExprRange::lower);
  visit(RelaxDialect::kUpperBound, &PrimExprRange::upper);
  return {ranges.begin(), ranges.end()};
}

void mlir::relax::addFactsOfValue(Type type, PrimExprFacts &facts) {
  SmallVector<Type> worklist = {type};
  while (!worklist.empty()) {
    Type next = worklist.pop_back_val();
    if (auto tuple = dyn_cast_or_null<TupleStructInfoType>(next))
      llvm::append_range(worklist, tuple.getFields());
    auto tensor = dyn_cast_or_null<TensorStructInfoType>(next);
    if (tensor && tensor.hasShape())
      for (PrimExprAttr dim : tensor.getDims())
        facts.addDimension(dim);
  }
}

static void addEqual(ArrayRef<PrimExprAttr> lhs, ArrayRef<PrimExprAttr> rhs,
                     PrimExprFacts &facts) {
  if (lhs.size() == rhs.size())
    for (auto [l, r] : llvm::zip(lhs, rhs))
      if (l != r)
        facts.addEqual(l, r);
}

void mlir::relax::addFactsOfCast(Type from, Type to, PrimExprFacts &facts) {
  addFactsOfValue(from, facts);
  addFactsOfValue(to, facts);
  SmallVector<std::pair<Type, Type>> worklist = {{from, to}};
  while (!worklist.empty()) {
    auto [lhs, rhs] = worklist.pop_back_val();
    if (!lhs || !rhs || lhs == rhs || lhs.getTypeID() != rhs.getTypeID())
      continue;
    if (auto tensor = dyn_cast<TensorStructInfoType>(lhs)) {
      auto other = cast<TensorStructInfoType>(rhs);
      if (tensor.hasShape() && other.hasShape())
        addEqual(tensor.getDims(), other.getDims(), facts);
    } else if (auto shape = dyn_cast<ShapeStructInfoType>(lhs)) {
      auto other = cast<ShapeStructInfoType>(rhs);
      if (shape.getValues() && other.getValues())
        addEqual(shape.getValues().getDims(), other.getValues().getDims(),
                 facts);
    } else if (auto prim = dyn_cast<PrimStructInfoType>(lhs)) {
      auto other = cast<PrimStructInfoType>(rhs);
      if (prim.getValue() && other.getValue())
        addEqual(prim.getValue(), other.getValue(), facts);
    } else if (auto tuple = dyn_cast<TupleStructInfoType>(lhs)) {
      for (auto [l, r] : llvm::zip(tuple.getFields(),
                                   cast<TupleStructInfoType>(rhs).getFields()))
        worklist.push_back({l, r});
    }
  }
}

PrimExprFacts mlir::relax::collectFacts(Operation *op) {
  ScopeAnalysis analysis;
  analysis.moveTo(op);
  return analysis.getFacts();
}

Ternary mlir::relax::isSubtypeAt(Operation *op, Type sub, Type super) {
  Ternary answer = isSubtypeBeforeRealize(sub, super);
  if (answer != Ternary::Unknown)
    return answer;
  PrimExprFacts facts = collectFacts(op);
  FactsScope scope(facts);
  return isSubtypeBeforeRealize(sub, super);
}

bool mlir::relax::reliesOnFacts(Operation *op) {
  SmallVector<Type> derived;
  if (auto rule = dyn_cast<DeriveOpInterface>(op)) {
    if (failed(rule.deriveResultTypes(derived)))
      return true;
    return !areSubtypes(derived, op->getResultTypes());
  }
  if (isa<CallTIRInplaceOp>(op)) // says it of operands, not of its results
    return true;
  auto rule = dyn_cast<InferTypeOpInterface>(op);
  if (!rule || !isa<RelaxDialect>(op->getDialect()))
    return false;
  return failed(rule.inferReturnTypes(
             op->getContext(), /*location=*/std::nullopt, op->getOperands(),
             op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
             op->getRegions(), derived)) ||
         !areSubtypes(derived, op->getResultTypes());
}

/// Adds the facts that `op` establishes for the operations after it.
void ScopeAnalysis::pass(Operation *op, Frame &frame) {
  forEachCast(*op, [&](MatchCastOp cast) {
    collectBindingVars(cast.getResult().getType(), frame.names);
    addFactsOfCast(cast.getValue().getType(), cast.getResult().getType(),
                   frame.facts);
  });
}

void ScopeAnalysis::enter(Block *block) {
  Frame frame{block, block->empty() ? nullptr : &block->front(), {}, {}};
  Operation *parent = block->getParentOp();
  bool isFunction = isa_and_nonnull<FuncOp, ClosureOp>(parent);
  if (!isFunction && !frames.empty())
    frame.facts = frames.back().facts;
  if (isFunction)
    for (BlockArgument argument : block->getArguments())
      if (isa<StructInfoTypeInterface>(argument.getType())) {
        collectBindingVars(argument.getType(), frame.names);
        addFactsOfValue(argument.getType(), frame.facts);
      }
  if (auto func = dyn_cast_or_null<FuncOp>(parent))
    for (auto [name, range] : getDeclaredBounds(func))
      frame.facts.addBounds(name, range.lower, range.upper);
  frames.push_back(std::move(frame));
}

void ScopeAnalysis::moveTo(Operation *op) {
  SmallVector<Operation *> path; // from the place to the function
  for (; op && op->getBlock(); op = op->getParentOp()) {
    path.push_back(op);
    if (isa_and_nonnull<FuncOp>(op->getParentOp()))
      break;
  }
  size_t depth = 0;
  for (Operation *target : llvm::reverse(path)) {
    Block *block = target->getBlock();
    Operation *known = depth < frames.size() && frames[depth].block == block
                           ? frames[depth].next
                           : nullptr;
    if (!known || (known != target && !known->isBeforeInBlock(target))) {
      frames.resize(depth);
      enter(block);
    } else if (known != target) {
      frames.resize(depth + 1);
    }
    Frame &frame = frames[depth++];
    for (; frame.next != target; frame.next = frame.next->getNextNode())
      pass(frame.next, frame);
  }
  frames.resize(depth);
}

bool ScopeAnalysis::isInScope(StringRef name) const {
  return llvm::any_of(
      frames, [&](const Frame &frame) { return frame.names.contains(name); });
}

const PrimExprFacts &ScopeAnalysis::getFacts() const {
  static const PrimExprFacts none;
  return frames.empty() ? none : frames.back().facts;
}

//===----------------------------------------------------------------------===//
// Declared types
//===----------------------------------------------------------------------===//

/// The operation that `operands` are of, while there is one: none of a builder.
static Operation *getOwner(ValueRange operands) {
  auto *operand = dyn_cast_if_present<OpOperand *>(operands.getBase());
  return operand && !operands.empty() ? operand->getOwner() : nullptr;
}

LogicalResult mlir::relax::verifyInferredTypes(
    std::optional<Location> location, StringRef name, ValueRange operands,
    TypeRange declared,
    llvm::function_ref<LogicalResult(SmallVectorImpl<Type> &)> infer,
    llvm::function_ref<bool(TypeRange, TypeRange)> areCompatible) {
  SmallVector<Type> derived;
  if (failed(infer(derived)))
    return failure();
  if (areCompatible(derived, declared))
    return success();
  if (Operation *owner = getOwner(operands)) {
    PrimExprFacts facts = collectFacts(owner);
    FactsScope scope(facts);
    SmallVector<Type> refined;
    if (failed(infer(refined)))
      return failure();
    if (areCompatible(refined, declared))
      return success();
  }
  return emitOptionalError(
      location, "'", name, "' op inferred type(s) ", derived,
      " are incompatible with return type(s) of operation ", declared);
}
