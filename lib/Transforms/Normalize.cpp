//===- Normalize.cpp - Put functions into normal form -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are values, so right-hand sides are flat already (NF01), and the
// bodies of functions and branches are blocks (NF02). The remaining rewrites:
//   - a sequence goes into the block around it (NF02), innermost first;
//   - calls take the form of their own rule (NF05);
//   - dataflow blocks side by side become one, empty ones go (NF03).
// Bindings are never reordered (NF04).
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXNORMALIZEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Normalizer
//===----------------------------------------------------------------------===//

namespace {
class Normalizer {
public:
  explicit Normalizer(FuncOp func) : func(func), rewriter(func.getContext()) {}
  void normalizeBlock(Block &block);

private:
  void flatten(SeqOp seq);
  void renameBoundVars(SeqOp seq);
  void inlineBody(Operation *op);
  void applyRule(NormalizeOpInterface op);
  void dropEmpty(DataflowOp dataflow);
  DataflowOp merge(DataflowOp first, DataflowOp second);
  void mergeDataflow(Block &block);
  Value castTo(Value value, Type type);

  FuncOp func;
  IRRewriter rewriter;
};
} // namespace

/// The value under the type that was declared for it, which may say less.
Value Normalizer::castTo(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return MatchCastOp::create(rewriter, value.getLoc(), type, value);
}

/// The shape variables that a sequence binds become visible after it. One
/// whose name means something else there gets a new name.
void Normalizer::renameBoundVars(SeqOp seq) {
  llvm::StringSet<> outer, inner;
  collectScope(seq, outer);
  collectScope(seq.getBody().front().getTerminator(), inner);
  llvm::StringSet<> behind;
  for (Operation *op = seq; op; op = op->getParentOp()) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      collectNames(next, behind);
    if (!isa<DataflowOp>(op->getParentOp())) // its scope is the one around it
      break;
  }
  llvm::StringSet<> taken;
  collectNames(func, taken);
  ShapeVarMap names;
  for (StringRef name : inner.keys()) {
    if (outer.contains(name) || !behind.contains(name))
      continue;
    renameVar(names, func.getContext(), name, makeFreshName(name, taken));
  }
  if (!names.empty())
    replaceVars(seq, names);
}

/// Replaces an operation of one block by the bindings in it and its results by
/// what the block gives.
void Normalizer::inlineBody(Operation *op) {
  Block &body = op->getRegion(0).front();
  SmallVector<Value> values(body.getTerminator()->getOperands());
  rewriter.eraseOp(body.getTerminator());
  rewriter.inlineBlockBefore(&body, op);
  rewriter.setInsertionPoint(op);
  for (auto [value, result] : llvm::zip(values, op->getResults()))
    value = castTo(value, result.getType());
  rewriter.replaceOp(op, values);
}

/// NF02. In a dataflow block a sequence holds dataflow blocks only, whose
/// bindings become those of the block.
void Normalizer::flatten(SeqOp seq) {
  renameBoundVars(seq);
  if (isa<DataflowOp>(seq->getParentOp()))
    for (auto inner :
         llvm::make_early_inc_range(seq.getBody().front().getOps<DataflowOp>()))
      inlineBody(inner);
  inlineBody(seq);
}

/// NF05. Fields that were taken from a tuple literal are the values in it.
void Normalizer::applyRule(NormalizeOpInterface op) {
  if (op.isNormalized())
    return;
  Operation *before = op->getPrevNode();
  op.normalize(rewriter);
  Operation *next = before ? before->getNextNode() : &op->getBlock()->front();
  while (next != op) {
    auto item = dyn_cast<GetItemOp>(next);
    next = next->getNextNode();
    if (!item)
      continue;
    auto tuple = item.getTupleValue().getDefiningOp<TupleOp>();
    if (!tuple)
      continue;
    Value field = tuple.getFields()[item.getIndex()];
    if (field.getType() == item.getType())
      rewriter.replaceOp(item, field);
  }
}

/// NF03.
void Normalizer::dropEmpty(DataflowOp dataflow) {
  if (llvm::hasSingleElement(dataflow.getBody().front()))
    inlineBody(dataflow);
}

/// NF03: the bindings of both in one block, in order. Results of the first that
/// have no other use do not leave the block any more.
DataflowOp Normalizer::merge(DataflowOp first, DataflowOp second) {
  Block &body = first.getBody().front(), &tail = second.getBody().front();
  Operation *output = body.getTerminator(), *lastOutput = tail.getTerminator();
  rewriter.setInsertionPoint(output);
  SmallVector<Value> values, results;
  for (auto [value, result] :
       llvm::zip(output->getOperands(), first->getResults())) {
    auto isInside = [&](OpOperand &use) {
      return second->isProperAncestor(use.getOwner());
    };
    if (llvm::any_of(result.getUses(), isInside))
      rewriter.replaceUsesWithIf(result, castTo(value, result.getType()),
                                 isInside);
    if (result.use_empty())
      continue;
    values.push_back(value);
    results.push_back(result);
  }
  llvm::append_range(values, lastOutput->getOperands());
  llvm::append_range(results, second->getResults());
  rewriter.eraseOp(output);
  rewriter.eraseOp(lastOutput);
  rewriter.inlineBlockBefore(&tail, &body, body.end());
  rewriter.setInsertionPointToEnd(&body);
  OutputOp::create(rewriter, second.getLoc(), values);

  NamedAttrList attributes(second->getAttrs());
  for (NamedAttribute attribute : first->getAttrs())
    attributes.set(attribute.getName(), attribute.getValue());
  rewriter.setInsertionPoint(second);
  auto merged = DataflowOp::create(
      rewriter, rewriter.getFusedLoc({first.getLoc(), second.getLoc()}),
      ValueRange(results).getTypes());
  merged->setAttrs(attributes);
  rewriter.inlineRegionBefore(first.getBody(), merged.getBody(),
                              merged.getBody().end());
  for (auto [result, replacement] : llvm::zip(results, merged->getResults()))
    rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(first);
  rewriter.eraseOp(second);
  return merged;
}

/// Whether a closure in a block captures what the block before it puts out: it
/// may capture nothing of its own block (WF11).
static bool captures(DataflowOp dataflow, DataflowOp previous) {
  return llvm::any_of(previous->getUses(), [&](OpOperand &use) {
    auto closure = use.getOwner()->getParentOfType<ClosureOp>();
    return closure && dataflow->isProperAncestor(closure);
  });
}

void Normalizer::mergeDataflow(Block &block) {
  for (auto dataflow : llvm::make_early_inc_range(block.getOps<DataflowOp>()))
    dropEmpty(dataflow);
  SmallVector<DataflowOp> all(block.getOps<DataflowOp>());
  DataflowOp previous;
  for (DataflowOp dataflow : all) {
    bool isMerged = previous && previous->getNextNode() == dataflow &&
                    !captures(dataflow, previous);
    previous = isMerged ? merge(previous, dataflow) : dataflow;
  }
}

void Normalizer::normalizeBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        normalizeBlock(inner);
    if (auto seq = dyn_cast<SeqOp>(op))
      flatten(seq);
    else if (auto call = dyn_cast<NormalizeOpInterface>(op))
      applyRule(call);
  }
  mergeDataflow(block);
}

namespace {
struct RelaxNormalizePass
    : relax::impl::RelaxNormalizePassBase<RelaxNormalizePass> {
  void runOnOperation() override {
    Normalizer normalizer(getOperation());
    for (Block &block : getOperation().getBody())
      normalizer.normalizeBlock(block);
  }
};
} // namespace
