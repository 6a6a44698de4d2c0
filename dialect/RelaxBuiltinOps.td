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

class Relax_RuntimeStepOp<string mnemonic, list<Trait> traits = []>
    : Relax_BuiltinOp<mnemonic, !listconcat(traits,
          [DeclareOpInterfaceMethods<Relax_RuntimeStepOpInterface>])>;

def Relax_AllocStorageOp : Relax_RuntimeStepOp<"alloc_storage"> {
  let summary = "allocate memory that tensors are put in (RF09)";
  let description = [{
    The memory lasts as long as the value or a tensor in it. Before shapes are
    lowered the number of bytes is an expression over shape variables; after it,
    it is an operand.

    **Constraints:** either `size` or `bytes` is there; `size` is not negative.

    Examples:

    ```mlir
    %0 = relax.builtin.alloc_storage size <m * n * 4>
    %1 = relax.builtin.alloc_storage(%d)
    ```
  }];
  let arguments = (ins OptionalAttr<Relax_PrimExprAttr>:$size,
                       Optional<I64>:$bytes,
                       OptionalAttr<Relax_VDeviceAttr>:$device);
  let results = (outs Res<Relax_Object, "", [MemAlloc]>:$result);
  let assemblyFormat = "(`size` $size^)? (`(` $bytes^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Relax_AllocTensorOp : Relax_RuntimeStepOp<"alloc_tensor",
                                              [AttrSizedOperandSegments]> {
  let summary = "allocate an uninitialized tensor (RF09)";
  let description = [{
    Before shapes are lowered the dimensions are those of the result type; after
    it they are operands. The memory is that of a storage from byte `offset` on,
    where one is given: other tensors may lie there before and after. Without
    one it is the tensor's own.

    **Constraints:** `offset` is there where `storage` is, and is not negative;
    what is known of the sizes says that the tensor fits.

    Examples:

    ```mlir
    %0 = relax.builtin.alloc_tensor : !relax.tensor<[n * m], f32>
    %1 = relax.builtin.alloc_tensor(%d) : !relax.tensor<ndim = 1, f32>
    %2 = relax.builtin.alloc_storage size <m * n * 4 + 64>
    %3 = relax.builtin.alloc_tensor from %2 at 64 : !relax.tensor<[n * m], f32>
    ```
  }];
  let arguments = (ins Variadic<I64>:$dims, Optional<Relax_Object>:$storage,
                       OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<Relax_VDeviceAttr>:$device);
  let results = (outs Res<Relax_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    (`(` $dims^ `)`)? (`from` $storage^ `at` $offset)? attr-dict `:`
    qualified(type($result))
  }];
  let builders = [OpBuilder<(ins "Type":$type, "ValueRange":$dims), [{
    build($_builder, $_state, type, dims, /*storage=*/Value(),
          /*offset=*/IntegerAttr(), /*device=*/VDeviceAttr());
  }]>];
  let hasVerifier = 1;
}

