//===- RelaxUnaryOps.td - Elementwise operators of one tensor -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_UNARY_OPS
#define RELAX_UNARY_OPS

include "RelaxOperatorBase.td"

// An elementwise operator of one tensor. `dtypes` names the data types it takes:
// Float, Numeric (integer or float) or Bool.
class Relax_UnaryOp<string mnemonic, string dtypes, string meaning>
    : Relax_Operator<mnemonic> {
  let summary = meaning # ", element by element";
  let description = [{
    **Constraints:** the data type of `x` is }] # dtypes # [{.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # " %x : (!relax.tensor<[n, 4], " #
    !if(!eq(dtypes, "Bool"), "i1", "f32") # ">) -> !relax.tensor<[n, 4], " #
    !if(!eq(dtypes, "Bool"), "i1", "f32") # [{>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferUnary(location, adaptor.getX(), DTypeClass::" # dtypes #
      ", results)">.definition;
}

def Relax_AbsOp : Relax_UnaryOp<"abs", "Numeric", "the absolute value">;
def Relax_CeilOp : Relax_UnaryOp<"ceil", "Float", "the smallest integer not less">;
def Relax_CosOp : Relax_UnaryOp<"cos", "Float", "the cosine">;
def Relax_ErfOp : Relax_UnaryOp<"erf", "Float", "the error function">;
def Relax_ExpOp : Relax_UnaryOp<"exp", "Float", "the exponential">;
def Relax_FloorOp : Relax_UnaryOp<"floor", "Float", "the largest integer not greater">;
def Relax_GeluOp : Relax_UnaryOp<"gelu", "Float", "x * 0.5 * (1 + erf(x / sqrt(2)))">;
def Relax_GeluTanhOp : Relax_UnaryOp<"gelu_tanh", "Float", "the tanh approximation of gelu">;
def Relax_LogOp : Relax_UnaryOp<"log", "Float", "the natural logarithm">;
def Relax_LogicalNotOp : Relax_UnaryOp<"logical_not", "Bool", "logical negation">;
def Relax_NegativeOp : Relax_UnaryOp<"negative", "Numeric", "the negation">;
def Relax_ReluOp : Relax_UnaryOp<"relu", "Numeric", "max(x, 0)">;
def Relax_RoundOp : Relax_UnaryOp<"round", "Float", "rounding to the nearest integer, ties to even">;
def Relax_RsqrtOp : Relax_UnaryOp<"rsqrt", "Float", "1 / sqrt(x)">;
def Relax_SigmoidOp : Relax_UnaryOp<"sigmoid", "Float", "1 / (1 + exp(-x))">;
def Relax_SignOp : Relax_UnaryOp<"sign", "Numeric", "-1, 0 or 1; NaN stays NaN">;
def Relax_SiluOp : Relax_UnaryOp<"silu", "Float", "x * sigmoid(x)">;
def Relax_SinOp : Relax_UnaryOp<"sin", "Float", "the sine">;
def Relax_SqrtOp : Relax_UnaryOp<"sqrt", "Float", "the square root">;
def Relax_TanhOp : Relax_UnaryOp<"tanh", "Float", "the hyperbolic tangent">;

def Relax_AstypeOp : Relax_Operator<"astype"> {
  let summary = "conversion to another data type";
  let description = [{
    Floats are rounded towards zero on the way to integers; a value out of range
    saturates. Zero is false, anything else true.

    Example:

    ```mlir
    %0 = relax.astype %x {dtype = i32} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$x, TypeAttr:$dtype);
}

#endif // RELAX_UNARY_OPS
