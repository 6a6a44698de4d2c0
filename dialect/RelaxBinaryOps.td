//===- RelaxBinaryOps.td - Elementwise operators of several tensors -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_BINARY_OPS
#define RELAX_BINARY_OPS

include "RelaxOperatorBase.td"

// An elementwise operator of two tensors that broadcast as in NumPy: dimensions
// are aligned at the end; each pair is equal or one of them is 1. Where that
// cannot be decided, only the rank of the result is known.
class Relax_BroadcastOp<string mnemonic, string dtypes, string meaning,
                        bit comparison> : Relax_Operator<mnemonic> {
  defvar example = Relax_ExampleDType<dtypes>.name;
  let summary = meaning # ", element by element, with broadcasting";
  let description = [{
    Integers wrap around.

    **Constraints:**
    - both operands have the same data type, which is }] # dtypes # [{;
    - no pair of dimensions is known to be different and both not 1.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # " %a, %b : (!relax.tensor<[n, 4], " #
    example # ">, !relax.tensor<[4], " # example # ">) -> !relax.tensor<[n, 4], " #
    !if(comparison, "i1", example) # [{>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its data type is " # dtypes>:$x1,
    Relax_Arg<Relax_Tensor, "Of the same data type; a number or an array becomes a constant of it">:$x2);
  let results = (outs Res<Relax_Tensor,
    !if(comparison, "A tensor of Booleans", "A tensor of the data type of both"),
    [MemAlloc]>:$result);
  let isElementwise = 1;
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferBroadcast(location, adaptor.getOperands(), DTypeClass::" # dtypes #
      ", " # !if(comparison, "true", "false") # ", results)">.definition;
}
class Relax_BinaryOp<string mnemonic, string dtypes, string meaning>
    : Relax_BroadcastOp<mnemonic, dtypes, meaning, 0>;
class Relax_CompareOp<string mnemonic, string meaning>
    : Relax_BroadcastOp<mnemonic, "Any", meaning, 1>;

def Relax_AddOp : Relax_BinaryOp<"add", "Numeric", "x1 + x2">;
def Relax_Atan2Op : Relax_BinaryOp<"atan2", "Float", "the angle of the point (x2, x1)">;
def Relax_BitwiseAndOp : Relax_BinaryOp<"bitwise_and", "Integral", "the bits of both">;
def Relax_BitwiseOrOp : Relax_BinaryOp<"bitwise_or", "Integral", "the bits of either">;
def Relax_BitwiseXorOp : Relax_BinaryOp<"bitwise_xor", "Integral", "the bits that differ">;
def Relax_DivideOp : Relax_BinaryOp<"divide", "Numeric", "x1 / x2; of integers, rounded towards zero, and 0 where x2 is 0">;
def Relax_FloorDivideOp : Relax_BinaryOp<"floor_divide", "Numeric", "floor(x1 / x2), as numpy.floor_divide; of integers, 0 where x2 is 0">;
def Relax_FloorModOp : Relax_BinaryOp<"floor_mod", "Numeric", "the remainder of floor_divide, as numpy.mod; of integers, 0 where x2 is 0">;
def Relax_LeftShiftOp : Relax_BinaryOp<"left_shift", "Integer", "x1 with its bits moved up by x2; 0 where x2 is negative or not less than the number of bits">;
def Relax_LogAddExpOp : Relax_BinaryOp<"log_add_exp", "Float", "log(exp(x1) + exp(x2)), without overflow">;
def Relax_LogicalAndOp : Relax_BinaryOp<"logical_and", "Bool", "x1 and x2">;
def Relax_LogicalOrOp : Relax_BinaryOp<"logical_or", "Bool", "x1 or x2">;
def Relax_LogicalXorOp : Relax_BinaryOp<"logical_xor", "Bool", "x1 or x2, but not both">;
def Relax_MaximumOp : Relax_BinaryOp<"maximum", "Numeric", "the larger one; NaN wins">;
def Relax_MinimumOp : Relax_BinaryOp<"minimum", "Numeric", "the smaller one; NaN wins">;
def Relax_ModOp : Relax_BinaryOp<"mod", "Numeric", "the remainder of floor_divide, as numpy.mod; of integers, 0 where x2 is 0">;
def Relax_MultiplyOp : Relax_BinaryOp<"multiply", "Numeric", "x1 * x2">;
def Relax_PowerOp : Relax_BinaryOp<"power", "Float", "x1 to the power of x2">;
def Relax_RightShiftOp : Relax_BinaryOp<"right_shift", "Integer", "x1 with its bits moved down by x2, signed where the data type is; 0 or -1 where x2 is negative or not less than the number of bits">;
def Relax_SubtractOp : Relax_BinaryOp<"subtract", "Numeric", "x1 - x2">;

def Relax_EqualOp : Relax_CompareOp<"equal", "x1 == x2">;
def Relax_GreaterOp : Relax_CompareOp<"greater", "x1 > x2">;
def Relax_GreaterEqualOp : Relax_CompareOp<"greater_equal", "x1 >= x2">;
def Relax_LessOp : Relax_CompareOp<"less", "x1 < x2">;
def Relax_LessEqualOp : Relax_CompareOp<"less_equal", "x1 <= x2">;
def Relax_NotEqualOp : Relax_CompareOp<"not_equal", "x1 != x2">;

def Relax_WhereOp : Relax_Operator<"where"> {
  let isElementwise = 1;
  let summary = "condition ? x1 : x2, element by element, with broadcasting";
  let pythonSummary = "elements of `x1` where `condition` is true, else of `x2`, with broadcasting";
  let description = [{
    **Constraints:** `condition` is Boolean; `x1` and `x2` have the same data type.

    Example:

    ```mlir
    %0 = relax.where %c, %a, %b : (!relax.tensor<[n], i1>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of Booleans", convert = "as_tensor($_self, \"bool\")">:$condition,
    Relax_Arg<Relax_Tensor, "Of any data type">:$x1,
    Relax_Arg<Relax_Tensor, "Of the same data type">:$x2);
}

def Relax_EwiseFMAOp : Relax_Operator<"ewise_fma"> {
  let isElementwise = 1;
  let summary = "x1 * x2 + x3, element by element";
  let description = [{
    **Constraints:** all have the same shape and data type, which is Numeric.

    Example:

    ```mlir
    %0 = relax.ewise_fma %a, %b, %c : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its data type is Numeric">:$x1,
    Relax_Arg<Relax_Tensor, "Of the same shape and data type">:$x2,
    Relax_Arg<Relax_Tensor, "Of the same shape and data type">:$x3);
}

#endif // RELAX_BINARY_OPS
