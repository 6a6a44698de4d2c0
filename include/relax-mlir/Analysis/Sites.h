//===- Sites.h - Places in programs -----------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_SITES_H
#define RELAX_MLIR_ANALYSIS_SITES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace mlir::relax {

/// "file.mlir:3:5" where a location is in a file, else "": what errors at run
/// time say of their place. Of imported models it is "model.py:3:0 in layers.0"
/// with the module that the line was called from, metadata of fused locations.
std::string getLocationText(Location loc);

/// "dimension n * m" of a step of such an expression, for errors.
std::string describeExpr(Operation *op);

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_SITES_H
