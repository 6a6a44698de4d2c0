//===- RelaxManipulateOps.td - Operators that move elements -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MANIPULATE_OPS
#define RELAX_MANIPULATE_OPS

include "RelaxOperatorBase.td"

def Relax_BroadcastToOp : Relax_Operator<"broadcast_to"> {
  let summary = "repetition of dimensions of size 1 to a given shape";
  let pythonSummary = "a tensor with dimensions of size 1 repeated to a given shape";
  let description = [{
    Example:

    ```mlir
    %0 = relax.broadcast_to %x, %s : (!relax.tensor<[4], f32>, !relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$x,
                       Relax_Arg<Relax_Shape, "The shape of the result">:$shape);
}

def Relax_ConcatOp : Relax_Operator<"concat"> {
  let summary = "concatenation along an axis";
  let pythonSummary = "tensors one after the other along an axis";
  let pythonExample = [{
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
    >>> y = Var("y", TensorStructInfo(("m", 4), "float32"))
    >>> with bb.function("main", [x, y]):
    ...     z = concat([x, y])
    ...     print(z.type)
    ...     _ = bb.emit_func_output(z)
    !relax.tensor<[m + n, 4], f32>
  }];
  let description = [{
    **Constraints:**
    - at least one tensor; all of the same rank and data type;
    - the dimensions other than `axis` are equal.

    Example:

    ```mlir
    %0 = relax.concat %a, %b {axis = 0} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[m + n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Variadic<Relax_Tensor>, "Of the same rank and data type">:$tensors,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">, "Negative ones count from the end">:$axis);
}

def Relax_ExpandDimsOp : Relax_Operator<"expand_dims"> {
  let summary = "insertion of dimensions of size 1";
  let pythonSummary = "a tensor with dimensions of size 1 inserted";
  let description = [{
    `axis` counts in the result; negative from its end.

    Example:

    ```mlir
    %0 = relax.expand_dims %x {axis = array<i64: 0, -1>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[1, n, 1], f32>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$x,
                       Relax_Arg<DenseI64ArrayAttr, "Where they are in the result">:$axis);
}

def Relax_FlattenOp : Relax_Operator<"flatten"> {
  let summary = "all elements as a vector";
  let description = [{
    Example:

    ```mlir
    %0 = relax.flatten %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m * n], f32>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$x);
}

def Relax_PermuteDimsOp : Relax_Operator<"permute_dims"> {
  let summary = "permutation of dimensions";
  let pythonSummary = "a tensor with its dimensions permuted";
  let description = [{
    Dimension `i` of the result is dimension `axes[i]` of `x`; without `axes`
    the order is reversed.

    **Constraints:** `axes` is a permutation of 0, ..., ndim - 1 (negative
    numbers count from the end).

    Example:

    ```mlir
    %0 = relax.permute_dims %x {axes = array<i64: 1, 0>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$x,
                       Relax_Arg<OptionalAttr<DenseI64ArrayAttr>, "The permutation">:$axes);
}

def Relax_ReshapeOp : Relax_Operator<"reshape"> {
  let hasPythonFunction = 0;
  let summary = "the same elements in another shape";
  let description = [{
    **Constraints:** the number of elements stays the same. What cannot be
    proven is checked at run time.

    Example:

    ```mlir
    %0 = relax.reshape %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 2, 2]>) -> !relax.tensor<[n * 2, 2], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, Relax_Shape:$shape);
}

def Relax_SplitOp : Relax_Operator<"split"> {
  let hasPythonFunction = 0;
  let summary = "parts along an axis, as a tuple";
  let description = [{
    With `indices` the parts begin at 0 and at each index; with `sections` there
    are that many parts of equal size. Where the dimension is constant the last
    parts may be smaller than the others, and an index out of range means the
    nearest one; a part that would end before it begins is empty.

    **Constraints:**
    - exactly one of `sections` and `indices` is given;
    - a dimension that is not constant is known to be a multiple of `sections`,
      or `indices` ascend, from 0; that they do not go beyond it is checked at
      run time.

    Example:

    ```mlir
    %0 = relax.split %x {axis = 1, sections = 2} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, OptionalAttr<I64Attr>:$sections,
                       OptionalAttr<DenseI64ArrayAttr>:$indices,
                       DefaultValuedOptionalAttr<I64Attr, "0">:$axis);
  let results = (outs Res<Relax_Tuple, "", [MemAlloc]>:$result);
}

def Relax_SqueezeOp : Relax_Operator<"squeeze"> {
  let summary = "removal of dimensions of size 1";
  let pythonSummary = "a tensor without some dimensions of size 1";
  let description = [{
    **Constraints:** the dimensions named by `axis` are not known to differ from
    1; what cannot be proven is checked at run time. Without `axis` all
    dimensions known to be 1 are removed, and none may be unknown.

    Example:

    ```mlir
    %0 = relax.squeeze %x {axis = array<i64: 1>} : (!relax.tensor<[n, 1], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$x,
                       Relax_Arg<OptionalAttr<DenseI64ArrayAttr>,
                                 "The dimensions to remove; by default all that are 1">:$axis);
}

def Relax_StridedSliceOp : Relax_Operator<"strided_slice"> {
  let hasPythonFunction = 0;
  let summary = "the elements from begin, by stride, up to end";
  let description = [{
    `begin`, `end` and `strides` have an entry for each of `axes`; strides are 1
    by default. Negative places count from the end of the dimension, and places
    beyond its ends mean the nearest one, as in Python. With `assume_inbound`
    all places are from 0 to the dimension; what cannot be proven is checked at
    run time.

    **Constraints:**
    - `axes` names distinct dimensions;
    - strides are known and not 0; with `assume_inbound` they are positive.

    Example:

    ```mlir
    %0 = relax.strided_slice %x, %begin, %end {axes = array<i64: 0>} : (!relax.tensor<[n, 4], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[n - min(n, 1), 4], f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, Relax_Shape:$begin, Relax_Shape:$end,
                       Optional<Relax_Shape>:$strides, DenseI64ArrayAttr:$axes,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$assume_inbound);
}

def Relax_TakeOp : Relax_Operator<"take"> {
  let summary = "elements at given indices along an axis";
  let description = [{
    The dimension `axis` of `x` is replaced by the dimensions of `indices`;
    without `axis`, `x` is a vector. An index out of range is clipped to the
    nearest one in range with `mode` "clip" (negative ones to 0), and taken
    modulo the dimension with "wrap"; with "nan" its elements are NaN. Elements of
    an empty dimension are 0, or NaN with "nan".

    **Constraints:** `indices` is an integer tensor; `mode` is "clip", "wrap" or
    "nan"; with "nan", `x` is a tensor of floats.

    Example:

    ```mlir
    %0 = relax.take %x, %i {axis = 0} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], i64>) -> !relax.tensor<[k, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type">:$x,
    Relax_IndicesArg<"Of integers">:$indices,
    Relax_Arg<OptionalAttr<I64Attr>, "Without it `x` is a vector">:$axis,
    Relax_Arg<DefaultValuedOptionalAttr<StrAttr, "\"clip\"">,
      "The meaning of an index out of range: \"clip\", \"wrap\" or \"nan\"; \"fast\" says that " #
      "there is none, which is the same as \"clip\" here",
      convert = "\"clip\" if $_self == \"fast\" else $_self">:$mode);
}

#endif // RELAX_MANIPULATE_OPS
