//===- CanonicalizeBindings.cpp - Simplify bindings -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the shape variables that casts bind to known dimensions are replaced,
// in program order, so that a cast may become one to the type that its value
// has. Then the patterns of bindings are applied.
//
//===----------------------------------------------------------------------===//

#include "PatternWalks.h"

#include "relax-mlir/IR/Canonicalize.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXCANONICALIZEBINDINGSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
struct ChangeListener : RewriterBase::Listener {
  void notifyOperationInserted(Operation *, OpBuilder::InsertPoint) override {
    hasChanged = true;
  }
  void notifyOperationModified(Operation *) override { hasChanged = true; }
  void notifyOperationErased(Operation *) override { hasChanged = true; }

  bool hasChanged = false;
};
} // namespace

void mlir::relax::applyPatternsInWalks(
    Operation *root, const FrozenRewritePatternSet &patterns) {
  ChangeListener listener;
  do {
    listener.hasChanged = false;
    walkAndApplyPatterns(root, patterns, &listener);
  } while (listener.hasChanged);
}

//===----------------------------------------------------------------------===//
// Shape variables
//===----------------------------------------------------------------------===//

/// What is known of the variables that a cast binds.
static ShapeVarMap getKnownVars(MatchCastOp cast, ScopeAnalysis &scope) {
  llvm::StringSet<> bound;
  collectBindingVars(cast.getType(), bound);
  ShapeVarMap known;
  getShapeVarMapping(cast.getType(), cast.getValue().getType(), known);
  ShapeVarMap fresh;
  for (const auto &[name, value] : known.dims)
    if (value && bound.contains(name) && !scope.isInScope(name))
      fresh.dims[name] = value;
  for (const auto &[name, value] : known.shapes)
    if (value && bound.contains(name) && !scope.isInScope(name))
      fresh.shapes[name] = value;
  return fresh;
}

/// Replaces variables in the scope of a cast: in its block from there on, where
/// a dataflow block, which has the scope around it, counts as a whole.
static void replaceVarsFrom(Operation *cast, const ShapeVarMap &known) {
  Operation *first = cast;
  while (isa<DataflowOp>(first->getParentOp()))
    first = first->getParentOp();
  for (Operation *op = first; op; op = op->getNextNode())
    replaceVars(op, known);
}

static void replaceKnownVars(FuncOp func) {
  SmallVector<MatchCastOp> casts;
  func.walk<WalkOrder::PreOrder>(
      [&](MatchCastOp cast) { casts.push_back(cast); });
  for (MatchCastOp cast : casts) {
    ScopeAnalysis scope; // types before the place have changed
    scope.moveTo(cast);
    ShapeVarMap known = getKnownVars(cast, scope);
    if (!known.empty())
      replaceVarsFrom(cast, known);
  }
}

namespace {
struct RelaxCanonicalizeBindingsPass
    : relax::impl::RelaxCanonicalizeBindingsPassBase<
          RelaxCanonicalizeBindingsPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateBindingPatterns(set);
    patterns = std::move(set);
    return success();
  }
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    replaceKnownVars(getOperation());
    applyPatternsInWalks(getOperation(), patterns);
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
