//===- FuseLoops.cpp - Fuse producers into consumers ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fuses elementwise producers into their consumers, within one kernel. The
// operations on an element stay the same ones in the same order, so results are
// bitwise equal. Contractions and sliding windows keep the form by which they
// are recognized, but for the indexing maps of operands whose dimensions are
// permuted.
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"
#include "relax-mlir/Analysis/OpPattern.h"
#include "relax-mlir/Codegen/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// A tensor and one of its axes.
using Axis = std::pair<Value, int64_t>;

/// The axis of a tensor that was there before and is as long; nothing where
/// there is none.
static std::optional<Axis> findSizeSource(Axis axis) {
  auto [tensor, number] = axis;
  Operation *op = tensor.getDefiningOp();
  if (auto dps = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return Axis(dps.getTiedOpOperand(cast<OpResult>(tensor))->get(), number);
  if (auto cast = dyn_cast_or_null<tensor::CastOp>(op))
    return Axis(cast.getSource(), number);
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    if (std::optional<int64_t> source = findSourceAxis(expand, number))
      return Axis(expand.getSrc(), *source);
  return std::nullopt;
}

/// Has dimensions be read from parameters instead of from what is computed.
static void resolveDims(RewriterBase &rewriter, func::FuncOp kernel) {
  kernel.walk([&](tensor::DimOp dim) {
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!index)
      return;
    Axis found = {dim.getSource(), *index};
    while (std::optional<Axis> before = findSizeSource(found))
      found = *before;
    auto [source, axis] = found;
    auto type = dyn_cast<RankedTensorType>(source.getType());
    if (!type || axis < 0 || axis >= type.getRank())
      return;
    rewriter.setInsertionPoint(dim);
    if (auto empty = source.getDefiningOp<tensor::EmptyOp>();
        empty && type.isDynamicDim(axis))
      rewriter.replaceOp(dim, empty.getDynamicSize(axis));
    else if (!type.isDynamicDim(axis))
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(
          dim, type.getDimSize(axis));
    else
      rewriter.replaceOpWithNewOp<tensor::DimOp>(dim, source, axis);
  });
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The scalar that all elements of `tensor` are, usable at `op`; null where
/// they are not known to be one.
static Value findScalar(RewriterBase &rewriter, Value tensor,
                        linalg::GenericOp op) {
  Type element = getElementTypeOrSelf(tensor.getType());
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.getInputs()[0].getType() == element ? fill.getInputs()[0]
                                                    : Value();
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  if (!splat)
    return {};
  rewriter.setInsertionPoint(op);
  return arith::ConstantOp::create(
      rewriter, op.getLoc(), cast<TypedAttr>(splat.getSplatValue<Attribute>()));
}

/// Puts scalars in place of tensors whose elements are all the same.
static void foldScalars(RewriterBase &rewriter, func::FuncOp kernel) {
  kernel.walk([&](linalg::GenericOp op) {
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument element = op.getMatchingBlockArgument(input);
      if (element.use_empty() || !isa<TensorType>(input->get().getType()))
        continue;
      if (Value scalar = findScalar(rewriter, input->get(), op))
        element.replaceAllUsesWith(scalar);
    }
  });
}

/// Has loops over elements read slices where they lie, not copies of these.
static void foldCopiedSlices(RewriterBase &rewriter, func::FuncOp kernel) {
  kernel.walk([&](linalg::GenericOp copy) {
    if (!linalg::isaCopyOpInterface(copy))
      return;
    Value slice = copy.getDpsInputs()[0], result = copy->getResult(0);
    auto isElement = [](OpOperand &use) {
      return isa<tensor::ExtractOp, tensor::DimOp>(use.getOwner());
    };
    if (slice.getDefiningOp<tensor::ExtractSliceOp>() &&
        slice.getType() == result.getType() &&
        llvm::all_of(result.getUses(), isElement))
      rewriter.replaceOp(copy, slice);
  });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Whether all readers of what `producer` makes may compute it themselves.
static bool mayGoIntoReaders(linalg::GenericOp producer) {
  if (producer->getNumResults() != 1 ||
      producer.getNumParallelLoops() != producer.getNumLoops() ||
      producer.payloadUsesValueFromOperand(producer.getDpsInitOperand(0)))
    return false;
  Operation *reader = nullptr;
  AffineMap place;
  for (OpOperand &use : producer->getUses()) {
    auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!op || !op.isDpsInput(&use) || isContractionOrWindow(op) ||
        !linalg::areElementwiseOpsFusable(&use))
      return false;
    AffineMap map = op.getMatchingIndexingMap(&use);
    bool isOnce = map.isPermutation() &&
                  (!reader || (reader == op.getOperation() && place == map));
    if (!isOnce && !isCheap(producer))
      return false;
    bool isParallel = op.getNumParallelLoops() == op.getNumLoops();
    if (!map.isPermutation() && !isParallel)
      return false;
    reader = op;
    place = map;
  }
  return reader != nullptr;
}

