//===- Constants.h - The pool of constants of a module ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_CONSTANTS_H
#define RELAX_MLIR_IR_CONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::relax {

/// The pool: `relax.constants` of the module, which was verified.
SmallVector<ElementsAttr> getConstants(ModuleOp module);

/// Returns the bytes that a constant takes in memory, a Boolean one.
int64_t getConstantSize(ElementsAttr constant);

/// Verifies that the elements of a constant can be read: that it is dense, and
/// that a resource holds as many bytes as the type says.
LogicalResult verifyConstant(Operation *op, ElementsAttr constant);

/// The elements of a constant that was verified, in row-major order: those of
/// the attribute, which live as long as the context, or where it stores them in
/// another way (one for all), in `storage`.
ArrayRef<char> getConstantBytes(ElementsAttr constant, std::string &storage);

/// Whether kernels only read a value, in host code with explicit memory, so
/// that it may be shared.
bool isOnlyRead(Value value);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_CONSTANTS_H
