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
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call a kernel in destination-passing style (OP01)";
  let description = [{
    Allocates one tensor for each tensor of the result type, calls the kernel
    `callee(args..., packed_ints..., outputs...)`, and returns the outputs: a
    tensor, or a tuple of them. The kernel is a `func.func` of the module. It
    works either on tensors, returning its updated outputs, or on memrefs. It
    only writes its outputs, so the call is pure.

    **Constraints:**
    - `callee` names a `func.func` with one parameter for each argument, packed
      integer and output, of fitting rank, data type and static dimensions;
    - the shapes and data types of the result type are known.

    Example:

    ```mlir
    %0 = relax.call_tir @exp(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<Relax_Tensor>:$args,
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

def Relax_CallDPSPackedOp : Relax_Op<"call_dps_packed"> {
  let summary = "call a packed function in destination-passing style (OP03)";
  let description = [{
    Like `relax.call_tir`, with a packed function registered under `callee`.

    **Constraints:** the shapes and data types of the result type are known.

    Example:

    ```mlir
    %0 = relax.call_dps_packed "my.tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<Relax_AnyValue>:$args);
  let results = (outs Res<Relax_TensorOrTuple, "", [MemAlloc]>:$result);
  let assemblyFormat =
      "$callee `(` $args `)` attr-dict `:` functional-type($args, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    SmallVector<TensorStructInfoType> getOutputTypes();
  }];
}

def Relax_CallPackedOp : Relax_Op<"call_packed",
    [DeclareOpInterfaceMethods<Relax_PurityOpInterface>]> {
  let summary = "call a packed function (OP04, DR10)";
  let description = [{
    Calls the function registered under `callee` with any Relax values. The call
    is impure. The result is checked against its declared type (the
    specification's `sinfo_args`), `!relax.object` if nothing is known.

    Example:

    ```mlir
    %0 = relax.call_packed "my.print"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<Relax_AnyValue>:$args);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat =
      "$callee `(` $args `)` attr-dict `:` functional-type($args, $result)";
}

def Relax_CallOp : Relax_Op<"call",
    [AttrSizedOperandSegments, CallOpInterface,
     DeclareOpInterfaceMethods<Relax_PurityOpInterface>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call a Relax function, or a function value (GR14, DR12)";
  let description = [{
    The callee is a `relax.func` of the module, or a value. Shape variables of
    the callee stand for the dimensions of the arguments.

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
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = [{
    ($callee^):($function `:` type($function))? `(` $args `)` attr-dict `:`
    functional-type($args, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
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
