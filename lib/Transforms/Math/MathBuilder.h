//===- MathBuilder.h - Arithmetic of elementary functions -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_MATH_MATHBUILDER_H
#define RELAX_MLIR_LIB_TRANSFORMS_MATH_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace mlir::relax {

using Pred = arith::CmpFPredicate;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Builds arithmetic of numbers, or of vectors of one shape.
class MathBuilder : public ImplicitLocOpBuilder {
public:
  MathBuilder(Operation *op, bool fast, bool hasScalef)
      : ImplicitLocOpBuilder(op->getLoc(), op), fast(fast),
        shape(dyn_cast<VectorType>(op->getResult(0).getType())),
        hasScalef(hasScalef && shape && shape.getRank() == 1) {}

  /// Whether fewer digits will do.
  const bool fast;

  /// The type of a number, or the vector of it.
  Type typeOf(Type element) {
    return shape ? Type(VectorType::get(shape.getShape(), element)) : element;
  }
  Type f32() { return typeOf(getF32Type()); }
  Type f64() { return typeOf(getF64Type()); }
  Type i32() { return typeOf(getI32Type()); }
  Type i64() { return typeOf(getI64Type()); }

  Value number(double value) { return splat(getF32FloatAttr(value)); }
  Value number64(double value) { return splat(getF64FloatAttr(value)); }
  /// A number of the type of another.
  Value numberLike(Value x, double value) {
    return getElementTypeOrSelf(x.getType()).isF64() ? number64(value)
                                                     : number(value);
  }
  Value integer(int32_t value) { return splat(getI32IntegerAttr(value)); }
  Value integer64(int64_t value) { return splat(getI64IntegerAttr(value)); }

  Value add(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }
  Value abs(Value a) { return math::AbsFOp::create(*this, a); }
  /// a * b + c, rounded once or twice.
  Value mulAdd(Value a, Value b, Value c) {
    auto contract = arith::FastMathFlags::contract;
    Value product = arith::MulFOp::create(*this, a, b, contract);
    return arith::AddFOp::create(*this, product, c, contract);
  }
  /// c[0] + c[1] * x + ...
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value result = numberLike(x, coefficients.back());
    for (double value : llvm::reverse(coefficients.drop_back()))
      result = mulAdd(result, x, numberLike(x, value));
    return result;
  }

  Value compare(Pred pred, Value a, Value b) {
    return arith::CmpFOp::create(*this, pred, a, b);
  }
  Value select(Value flag, Value a, Value b) {
    return arith::SelectOp::create(*this, flag, a, b);
  }
  Value isNaN(Value x) { return compare(Pred::UNO, x, x); }
  /// x within bounds; NaN stays.
  Value clamp(Value x, Value low, Value high) {
    x = select(compare(Pred::OGT, x, high), high, x);
    return select(compare(Pred::OLT, x, low), low, x);
  }

  Value addI(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value subI(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
  Value andI(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value shiftLeft(Value a, Value b) {
    return arith::ShLIOp::create(*this, a, b);
  }
  Value shiftRight(Value a, Value b) {
    return arith::ShRSIOp::create(*this, a, b);
  }
  Value bits(Value x) {
    return arith::BitcastOp::create(
        *this, getElementTypeOrSelf(x.getType()).isF64() ? i64() : i32(), x);
  }
  Value fromBits(Value x) {
    return arith::BitcastOp::create(
        *this, getElementTypeOrSelf(x.getType()).isInteger(64) ? f64() : f32(),
        x);
  }
  /// 2^n for integers with a normal power.
  Value power2(Value n) {
    return fromBits(shiftLeft(addI(n, integer(127)), integer(23)));
  }
  Value power2Of64(Value n) {
    return fromBits(shiftLeft(addI(n, integer64(1023)), integer64(52)));
  }
  /// Whether exponentials below 2^-125 become 0.
  bool flushes() const {
    return fast && !(hasScalef && shape.getNumElements() == 16);
  }
  /// x * 2^n for whole numbers n, rounded once; null where no instruction does
  /// it.
  Value scale(Value x, Value n) {
    bool isDouble = getElementTypeOrSelf(x.getType()).isF64();
    if (!hasScalef || shape.getNumElements() != (isDouble ? 8 : 16))
      return nullptr;
    IntegerType mask = getIntegerType(shape.getNumElements());
    Value all = LLVM::ConstantOp::create(*this, getIntegerAttr(mask, -1));
    Value currentRounding =
        LLVM::ConstantOp::create(*this, getI32IntegerAttr(4));
    return LLVM::CallIntrinsicOp::create(
               *this, x.getType(),
               getStringAttr(Twine("llvm.x86.avx512.mask.scalef.") +
                             (isDouble ? "pd.512" : "ps.512")),
               ValueRange{x, n, x, all, currentRounding})
        .getResults();
  }
  /// A number that is not negative, with the sign of another.
  Value withSign(Value magnitude, Value sign) {
    return math::CopySignOp::create(*this, magnitude, sign);
  }
  Value widen(Value x) { return arith::ExtFOp::create(*this, f64(), x); }
  Value narrow(Value x) { return arith::TruncFOp::create(*this, f32(), x); }

  /// Whether a flag holds, for one element at least.
  Value any(Value flags) {
    if (!shape)
      return flags;
    if (shape.getRank() != 1)
      flags = vector::ShapeCastOp::create(
          *this, VectorType::get({shape.getNumElements()}, getI1Type()), flags);
    return vector::ReductionOp::create(*this, vector::CombiningKind::OR, flags);
  }

private:
  Value splat(TypedAttr value) {
    if (!shape)
      return arith::ConstantOp::create(*this, value);
    return arith::ConstantOp::create(
        *this, DenseElementsAttr::get(cast<ShapedType>(typeOf(value.getType())),
                                      Attribute(value)));
  }

  VectorType shape;
  bool hasScalef;
};

/// A number as n + fraction, |fraction| <= 1/2, where n is small.
struct Rounded {
  Value n;      // as a float
  Value number; // as an integer
};

/// The sum of a small number and 1.5 * 2^23 has no fraction, and the integer in
/// its last bits. Nothing is undefined where the number is a NaN.
inline Rounded roundOf(MathBuilder &b, Value shifted) {
  Value shift = b.number(0x1.8p23);
  return {b.sub(shifted, shift), b.subI(b.bits(shifted), b.bits(shift))};
}

inline Rounded round64(MathBuilder &b, Value x) {
  Value shift = b.number64(0x1.8p52);
  Value shifted = b.add(x, shift);
  return {b.sub(shifted, shift), b.subI(b.bits(shifted), b.bits(shift))};
}

/// The exponent of a normal double, as a double, and the mantissa from
/// sqrt(1/2) to sqrt(2).
inline std::pair<Value, Value> splitDouble(MathBuilder &b, Value x) {
  Value bits = b.bits(x), shift = b.integer64(52);
  Value exponent = b.shiftRight(
      b.subI(bits, b.bits(b.number64(0x1.6a09e667f3bcdp-1))), shift);
  Value mantissa = b.fromBits(b.subI(bits, b.shiftLeft(exponent, shift)));
  // The exponent is small.
  exponent = arith::TruncIOp::create(b, b.i32(), exponent);
  return {arith::SIToFPOp::create(b, b.f64(), exponent), mantissa};
}

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_MATH_MATHBUILDER_H
