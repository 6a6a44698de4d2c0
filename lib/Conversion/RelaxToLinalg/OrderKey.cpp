//===- OrderKey.cpp - Integers in the order of elements ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderKey.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::relax;

static Value buildBits(ScalarBuilder &s, Value like, const APInt &bits) {
  return arith::ConstantOp::create(s, s.getIntegerAttr(like.getType(), bits));
}

static Value flip(ScalarBuilder &s, Value key, const APInt &bits) {
  return arith::XOrIOp::create(s, key, buildBits(s, key, bits));
}

/// Negative floats are in the opposite order of their bits. Zeros are equal,
/// and those that are not a number, which are after all others.
static Value buildFloatKey(ScalarBuilder &s, Value element) {
  auto type = cast<FloatType>(element.getType());
  unsigned width = type.getWidth();
  Value number = arith::BitcastOp::create(s, s.getIntegerType(width), element);
  auto bits = [&](const APInt &bits) { return buildBits(s, number, bits); };
  APInt sign = APInt::getSignMask(width);
  APInt infinity = APFloat::getInf(type.getFloatSemantics()).bitcastToAPInt();
  Value magnitude = arith::AndIOp::create(s, number, bits(~sign));
  Value isNaN = arith::CmpIOp::create(s, arith::CmpIPredicate::ugt, magnitude,
                                      bits(infinity));
  Value isZero = arith::CmpIOp::create(s, arith::CmpIPredicate::eq, magnitude,
                                       bits(APInt::getZero(width)));
  Value plain = arith::SelectOp::create(s, isZero, magnitude, number);
  Value isNegative =
      arith::ShRSIOp::create(s, plain, bits(APInt(width, width - 1)));
  Value flipped = arith::OrIOp::create(s, isNegative, bits(sign));
  Value key = arith::XOrIOp::create(s, plain, flipped);
  return arith::SelectOp::create(s, isNaN, bits(APInt::getAllOnes(width)), key);
}

IntegerType mlir::relax::getOrderKeyType(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  // Floats of 8 bits differ in how they write what is not a number, so they are
  // looked at as f32; booleans as bytes.
  if (width == 8 && isa<FloatType>(element))
    width = 32;
  return IntegerType::get(element.getContext(), std::max(width, 8u));
}

Value mlir::relax::buildOrderKey(ScalarBuilder &s, Value element,
                                 bool isDescending) {
  IntegerType type = getOrderKeyType(element.getType());
  unsigned width = type.getWidth();
  unsigned given = element.getType().getIntOrFloatBitWidth();
  Value key;
  if (isa<FloatType>(element.getType())) {
    key = buildFloatKey(s, given < width ? s.widen(element) : element);
  } else {
    bool isUnsigned = s.isUnsigned();
    key = element;
    if (given < width)
      key = isUnsigned ? Value(arith::ExtUIOp::create(s, type, key))
                       : Value(arith::ExtSIOp::create(s, type, key));
    if (!isUnsigned)
      key = flip(s, key, APInt::getSignMask(width));
  }
  return isDescending ? flip(s, key, APInt::getAllOnes(width)) : key;
}

Value mlir::relax::buildSignedOrderKey(ScalarBuilder &s, Value element,
                                       bool isDescending) {
  Value key = buildOrderKey(s, element, isDescending);
  return flip(s, key,
              APInt::getSignMask(key.getType().getIntOrFloatBitWidth()));
}
