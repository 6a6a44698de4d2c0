//===- AttentionGroups.cpp - Groups of calls that are attention -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between two matrix products are the scores: the path from the first one to
// the second, through a softmax, is attention. Calls that only move or scale
// elements of an operand, or move those of the result, become part of the
// kernel where they can. Whether a group is attention is found out by making
// the kernel: fusion and the code of the kernel agree on what it is.
//
//===----------------------------------------------------------------------===//

#include "FusionGroups.h"

#include "relax-mlir/Codegen/Kernels.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
using Calls = llvm::SmallSetVector<Operation *, 8>;

class AttentionFinder {
public:
  AttentionFinder(Block &block, KernelFactsCache &kernels, unsigned maxCalls,
                  IsAttention isAttention)
      : block(block), kernels(kernels), maxCalls(maxCalls),
        isAttention(isAttention) {}

  FailureOr<SmallVector<FusionGroup>> run();

private:
  LogicalResult collectFacts();
  const KernelFacts *getFacts(Operation *call) const;
  bool isProduct(Operation *call) const;
  CallTIROp getProducer(Value value) const;
  bool isUsedInside(Operation *call, const Calls &group) const;

  Calls findCore(CallTIROp last) const;
  Calls findPath(CallTIROp last, Value weights) const;
  void addProducers(Calls &group) const;
  CallTIROp findMove(CallTIROp last) const;
  std::optional<FusionGroup> makeGroup(const Calls &calls, CallTIROp last);

  Block &block;
  KernelFactsCache &kernels;
  unsigned maxCalls;
  IsAttention isAttention;
  llvm::DenseMap<Operation *, const KernelFacts *> facts;
  Calls taken;
};
} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult AttentionFinder::collectFacts() {
  for (auto call : block.getOps<CallTIROp>()) {
    FailureOr<const KernelFacts *> found = kernels.lookup(call.getCallee());
    if (failed(found))
      return failure();
    if (*found && (*found)->isMergeable && isMovable(call) &&
        isa<TensorStructInfoType>(call.getResult().getType()))
      facts[call] = *found;
  }
  return success();
}

/// Null for what cannot be part of a group.
const KernelFacts *AttentionFinder::getFacts(Operation *call) const {
  return facts.lookup(call);
}

bool AttentionFinder::isProduct(Operation *call) const {
  const KernelFacts *known = getFacts(call);
  return known && known->pattern == OpPattern::OutElementwiseFusable;
}

CallTIROp AttentionFinder::getProducer(Value value) const {
  auto call = value.getDefiningOp<CallTIROp>();
  return call && getFacts(call) && !taken.contains(call) ? call : CallTIROp();
}

bool AttentionFinder::isUsedInside(Operation *call, const Calls &group) const {
  return llvm::all_of(call->getUsers(),
                      [&](Operation *user) { return group.contains(user); });
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Returns the calls between a product and the only one that `weights` is made
/// of, and both of these.
Calls AttentionFinder::findPath(CallTIROp last, Value weights) const {
  Calls behind; // the first product, or made of it; in any order
  CallTIROp first;
  SmallVector<Operation *> next = {getProducer(weights)};
  Calls seen;
  while (!next.empty()) {
    Operation *op = next.pop_back_val();
    if (!op || !seen.insert(op))
      continue;
    auto call = cast<CallTIROp>(op);
    if (isProduct(call)) {
      if (first || seen.size() == 1)
        return {};
      first = call;
      continue;
    }
    if (seen.size() > maxCalls)
      return {};
    for (Value arg : call.getArgs())
      if (CallTIROp producer = getProducer(arg))
        next.push_back(producer);
  }
  if (!first)
    return {};
  behind.insert(first);
  SmallVector<Operation *> inOrder(seen.begin(), seen.end());
  llvm::sort(inOrder, [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  });
  for (Operation *op : inOrder)
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return behind.contains(operand.getDefiningOp());
        }))
      behind.insert(op);
  behind.insert(last);
  bool isWhole = llvm::all_of(behind, [&](Operation *op) {
    return op == last || isUsedInside(op, behind);
  });
  bool hasSoftmax = llvm::any_of(behind, [&](Operation *op) {
    return getFacts(op)->hasReduction && !isProduct(op);
  });
  return isWhole && hasSoftmax ? behind : Calls();
}

/// The calls without which there is no attention; none where there is none.
Calls AttentionFinder::findCore(CallTIROp last) const {
  Calls core;
  if (isAttentionKernel(getFacts(last)->kernel))
    core.insert(last);
  if (!isProduct(last))
    return core;
  for (Value arg : last.getArgs())
    if (core = findPath(last, arg); !core.empty())
      return core;
  return core;
}

/// Adds calls that move or scale elements for the group alone.
void AttentionFinder::addProducers(Calls &group) const {
  for (unsigned i = 0; i < group.size(); ++i)
    for (Value arg : cast<CallTIROp>(group[i]).getArgs()) {
      CallTIROp producer = getProducer(arg);
      if (!producer || group.contains(producer))
        continue;
      const KernelFacts &known = *getFacts(producer);
      if (known.elementwise && known.isCheap && !known.hasBooleans &&
          isUsedInside(producer, group))
        group.insert(producer);
    }
}

/// The call that does nothing but move the elements of the result.
CallTIROp AttentionFinder::findMove(CallTIROp last) const {
  if (!last->hasOneUse())
    return {};
  auto move = dyn_cast<CallTIROp>(*last->getUsers().begin());
  const KernelFacts *known = move ? getFacts(move) : nullptr;
  bool isMove = known && known->elementwise && known->isCheap &&
                known->pattern == OpPattern::Injective &&
                move.getArgs().size() == 1;
  return isMove ? move : CallTIROp();
}

/// The group of these calls where it is attention, and nothing that updates
/// tensors lies between.
std::optional<FusionGroup> AttentionFinder::makeGroup(const Calls &calls,
                                                      CallTIROp last) {
  if (calls.size() < 2 || calls.size() > maxCalls)
    return std::nullopt;
  FusionGroup group;
  group.last = last;
  for (Operation *op : calls)
    if (op != last)
      group.ops.push_back(op);
  llvm::sort(group.ops, [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  });
  for (Operation *op = group.ops.front(); op != last; op = op->getNextNode())
    if (isa<CallTIRInplaceOp, CallInplacePackedOp>(op))
      return std::nullopt;
  if (!isAttention(group))
    return std::nullopt;
  return group;
}

FailureOr<SmallVector<FusionGroup>> AttentionFinder::run() {
  SmallVector<FusionGroup> groups;
  if (failed(collectFacts()))
    return failure();
  for (auto last : block.getOps<CallTIROp>()) {
    if (!getFacts(last) || taken.contains(last))
      continue;
    Calls core = findCore(last);
    if (core.empty())
      continue;
    Calls whole = core;
    addProducers(whole);
    // The most that is one kernel.
    std::optional<FusionGroup> group;
    if (CallTIROp move = findMove(last))
      for (Calls calls : {whole, core})
        if (!group) {
          calls.insert(move);
          group = makeGroup(calls, move);
        }
    for (const Calls &calls : {whole, core})
      if (!group)
        group = makeGroup(calls, last);
    if (!group)
      continue;
    taken.insert_range(group->ops);
    taken.insert(group->last);
    groups.push_back(std::move(*group));
  }
  return groups;
}

FailureOr<SmallVector<FusionGroup>>
mlir::relax::findAttentionGroups(Block &block, KernelFactsCache &kernels,
                                 unsigned maxCalls, IsAttention isAttention) {
  return AttentionFinder(block, kernels, maxCalls, isAttention).run();
}
