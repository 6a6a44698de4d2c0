//===- RelaxOpInterfaces.td - Interfaces of operations -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_OP_INTERFACES
#define RELAX_OP_INTERFACES

include "mlir/IR/OpBase.td"

def Relax_PurityOpInterface : OpInterface<"PurityOpInterface"> {
  let cppNamespace = "::mlir::relax";
  let description = [{
    The specification's FPurity (DR15): whether an operation may have visible
    side effects. Operations without this interface are pure; those with it
    decide per instance. `relax.call_packed` never is pure, `relax.call` is as
    pure as its callee.
  }];
  let methods = [
    InterfaceMethod<"Whether this operation has no visible side effect.",
                    "bool", "isPureOp">
  ];
}

def Relax_DeriveOpInterface : OpInterface<"DeriveOpInterface"> {
  let cppNamespace = "::mlir::relax";
  let description = [{
    The derivation rules (DR01-DR16) of operations whose result depends on more
    than operands and attributes: regions, symbols, or a declared type. All other
    operations derive through InferTypeOpInterface.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds the types of the results that follow from the rule, or reports why
        there are none. The declared types may be weaker.
      }],
      "::llvm::LogicalResult", "deriveResultTypes",
      (ins "::llvm::SmallVectorImpl<::mlir::Type> &":$results)>
  ];
}

def Relax_NormalizeOpInterface : OpInterface<"NormalizeOpInterface"> {
  let cppNamespace = "::mlir::relax";
  let description = [{
    A normalization rule of its own (NF05): the call_tir family takes its
    arguments as a tuple literal, never as a variable that holds a tuple.
  }];
  let methods = [
    InterfaceMethod<"Whether the rule leaves this operation as it is (WF23).",
                    "bool", "isNormalized">,
    InterfaceMethod<"Applies the rule.",
                    "void", "normalize", (ins "::mlir::RewriterBase &":$rewriter)>
  ];
}

def Relax_RuntimeStepOpInterface : OpInterface<"RuntimeStepOpInterface"> {
  let cppNamespace = "::mlir::relax";
  let description = [{
    Operations of the lowered host program that are calls of builtins of the
    runtime. What is called, with which operands and with which description of
    the site, is the same in bytecode and in machine code: `RuntimeSteps.h`.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds the calls. An operation with a result is one call, which has that
        result. Shapes are lowered (`verifyHostProgram`).
      }],
      "void", "getRuntimeSteps",
      (ins "::llvm::SmallVectorImpl<::mlir::relax::RuntimeStep> &":$steps)>
  ];
}

#endif // RELAX_OP_INTERFACES
