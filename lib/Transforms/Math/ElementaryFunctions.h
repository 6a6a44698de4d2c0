//===- ElementaryFunctions.h - Functions as arithmetic ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementary functions of float32 as arithmetic without branches, so that it is
// the same for a number and a vector, and no call of libm is in between.
// docs/dev/math.md has the largest error of each, over all numbers.
//
// Each function is reduced to a small interval, where a polynomial is close.
// Its coefficients make the largest relative error the least (Remez's
// algorithm, in 40 digits). Sums and products of a polynomial may be
// contracted, and need not: errors are small with and without fused
// multiply-add. Operations that must be exact are not marked so.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_MATH_ELEMENTARYFUNCTIONS_H
#define RELAX_MLIR_LIB_TRANSFORMS_MATH_ELEMENTARYFUNCTIONS_H

#include "MathBuilder.h"

namespace mlir::relax {

Value buildExp(MathBuilder &b, Value x);
Value buildExp2(MathBuilder &b, Value x);
Value buildExpM1(MathBuilder &b, Value x);
Value buildSinh(MathBuilder &b, Value x);
Value buildCosh(MathBuilder &b, Value x);
Value buildTanh(MathBuilder &b, Value x);

Value buildErf(MathBuilder &b, Value x);
/// 1 + erf(x), within 2^-23, in half of the instructions: the digits of erf
/// near 0 do not count.
Value buildOnePlusErf(MathBuilder &b, Value x);
/// x (1 + erf(x / sqrt(2))) / 2, within 2^-23 of x, in two thirds of the
/// instructions; those with fewer digits, for results of bf16, in half.
Value buildGelu(MathBuilder &b, Value x);
Value buildShortGelu(MathBuilder &b, Value x);

Value buildLog(MathBuilder &b, Value x);
Value buildLog2(MathBuilder &b, Value x);
Value buildLog10(MathBuilder &b, Value x);
Value buildLog1p(MathBuilder &b, Value x);
Value buildAsinh(MathBuilder &b, Value x);
Value buildAcosh(MathBuilder &b, Value x);
Value buildAtanh(MathBuilder &b, Value x);

Value buildSin(MathBuilder &b, Value x);
Value buildCos(MathBuilder &b, Value x);
Value buildTan(MathBuilder &b, Value x);
Value buildAsin(MathBuilder &b, Value x);
Value buildAcos(MathBuilder &b, Value x);
Value buildAtan(MathBuilder &b, Value x);
/// The angle of the point (x, y).
Value buildAtan2(MathBuilder &b, Value y, Value x);

Value buildPow(MathBuilder &b, Value x, Value y);
/// What is left of x by a division whose quotient is rounded towards 0: exact.
Value buildRemainder(MathBuilder &b, Value x, Value y);

/// Of doubles.
Value buildExpOfDouble(MathBuilder &b, Value x);
Value buildLogOfDouble(MathBuilder &b, Value x);
/// The formulas of upstream for these two lose all digits near 0.
Value buildExpM1OfDouble(MathBuilder &b, Value x);
Value buildLog1pOfDouble(MathBuilder &b, Value x);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_MATH_ELEMENTARYFUNCTIONS_H
