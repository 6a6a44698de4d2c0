//===- Epilogue.cpp - Elementwise consumers of a contraction ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

#include "Contraction.h"
#include "VectorBody.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Whether an operation only changes the form of tensors; where the result
/// needs one of these, it is part of the root.
static bool isReshape(Operation &op) {
  return isa<linalg::UnPackOp, tensor::CollapseShapeOp, tensor::DimOp,
             tensor::EmptyOp, tensor::ExpandShapeOp, tensor::ExtractSliceOp,
             tensor::InsertSliceOp>(op);
}

/// Whether memory has an element of this type as vectors do.
static bool isPlain(Type type) {
  return type.isIntOrFloat() && !type.isInteger(1) &&
         type.getIntOrFloatBitWidth() % 8 == 0;
}

/// The tensor that is copied as it is; null where `value` is no copy.
static Value findCopied(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      op.getBlock()->getTerminator()->getOperand(0) !=
          op.getBlock()->getArgument(0))
    return {};
  return op.getDpsInputs()[0];
}

/// Whether a slice begins somewhere along the last dimension only. It may be
/// shorter in any of them.
static bool isLastSlice(tensor::ExtractSliceOp slice) {
  return slice.getSourceType().getRank() == slice.getType().getRank() &&
         slice.getSourceType().getRank() != 0 && slice.hasUnitStride() &&
         llvm::all_of(
             ArrayRef(slice.getMixedOffsets()).drop_back(),
             [](OpFoldResult offset) { return isConstantIntValue(offset, 0); });
}

bool Epilogue::isOutput(Value value) const {
  return llvm::any_of(parts,
                      [&](const Part &part) { return part.output == value; });
}

/// Adds what is written to a parameter; false where that is of another kind
/// than what others get.
bool Epilogue::addPart(Value stored, BlockArgument output) {
  Part part = {output, false, {}};
  Value copied = findCopied(stored);
  if (auto slice =
          (copied ? copied : stored).getDefiningOp<tensor::ExtractSliceOp>()) {
    if (!isLastSlice(slice) || vectorDims.count != 1 ||
        int64_t(vectorDims.first) + 1 != slice.getType().getRank())
      return false;
    part.isSlice = true;
    part.begin = slice.getMixedOffsets().back();
    if (auto begin = dyn_cast<Value>(part.begin);
        begin && !isKnownScalar(begin))
      return false;
    stored = slice.getSource();
  }
  if (!result)
    result = stored;
  bool isOne = parts.empty();
  parts.push_back(part);
  return output && stored == result && (isOne || part.isSlice);
}

FailureOr<Epilogue> Epilogue::match(func::FuncOp kernel, Value root,
                                    VectorDims vectorDims, bool hasIndices) {
  Block &body = kernel.getBody().front();
  auto ret = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!ret || ret.getNumOperands() == 0)
    return failure();
  Epilogue epilogue;
  epilogue.root = root;
  epilogue.vectorDims = vectorDims;
  epilogue.hasIndices = hasIndices;
  llvm::SmallPtrSet<Operation *, 2> stores;
  // Of a kernel that is not prepared, the last parameters are the outputs.
  ArrayRef<BlockArgument> last =
      body.getArguments().take_back(ret.getNumOperands());
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    auto store =
        value.getDefiningOp<bufferization::MaterializeInDestinationOp>();
    if (store)
      stores.insert(store);
    if (index >= last.size() ||
        !epilogue.addPart(store ? store.getSource() : value,
                          store ? dyn_cast<BlockArgument>(store.getDest())
                                : last[index]))
      return failure();
  }
  auto type = dyn_cast<RankedTensorType>(epilogue.result.getType());
  if (!type || !isPlain(type.getElementType()))
    return failure();
  for (Operation &op : body.without_terminator())
    if (!isa<linalg::LinalgOp>(op) && !isReshape(op) && !stores.contains(&op) &&
        !isScalarOp(op))
      return failure();
  auto identity =
      AffineMap::getMultiDimIdentityMap(type.getRank(), kernel.getContext());
  if (failed(epilogue.verify(epilogue.result, identity)))
    return failure();
  return epilogue;
}

