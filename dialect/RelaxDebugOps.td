//===- RelaxDebugOps.td - Printing, assertions and errors -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_DEBUG_OPS
#define RELAX_DEBUG_OPS

include "RelaxCoreOps.td"

def Relax_PrintOp : Relax_InferredOp<"print",
    [DeclareOpInterfaceMethods<Relax_PurityOpInterface>]> {
  let summary = "print values";
  let description = [{
    Prints `format`, in which each `{}` stands for the next value, as Python's
    `str.format` has it. With an empty format it prints the values alone. The
    result is an empty tuple.

    Example: `%0 = relax.print "x: {}"(%x) : (!relax.tensor<[n], f32>) -> !relax.tuple<>`
  }];
  let arguments = (ins StrAttr:$format, Variadic<Relax_AnyValue>:$values);
  let results = (outs Relax_Tuple:$result);
  let assemblyFormat =
      "$format `(` $values `)` attr-dict `:` functional-type($values, $result)";
}

def Relax_AssertOp : Relax_InferredOp<"assert_op",
    [DeclareOpInterfaceMethods<Relax_PurityOpInterface>]> {
  let summary = "stop with an error where a condition does not hold";
  let description = [{
    The message of the error, an AssertionError, is `format`, in which each `{}`
    stands for the next one of `args`; with an empty format, the values. The
    result is an empty tuple.

    **Constraints:** the condition is a Boolean primitive value, or a tensor that
    may be a Boolean scalar.

    Example: `%0 = relax.assert_op %c, "x: {}"(%x) : !relax.prim<i1>, (!relax.tensor<[n], f32>) -> !relax.tuple<>`
  }];
  let arguments = (ins Relax_TensorOrPrim:$condition, StrAttr:$format,
                       Variadic<Relax_AnyValue>:$args);
  let results = (outs Relax_Tuple:$result);
  let assemblyFormat = [{
    $condition `,` $format `(` $args `)` attr-dict `:` type($condition) `,`
    functional-type($args, $result)
  }];
  let hasVerifier = 1;
}

def Relax_FatalOp : Relax_InferredOp<"fatal",
    [DeclareOpInterfaceMethods<Relax_PurityOpInterface>]> {
  let summary = "stop with an error (VM05)";
  let description = [{
    The program ends with a RuntimeError that has this message. The result is an
    empty tuple, which nobody sees.

    Example: `%0 = relax.fatal "no clause takes the value"`
  }];
  let pythonSummary = "an empty tuple, after the program has stopped with an error";
  let hasPythonFunction = 1;
  let arguments = (ins Relax_Arg<StrAttr, "The text of the RuntimeError">:$message);
  let results = (outs Res<Relax_Tuple, "An empty tuple">:$result);
  let assemblyFormat = "$message attr-dict";
}

#endif // RELAX_DEBUG_OPS
