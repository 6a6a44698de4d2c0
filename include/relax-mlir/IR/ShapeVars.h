//===- ShapeVars.h - The variables of StructInfo -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable stands for a dimension (an integer) or for a shape as a whole. The
// types below describe variables to the methods of StructInfoTypeInterface.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_SHAPEVARS_H
#define RELAX_MLIR_IR_SHAPEVARS_H

#include "relax-mlir/IR/PrimExpr.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"

namespace mlir::relax {

/// A substitution of variables: an expression for a dimension; for a shape its
/// dimensions (a ShapeExprAttr) or the name of another variable (a StringAttr).
struct ShapeVarMap {
  ShapeVarMap() = default;
  ShapeVarMap(PrimExprMap dims) : dims(std::move(dims)) {}

  bool empty() const { return dims.empty() && shapes.empty(); }
  bool contains(StringRef name) const {
    return dims.contains(name) || shapes.contains(name);
  }

  PrimExprMap dims;
  llvm::StringMap<Attribute> shapes;
};

/// The callbacks that rebuild a type. A null result erases: a value, or the
/// whole list of dimensions; the rank stays. Function types have variables of
/// their own, so they are left to `func`; without it they stay as they are.
struct StructInfoMapper {
  llvm::function_ref<PrimExprAttr(PrimExprAttr)> expr;
  /// Gives what ShapeVarMap holds for the variable of a shape.
  llvm::function_ref<Attribute(StringAttr)> shapeVar;
  llvm::function_ref<Type(Type)> func = {};
};

/// The optional callbacks of a walk over a type, which calls them in order.
struct StructInfoVisitor {
  /// A dimension or a primitive value; a bare variable is one that may be bound
  /// here.
  llvm::function_ref<void(PrimExprAttr)> expr = {};
  /// The variable of a shape, with the rank, and whether it may be bound here:
  /// it is in the type of a shape, but only used in that of a tensor.
  llvm::function_ref<void(StringAttr, int64_t, bool)> shapeVar = {};
  /// A function type, which the walk does not enter.
  llvm::function_ref<void(Type)> func = {};
};

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_SHAPEVARS_H
