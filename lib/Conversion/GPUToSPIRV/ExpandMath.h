//===- ExpandMath.h - Functions that OpenCL has not -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_GPUTOSPIRV_EXPANDMATH_H
#define RELAX_MLIR_LIB_CONVERSION_GPUTOSPIRV_EXPANDMATH_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::relax {

/// Patterns that compute functions for which MLIR's SPIR-V dialect has no
/// extended instruction of OpenCL by others.
void populateExpandMathPatterns(RewritePatternSet &patterns);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_GPUTOSPIRV_EXPANDMATH_H
