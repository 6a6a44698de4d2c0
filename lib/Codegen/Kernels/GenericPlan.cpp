//===- GenericPlan.cpp - Vectorization of any operation ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericPlan.h"

#include "VectorBody.h"

#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::relax;

/// Results that are reduced are used again and again.
static constexpr int64_t kFewestReduced = 2;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static bool addTerms(AffineExpr expr, int64_t factor, LinearIndex &index) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    index.constant += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    index.factors[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(binary.getLHS(), factor, index) &&
           addTerms(binary.getRHS(), factor, index);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Mul && constant &&
         addTerms(binary.getLHS(), factor * constant.getValue(), index);
}

std::optional<LinearIndex> LinearIndex::get(AffineExpr expr,
                                            unsigned numLoops) {
  LinearIndex index;
  index.factors.assign(numLoops, 0);
  if (!addTerms(expr, 1, index))
    return std::nullopt;
  return index;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static int64_t getLaneStride(linalg::LinalgOp op, OpOperand &operand,
                             unsigned dim) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return 0;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t total = 0;
  for (auto [expr, stride] : llvm::zip(map.getResults(), strides)) {
    int64_t factor = LinearIndex::get(expr, op.getNumLoops())->factors[dim];
    if (factor == 0)
      continue;
    if (ShapedType::isDynamic(stride))
      return ShapedType::kDynamic;
    total += factor * stride;
  }
  return total;
}

int64_t GenericPlan::getLaneStride(OpOperand &operand) const {
  linalg::LinalgOp linalgOp = op;
  return ::getLaneStride(linalgOp, operand, vectorDim);
}

/// Whether a map puts each iteration of the parallel loops somewhere else, and
/// all iterations of the others at the same place.
static bool isOnePlaceEach(linalg::LinalgOp op, AffineMap map) {
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (map.isFunctionOfDim(dim) != (kind == utils::IteratorType::parallel))
      return false;
  return true;
}

/// The same memref at the same place of a parallel loop may be read.
bool mlir::relax::readsResultsElsewhere(linalg::LinalgOp op) {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value root = memref::skipViewLikeOps(cast<MemrefValue>(init.get()));
    for (OpOperand &operand : op->getOpOperands())
      if (&init != &operand && isa<MemRefType>(operand.get().getType()) &&
          memref::skipViewLikeOps(cast<MemrefValue>(operand.get())) == root &&
          (init.get() != operand.get() || op.getNumReductionLoops() != 0 ||
           op.getMatchingIndexingMap(&init) !=
               op.getMatchingIndexingMap(&operand)))
        return true;
    WalkResult walk = op->getRegion(0).walk([&](memref::LoadOp load) {
      return memref::skipViewLikeOps(load.getMemref()) == root
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return true;
  }
  return false;
}

bool GenericPlan::hasSupportedOperands() {
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock() ||
      op.getNumParallelLoops() + op.getNumReductionLoops() !=
          op.getNumLoops() ||
      readsResultsElsewhere(op))
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = operand.get().getType();
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (op.isDpsInit(&operand) && !isOnePlaceEach(op, map))
      return false;
    if (type.isIntOrIndexOrFloat())
      continue;
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || !memref.isStrided() ||
        !memref.getElementType().isIntOrIndexOrFloat() ||
        llvm::any_of(map.getResults(), [&](AffineExpr expr) {
          return !LinearIndex::get(expr, op.getNumLoops());
        }))
      return false;
  }
  return true;
}

/// The one along which most operands are contiguous, and all results are.
bool GenericPlan::chooseVectorDim(bool isAcrossRows) {
  std::optional<int64_t> best;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  int64_t fewest = op.getNumReductionLoops() ? kFewestReduced : kFewest;
  for (unsigned dim = 0; dim < kinds.size(); ++dim) {
    if (kinds[dim] != utils::IteratorType::parallel ||
        (!ShapedType::isDynamic(sizes[dim]) && sizes[dim] < fewest))
      continue;
    bool isContiguous = true;
    int64_t score = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      int64_t stride = ::getLaneStride(op, operand, dim);
      if (op.isDpsInit(&operand))
        isContiguous &= stride == 1;
      else if (op.payloadUsesValueFromOperand(&operand) && stride != 0)
        score += stride == 1 ? 1 : -1;
    }
    // Inner loops are more often long.
    if (!isContiguous || (score < 0 && !isAcrossRows) ||
        (best && score < *best))
      continue;
    best = score;
    vectorDim = dim;
  }
  return best.has_value();
}

