//===- ShapeScope.cpp - Where shape variables are visible -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over a function in program order with the set of bound variables. A
// dataflow block shares the scope around it; a branch has one of its own.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/ShapeScope.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The variables that are bound at one place. All have names of one space; one
/// stands for a dimension or, with a rank, for a shape.
class Scope {
public:
  bool contains(StringRef name) const { return vars.contains(name); }
  void bind(const ShapeVarUse &use) { vars.try_emplace(use.name, use); }
  /// What the variable of this name is where it was bound.
  ShapeVarUse get(StringRef name) const { return vars.lookup(name); }

private:
  llvm::StringMap<ShapeVarUse> vars;
};

class ScopeVerifier {
public:
  explicit ScopeVerifier(FuncOp func) : func(func) {}
  LogicalResult verify();

private:
  LogicalResult verifySignature(Scope &scope);
  LogicalResult verifyBlock(Block &block, Scope &scope);
  LogicalResult verifyOp(Operation &op, Scope &scope);
  LogicalResult bindCast(MatchCastOp cast, Scope &scope);
  LogicalResult verifyAttributes(Operation &op, const Scope &scope);

  FuncOp func;
};
} // namespace

static void forEachUse(Type type,
                       llvm::function_ref<void(const ShapeVarUse &)> visit) {
  if (isa<StructInfoTypeInterface>(type))
    walkVars(type, visit);
}

/// Binds what a parameter of this type may bind.
static void bindAll(Type type, Scope &scope) {
  forEachUse(type, [&](const ShapeVarUse &use) {
    if (use.mayBind)
      scope.bind(use);
  });
}

static std::optional<StringRef> findUnboundIn(Type type, const Scope &scope) {
  if (!isa<StructInfoTypeInterface>(type))
    return std::nullopt;
  return findUnbound(type,
                     [&](StringRef name) { return scope.contains(name); });
}

/// That a variable stands for what it stands for where it was bound, and that a
/// shape has the same rank there (WF14, WF15).
static LogicalResult verifyUse(Operation *op, const ShapeVarUse &use,
                               const Scope &scope) {
  if (!scope.contains(use.name))
    return success(); // reported as unbound
  ShapeVarUse bound = scope.get(use.name);
  StringRef kinds[] = {"a dimension", "a shape"};
  if (bound.isShape != use.isShape)
    return op->emitOpError()
           << "variable '" << use.name << "' stands for "
           << kinds[bound.isShape] << " and is used as " << kinds[use.isShape]
           << (use.isShape ? " [WF14]" : " [WF05]");
  if (bound.ndim != use.ndim)
    return op->emitOpError()
           << "shape variable '" << use.name << "' has ndim " << bound.ndim
           << " where it is bound, but " << use.ndim << " here [WF14]";
  return success();
}

static LogicalResult verifyUses(Operation *op, Type type, const Scope &scope) {
  LogicalResult result = success();
  forEachUse(type, [&](const ShapeVarUse &use) {
    if (succeeded(result))
      result = verifyUse(op, use, scope);
  });
  return result;
}

LogicalResult ScopeVerifier::verifySignature(Scope &scope) {
  for (Type type : func.getArgumentTypes())
    bindAll(type, scope);
  for (auto [index, type] : llvm::enumerate(func.getArgumentTypes()))
    if (std::optional<StringRef> name = findUnboundIn(type, scope)) // WF06
      return func.emitOpError()
             << func.describeArgument(index) << " uses shape variable '"
             << *name << "', which no argument binds: it must be a dimension "
             << "by itself in one of them";
  for (Type type : func.getResultTypes())
    if (std::optional<StringRef> name = findUnboundIn(type, scope)) // WF04
      return func.emitOpError() << "result uses shape variable '" << *name
                                << "', which no argument binds";
  for (TypeRange types :
       {TypeRange(func.getArgumentTypes()), TypeRange(func.getResultTypes())})
    for (Type type : types)
      if (failed(verifyUses(func, type, scope)))
        return failure();
  return success();
}

/// Binds the new variables of a cast, left to right.
LogicalResult ScopeVerifier::bindCast(MatchCastOp cast, Scope &scope) {
  LogicalResult result = success();
  forEachUse(cast.getResult().getType(), [&](const ShapeVarUse &use) {
    if (failed(result))
      return;
    if (use.mayBind)
      scope.bind(use);
    result = scope.contains(use.name)
                 ? verifyUse(cast, use, scope)
                 : cast.emitOpError() // WF05
                       << "shape variable '" << use.name
                       << "' is used before it is bound: only a dimension that "
                          "is the bare variable binds it";
  });
  return result;
}

LogicalResult ScopeVerifier::verifyAttributes(Operation &op,
                                              const Scope &scope) {
  SmallVector<PrimExprAttr> exprs;
  if (auto shape = dyn_cast<ShapeOp>(op))
    llvm::append_range(exprs, shape.getValues());
  if (auto prim = dyn_cast<PrimValueOp>(op))
    if (auto expr = dyn_cast<PrimExprAttr>(prim.getValue()))
      exprs.push_back(expr);
  auto isBound = [&](StringRef name) { return scope.contains(name); };
  for (PrimExprAttr expr : exprs)
    if (std::optional<StringRef> name = findUnbound(expr, isBound))
      return op.emitOpError()
             << "shape variable '" << *name << "' is used before it is bound";
  auto isDim = [&](StringRef name) { return !scope.get(name).isShape; };
  for (PrimExprAttr expr : exprs)
    if (std::optional<StringRef> name = findUnbound(expr, isDim))
      return verifyUse(&op, {*name, false, false, -1}, scope);
  return success();
}

LogicalResult ScopeVerifier::verifyOp(Operation &op, Scope &scope) {
  if (auto cast = dyn_cast<MatchCastOp>(op))
    return bindCast(cast, scope);
  if (failed(verifyAttributes(op, scope)))
    return failure();
  for (Region &region : op.getRegions()) {
    Scope branch = isa<DataflowOp>(op) ? Scope() : scope;
    Scope &inner = isa<DataflowOp>(op) ? scope : branch;
    if (auto closure = dyn_cast<ClosureOp>(op))
      for (Type type : closure.getFuncStructInfo().getParams())
        bindAll(type, inner);
    for (Block &block : region)
      if (failed(verifyBlock(block, inner)))
        return failure();
  }
  for (Type type : op.getResultTypes())
    if (std::optional<StringRef> name = findUnboundIn(type, scope))
      return op.emitOpError() << "shape variable '" << *name
                              << "' of the result is used before it is bound";
  for (Type type : op.getResultTypes())
    if (failed(verifyUses(&op, type, scope)))
      return failure();
  return success();
}

LogicalResult ScopeVerifier::verifyBlock(Block &block, Scope &scope) {
  for (Operation &op : block)
    if (failed(verifyOp(op, scope)))
      return failure();
  return success();
}

LogicalResult ScopeVerifier::verify() {
  Scope scope;
  if (failed(verifySignature(scope)))
    return failure();
  for (Block &block : func.getBody())
    if (failed(verifyBlock(block, scope)))
      return failure();
  return success();
}

LogicalResult mlir::relax::verifyShapeScopes(FuncOp func) {
  return ScopeVerifier(func).verify();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// What `op` binds for the operations behind it.
static void collectBound(Operation &op, llvm::StringSet<> &names) {
  if (auto cast = dyn_cast<MatchCastOp>(op))
    collectBindingVars(cast.getResult().getType(), names);
  if (isa<DataflowOp>(op)) // shares the scope around it
    for (Operation &inner : op.getRegion(0).front())
      collectBound(inner, names);
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
