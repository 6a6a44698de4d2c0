//===- RelaxInterfaces.td - Interfaces of types and operations -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_INTERFACES
#define RELAX_INTERFACES

include "mlir/IR/OpBase.td"

def Relax_StructInfoTypeInterface : TypeInterface<"StructInfoTypeInterface"> {
  let cppNamespace = "::mlir::relax";
  let description = [{
    What the specification asks of structural information. The methods take a
    `StructInfo` of the *same kind*; the functions in `IR/StructInfo.h` handle
    Object and mixed kinds and are what callers use. Questions about dimensions
    have three answers: yes, no, and unknown.

    For example `!relax.tensor<[n, 4], f32>` is a subtype of
    `!relax.tensor<ndim = 2, f32>` (yes), of `!relax.tensor<[n, 5], f32>` (no),
    and of `!relax.tensor<[m, 4], f32>` (unknown).

    A function type binds the variables that stand alone in a dimension (or as
    the shape variable) of its parameters; they are not variables of the scope
    around it.
  }];
  let methods = [
    InterfaceMethod<"Whether each value of this type is one of `other`.",
      "::mlir::relax::Ternary", "isSubtypeOfSameKind", (ins "::mlir::Type":$other)>,
    InterfaceMethod<"Whether a value of this type may be used where `other` is expected.",
      "::mlir::relax::Ternary", "isCompatibleWithSameKind", (ins "::mlir::Type":$other)>,
    InterfaceMethod<"The least upper bound of this type and `other`.",
      "::mlir::Type", "unifyWithSameKind", (ins "::mlir::Type":$other)>,
    InterfaceMethod<[{
        The type with its dimensions, primitive values and shape variables
        replaced.
      }],
      "::mlir::Type", "mapShapes", (ins "const ::mlir::relax::StructInfoMapper &":$map)>,
    InterfaceMethod<[{
        Visits the dimensions, primitive values, shape variables and function
        types in order.
      }],
      "void", "walkShapes", (ins "const ::mlir::relax::StructInfoVisitor &":$visitor)>,
    InterfaceMethod<[{
        Adds to `mapping` what the variables that may be bound here are in
        `actual`. The first occurrence of a variable counts.
      }],
      "void", "matchSameKind",
      (ins "::mlir::Type":$actual, "::mlir::relax::ShapeVarMap &":$mapping)>
  ];
  let extraClassDeclaration = [{
    /// Calls `visit` for each dimension and primitive value in order, without
    /// those of function types.
    void walkPrimExprs(
        ::llvm::function_ref<void(::mlir::relax::PrimExprAttr)> visit) {
      ::mlir::relax::StructInfoVisitor visitor;
      visitor.expr = visit;
      walkShapes(visitor);
    }
  }];
}

#endif // RELAX_INTERFACES
