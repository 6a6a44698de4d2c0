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

#endif // RELAX_OP_INTERFACES
