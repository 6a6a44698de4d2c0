//===- PackedWeights.cpp - Weights of 4 and 8 bits --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packs codes, scales and zeros, and writes the operation that unpacks them.
//
//===----------------------------------------------------------------------===//

#include "PackedWeights.h"

#include "WordProducts.h"

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> getShape(const QuantizedWeights &weights) {
  return cast<ShapedType>(weights.matrix.op->getResult(0).getType()).getShape();
}

int64_t QuantizedWeights::columns() const {
  return getShape(*this)[columnLoop];
}

int64_t QuantizedWeights::depth() const { return getShape(*this)[depthLoop()]; }

int64_t QuantizedWeights::panels() const {
  return llvm::divideCeil(columns(), lanes);
}

int64_t QuantizedWeights::words() const {
  return llvm::divideCeil(depth(), kCodesOfWord);
}

int64_t QuantizedWeights::group() const {
  return *matrix.getBlock(depthLoop());
}

int64_t QuantizedWeights::groups() const {
  return group() == 0 ? 1 : llvm::divideCeil(depth(), group());
}

BlockArgument QuantizedWeights::getCodes() const {
  return cast<BlockArgument>(matrix.op->getOperand(matrix.codes));
}

BlockArgument
QuantizedWeights::getParameter(const Dequantization::Term &term) const {
  return term.operand
             ? dyn_cast<BlockArgument>(matrix.op->getOperand(*term.operand))
             : BlockArgument();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

RankedTensorType mlir::relax::getPackedType(const QuantizedWeights &weights,
                                            int64_t bits, Type byte) {
  SmallVector<int64_t> shape = {weights.panels(), weights.words()};
  if (bits == 8)
    shape.push_back(kCodesOfWord);
  shape.push_back(weights.lanes);
  return RankedTensorType::get(
      shape, bits == 8 ? byte : IntegerType::get(byte.getContext(), 32));
}

PackedCodes mlir::relax::packCodes(const QuantizedWeights &weights,
                                   ArrayRef<char> codes) {
  int64_t bias = weights.matrix.isUnsigned ? 0 : 8;
  auto getNumber = [&](char code) -> int64_t {
    return weights.matrix.isUnsigned ? static_cast<uint8_t>(code)
                                     : static_cast<int8_t>(code);
  };
  auto fits = [&](char code) {
    int64_t number = getNumber(code) + bias;
    return number >= 0 && number < 16;
  };
  PackedCodes packed;
  packed.bits = llvm::all_of(codes, fits) ? 4 : 8;
  int64_t lanes = weights.lanes, words = weights.words();
  packed.bytes.assign(
      weights.panels() * words * lanes * kCodesOfWord * packed.bits / 8, 0);
  SmallVector<int64_t> strides = computeStrides(getShape(weights));
  for (int64_t column = 0; column < weights.columns(); ++column)
    for (int64_t k = 0; k < weights.depth(); ++k) {
      char code = codes[column * strides[weights.columnLoop] +
                        k * strides[weights.depthLoop()]];
      int64_t panel = column / lanes, lane = column % lanes;
      if (packed.bits == 8) {
        int64_t row = panel * words * kCodesOfWord + k;
        packed.bytes[row * lanes + lane] = code;
        continue;
      }
      int64_t word = (panel * words + k / kCodesOfWord) * lanes + lane;
      int64_t place = k % kCodesOfWord;
      packed.bytes[word * 4 + place / 2] |= (getNumber(code) + bias)
                                            << (place % 2 * 4);
    }
  return packed;
}

std::vector<char> mlir::relax::packTerm(const QuantizedWeights &weights,
                                        const Dequantization::Term &term,
                                        ArrayRef<char> elements,
                                        int64_t bytes) {
  AffineMap map = weights.matrix.maps[*term.operand];
  auto type =
      cast<ShapedType>(weights.matrix.op->getOperand(*term.operand).getType());
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  int64_t lanes = weights.lanes, groups = weights.groups();
  std::vector<char> packed(weights.panels() * groups * lanes * bytes, 0);
  SmallVector<int64_t> place(2);
  for (int64_t column = 0; column < weights.columns(); ++column)
    for (int64_t group = 0; group < groups; ++group) {
      place[weights.columnLoop] = column;
      place[weights.depthLoop()] = group * weights.group();
      int64_t from = linearize(map.compose(place), strides);
      int64_t to = (column / lanes * groups + group) * lanes + column % lanes;
      std::memcpy(&packed[to * bytes], &elements[from * bytes], bytes);
    }
  return packed;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// What stands on the operation: bits, group, whether codes and zeros are
// unsigned, whether rows of the other matrix may be rounded.
std::optional<PackedWeights> PackedWeights::match(Value matrix) {
  auto op = matrix.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return std::nullopt;
  auto numbers =
      RelaxDialect::PackedWeightsAttrHelper(op.getContext()).getAttr(op);
  if (!numbers)
    return std::nullopt;
  ArrayRef<int64_t> values = numbers.asArrayRef();
  return PackedWeights{cast<BlockArgument>(op->getOperand(0)),
                       op->getOperand(1),
                       op->getOperand(2),
                       values[0],
                       values[1],
                       values[2] != 0,
                       values[3] != 0,
                       values[4] != 0};
}

/// Computes the element at the place of the body: (code - zero) * scale.
static Value unpackElement(ImplicitLocOpBuilder &b, Value code, Value scale,
                           Value zero, const PackedWeights &weights,
                           unsigned depthLoop) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  if (weights.bits == 4) {
    Value place = linalg::IndexOp::create(b, depthLoop);
    place = arith::IndexCastOp::create(b, i32, place);
    Value shift = arith::MulIOp::create(
        b, arith::RemUIOp::create(b, place, integer(kCodesOfWord)), integer(4));
    code = arith::AndIOp::create(b, arith::ShRUIOp::create(b, code, shift),
                                 integer(15));
    code = arith::SubIOp::create(b, code, integer(weights.getBias()));
  }
  Value difference = arith::SubFOp::create(
      b, extend(b, code, f32, weights.bits == 8 && weights.isUnsigned),
      extend(b, zero, f32, weights.isUnsignedZero));
  return arith::MulFOp::create(b, difference, extend(b, scale, f32));
}

void mlir::relax::replaceWithPacked(const QuantizedWeights &weights,
                                    int64_t bits, bool mayRoundRows) {
  const Dequantization &matrix = weights.matrix;
  linalg::LinalgOp op = matrix.op;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  int64_t lanes = weights.lanes, group = weights.group();
  AffineExpr column = b.getAffineDimExpr(weights.columnLoop),
             depth = b.getAffineDimExpr(weights.depthLoop());
  auto makeMap = [&](ArrayRef<AffineExpr> rows) {
    SmallVector<AffineExpr> place = {column.floorDiv(lanes)};
    llvm::append_range(place, rows);
    place.push_back(column % lanes);
    return AffineMap::get(2, 0, place, b.getContext());
  };
  // The parameters, with their new types.
  BlockArgument codes = weights.getCodes();
  codes.setType(getPackedType(weights, bits, b.getI8Type()));
  SmallVector<Value> inputs = {codes};
  SmallVector<AffineExpr> rows = {depth.floorDiv(kCodesOfWord)};
  if (bits == 8)
    rows.push_back(depth % kCodesOfWord);
  SmallVector<AffineMap> maps = {makeMap(rows)};
  for (const Dequantization::Term &term : {matrix.scale, matrix.zero}) {
    if (BlockArgument parameter = weights.getParameter(term)) {
      parameter.setType(
          RankedTensorType::get({weights.panels(), weights.groups(), lanes},
                                getElementTypeOrSelf(parameter.getType())));
      inputs.push_back(parameter);
      maps.push_back(makeMap(group == 0 ? b.getAffineConstantExpr(0)
                                        : depth.floorDiv(group)));
      continue;
    }
    inputs.push_back(
        arith::ConstantOp::create(b, b.getF32FloatAttr(term.number)));
    maps.push_back(AffineMap::get(2, 0, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(2));
  PackedWeights packed = {codes,
                          inputs[1],
                          inputs[2],
                          bits,
                          group,
                          matrix.isUnsigned,
                          matrix.zero.isUnsigned,
                          mayRoundRows};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto unpacked = linalg::GenericOp::create(
      b, type, inputs, empty, maps, loops,
      [&](OpBuilder &nested, Location loc, ValueRange e) {
        ImplicitLocOpBuilder inner(loc, nested);
        linalg::YieldOp::create(inner,
                                unpackElement(inner, e[0], e[1], e[2], packed,
                                              weights.depthLoop()));
      });
  RelaxDialect::PackedWeightsAttrHelper(b.getContext())
      .setAttr(unpacked,
               b.getDenseI64ArrayAttr({bits, group, matrix.isUnsigned,
                                       matrix.zero.isUnsigned, mayRoundRows}));
  op->replaceAllUsesWith(unpacked);
  op->erase();
}