/// The first one of those that read what `producer` makes.
static OpOperand &getFirstReader(linalg::GenericOp producer) {
  OpOperand *first = nullptr;
  for (OpOperand &use : producer->getUses())
    if (!first || use.getOwner()->isBeforeInBlock(first->getOwner()))
      first = &use;
  return *first;
}

/// Whether the first reader of what `producer` makes, which is used elsewhere
/// too, may compute it and write both.
static bool mayShareLoops(linalg::GenericOp producer) {
  // Bodies of other loops may read elements of it, wherever these are.
  bool isHere = llvm::all_of(producer->getUsers(), [&](Operation *user) {
    return user->getBlock() == producer->getBlock();
  });
  if (!isHere || producer->use_empty() || !producer.isAllParallelLoops() ||
      llvm::any_of(producer.getDpsInitsMutable(), [&](OpOperand &init) {
        return producer.payloadUsesValueFromOperand(&init) ||
               !producer.getMatchingIndexingMap(&init).isIdentity();
      }))
    return false;
  OpOperand &use = getFirstReader(producer);
  auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
  return reader && reader.isAllParallelLoops() && reader.isDpsInput(&use) &&
         reader.getMatchingIndexingMap(&use).isIdentity() &&
         linalg::areElementwiseOpsFusable(&use) &&
         llvm::count_if(reader->getOperands(), [&](Value operand) {
           return operand.getDefiningOp() == producer;
         }) == 1;
}

/// Puts `producer` into the first one of those that read it, which also makes
/// what others read if it shares its loops.
static LogicalResult fuseIntoReader(RewriterBase &rewriter,
                                    linalg::GenericOp producer,
                                    bool sharesLoops) {
  OpOperand &use = getFirstReader(producer);
  auto reader = cast<linalg::GenericOp>(use.getOwner());
  rewriter.setInsertionPoint(reader);
  FailureOr<linalg::ElementwiseOpFusionResult> fused =
      linalg::fuseElementwiseOps(rewriter, &use);
  if (failed(fused))
    return failure();
  for (auto [result, replacement] : fused->replacements)
    if (sharesLoops || result.getDefiningOp() == reader)
      rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(reader);
  return success();
}

/// The first operation of `body` that may go into what reads it; null where
/// there is none.
static linalg::GenericOp findProducer(Block &body) {
  for (auto producer : body.getOps<linalg::GenericOp>())
    if (mayGoIntoReaders(producer))
      return producer;
  return {};
}

/// The last operation of `body` that may share its loops with a reader, so that
/// none reads two results of one before it; null where there is none.
static linalg::GenericOp findSharedLoops(Block &body) {
  for (Operation &op : llvm::reverse(body))
    if (auto producer = dyn_cast<linalg::GenericOp>(op);
        producer && mayShareLoops(producer))
      return producer;
  return {};
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Has elementwise consumers of what is collapsed run over the expanded space,
/// and collapses their results: groups of channels stay groups to the end.
static void sinkCollapses(IRRewriter &rewriter, func::FuncOp kernel) {
  auto isElementwise = [](Operation *op) {
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    return generic && generic.isAllParallelLoops();
  };
  auto mayExpand = [&](OpOperand *operand) {
    auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
    return collapse && isElementwise(operand->getOwner()) &&
           isElementwise(collapse.getSrc().getDefiningOp());
  };
  if (llvm::none_of(kernel.getOps<tensor::CollapseShapeOp>(), [&](auto op) {
        return llvm::any_of(op->getUses(),
                            [&](OpOperand &use) { return mayExpand(&use); });
      }))
    return;
  RewritePatternSet patterns(kernel.getContext());
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, mayExpand);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                     kernel.getContext());
  // Consumers that are not expanded read what is collapsed before them.
  (void)applyPatternsGreedily(kernel, std::move(patterns));
  resolveDims(rewriter, kernel);
}

//===----------------------------------------------------------------------===//
// Operands of products
//===----------------------------------------------------------------------===//

