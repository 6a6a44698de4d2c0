//===- RelaxDialect.td - The dialect -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_DIALECT
#define RELAX_DIALECT

include "mlir/IR/OpBase.td"

def Relax_Dialect : Dialect {
  let name = "relax";
  let cppNamespace = "::mlir::relax";
  let summary = "Relax, the dynamic-shape graph IR of TVM";
  let description = [{
    Relax describes machine learning programs whose tensor shapes may be
    symbolic. A program is a module of `relax.func` operations and kernels
    (`func.func` in destination-passing style). Each value has *structural
    information* (StructInfo), here an MLIR type: `!relax.tensor`,
    `!relax.shape`, `!relax.prim`, `!relax.tuple`, `!relax.func`,
    `!relax.object`. Dimensions are expressions over named shape variables.

    Example:

    ```mlir
    relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32> {
      %0 = relax.dataflow -> !relax.tensor<[n * 4], f32> {
        %1 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
        %2 = relax.flatten %1 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
        relax.output %2 : !relax.tensor<[n * 4], f32>
      }
      relax.return %0 : !relax.tensor<[n * 4], f32>
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// On the module: the virtual devices by name, #relax.vdevice each (GR03).
    static constexpr ::llvm::StringLiteral kGlobalInfo = "relax.global_info";
    /// On a function: impure calls inside are disregarded (DR15, WF21).
    static constexpr ::llvm::StringLiteral kForcePure = "relax.force_pure";
    /// On a function: how many of its first arguments are captured values, which
    /// the closure, and no caller, passes.
    static constexpr ::llvm::StringLiteral kCaptures = "relax.captures";
    /// On a function: its name for those outside of the module.
    static constexpr ::llvm::StringLiteral kGlobalSymbol = "global_symbol";
    /// On a function: the least and the greatest values of shape variables that
    /// its arguments bind.
    static constexpr ::llvm::StringLiteral kLowerBound = "tir_var_lower_bound";
    static constexpr ::llvm::StringLiteral kUpperBound = "tir_var_upper_bound";
    /// On a function whose shapes are lowered: its StructInfo before, as at run
    /// time.
    static constexpr ::llvm::StringLiteral kStructInfo = "relax.struct_info";
    /// On the module: the constants that `relax.builtin.load_constant` counts.
    static constexpr ::llvm::StringLiteral kConstants = "relax.constants";
    /// On arithmetic of dimensions: the expression that it is a step of.
    static constexpr ::llvm::StringLiteral kExpr = "relax.expr";
    void registerAttributes();
    void registerTypes();
  }];
}

// The base of every operation of the dialect.
class Relax_Op<string mnemonic, list<Trait> traits = []>
    : Op<Relax_Dialect, mnemonic, traits>;

#endif // RELAX_DIALECT
