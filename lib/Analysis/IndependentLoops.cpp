//===- IndependentLoops.cpp - Loops whose iterations are apart --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/IndependentLoops.h"

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::relax;

/// Whether an operation touches no memory that its operands do not name. A
/// prefetch, which MLIR keeps by calling it a write, changes none.
static bool hasKnownAccesses(Operation *op) {
  return isa<memref::AllocOp, memref::AllocaOp, memref::PrefetchOp>(op) ||
         op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
         op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op);
}

/// Returns a number that a value does not exceed, if one is known.
static std::optional<int64_t> getMost(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    return getMost(cast.getIn());
  auto least = value.getDefiningOp<arith::MinSIOp>();
  if (!least)
    return std::nullopt;
  std::optional<int64_t> lhs = getMost(least.getLhs()),
                         rhs = getMost(least.getRhs());
  return lhs && rhs ? std::min(*lhs, *rhs) : lhs ? lhs : rhs;
}

/// Returns an end of the values that an index has, from 0 on, if one is known.
static std::optional<int64_t> getEnd(Value index) {
  APInt value;
  if (matchPattern(index, m_ConstantInt(&value)))
    return value.isNegative() ? std::nullopt
                              : std::optional(value.getSExtValue() + 1);
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  if (!loop || index != loop.getInductionVar() ||
      !matchPattern(loop.getLowerBound(), m_Zero()))
    return std::nullopt;
  return getMost(loop.getUpperBound());
}

/// How many indices an iteration has of its own, if the index is one of them:
/// the number of the iteration itself, or the constant n times it, and what is
/// from 0 to less than n. Otherwise 0.
static int64_t getBlock(Value index, Value iteration) {
  if (index == iteration)
    return 1;
  Value first = index;
  int64_t end = 1;
  if (auto sum = index.getDefiningOp<arith::AddIOp>()) {
    first = sum.getLhs();
    std::optional<int64_t> known = getEnd(sum.getRhs());
    if (!known)
      return 0;
    end = *known;
  }
  auto product = first.getDefiningOp<arith::MulIOp>();
  APInt size;
  if (!product || product.getLhs() != iteration ||
      !matchPattern(product.getRhs(), m_ConstantInt(&size)))
    return 0;
  int64_t block = size.getSExtValue();
  return block > 0 && end <= block ? block : 0;
}

/// Whether a value is the same in all iterations of a loop.
static bool isInvariant(Value value, scf::ForOp loop) {
  if (!loop.getRegion().isAncestor(value.getParentRegion()))
    return true;
  Operation *op = value.getDefiningOp();
  return op && isPure(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isInvariant(operand, loop);
         });
}

/// Whether values are one, or computed in the same way, or both null.
static bool areEqual(Value lhs, Value rhs) {
  if (lhs == rhs)
    return true;
  auto first = dyn_cast_or_null<OpResult>(lhs),
       second = dyn_cast_or_null<OpResult>(rhs);
  if (!first || !second || first.getResultNumber() != second.getResultNumber())
    return false;
  return OperationEquivalence::isEquivalentTo(
      first.getOwner(), second.getOwner(),
      [](Value x, Value y) { return success(areEqual(x, y)); },
      /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

/// The number that is added to that of the iteration, the same in all of a
/// scope, which makes the index one of its own; null where there is none.
static Value getOffset(Value index, scf::ForOp loop, scf::ForOp scope) {
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getRhs() != loop.getInductionVar() ||
      !isInvariant(sum.getLhs(), scope))
    return {};
  return sum.getLhs();
}

/// The memref whose elements a value has, maybe in another shape, or some of
/// them.
static Value skipReshapes(Value memref) {
  Operation *op = memref.getDefiningOp();
  while (isa_and_nonnull<memref::CollapseShapeOp, memref::ExpandShapeOp,
                         memref::SubViewOp>(op)) {
    memref = op->getOperand(0);
    op = memref.getDefiningOp();
  }
  return memref;
}

bool mlir::relax::hasIndependentIterations(scf::ForOp loop, scf::ForOp scope) {
  struct Accesses {
    bool isWritten = false;
    /// For each axis, how many indices an iteration has of its own, which are
    /// those of all accesses; 0 where there are others. Where it has one, what
    /// is added to the number of the iteration.
    std::optional<SmallVector<int64_t>> blocks;
    SmallVector<Value> offsets;
  };
  llvm::MapVector<Value, Accesses> accesses;
  Value iteration = loop.getInductionVar();
  auto access = [&](Value memref, ValueRange indices, bool writes,
                    bool isVector = false) {
    Value whole = skipReshapes(memref);
    bool isView = whole != memref;
    memref = whole;
    if (loop.getRegion().isAncestor(memref.getParentRegion()))
      // Memory of the iteration, unless it is a view of something else.
      return memref.getDefiningOp<memref::AllocOp>() ||
             memref.getDefiningOp<memref::AllocaOp>();
    bool isParameter = isa<BlockArgument>(memref) &&
                       !scope.getRegion().isAncestor(memref.getParentRegion());
    if (!isParameter &&
        !isa_and_nonnull<memref::AllocOp, memref::AllocaOp,
                         memref::GetGlobalOp>(memref.getDefiningOp()))
      return false;
    Accesses &known = accesses[memref];
    known.isWritten |= writes;
    SmallVector<Value> offsets = llvm::map_to_vector(
        indices, [&](Value index) { return getOffset(index, loop, scope); });
    SmallVector<int64_t> blocks = llvm::map_to_vector(
        llvm::zip(indices, offsets), [&](auto both) -> int64_t {
          auto [index, offset] = both;
          return offset ? 1 : getBlock(index, iteration);
        });
    if (isView) // whose dimensions are others
      blocks.clear();
    else if (isVector)
      blocks.back() = 0;
    if (known.blocks && known.blocks->size() != blocks.size())
      blocks.clear();
    for (size_t dim = 0; known.blocks && dim < blocks.size(); ++dim)
      if (blocks[dim] != (*known.blocks)[dim] ||
          !areEqual(offsets[dim], known.offsets[dim]))
        blocks[dim] = 0;
    known.blocks = blocks;
    known.offsets = offsets;
    return true;
  };
  WalkResult walk = scope.getBody()->walk([&](Operation *op) {
    bool isKnown = hasKnownAccesses(op);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      isKnown = access(load.getMemref(), load.getIndices(), false);
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      isKnown = !isa<MemRefType>(store.getValue().getType()) &&
                access(store.getMemref(), store.getIndices(), true);
    else if (auto transfer = dyn_cast<VectorTransferOpInterface>(op))
      isKnown = isa<MemRefType>(transfer.getShapedType()) &&
                transfer.getVectorType().getRank() == 1 &&
                transfer.getPermutationMap().isMinorIdentity() &&
                access(transfer.getBase(), transfer.getIndices(),
                       isa<vector::TransferWriteOp>(op), /*isVector=*/true);
    else if (auto dealloc = dyn_cast<memref::DeallocOp>(op))
      isKnown =
          dealloc.getMemref().getDefiningOp<memref::AllocOp>() &&
          loop.getRegion().isAncestor(dealloc.getMemref().getParentRegion());
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return false;
  return llvm::all_of(accesses, [](const auto &entry) {
    return !entry.second.isWritten ||
           llvm::any_of(*entry.second.blocks,
                        [](int64_t block) { return block != 0; });
  });
}

bool mlir::relax::isKnownIndependent(scf::ForOp loop) {
  auto kind = RelaxDialect::LoopAttrHelper(loop.getContext()).getAttr(loop);
  return kind && kind.getValue() == "independent";
}
