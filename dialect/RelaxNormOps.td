//===- RelaxNormOps.td - Normalization and attention -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_NORM_OPS
#define RELAX_NORM_OPS

include "RelaxOperatorBase.td"

let pythonNamespace = "nn" in {

def Relax_BatchNormOp : Relax_Operator<"batch_norm"> {
  let summary = "batch normalization, with the moving mean and variance";
  let pythonSummary = "`data`, normalized for each index of an axis";
  let description = [{
    The first result is `(data - mean) / sqrt(variance + epsilon) * gamma +
    beta` for each index of `axis`. Mean and variance are `moving_mean` and
    `moving_var`, which are the other results then; with `training` they are
    those of `data`, and the other results are `(1 - momentum)` times the moving
    ones plus `momentum` times them. `center` and `scale` say whether `beta` is
    added and `gamma` multiplied.

    **Constraints:** the parameters have the dimension of `data` at `axis`.

    Example:

    ```mlir
    %0 = relax.batch_norm %x, %g, %b, %mean, %var {axis = 1} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>>
    ```
  }];
  defvar size = "Of the dimension of `data` at `axis`";
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is normalized">:$data,
    Relax_Arg<Relax_Tensor, size>:$gamma,
    Relax_Arg<Relax_Tensor, size>:$beta,
    Relax_Arg<Relax_Tensor, size>:$moving_mean,
    Relax_Arg<Relax_Tensor, size>:$moving_var,
    Relax_Arg<I64Attr, "The dimension of the channels">:$axis,
    Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "1e-5">, "What is added to the variance">:$epsilon,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `beta` is added">:$center,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `gamma` is multiplied">:$scale,
    Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "0.1">,
      "The part that mean and variance of `data` have of the new moving ones">:$momentum,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">,
      "Whether mean and variance are those of `data`, or the moving ones">:$training);
  let results = (outs Res<Relax_Tuple,
    "A tuple of the result, the moving mean and the moving variance", [MemAlloc]>:$result);
}

def Relax_GroupNormOp : Relax_Operator<"group_norm"> {
  let summary = "normalization over groups of channels";
  let pythonSummary = "`data`, normalized over groups of channels";
  let description = [{
    `(data - mean) / sqrt(variance + epsilon) * gamma + beta`, where mean and
    variance are those of one of `num_groups` groups of channels and of `axes`.
    `center` and `scale` say whether `beta` is added and `gamma` multiplied.

    **Constraints:**
    - `axes` does not have `channel_axis`;
    - the channels are a multiple of `num_groups`;
    - `gamma` and `beta` have the dimension of `data` at `channel_axis`.

    Example:

    ```mlir
    %0 = relax.group_norm %x, %g, %b {num_groups = 2, channel_axis = 1, axes = array<i64: 2>} : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4, m], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is normalized">:$data,
    Relax_Arg<Relax_Tensor, "Of the dimension of `data` at `channel_axis`">:$gamma,
    Relax_Arg<Relax_Tensor, "Of the dimension of `data` at `channel_axis`">:$beta,
    Relax_Arg<I64Attr, "The number of groups">:$num_groups,
    Relax_Arg<I64Attr, "The dimension of the channels">:$channel_axis,
    Relax_Arg<DenseI64ArrayAttr,
      "The dimensions, beside the channels of a group, over which mean and variance are taken">:$axes,
    Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "1e-5">, "What is added to the variance">:$epsilon,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `beta` is added">:$center,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `gamma` is multiplied">:$scale);
}

def Relax_InstanceNormOp : Relax_Operator<"instance_norm"> {
  let summary = "normalization of each channel";
  let pythonSummary = "`data`, normalized for each channel";
  let description = [{
    `(data - mean) / sqrt(variance + epsilon) * gamma + beta`, with mean and
    variance over `axes`. `center` and `scale` say whether `beta` is added and
    `gamma` multiplied.

    **Constraints:** `gamma` and `beta` have the dimension of `data` at
    `channel_axis`.

    Example:

    ```mlir
    %0 = relax.instance_norm %x, %g, %b {channel_axis = 1, axes = array<i64: 2>} : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4, m], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is normalized">:$data,
    Relax_Arg<Relax_Tensor, "Of the dimension of `data` at `channel_axis`">:$gamma,
    Relax_Arg<Relax_Tensor, "Of the dimension of `data` at `channel_axis`">:$beta,
    Relax_Arg<I64Attr, "The dimension of the channels">:$channel_axis,
    Relax_Arg<DenseI64ArrayAttr, "The dimensions over which mean and variance are taken">:$axes,
    Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "1e-5">, "What is added to the variance">:$epsilon,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `beta` is added">:$center,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether `gamma` is multiplied">:$scale);
}

