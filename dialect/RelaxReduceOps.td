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
    Integers wrap around. Of no elements the sum is 0, the product 1, the largest
    one the least number of the data type (of floats -infinity), the smallest one
    its largest, and all others are NaN.

    **Constraints:** `axis` names distinct dimensions; the data type is }]
    # dtypes # [{.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x {axis = array<i64: -1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its data type is " # dtypes>:$x,
    Relax_Arg<OptionalAttr<DenseI64ArrayAttr>,
      "The dimensions to reduce, all by default; negative ones count from the end">:$axis,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "false">,
      "Whether reduced dimensions stay, with size 1">:$keepdims);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferReduce(location, adaptor.getX(), adaptor.getAxis(), " #
      "adaptor.getKeepdims(), DTypeClass::" # dtypes # ", results)">.definition;
}

def Relax_SumOp : Relax_ReduceOp<"sum", "Numeric", "the sum">;
def Relax_MeanOp : Relax_ReduceOp<"mean", "Float", "the mean">;
def Relax_MaxOp : Relax_ReduceOp<"max", "Numeric", "the largest element">;
def Relax_MinOp : Relax_ReduceOp<"min", "Numeric", "the smallest element">;
def Relax_VarianceOp : Relax_ReduceOp<"variance", "Float", "the mean of the squares of the differences from the mean">;
def Relax_StdOp : Relax_ReduceOp<"std", "Float", "the square root of the variance">;
def Relax_ProdOp : Relax_ReduceOp<"prod", "Numeric", "the product">;

// The index along `axis`, or into the elements in their order, of the first one
// that is the largest or smallest.
class Relax_ArgReduceOp<string mnemonic, string meaning> : Relax_Operator<mnemonic> {
  let summary = "the index of the first " # meaning;
  let description = [{
    With `axis`, along it; without, into all elements in row-major order. NaN is
    taken for the }] # meaning # [{. Of no elements it is 0.

    **Constraints:** the data type of `x` is Numeric.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x {axis = -1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], i64>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its data type is Numeric">:$x,
    Relax_Arg<OptionalAttr<I64Attr>,
      "Where to look along. By default the index counts all elements">:$axis,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "false">,
      "Whether reduced dimensions stay, with size 1">:$keepdims);
  let results = (outs Res<Relax_Tensor, "A tensor of int64", [MemAlloc]>:$result);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferArgReduce(location, adaptor.getX(), adaptor.getAxis(), " #
      "adaptor.getKeepdims(), results)">.definition;
}
def Relax_ArgmaxOp : Relax_ArgReduceOp<"argmax", "largest element">;
def Relax_ArgminOp : Relax_ArgReduceOp<"argmin", "smallest element">;

// What the elements up to each one are together: sums, products, extremes.
class Relax_ScanOp<string mnemonic, string meaning> : Relax_Operator<mnemonic> {
  let summary = meaning # " of the elements up to each one along an axis";
  let description = [{
    With `exclusive` an element itself does not count. Without `axis` the
    elements are taken as a vector. The result has the data type `dtype`, by
    default that of `data`, in which it is computed.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x {axis = -1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "The elements">:$data,
    Relax_Arg<OptionalAttr<I64Attr>, "By default the elements are taken as a vector">:$axis,
    Relax_Arg<OptionalAttr<TypeAttr>, "That of the result, by default that of `data`">:$dtype,
    Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "false">,
      "Whether an element itself does not count", convert = "bool($_self)">:$exclusive);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferScan(location, adaptor.getData(), adaptor.getAxis(), " #
      "adaptor.getDtype(), results)">.definition;
}
def Relax_CummaxOp : Relax_ScanOp<"cummax", "the largest">;
def Relax_CumminOp : Relax_ScanOp<"cummin", "the smallest">;
def Relax_CumprodOp : Relax_ScanOp<"cumprod", "the product">;
def Relax_CumsumOp : Relax_ScanOp<"cumsum", "the sum">;

class Relax_CollapseSumOp<string mnemonic, dag args, string example>
    : Relax_Operator<mnemonic> {
  let summary = "the sum over the dimensions that were broadcast";
  let description = [{
    What `broadcast_to` repeats is added: dimensions that the result has not,
    and those that are 1 in it. It is the gradient of a tensor that was
    broadcast.

    **Constraints:** the data type of `data` is Numeric; its dimensions, from
    the last one on, are those of the result, or the result's are known to be 1.
    That they are is checked at run time where it cannot be proven.

    Example:

    ```mlir
    }] # example # [{
    ```
  }];
  let arguments = !con((ins Relax_Arg<Relax_Tensor, "Its data type is Numeric">:$data), args);
}
def Relax_CollapseSumLikeOp : Relax_CollapseSumOp<"collapse_sum_like",
    (ins Relax_Arg<Relax_Tensor, "Of the shape of the result",
                   convert = "as_tensor($_self)">:$collapse_target),
    "%0 = relax.collapse_sum_like %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[1, 4], f32>) -> !relax.tensor<[1, 4], f32>">;
def Relax_CollapseSumToOp : Relax_CollapseSumOp<"collapse_sum_to",
    (ins Relax_Arg<Relax_Shape, "The shape of the result">:$shape),
    "%0 = relax.collapse_sum_to %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[4]>) -> !relax.tensor<[4], f32>">;

#endif // RELAX_REDUCE_OPS
