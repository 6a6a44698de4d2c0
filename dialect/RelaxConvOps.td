//===- RelaxConvOps.td - Convolution and pooling -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_CONV_OPS
#define RELAX_CONV_OPS

include "RelaxOperatorBase.td"


// A convolution over `spatial` dimensions. Layouts name the dimensions of a
// tensor in their order: N batch, C channels, then D, H, W; of the weight O
// output channels and I input channels of a group.
class Relax_ConvOp<string mnemonic, string letters, string ones, string zeros,
                   string x, string w, string y> : Relax_Operator<mnemonic> {
  let summary = "convolution over " # letters;
  let description = [{
    `padding` gives what is added before each spatial dimension, then what is
    added after each. With `groups` of `g` the channels of `data` and the output
    channels are `g` groups of equal size, and each group of the result is the
    convolution of one group of `data`. The result has the layout `out_layout`,
    by default that of `data`, and the data type `out_dtype`, by default that of
    the operands.

    **Constraints:**
    - layouts are permutations of }] # "`NC" # letters # "` and `OI" # letters # [{`;
    - strides, dilations and `groups` are 1 or more, padding 0 or more;
    - `data` has `groups` times the channels of `weight`, and the output
      channels are a multiple of `groups`; what cannot be proven is checked at
      run time.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # " %x, %w : (!relax.tensor<[" # x #
    "], f32>, !relax.tensor<[" # w # "], f32>) -> !relax.tensor<[" # y # [{], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$data, Relax_Tensor:$weight,
      DefaultValuedOptionalAttr<DenseI64ArrayAttr, ones>:$strides,
      DefaultValuedOptionalAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedOptionalAttr<DenseI64ArrayAttr, ones>:$dilation,
      DefaultValuedOptionalAttr<I64Attr, "1">:$groups,
      DefaultValuedOptionalAttr<StrAttr, "\"NC" # letters # "\"">:$data_layout,
      DefaultValuedOptionalAttr<StrAttr, "\"OI" # letters # "\"">:$kernel_layout,
      OptionalAttr<StrAttr>:$out_layout, OptionalAttr<TypeAttr>:$out_dtype);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferConv(location, adaptor.getData(), adaptor.getWeight(), " #
      "getConvAttrs(adaptor, \"" # letters # "\"), results)">.definition;
}
def Relax_Conv1DOp : Relax_ConvOp<"conv1d", "W", "{1}", "{0, 0}",
    "n, 3, w", "8, 3, 5", "n, 8, w - 4">;
def Relax_Conv2DOp : Relax_ConvOp<"conv2d", "HW", "{1, 1}", "{0, 0, 0, 0}",
    "n, 3, h, w", "8, 3, 5, 5", "n, 8, h - 4, w - 4">;
def Relax_Conv3DOp : Relax_ConvOp<"conv3d", "DHW", "{1, 1, 1}", "{0, 0, 0, 0, 0, 0}",
    "n, 3, 6, h, w", "8, 3, 5, 5, 5", "n, 8, 2, h - 4, w - 4">;

