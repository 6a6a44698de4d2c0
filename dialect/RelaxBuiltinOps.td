//===- RelaxBuiltinOps.td - The lowered host program -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_BUILTIN_OPS
#define RELAX_BUILTIN_OPS

include "RelaxCallOps.td"

// What `relax-lower-call-tir` and `relax-lower-shapes` make of a function: memory
// is explicit, shape variables are `i64` values, and each operation is one step
// of the runtime. Values keep their StructInfo, without shape variables at the
// end.

class Relax_BuiltinOp<string mnemonic, list<Trait> traits = []>
    : Relax_Op<"builtin." # mnemonic, traits>;

def Relax_AllocTensorOp : Relax_BuiltinOp<"alloc_tensor"> {
  let summary = "allocate an uninitialized tensor (RF09)";
  let description = [{
    Before shapes are lowered the dimensions are those of the result type; after
    it they are operands.

    Examples:

    ```mlir
    %0 = relax.builtin.alloc_tensor : !relax.tensor<[n * m], f32>
    %1 = relax.builtin.alloc_tensor(%d) : !relax.tensor<ndim = 1, f32>
    ```
  }];
  let arguments = (ins Variadic<I64>:$dims);
  let results = (outs Res<Relax_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "(`(` $dims^ `)`)? attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Relax_CallKernelOp : Relax_BuiltinOp<"call_kernel",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call a kernel on inputs, integers and outputs";
  let description = [{
    Before shapes are lowered the integers are the fields of the shape value
    `packed_ints`; after it they are operands.

    Example:

    ```mlir
    relax.builtin.call_kernel @exp(%x) outs(%y) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<Relax_Tensor>:$inputs,
    Optional<Relax_Shape>:$packed_ints,
    Variadic<I64>:$ints,
    Variadic<Relax_Tensor>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` (`packed_ints` $packed_ints^ `:` type($packed_ints))?
    (`ints` `(` $ints^ `)`)? `outs` `(` $outputs `)` attr-dict `:`
    functional-type($inputs, $outputs)
  }];
}

def Relax_CheckOp : Relax_BuiltinOp<"check"> {
  let summary = "check the kind, rank, data type and device of a value (MC07, MC08)";
  let description = [{
    What the type says apart from dimensions. `what` names the value and
    `expected` gives its StructInfo in full, for the message of the error.

    Example:

    ```mlir
    relax.builtin.check %x is !relax.tensor<ndim = 1, f32> as "argument 'x'" expecting "!relax.tensor<[n], f32>" : !relax.object
    ```
  }];
  let arguments = (ins Relax_AnyValue:$value, TypeAttr:$type, StrAttr:$what,
                       StrAttr:$expected);
  let assemblyFormat = [{
    $value `is` $type `as` $what `expecting` $expected attr-dict `:` type($value)
  }];
}

def Relax_CastOp : Relax_BuiltinOp<"cast", [Pure]> {
  let summary = "a value under the type that was checked";
  let description = [{
    Example: `%0 = relax.builtin.cast %x : !relax.object -> !relax.tensor<ndim = 1, f32>`
  }];
  let arguments = (ins Relax_AnyValue:$value);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}

def Relax_DimOp : Relax_BuiltinOp<"dim"> {
  let summary = "a dimension of a tensor or shape, or an integer primitive value";
  let description = [{
    Example: `%0 = relax.builtin.dim %x[1] : !relax.tensor<ndim = 2, f32>`
  }];
  let arguments = (ins Relax_AnyValue:$value, I64Attr:$index);
  let results = (outs I64:$result);
  let assemblyFormat = "$value `[` $index `]` attr-dict `:` type($value)";
}

def Relax_CheckDimOp : Relax_BuiltinOp<"check_dim"> {
  let summary = "check that a dimension has the value of its expression (MC07)";
  let description = [{
    Example:

    ```mlir
    relax.builtin.check_dim %d equals %n at 0 of "argument 'x'" expecting "!relax.tensor<[n], f32>" where "n"
    ```
  }];
  let arguments = (ins I64:$actual, I64:$wanted, I64Attr:$index, StrAttr:$what,
                       StrAttr:$expected, StrAttr:$expr);
  let assemblyFormat = [{
    $actual `equals` $wanted `at` $index `of` $what `expecting` $expected
    `where` $expr attr-dict
  }];
}

def Relax_CheckDivisorOp : Relax_BuiltinOp<"check_divisor"> {
  let summary = "check that the divisor of a dimension expression is not zero";
  let description = [{
    Example: `relax.builtin.check_divisor %n of "m floordiv n"`
  }];
  let arguments = (ins I64:$divisor, StrAttr:$expr);
  let assemblyFormat = "$divisor `of` $expr attr-dict";
}

def Relax_KillOp : Relax_BuiltinOp<"kill"> {
  let summary = "drop the reference to a value that is not used any more (RF09)";
  let description = [{
    The memory of a tensor goes back with its last reference.

    Example: `relax.builtin.kill %x : !relax.tensor<ndim = 1, f32>`
  }];
  let arguments = (ins Relax_AnyValue:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Relax_MakeShapeOp : Relax_BuiltinOp<"make_shape"> {
  let summary = "a shape from integers";
  let description = [{
    Example: `%0 = relax.builtin.make_shape(%n, %m) : !relax.shape<ndim = 2>`
  }];
  let arguments = (ins Variadic<I64>:$dims);
  let results = (outs Relax_Shape:$result);
  let assemblyFormat = "`(` $dims `)` attr-dict `:` qualified(type($result))";
}

def Relax_MakePrimOp : Relax_BuiltinOp<"make_prim"> {
  let summary = "a primitive value from an integer";
  let description = [{
    Example: `%0 = relax.builtin.make_prim %n : !relax.prim<i64>`
  }];
  let arguments = (ins I64:$value);
  let results = (outs Relax_Prim:$result);
  let assemblyFormat = "$value attr-dict `:` qualified(type($result))";
}

#endif // RELAX_BUILTIN_OPS
