//===- OrderKey.h - Integers in the order of elements -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of elements, in which NaN is greater than any number, as that of
// integers: their bits say where an element belongs.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_ORDERKEY_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_ORDERKEY_H

#include "relax-mlir/Conversion/KernelBuilder.h"

namespace mlir::relax {

/// The type of the keys of elements of a type.
IntegerType getOrderKeyType(Type element);

/// An unsigned integer that is less where the element comes before another.
Value buildOrderKey(ScalarBuilder &s, Value element, bool isDescending);

/// The same as a signed integer, which vectors of all processors compare.
Value buildSignedOrderKey(ScalarBuilder &s, Value element, bool isDescending);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_ORDERKEY_H
