//===- Elements.cpp - Producers that are computed inline --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include "VectorBody.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Returns the access to an operand of an operation that is computed at `map`.
static AffineMap getAccess(linalg::LinalgOp op, OpOperand &operand,
                           AffineMap map) {
  return simplifyAffineMap(op.getMatchingIndexingMap(&operand).compose(map));
}

/// Whether elements of a parameter are the same along vectors, or follow one
/// another: those of the last dimensions, but for ones after them that have one
/// element.
static bool isContiguous(AffineMap map, RankedTensorType type,
                         VectorLoops loops) {
  if (map.getNumSymbols() != 0)
    return false;
  // Of several loops, the index in the last one counts the elements of all.
  auto hasElements = [&](size_t axis) {
    AffineExpr expr = map.getResult(axis);
    unsigned last = loops.first + loops.count - 1;
    return loops.vary(expr) &&
           (type.getDimSize(axis) != 1 ||
            (loops.count > 1 && expr.isFunctionOfDim(last)));
  };
  // Along one loop, dimensions with one element may be anywhere.
  auto varies = [&](size_t axis) {
    return loops.count > 1 ? loops.vary(map.getResult(axis))
                           : hasElements(axis);
  };
  size_t end = map.getNumResults();
  if (llvm::none_of(llvm::seq(end), hasElements))
    return true;
  while (loops.count == 1 && end > 0 && type.getDimSize(end - 1) == 1)
    --end;
  if (end < loops.count || llvm::any_of(llvm::seq(end - loops.count), varies))
    return false;
  for (unsigned i = 0; i < loops.count; ++i)
    if (map.getResult(end - loops.count + i) !=
        getAffineDimExpr(loops.first + i, map.getContext()))
      return false;
  return true;
}

/// Whether an expression is the index of an element in a vector: what vectors
/// run along is one loop, and this is it.
static bool isVectorIndex(AffineExpr expr, VectorLoops loops) {
  return loops.count == 1 &&
         expr == getAffineDimExpr(loops.first, expr.getContext());
}

/// Whether the indices that the body asks for are computed: each is the same in
/// a vector, or runs along it.
static bool hasKnownIndices(linalg::LinalgOp op, AffineMap map,
                            const Elements &elements) {
  if (!elements.hasIndices)
    return !op.hasIndexSemantics();
  bool isKnown = true;
  op->walk([&](linalg::IndexOp index) {
    AffineExpr expr = map.getResult(index.getDim());
    isKnown &= isVectorIndex(expr, elements.vectorLoops) ||
               !elements.vectorLoops.vary(expr);
  });
  return isKnown;
}

static bool isPlainOrBool(Type type) {
  return type.isInteger(1) ||
         (type.isIntOrFloat() && type.getIntOrFloatBitWidth() % 8 == 0);
}

static bool verify(const Elements &elements, Value tensor, AffineMap map,
                   ArrayRef<BlockArgument> outputs,
                   SmallVectorImpl<ParameterAccess> &reads) {
  for (const Elements::Given &given : elements.given)
    if (given.tensor == tensor)
      return given.map == map;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type)
    return isKnownScalar(tensor);
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    reads.push_back({argument, map});
    return !llvm::is_contained(outputs, argument) &&
           isPlainOrBool(type.getElementType()) &&
           isContiguous(map, type, elements.vectorLoops);
  }
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() || !isVectorizable(op) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() ||
      !hasKnownIndices(op, map, elements))
    return false;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return llvm::all_of(captured, isKnownScalar) &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return !op.payloadUsesValueFromOperand(&operand) ||
                  verify(elements, operand.get(), getAccess(op, operand, map),
                         outputs, reads);
         });
}

bool mlir::relax::canCompute(const Elements &elements,
                             ArrayRef<BlockArgument> outputs,
                             SmallVectorImpl<ParameterAccess> &reads) {
  return verify(elements, elements.tensor, elements.map, outputs, reads);
}

bool mlir::relax::isSameForAll(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) // of the kernel, or an element
    return isa<func::FuncOp>(value.getParentBlock()->getParentOp()) &&
           isKnownScalar(value);
  return !isa<linalg::IndexOp>(op) && isKnownScalar(value) &&
         (isa<tensor::DimOp>(op) ||
          llvm::all_of(op->getOperands(), isSameForAll));
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

