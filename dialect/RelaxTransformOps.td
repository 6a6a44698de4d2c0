//===- RelaxTransformOps.td - Schedules of Relax -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of MLIR's transform dialect. They are registered as an extension
// of it, so RelaxOps.td does not include them.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_TRANSFORM_OPS
#define RELAX_TRANSFORM_OPS

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/Interfaces/MatchInterfaces.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Relax_TransformOp<string mnemonic, list<Trait> traits>
    : Op<Transform_Dialect, "relax." # mnemonic,
         [DeclareOpInterfaceMethods<TransformOpInterface>] # traits> {
  let cppNamespace = "::mlir::relax";
}

// Reads the program, and what it finds is the result.
class Relax_FindOp<string mnemonic>
    : Relax_TransformOp<mnemonic, [MatchOpInterface, NavigationTransformOpTrait,
                                   MemoryEffectsOpInterface]>;

// Changes the program.
class Relax_RewriteOp<string mnemonic>
    : Relax_TransformOp<mnemonic,
          [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

def Relax_MatchCallsOp : Relax_FindOp<"match_calls"> {
  let summary = "Find calls of kernels and operators";
  let description = [{
    The calls of kernels (`relax.call_tir`) and the operators in `root`, or that
    `root` is, of which all that is stated holds:

    - `kernel`: the name of the kernel, also without the digits at its end, by
      which kernels of one operator differ; of an operator its own, such as
      `nn.relu`;
    - `pattern`: the kind of the kernel, as `relax-annotate-op-pattern` states it:
      `elementwise`, `broadcast`, `injective`, `reduction`,
      `out-elementwise-fusable`, `opaque`. Operators have none;
    - `rank`, `dtype`: those of each tensor that the call results in;
    - `dims`: whether all dimensions of these tensors are known (`static`), or one
      of them is not (`symbolic`).

    They are in the order of the program; there may be none.

    Example:

    ```mlir
    %products = transform.relax.match_calls in %root
        {pattern = "out-elementwise-fusable", dtype = f32, rank = 2}
        : (!transform.any_op) -> !transform.any_op
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$root, OptionalAttr<StrAttr>:$kernel,
    OptionalAttr<StrAttr>:$pattern, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$rank,
    OptionalAttr<TypeAttr>:$dtype, OptionalAttr<StrAttr>:$dims);
  let results = (outs TransformHandleTypeInterface:$calls);
  let assemblyFormat = [{
    `in` $root attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Relax_GetCalleeOp : Relax_FindOp<"get_callee"> {
  let summary = "The kernels and functions that calls call";
  let description = [{
    Each is there once, in the order of the calls. A call of what is no function of
    the module is a silenceable error.

    Example:

    ```mlir
    %kernels = transform.relax.get_callee %calls
        : (!transform.any_op) -> !transform.any_op
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$calls);
  let results = (outs TransformHandleTypeInterface:$functions);
  let assemblyFormat = [{
    $calls attr-dict `:` functional-type(operands, results)
  }];
}

def Relax_FuseBindingsOp : Relax_RewriteOp<"fuse"> {
  let summary = "Have bindings become one kernel";
  let description = [{
    Puts the bindings into a private function with the attribute `Primitive`, as
    `relax-fuse-ops` does with the groups that it finds, and a call in the place of
    the last one. `relax-fuse-tir` makes one kernel of the function, once its
    operators are calls of kernels. What takes fields of their results belongs to
    the bindings, and what comes between them and needs one of them comes after
    the call. Where several results are used outside, the function returns a
    tuple.

    It is a silenceable error if the bindings

    - are not of one dataflow block, or are anything but operators, calls of
      kernels, tuples and constants;
    - are not convex: one of them needs what is not among them and is made of
      another one;
    - have an update in place between them, or what binds shape variables and needs
      one of them.

    Example:

    ```mlir
    %function, %call = transform.relax.fuse %bindings
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$bindings);
  let results = (outs TransformHandleTypeInterface:$function,
                      TransformHandleTypeInterface:$call);
  let assemblyFormat = [{
    $bindings attr-dict `:` functional-type(operands, results)
  }];
}

def Relax_SplitFusedOp : Relax_RewriteOp<"split"> {
  let summary = "Put the bindings of a fused function in the place of its calls";
  let description = [{
    The inverse of `transform.relax.fuse`, before `relax-fuse-tir` has made a
    kernel of the function. The result has the bindings. A function that nobody
    calls any more is removed.

    It is a silenceable error if a call is not one of a private function with the
    attribute `Primitive`, which has no bounds of shape variables and belongs to no
    library, or if it stands in that function.

    Example:

    ```mlir
    %bindings = transform.relax.split %call
        : (!transform.any_op) -> !transform.any_op
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$calls);
  let results = (outs TransformHandleTypeInterface:$bindings);
  let assemblyFormat = [{
    $calls attr-dict `:` functional-type(operands, results)
  }];
}

def Relax_SetKernelOp : Relax_RewriteOp<"set_kernel"> {
  let summary = "Choose the class of kernels, and its tile";
  let description = [{
    Sets the attribute `relax.schedule` of kernels, and of functions that become
    one kernel (`Primitive`): `relax-emit-kernels` tries this class alone, which is
    one of its table, or `none`, which leaves the kernel to bufferization and the
    generic route.

    The tile, of `matmul` and `conv2d`, takes the place of what a model of the
    class would choose: rows and columns of sums that stay in registers, and output
    channels and pixels. Which sizes there may be depends on the width of vectors,
    so that `relax-emit-kernels` reports those that it cannot use.

    Example:

    ```mlir
    transform.relax.set_kernel %kernels class "matmul" tile [4, 16] : !transform.any_op
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$kernels, StrAttr:$kernel_class,
    OptionalAttr<DenseI64ArrayAttr>:$tile);
  let assemblyFormat = [{
    $kernels `class` $kernel_class (`tile` $tile^)? attr-dict `:` type($kernels)
  }];
  let hasVerifier = 1;
}

#endif // RELAX_TRANSFORM_OPS
