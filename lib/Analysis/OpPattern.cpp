//===- OpPattern.cpp - Pattern kinds of kernels -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/OpPattern.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::relax;

StringRef mlir::relax::getOpPatternName(OpPattern pattern) {
  switch (pattern) {
  case OpPattern::Elementwise:
    return "elementwise";
  case OpPattern::Broadcast:
    return "broadcast";
  case OpPattern::Injective:
    return "injective";
  case OpPattern::Reduction:
    return "reduction";
  case OpPattern::OutElementwiseFusable:
    return "out-elementwise-fusable";
  case OpPattern::Tuple:
    return "tuple";
  case OpPattern::Opaque:
    return "opaque";
  }
  llvm_unreachable("unknown pattern");
}

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

bool mlir::relax::addsProducts(linalg::LinalgOp op) {
  auto addsProduct = [](Operation *product, Operation *sum) {
    return llvm::is_contained(product->getUsers(), sum) &&
           ((isa<arith::MulFOp>(product) && isa<arith::AddFOp>(sum)) ||
            (isa<arith::MulIOp>(product) && isa<arith::AddIOp>(sum)));
  };
  // What has one operand may come between elements and operations.
  auto isConversion = [](Operation &inner) {
    return inner.getNumOperands() != 1 ||
           isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp>(
               inner);
  };
  Block &body = *op.getBlock();
  return llvm::all_of(body.without_terminator(), isConversion) &&
         linalg::detail::isContractionBody(body, addsProduct);
}

/// Whether an input is read at places that several loops make.
static bool readsWindows(linalg::LinalgOp op) {
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    return !op.getMatchingIndexingMap(input).isProjectedPermutation(
        /*allowZeroInResults=*/true);
  });
}

bool mlir::relax::isContractionOrWindow(linalg::LinalgOp op) {
  if (op.isAllParallelLoops())
    return false;
  if (readsWindows(op))
    return true;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return addsProducts(op) && (getUnusedDimsBitVector(maps[0]).any() ||
                              getUnusedDimsBitVector(maps[1]).any());
}

bool mlir::relax::isConvolution(linalg::LinalgOp op) {
  return !op.isAllParallelLoops() && readsWindows(op) && addsProducts(op);
}

bool mlir::relax::isCheap(linalg::LinalgOp op) {
  constexpr unsigned kMostOps = 4;
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return false;
  unsigned count = 0;
  for (Operation &inner : op->getRegion(0).front().without_terminator()) {
    if (isa<arith::ConstantOp, linalg::IndexOp>(inner))
      continue;
    if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::MaxSIOp, arith::MinSIOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::CmpFOp, arith::CmpIOp, arith::SelectOp,
             arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
             arith::IndexCastOp, math::AbsFOp, math::AbsIOp>(inner) ||
        ++count > kMostOps)
      return false;
  }
  return true;
}

bool mlir::relax::isPermutation(linalg::LinalgOp op) {
  if (!op.isAllParallelLoops() || !op.isSingleInputOutput())
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  Block &body = *op.getBlock();
  return maps[0].isPermutation() && maps[1].isIdentity() &&
         body.getTerminator()->getOperand(0) == body.getArgument(0);
}

//===----------------------------------------------------------------------===//
// The kind of a kernel
//===----------------------------------------------------------------------===//

/// A place in the output, with dimensions left out or put as 0: the loops come
/// in the same order.
static bool isBroadcastMap(AffineMap map) {
  int64_t last = -1;
  for (AffineExpr expr : map.getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      if (constant.getValue() != 0)
        return false;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || static_cast<int64_t>(dim.getPosition()) <= last)
      return false;
    last = dim.getPosition();
  }
  return true;
}