/// Returns the access to an operand of an operation that is computed at `map`.
static AffineMap getAccess(linalg::LinalgOp op, OpOperand &operand,
                           AffineMap map) {
  return op.getMatchingIndexingMap(&operand).compose(map);
}

/// Whether elements at `map` of a memref follow one another along several
/// dimensions, counted as one, or are the same one.
static bool areContiguous(AffineMap map, Epilogue::VectorDims dims) {
  ArrayRef<AffineExpr> results = map.getResults();
  auto isAlong = [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim && dims.contains(dim.getPosition());
  };
  if (llvm::none_of(results, isAlong))
    return true;
  if (results.size() < dims.count ||
      llvm::any_of(results.drop_back(dims.count), isAlong))
    return false;
  for (auto [i, expr] : llvm::enumerate(results.take_back(dims.count)))
    if (!isAlong(expr) ||
        cast<AffineDimExpr>(expr).getPosition() != dims.first + i)
      return false;
  return true;
}

/// Whether elements at `map` of a memref follow one another along vectors, or
/// are the same one.
static bool isContiguous(AffineMap map, RankedTensorType type,
                         Epilogue::VectorDims dims) {
  if (map.getNumDims() == 0)
    return true;
  if (dims.count > 1)
    return areContiguous(map, dims);
  int64_t innermost = int64_t(map.getNumResults()) - 1;
  while (innermost >= 0 && type.getDimSize(innermost) == 1)
    --innermost;
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(dims.first) && type.getDimSize(axis) != 1 &&
        int64_t(axis) != innermost)
      return false;
  return true;
}

LogicalResult Epilogue::verify(Value tensor, AffineMap map) {
  if (tensor == root)
    return success(map.isIdentity());
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type) // a scalar
    return success(isKnownScalar(tensor));
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    // Nothing is in the output yet.
    return success(!isOutput(argument) && isPlain(type.getElementType()) &&
                   isMapOfLoops(map, type) &&
                   isContiguous(map, type, vectorDims));
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() || !isVectorizable(op) ||
      (op.hasIndexSemantics() && !hasIndices) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return failure();
  if (op.hasIndexSemantics() &&
      !llvm::all_of(map.getResults(),
                    llvm::IsaPred<AffineDimExpr, AffineConstantExpr>))
    return failure();
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (!llvm::all_of(captured, isKnownScalar))
    return failure();
  for (OpOperand &operand : op->getOpOperands())
    if (op.payloadUsesValueFromOperand(&operand) &&
        failed(verify(operand.get(), getAccess(op, operand, map))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

void Epilogue::begin(IndexBuilder &b, func::FuncOp kernel,
                     ValueRange arguments) {
  parameters = KernelParameters(b, kernel, arguments);
}

/// The place of the element at `indices` of a map.
static Value linearize(IndexBuilder &b, AffineMap map, ArrayRef<Value> strides,
                       ValueRange indices) {
  Value place = b.index(0);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      place = b.add(place, b.mul(indices[dim.getPosition()], stride));
  return place;
}

Value Epilogue::load(IndexBuilder &b, BlockArgument argument, AffineMap map) {
  const KernelParameters::Memory &from = parameters[argument];
  auto type = cast<RankedTensorType>(argument.getType());
  Value place = linearize(b, map, from.strides, indices);
  bool isVector = false;
  for (auto [size, expr] : llvm::zip_equal(type.getShape(), map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      isVector |= size != 1 && vectorDims.contains(dim.getPosition());
  if (!isVector)
    return memref::LoadOp::create(b, from.flat, place);
  auto vector = cast<VectorType>(
      cast<VectorType>(mask.getType()).clone(type.getElementType()));
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vector));
  return vector::MaskedLoadOp::create(b, vector, from.flat, place, mask, zeros);
}

/// The index of a loop of an operation, which is a loop of the result or 0: a
/// vector where vectors lie along it.
Value Epilogue::getIndex(IndexBuilder &b, AffineExpr expr) {
  auto dim = dyn_cast<AffineDimExpr>(expr);
  if (!dim)
    return b.index(cast<AffineConstantExpr>(expr).getValue());
  Value first = indices[dim.getPosition()];
  if (!vectorDims.contains(dim.getPosition()))
    return first;
  int64_t lanes = cast<VectorType>(mask.getType()).getNumElements();
  Value steps = arith::ConstantOp::create(
      b, b.getIndexVectorAttr(llvm::to_vector(llvm::seq(lanes))));
  Value all = vector::BroadcastOp::create(b, steps.getType(), first);
  return arith::AddIOp::create(b, all, steps);
}

Value Epilogue::compute(IndexBuilder &b, Value tensor, AffineMap map) {
  if (tensor == root)
    return sums;
  if (!isa<ShapedType>(tensor.getType()))
    return parameters.scalars.lookup(tensor);
  std::pair<Value, AffineMap> key(tensor, map);
  if (Value known = computed.lookup(key))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return computed[key] = load(b, argument, map);
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  SmallVector<Value> arguments;
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.payloadUsesValueFromOperand(&operand)) {
      arguments.push_back(
          compute(b, operand.get(), getAccess(op, operand, map)));
      continue;
    }
    // Any value of the type will do.
    Type type = getElementTypeOrSelf(operand.get().getType());
    arguments.push_back(
        arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type))));
  }
  VectorBody body(b, cast<VectorType>(mask.getType()).getNumElements());
  body.mask = mask;
  SmallVector<Value> results =
      body.compute(op, arguments, parameters.scalars, [&](unsigned loop) {
        return getIndex(b, map.getResult(loop));
      });
  return computed[key] = results.front();
}

