//===- Passes.td - Passes that make fewer kernels -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_FUSION_PASSES
#define RELAX_FUSION_PASSES

include "mlir/Pass/PassBase.td"

def RelaxAnnotateOpPatternPass
    : Pass<"relax-annotate-op-pattern", "::mlir::func::FuncOp"> {
  let summary = "State what kind of computation each kernel is";
  let description = [{
    Reads from the body how the elements of the outputs are made of those of the
    inputs, and states it as the attribute `op_pattern` with the numbers of TVM:

    | number | kind | an output element is made of |
    |---|---|---|
    | 0 | elementwise | the elements at the same place |
    | 1 | broadcast | those, where inputs are repeated along dimensions |
    | 2 | injective | one element of an input, anywhere |
    | 3 | reduction | many elements |
    | 4 | out-elementwise-fusable | sums of products or windows, behind which operations on elements can be computed along |
    | 8 | opaque | anything else |

    Loops over memrefs are what `relax-raise-kernels` makes of them.

    A kernel that states its kind keeps it: a user may set it by hand.
  }];
  // Sizes are expressions of Relax while loops are read.
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::relax::RelaxDialect"
  ];
}

def RelaxRaiseKernelsPass : Pass<"relax-raise-kernels", "ModuleOp"> {
  let summary = "Have kernels on memrefs that are linalg operations work on tensors";
  let description = [{
    Nests of loops that load and store elements, as kernels of `T.prim_func` have
    them, become linalg operations, where each element is stored once, or is a
    sum or another reduction. Kernels that are nothing but such operations then
    take and return tensors, as those of operators do, so that they are fused
    with others and known to kernel classes.

    This is so for kernels that only `relax.call_tir` calls. Others, and those
    that do anything else, keep their memrefs.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def RelaxFuseOpsPass : Pass<"relax-fuse-ops", "ModuleOp"> {
  let summary = "Group calls that can be one kernel into functions";
  let description = [{
    Takes calls of kernels out of dataflow blocks, in groups, into private
    functions with the attribute `Primitive`, of which `relax-fuse-tir` makes
    kernels. A group ends in one call, through which all that is computed in it
    leaves; where all are loops over the same elements, the results of others may
    be used after it, too. A call of such a function is `relax.fresh`: no result
    is an argument. Kernels on memrefs are put on tensors first, as
    `relax-raise-kernels` does. Kinds of kernels are those of
    `relax-annotate-op-pattern`, which need not have run. Groups are:

    - a matrix product or window computation, and what follows element by element;
    - operations that work row by row on the same rows, reductions and
      normalizations included: a row stays in the cache between them;
    - operations on elements whose loops become one, with a reduction behind
      them. An element that is used several times, by a broadcast, is only
      computed again where that costs next to nothing.

    Updates in place are not fused, nor is anything moved over them. A kernel with
    a `relax.schedule` stays as it is.
  }];
  let options = [
    Option<"maxDepth", "max-depth", "unsigned", "256",
           "The largest number of calls in a group">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def RelaxFuseTIRPass : Pass<"relax-fuse-tir", "ModuleOp"> {
  let summary = "Make one kernel of each primitive function";
  let description = [{
    Puts the bodies of the kernels that a function with the attribute `Primitive`
    calls one behind the other, and calls the result in place of the function.
    Tensors that only the function knows are part of the kernel, which takes
    their dimensions from its parameters, or as integers where no parameter has
    them. Loops over elements are joined where that saves a pass over memory.

    A function that calls kernels on memrefs, or does anything but calling
    kernels, stays a function, and so does one whose arguments have to be checked
    when it is called. Kernels and functions that nobody uses any more are
    removed.

    The kernel has the `relax.schedule` of the function, or else that of the kernels
    that it is made of. Two kernels that ask for different things are an error, and
    so is a function with a schedule that stays a function.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // RELAX_FUSION_PASSES
