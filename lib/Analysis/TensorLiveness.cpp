//===- TensorLiveness.cpp - Live ranges of tensors --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// - Casts, views, tuples, fields and branches give a tensor other names: it is
//   live while one of them is.
// - Where its last use is in a branch, it is live in those branches only that
//   use it.
// - Whatever is not known to only look at a tensor may keep it.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/TensorLiveness.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

void LiveRanges::add(unsigned begin, unsigned end) {
  Range range{begin, end};
  auto first = llvm::find_if(
      ranges, [&](const Range &other) { return other.end + 1 >= begin; });
  auto last = std::find_if(first, ranges.end(), [&](const Range &other) {
    return other.begin > end + 1;
  });
  if (first != last) {
    range.begin = std::min(begin, first->begin);
    range.end = std::max(end, std::prev(last)->end);
  }
  auto at = ranges.erase(first, last);
  ranges.insert(at, range);
}

void LiveRanges::unite(const LiveRanges &other) {
  for (const Range &range : other.ranges)
    add(range.begin, range.end);
}

/// Calls back for each range that both have in common, until one returns false.
static bool
forEachOverlap(ArrayRef<LiveRanges::Range> lhs, ArrayRef<LiveRanges::Range> rhs,
               llvm::function_ref<bool(unsigned begin, unsigned end)> visit) {
  while (!lhs.empty() && !rhs.empty()) {
    unsigned begin = std::max(lhs.front().begin, rhs.front().begin);
    unsigned end = std::min(lhs.front().end, rhs.front().end);
    if (begin <= end && !visit(begin, end))
      return false;
    if (lhs.front().end < rhs.front().end)
      lhs = lhs.drop_front();
    else
      rhs = rhs.drop_front();
  }
  return true;
}

bool LiveRanges::overlaps(const LiveRanges &other) const {
  return !forEachOverlap(ranges, other.ranges,
                         [](unsigned, unsigned) { return false; });
}

bool LiveRanges::endsAt(unsigned point) const {
  return llvm::any_of(ranges,
                      [&](const Range &range) { return range.end == point; });
}

bool LiveRanges::meetsOnlyAt(const LiveRanges &other, unsigned point) const {
  return forEachOverlap(ranges, other.ranges,
                        [&](unsigned begin, unsigned end) {
                          return begin == point && end == point;
                        });
}

//===----------------------------------------------------------------------===//
// Aliases
//===----------------------------------------------------------------------===//

/// The value under which `use` makes the tensor known, if any. `escapes` is set
/// where it may be kept.
static Value passOn(OpOperand &use, bool &escapes) {
  Operation *user = use.getOwner();
  if (isa<ViewLikeOpInterface, TupleOp, GetItemOp, ADTMakeOp>(user))
    return user->getResult(0);
  if (isa<YieldOp>(user))
    if (auto branch = dyn_cast<IfOp>(user->getParentOp()))
      return branch->getResult(0);
  // These look at it, or write it.
  escapes |= !isa<CallKernelOp, CheckOp, CheckShapeOp, DimOp, IfOp, KillOp,
                  ShapeOfOp, TagOp, ToDeviceOp, ToVDeviceOp>(user);
  return {};
}

bool mlir::relax::collectTensorAliases(Value value,
                                       SmallVectorImpl<Value> &aliases) {
  llvm::SmallPtrSet<Value, 8> seen = {value};
  bool escapes = false;
  size_t next = aliases.size();
  aliases.push_back(value);
  for (; next < aliases.size(); ++next)
    for (OpOperand &use : aliases[next].getUses()) {
      Value alias = passOn(use, escapes);
      if (alias && seen.insert(alias).second)
        aliases.push_back(alias);
    }
  return !escapes;
}

//===----------------------------------------------------------------------===//
// Liveness
//===----------------------------------------------------------------------===//

TensorLiveness::TensorLiveness(FuncOp func) {
  unsigned next = 0;
  number(func.getBody().front(), next);
  func.walk<WalkOrder::PreOrder>([&](AllocTensorOp alloc) {
    tensors.emplace_back().alloc = alloc;
    LiveTensor &tensor = tensors.back();
    tensor.escapes = !collectTensorAliases(alloc.getResult(), tensor.aliases);
    for (Value alias : tensor.aliases) {
      references[alias].push_back(tensors.size() - 1);
      addRange(tensor, alias, tensor.ranges);
    }
  });
}

/// An operation with regions has the numbers from its own to the one after
/// everything in it, where its result is defined.
void TensorLiveness::number(Block &block, unsigned &next) {
  for (Operation &op : block) {
    unsigned begin = next++;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        number(inner, next);
    numbers[&op] = {begin, op.getNumRegions() == 0 ? begin : next++};
  }
}

ArrayRef<unsigned> TensorLiveness::getTensors(Value value) const {
  auto found = references.find(value);
  return found == references.end() ? ArrayRef<unsigned>() : found->second;
}

void TensorLiveness::addRange(const LiveTensor &tensor, Value value,
                              LiveRanges &ranges) {
  SmallVector<Operation *> users;
  for (Operation *user : value.getUsers())
    if (!isa<KillOp>(user))
      users.push_back(user);
  Operation *definition = value.getDefiningOp();
  Block &block = *definition->getBlock();
  unsigned begin = numbers.lookup(definition).end;
  // Before something is written to it, the tensor holds nothing.
  if (value == tensor.aliases.front() && !users.empty()) {
    begin = ~0u;
    for (Operation *user : users)
      begin = std::min(
          begin, numbers.lookup(block.findAncestorOpInBlock(*user)).begin);
  }
  addRange(block, begin, users, ranges);
}

/// Adds what lies between `begin` and the last of `users`, all in `block`.
void TensorLiveness::addRange(Block &block, unsigned begin,
                              ArrayRef<Operation *> users, LiveRanges &ranges) {
  Operation *last = nullptr;
  for (Operation *user : users) {
    Operation *ancestor = block.findAncestorOpInBlock(*user);
    if (!last || last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  unsigned end = last ? numbers.lookup(last).begin : begin;
  ranges.add(begin, std::max(begin, end));
  if (!last)
    return;
  for (Region &region : last->getRegions())
    for (Block &inner : region) {
      SmallVector<Operation *> inside =
          llvm::filter_to_vector(users, [&](Operation *user) {
            return inner.findAncestorOpInBlock(*user) != nullptr;
          });
      if (!inside.empty())
        addRange(inner, numbers.lookup(&inner.front()).begin, inside, ranges);
    }
}

bool TensorLiveness::areExclusive(Operation *lhs, Operation *rhs) {
  for (Operation *above = lhs; above; above = above->getParentOp()) {
    auto branch = dyn_cast_or_null<IfOp>(above->getParentOp());
    if (!branch || !branch->isProperAncestor(rhs))
      continue;
    Region *region = above->getParentRegion();
    return !region->isAncestor(rhs->getParentRegion());
  }
  return false;
}

bool TensorLiveness::interfere(unsigned lhs, unsigned rhs) const {
  return tensors[lhs].ranges.overlaps(tensors[rhs].ranges) &&
         !areExclusive(tensors[lhs].alloc, tensors[rhs].alloc);
}
