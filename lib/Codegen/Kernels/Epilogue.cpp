//===- Epilogue.cpp - Elementwise consumers of a contraction ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

bool Epilogue::canOmitMasks(int64_t lanes) const {
  return llvm::all_of(parts, [&](const Part &part) {
    auto type = cast<ShapedType>(part.output.getType());
    std::optional<int64_t> begin =
        part.isSlice ? getConstantIntValue(part.begin) : 0;
    int64_t size = part.isSlice ? type.getShape().back() : 0;
    return begin && *begin % lanes == 0 && !ShapedType::isDynamic(size) &&
           size % lanes == 0;
  });
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
    if (!isLastSlice(slice) || elements.vectorLoops.count != 1 ||
        int64_t(elements.vectorLoops.first) + 1 != slice.getType().getRank())
      return false;
    part.isSlice = true;
    part.begin = slice.getMixedOffsets().back();
    if (auto begin = dyn_cast<Value>(part.begin);
        begin && !isKnownScalar(begin))
      return false;
    stored = slice.getSource();
  }
  if (!elements.tensor)
    elements.tensor = stored;
  bool isOne = parts.empty();
  parts.push_back(part);
  return output && stored == elements.tensor && (isOne || part.isSlice);
}

FailureOr<Epilogue> Epilogue::match(func::FuncOp kernel, Value root,
                                    VectorLoops vectorDims, bool hasIndices) {
  Block &body = kernel.getBody().front();
  auto ret = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!ret || ret.getNumOperands() == 0)
    return failure();
  Epilogue epilogue;
  epilogue.elements.vectorLoops = vectorDims;
  epilogue.elements.hasIndices = hasIndices;
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
  auto type = dyn_cast<RankedTensorType>(epilogue.elements.tensor.getType());
  if (!type || !isPlain(type.getElementType()))
    return failure();
  for (Operation &op : body.without_terminator())
    if (!isa<linalg::LinalgOp>(op) && !isReshape(op) && !stores.contains(&op) &&
        !isScalarOp(op))
      return failure();
  auto identity =
      AffineMap::getMultiDimIdentityMap(type.getRank(), kernel.getContext());
  epilogue.elements.map = identity;
  epilogue.elements.given = {{root, identity}};
  SmallVector<BlockArgument> outputs = llvm::map_to_vector(
      epilogue.parts, [](const Part &part) { return part.output; });
  SmallVector<ParameterAccess> reads;
  if (!canCompute(epilogue.elements, outputs, reads))
    return failure();
  return epilogue;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

void Epilogue::begin(IndexBuilder &b, func::FuncOp kernel,
                     ValueRange arguments) {
  builder = ElementBuilder(b, kernel, arguments);
}

/// Writes the elements that belong to a part.
void Epilogue::store(IndexBuilder &b, const Part &part, Value vector,
                     ValueRange indices, Value mask) {
  if (!part.isSlice)
    return builder.store(b, vector, part.output, elements.map, indices, mask);
  auto known = dyn_cast<Value>(part.begin);
  Value begin = known ? builder.computeScalar(b, known)
                      : b.index(*getConstantIntValue(part.begin));
  SmallVector<Value> places = llvm::to_vector(indices);
  Value &place = places.back();
  place = b.sub(place, begin);
  Value zero = b.index(0);
  Value lanes = b.index(cast<VectorType>(vector.getType()).getNumElements());
  // The vector may begin before the part, or end after it.
  Value isInside =
      b.compare(arith::CmpIPredicate::sgt, b.add(place, lanes), zero);
  SmallVector<Value> sizes;
  for (auto [axis, index] : llvm::enumerate(places)) {
    sizes.push_back(builder.getSize(b, part.output, axis));
    isInside =
        arith::AndIOp::create(b, isInside, b.isBelow(index, sizes.back()));
  }
  b.branch(isInside, [&](IndexBuilder &b) {
    if (!mask)
      return builder.store(b, vector, part.output, elements.map, places, mask);
    auto maskType = cast<VectorType>(mask.getType());
    Value before = vector::CreateMaskOp::create(
        b, maskType, b.max(b.sub(zero, place), zero));
    Value end =
        vector::CreateMaskOp::create(b, maskType, b.sub(sizes.back(), place));
    Value all =
        arith::ConstantOp::create(b, DenseElementsAttr::get(maskType, true));
    Value after = arith::XOrIOp::create(b, before, all);
    Value inside =
        arith::AndIOp::create(b, mask, arith::AndIOp::create(b, after, end));
    builder.store(b, vector, part.output, elements.map, places, inside);
  });
}

void Epilogue::finish(IndexBuilder &b, Value sums, ValueRange indices,
                      Value mask, bool isAligned) {
  builder.setLanes(cast<VectorType>(sums.getType()).getNumElements(),
                   isAligned);
  Value vector = builder.computeVector(b, elements, indices, mask, sums);
  for (const Part &part : parts)
    store(b, part, vector, indices, mask);
}

void Epilogue::prefetch(IndexBuilder &b, ValueRange indices, int64_t count) {
  for (const Part &part : parts)
    if (!part.isSlice)
      builder.prefetchStore(b, part.output, elements.map, indices, count);
}
