//===- DeadCodeElimination.cpp - Remove bindings without uses -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the end of a function to its start, so that one walk is enough.
// Removable operations:
//
// - anywhere: operations without effects or errors of their own;
// - in a dataflow block: operators and calls of pure functions too, which may
//   end with an error, and casts that bind no shape variable which is used.
//
// A block of a function that only binds unused values goes as a whole.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Canonicalize.h"
#include "relax-mlir/IR/Purity.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXDEADCODEELIMINATIONPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Shape variables
//===----------------------------------------------------------------------===//

namespace {
/// In how many places each shape variable is named.
class Mentions {
public:
  explicit Mentions(FuncOp func) {
    func->walk([&](Operation *op) { count(op, 1); });
  }
  /// Takes the mentions of an operation back.
  void remove(Operation *op) {
    op->walk([&](Operation *inner) { count(inner, -1); });
  }
  /// Whether others than `op` name a variable.
  bool isNamedElsewhere(StringRef name, Operation *op) const {
    Mentions mine;
    mine.count(op, 1);
    return counts.lookup(name) > mine.counts.lookup(name);
  }

private:
  Mentions() = default;
  void count(Operation *op, int64_t step);

  llvm::StringMap<int64_t> counts;
};
} // namespace

void Mentions::count(Operation *op, int64_t step) {
  AttrTypeWalker walker;
  auto add = [&](StringAttr name) {
    if (name)
      counts[name.getValue()] += step;
  };
  walker.addWalk([&](PrimExprAttr expr) {
    if (expr.isVar())
      counts[expr.getName()] += step;
  });
  walker.addWalk([&](TensorStructInfoType type) { add(type.getShapeVar()); });
  walker.addWalk([&](ShapeStructInfoType type) { add(type.getVar()); });
  walker.walk(op->getAttrDictionary());
  for (Type type : op->getResultTypes())
    walker.walk(type);
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      walker.walk(argument.getType());
}

//===----------------------------------------------------------------------===//
// Removable operations
//===----------------------------------------------------------------------===//

namespace {
class DeadCodeEliminator {
public:
  explicit DeadCodeEliminator(FuncOp func)
      : func(func), mentions(func), rewriter(func.getContext()) {}
  void visitBlock(Block &block);

private:
  void visitOp(Operation *op);
  void dropUnusedOutputs(DataflowOp dataflow);
  bool isRemovable(Operation *op);
  bool isRemovableInDataflow(Operation *op);
  bool bindsUsedVariable(MatchCastOp cast);
  bool mayStateUsedFact();
  void erase(Operation *op);

  FuncOp func;
  /// Whether types in the function follow from what casts say; found out when
  /// it matters, and not again.
  std::optional<bool> reliesOnCasts;
  Mentions mentions;
  IRRewriter rewriter;
};
} // namespace

/// Whether a variable that comes up in this cast is used anywhere.
bool DeadCodeEliminator::bindsUsedVariable(MatchCastOp cast) {
  llvm::StringSet<> names, before;
  collectBindingVars(cast.getResult().getType(), names);
  collectScope(cast, before);
  return llvm::any_of(names.keys(), [&](StringRef name) {
    return !before.contains(name) && mentions.isNamedElsewhere(name, cast);
  });
}

/// Whether a cast may be what makes the declared type of an operation right.
bool DeadCodeEliminator::mayStateUsedFact() {
  if (!reliesOnCasts)
    reliesOnCasts = func.walk([](Operation *op) {
                          return reliesOnFacts(op) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
                        })
                        .wasInterrupted();
  return *reliesOnCasts;
}

/// SE06: all that may happen in a dataflow block besides its values is an
/// error.
bool DeadCodeEliminator::isRemovableInDataflow(Operation *op) {
  if (auto cast = dyn_cast<MatchCastOp>(op))
    return !bindsUsedVariable(cast) && !mayStateUsedFact();
  if (isa<CallTIRInplaceOp, CallInplacePackedOp>(op))
    // They are seen outside of a function that is impure.
    return isPureFunction(getFunctionAround(op));
  if (auto purity = dyn_cast<PurityOpInterface>(op))
    return purity.isPureOp();
  return isa_and_nonnull<RelaxDialect>(op->getDialect()) &&
         op->getNumRegions() == 0;
}

/// SE05: outside of them only what neither has an effect nor may fail. An
/// operator may, where the shapes of its operands turn out not to fit.
bool DeadCodeEliminator::isRemovable(Operation *op) {
  if (!op->use_empty() || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (isa<DataflowOp>(op->getParentOp()))
    return isRemovableInDataflow(op);
  if (auto dataflow = dyn_cast<DataflowOp>(op))
    return llvm::hasSingleElement(dataflow.getBody().front());
  return isa<ConstantOp, LoadConstantOp>(op) || isMemoryEffectFree(op);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void DeadCodeEliminator::erase(Operation *op) {
  mentions.remove(op);
  rewriter.eraseOp(op);
}

/// Values without uses do not leave a dataflow block.
void DeadCodeEliminator::dropUnusedOutputs(DataflowOp dataflow) {
  llvm::SmallBitVector unused(dataflow.getNumResults());
  for (OpResult result : dataflow.getResults())
    if (result.use_empty())
      unused.set(result.getResultNumber());
  DataflowOp smaller = dropOutputs(dataflow, unused, rewriter);
  visitBlock(smaller.getBody().front());
  if (isRemovable(smaller))
    erase(smaller);
}

void DeadCodeEliminator::visitOp(Operation *op) {
  if (isRemovable(op))
    return erase(op);
  if (auto dataflow = dyn_cast<DataflowOp>(op);
      dataflow && llvm::any_of(dataflow.getResults(),
                               [](Value result) { return result.use_empty(); }))
    return dropUnusedOutputs(dataflow);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      visitBlock(block);
  if (isRemovable(op))
    erase(op);
}

/// Uses come after definitions, so they are gone when one is reached.
void DeadCodeEliminator::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    visitOp(&op);
}

namespace {
struct RelaxDeadCodeEliminationPass
    : relax::impl::RelaxDeadCodeEliminationPassBase<
          RelaxDeadCodeEliminationPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      DeadCodeEliminator(getOperation())
          .visitBlock(getOperation().getBody().front());
  }
};
} // namespace
