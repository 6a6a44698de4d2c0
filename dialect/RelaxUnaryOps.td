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
// Float, Integral (integer or Bool), Numeric (integer or float) or Bool.
class Relax_UnaryOp<string mnemonic, string dtypes, string meaning>
    : Relax_Operator<mnemonic> {
  defvar example = Relax_ExampleDType<dtypes>.name;
  let summary = meaning # ", element by element";
  let description = [{
    **Constraints:** the data type of `x` is }] # dtypes # [{.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # " %x : (!relax.tensor<[n, 4], " #
    example # ">) -> !relax.tensor<[n, 4], " # example # [{>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Its data type is " # dtypes>:$x);
  let results = (outs Res<Relax_Tensor, "A tensor of the type of `x`", [MemAlloc]>:$result);
  let isElementwise = 1;
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferUnary(location, adaptor.getX(), DTypeClass::" # dtypes #
      ", results)">.definition;
}

def Relax_AbsOp : Relax_UnaryOp<"abs", "Numeric", "the absolute value">;
def Relax_AcoshOp : Relax_UnaryOp<"acosh", "Float", "the inverse hyperbolic cosine">;
def Relax_AcosOp : Relax_UnaryOp<"acos", "Float", "the inverse cosine">;
def Relax_AsinhOp : Relax_UnaryOp<"asinh", "Float", "the inverse hyperbolic sine">;
def Relax_AsinOp : Relax_UnaryOp<"asin", "Float", "the inverse sine">;
def Relax_AtanhOp : Relax_UnaryOp<"atanh", "Float", "the inverse hyperbolic tangent">;
def Relax_AtanOp : Relax_UnaryOp<"atan", "Float", "the inverse tangent">;
def Relax_BitwiseNotOp : Relax_UnaryOp<"bitwise_not", "Integral", "the complement of all bits; of a Boolean, its negation">;
def Relax_CeilOp : Relax_UnaryOp<"ceil", "Float", "the smallest integer not less">;
def Relax_CoshOp : Relax_UnaryOp<"cosh", "Float", "the hyperbolic cosine">;
def Relax_CosOp : Relax_UnaryOp<"cos", "Float", "the cosine">;
def Relax_ErfOp : Relax_UnaryOp<"erf", "Float", "the error function">;
def Relax_ExpOp : Relax_UnaryOp<"exp", "Float", "the exponential">;
def Relax_FloorOp : Relax_UnaryOp<"floor", "Float", "the largest integer not greater">;
def Relax_LogicalNotOp : Relax_UnaryOp<"logical_not", "Bool", "logical negation">;
def Relax_LogOp : Relax_UnaryOp<"log", "Float", "the natural logarithm">;
def Relax_NegativeOp : Relax_UnaryOp<"negative", "Numeric", "the negation">;
def Relax_RoundOp : Relax_UnaryOp<"round", "Float", "rounding to the nearest integer, ties to even">;
def Relax_RsqrtOp : Relax_UnaryOp<"rsqrt", "Float", "1 / sqrt(x)">;
def Relax_SigmoidOp : Relax_UnaryOp<"sigmoid", "Float", "1 / (1 + exp(-x))">;
def Relax_SignOp : Relax_UnaryOp<"sign", "Numeric", "-1, 0 or 1; zeros, with their sign, and NaN stay what they are">;
def Relax_SinhOp : Relax_UnaryOp<"sinh", "Float", "the hyperbolic sine">;
def Relax_SinOp : Relax_UnaryOp<"sin", "Float", "the sine">;
def Relax_SqrtOp : Relax_UnaryOp<"sqrt", "Float", "the square root">;
def Relax_SquareOp : Relax_UnaryOp<"square", "Numeric", "x * x">;
def Relax_TanhOp : Relax_UnaryOp<"tanh", "Float", "the hyperbolic tangent">;
def Relax_TanOp : Relax_UnaryOp<"tan", "Float", "the tangent">;
def Relax_TruncOp : Relax_UnaryOp<"trunc", "Float", "rounding towards zero">;

let pythonNamespace = "nn" in {
def Relax_GeluOp : Relax_UnaryOp<"gelu", "Float", "x * 0.5 * (1 + erf(x / sqrt(2)))">;
def Relax_GeluTanhOp : Relax_UnaryOp<"gelu_tanh", "Float", "the tanh approximation of gelu">;
def Relax_ReluOp : Relax_UnaryOp<"relu", "Numeric", "max(x, 0)">;
def Relax_SeluOp : Relax_UnaryOp<"selu", "Float", "1.0507 * (x if x > 0 else 1.67326 * (exp(x) - 1))">;
def Relax_SiluOp : Relax_UnaryOp<"silu", "Float", "x * sigmoid(x)">;
} // pythonNamespace

// A test of each element.
class Relax_TestOp<string mnemonic, string meaning> : Relax_Operator<mnemonic> {
  let summary = "whether x is " # meaning # ", element by element";
  let description = [{
    An integer is finite.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i1>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$x);
  let results = (outs Res<Relax_Tensor, "A tensor of Booleans", [MemAlloc]>:$result);
  let isElementwise = 1;
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferTest(location, adaptor.getX(), results)">.definition;
}
def Relax_IsFiniteOp : Relax_TestOp<"isfinite", "neither infinite nor NaN">;
def Relax_IsInfOp : Relax_TestOp<"isinf", "infinite">;
def Relax_IsNanOp : Relax_TestOp<"isnan", "NaN">;

def Relax_ClipOp : Relax_Operator<"clip"> {
  let isElementwise = 1;
  let summary = "the number nearest to x from min to max, element by element";
  let description = [{
    Bounds are converted to the data type of `x`: floats as by `relax.astype`,
    integers to the nearest one that it has. NaN stays NaN. Where `min` is more
    than `max`, the result is `max`.

    Example:

    ```mlir
    %0 = relax.clip %x, %min, %max : (!relax.tensor<[n, 4], f32>, !relax.prim<f64>, !relax.prim<f64>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Its data type is Numeric">:$x,
    Relax_Arg<Relax_Prim, "The smallest number of the result">:$min,
    Relax_Arg<Relax_Prim, "The largest number of the result">:$max);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferUnary(location, adaptor.getX(), DTypeClass::Numeric, results)">.definition;
}

// An elementwise operator with numbers as attributes.
class Relax_ActivationOp<string mnemonic, string meaning, dag attributes>
    : Relax_Operator<mnemonic> {
  let isElementwise = 1;
  let pythonNamespace = "nn";
  let summary = meaning # ", element by element";
  let description = [{
    **Constraints:** the data type of `x` is Float.

    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = !con(
    (ins Relax_Arg<Relax_Tensor, "Its data type is Float", name = "data">:$x), attributes);
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferUnary(location, adaptor.getX(), DTypeClass::Float, results)">.definition;
}
def Relax_LeakyReluOp : Relax_ActivationOp<"leakyrelu", "x if x > 0 else alpha * x",
    (ins Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "0.01">, "The slope where x is negative">:$alpha)>;
def Relax_SoftplusOp : Relax_ActivationOp<"softplus",
    "log(1 + exp(beta * x)) / beta, and x where beta * x is more than threshold",
    (ins Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "1.0">, "How sharp the bend at 0 is">:$beta,
         Relax_Arg<DefaultValuedOptionalAttr<F64Attr, "20.0">,
           "Where beta * x is more, the result is x">:$threshold)>;

// An operator that gives what it is given: it is gone when a program runs.
class Relax_HintOp<string mnemonic, string meaning, string namespace>
    : Relax_InferredOp<mnemonic, [Pure]> {
  let hasPythonFunction = 1;
  let pythonNamespace = namespace;
  let summary = "x, " # meaning;
  let description = [{
    Example:

    ```mlir
    %0 = relax.}] # mnemonic # [{ %x : !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_AnyValue, "Of any type">:$x);
  let results = (outs Res<Relax_AnyValue, "`x`">:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let extraClassDefinition = compatibleDefinition # Relax_SharedInference<
      "inferHint(adaptor.getX(), results)">.definition;
}
def Relax_EndCheckpointOp : Relax_HintOp<"end_checkpoint", "where gradients end to compute values again", "grad">;
def Relax_NoGradOp : Relax_HintOp<"no_grad", "through which no gradient flows", "grad">;
def Relax_StartCheckpointOp : Relax_HintOp<"start_checkpoint", "where gradients begin to compute values again", "grad">;
def Relax_StopLiftParamsOp : Relax_HintOp<"stop_lift_params", "which is not computed ahead of the function", "builtin">;

def Relax_AstypeOp : Relax_Operator<"astype"> {
  let isElementwise = 1;
  let summary = "conversion to another data type";
  let pythonSummary = "a tensor converted to another data type";
  let description = [{
    Floats are rounded towards zero on the way to integers; a value out of range
    saturates, and NaN becomes 0. Integers wrap around. On the way to floats the
    nearest number is taken. Zero is false, anything else true.

    Example:

    ```mlir
    %0 = relax.astype %x {dtype = i32} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i32>
    ```
  }];
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$x,
                       Relax_Arg<TypeAttr, "That of the result">:$dtype);
}

#endif // RELAX_UNARY_OPS