def Relax_ViewOp : Relax_RuntimeStepOp<"view", [Pure, ViewLikeOpInterface]> {
  let summary = "the elements of a tensor under other dimensions (RF09)";
  let description = [{
    The elements stay in their row-major order and are not copied: the result
    shares memory with `data`. Before shapes are lowered the dimensions are those
    of the result type; after it they are operands.

    **Constraints:** data type and device stay; what is known of the dimensions
    says that there are as many elements.

    Examples:

    ```mlir
    %0 = relax.builtin.view %x : !relax.tensor<[n, 4], f32> -> !relax.tensor<[n * 4], f32>
    %1 = relax.builtin.view %y(%d) : !relax.tensor<ndim = 2, f32> -> !relax.tensor<ndim = 1, f32>
    ```
  }];
  let arguments = (ins Relax_Tensor:$data, Variadic<I64>:$dims);
  let results = (outs Relax_Tensor:$result);
  let assemblyFormat = [{
    $data (`(` $dims^ `)`)? attr-dict `:` qualified(type($data)) `->`
    qualified(type($result))
  }];
  let builders = [OpBuilder<(ins "Type":$type, "Value":$data), [{
    build($_builder, $_state, type, data, ValueRange());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    Value getViewSource() { return getOperation()->getOperand(0); }
  }];
}

def Relax_CallKernelOp : Relax_BuiltinOp<"call_kernel",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call a kernel on inputs, integers and outputs";
  let description = [{
    Before shapes are lowered the integers are the fields of the shape value
    `packed_ints`; after it they are operands. Where the kernel updates inputs,
    `inplace_indices` says for each thing that it computes which input it is, or
    -1 for the next one of `outs`.

    **Constraints:** indices are -1, once for each output, or distinct inputs.

    Examples:

    ```mlir
    relax.builtin.call_kernel @exp(%x) outs(%y) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.builtin.call_kernel @relu(%x) outs() inplace [0] : (!relax.tensor<[n], f32>) -> ()
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<Relax_TensorOrPrim>:$inputs,
    Optional<Relax_Shape>:$packed_ints,
    Variadic<I64>:$ints,
    Variadic<Relax_Tensor>:$outputs,
    OptionalAttr<DenseI64ArrayAttr>:$inplace_indices);
  let assemblyFormat = [{
    $callee `(` $inputs `)` (`packed_ints` $packed_ints^ `:` type($packed_ints))?
    (`ints` `(` $ints^ `)`)? `outs` `(` $outputs `)`
    (`inplace` $inplace_indices^)? attr-dict `:`
    functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The parameter of the kernel that each thing it computes is put in.
    SmallVector<int64_t> getUpdatedParams();
    /// Whether the kernel writes into this input.
    bool isUpdated(unsigned input);
  }];
}

def Relax_CheckOp : Relax_RuntimeStepOp<"check"> {
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
                       StrAttr:$expected, OptionalAttr<Relax_VDeviceAttr>:$device);
  let assemblyFormat = [{
    $value `is` $type `as` $what `expecting` $expected attr-dict `:` type($value)
  }];
}

def Relax_CheckFunctionOp : Relax_RuntimeStepOp<"check_function"> {
  let summary = "check a function value against a function type (MC06)";
  let description = [{
    A closure is compared by its run-time structural information. `names` are the
    shape variables of the scope that `type` uses, `dims` their values.

    Example:

    ```mlir
    relax.builtin.check_function %f is !relax.func<(!relax.tensor<[n], f32>) -> !relax.object, pure> where ["n"](%n) as "argument 'f'" : !relax.object
    ```
  }];
  let arguments = (ins Relax_AnyValue:$value, TypeAttr:$type,
                       StrArrayAttr:$names, Variadic<I64>:$dims, StrAttr:$what);
  let assemblyFormat = [{
    $value `is` $type `where` $names `(` $dims `)` `as` $what attr-dict `:`
    type($value)
  }];
  let hasVerifier = 1;
}

def Relax_CheckShapeOp : Relax_RuntimeStepOp<"check_shape"> {
  let summary = "check that a tensor or shape has a given shape (MC02)";
  let description = [{
    Example:

    ```mlir
    relax.builtin.check_shape %x has %s as "argument 'x'" expecting "!relax.tensor<var = s, f32>" : !relax.tensor<*, f32>, !relax.shape<*>
    ```
  }];
  let arguments = (ins Relax_AnyValue:$value, Relax_Shape:$shape, StrAttr:$what,
                       StrAttr:$expected);
  let assemblyFormat = [{
    $value `has` $shape `as` $what `expecting` $expected attr-dict `:`
    type($value) `,` qualified(type($shape))
  }];
}

def Relax_LoadConstantOp : Relax_BuiltinOp<"load_constant",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a constant of the pool of the module (VM06)";
  let description = [{
    `index` counts the attribute `relax.constants` of the module. A `fresh` one
    is a copy, which whoever gets it may change.

    **Constraints:** the pool has such a constant, of this rank and data type.

    Example: `%0 = relax.builtin.load_constant 0 fresh : !relax.tensor<ndim = 1, f32>`
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$index, UnitAttr:$fresh);
  let results = (outs Res<Relax_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "$index (`fresh` $fresh^)? attr-dict `:` qualified(type($result))";
}

def Relax_MakeClosureOp : Relax_RuntimeStepOp<"make_closure", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a closure over a function of the module (SE03)";
  let description = [{
    The function takes the captured values first. `info` is what the closure
    tells about itself at run time (MC06); `names` are the shape variables of the
    scope that it uses, `dims` their values.

    Example:

    ```mlir
    %f = relax.builtin.make_closure @main.f(%x) of !relax.func<(!relax.object) -> !relax.tensor<[n], f32>, pure> where ["n"](%n) : (!relax.tensor<ndim = 1, f32>) -> !relax.func<(!relax.object) -> !relax.tensor<ndim = 1, f32>, pure>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Relax_AnyValue>:$captures,
                       TypeAttr:$info, StrArrayAttr:$names, Variadic<I64>:$dims);
  let results = (outs Relax_Func:$result);
  let assemblyFormat = [{
    $callee `(` $captures `)` `of` $info `where` $names `(` $dims `)` attr-dict
    `:` functional-type($captures, $result)
  }];
  let hasVerifier = 1;
}

def Relax_ToDeviceOp : Relax_RuntimeStepOp<"to_device"> {
  let summary = "a copy of a tensor, or of the tensors of a tuple, on a device (OP08)";
  let description = [{
    Example: `%0 = relax.builtin.to_device %x to <"llvm", 1> : !relax.tensor<*> -> !relax.tensor<*>`
  }];
  let arguments = (ins Relax_AnyValue:$data, Relax_VDeviceAttr:$device);
  let results = (outs Res<Relax_AnyValue, "", [MemAlloc]>:$result);
  let assemblyFormat = "$data `to` $device attr-dict `:` type($data) `->` type($result)";
}

def Relax_CastOp : Relax_BuiltinOp<"cast", [Pure, ViewLikeOpInterface]> {
  let summary = "a value under the type that was checked";
  let description = [{
    Example: `%0 = relax.builtin.cast %x : !relax.object -> !relax.tensor<ndim = 1, f32>`
  }];
  let arguments = (ins Relax_AnyValue:$value);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let extraClassDeclaration = [{
    Value getViewSource() { return getOperation()->getOperand(0); }
  }];
}

def Relax_DimOp : Relax_BuiltinOp<"dim",
    [DeclareOpInterfaceMethods<InferIntRangeInterface,
                               ["inferResultRangesFromOptional"]>]> {
  let summary = "a dimension of a tensor or shape, or an integer primitive value";
  let description = [{
    Example: `%0 = relax.builtin.dim %x[1] : !relax.tensor<ndim = 2, f32>`
  }];
  let arguments = (ins Relax_AnyValue:$value, I64Attr:$index);
  let results = (outs I64:$result);
  let assemblyFormat = "$value `[` $index `]` attr-dict `:` type($value)";
}

def Relax_TagOp : Relax_BuiltinOp<"tag",
    [DeclareOpInterfaceMethods<InferIntRangeInterface,
                               ["inferResultRangesFromOptional"]>]> {
  let summary = "the tag of a value of an algebraic data type (VM03)";
  let description = [{
    Example: `%0 = relax.builtin.tag %x : !relax.object`
  }];
  let arguments = (ins Relax_AnyValue:$value);
  let results = (outs I64:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Relax_RaiseOp : Relax_RuntimeStepOp<"raise"> {
  let summary = "stop with a RuntimeError (VM05)";
  let description = [{
    Example: `relax.builtin.raise "no clause takes the value"`
  }];
  let arguments = (ins StrAttr:$message);
  let assemblyFormat = "$message attr-dict";
}

def Relax_CheckDimOp : Relax_RuntimeStepOp<"check_dim"> {
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

def Relax_CheckBoundsOp : Relax_RuntimeStepOp<"check_bounds"> {
  let summary = "check that a shape variable is in its declared bounds";
  let description = [{
    Example: `relax.builtin.check_bounds %n from 1 to 128 of "n"`
  }];
  let arguments = (ins I64:$value, OptionalAttr<I64Attr>:$lower,
                       OptionalAttr<I64Attr>:$upper, StrAttr:$name);
  let assemblyFormat = [{
    $value (`from` $lower^)? (`to` $upper^)? `of` $name attr-dict
  }];
}

def Relax_CheckNotNegativeOp : Relax_RuntimeStepOp<"check_not_negative"> {
  let summary = "check that a shape variable or a dimension is not negative";
  let description = [{
    `expr` is the variable where it is bound, or the expression of a dimension
    where memory is taken for it. Whatever the mode of checks, it stays.

    Example: `relax.builtin.check_not_negative %n of "argument 'n'" where "n"`
  }];
  let arguments = (ins I64:$value, StrAttr:$what, StrAttr:$expr);
  let assemblyFormat = "$value `of` $what `where` $expr attr-dict";
}

def Relax_CheckDivisorOp : Relax_RuntimeStepOp<"check_divisor"> {
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
    The memory of a tensor goes back with its last reference; that of a storage
    with its own and those of the tensors in it.

    Examples:

    ```mlir
    relax.builtin.kill %x : !relax.tensor<ndim = 1, f32>
    relax.builtin.kill %s : !relax.object
    ```
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
