//===- Contraction.cpp - Sums of products as matrix products ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "relax-mlir/Analysis/OpPattern.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

/// Whether nothing but the elements is converted, once, to wider types.
static bool extendsElements(linalg::LinalgOp op) {
  auto isExtension = [](Operation &inner) {
    return inner.getNumOperands() != 1 ||
           (isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(inner) &&
            isa<BlockArgument>(inner.getOperand(0)));
  };
  return llvm::all_of(op.getBlock()->without_terminator(), isExtension);
}

bool mlir::relax::isZeroFill(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill && (matchPattern(fill.getInputs()[0], m_PosZeroFloat()) ||
                  matchPattern(fill.getInputs()[0], m_Zero()));
}

static bool addsProductsOfElements(linalg::LinalgOp op) {
  return addsProducts(op) && extendsElements(op);
}

bool mlir::relax::isSumOfProducts(linalg::LinalgOp op) {
  return addsProductsOfElements(op) &&
         isZeroFill(op.getDpsInitOperand(0)->get());
}

linalg::LinalgOp mlir::relax::findReduction(Block &body) {
  linalg::LinalgOp found;
  for (auto op : body.getOps<linalg::LinalgOp>()) {
    if (op.getNumReductionLoops() == 0)
      continue;
    if (found)
      return {};
    found = op;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Its loops
//===----------------------------------------------------------------------===//

bool mlir::relax::isMapOfLoops(AffineMap map, Type type) {
  llvm::SmallDenseSet<AffineExpr> seen;
  auto isLoop = [&](int64_t size, AffineExpr expr) {
    if (isa<AffineDimExpr>(expr))
      return seen.insert(expr).second;
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    return constant && constant.getValue() == 0 && size == 1;
  };
  ArrayRef<int64_t> shape = cast<ShapedType>(type).getShape();
  for (auto [size, expr] : llvm::zip_equal(shape, map.getResults()))
    if (!isLoop(size, expr))
      return false;
  return map.getNumSymbols() == 0;
}

/// The loops of a map that may run more than once, in their order.
static LoopGroup getLoops(AffineMap map, ArrayRef<int64_t> ranges) {
  LoopGroup loops;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      if (ranges[dim.getPosition()] != 1)
        loops.push_back(dim.getPosition());
  return loops;
}

/// Whether `inner` comes right after `outer` in all that have either.
static bool areAdjacent(unsigned outer, unsigned inner,
                        ArrayRef<LoopGroup> operands) {
  return llvm::all_of(operands, [&](const LoopGroup &loops) {
    const unsigned *first = llvm::find(loops, outer);
    const unsigned *second = llvm::find(loops, inner);
    if (first == loops.end() || second == loops.end())
      return first == second;
    return first + 1 == second;
  });
}

/// The loops of `k` that may run more than once. Nothing where other ones
/// reduce, or where they are not next to each other in both operands.
static std::optional<LoopGroup> findDepth(linalg::LinalgOp op,
                                          ArrayRef<unsigned> k,
                                          ArrayRef<LoopGroup> operands) {
  LoopGroup depth;
  llvm::copy_if(operands[0], std::back_inserter(depth),
                [&](unsigned loop) { return llvm::is_contained(k, loop); });
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  for (unsigned loop : reductions)
    if (ranges[loop] != 1 && (!llvm::is_contained(depth, loop) ||
                              llvm::is_contained(operands[2], loop)))
      return std::nullopt;
  for (size_t i = 1; i < depth.size(); ++i)
    if (!areAdjacent(depth[i - 1], depth[i], operands))
      return std::nullopt;
  return depth;
}

std::optional<Contraction> Contraction::match(linalg::LinalgOp op) {
  return isSumOfProducts(op) ? matchUpdate(op) : std::nullopt;
}

std::optional<Contraction> Contraction::matchUpdate(linalg::LinalgOp op) {
  if (!addsProductsOfElements(op))
    return std::nullopt;
  Contraction result;
  result.op = op;
  result.maps = op.getIndexingMapsArray();
  SmallVector<LoopGroup> loops;
  for (auto [map, type] : llvm::zip_equal(result.maps, op->getOperandTypes())) {
    if (!isMapOfLoops(map, type))
      return std::nullopt;
    loops.push_back(getLoops(map, op.getStaticLoopRanges()));
  }
  auto [batch, m, n, k] = *linalg::inferContractionDims(op);
  std::optional<LoopGroup> depth = findDepth(op, k, loops);
  if (!depth)
    return std::nullopt;
  result.depth = *depth;

  // The innermost loop of the result belongs to the right matrix.
  if (!loops[2].empty()) {
    result.columns = {loops[2].pop_back_val()};
    if (llvm::is_contained(m, result.columns.front())) {
      std::swap(result.lhs, result.rhs);
      std::swap(m, n);
    }
    if (!llvm::is_contained(n, result.columns.front()))
      return std::nullopt;
  }

  // From the inside out: the first loop of the left matrix alone, and those
  // that it can be run as one with.
  for (unsigned loop : llvm::reverse(loops[2])) {
    bool isRow =
        llvm::is_contained(m, loop) &&
        (result.rows.empty() || areAdjacent(loop, result.rows.front(), loops));
    LoopGroup &group = isRow ? result.rows : result.batch;
    group.insert(group.begin(), loop);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Its memory
//===----------------------------------------------------------------------===//

Value mlir::relax::getDim(IndexBuilder &b, Value memref, int64_t axis) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(axis))
    return b.index(type.getDimSize(axis));
  return memref::DimOp::create(b, memref, axis);
}

LoopMemory::LoopMemory(IndexBuilder &b, ArrayRef<AffineMap> maps,
                       ValueRange operands)
    : maps(maps), sizes(maps.front().getNumDims()) {
  for (auto [map, operand] : llvm::zip(maps, operands)) {
    SmallVector<Value> &steps = strides.emplace_back(map.getNumResults());
    Value stride = b.index(1);
    for (int64_t axis = int64_t(map.getNumResults()) - 1; axis >= 0; --axis) {
      steps[axis] = stride;
      Value size = getDim(b, operand, axis);
      stride = b.mul(stride, size);
      auto dim = dyn_cast<AffineDimExpr>(map.getResult(axis));
      if (!dim)
        continue;
      Value &known = sizes[dim.getPosition()];
      if (!known || !getConstantIntValue(known))
        known = known && !getConstantIntValue(size) ? known : size;
    }
  }
}

void LoopMemory::setSizes(IndexBuilder &b, AffineMap map, ShapedType type) {
  for (auto [size, expr] : llvm::zip_equal(type.getShape(), map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      sizes[dim.getPosition()] = b.index(size);
}

Value LoopMemory::size(IndexBuilder &b, const LoopGroup &loops) const {
  Value size = b.index(1);
  for (unsigned loop : loops)
    size = b.mul(size, sizes[loop]);
  return size;
}

Value LoopMemory::stride(IndexBuilder &b, unsigned operand,
                         unsigned loop) const {
  for (auto [axis, expr] : llvm::enumerate(maps[operand].getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      if (dim.getPosition() == loop)
        return strides[operand][axis];
  return b.index(0);
}

Value LoopMemory::stride(IndexBuilder &b, unsigned operand,
                         const LoopGroup &loops) const {
  return loops.empty() ? b.index(0) : stride(b, operand, loops.back());
}

void LoopMemory::delinearize(IndexBuilder &b, Value index,
                             const LoopGroup &loops,
                             MutableArrayRef<Value> indices) const {
  for (size_t i = loops.size(); i-- > 0;) {
    indices[loops[i]] = i == 0 ? index : b.rem(index, sizes[loops[i]]);
    if (i > 0)
      index = b.floorDiv(index, sizes[loops[i]]);
  }
}

Value mlir::relax::flatten(IndexBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value size = b.index(1);
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    size = b.mul(size, getDim(b, memref, axis));
  auto flat = MemRefType::get(ShapedType::kDynamic, type.getElementType());
  SmallVector<OpFoldResult> sizes = {size}, strides = {b.getIndexAttr(1)};
  return memref::ReinterpretCastOp::create(
      b, flat, memref, OpFoldResult(b.getIndexAttr(0)), sizes, strides);
}
