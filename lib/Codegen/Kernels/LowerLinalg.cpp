//===- LowerLinalg.cpp - The generic route ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers, after bufferization, the operations of kernels that no class matched:
// to loops over vectors where there is a GenericPlan, and to scalar loops
// otherwise. The outermost loop of either is parallel. Copies of parts of
// memory that bufferization has made are such operations, too.
//
//===----------------------------------------------------------------------===//

#include "GenericEmitter.h"
#include "KernelClass.h"
#include "VectorBody.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWERLINALGPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// The outermost loop that threads may share: iterations write different
/// elements. Nothing where there is none.
static std::optional<unsigned> findParallelDim(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::parallel)
      return std::nullopt;
    bool isWritten =
        llvm::all_of(op.getDpsInitsMutable(), [&, dim = dim](OpOperand &init) {
          return llvm::is_contained(
              op.getMatchingIndexingMap(&init).getResults(),
              getAffineDimExpr(dim, op.getContext()));
        });
    if (isWritten && sizes[dim] != 1)
      return dim;
  }
  return std::nullopt;
}

/// Returns the number of iterations of a loop that are worth a thread.
static int64_t getGrain(linalg::LinalgOp op, unsigned parallelDim) {
  int64_t work = estimateCost(op) + 4;
  for (auto [dim, size] : llvm::enumerate(op.getStaticLoopRanges()))
    if (dim != parallelDim)
      work *= ShapedType::isDynamic(size) ? 64 : std::max<int64_t>(size, 1);
  return std::max<int64_t>((1 << 14) / work, 1);
}

static void makeParallel(scf::ForOp loop, int64_t grain) {
  IndexBuilder b(loop.getLoc(), loop);
  auto parallel = scf::ParallelOp::create(b, loop.getLowerBound(),
                                          loop.getUpperBound(), loop.getStep());
  RelaxDialect::GrainAttrHelper(b.getContext())
      .setAttr(parallel, b.getI64IntegerAttr(grain));
  Block *from = loop.getBody(), *to = parallel.getBody();
  loop.getInductionVar().replaceAllUsesWith(parallel.getInductionVars()[0]);
  to->getOperations().splice(to->begin(), from->getOperations(), from->begin(),
                             std::prev(from->end()));
  loop.erase();
}

/// Loops that reduce go inside of the others.
static linalg::LinalgOp putParallelLoopsFirst(RewriterBase &rewriter,
                                              linalg::LinalgOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(*op);
  if (!generic)
    return op;
  SmallVector<unsigned> order, reductions;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    (kind == utils::IteratorType::parallel ? order : reductions).push_back(dim);
  llvm::append_range(order, reductions);
  if (llvm::is_sorted(order))
    return op;
  FailureOr<linalg::GenericOp> sorted =
      linalg::interchangeGenericOp(rewriter, generic, order);
  return succeeded(sorted) ? linalg::LinalgOp(*sorted) : op;
}

static LogicalResult lowerToElements(RewriterBase &rewriter,
                                     linalg::LinalgOp op) {
  op = putParallelLoopsFirst(rewriter, op);
  std::optional<unsigned> dim;
  if (!op->getParentOfType<scf::ParallelOp>() && !readsResultsElsewhere(op))
    dim = findParallelDim(op);
  int64_t grain = dim ? getGrain(op, *dim) : 1;
  FailureOr<linalg::LinalgLoops> loops = linalg::linalgOpToLoops(rewriter, op);
  if (failed(loops))
    return failure();
  // There is a loop for each dimension.
  if (dim && loops->size() == op.getNumLoops())
    if (auto loop = dyn_cast<scf::ForOp>((*loops)[*dim]))
      makeParallel(loop, grain);
  rewriter.eraseOp(op);
  return success();
}

/// Rows that turn out to be short are not reduced by lanes that have a part of
/// them each: lanes are rows then, or there are none.
static LogicalResult lowerToVectors(RewriterBase &rewriter, linalg::LinalgOp op,
                                    const GenericPlan &plan,
                                    const TargetModel &target) {
  IndexBuilder b(op.getLoc(), op);
  LogicalResult result = success();
  auto emitVectors = [&](IndexBuilder &inside) {
    GenericEmitter(plan).emit(inside);
  };
  Value size;
  if (plan.row)
    size = getValueOrCreateConstantIndexOp(
        b, b.getLoc(), op.createLoopRanges(b, b.getLoc())[plan.vectorDim].size);
  if (!size || getConstantIntValue(size)) {
    emitVectors(b);
  } else if (std::optional<GenericPlan> across =
                 GenericPlan::makeAcrossRows(op, target)) {
    b.branch(
        b.isAtMost(size, GenericPlan::kFewestOfRow - 1),
        [&](IndexBuilder &inside) { GenericEmitter(*across).emit(inside); },
        emitVectors);
  } else {
    b.branch(
        b.isAtMost(size, GenericPlan::kFewest - 1),
        [&](IndexBuilder &inside) {
          auto copy = cast<linalg::LinalgOp>(inside.clone(*op));
          OpBuilder::InsertionGuard guard(rewriter);
          rewriter.setInsertionPoint(copy);
          result = lowerToElements(rewriter, copy);
        },
        emitVectors);
  }
  rewriter.eraseOp(op);
  return result;
}

/// Whether elements are written to where they are read.
static bool isCopyToItself(linalg::LinalgOp op) {
  return linalg::isaCopyOpInterface(op) &&
         op.getDpsInputs()[0] == op.getDpsInits()[0];
}

/// Whole buffers are copied by `memcpy`, parts of them by loops.
static void lowerCopy(RewriterBase &rewriter, memref::CopyOp copy) {
  auto isWhole = [](Value memref) {
    auto type = dyn_cast<MemRefType>(memref.getType());
    return !type || type.getLayout().isIdentity();
  };
  if (isWhole(copy.getSource()) && isWhole(copy.getTarget()))
    return;
  rewriter.setInsertionPoint(copy);
  linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                           copy.getTarget());
  rewriter.eraseOp(copy);
}

namespace {
struct RelaxLowerLinalgPass
    : relax::impl::RelaxLowerLinalgPassBase<RelaxLowerLinalgPass> {
  using RelaxLowerLinalgPassBase::RelaxLowerLinalgPassBase;

  void runOnOperation() override {
    TargetModel target = TargetModel::get(getOperation());
    IRRewriter rewriter(&getContext());
    getOperation().walk(
        [&](memref::CopyOp copy) { lowerCopy(rewriter, copy); });
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics())
        continue;
      if (isCopyToItself(op)) {
        rewriter.eraseOp(op);
        continue;
      }
      rewriter.setInsertionPoint(op);
      std::optional<GenericPlan> plan = GenericPlan::make(op, target);
      if (!plan && GenericPlan::hasFewPerRow(op))
        plan = GenericPlan::makeAcrossRows(op, target);
      if (plan) {
        if (failed(lowerToVectors(rewriter, op, *plan, target)))
          return signalPassFailure();
        continue;
      }
      if (failed(lowerToElements(rewriter, op)))
        return signalPassFailure();
    }
  }
};
} // namespace
