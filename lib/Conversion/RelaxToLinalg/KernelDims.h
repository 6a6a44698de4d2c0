//===- KernelDims.h - Dimensions that kernels rely on -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_KERNELDIMS_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_KERNELDIMS_H

#include "relax-mlir/Conversion/RelaxToLinalg.h"

namespace mlir::relax {

/// The pairs of dimensions of operands and outputs that have to be equal for
/// the loops and the shape variables of the kernel of `relax.call_tir` or
/// `relax.call_tir_inplace`; those of other operations are none.
DimPairs findKernelDims(Operation *call);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLINALG_KERNELDIMS_H
