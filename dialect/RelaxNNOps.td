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
  let pythonSummary = "the matrix product, with batch dimensions broadcast";
  let pythonExample = [{
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("b", "n", 4), "float32"))
    >>> w = Var("w", TensorStructInfo((4, "m"), "float32"))
    >>> with bb.function("main", [x, w]):
    ...     y = matmul(x, w)
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[b, n, m], f32>
  }];
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
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of rank 1 or more">:$x1,
    Relax_Arg<Relax_Tensor, "Of rank 1 or more">:$x2,
    Relax_Arg<OptionalAttr<TypeAttr>,
      "That of the result, by default that of the operands">:$out_dtype);
}

class Relax_SoftmaxLikeOp<string mnemonic, string meaning>
    : Relax_Operator<mnemonic> {
  let summary = meaning # " along an axis";
  let pythonNamespace = "nn";
  let description = [{
    The largest element is subtracted first, so large inputs do not overflow.

    **Constraints:** the data type is Float; `axis` is in range.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x {axis = -1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its data type is Float">:$x,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "-1">, "Negative ones count from the end">:$axis);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferSoftmax(location, adaptor.getX(), adaptor.getAxis(), results)">.definition;
}
def Relax_SoftmaxOp : Relax_SoftmaxLikeOp<"softmax", "exp(x) / sum(exp(x))">;
def Relax_LogSoftmaxOp
    : Relax_SoftmaxLikeOp<"log_softmax", "x - log(sum(exp(x)))">;

def Relax_LayerNormOp : Relax_Operator<"layer_norm"> {
  let summary = "layer normalization";
  let pythonNamespace = "nn";
  let pythonSummary = "`data`, normalized over some dimensions";
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
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "The `x` of the formula", name = "data">:$x,
    Relax_Arg<Relax_Tensor, "Of the dimensions of `data` at `axes`">:$gamma,
    Relax_Arg<Relax_Tensor, "Of the dimensions of `data` at `axes`">:$beta,
    Relax_Arg<DenseI64ArrayAttr, "The dimensions over which mean and variance are taken">:$axes,
    Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "1e-5">, "What is added to the variance">:$epsilon,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `beta` is added">:$center,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `gamma` is multiplied">:$scale);
}

#endif // RELAX_NN_OPS