/// Has products read what permutes dimensions through their maps.
static void foldPermutations(RewriterBase &rewriter, func::FuncOp kernel) {
  SmallVector<linalg::LinalgOp> products;
  for (auto op : kernel.getBody().front().getOps<linalg::LinalgOp>())
    if (isContractionOrWindow(op) &&
        llvm::any_of(op.getDpsInputs(), [](Value input) {
          auto source = input.getDefiningOp<linalg::LinalgOp>();
          return source && isPermutation(source);
        }))
      products.push_back(op);
  for (linalg::LinalgOp product : products) {
    auto op = dyn_cast<linalg::GenericOp>(product.getOperation());
    rewriter.setInsertionPoint(product);
    if (!op) {
      FailureOr<linalg::GenericOp> general =
          linalg::generalizeNamedOp(rewriter, product);
      if (failed(general))
        continue;
      op = *general;
    }
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (OpOperand *input : op.getDpsInputOperands()) {
      auto source = input->get().getDefiningOp<linalg::LinalgOp>();
      if (!source || !isPermutation(source))
        continue;
      OpOperand *from = source.getDpsInputOperand(0);
      AffineMap &map = maps[input->getOperandNumber()];
      map = source.getMatchingIndexingMap(from).compose(map);
      input->set(from->get());
      if (source->use_empty())
        rewriter.eraseOp(source);
    }
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The new tensor that `value` is written to by operations of which each
/// updates the result of the one before, which has no other use; null where
/// there is none.
static tensor::EmptyOp findMemory(Value value) {
  while (value.hasOneUse()) {
    if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
      return empty;
    auto op = value.getDefiningOp<linalg::LinalgOp>();
    if (!op)
      return {};
    value =
        op.getDpsInitOperand(cast<OpResult>(value).getResultNumber())->get();
  }
  return {};
}

/// The input of `op` that it may write over: it has no other use, and each
/// element is read where one is written.
static OpOperand *findOverwritten(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumParallelLoops() != op.getNumLoops())
    return nullptr;
  OpOperand *init = op.getDpsInitOperand(0);
  auto isDim = [](OpOperand &use) {
    return isa<tensor::DimOp>(use.getOwner());
  };
  bool isOnlyWritten = llvm::all_of(init->get().getUses(), [&](OpOperand &use) {
    return &use == init || isDim(use);
  });
  if (!op.getMatchingIndexingMap(init).isIdentity() ||
      op.payloadUsesValueFromOperand(init) || !isOnlyWritten)
    return nullptr;
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get().getType() == init->get().getType() &&
        op.getMatchingIndexingMap(input).isIdentity() &&
        input->get().getDefiningOp<linalg::LinalgOp>() &&
        findMemory(input->get()))
      return input;
  return nullptr;
}

/// Has operations on elements update what a product or reduction has made, as
/// if the kernels were called one by one: no memory but the output is needed.
static void writeInPlace(RewriterBase &rewriter, linalg::GenericOp op) {
  OpOperand *input = findOverwritten(op);
  if (!input)
    return;
  unsigned index = input->getOperandNumber();
  Value source = input->get(), output = op.getDpsInitOperand(0)->get();
  if (isa<BlockArgument>(output))
    rewriter.replaceOp(findMemory(source), output);
  SmallVector<Value> inputs = op.getDpsInputs();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  inputs.erase(inputs.begin() + index);
  maps.erase(maps.begin() + index);
  rewriter.setInsertionPoint(op);
  auto inPlace = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), inputs, ValueRange(source),
      maps, op.getIteratorTypesArray());
  inPlace.getRegion().takeBody(op.getRegion());
  Block &body = inPlace.getRegion().front();
  body.getArgument(index).replaceAllUsesWith(body.getArguments().back());
  body.eraseArgument(index);
  rewriter.replaceOp(op, inPlace.getResults());
}

void mlir::relax::fuseLoops(func::FuncOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  resolveDims(rewriter, kernel);
  foldScalars(rewriter, kernel);
  foldCopiedSlices(rewriter, kernel);
  RewritePatternSet patterns(kernel.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  // A reader of one tensor in two places reads it once after that. Whether all
  // patterns were applied does not matter.
  (void)applyPatternsGreedily(kernel, frozen);
  if (isAttentionKernel(kernel))
    return; // its class computes all of that where it needs it
  foldPermutations(rewriter, kernel);
  sinkCollapses(rewriter, kernel);
  Block &body = kernel.getBody().front();
  bool hasResults = body.getTerminator()->getNumOperands() > 1;
  while (true) {
    linalg::GenericOp producer = findProducer(body);
    bool sharesLoops = !producer && hasResults;
    if (sharesLoops)
      producer = findSharedLoops(body);
    if (!producer || failed(fuseIntoReader(rewriter, producer, sharesLoops)))
      break;
    if (producer->use_empty())
      rewriter.eraseOp(producer);
    (void)applyPatternsGreedily(kernel, frozen);
  }
  SmallVector<linalg::GenericOp> ops(body.getOps<linalg::GenericOp>());
  for (linalg::GenericOp op : ops)
    writeInPlace(rewriter, op);
}
