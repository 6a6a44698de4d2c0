//===- RelaxNNOps.td - Linear algebra and neural networks -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_NN_OPS
#define RELAX_NN_OPS

include "RelaxOperatorBase.td"

def Relax_MatmulOp : Relax_Operator<"matmul"> {
  let summary = "matrix product, with broadcast batch dimensions";
  let description = [{
    As in NumPy: the last two dimensions are multiplied, those before broadcast;
    a vector on the left is a row, on the right a column, and its dimension
    drops out of the result.

    The result has the data type `out_dtype`, in which it is computed, by
    default that of the operands.

    **Constraints:** both have rank 1 or more and the same data type, where no
    `out_dtype` is given; the dimensions that are summed are equal.

    Example:

    ```mlir
    %0 = relax.matmul %a, %b : (!relax.tensor<[b, n, k], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[b, n, m], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x1, Relax_Tensor:$x2,
                       OptionalAttr<TypeAttr>:$out_dtype);
}

class Relax_SoftmaxLikeOp<string mnemonic, string meaning>
    : Relax_Operator<mnemonic> {
  let summary = meaning # " along an axis";
  let description = [{
    The largest element is subtracted first, so large inputs do not overflow.

    **Constraints:** the data type is Float; `axis` is in range.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x {axis = -1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, DefaultValuedOptionalAttr<I64Attr, "-1">:$axis);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferSoftmax(location, adaptor.getX(), adaptor.getAxis(), results)">.definition;
}
def Relax_SoftmaxOp : Relax_SoftmaxLikeOp<"softmax", "exp(x) / sum(exp(x))">;
def Relax_LogSoftmaxOp
    : Relax_SoftmaxLikeOp<"log_softmax", "x - log(sum(exp(x)))">;

def Relax_LayerNormOp : Relax_Operator<"layer_norm"> {
  let summary = "layer normalization";
  let description = [{
    `(x - mean(x)) / sqrt(var(x) + epsilon) * gamma + beta`, with mean and
    variance over `axes`. `center` and `scale` say whether `beta` is added and
    `gamma` multiplied.

    **Constraints:** `gamma` and `beta` have the dimensions of `x` at `axes`.

    Example:

    ```mlir
    %0 = relax.layer_norm %x, %g, %b {axes = array<i64: -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, Relax_Tensor:$gamma, Relax_Tensor:$beta,
                       DenseI64ArrayAttr:$axes,
                       DefaultValuedOptionalAttr<F64Attr, "1e-5">:$epsilon,
                       DefaultValuedOptionalAttr<BoolAttr, "true">:$center,
                       DefaultValuedOptionalAttr<BoolAttr, "true">:$scale);
}

#endif // RELAX_NN_OPS