/// Writes the elements that belong to a part.
void Epilogue::store(IndexBuilder &b, const Part &part, Value elements) {
  const KernelParameters::Memory &to = parameters[part.output];
  auto identity =
      AffineMap::getMultiDimIdentityMap(indices.size(), b.getContext());
  if (!part.isSlice) {
    vector::MaskedStoreOp::create(b, to.flat,
                                  linearize(b, identity, to.strides, indices),
                                  mask, elements);
    return;
  }
  auto known = dyn_cast<Value>(part.begin);
  Value begin = known ? parameters.scalars.lookup(known)
                      : b.index(*getConstantIntValue(part.begin));
  SmallVector<Value> places = llvm::to_vector(indices);
  Value &place = places.back();
  place = b.sub(place, begin);
  auto maskType = cast<VectorType>(mask.getType());
  Value zero = b.index(0), lanes = b.index(maskType.getNumElements());
  // The vector may begin before the part, or end after it.
  Value lastSize = to.sizes.back();
  Value isInside =
      b.compare(arith::CmpIPredicate::sgt, b.add(place, lanes), zero);
  for (auto [index, size] : llvm::zip_equal(places, to.sizes))
    isInside = arith::AndIOp::create(
        b, isInside, b.compare(arith::CmpIPredicate::slt, index, size));
  b.branch(isInside, [&](IndexBuilder &b) {
    Value before = vector::CreateMaskOp::create(
        b, maskType, b.max(b.sub(zero, place), zero));
    Value end =
        vector::CreateMaskOp::create(b, maskType, b.sub(lastSize, place));
    Value all =
        arith::ConstantOp::create(b, DenseElementsAttr::get(maskType, true));
    Value behind = arith::XOrIOp::create(b, before, all);
    Value inside =
        arith::AndIOp::create(b, mask, arith::AndIOp::create(b, behind, end));
    vector::MaskedStoreOp::create(b, to.flat,
                                  linearize(b, identity, to.strides, places),
                                  inside, elements);
  });
}

void Epilogue::finish(IndexBuilder &b, Value sums, ValueRange indices,
                      Value mask) {
  this->sums = sums;
  this->mask = mask;
  this->indices = indices;
  computed.clear();
  auto identity =
      AffineMap::getMultiDimIdentityMap(indices.size(), b.getContext());
  VectorBody body(b, cast<VectorType>(mask.getType()).getNumElements());
  Value elements = body.broadcast(compute(b, result, identity));
  for (const Part &part : parts)
    store(b, part, elements);
}