def Relax_RMSNormOp : Relax_Operator<"rms_norm"> {
  let summary = "normalization by the root of the mean square";
  let pythonSummary = "`data`, normalized by the root of the mean square";
  let description = [{
    `data / sqrt(mean(data * data) + epsilon) * weight`, with the mean over
    `axes`.

    **Constraints:** `weight` has the dimensions of `data` at `axes`.

    Example:

    ```mlir
    %0 = relax.rms_norm %x, %w {axes = array<i64: -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is normalized">:$data,
    Relax_Arg<Relax_Tensor, "Of the dimensions of `data` at `axes`">:$weight,
    Relax_Arg<DenseI64ArrayAttr, "The dimensions over which the mean is taken",
      default = "-1">:$axes,
    Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "1e-5">, "What is added to the mean">:$epsilon);
}

def Relax_AttentionOp : Relax_Operator<"attention"> {
  let summary = "scaled dot product attention";
  let description = [{
    `softmax(query * transpose(key) * scale + bias) * value` for each batch and
    head, where tensors have the dimensions batch, position, head, feature;
    `scale` is `1 / sqrt(features)` by default. With fewer heads of `key` and
    `value`, each is that of several consecutive heads of `query`. A query at
    position `i` does not look at keys beyond `i` with the `causal_mask`
    "TopLeft", beyond `i + keys - queries` with "BottomRight". With
    `window_size` it looks at no more than so many keys up to that one. What it
    does not look at has the weight 0, by which NaN and infinities may still reach
    the result; a query that looks at no key gets 0.

    **Constraints:**
    - all tensors have rank 4 and the same data type;
    - `bias` has the dimensions batch, head, query, key, of which the first
      three may be 1;
    - `causal_mask` is "TopLeft" or "BottomRight", and there with `window_size`,
      which is 1 or more.

    Example:

    ```mlir
    %0 = relax.attention %q, %k, %v {causal_mask = "TopLeft"} : (!relax.tensor<[b, n, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 32], f32>) -> !relax.tensor<[b, n, 8, 32], f32>
    ```
  }];
  defvar dims = "Of the dimensions batch, position, head, feature";
  let arguments = (ins
    Relax_Arg<Relax_Tensor, dims>:$query,
    Relax_Arg<Relax_Tensor, dims>:$key,
    Relax_Arg<Relax_Tensor, dims>:$value,
    Relax_Arg<Optional<Relax_Tensor>,
      "Of the dimensions batch, head, query, key; the first three may be 1">:$bias,
    Relax_Arg<OptionalAttr<F64Attr>, "By default `1 / sqrt(features)`",
      convert = "plain_float($_self)">:$scale,
    Relax_Arg<OptionalAttr<StrAttr>,
      "The keys that a query sees: \"TopLeft\", those up to its own position; \"BottomRight\", " #
      "those up to the one that the last query, at the last key, has at its distance">:$causal_mask,
    Relax_Arg<OptionalAttr<I64Attr>, "How many keys up to that one it sees",
      convert = "plain_int($_self)">:$window_size);
}

} // pythonNamespace

#endif // RELAX_NORM_OPS
