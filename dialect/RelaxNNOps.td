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

def Relax_OuterOp : Relax_Operator<"outer"> {
  let summary = "the products of each element of a vector with each one of another";
  let description = [{
    **Constraints:** both are vectors of the same data type, which is Numeric.

    Example:

    ```mlir
    %0 = relax.outer %a, %b : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "A vector, whose elements are those of rows">:$x1,
    Relax_Arg<Relax_Tensor, "A vector, whose elements are those of columns">:$x2);
}

def Relax_PReluOp : Relax_Operator<"prelu"> {
  let summary = "parametric ReLU";
  let pythonNamespace = "nn";
  let pythonSummary = "`data` where it is greater than 0, and `alpha * data` elsewhere";
  let description = [{
    `x` where it is greater than 0, and `alpha * x` elsewhere, with an `alpha`
    for each index of `axis`.

    **Constraints:** the data type is Float; `alpha` is a vector of the
    dimension `axis`, or of one element.

    Example:

    ```mlir
    %0 = relax.prelu %x, %a : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its data type is Float">:$data,
    Relax_Arg<Relax_Tensor, "The slope for elements that are not greater than 0">:$alpha,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "1">, "The dimension that `alpha` has">:$axis);
}

def Relax_PadOp : Relax_Operator<"pad"> {
  let summary = "a tensor with elements around it";
  let pythonNamespace = "nn";
  let description = [{
    `pad_width` has the number of elements before and after each dimension. With
    `pad_mode` "constant" they are `pad_value`; with "replicate" the nearest
    element; with "reflect" those on the other side of the first or last
    element, which is not repeated; with "circular" those from the other end.
    Of an empty dimension they are 0.

    **Constraints:** two widths of 0 or more for each dimension.

    Example:

    ```mlir
    %0 = relax.pad %x {pad_width = array<i64: 0, 0, 1, 2>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 7], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_Arg<DenseI64ArrayAttr, "Before and after the first dimension, then the next one, ...">:$pad_width,
    Relax_Arg<DefaultValuedOptionalAttr<StrAttr, "\"constant\"">,
      "\"constant\", \"reflect\", \"replicate\" or \"circular\"">:$pad_mode,
    Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "0.0">, "The elements of \"constant\"">:$pad_value);
}

def Relax_PixelShuffleOp : Relax_Operator<"pixel_shuffle"> {
  let summary = "channels as pixels between the others";
  let pythonNamespace = "nn";
  let description = [{
    `upscale_factor * upscale_factor` channels become a square of pixels:
    `[..., c * r * r, h, w]` is `[..., c, h * r, w * r]`.

    **Constraints:** rank 3 or more; `upscale_factor` is 1 or more; the channels
    are a multiple of its square, which is checked at run time where it cannot
    be proven.

    Example:

    ```mlir
    %0 = relax.pixel_shuffle %x {upscale_factor = 2} : (!relax.tensor<[n, 8, 3, 3], f32>) -> !relax.tensor<[n, 2, 6, 6], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_Arg<I64Attr, "How often larger the image becomes, in both directions">:$upscale_factor);
}

#endif // RELAX_NN_OPS
