//===- KernelBuilder.cpp - Building the bodies of kernels -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor operation here writes into an output that it is given, so that
// bufferization needs no memory but that of `empty`.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Conversion/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

Type mlir::relax::getKernelElementType(Type dtype) {
  if (dtype.isUnsignedInteger())
    return IntegerType::get(dtype.getContext(), dtype.getIntOrFloatBitWidth());
  return dtype;
}

//===----------------------------------------------------------------------===//
// Dimensions and maps
//===----------------------------------------------------------------------===//

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

OpFoldResult KernelBuilder::dim(Value tensor, int64_t axis) {
  return tensor::getMixedSize(*this, getLoc(), tensor, axis);
}

SmallVector<OpFoldResult> KernelBuilder::dims(Value tensor) {
  return tensor::getMixedSizes(*this, getLoc(), tensor);
}

Value KernelBuilder::dimValue(Value tensor, int64_t axis) {
  return getValueOrCreateConstantIndexOp(*this, getLoc(), dim(tensor, axis));
}

Value KernelBuilder::count(Value tensor, ArrayRef<int64_t> axes, Type type) {
  int64_t known = 1;
  SmallVector<Value> sizes;
  for (int64_t axis : axes) {
    if (getType(tensor).isDynamicDim(axis))
      sizes.push_back(dimValue(tensor, axis));
    else
      known *= getType(tensor).getDimSize(axis);
  }
  if (sizes.empty())
    return scalars().constant(type, known);
  Value product;
  for (Value size : sizes) {
    Value factor = arith::IndexCastOp::create(*this, getI64Type(), size);
    product = product ? scalars().mul(product, factor) : factor;
  }
  if (known != 1)
    product = scalars().mul(
        product, arith::ConstantOp::create(*this, getI64IntegerAttr(known)));
  return arith::SIToFPOp::create(*this, type, product);
}

AffineMap KernelBuilder::map(int64_t loops, ArrayRef<int64_t> results) {
  SmallVector<AffineExpr> exprs = llvm::map_to_vector(results, [&](int64_t d) {
    return d < 0 ? getAffineConstantExpr(0) : getAffineDimExpr(d);
  });
  return AffineMap::get(loops, 0, exprs, getContext());
}

AffineMap KernelBuilder::dropMap(int64_t loops, ArrayRef<int64_t> axes,
                                 bool keepdims) {
  SmallVector<int64_t> results;
  for (int64_t i = 0; i < loops; ++i) {
    if (!llvm::is_contained(axes, i))
      results.push_back(i);
    else if (keepdims)
      results.push_back(-1);
  }
  return map(loops, results);
}

AffineMap KernelBuilder::broadcastMap(Value input, Value output) {
  ArrayRef<int64_t> from = getType(input).getShape();
  ArrayRef<int64_t> to = getType(output).getShape();
  int64_t offset = to.size() - from.size();
  SmallVector<int64_t> results;
  for (auto [index, size] : llvm::enumerate(from)) {
    int64_t loop = offset + index;
    results.push_back(size == 1 && to[loop] != 1 ? -1 : loop);
  }
  return map(to.size(), results);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Value KernelBuilder::empty(ArrayRef<OpFoldResult> dims, Type elementType) {
  return tensor::EmptyOp::create(*this, dims, elementType);
}

Value KernelBuilder::fill(Value scalar, Value output) {
  return linalg::FillOp::create(*this, scalar, output).getResult(0);
}

Value KernelBuilder::generic(ValueRange inputs, Value output,
                             ArrayRef<AffineMap> maps,
                             ArrayRef<int64_t> reduced, ElementBody body) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(),
                                             utils::IteratorType::parallel);
  for (int64_t loop : reduced)
    iterators[loop] = utils::IteratorType::reduction;
  auto buildBody = [&](OpBuilder &builder, Location loc, ValueRange elements) {
    ScalarBuilder scalars(builder, loc, dtype);
    Value result = body(scalars, elements);
    linalg::YieldOp::create(scalars, result);
  };
  return linalg::GenericOp::create(*this, output.getType(), inputs, output,
                                   maps, iterators, buildBody)
      .getResult(0);
}

Value KernelBuilder::compute(ValueRange inputs, Value output,
                             ArrayRef<AffineMap> maps,
                             ArrayRef<int64_t> reduced, ElementBody body) {
  return generic(inputs, output, maps, reduced,
                 [&](ScalarBuilder &s, ValueRange elements) {
                   // An old element of the output that is not used dies again.
                   SmallVector<Value> wide = llvm::map_to_vector(
                       elements, [&](Value x) { return s.widen(x); });
                   Value result = body(s, wide);
                   return s.narrow(result, getElementType(output));
                 });
}

/// The maps of an elementwise operation.
static SmallVector<AffineMap> elementwiseMaps(KernelBuilder &b,
                                              ValueRange inputs, Value output) {
  SmallVector<AffineMap> maps = llvm::map_to_vector(
      inputs, [&](Value input) { return b.broadcastMap(input, output); });
  maps.push_back(b.identityMap(b.getRank(output)));
  return maps;
}

Value KernelBuilder::elementwise(ValueRange inputs, Value output,
                                 ElementBody body) {
  return generic(inputs, output, elementwiseMaps(*this, inputs, output), {},
                 body);
}

Value KernelBuilder::computeElementwise(ValueRange inputs, Value output,
                                        ElementBody body) {
  return compute(inputs, output, elementwiseMaps(*this, inputs, output), {},
                 body);
}

