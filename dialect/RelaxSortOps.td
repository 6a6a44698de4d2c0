//===- RelaxSortOps.td - Operators that order and search -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_SORT_OPS
#define RELAX_SORT_OPS

include "RelaxOperatorBase.td"

// The order of elements, the same for all operators here.
defvar sortOrder = [{
    NaN is greater than any number, and elements that are equal stay in their
    order.
}];

// The axis and the direction of an order.
def Relax_SortAxisArg
    : Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "-1">, "Negative ones count from the end">;
def Relax_DescendingArg
    : Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "false">,
                "Whether the greatest element comes first", convert = "bool($_self)">;
// The data type of places.
def Relax_PlaceDTypeArg
    : Relax_Arg<OptionalAttr<TypeAttr>, "That of the indices, by default int32">;

def Relax_SortOp : Relax_Operator<"sort"> {
  let summary = "the elements in ascending or descending order along an axis";
  let description = sortOrder # [{
    **Constraints:** `axis` is in range.

    Example:

    ```mlir
    %0 = relax.sort %x {axis = 1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type that is computed with">:$x,
    Relax_SortAxisArg:$axis,
    Relax_DescendingArg:$descending);
}

def Relax_ArgsortOp : Relax_Operator<"argsort"> {
  let summary = "the indices that put the elements in order along an axis";
  let description = sortOrder # [{
    **Constraints:** `axis` is in range; `dtype` is an integer type of 32 or 64
    bits.

    Example:

    ```mlir
    %0 = relax.argsort %x {axis = 1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type that is computed with">:$data,
    Relax_SortAxisArg:$axis,
    Relax_DescendingArg:$descending,
    Relax_PlaceDTypeArg:$dtype);
}

def Relax_KthIndexOp : Relax_Operator<"kth_index"> {
  let summary = "the index of the k-th smallest element along an axis";
  let description = !strconcat([{
    Element `k - 1` of what `relax.argsort` gives; the axis stays, with size 1.
}], sortOrder, [{
    **Constraints:** `axis` is in range; `k` is known, at least 1 and not more
    than the dimension, which is checked at run time where it cannot be proven;
    `dtype` is an integer type of 32 or 64 bits.

    Example:

    ```mlir
    %0 = relax.kth_index %x, %k {axis = 1} : (!relax.tensor<[n, 4], f32>, !relax.prim<i64, 2>) -> !relax.tensor<[n, 1], i32>
    ```
  }]);
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type that is computed with">:$data,
    Relax_Arg<Relax_Prim, "The number of the element in ascending order, from 1 on">:$k,
    Relax_SortAxisArg:$axis,
    Relax_PlaceDTypeArg:$dtype);
}

def Relax_TopkOp : Relax_Operator<"topk"> {
  let summary = "the greatest or least elements along an axis, in order";
  let description = !strconcat([{
    The first `k` elements of the axis in descending order, or in ascending
    order where `largest` is false; all of them where `k` is less than 1. The
    result is a tuple of the elements and of their indices, or with `ret_type`
    "values" or "indices" one of them.
}], sortOrder, [{
    **Constraints:** `axis` is in range; `k` is not more than the dimension,
    which is checked at run time where it cannot be proven; `dtype` is an
    integer type of 32 or 64 bits; `ret_type` is "both", "values" or "indices".

    Example:

    ```mlir
    %0 = relax.topk %x {k = 2, axis = 1} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], i32>>
    ```
  }]);
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of any data type that is computed with">:$data,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "1">, "How many elements; all where it is less "
      # "than 1">:$k,
    Relax_SortAxisArg:$axis,
    Relax_Arg<DefaultValuedOptionalAttr<StrAttr, "\"both\"">,
      "\"both\", \"values\" or \"indices\"">:$ret_type,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">, "Whether the greatest elements are "
      # "taken", convert = "bool($_self)">:$largest,
    Relax_PlaceDTypeArg:$dtype);
  let results = (outs Res<Relax_TensorOrTuple, "", [MemAlloc]>:$result);
}

def Relax_BucketizeOp : Relax_Operator<"bucketize"> {
  let summary = "the bucket between sorted boundaries that each element is in";
  let description = [{
    The number of boundaries that are less than the element, or with `right`
    not greater than it. NaN is greater than any number.

    **Constraints:** `boundaries` is a vector, which is sorted (the result is
    not specified otherwise), of the data type of `input_tensor`.

    Example:

    ```mlir
    %0 = relax.bucketize %x, %b : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n, 4], i64>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "What is searched for">:$input_tensor,
    Relax_Arg<Relax_Tensor, "A vector in ascending order">:$boundaries,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "false">,
      "Whether the result is of int32, not of int64", convert = "bool($_self)">:$out_int32,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "false">,
      "Whether an element that is a boundary is in the bucket behind it",
      convert = "bool($_self)">:$right);
}

#endif // RELAX_SORT_OPS
