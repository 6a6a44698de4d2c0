//===- DeviceSort.h - Sorting by many threads -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_DEVICESORT_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_DEVICESORT_H

#include "Lines.h"

namespace mlir::relax {

/// Whether `x` comes before `y` in ascending order: NaN is the greatest.
Value isLess(ScalarBuilder &s, Value x, Value y);

/// Whether `x` has to come before `y`.
Value isBefore(ScalarBuilder &s, Value x, Value y, bool isDescending);

/// The number of bits that an index has, without leading zeros.
Value countBits(ScalarBuilder &s, Value number);

/// Writes the lines of `data` along `axis` to the first output in order, and to
/// the second one, if there is one, where their elements come from. Equal
/// elements stay in order. With `count`, only so many elements of each line are
/// wanted, of which there are as many.
Carried sortByAllThreads(KernelBuilder &b, Value data, ArrayRef<Value> outputs,
                         int64_t axis, bool isDescending,
                         std::optional<int64_t> count = std::nullopt);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_DEVICESORT_H
