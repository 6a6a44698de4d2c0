//===- DeriveFunc.h - Derive functions of packed functions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type of a packed function names what derives the result of a call (GR08,
// DR10): `default_derive`, `empty_derive`, or a function that was registered
// here, once for the process.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_DERIVEFUNC_H
#define RELAX_MLIR_IR_DERIVEFUNC_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeRange.h"

#include <functional>

namespace mlir::relax {

/// Derives the result of a call from the types of its arguments and from its
/// `sinfo_args`, or reports at the location why there is none. May be called by
/// several threads at once.
using DeriveFunc =
    std::function<FailureOr<Type>(MLIRContext *context, Location location,
                                  TypeRange argTypes, TypeRange sinfoArgs)>;

/// Makes `fn` known as `name`; failure where there is one of that name and
/// `override` is not set. The functions of the specification stay as they are.
LogicalResult registerDeriveFunc(StringRef name, DeriveFunc fn,
                                 bool override = false);

/// The function of this name; an empty one where there is none.
DeriveFunc lookupDeriveFunc(StringRef name);

/// The names that are registered, sorted.
SmallVector<std::string> getDeriveFuncNames();

/// Derives the result type of a call of a packed function whose type names
/// `name`; reports an error at `location` where there is no such function, or
/// where it fails.
FailureOr<Type> deriveByName(StringRef name, Location location,
                             TypeRange argTypes, TypeRange sinfoArgs);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_DERIVEFUNC_H