void ElementBuilder::prefetchStore(IndexBuilder &b, BlockArgument parameter,
                                   AffineMap map, ValueRange indices,
                                   int64_t count) {
  constexpr int64_t kLineBits = 512;
  const FlatMemory &to = parameters[parameter];
  Value place = getPlace(b, to, map, indices);
  Type element = cast<MemRefType>(to.elements.getType()).getElementType();
  int64_t step = kLineBits / std::max(8u, element.getIntOrFloatBitWidth());
  for (int64_t i = 0; i < count; i += step)
    memref::PrefetchOp::create(b, to.elements, b.add(place, i),
                               /*isWrite=*/true, /*localityHint=*/3,
                               /*isDataCache=*/true);
}

Value ElementBuilder::getSize(IndexBuilder &, BlockArgument parameter,
                              int64_t axis) {
  return parameters[parameter].sizes[axis];
}

/// An expression of indices, none of which is negative.
static Value evaluateIndex(IndexBuilder &b, AffineExpr expr,
                           ValueRange indices) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return b.index(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return indices[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = evaluateIndex(b, binary.getLHS(), indices);
  Value rhs = evaluateIndex(b, binary.getRHS(), indices);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return b.add(lhs, rhs);
  case AffineExprKind::Mul:
    return b.mul(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return b.floorDiv(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return b.ceilDiv(lhs, rhs);
  case AffineExprKind::Mod:
    return b.rem(lhs, rhs);
  default:
    llvm_unreachable("not an expression of two");
  }
}

int64_t ElementBuilder::getLanes(Value mask) const {
  if (mask)
    return cast<VectorType>(mask.getType()).getNumElements();
  return lanes;
}

llvm::MaybeAlign ElementBuilder::getAlignment(VectorType type) const {
  constexpr int64_t kMostBytes = 16;
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return areAligned ? llvm::MaybeAlign(std::min(bytes, kMostBytes))
                    : llvm::MaybeAlign();
}

/// The computation in progress.
struct ElementBuilder::Request {
  const Elements &elements;
  ValueRange indices;
  Value mask;
  ValueRange given;
  int64_t lanes;
  using Computed = llvm::DenseMap<std::pair<Value, AffineMap>, Value>;
  Computed computed = Computed();
};

Value ElementBuilder::getPlace(IndexBuilder &b, const FlatMemory &memory,
                               AffineMap map, ValueRange indices) {
  Value place = memory.offset;
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), memory.strides))
    if (!isa<AffineConstantExpr>(expr) ||
        cast<AffineConstantExpr>(expr).getValue() != 0)
      place = b.add(place, b.mul(evaluateIndex(b, expr, indices), stride));
  return place;
}

Value ElementBuilder::load(IndexBuilder &b, Request &request,
                           BlockArgument parameter, AffineMap map) {
  const FlatMemory &from = parameters[parameter];
  Value place = getPlace(b, from, map, request.indices), loaded;
  Type element = cast<MemRefType>(from.elements.getType()).getElementType();
  auto shape = cast<RankedTensorType>(parameter.getType()).getShape();
  bool isVector =
      llvm::any_of(llvm::zip_equal(shape, map.getResults()), [&](auto axis) {
        auto [size, expr] = axis;
        return size != 1 && request.elements.vectorLoops.vary(expr);
      });
  if (isVector) {
    auto type = VectorType::get(request.lanes, element);
    if (request.mask) {
      Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
      loaded = vector::MaskedLoadOp::create(b, type, from.elements, place,
                                            request.mask, zeros);
    } else {
      loaded =
          vector::LoadOp::create(b, type, from.elements, place,
                                 /*nontemporal=*/false, getAlignment(type));
    }
  } else {
    loaded = memref::LoadOp::create(b, from.elements, place);
  }
  if (!getElementTypeOrSelf(parameter.getType()).isInteger(1))
    return loaded;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(loaded.getType()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loaded, zero);
}

