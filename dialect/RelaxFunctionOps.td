//===- RelaxFunctionOps.td - Functions as values -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_FUNCTION_OPS
#define RELAX_FUNCTION_OPS

include "RelaxCoreOps.td"

def Relax_ClosureOp : Relax_Op<"closure",
    [Pure, SingleBlock, DeclareOpInterfaceMethods<Relax_DeriveOpInterface>,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a function literal, evaluated into a closure (GR16, SE03)";
  let description = [{
    The body may use values and shape variables of the scope around it: they are
    captured by reference. Shape variables that stand alone in a dimension of the
    signature and are not bound outside are bound on each call. The first
    argument of the block is the closure itself, named by `rec`, so that the
    body may call it.

    **Constraints:**
    - the body ends with `relax.return` of a subtype of the declared result;
    - (WF04-WF06) shape variables are bound as in a `relax.func`, those of the
      scope around it count as bound;
    - (WF11) inside a dataflow block it captures no value of that block.

    Examples:

    ```mlir
    %f = relax.closure (%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      relax.return %x : !relax.tensor<[n], f32>
    }
    %g = relax.closure impure rec %self (%i: !relax.prim<i64>) -> !relax.object {
      %r = relax.call %self : !relax.func<(!relax.prim<i64>) -> !relax.object, impure> (%i) : (!relax.prim<i64>) -> !relax.object
      relax.return %r : !relax.object
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrArrayAttr>:$arg_names);
  let results = (outs Relax_Func:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the closure: parameters, result, purity.
    FuncStructInfoType getFuncStructInfo();
    /// The closure itself, inside of its body.
    BlockArgument getSelf() { return getBody().getArgument(0); }
    /// The parameters, without the closure itself.
    Block::BlockArgListType getParams() {
      return getBody().getArguments().drop_front();
    }
    /// "argument 'x'" for a parameter with a name, else "argument 0".
    std::string describeArgument(unsigned index);
  }];
}

def Relax_GlobalVarOp : Relax_Op<"global_var",
    [Pure, DeclareOpInterfaceMethods<Relax_DeriveOpInterface>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a function of the module as a value (SE03, SE07)";
  let description = [{
    Names a `relax.func`, or a kernel (`func.func`), which as a value is an impure
    function of its parameters without a result (DR14).

    **Constraints:** the type of the function is a subtype of the result type.

    Example:

    ```mlir
    %f = relax.global_var @square : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name);
  let results = (outs Relax_Func:$result);
  let assemblyFormat = "$name attr-dict `:` qualified(type($result))";
}

#endif // RELAX_FUNCTION_OPS