/// The only loop that reduces, where elements are contiguous along it.
bool GenericPlan::chooseRow() {
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  if (dims.size() != 1)
    return false;
  vectorDim = dims.front();
  int64_t size = op.getStaticLoopRanges()[vectorDim];
  if (!ShapedType::isDynamic(size) && size < kFewestOfRow)
    return false;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (int64_t stride = getLaneStride(*operand); stride != 0 && stride != 1)
      return false;
  row = RowReduction::match(op);
  return row.has_value();
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Whether an index is the same in all lanes, or grows step by step, or is a
/// quotient or remainder by a number of one that does.
bool GenericPlan::isStepped(Value index) const {
  if (!isVarying(index))
    return true;
  Operation *inner = index.getDefiningOp();
  if (!inner)
    return false;
  if (isa<linalg::IndexOp>(inner) || isWrapped(*inner))
    return true;
  if (isa<arith::DivUIOp, arith::RemUIOp>(inner)) {
    Operation *from = inner->getOperand(0).getDefiningOp();
    return from && (isa<linalg::IndexOp>(from) || isWrapped(*from)) &&
           getConstantIntValue(inner->getOperand(1));
  }
  if (isa<arith::MulIOp>(inner) && isVarying(inner->getOperand(0)) &&
      isVarying(inner->getOperand(1)))
    return false;
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(inner) &&
         isStepped(inner->getOperand(0)) && isStepped(inner->getOperand(1));
}

/// Whether iterations of a loop gather elements at indices that come from the
/// same operand.
bool GenericPlan::sharesPlaces(unsigned dim) {
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return isVarying(op.getMatchingBlockArgument(operand)) &&
           !map.isFunctionOfDim(dim);
  });
}

/// Makes a loop whose iterations share indices of gathers the innermost one
/// beside the vectors, and has several of its iterations computed together.
void GenericPlan::chooseJam() {
  if (!hasGather || !reductions.empty() || wrap)
    return;
  for (unsigned dim : llvm::reverse(parallel)) {
    int64_t size = op.getStaticLoopRanges()[dim];
    if (size == 1 || !sharesPlaces(dim))
      continue;
    llvm::erase(parallel, dim);
    parallel.push_back(dim);
    bool isThrees = !ShapedType::isDynamic(size) && size % 3 == 0 && size % 4;
    jam = isThrees ? 3 : 4;
    return;
  }
}

/// Elements that are read at computed indices are gathered, which processors do
/// for 32 and 64 bits.
bool GenericPlan::checkLoad(Operation &inner, bool isConditional) {
  auto load = cast<memref::LoadOp>(inner);
  auto type = load.getMemRefType();
  if (op->isAncestor(load.getMemref().getParentRegion()->getParentOp()) ||
      !type.isStrided() || !type.getElementType().isIntOrFloat())
    return false;
  if (isConditional || llvm::any_of(load.getIndices(), [&](Value index) {
        return isVarying(index);
      }))
    varying.insert(load.getResult());
  hasGather |= llvm::any_of(load.getIndices(),
                            [&](Value index) { return !isStepped(index); });
  return true;
}

/// Returns the size at which an index wraps around: a constant, or a value that
/// the body does not compute.
OpFoldResult GenericPlan::getWrap(Operation &inner) const {
  auto rem = dyn_cast<arith::RemUIOp>(inner);
  auto index = rem ? rem.getLhs().getDefiningOp<linalg::IndexOp>() : nullptr;
  if (!index || index.getDim() != vectorDim || row)
    return OpFoldResult();
  Value size = rem.getRhs();
  if (std::optional<int64_t> known = getConstantIntValue(size))
    return *known < kFewest ? OpFoldResult()
                            : OpFoldResult(Builder(rem).getIndexAttr(*known));
  return op->isAncestor(size.getParentRegion()->getParentOp())
             ? OpFoldResult()
             : OpFoldResult(size);
}

