//===- RelaxIndexOps.td - Operators that compute places -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_INDEX_OPS
#define RELAX_INDEX_OPS

include "RelaxOperatorBase.td"

def Relax_FlipOp : Relax_Operator<"flip"> {
  let summary = "the elements in the opposite order along an axis";
  let description = [{
    Example:

    ```mlir
    %0 = relax.flip %x {axis = 1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">, "Negative ones count from the end",
      default = "required">:$axis);
}

def Relax_RepeatOp : Relax_Operator<"repeat"> {
  let summary = "each element several times, along an axis";
  let description = [{
    Without `axis` the elements are taken as a vector.

    **Constraints:** `repeats` is 0 or more.

    Example:

    ```mlir
    %0 = relax.repeat %x {repeats = 2, axis = 0} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 2, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_Arg<I64Attr, "How often each element is there">:$repeats,
    Relax_Arg<OptionalAttr<I64Attr>, "By default the elements are taken as a vector">:$axis);
}

def Relax_TileOp : Relax_Operator<"tile"> {
  let summary = "a tensor several times, one beside the other";
  let description = [{
    As in NumPy: the dimensions of `data` and `repeats` are aligned at the end,
    and the shorter of both counts as 1.

    **Constraints:** `repeats` are 0 or more.

    Example:

    ```mlir
    %0 = relax.tile %x {repeats = array<i64: 2, 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 2, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_Arg<DenseI64ArrayAttr,
      "For each dimension; the last ones, or ones that are new before the first">:$repeats);
}

def Relax_StackOp : Relax_Operator<"stack"> {
  let summary = "tensors of the same shape along a new axis";
  let description = [{
    **Constraints:** at least one tensor; all of the same shape and data type.
    `axis` counts in the result.

    Example:

    ```mlir
    %0 = relax.stack %a, %b {axis = 1} : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n, 2], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Variadic<Relax_Tensor>, "Of the same shape and data type">:$tensors,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">, "Where it is in the result">:$axis);
}

def Relax_MeshgridOp : Relax_Operator<"meshgrid"> {
  let summary = "the coordinates of a grid, as a tuple";
  let description = [{
    A tensor for each vector, of the dimensions of all of them: its element is
    that of the vector at the index of the dimension. With `indexing` "xy" the
    first two dimensions are exchanged, as those of images are. A scalar counts
    as a vector of one element.

    **Constraints:** at least one tensor; all of the same data type, of rank 0
    or 1; `indexing` is "ij" or "xy".

    Example:

    ```mlir
    %0 = relax.meshgrid %a, %b : (!relax.tensor<[n], f32>, !relax.tensor<[4], f32>) -> !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Variadic<Relax_Tensor>, "Vectors of one data type">:$tensors,
    Relax_Arg<DefaultValuedOptionalAttr<StrAttr, "\"ij\"">, "\"ij\" or \"xy\"">:$indexing);
  let results = (outs Res<Relax_Tuple, "", [MemAlloc]>:$result);
}

def Relax_OneHotOp : Relax_Operator<"one_hot"> {
  let summary = "vectors that say which index an element is";
  let description = [{
    The new dimension `axis`, counted in the result, has the size `depth`: the
    element there at the index is `on_value`, the others are `off_value`.

    **Constraints:** indices are integers; both values are of the same data
    type, which is that of the result; `depth` is 1 or more.

    Example:

    ```mlir
    %0 = relax.one_hot %i, %on, %off {depth = 8} : (!relax.tensor<[n], i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[n, 8], f32>
    ```
  }];
  let arguments = (ins
    Relax_IndicesArg<"Of integers">:$indices,
    Relax_Arg<Relax_Prim, "What is at an index">:$on_value,
    Relax_Arg<Relax_Prim, "What is elsewhere, of the same data type">:$off_value,
    Relax_Arg<I64Attr, "The size of the vectors">:$depth,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "-1">, "Where they are in the result">:$axis);
}

def Relax_GatherElementsOp : Relax_Operator<"gather_elements"> {
  let summary = "elements at given indices along an axis, place by place";
  let description = [{
    Element `i, j, ...` of the result is that of `data` at the same place, with
    the element of `indices` there in place of the index of `axis`. Negative
    indices count from the end; those out of range mean the nearest one in
    range. Elements of an empty dimension are 0.

    **Constraints:** `indices` is an integer tensor of the rank of `data`; its
    dimensions other than `axis` are not larger, which is checked at run time
    where it cannot be proven.

    Example:

    ```mlir
    %0 = relax.gather_elements %x, %i {axis = 1} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>) -> !relax.tensor<[n, 2], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_IndicesArg<"Integers, of the rank of `data`">:$indices,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">, "Negative ones count from the end">:$axis);
}

def Relax_GatherNDOp : Relax_Operator<"gather_nd"> {
  let summary = "parts at given places";
  let description = [{
    The last dimension of `indices` holds places in the dimensions of `data`
    after the first `batch_dims`, which both have in common. Negative indices
    count from the end; those out of range mean the nearest one in range.
    Elements of an empty dimension are 0.

    **Constraints:** `indices` is an integer tensor whose last dimension is
    known.

    Example:

    ```mlir
    %0 = relax.gather_nd %x, %i : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[k, m], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_IndicesArg<"Integers; the last dimension holds places">:$indices,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">,
      "The number of first dimensions that both have in common">:$batch_dims);
}

// Updates of `data`, of whose data type a number or an array becomes a constant.
class Relax_UpdatesArg<string description>
    : Relax_Arg<Relax_Tensor, description, convert = "as_tensor($_self, dtype_of(data))">;

def Relax_IndexTensorOp : Relax_Operator<"index_tensor"> {
  let summary = "elements at the places that tensors of indices give together";
  let description = [{
    As `data[i, j, ...]` of NumPy: the indices are broadcast with each other,
    and an element of each of them is the index in one of the first dimensions
    of `data`. Negative indices count from the end; those out of range mean the
    nearest one in range. Elements of an empty dimension are 0.

    **Constraints:** indices are integer tensors, at least one and at most the
    rank of `data`, whose shapes broadcast.

    Example:

    ```mlir
    %0 = relax.index_tensor %x, %i, %j : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[3], i64>) -> !relax.tensor<[k, 3, m], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_Arg<Variadic<Relax_Tensor>, "Integers, for the first dimensions of `data`",
      convert = "[as_tensor(index) for index in $_self]">:$indices);
}

def Relax_ReverseSequenceOp : Relax_Operator<"reverse_sequence"> {
  let summary = "the first elements of each sequence in the opposite order";
  let description = [{
    For each index of `batch_axis`, so many elements along `seq_axis` as
    `seq_lengths` says are in the opposite order, and the rest is as it was.
    Lengths out of range mean the nearest one in range.

    **Constraints:** `seq_lengths` is an integer vector of the dimension
    `batch_axis`; both axes differ.

    Example:

    ```mlir
    %0 = relax.reverse_sequence %x, %l : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n], i64>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_IndicesArg<"Integers: how many elements change their order">:$seq_lengths,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "1">, "The axis of the elements">:$seq_axis,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">, "The axis of the sequences">:$batch_axis);
}

def Relax_ScatterElementsOp : Relax_Operator<"scatter_elements"> {
  let summary = "data with elements updated at given indices along an axis";
  let description = [{
    For each element of `updates`, that of `data` at the same place, with the
    element of `indices` there in place of the index of `axis`, is replaced by
    it, or combined with it as `reduction` says: "update", "add", "mul", "min",
    "max" or "mean", which counts the element itself, too (of integers it is
    rounded towards zero). Updates happen in row-major order. Negative indices
    count from the end; updates out of range are left out.

    **Constraints:** `indices` is an integer tensor of the rank of `data`;
    `updates` has its shape and the data type of `data`. Dimensions other than
    `axis` are not larger than those of `data`. What cannot be proven is checked
    at run time.

    Example:

    ```mlir
    %0 = relax.scatter_elements %x, %i, %u {axis = 1} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_IndicesArg<"Integers, of the rank of `data`">:$indices,
    Relax_UpdatesArg<"Of the shape of `indices`">:$updates,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">, "Negative ones count from the end">:$axis,
    Relax_Arg<DefaultValuedOptionalAttr<StrAttr, "\"update\"">,
      "How an element is combined with an update: \"update\", \"add\", \"mul\", \"min\", " #
      "\"max\" or \"mean\"">:$reduction);
}

def Relax_ScatterNDOp : Relax_Operator<"scatter_nd"> {
  let summary = "data with parts updated at given places";
  let description = [{
    The last dimension of `indices` holds places in the first dimensions of
    `data`. Each part there is replaced by that of `updates`, or combined with
    it as `reduction` says: "update", "add", "mul", "min" or "max". Updates
    happen in row-major order. Negative indices count from the end; updates out
    of range are left out.

    **Constraints:** `indices` is an integer tensor whose last dimension is
    known; `updates` has the other dimensions of `indices`, then those of `data`
    that places leave, and the data type of `data`.

    Example:

    ```mlir
    %0 = relax.scatter_nd %x, %i, %u : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$data,
    Relax_IndicesArg<"Integers; the last dimension holds places in the first ones of `data`">:$indices,
    Relax_UpdatesArg<"The parts, of the data type of `data`">:$updates,
    Relax_Arg<DefaultValuedOptionalAttr<StrAttr, "\"update\"">,
      "How an element is combined with an update: \"update\", \"add\", \"mul\", \"min\" " #
      "or \"max\"">:$reduction);
}

def Relax_LayoutTransformOp : Relax_Operator<"layout_transform"> {
  let hasPythonFunction = 0;
  let summary = "the elements at places that a map computes";
  let description = [{
    The element of `x` at some indices is that of the result at the indices to
    which `index_map` leads. Elements of the result that nothing leads to are
    `pad_value`, 0 by default. Each dimension of the result is as large as the
    indices need, and blocks are whole: `i mod 4` needs 4.

    **Constraints:** the map has as many dimensions as `x`, no symbols, and
    leads to no negative index; `pad_value` is of the data type of `x`. It leads
    no two elements to the same place, which is not checked.

    Example:

    ```mlir
    %0 = relax.layout_transform %x {index_map = affine_map<(i) -> (i floordiv 4, i mod 4)>} : (!relax.tensor<[16], f32>) -> !relax.tensor<[4, 4], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, AffineMapAttr:$index_map,
                       OptionalAttr<TypedAttrInterface>:$pad_value,
                       OptionalAttr<DenseI64ArrayAttr>:$axis_separators,
                       OptionalAttr<DenseI64ArrayAttr>:$input_axis_separators);
}

// Between floats and integers that stand for them. Scale and zero point are
// scalars, vectors along an axis, or have an element for each block of an axis.
class Relax_QuantizationOp<string mnemonic, string meaning, string from, string to,
                           string dtype> : Relax_Operator<mnemonic> {
  let summary = meaning;
  let description = [{
    `scale` and `zero_point` are scalars, or vectors that have an element for
    each index of `axis`. All are converted to `f32`, in which the result is
    computed; ties are rounded to even.

    With `block_size`, as many indices of `axis` share an element, and the last
    ones may be fewer. `scale` and `zero_point` are scalars then, or have the
    rank of `data`: ceil(size / `block_size`) elements along `axis`, and as many
    as `data`, or one, along the other dimensions.

    **Constraints:** their size is 1 or that of `data` at `axis`, or as
    `block_size` says; what cannot be proven is checked at run time.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # " %x, %s, %z {out_dtype = " # to #
    "} : (!relax.tensor<[n, 4], " # from # ">, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], " # to # [{>
    ```
  }];
  defvar separate = "as_tensor($_self)";
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "The numbers">:$data,
    Relax_Arg<Relax_Tensor, "A scalar, or a vector", convert = separate>:$scale,
    Relax_Arg<Relax_Tensor, "A scalar, or a vector", convert = separate>:$zero_point,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "-1">,
      "The dimension that vectors have an element for each index of">:$axis,
    Relax_Arg<TypeAttr, "That of the result", default = "\"" # dtype # "\"">:$out_dtype,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">,
      "How many indices of `axis` share an element; 0: vectors have one for each">:$block_size);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferQuantization(location, adaptor.getOperands(), " #
      "static_cast<int64_t>(adaptor.getAxis()), " #
      "static_cast<int64_t>(adaptor.getBlockSize()), adaptor.getOutDtype(), " #
      !if(!eq(mnemonic, "quantize"), "true", "false") # ", results)">.definition;
}
def Relax_QuantizeOp : Relax_QuantizationOp<"quantize",
    "round(data / scale) + zero_point, saturated to out_dtype", "f32", "i8", "int8">;
def Relax_DequantizeOp : Relax_QuantizationOp<"dequantize",
    "(data - zero_point) * scale", "i8", "f32", "float32">;

#endif // RELAX_INDEX_OPS