Value KernelBuilder::copy(Value input, Value output) {
  return elementwise(input, output, [](ScalarBuilder &, ValueRange elements) {
    return elements[0];
  });
}

Value KernelBuilder::fromIndices(Value output, IndexBody body) {
  int64_t rank = getRank(output);
  return generic({}, output, identityMap(rank), {},
                 [&](ScalarBuilder &s, ValueRange) {
                   SmallVector<Value> indices;
                   for (int64_t i = 0; i < rank; ++i)
                     indices.push_back(linalg::IndexOp::create(s, i));
                   return body(s, indices);
                 });
}

Value KernelBuilder::insert(Value input, Value output,
                            ArrayRef<OpFoldResult> offsets) {
  // A slice must begin inside, and one without elements may not.
  if (llvm::is_contained(getType(input).getShape(), 0))
    return output;
  SmallVector<OpFoldResult> sizes = dims(input);
  SmallVector<OpFoldResult> strides(sizes.size(), getIndexAttr(1));
  Value old = tensor::ExtractSliceOp::create(*this, getType(input), output,
                                             offsets, sizes, strides);
  return tensor::InsertSliceOp::create(*this, copy(input, old), output, offsets,
                                       sizes, strides);
}

/// Groups the dimensions of a tensor of rank `rank` + 1: `axis` and the next
/// one are one dimension.
static SmallVector<ReassociationIndices> groupAxis(int64_t rank, int64_t axis) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t first = i <= axis ? i : i + 1;
    groups.push_back({first});
    if (i == axis)
      groups.back().push_back(first + 1);
  }
  return groups;
}

Value KernelBuilder::expandAxis(Value tensor, int64_t axis, int64_t count) {
  int64_t rank = getRank(tensor);
  SmallVector<int64_t> shape(getType(tensor).getShape());
  SmallVector<OpFoldResult> sizes = dims(tensor);
  OpFoldResult rest;
  if (ShapedType::isDynamic(shape[axis])) {
    Value size = getValueOrCreateConstantIndexOp(*this, getLoc(), sizes[axis]);
    rest = Value(arith::DivUIOp::create(*this, size, index(count)));
  } else {
    shape[axis] /= count;
    rest = getIndexAttr(shape[axis]);
  }
  shape.insert(shape.begin() + axis, count);
  sizes[axis] = rest;
  sizes.insert(sizes.begin() + axis, getIndexAttr(count));
  auto type = RankedTensorType::get(shape, getElementType(tensor));
  return tensor::ExpandShapeOp::create(*this, type, tensor,
                                       groupAxis(rank, axis), sizes);
}

Value KernelBuilder::collapseAxis(Value tensor, int64_t axis,
                                  RankedTensorType type) {
  return tensor::CollapseShapeOp::create(*this, type, tensor,
                                         groupAxis(type.getRank(), axis));
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

Type KernelBuilder::accumulatorType(Type type) {
  bool isSmall = isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
  return isSmall ? Type(getF32Type()) : type;
}

Value KernelBuilder::accumulator(Value output, DimsOf dims) {
  Type type = accumulatorType(getElementType(output));
  return type == getElementType(output) ? output : empty(dims(), type);
}

Value KernelBuilder::store(Value accumulator, Value output) {
  if (getElementType(accumulator) == getElementType(output))
    return accumulator;
  return computeElementwise(
      accumulator, output,
      [](ScalarBuilder &, ValueRange elements) { return elements[0]; });
}

//===----------------------------------------------------------------------===//
// Reshaping
//===----------------------------------------------------------------------===//

Value KernelBuilder::flatten(Value input) {
  int64_t rank = getRank(input);
  if (rank == 1)
    return input;
  if (rank > 1) {
    SmallVector<ReassociationIndices> group = {
        llvm::to_vector<2>(llvm::seq<int64_t>(rank))};
    return tensor::CollapseShapeOp::create(*this, input, group);
  }
  auto type = RankedTensorType::get({1}, getElementType(input));
  return tensor::ExpandShapeOp::create(*this, type, input,
                                       ArrayRef<ReassociationIndices>{},
                                       ArrayRef<OpFoldResult>{getIndexAttr(1)});
}

Value KernelBuilder::copyReshaped(Value input, Value output) {
  Value flat = flatten(input);
  if (flat.getType() == output.getType())
    return copy(flat, output);
  int64_t rank = getRank(output);
  ArrayRef<int64_t> shape = getType(output).getShape();
  if (rank > 0 && !ShapedType::isDynamicShape(shape.drop_front())) {
    AffineExpr place = getAffineDimExpr(0);
    for (int64_t i = 1; i < rank; ++i)
      place = place * shape[i] + getAffineDimExpr(i);
    return generic(flat, output,
                   {AffineMap::get(rank, 0, place), identityMap(rank)}, {},
                   [](ScalarBuilder &, ValueRange x) { return x[0]; });
  }
  // A view with several dynamic dimensions could not be lowered, so the place
  // of an element in the vector is computed.
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back(shape[i] == 1 ? Value() : dimValue(output, i));
  return generic({}, output, identityMap(rank), {},
                 [&](ScalarBuilder &s, ValueRange) {
                   SmallVector<Value> indices;
                   for (int64_t i = 0; i < rank; ++i)
                     indices.push_back(linalg::IndexOp::create(s, i));
                   Value place = rank == 0 ? s.index(0) : indices.front();
                   for (int64_t i = 1; i < rank; ++i) {
                     place = sizes[i] ? s.mul(place, sizes[i]) : place;
                     place = s.add(place, indices[i]);
                   }
                   return Value(tensor::ExtractOp::create(s, flat, place));
                 });
}