bool GenericPlan::checkOp(Operation &inner, bool isConditional) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (!llvm::all_of(inner.getOperandTypes(), isScalar) &&
      !isa<memref::LoadOp>(inner))
    return false;
  bool varies = llvm::any_of(inner.getOperands(),
                             [&](Value value) { return isVarying(value); });
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    if (index.getDim() == vectorDim)
      varying.insert(index.getResult());
    return true;
  }
  if (!wrap)
    wrap = getWrap(inner);
  cost += isWrapped(inner) ? 0 : estimateCost(inner);
  if (isa<memref::LoadOp>(inner))
    return checkLoad(inner, isConditional);
  if (auto branch = dyn_cast<scf::IfOp>(inner)) {
    bool isMasked = isVarying(branch.getCondition());
    for (Region &region : branch->getRegions())
      if (!region.empty() &&
          !checkBlock(region.front(), isConditional || isMasked))
        return false;
    for (OpResult result : branch.getResults()) {
      unsigned number = result.getResultNumber();
      if (isMasked || isVarying(branch.thenYield().getOperand(number)) ||
          isVarying(branch.elseYield().getOperand(number)))
        varying.insert(result);
    }
    return true;
  }
  if (isa<arith::ConstantOp>(inner))
    return isScalar(inner.getResult(0).getType());
  if (!OpTrait::hasElementwiseMappableTraits(&inner) ||
      inner.getNumResults() != 1 || inner.getNumRegions() != 0 ||
      !isScalar(inner.getResult(0).getType()))
    return false;
  // Lanes that a condition excludes must not trap.
  if (varies || (isConditional && isDivisionOfIntegers(inner)))
    varying.insert(inner.getResult(0));
  return true;
}

bool GenericPlan::checkBlock(Block &block, bool isConditional) {
  return llvm::all_of(block.without_terminator(), [&](Operation &inner) {
    return checkOp(inner, isConditional);
  });
}

bool GenericPlan::checkBody() {
  for (OpOperand &operand : op->getOpOperands())
    if (op.isDpsInit(&operand) || getLaneStride(operand) != 0)
      varying.insert(op.getMatchingBlockArgument(&operand));
  return checkBlock(op->getRegion(0).front(), /*isConditional=*/false);
}

/// Indices, which are often the same step by step, do not count.
void GenericPlan::chooseLanes(const TargetModel &target) {
  constexpr unsigned kIndexBits = 32;
  LaneBits bits;
  auto isPlace = [](Value value) {
    return !value.use_empty() &&
           llvm::all_of(
               value.getUsers(),
               llvm::IsaPred<arith::IndexCastOp, arith::IndexCastUIOp>);
  };
  auto widen = [&](Value value) {
    Type type = value.getType();
    bool isNumber = type.isIntOrFloat() && !type.isInteger(1);
    if (type.isIndex() || isPlace(value))
      bits.add(kIndexBits);
    else
      bits.add(isNumber ? type.getIntOrFloatBitWidth() : 8);
  };
  for (Value argument : op->getRegion(0).getArguments())
    if (isVarying(argument))
      widen(argument);
  for (OpOperand &operand : op->getOpOperands())
    if (int64_t stride = getLaneStride(operand); stride != 0 && stride != 1)
      bits.requireAtLeast(kIndexBits); // gathered
  op->getRegion(0).walk([&](Operation *inner) {
    for (Value result : inner->getResults())
      if (isVarying(result))
        widen(result);
  });
  lanes = target.lanes(bits.get(reductions.empty()));
}

/// Derives the rest of the plan from the choice of the vector loop.
bool GenericPlan::finish(const TargetModel &target) {
  if (!checkBody())
    return false;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (dim != vectorDim)
      (kind == utils::IteratorType::parallel ? parallel : reductions)
          .push_back(dim);
  chooseLanes(target);
  unroll = target.vectorBits >= 512 ? 8 : 4;
  chooseJam();
  return lanes >= 2;
}

std::optional<GenericPlan> GenericPlan::make(linalg::LinalgOp op,
                                             const TargetModel &target) {
  GenericPlan plan;
  plan.op = op;
  if (!plan.hasSupportedOperands() ||
      (!plan.chooseVectorDim(/*isAcrossRows=*/false) && !plan.chooseRow()) ||
      !plan.finish(target))
    return std::nullopt;
  return plan;
}

bool GenericPlan::hasFewPerRow(linalg::LinalgOp op) {
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  if (dims.size() != 1)
    return false;
  int64_t size = op.getStaticLoopRanges()[dims.front()];
  return !ShapedType::isDynamic(size) && size >= kFewest && size < kFewestOfRow;
}

std::optional<GenericPlan>
GenericPlan::makeAcrossRows(linalg::LinalgOp op, const TargetModel &target) {
  GenericPlan plan;
  plan.op = op;
  if (!plan.hasSupportedOperands() ||
      !plan.chooseVectorDim(/*isAcrossRows=*/true) || !plan.finish(target))
    return std::nullopt;
  // Vectors of different rows are not read one after the other.
  plan.unroll = 1;
  return plan;
}
