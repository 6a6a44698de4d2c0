//===- Remainders.cpp - Remainders of divisions -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The remainder of float32, as fmod of C: x - n y is exact in doubles where n,
// the quotient, has 28 bits.
//
//===----------------------------------------------------------------------===//

#include "ElementaryFunctions.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

/// x - n y for x, y >= 0, where n has been rounded to an integer and may be 1
/// too large.
static Value subtractMultiple(MathBuilder &b, Value x, Value n, Value y) {
  Value rest = b.sub(x, b.mul(n, y));
  Value isBelow = b.compare(Pred::OLT, rest, b.number64(0));
  return b.select(isBelow, b.add(rest, y), rest);
}

/// For all quotients: of multiples of y by powers of 2^28, from the largest on,
/// each leaves less than 2^28 of the next.
static Value reduceByMultiples(MathBuilder &b, Value x, Value y) {
  for (int exponent = 252; exponent >= 0; exponent -= 28) {
    Value multiple = b.mul(y, b.number64(std::ldexp(1.0, exponent)));
    Value n = math::TruncOp::create(b, b.div(x, multiple));
    x = subtractMultiple(b, x, n, multiple);
  }
  return x;
}

/// Large quotients are rare, so that they are looked for, not computed always.
Value mlir::relax::buildRemainder(MathBuilder &b, Value x, Value y) {
  Value dividend = b.abs(x), divisor = b.abs(y);
  Value n = math::TruncOp::create(b, b.div(dividend, divisor));
  Value isLarge = b.any(b.compare(Pred::OGE, n, b.number(0x1p23)));
  auto choice = scf::IfOp::create(b, TypeRange{b.f64()}, isLarge,
                                  /*withElseRegion=*/true);
  auto fill = [&](Block *block, bool large) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    Value wide = b.widen(dividend), by = b.widen(divisor);
    Value rest = large ? reduceByMultiples(b, wide, by)
                       : subtractMultiple(b, wide, b.widen(n), by);
    scf::YieldOp::create(b, rest);
  };
  fill(choice.thenBlock(), true);
  fill(choice.elseBlock(), false);
  // An infinite divisor leaves all.
  Value isLess = b.compare(Pred::OLT, dividend, divisor);
  Value rest = b.select(isLess, dividend, b.narrow(choice.getResult(0)));
  return b.withSign(rest, x);
}
