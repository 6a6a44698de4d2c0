//===- RowLaunch.cpp - Operations that share rows ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax, normalizations and reductions: operations one after the other that
// share the loops over rows become one launch, which RowEmitter emits.
//
//===----------------------------------------------------------------------===//

#include "RowLaunch.h"

#include "RowEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Operations on rows
//===----------------------------------------------------------------------===//

static bool beginsWithRow(AffineMap map, unsigned numRowDims) {
  if (map.getNumResults() < numRowDims)
    return false;
  for (unsigned i = 0; i < numRowDims; ++i)
    if (map.getResult(i) != getAffineDimExpr(i, map.getContext()))
      return false;
  return true;
}

/// Whether lanes along the last loop read neighbours, which no other row reads.
/// Windows share what they read, and so do rows and columns of products: they
/// had better have a thread for each result.
static bool hasOwnRows(linalg::GenericOp op) {
  AffineExpr last = getAffineDimExpr(op.getNumLoops() - 1, op.getContext());
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return op.payloadUsesValueFromOperand(operand) && map.isPermutation() &&
           map.getResults().back() == last;
  });
}

std::optional<RowStep> RowStep::get(linalg::GenericOp op, unsigned numRowDims) {
  if (op.getNumLoops() < numRowDims || !op.hasPureBufferSemantics())
    return std::nullopt;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  auto isParallel = [](utils::IteratorType kind) {
    return kind == utils::IteratorType::parallel;
  };
  if (!llvm::all_of(ArrayRef(kinds).take_front(numRowDims), isParallel))
    return std::nullopt;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!beginsWithRow(op.getMatchingIndexingMap(&init), numRowDims))
      return std::nullopt;
  RowStep step{op, std::nullopt, std::nullopt};
  auto rest = ArrayRef(kinds).drop_front(numRowDims);
  if (llvm::all_of(rest, isParallel)) {
    // Each place is written once.
    for (OpOperand &init : op.getDpsInitsMutable())
      if (op.getMatchingIndexingMap(&init).getNumResults() != op.getNumLoops())
        return std::nullopt;
    return step;
  }
  if (llvm::any_of(rest, isParallel) || !hasOwnRows(op))
    return std::nullopt;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.getMatchingIndexingMap(&init).getNumResults() != numRowDims)
      return std::nullopt;
  step.reduction = Reduction::get(op);
  if (!step.reduction)
    step.best = BestElement::get(op);
  return step.reduces() ? std::optional(step) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Groups of operations
//===----------------------------------------------------------------------===//

namespace {
/// The size of a dimension: a number, or that of a parameter.
struct SizeKey {
  Value memref;
  int64_t dim;
  bool operator==(const SizeKey &other) const {
    return memref == other.memref && dim == other.dim;
  }
};
} // namespace

/// Where the size of a dimension comes from.
static SizeKey findSize(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return {Value(), type.getDimSize(dim)};
  if (auto alloc = memref.getDefiningOp<memref::AllocOp>()) {
    Value size = alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)];
    if (auto of = size.getDefiningOp<memref::DimOp>())
      if (std::optional<int64_t> index = of.getConstantIndex())
        return findSize(of.getSource(), *index);
    return {size, -1};
  }
  return {memref, dim};
}

/// Where the size of a loop comes from: all operands agree on it.
static SmallVector<SizeKey> findLoopSize(linalg::GenericOp op, unsigned loop) {
  SmallVector<SizeKey> keys;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (expr == getAffineDimExpr(loop, op.getContext()))
        keys.push_back(findSize(operand.get(), dim));
  }
  return keys;
}

static bool haveSameRows(linalg::GenericOp lhs, linalg::GenericOp rhs,
                         unsigned numRowDims) {
  for (unsigned loop = 0; loop < numRowDims; ++loop) {
    SmallVector<SizeKey> others = findLoopSize(rhs, loop);
    if (llvm::none_of(findLoopSize(lhs, loop), [&](const SizeKey &key) {
          return llvm::is_contained(others, key);
        }))
      return false;
  }
  return true;
}

namespace {
/// Whether rows depend on no other rows: memory that one step writes and
/// another one uses is used at the row.
class RowDependences {
public:
  explicit RowDependences(unsigned numRowDims) : numRowDims(numRowDims) {}

  bool add(linalg::GenericOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value memref = operand.get();
      if (!isa<MemRefType>(memref.getType()))
        continue;
      Value root = memref::skipViewLikeOps(cast<MemrefValue>(memref));
      bool isOfRow =
          root == memref &&
          beginsWithRow(op.getMatchingIndexingMap(&operand), numRowDims);
      if (!isOfRow)
        elsewhere.insert(root);
      if (op.isDpsInit(&operand))
        written.insert(root);
    }
    // Bodies may read memory themselves.
    for (Operation &inner : op.getRegion().front())
      elsewhere.insert_range(findBuffers(&inner));
    return llvm::none_of(written,
                         [&](Value root) { return elsewhere.contains(root); });
  }

private:
  unsigned numRowDims;
  llvm::SetVector<Value> written, elsewhere;
};
} // namespace

size_t mlir::relax::launchRows(ArrayRef<linalg::GenericOp> ops) {
  // The loops over rows are those of the first operation that reduces.
  const auto *reducing = llvm::find_if(
      ops, [](linalg::GenericOp op) { return op.getNumReductionLoops() > 0; });
  if (reducing == ops.end())
    return 0;
  linalg::GenericOp first = *reducing;
  unsigned numRowDims = first.getNumParallelLoops();
  SmallVector<RowStep> steps;
  RowDependences dependences(numRowDims);
  bool reduces = false;
  for (linalg::GenericOp op : ops) {
    std::optional<RowStep> step = RowStep::get(op, numRowDims);
    if (!step || !haveSameRows(op, first, numRowDims) || !dependences.add(op))
      break;
    reduces |= step->reduces();
    steps.push_back(*step);
  }
  if (!reduces)
    return 0;
  IndexBuilder b(first.getLoc(), steps.back().op);
  RowEmitter(b, steps, numRowDims).emit();
  for (RowStep &step : steps)
    step.op.erase();
  return steps.size();
}
