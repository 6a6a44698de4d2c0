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
  }];
  let methods = [
    InterfaceMethod<"Whether each value of this type is one of `other`.",
      "::mlir::relax::Ternary", "isSubtypeOfSameKind", (ins "::mlir::Type":$other)>,
    InterfaceMethod<"Whether a value of this type may be used where `other` is expected.",
      "::mlir::relax::Ternary", "isCompatibleWithSameKind", (ins "::mlir::Type":$other)>,
    InterfaceMethod<"The least upper bound of this type and `other`.",
      "::mlir::Type", "unifyWithSameKind", (ins "::mlir::Type":$other)>,
    InterfaceMethod<[{
        The type with each dimension (or primitive value) replaced by
        `map(expr)`. A null result erases the whole list of dimensions; the rank
        stays.
      }],
      "::mlir::Type", "mapPrimExprs",
      (ins "::llvm::function_ref<::mlir::relax::PrimExprAttr(::mlir::relax::PrimExprAttr)>":$map)>,
    InterfaceMethod<[{
        Calls `visit` for each dimension (or primitive value) in order. One that
        is a bare variable is a binding position.
      }],
      "void", "walkPrimExprs",
      (ins "::llvm::function_ref<void(::mlir::relax::PrimExprAttr)>":$visit)>,
    InterfaceMethod<[{
        Calls `visit(mine, theirs)` for each pair of dimensions at the same
        place of two types of equal structure.
      }],
      "void", "zipPrimExprsSameKind",
      (ins "::mlir::Type":$other,
           "::llvm::function_ref<void(::mlir::relax::PrimExprAttr, ::mlir::relax::PrimExprAttr)>":$visit)>
  ];
}

#endif // RELAX_INTERFACES
