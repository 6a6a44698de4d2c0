//===- Statistics.h - Sums, means and variances of tensors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Common parts of reductions, softmax and normalizations. Results have the
// dimensions that are not reduced, and the type that sums have.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_STATISTICS_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_STATISTICS_H

#include "relax-mlir/Conversion/KernelBuilder.h"

namespace mlir::relax {

/// The maps of loops over all dimensions of `x`, some of which are reduced.
struct RowMaps {
  RowMaps(KernelBuilder &b, Value x, ArrayRef<int64_t> axes)
      : full(b.identityMap(b.getRank(x))),
        reduced(b.dropMap(b.getRank(x), axes)) {}
  AffineMap full, reduced;
};

/// A new tensor for reductions of `x` over `axes`, filled with the identity.
Value emptyReduced(KernelBuilder &b, Value x, ArrayRef<int64_t> axes,
                   Identity identity);

/// The largest element, the sum, and the mean over `axes`. Dimensions are those
/// of `like` where it is there: of an input, which is not computed.
Value rowMax(KernelBuilder &b, Value x, ArrayRef<int64_t> axes);
Value rowSum(KernelBuilder &b, Value x, ArrayRef<int64_t> axes,
             Value like = Value());
Value rowMean(KernelBuilder &b, Value x, ArrayRef<int64_t> axes);

/// The mean of the squares of the differences from `mean`, or of the elements
/// themselves where there is none.
Value rowMeanSquare(KernelBuilder &b, Value x, Value mean,
                    ArrayRef<int64_t> axes);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_STATISTICS_H
