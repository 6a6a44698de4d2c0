//===- RelaxCreateOps.td - Operators that create tensors -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_CREATE_OPS
#define RELAX_CREATE_OPS

include "RelaxOperatorBase.td"

def Relax_FullOp : Relax_Operator<"full"> {
  let summary = "a tensor filled with a scalar";
  let description = [{
    **Constraints:** `fill_value` is a tensor of rank 0. Its data type is that
    of the result unless `dtype` says otherwise.

    Example:

    ```mlir
    %0 = relax.full %s, %v : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins Relax_Shape:$shape, Relax_Tensor:$fill_value,
                       OptionalAttr<TypeAttr>:$dtype);
}

class Relax_FillOp<string mnemonic, string meaning> : Relax_Operator<mnemonic> {
  let summary = "a tensor of " # meaning;
  let description = [{
    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %s {dtype = f32} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins Relax_Shape:$shape, TypeAttr:$dtype);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferFill(location, adaptor.getShape(), adaptor.getDtype(), results)">.definition;
}
def Relax_ZerosOp : Relax_FillOp<"zeros", "zeros">;
def Relax_OnesOp : Relax_FillOp<"ones", "ones">;

#endif // RELAX_CREATE_OPS