/// Whether the body does more than compute: reads elements somewhere else, or
/// writes some.
static bool readsInBody(linalg::LinalgOp op) {
  return op
      ->walk([&](Operation *inner) {
        return inner != op.getOperation() &&
                       (isa<tensor::ExtractOp>(inner) ||
                        (inner->getNumRegions() == 0 &&
                         !inner->hasTrait<OpTrait::IsTerminator>() &&
                         !isMemoryEffectFree(inner)))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The kind of an operation over parallel loops.
static OpPattern getParallelPattern(linalg::LinalgOp op) {
  if (readsInBody(op))
    return OpPattern::Injective;
  OpPattern pattern = OpPattern::Elementwise;
  for (OpOperand *init : llvm::make_pointer_range(op.getDpsInitsMutable()))
    if (!op.getMatchingIndexingMap(init).isIdentity())
      return OpPattern::Injective;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!isa<ShapedType>(input->get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.isIdentity())
      continue;
    if (!isBroadcastMap(map))
      return OpPattern::Injective;
    pattern = OpPattern::Broadcast;
  }
  return pattern;
}

/// Whether an operation of a kernel gives no elements of its own.
static bool isAuxiliary(Operation &op) {
  return isa<arith::ConstantOp, tensor::DimOp, tensor::EmptyOp, tensor::CastOp,
             memref::DimOp, memref::AllocOp, memref::AllocaOp,
             memref::DeallocOp, func::ReturnOp>(op) ||
         (llvm::all_of(op.getResultTypes(),
                       [](Type type) { return type.isIntOrIndexOrFloat(); }) &&
          op.getNumRegions() == 0 && isMemoryEffectFree(&op));
}

/// Whether an operation puts elements to other positions.
static bool isMove(Operation &op) {
  return isa<tensor::ExtractSliceOp, tensor::InsertSliceOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ConcatOp,
             tensor::PadOp, tensor::ReshapeOp, memref::SubViewOp,
             memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CopyOp>(
      op);
}

/// A kernel that updates tensors, in one block.
static bool isOnTensors(func::FuncOp kernel) {
  return !kernel.isExternal() && kernel.getBody().hasOneBlock() &&
         kernel.getNumResults() > 0 &&
         kernel.getNumResults() <= kernel.getNumArguments() &&
         llvm::all_of(kernel.getArgumentTypes(),
                      [](Type type) {
                        return isa<RankedTensorType>(type) ||
                               type.isIntOrIndexOrFloat();
                      }) &&
         kernel.getResultTypes() ==
             kernel.getArgumentTypes().take_back(kernel.getNumResults()) &&
         llvm::all_of(kernel.getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// A kernel that writes to memrefs, in one block.
static bool isOnMemrefs(func::FuncOp kernel) {
  return !kernel.isExternal() && kernel.getBody().hasOneBlock() &&
         kernel.getNumResults() == 0 &&
         llvm::all_of(kernel.getArgumentTypes(), [](Type type) {
           return isa<MemRefType>(type) || type.isIntOrIndexOrFloat();
         });
}

OpPattern mlir::relax::computeOpPattern(func::FuncOp kernel) {
  if (!isOnTensors(kernel) && !isOnMemrefs(kernel))
    return OpPattern::Opaque;
  OpPattern pattern = OpPattern::Elementwise;
  unsigned anchors = 0;
  bool hasReduction = false, isAfterAnchorElementwise = true;
  Value anchor;
  for (Operation &op : kernel.getBody().front()) {
    if (isAuxiliary(op))
      continue;
    // Groups of channels become channels again where they are.
    if (isa<tensor::CollapseShapeOp>(op) && op.getOperand(0) == anchor)
      continue;
    if (isMove(op)) {
      pattern = std::max(pattern, OpPattern::Injective);
      isAfterAnchorElementwise &= anchors == 0;
      continue;
    }
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      return OpPattern::Opaque;
    if (isa<linalg::FillOp>(op))
      continue;
    if (linalgOp.isAllParallelLoops()) {
      OpPattern inner = getParallelPattern(linalgOp);
      isAfterAnchorElementwise &= anchors == 0 || inner <= OpPattern::Broadcast;
      pattern = std::max(pattern, inner);
    } else if (isContractionOrWindow(linalgOp)) {
      ++anchors;
      if (linalgOp->getNumResults() == 1)
        anchor = linalgOp->getResult(0);
    } else {
      hasReduction = true;
    }
  }
  if (anchors == 0)
    return hasReduction ? OpPattern::Reduction : pattern;
  return anchors == 1 && !hasReduction && isAfterAnchorElementwise
             ? OpPattern::OutElementwiseFusable
             : OpPattern::Opaque;
}

FailureOr<OpPattern> mlir::relax::getOpPattern(func::FuncOp kernel) {
  Attribute stated = kernel->getAttr(kOpPattern);
  if (!stated)
    return computeOpPattern(kernel);
  auto number = dyn_cast<IntegerAttr>(stated);
  if (number && number.getType().isIntOrIndex())
    switch (number.getValue().getSExtValue()) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 7:
    case 8:
      return static_cast<OpPattern>(number.getValue().getSExtValue());
    }
  return kernel.emitOpError()
         << "expected op_pattern to be the number of a kind of kernel, 0 to 4, "
            "7 or 8, but got "
         << stated;
}

//===----------------------------------------------------------------------===//
// KernelFacts
//===----------------------------------------------------------------------===//

/// A call from a body would be hidden from passes that look for calls.
static bool canBeMerged(func::FuncOp kernel) {
  return isOnTensors(kernel) &&
         llvm::all_of(kernel.getBody().front(), [](Operation &op) {
           return isMemoryEffectFree(&op) ||
                  op.hasTrait<OpTrait::IsTerminator>();
         });
}

/// Whether each operation of a body also exists on vectors, but for reads of
/// parameters where `mayRead`.
static bool hasVectorBody(linalg::LinalgOp op, bool mayRead = false) {
  return op->getNumRegions() == 1 && op->getRegion(0).hasOneBlock() &&
         llvm::all_of(op->getRegion(0).front().without_terminator(),
                      [mayRead](Operation &inner) {
                        auto read = dyn_cast<tensor::ExtractOp>(inner);
                        return isa<arith::ConstantOp, linalg::IndexOp>(inner) ||
                               (mayRead && read &&
                                isa<BlockArgument>(read.getTensor())) ||
                               (OpTrait::hasElementwiseMappableTraits(&inner) &&
                                inner.getNumResults() == 1);
                      });
}

/// Whether no loop is inside of one that reduces.
static bool reducesInnermost(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  return !llvm::is_contained(
      ArrayRef(loops).take_front(op.getNumParallelLoops()),
      utils::IteratorType::reduction);
}

BlockArgument mlir::relax::findSlicedParameter(tensor::ExtractSliceOp slice) {
  if (slice.getSourceType().getRank() != slice.getType().getRank() ||
      !slice.hasUnitStride() ||
      llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic))
    return {};
  return dyn_cast<BlockArgument>(slice.getSource());
}

std::optional<int64_t> mlir::relax::findSourceAxis(tensor::ExpandShapeOp expand,
                                                   int64_t axis) {
  for (auto [source, axes] : llvm::enumerate(expand.getReassociationIndices()))
    if (ArrayRef(axes) == ArrayRef(axis))
      return source;
  return std::nullopt;
}

/// Whether an operation only expands a parameter, or is a slice of one from a
/// known place on, or collapses what is returned.
static bool isViewOfParameter(Operation &op) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return isa<BlockArgument>(expand.getSrc());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return bool(findSlicedParameter(slice));
  return isa<tensor::CollapseShapeOp>(op) && op.hasOneUse() &&
         isa<func::ReturnOp>(*op.user_begin());
}

/// Whether an operation copies a slice.
static bool isCopyOfSlice(linalg::LinalgOp op) {
  return linalg::isaCopyOpInterface(op) &&
         op.getDpsInputs()[0].getDefiningOp<tensor::ExtractSliceOp>();
}

KernelFacts::KernelFacts(func::FuncOp kernel)
    : kernel(kernel), pattern(computeOpPattern(kernel)),
      isMergeable(canBeMerged(kernel)) {
  reads.resize(kernel.getNumArguments());
  if (!isMergeable)
    return;
  bool hasOnlyLoops = true, hasOnlyViews = true;
  unsigned count = 0;
  isVectorizable = isCheap = true;
  hasBooleans = llvm::any_of(kernel.getArgumentTypes(), [](Type type) {
    return getElementTypeOrSelf(type).isInteger(1);
  });
  for (Operation &op : kernel.getBody().front()) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp) {
      hasOnlyLoops &= isAuxiliary(op);
      hasOnlyViews &= isAuxiliary(op) || isViewOfParameter(op);
      isCollapsed |= isa<tensor::CollapseShapeOp>(op);
      continue;
    }
    ops.push_back(linalgOp);
    hasReduction |= !linalgOp.isAllParallelLoops();
    isConvolution |= relax::isConvolution(linalgOp);
    usesIndices |= linalgOp.hasIndexSemantics();
    isVectorizable &= hasVectorBody(linalgOp) && reducesInnermost(linalgOp);
    isGather |= linalgOp.isAllParallelLoops() && readsInBody(linalgOp) &&
                hasVectorBody(linalgOp, /*mayRead=*/true);
    isCheap &= relax::isCheap(linalgOp);
    if (!isa<linalg::FillOp>(op)) {
      ++count;
      elementwise = linalgOp;
    }
  }
  isVectorizable &= hasOnlyViews;
  isOneNest = hasOnlyLoops && count == 1;
  isGather &= isOneNest;
  isCollapsed &= hasOnlyViews && kernel.getNumResults() == 1;
  isSlice = hasOnlyViews && count == 1 && kernel.getNumResults() == 1 &&
            getWriter(0) == elementwise && isCopyOfSlice(elementwise);
  if (!isOneNest || kernel.getNumResults() != 1 ||
      getWriter(0) != elementwise || readsInBody(elementwise))
    elementwise = {};
  collectReads();
  findSplit();
  if (hasOnlyLoops)
    collectRows();
}

