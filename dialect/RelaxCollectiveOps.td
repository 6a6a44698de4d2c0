//===- RelaxCollectiveOps.td - Operators of several workers -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_COLLECTIVE_OPS
#define RELAX_COLLECTIVE_OPS

include "RelaxOperatorBase.td"

// Said of each operator here.
defvar allWorkersCall = [{
    All workers of the session run the program, and each of them has to come to
    this operator: it waits for the others. Where they call different operators,
    or with different shapes or data types, each of them gets an error.
}];

// Who takes part.
def Relax_NumWorkersArg : Relax_Arg<I64Attr, "How many workers take part">;
def Relax_InGroupArg
    : Relax_Arg<DefaultValuedOptionalAttr<BoolAttr, "true">,
                "Whether the workers of the group take part, or those of all groups",
                convert = "bool($_self)">;

let pythonNamespace = "ccl" in {

def Relax_AllReduceOp : Relax_Operator<"allreduce"> {
  let summary = "the sum, or another reduction, of the tensors that the workers have";
  let description = allWorkersCall # [{
    Each element is reduced in the order of the workers, so all of them get the
    same bits. Floats of 16 bits are reduced in f32, and rounded once. Integers
    wrap around, and "avg" of them rounds toward zero. Of floats "min" and "max"
    are NaN where one of them is.

    **Constraints:** `op_type` is "sum", "prod", "min", "max" or "avg"; the data
    type of `x` is Numeric.

    Example:

    ```mlir
    %0 = relax.allreduce %x {op_type = "max"} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of the same shape on all workers">:$x,
    Relax_Arg<DefaultValuedOptionalAttr<StrAttr, "\"sum\"">,
      "\"sum\", \"prod\", \"min\", \"max\" or \"avg\"">:$op_type,
    Relax_InGroupArg:$in_group);
}

def Relax_AllGatherOp : Relax_Operator<"allgather"> {
  let summary = "the tensors of all workers, one after the other";
  let description = allWorkersCall # [{
    They are concatenated along the first dimension, in the order of the
    workers.

    **Constraints:** the rank of `x` is 1 or more; `num_workers` is 1 or more,
    and as many take part, which is checked at run time.

    Example:

    ```mlir
    %0 = relax.allgather %x {num_workers = 2} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 2, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of the same shape on all workers">:$x,
    Relax_NumWorkersArg:$num_workers,
    Relax_InGroupArg:$in_group);
}

def Relax_BroadcastFromWorker0Op : Relax_Operator<"broadcast_from_worker0"> {
  let summary = "the tensor of the first worker, on all workers";
  let description = allWorkersCall # [{
    The elements of `x` of the other workers are not looked at.

    Example:

    ```mlir
    %0 = relax.broadcast_from_worker0 %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of the same shape on all workers">:$x);
}

def Relax_ScatterFromWorker0Op : Relax_Operator<"scatter_from_worker0"> {
  let summary = "the part of the first worker's tensor that belongs to this worker";
  let description = allWorkersCall # [{
    The dimension at `axis` is cut into equal parts, one for each worker. The
    elements of `x` of the other workers are not looked at.

    **Constraints:** `axis` is in range; `num_workers` is 1 or more, and divides
    the dimension, which is checked at run time where it cannot be proven; so
    many workers are in the session, which is checked at run time.

    Example:

    ```mlir
    %0 = relax.scatter_from_worker0 %x {num_workers = 2} : (!relax.tensor<[n * 2, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of the same shape on all workers">:$x,
    Relax_NumWorkersArg:$num_workers,
    Relax_Arg<DefaultValuedOptionalAttr<I64Attr, "0">,
      "The dimension to cut; negative ones count from the end">:$axis);
}

} // pythonNamespace

#endif // RELAX_COLLECTIVE_OPS
