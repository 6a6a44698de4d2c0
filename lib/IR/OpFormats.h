//===- OpFormats.h - Directives of the formats of operations -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_IR_OPFORMATS_H
#define RELAX_MLIR_LIB_IR_OPFORMATS_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::relax {

/// The branches of relax.if: custom<Branches>.
ParseResult parseBranches(OpAsmParser &parser, Region &thenRegion,
                          Region &elseRegion);
void printBranches(OpAsmPrinter &printer, Operation *op, Region &thenRegion,
                   Region &elseRegion);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_IR_OPFORMATS_H
