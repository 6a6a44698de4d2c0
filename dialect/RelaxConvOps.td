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

// Numbers for the spatial dimensions: in Python, one alone is that of all. They
// are left out where all of them are `default`.
class Relax_SpatialArg<Constraint constraint, string letters, string description,
                       string default = "">
    : Relax_Arg<constraint, description # " of each spatial dimension, or of all of them",
                default, "spatial($_self, " # !size(letters) #
                         !if(!empty(default), "", ", default=" # default) # ")">;
class Relax_PaddingArg<string zeros, string letters>
    : Relax_Arg<DefaultValuedOptionalAttr<DenseI64ArrayAttr, zeros>,
        "What is added around each spatial dimension, or before each and then after each",
        "0", "padding_of($_self, " # !size(letters) # ")">;

// An attribute that is left out where it is the default.
class Relax_SparseArg<Attr attr, string value, string description>
    : Relax_Arg<DefaultValuedOptionalAttr<attr, value>, description,
        convert = "unless($_self, " # !cond(!eq(value, "false"): "False", true: value) # ")">;
class Relax_LayoutArg<string layout, string letters, string description>
    : Relax_SparseArg<StrAttr, "\"" # layout # letters # "\"",
        "The dimensions in their order: " # description # ", and " # letters>;
class Relax_OutLayoutArg<string of>
    : Relax_Arg<OptionalAttr<StrAttr>, "That of the result, by default that of `data`",
        convert = "unless($_self or " # of # ", " # of # ")">;

let pythonNamespace = "nn" in {

// A convolution over `spatial` dimensions. Layouts name the dimensions of a
// tensor in their order: N batch, C channels, then D, H, W; of the weight O
// output channels and I input channels of a group.
class Relax_ConvOp<string mnemonic, string letters, string ones, string zeros,
                   string x, string w, string y> : Relax_Operator<mnemonic> {
  let summary = "convolution over " # letters;
  let pythonSummary = "the convolution of a tensor over the spatial dimensions " # letters;
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
  defvar Ones = DefaultValuedOptionalAttr<DenseI64ArrayAttr, ones>;
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is convolved">:$data,
    Relax_Arg<Relax_Tensor, "It has the channels of a group of `data`">:$weight,
    Relax_SpatialArg<Ones, letters, "The stride", "1">:$strides,
    Relax_PaddingArg<zeros, letters>:$padding,
    Relax_SpatialArg<Ones, letters, "The distance of elements of the weight", "1">:$dilation,
    Relax_SparseArg<I64Attr, "1",
      "The channels of data and result are so many groups, each convolved alone">:$groups,
    Relax_LayoutArg<"NC", letters, "N the batch, C channels">:$data_layout,
    Relax_LayoutArg<"OI", letters,
      "O channels of the result, I those of a group of `data`">:$kernel_layout,
    Relax_OutLayoutArg<"data_layout">:$out_layout,
    Relax_Arg<OptionalAttr<TypeAttr>, "By default that of the operands">:$out_dtype);
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
  defvar Ones = DefaultValuedOptionalAttr<DenseI64ArrayAttr, ones>;
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is pooled">:$data,
    Relax_Arg<DenseI64ArrayAttr, "The size of the window in each spatial dimension, or in all",
      "1", "spatial($_self, " # !size(letters) # ")">:$pool_size,
    Relax_SpatialArg<Ones, letters, "The stride", "1">:$strides,
    Relax_PaddingArg<zeros, letters>:$padding,
    Relax_SpatialArg<Ones, letters, "The distance of elements of the window", "1">:$dilation,
    Relax_SparseArg<BoolAttr, "false",
      "Whether a window that ends beyond the padding counts">:$ceil_mode,
    Relax_SparseArg<BoolAttr, "false",
      "Whether elements of the padding count for a mean, as zeros">:$count_include_pad,
    Relax_LayoutArg<"NC", letters, "N the batch, C channels">:$layout,
    Relax_OutLayoutArg<"layout">:$out_layout);
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
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is pooled">:$data,
    Relax_SpatialArg<OptionalAttr<DenseI64ArrayAttr>, letters,
      "The number of parts, by default the size,">:$output_size,
    Relax_LayoutArg<"NC", letters, "N the batch, C channels">:$layout,
    Relax_OutLayoutArg<"layout">:$out_layout);
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

} // pythonNamespace

#endif // RELAX_CONV_OPS
