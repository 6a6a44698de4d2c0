//===- Int4.cpp - Integers of 4 bits in kernels -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No kernel has elements of 4 bits. Two kernels convert: from the memory of a
// tensor, which is a vector of bytes, to elements of 8 bits, and back. The
// second one writes whole bytes, so that threads may share its loop. All other
// operators are those of 8 bits, between conversions.
//
//===----------------------------------------------------------------------===//

#include "Int4.h"

#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static bool isInt4Tensor(Type type) {
  auto tensor = dyn_cast<TensorStructInfoType>(type);
  return tensor && isInt4(tensor.getDtype());
}

/// The attribute that states the data type of a result; null where it is that
/// of the operands.
static TypeAttr getResultDType(Operation *op) {
  if (auto astype = dyn_cast<AstypeOp>(op))
    return astype.getDtypeAttr();
  if (auto quantize = dyn_cast<QuantizeOp>(op))
    return quantize.getOutDtypeAttr();
  if (auto dequantize = dyn_cast<DequantizeOp>(op))
    return dequantize.getOutDtypeAttr();
  return {};
}

static void setResultDType(Operation *op, Type dtype) {
  if (auto astype = dyn_cast<AstypeOp>(op))
    astype.setDtype(dtype);
  else if (auto quantize = dyn_cast<QuantizeOp>(op))
    quantize.setOutDtype(dtype);
}

/// Whether there is a kernel for a conversion.
static bool isWidthConversion(AstypeOp op) {
  Type from = tensorType(op.getX()).getDtype(), to = op.getDtype();
  return (isInt4(from) && getWideInt4(from) == to) ||
         (isInt4(to) && getWideInt4(to) == from);
}

bool mlir::relax::computesInt4(Operation *op) {
  if (auto astype = dyn_cast<AstypeOp>(op); astype && isWidthConversion(astype))
    return false;
  TypeAttr dtype = getResultDType(op);
  return (dtype && isInt4(dtype.getValue())) ||
         llvm::any_of(op->getOperandTypes(), isInt4Tensor);
}

/// Whether a value is only a matrix of products, for which constant codes are
/// packed when kernels are made.
static bool isMatrixOfProducts(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    auto transposed = dyn_cast<PermuteDimsOp>(user);
    return isa<MatmulOp>(user) ||
           (transposed && isMatrixOfProducts(transposed.getResult()));
  });
}

/// A constant with elements of 8 bits.
static Value widenConstant(OpBuilder &builder, ConstantOp constant) {
  ElementsAttr narrow = constant.getValue();
  std::string storage;
  SmallVector<char> elements =
      unpackInt4(getConstantBytes(narrow, storage), narrow.getNumElements(),
                 narrow.getElementType());
  auto type = RankedTensorType::get(narrow.getShapedType().getShape(),
                                    getWideInt4(narrow.getElementType()));
  return ConstantOp::create(builder, constant.getLoc(),
                            DenseElementsAttr::getFromRawBuffer(type, elements))
      .getResult();
}

/// An operand of `op` with elements of 8 bits.
static Value widenOperand(OpBuilder &builder, Operation *op, Value narrow) {
  auto constant = narrow.getDefiningOp<ConstantOp>();
  if (constant && constant.getValue().getNumElements() > 0 &&
      isa<DequantizeOp>(op) && isMatrixOfProducts(op->getResult(0)))
    return widenConstant(builder, constant);
  auto type = cast<TensorStructInfoType>(narrow.getType());
  Type dtype = getWideInt4(type.getDtype());
  return AstypeOp::create(builder, op->getLoc(), withDType(type, dtype), narrow,
                          dtype);
}

/// Numbers of 8 bits, each replaced by the nearest one that `dtype` has.
static Value saturate(OpBuilder &builder, Location loc, Value wide,
                      Type dtype) {
  int64_t least = dtype.isUnsignedInteger() ? 0 : -8;
  auto number = [&](int64_t value) {
    return PrimValueOp::create(builder, loc, builder.getI64IntegerAttr(value));
  };
  return ClipOp::create(builder, loc, wide.getType(), wide, number(least),
                        number(least + 15));
}

void mlir::relax::computeInt4InBytes(Operation *op) {
  OpBuilder builder(op);
  TypeAttr stated = getResultDType(op);
  Type dtype =
      stated ? stated.getValue() : tensorType(op->getOperand(0)).getDtype();
  bool isFromFloat =
      isa_and_present<FloatType>(tensorType(op->getOperand(0)).getDtype());
  for (OpOperand &operand : op->getOpOperands())
    if (isInt4Tensor(operand.get().getType()))
      operand.set(widenOperand(builder, op, operand.get()));
  if (!isInt4(dtype))
    return;
  Value result = op->getResult(0);
  auto declared = cast<TensorStructInfoType>(result.getType());
  Type wide = getWideInt4(dtype);
  setResultDType(op, wide);
  if (declared.getDtype())
    result.setType(withDType(declared, wide));
  builder.setInsertionPointAfter(op);
  Value saturated =
      isFromFloat ? saturate(builder, op->getLoc(), result, dtype) : result;
  auto narrow =
      AstypeOp::create(builder, op->getLoc(), declared, saturated, dtype);
  SmallPtrSet<Operation *, 2> added = {narrow, saturated.getDefiningOp()};
  result.replaceAllUsesExcept(narrow.getResult(), added);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value mlir::relax::viewAs(OpBuilder &builder, Location loc, Value tensor,
                          TensorStructInfoType type) {
  ShapeExprAttr dims = type.getShape();
  Value args[] = {
      tensor,
      ShapeOp::create(builder, loc, ShapeStructInfoType::get(dims), dims),
      DTypeOp::create(builder, loc,
                      ObjectStructInfoType::get(builder.getContext()),
                      TypeAttr::get(type.getDtype())),
      PrimValueOp::create(builder, loc, builder.getI64IntegerAttr(0))};
  return CallPurePackedOp::create(builder, loc, type,
                                  builder.getStringAttr("relax_mlir.run.view"),
                                  /*function=*/Value(), args,
                                  builder.getArrayAttr(TypeAttr::get(type)))
      .getResult();
}

/// A constant of the bytes of another one.
static Value viewConstant(OpBuilder &builder, ConstantOp constant) {
  ElementsAttr packed = constant.getValue();
  auto type = RankedTensorType::get(
      getConstantSize(packed), builder.getIntegerType(8, /*isSigned=*/false));
  ElementsAttr bytes;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(packed)) {
    bytes = DenseResourceElementsAttr::get(type, resource.getRawHandle());
  } else {
    std::string storage;
    bytes = DenseElementsAttr::getFromRawBuffer(
        type, getConstantBytes(packed, storage));
  }
  return ConstantOp::create(builder, constant.getLoc(), bytes).getResult();
}