// A window that moves over the spatial dimensions.
class Relax_PoolOp<string mnemonic, string meaning, string letters, string ones,
                   string zeros, string example> : Relax_Operator<mnemonic> {
  let summary = meaning # " in a window that moves over " # letters;
  let description = [{
    `padding` gives what is added before each spatial dimension, then what is
    added after each; elements of the padding are never the largest, and count
    for a mean only with `count_include_pad`. With `ceil_mode` a window that
    begins before the padding at the end but ends beyond it counts too; what is
    beyond never counts for a mean. The mean of a window without elements is 0;
    of integers it is rounded towards zero.
    The result has the layout `out_layout`, by default that of `data`.

    **Constraints:** the layout is a permutation of }] # "`NC" # letters # [{`;
    sizes, strides and dilations are 1 or more, padding 0 or more.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # example # [{
    ```
  }];
  let arguments = (ins Relax_Tensor:$data,
      DenseI64ArrayAttr:$pool_size,
      DefaultValuedOptionalAttr<DenseI64ArrayAttr, ones>:$strides,
      DefaultValuedOptionalAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedOptionalAttr<DenseI64ArrayAttr, ones>:$dilation,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$ceil_mode,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$count_include_pad,
      DefaultValuedOptionalAttr<StrAttr, "\"NC" # letters # "\"">:$layout,
      OptionalAttr<StrAttr>:$out_layout);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferPool(location, adaptor.getData(), getPoolAttrs(adaptor, \"" #
      letters # "\"), results)">.definition;
}
class Relax_Pool1DOp<string mnemonic, string meaning>
    : Relax_PoolOp<mnemonic, meaning, "W", "{1}", "{0, 0}",
  " %x {pool_size = array<i64: 2>, strides = array<i64: 2>} : (!relax.tensor<[n, 3, w * 2], f32>) -> !relax.tensor<[n, 3, w], f32>">;
class Relax_Pool2DOp<string mnemonic, string meaning>
    : Relax_PoolOp<mnemonic, meaning, "HW", "{1, 1}", "{0, 0, 0, 0}",
  " %x {pool_size = array<i64: 3, 3>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 3, h - 2, w - 2], f32>">;
class Relax_Pool3DOp<string mnemonic, string meaning>
    : Relax_PoolOp<mnemonic, meaning, "DHW", "{1, 1, 1}", "{0, 0, 0, 0, 0, 0}",
  " %x {pool_size = array<i64: 3, 3, 3>} : (!relax.tensor<[n, 3, 5, h, w], f32>) -> !relax.tensor<[n, 3, 3, h - 2, w - 2], f32>">;
def Relax_MaxPool1DOp : Relax_Pool1DOp<"max_pool1d", "the largest element">;
def Relax_MaxPool2DOp : Relax_Pool2DOp<"max_pool2d", "the largest element">;
def Relax_MaxPool3DOp : Relax_Pool3DOp<"max_pool3d", "the largest element">;
def Relax_AvgPool1DOp : Relax_Pool1DOp<"avg_pool1d", "the mean">;
def Relax_AvgPool2DOp : Relax_Pool2DOp<"avg_pool2d", "the mean">;
def Relax_AvgPool3DOp : Relax_Pool3DOp<"avg_pool3d", "the mean">;

class Relax_AdaptivePoolOp<string mnemonic, string letters, string example>
    : Relax_Operator<mnemonic> {
  let summary = "the mean in windows that divide " # letters # " into a given number of parts";
  let description = [{
    Element `i` of `output_size` `m` along a dimension of size `n` is the mean of
    the elements from `floor(i * n / m)` to `ceil((i + 1) * n / m)`, which of none
    is NaN; of integers it is rounded towards zero, and 0 of none. Without
    `output_size` the result has the size of `data`.

    **Constraints:** the layout is a permutation of }] # "`NC" # letters # [{`;
    sizes are 1 or more.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # example # [{
    ```
  }];
  let arguments = (ins Relax_Tensor:$data,
      OptionalAttr<DenseI64ArrayAttr>:$output_size,
      DefaultValuedOptionalAttr<StrAttr, "\"NC" # letters # "\"">:$layout,
      OptionalAttr<StrAttr>:$out_layout);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferAdaptivePool(location, adaptor.getData(), " #
      "getAdaptivePoolAttrs(adaptor, \"" # letters # "\"), results)">.definition;
}
def Relax_AdaptiveAvgPool1DOp : Relax_AdaptivePoolOp<"adaptive_avg_pool1d", "W",
  " %x {output_size = array<i64: 7>} : (!relax.tensor<[n, 3, w], f32>) -> !relax.tensor<[n, 3, 7], f32>">;
def Relax_AdaptiveAvgPool2DOp : Relax_AdaptivePoolOp<"adaptive_avg_pool2d", "HW",
  " %x {output_size = array<i64: 1, 1>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 3, 1, 1], f32>">;
def Relax_AdaptiveAvgPool3DOp : Relax_AdaptivePoolOp<"adaptive_avg_pool3d", "DHW",
  " %x {output_size = array<i64: 1, 2, 2>} : (!relax.tensor<[n, 3, d, h, w], f32>) -> !relax.tensor<[n, 3, 1, 2, 2], f32>">;

#endif // RELAX_CONV_OPS
