//===- ArgumentNames.h - The names of arguments in the text -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The `arg_names` of relax.func and relax.closure.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_IR_ARGUMENTNAMES_H
#define RELAX_MLIR_LIB_IR_ARGUMENTNAMES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::relax {

/// The names of the arguments in the text, "" where it is the one that printing
/// makes up. Null where no argument has a name.
ArrayAttr argumentNames(Builder &builder,
                        ArrayRef<OpAsmParser::Argument> arguments);

/// The name of one argument, "" where it has none. `names` may be null.
StringRef argumentName(ArrayAttr names, unsigned index);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_IR_ARGUMENTNAMES_H