Value mlir::relax::viewInt4Memory(OpBuilder &builder, Location loc,
                                  Value value) {
  if (!isInt4Tensor(value.getType()))
    return value;
  if (auto constant = value.getDefiningOp<ConstantOp>();
      constant && constant.getValue().getNumElements() > 0)
    return viewConstant(builder, constant);
  return viewAs(builder, loc, value,
                getInt4Memory(cast<TensorStructInfoType>(value.getType())));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static Value makeByte(ScalarBuilder &s, int64_t value) {
  return arith::ConstantOp::create(s, s.getI8IntegerAttr(value));
}

/// The half of a byte that the element at `place` is in, as 8 bits.
static Value takeHalf(ScalarBuilder &s, Value byte, Value place,
                      bool isUnsigned) {
  Value number = arith::IndexCastOp::create(s, s.getI8Type(), place);
  Value odd = arith::AndIOp::create(s, number, makeByte(s, 1));
  Value shift = arith::ShLIOp::create(s, odd, makeByte(s, 2));
  Value lower = arith::ShRUIOp::create(s, byte, shift);
  if (isUnsigned)
    return arith::AndIOp::create(s, lower, makeByte(s, 15));
  Value upper = arith::ShLIOp::create(s, lower, makeByte(s, 4));
  return arith::ShRSIOp::create(s, upper, makeByte(s, 4));
}

/// The place of an element in row-major order.
static Value findPlace(ScalarBuilder &s, ArrayRef<Value> indices,
                       ArrayRef<Value> sizes) {
  Value place = indices.empty() ? s.index(0) : indices[0];
  for (size_t i = 1; i < indices.size(); ++i)
    place = s.add(s.mul(place, sizes[i]), indices[i]);
  return place;
}

/// The same where rows begin with whole bytes, and sizes are known but for the
/// first one: the place of a byte is a map of the loops.
static Value unpackRows(KernelBuilder &b, Value memory, Value output,
                        bool isUnsigned) {
  int64_t rank = b.getRank(output);
  AffineExpr place = b.getAffineDimExpr(0);
  for (int64_t i = 1; i < rank; ++i)
    place = place * b.getType(output).getDimSize(i) + b.getAffineDimExpr(i);
  return b.generic(
      memory, output,
      {AffineMap::get(rank, 0, place.floorDiv(2)), b.identityMap(rank)}, {},
      [&](ScalarBuilder &s, ValueRange x) {
        Value last = linalg::IndexOp::create(s, rank - 1);
        return takeHalf(s, x[0], last, isUnsigned);
      });
}

Value mlir::relax::buildUnpack(KernelBuilder &b, Value memory, Value output,
                               bool isUnsigned) {
  ArrayRef<int64_t> shape = b.getType(output).getShape();
  if (shape.size() > 1 && !ShapedType::isDynamicShape(shape.drop_front()) &&
      shape.back() % 2 == 0)
    return unpackRows(b, memory, output, isUnsigned);
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < b.getRank(output); ++i)
    sizes.push_back(b.dimValue(output, i));
  return b.fromIndices(output, [&](ScalarBuilder &s, ArrayRef<Value> indices) {
    Value place = findPlace(s, indices, sizes);
    Value at = arith::ShRUIOp::create(s, place, s.index(1));
    Value byte = tensor::ExtractOp::create(s, memory, at);
    return takeHalf(s, byte, place, isUnsigned);
  });
}

Value mlir::relax::buildPack(KernelBuilder &b, Value input, Value memory) {
  Value elements = b.flatten(input);
  Value count = b.dimValue(elements, 0);
  return b.fromIndices(memory, [&](ScalarBuilder &s, ArrayRef<Value> indices) {
    Value first = arith::ShLIOp::create(s, indices[0], s.index(1));
    Value second = s.add(first, s.index(1));
    // After an odd number of elements there is none.
    Value isInside =
        arith::CmpIOp::create(s, arith::CmpIPredicate::ult, second, count);
    Value lower = tensor::ExtractOp::create(s, elements, first);
    Value upper = tensor::ExtractOp::create(s, elements,
                                            s.select(isInside, second, first));
    lower = arith::AndIOp::create(s, lower, makeByte(s, 15));
    upper = arith::ShLIOp::create(s, upper, makeByte(s, 4));
    return Value(arith::OrIOp::create(
        s, lower, s.select(isInside, upper, makeByte(s, 0))));
  });
}
