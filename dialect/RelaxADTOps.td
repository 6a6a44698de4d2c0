//===- RelaxADTOps.td - Algebraic data types -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_ADT_OPS
#define RELAX_ADT_OPS

include "RelaxCoreOps.td"

// A value of an algebraic data type is an object: the tag of the constructor
// that made it, and fields. What the fields are, a program learns by casts.

def Relax_ADTMakeOp : Relax_InferredOp<"adt_make", [Pure,
    DeclareOpInterfaceMethods<Relax_RuntimeStepOpInterface>]> {
  let summary = "a value of an algebraic data type (VM03)";
  let description = [{
    Example: `%0 = relax.adt_make 1(%x, %rest) : !relax.tensor<[n], f32>, !relax.object`
  }];
  let hasPythonFunction = 1;
  let arguments = (ins
    Relax_Arg<ConfinedAttr<I64Attr, [IntNonNegative]>,
              "Which constructor makes the value, from 0">:$tag,
    Relax_Arg<Variadic<Relax_AnyValue>, "What the value holds">:$fields);
  let results = (outs Res<Relax_AnyValue, "An object">:$result);
  let assemblyFormat = "$tag `(` $fields `)` attr-dict (`:` type($fields)^)?";
}

def Relax_ADTTagOp : Relax_InferredOp<"adt_tag", [NoMemoryEffect]> {
  let summary = "the tag of a value of an algebraic data type (VM03)";
  let description = [{
    Any other value is an error when the program runs.

    Example: `%0 = relax.adt_tag %x : !relax.object`
  }];
  let hasPythonFunction = 1;
  let arguments = (ins Relax_Arg<Relax_AnyValue, "A value that `adt_make` made">:$value);
  let results = (outs Res<Relax_Prim, "An int64">:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Relax_ADTGetOp : Relax_InferredOp<"adt_get", [NoMemoryEffect,
    ViewLikeOpInterface, DeclareOpInterfaceMethods<Relax_RuntimeStepOpInterface>]> {
  let summary = "a field of a value of an algebraic data type (VM03)";
  let description = [{
    A value that has fewer fields, or is of another kind, is an error when the
    program runs.

    Example: `%0 = relax.adt_get %x[1] : !relax.object`
  }];
  let hasPythonFunction = 1;
  let arguments = (ins
    Relax_Arg<Relax_AnyValue, "A value that `adt_make` made">:$value,
    Relax_Arg<ConfinedAttr<I64Attr, [IntNonNegative]>, "From 0">:$index);
  let results = (outs Res<Relax_AnyValue, "The field, an object">:$result);
  let assemblyFormat = "$value `[` $index `]` attr-dict `:` type($value)";
  let extraClassDeclaration = [{
    Value getViewSource() { return getOperation()->getOperand(0); }
  }];
}

#endif // RELAX_ADT_OPS