std::optional<ArrayRef<KernelFacts::Read>>
KernelFacts::getReads(unsigned param) const {
  if (param >= reads.size() || !reads[param])
    return std::nullopt;
  return ArrayRef<Read>(*reads[param]);
}

linalg::LinalgOp KernelFacts::getWriter(unsigned result) const {
  func::FuncOp function = kernel;
  auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  auto op = ret.getOperand(result).getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.isAllParallelLoops() || op.getNumDpsInits() != 1 ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return {};
  return op;
}

void KernelFacts::collectReads() {
  for (BlockArgument param : kernel.getArguments()) {
    SmallVector<Read> places;
    bool isKnown = llvm::all_of(param.getUses(), [&](OpOperand &use) {
      if (isa<tensor::DimOp>(use.getOwner()))
        return true;
      auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
      if (!op || !op.isDpsInput(&use) || op->getBlock() != param.getOwner())
        return false;
      places.push_back({op, op.getMatchingIndexingMap(&use)});
      return true;
    });
    if (isKnown)
      reads[param.getArgNumber()] = std::move(places);
  }
}

void KernelFacts::findSplit() {
  Block &body = kernel.getBody().front();
  auto isSlice = [&](Value result) {
    auto copy = result.getDefiningOp<linalg::LinalgOp>();
    if (!copy || !isaCopyOpInterface(copy))
      return false;
    auto slice = copy.getDpsInputs()[0].getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || slice.getSource() != body.getArgument(0) ||
        slice.getSourceType().getRank() != slice.getType().getRank() ||
        slice.getType().getRank() == 0 || !slice.hasUnitStride())
      return false;
    return llvm::all_of(
        ArrayRef(slice.getMixedOffsets()).drop_back(),
        [](OpFoldResult offset) { return isConstantIntValue(offset, 0); });
  };
  isSplit = llvm::all_of(body.getTerminator()->getOperands(), isSlice);
}