Value ElementBuilder::computeTensor(IndexBuilder &b, Request &request,
                                    Value tensor, AffineMap map) {
  const Elements &elements = request.elements;
  for (auto [given, value] : llvm::zip_equal(elements.given, request.given))
    if (given.tensor == tensor)
      return value;
  if (!isa<ShapedType>(tensor.getType()))
    return parameters.scalars.lookup(tensor);
  std::pair<Value, AffineMap> key(tensor, map);
  if (Value known = request.computed.lookup(key))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return request.computed[key] = load(b, request, argument, map);
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  SmallVector<Value> arguments;
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.payloadUsesValueFromOperand(&operand)) {
      arguments.push_back(computeTensor(b, request, operand.get(),
                                        getAccess(op, operand, map)));
      continue;
    }
    // Any value of the type will do.
    Type type = getElementTypeOrSelf(operand.get().getType());
    arguments.push_back(
        arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type))));
  }
  VectorBody body(b, request.lanes);
  body.mask = request.mask;
  auto indexOf = [&](unsigned loop) -> Value {
    AffineExpr expr = map.getResult(loop);
    Value first = evaluateIndex(b, expr, request.indices);
    if (request.lanes == 1 || !isVectorIndex(expr, elements.vectorLoops))
      return first;
    Value steps = vector::StepOp::create(
        b, VectorType::get(request.lanes, b.getIndexType()));
    return arith::AddIOp::create(b, steps, body.broadcast(first));
  };
  return request.computed[key] =
             body.compute(op, arguments, parameters.scalars, indexOf).front();
}

Value ElementBuilder::compute(IndexBuilder &b, const Elements &elements,
                              ValueRange indices, Value mask,
                              ValueRange given) {
  Request request{elements, indices, mask, given, getLanes(mask)};
  return computeTensor(b, request, elements.tensor, elements.map);
}

Value ElementBuilder::computeVector(IndexBuilder &b, const Elements &elements,
                                    ValueRange indices, Value mask,
                                    ValueRange given) {
  return VectorBody(b, getLanes(mask))
      .broadcast(compute(b, elements, indices, mask, given));
}

void ElementBuilder::prefetch(IndexBuilder &b, const Elements &elements,
                              ValueRange indices, unsigned loop) {
  SmallVector<ParameterAccess> reads;
  canCompute(elements, /*outputs=*/{}, reads);
  for (const ParameterAccess &read : reads) {
    unsigned rank = read.map.getNumResults();
    if (rank < 2 || !elements.vectorLoops.vary(read.map.getResult(rank - 1)) ||
        read.map.getResult(rank - 2).isFunctionOfDim(loop) ||
        getElementTypeOrSelf(read.parameter.getType()).isInteger(1))
      continue;
    const FlatMemory &from = parameters[read.parameter];
    memref::PrefetchOp::create(b, from.elements,
                               getPlace(b, from, read.map, indices),
                               /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  }
}

Value ElementBuilder::computeScalar(IndexBuilder &b, Value value) {
  if (Value known = parameters.scalars.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, computeScalar(b, operand));
  return b.clone(*op, mapping)->getResult(0);
}

/// How many lanes a mask has, the first ones, where that is known.
static std::optional<int64_t> getKnownCount(Value mask) {
  auto create = mask.getDefiningOp<vector::CreateMaskOp>();
  std::optional<int64_t> count =
      create ? getConstantIntValue(create.getOperand(0)) : std::nullopt;
  if (count)
    count = std::clamp<int64_t>(*count, 0, create.getType().getNumElements());
  return count;
}

/// Stores the first lanes of a vector: its half, and half of what is left, ...
static void storeParts(IndexBuilder &b, Value vector, int64_t count,
                       Value elements, Value place) {
  int64_t size = cast<VectorType>(vector.getType()).getNumElements(), begin = 0;
  for (; size != 0; size /= 2) {
    if (count - begin < size)
      continue;
    Value part =
        vector::ExtractStridedSliceOp::create(b, vector, begin, size, 1);
    vector::StoreOp::create(b, part, elements, b.add(place, begin));
    begin += size;
  }
}

void ElementBuilder::store(IndexBuilder &b, Value vector,
                           BlockArgument parameter, AffineMap map,
                           ValueRange indices, Value mask) {
  const FlatMemory &to = parameters[parameter];
  Value place = getPlace(b, to, map, indices);
  auto storeAll = [&](IndexBuilder &b) {
    vector::StoreOp::create(b, vector, to.elements, place,
                            /*nontemporal=*/false,
                            getAlignment(cast<VectorType>(vector.getType())));
  };
  auto storeSome = [&](IndexBuilder &b) {
    vector::MaskedStoreOp::create(b, to.elements, place, mask, vector);
  };
  if (!mask)
    return storeAll(b);
  if (hasMaskRegisters(cast<VectorType>(vector.getType())))
    return storeSome(b);
  // Most vectors are whole.
  if (std::optional<int64_t> count = getKnownCount(mask))
    return storeParts(b, vector, *count, to.elements, place);
  Value isWhole =
      vector::ReductionOp::create(b, vector::CombiningKind::AND, mask);
  b.branch(isWhole, storeAll, storeSome);
}
