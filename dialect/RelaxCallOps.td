//===- RelaxCallOps.td - Calls -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_CALL_OPS
#define RELAX_CALL_OPS

include "RelaxCoreOps.td"
include "mlir/Interfaces/CallInterfaces.td"

def Relax_CallTIROp : Relax_Op<"call_tir",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     DeclareOpInterfaceMethods<Relax_NormalizeOpInterface>]> {
  let summary = "call a kernel in destination-passing style (OP01)";
  let description = [{
    Allocates one tensor for each tensor of the result type, calls the kernel
    `callee(args..., packed_ints..., outputs...)`, and returns the outputs: a
    tensor, or a tuple of them. The kernel is a `func.func` of the module. It
    works either on tensors, returning its updated outputs, or on memrefs. It
    only writes its outputs, so the call is pure. Beside tensors it may take
    primitive values, as integers, floats and Booleans.

    **Constraints:**
    - `callee` names a `func.func` with one parameter for each argument, packed
      integer and output, of fitting rank, data type and static dimensions;
    - the shapes and data types of the result type are known;
    - a primitive value is passed for a parameter of its data type;
    - (NF05) in normal form no argument is a tuple; a variable that holds a
      tuple of them is what `relax-normalize` takes apart.

    Examples:

    ```mlir
    %0 = relax.call_tir @exp(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %1 = relax.call_tir @scale(%0, %s) : (!relax.tensor<[n], f32>, !relax.prim<f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<Relax_TensorOrPrimOrTuple>:$args,
    Optional<Relax_Shape>:$packed_ints);
  let results = (outs Res<Relax_TensorOrTuple, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    $callee `(` $args `)` (`packed_ints` $packed_ints^ `:` type($packed_ints))?
    attr-dict `:` functional-type($args, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The types of the outputs: the result, or the fields of the tuple.
    SmallVector<TensorStructInfoType> getOutputTypes();
  }];
}

def Relax_CallTIRInplaceOp : Relax_Op<"call_tir_inplace",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     DeclareOpInterfaceMethods<Relax_NormalizeOpInterface>]> {
  let summary = "call a kernel that updates some of its arguments (OP02)";
  let description = [{
    Like `relax.call_tir`, with one entry of `inplace_indices` for each output:
    an index of the argument that the kernel updates and that is the output, or
    -1 for an output that is allocated and passed behind the arguments. The
    kernel is called as `callee(args..., packed_ints..., allocated outputs...)`.
    One on memrefs writes into its parameters; one on tensors returns a tensor
    for each output, in the order of the outputs.

    The call is pure, since nobody sees the update. At run time an argument that
    is updated has to be compact, and may not share memory with another one.

    **Constraints:**
    - indices are -1 or distinct positions of arguments, whose types are those of
      the outputs, with dimensions that are proven equal;
    - an argument that is updated, and whatever may alias it, has no later use;
    - in a pure function it does not alias a parameter or a captured value.

    Example:

    ```mlir
    %1 = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Arg<Variadic<Relax_TensorOrPrimOrTuple>, "", [MemWrite]>:$args,
    Optional<Relax_Shape>:$packed_ints,
    DenseI64ArrayAttr:$inplace_indices);
  let results = (outs Res<Relax_TensorOrTuple, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    $callee `(` $args `)` (`packed_ints` $packed_ints^ `:` type($packed_ints))?
    `inplace` $inplace_indices attr-dict `:` functional-type($args, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The types of the outputs: the result, or the fields of the tuple.
    SmallVector<TensorStructInfoType> getOutputTypes();
    /// The argument at a position, counted as if tuples were taken apart.
    Value getArgHolding(int64_t index);
  }];
}

// A call of a packed function by its registered name, or of a function value.
class Relax_PackedCall<string mnemonic, list<Trait> traits = []>
    : Relax_Op<mnemonic, !listconcat(traits, [AttrSizedOperandSegments])> {
  let hasVerifier = 1;
}

def Relax_CallDPSPackedOp : Relax_PackedCall<"call_dps_packed",
    [DeclareOpInterfaceMethods<Relax_NormalizeOpInterface>]> {
  let summary = "call a packed function in destination-passing style (OP03)";
  let description = [{
    Like `relax.call_tir`, with a packed function: registered under `callee`, or
    a value. It gets the allocated tensors as its last arguments and fills them;
    what it returns is dropped. A tensor keeps its shape and data type for life,
    so the outputs are what was allocated.

    **Constraints:**
    - the shapes and data types of the result type are known;
    - a function value is a packed function.

    Examples:

    ```mlir
    %0 = relax.call_dps_packed "my.tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>
    %1 = relax.call_dps_packed %f : !relax.func<derive = @default_derive> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$callee, Optional<Relax_Func>:$function,
                       Variadic<Relax_AnyValue>:$args);
  let results = (outs Res<Relax_TensorOrTuple, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    ($callee^):($function `:` type($function))? `(` $args `)` attr-dict `:`
    functional-type($args, $result)
  }];
  let extraClassDeclaration = [{
    SmallVector<TensorStructInfoType> getOutputTypes();
  }];
}

def Relax_CallPurePackedOp : Relax_PackedCall<"call_pure_packed",
    [Pure, DeclareOpInterfaceMethods<Relax_DeriveOpInterface>]> {
  let summary = "call a packed function that has no visible effect (OP05)";
  let description = [{
    Like `relax.call_packed`, but the caller vouches that the call is pure: it
    may be removed, moved or repeated, and is allowed in dataflow blocks and pure
    functions.

    **Constraints:** (DR10) the result derives from `sinfo_args` where given.

    Example:

    ```mlir
    %0 = relax.call_pure_packed "my.length"(%x) : (!relax.tensor<[n], f32>) -> !relax.prim<i64>
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$callee, Optional<Relax_Func>:$function,
                       Variadic<Relax_AnyValue>:$args,
                       OptionalAttr<TypeArrayAttr>:$sinfo_args);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = [{
    ($callee^):($function `:` type($function))? `(` $args `)` attr-dict `:`
    functional-type($args, $result)
  }];
}

def Relax_CallInplacePackedOp : Relax_PackedCall<"call_inplace_packed",
    [DeclareOpInterfaceMethods<Relax_DeriveOpInterface>]> {
  let summary = "call a packed function that updates some of its arguments (OP06)";
  let description = [{
    Like `relax.call_pure_packed`, where the arguments at `inplace_indices` are
    mutated; -1 in it stands for an output of its own. The call is pure, since
    nobody sees the mutation.

    **Constraints:**
    - the indices are -1 or distinct positions of arguments that are tensors or
      objects, with at least one position;
    - an argument that is mutated, and whatever may alias it, has no later use;
    - in a pure function it does not alias a parameter or a captured value.

    Example:

    ```mlir
    %1 = relax.call_inplace_packed "my.relu"(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$callee, Optional<Relax_Func>:$function,
                       Arg<Variadic<Relax_AnyValue>, "", [MemWrite]>:$args,
                       DenseI64ArrayAttr:$inplace_indices,
                       OptionalAttr<TypeArrayAttr>:$sinfo_args);
  let results = (outs Res<Relax_AnyValue, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    ($callee^):($function `:` type($function))? `(` $args `)`
    `inplace` $inplace_indices attr-dict `:` functional-type($args, $result)
  }];
}

def Relax_CallPackedOp : Relax_Op<"call_packed",
    [DeclareOpInterfaceMethods<Relax_PurityOpInterface>,
     DeclareOpInterfaceMethods<Relax_DeriveOpInterface>]> {
  let summary = "call a packed function (OP04, DR10)";
  let description = [{
    Calls the function registered under `callee` with any Relax values. The call
    is impure. The result is checked against its declared type, `!relax.object`
    if nothing is known. Where `sinfo_args` is given, the result derives from it
    by `default_derive`: an object, the one type, or a tuple of them.

    Example:

    ```mlir
    %0 = relax.call_packed "my.print"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<Relax_AnyValue>:$args,
                       OptionalAttr<TypeArrayAttr>:$sinfo_args);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat =
      "$callee `(` $args `)` attr-dict `:` functional-type($args, $result)";
  let hasVerifier = 1;
}

def Relax_CallOp : Relax_Op<"call",
    [AttrSizedOperandSegments, CallOpInterface,
     DeclareOpInterfaceMethods<Relax_PurityOpInterface>,
     DeclareOpInterfaceMethods<Relax_DeriveOpInterface>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call a Relax function, or a function value (GR14, DR12)";
  let description = [{
    The callee is a `relax.func` of the module, a kernel (`func.func`, which may
    mutate its arguments and gives an empty tuple), or a value. Shape variables
    of the callee stand for the dimensions of the arguments. For a packed
    function the result derives from `sinfo_args`, by the function that its type
    names; without them it is the declared type.

    **Constraints:**
    - the callee has one parameter for each argument;
    - each argument is compatible with its parameter; what cannot be proven is
      checked at run time, on entry of the callee;
    - the derived result is a subtype of the result type.

    Examples:

    ```mlir
    %0 = relax.call @square(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %1 = relax.call %f : !relax.func<derive = @default_derive> (%x) : (!relax.tensor<[n], f32>) -> !relax.object
    ```
  }];
  let arguments = (ins
    OptionalAttr<FlatSymbolRefAttr>:$callee,
    Optional<Relax_Func>:$function,
    Variadic<Relax_AnyValue>:$args,
    OptionalAttr<TypeArrayAttr>:$sinfo_args,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = [{
    ($callee^):($function `:` type($function))? `(` $args `)` attr-dict `:`
    functional-type($args, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of what is called; null for a symbol that is no function.
    FuncStructInfoType getCalleeType();
    /// DR10, DR12: the type of the result. `reportUnproven` is called with each
    /// argument that may or may not be of the type expected.
    FailureOr<Type> deriveResult(
        function_ref<void(unsigned, Type)> reportUnproven = {});
    operand_range getArgOperands() { return getArgs(); }
    MutableOperandRange getArgOperandsMutable() { return getArgsMutable(); }
    CallInterfaceCallable getCallableForCallee() {
      if (auto callee = getCalleeAttr())
        return callee;
      return getFunction();
    }
    void setCalleeFromCallable(CallInterfaceCallable callee) {
      if (auto symbol = ::llvm::dyn_cast<SymbolRefAttr>(callee))
        setCalleeAttr(::llvm::cast<FlatSymbolRefAttr>(symbol));
      else
        getFunctionMutable().assign(::llvm::cast<Value>(callee));
    }
  }];
}

#endif // RELAX_CALL_OPS