void KernelFacts::collectRows() {
  unsigned common = ~0u;
  for (linalg::LinalgOp op : ops) {
    if (isContractionOrWindow(op) || readsInBody(op) || !reducesInnermost(op))
      return;
    common = std::min(common, op.getNumParallelLoops());
  }
  // Fills have as many loops as the reductions after them.
  for (rows = common == ~0u ? 0 : common; rows > 0; --rows)
    if (computesByRow(rows))
      return;
}

/// Whether a tensor is read or written at the place that the outer loops say.
static bool isByRow(AffineMap map, unsigned numRows) {
  if (map.getNumResults() < numRows)
    return false;
  for (auto [index, expr] : llvm::enumerate(map.getResults())) {
    if (index < numRows) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || dim.getPosition() != index)
        return false;
      continue;
    }
    for (unsigned row = 0; row < numRows; ++row)
      if (expr.isFunctionOfDim(row))
        return false;
  }
  return true;
}

bool KernelFacts::readsByRow(unsigned param, unsigned numRows) const {
  auto places = getReads(param);
  return places && llvm::all_of(*places, [&](const Read &read) {
           return isByRow(read.map, numRows);
         });
}

bool KernelFacts::computesByRow(unsigned numRows) const {
  for (linalg::LinalgOp op : ops)
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<ShapedType>(operand.get().getType()))
        continue;
      bool isInput =
          op.isDpsInput(&operand) && isa<BlockArgument>(operand.get());
      if (!isInput && !isByRow(op.getMatchingIndexingMap(&operand), numRows))
        return false;
    }
  return !ops.empty();
}
