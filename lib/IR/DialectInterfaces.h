//===- DialectInterfaces.h - Interfaces of the dialect ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_IR_DIALECTINTERFACES_H
#define RELAX_MLIR_LIB_IR_DIALECTINTERFACES_H

namespace mlir::relax {

class RelaxDialect;

/// Versions of the dialect in bytecode.
void addBytecodeInterface(RelaxDialect *dialect);
/// What upstream's `--inline` may do.
void addInlinerInterface(RelaxDialect *dialect);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_IR_DIALECTINTERFACES_H
