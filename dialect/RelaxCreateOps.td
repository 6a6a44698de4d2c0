//===- RelaxCreateOps.td - Operators that create tensors -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_CREATE_OPS
#define RELAX_CREATE_OPS

include "RelaxOperatorBase.td"

def Relax_FullOp : Relax_Operator<"full"> {
  let summary = "a tensor filled with a scalar";
  let description = [{
    **Constraints:** `fill_value` is a tensor of rank 0. Its data type is that
    of the result unless `dtype` says otherwise.

    Example:

    ```mlir
    %0 = relax.full %s, %v : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Shape, "The shape of the result">:$shape,
    Relax_Arg<Relax_Tensor, "A number, or a tensor of rank 0",
      convert = "as_tensor($_self, optional_dtype(dtype))">:$fill_value,
    Relax_Arg<OptionalAttr<TypeAttr>, "By default that of `fill_value`">:$dtype);
}

class Relax_FillOp<string mnemonic, string meaning> : Relax_Operator<mnemonic> {
  let summary = "a tensor of " # meaning;
  let description = [{
    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %s {dtype = f32} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Shape, "The shape of the result">:$shape,
    Relax_Arg<TypeAttr, "That of the result", default = "\"float32\"">:$dtype);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferFill(location, adaptor.getShape(), adaptor.getDtype(), results)">.definition;
}
def Relax_ZerosOp : Relax_FillOp<"zeros", "zeros">;
def Relax_OnesOp : Relax_FillOp<"ones", "ones">;

def Relax_FullLikeOp : Relax_Operator<"full_like"> {
  let summary = "a tensor of the shape of x filled with a scalar";
  let description = [{
    **Constraints:** `fill_value` is a tensor of rank 0. The data type of the
    result is that of `x` unless `dtype` says otherwise.

    Example:

    ```mlir
    %0 = relax.full_like %x, %v : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "It has the shape of the result">:$x,
    Relax_Arg<Relax_Tensor, "A number, or a tensor of rank 0",
      convert = "as_tensor($_self, optional_dtype(dtype) or dtype_of(x))">:$fill_value,
    Relax_Arg<OptionalAttr<TypeAttr>, "By default that of `x`">:$dtype);
}

class Relax_FillLikeOp<string mnemonic, string meaning> : Relax_Operator<mnemonic> {
  let summary = "a tensor of the shape of x, of " # meaning;
  let description = [{
    The data type is that of `x` unless `dtype` says otherwise.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "It has the shape of the result">:$x,
    Relax_Arg<OptionalAttr<TypeAttr>, "By default that of `x`">:$dtype);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferLike(location, adaptor.getX(), adaptor.getDtype(), results)">.definition;
}
def Relax_OnesLikeOp : Relax_FillLikeOp<"ones_like", "ones">;
def Relax_ZerosLikeOp : Relax_FillLikeOp<"zeros_like", "zeros">;

def Relax_ArangeOp : Relax_Operator<"arange"> {
  let hasPythonFunction = 0;
  let summary = "the numbers from start, by step, up to end";
  let description = [{
    `end` itself does not belong to them. They are converted to `dtype`.

    **Constraints:**
    - all three are of the same data type, integers of 64 bits or floats;
    - `step` is not 0.

    Example:

    ```mlir
    %0 = relax.arange %start, %end, %step {dtype = f32} : (!relax.prim<i64, 0>, !relax.prim<i64, n * 2>, !relax.prim<i64, 2>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins Relax_Prim:$start, Relax_Prim:$end, Relax_Prim:$step,
                       TypeAttr:$dtype);
}

def Relax_DiagonalArg : Relax_Arg<Relax_Prim,
    "The diagonal: 0 is the main one, positive ones are above it", default = "0">;

def Relax_EyeOp : Relax_Operator<"eye"> {
  let summary = "a matrix with ones in a diagonal";
  let description = [{
    Element `(i, j)` is 1 where `j - i` is `k`, else 0.

    Example:

    ```mlir
    %0 = relax.eye %rows, %columns, %k {dtype = f32} : (!relax.prim<i64, n>, !relax.prim<i64, 4>, !relax.prim<i64, 0>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Prim, "The number of rows">:$n,
    Relax_Arg<Relax_Prim, "The number of columns, by default that of rows", default = "None",
      convert = "as_prim(n if $_self is None else $_self)">:$m,
    Relax_DiagonalArg:$k,
    Relax_Arg<TypeAttr, "That of the result", default = "\"float32\"">:$dtype);
}

def Relax_EyeLikeOp : Relax_Operator<"eye_like"> {
  let summary = "a matrix of the shape of x with ones in a diagonal";
  let description = [{
    Element `(i, j)` is 1 where `j - i` is `k`, else 0. The data type is that of
    `x` unless `dtype` says otherwise.

    **Constraints:** `x` has rank 2.

    Example:

    ```mlir
    %0 = relax.eye_like %x, %k : (!relax.tensor<[n, 4], f32>, !relax.prim<i64>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "It has the shape of the result">:$x,
    Relax_DiagonalArg:$k,
    Relax_Arg<OptionalAttr<TypeAttr>, "By default that of `x`">:$dtype);
}

def Relax_RandomBitsOp : Relax_Operator<"random_bits"> {
  let summary = "a vector of random integers of 64 bits";
  let description = [{
    Element `i` is `i`, as two words of 32 bits, encrypted with `key` by the 20
    rounds of Threefry-2x32 (Salmon et al., "Parallel Random Numbers: As Easy as
    1, 2, 3", 2011). So it depends on the key and its place alone. The words of
    64 bits are the high one and the low one. Each element is itself a key whose
    numbers are independent of these.

    **Constraints:**
    - `key` is a tensor of rank 0 of data type `ui64`;
    - `count` is of data type `i64`, and 0 or more.

    Example:

    ```mlir
    %0 = relax.random_bits %key, %count : (!relax.tensor<[], ui64>, !relax.prim<i64, n * 4>) -> !relax.tensor<[n * 4], ui64>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "An integer of 64 bits, or a tensor of rank 0",
      convert = "as_tensor($_self, 'uint64')">:$key,
    Relax_Arg<Relax_Prim, "The number of integers">:$count);
}

class Relax_TriangleOp<string mnemonic, string meaning> : Relax_Operator<mnemonic> {
  let summary = "x with zeros " # meaning # " a diagonal";
  let description = [{
    Element `(i, j)` of the last two dimensions is on diagonal `k` where `j - i`
    is `k`.

    **Constraints:** `x` has rank 2 or more; `k` is an integer.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x, %k : (!relax.tensor<[n, 4], f32>, !relax.prim<i64>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its last two dimensions are those of matrices">:$x,
    Relax_DiagonalArg:$k);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferTriangle(location, adaptor.getX(), adaptor.getK(), results)">.definition;
}
def Relax_TrilOp : Relax_TriangleOp<"tril", "above">;
def Relax_TriuOp : Relax_TriangleOp<"triu", "below">;

#endif // RELAX_CREATE_OPS
