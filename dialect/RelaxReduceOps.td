//===- RelaxReduceOps.td - Reductions -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_REDUCE_OPS
#define RELAX_REDUCE_OPS

include "RelaxOperatorBase.td"

// A reduction over `axis` (all axes where it is left out; negative ones count
// from the end). With `keepdims` reduced dimensions stay, with size 1.
class Relax_ReduceOp<string mnemonic, string dtypes, string meaning>
    : Relax_Operator<mnemonic> {
  let summary = meaning # " over some dimensions";
  let description = [{
    **Constraints:** `axis` names distinct dimensions; the data type is }]
    # dtypes # [{.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x {axis = array<i64: -1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, OptionalAttr<DenseI64ArrayAttr>:$axis,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$keepdims);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferReduce(location, adaptor.getX(), adaptor.getAxis(), " #
      "adaptor.getKeepdims(), DTypeClass::" # dtypes # ", results)">.definition;
}

def Relax_SumOp : Relax_ReduceOp<"sum", "Numeric", "the sum">;
def Relax_MeanOp : Relax_ReduceOp<"mean", "Float", "the mean">;
def Relax_MaxOp : Relax_ReduceOp<"max", "Numeric", "the largest element">;
def Relax_MinOp : Relax_ReduceOp<"min", "Numeric", "the smallest element">;
def Relax_ProdOp : Relax_ReduceOp<"prod", "Numeric", "the product">;

#endif // RELAX_REDUCE_OPS
