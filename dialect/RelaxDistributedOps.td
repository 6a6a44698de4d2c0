//===- RelaxDistributedOps.td - Distributed tensors -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_DISTRIBUTED_OPS
#define RELAX_DISTRIBUTED_OPS

include "RelaxOperatorBase.td"
include "RelaxCallOps.td"

// An operator that says how a tensor lies on a mesh of devices.
class Relax_PlacementOp<string mnemonic, list<Trait> traits = []>
    : Relax_InferredOp<mnemonic, traits> {
  let hasPythonFunction = 1;
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "Of known rank">:$input,
    Relax_Arg<Relax_DeviceMeshAttr, "Such as `DeviceMesh((2,), range(2))`">:$device_mesh,
    Relax_Arg<Relax_PlacementAttr, "Such as \"S[0], R\", with an entry for each dimension of the mesh">:$placement);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

let pythonNamespace = "dist" in {

def Relax_AnnotateShardingOp : Relax_PlacementOp<"annotate_sharding", [Pure]> {
  let summary = "`input`, with a plan of how it is to be sharded";
  let description = [{
    `relax-propagate-sharding` makes a distributed program of the annotations of
    a function. Where it does not run, the operator is gone when a program runs.

    **Constraints:** `placement` has an entry for each dimension of
    `device_mesh`; its axes are less than the rank of `input`.

    Example:

    ```mlir
    %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ```
  }];
  let results = (outs Res<Relax_Tensor, "`input`">:$result);
}

def Relax_RedistributeOp : Relax_PlacementOp<"redistribute"> {
  let summary = "a distributed tensor, placed in another way";
  let description = [{
    A tensor that is not distributed counts as a replica, which all devices have.
    `relax-legalize-redistribute` makes collective operators of it.

    **Constraints:** `placement` has an entry for each
    dimension of `device_mesh`; its axes are less than the rank of `input`.

    Example:

    ```mlir
    %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[R]>} : (!relax.tensor<[n, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
    ```
  }];
  let results = (outs Res<Relax_Tensor, "", [MemAlloc]>:$result);
}

def Relax_RedistributeReplicaToShardOp
    : Relax_InferredOp<"redistribute_replica_to_shard"> {
  let hasPythonFunction = 1;
  let summary = "the part of a tensor that belongs to this worker";
  let description = [{
    Each worker has all of `input`, and takes its own one of `num_workers` equal
    parts along an axis: workers exchange nothing. Of a distributed tensor, a
    replica, the result is the tensor that is sharded along `axis`.

    **Constraints:** `axis` is in range; `num_workers` is 1 or more, and divides
    the dimension, which is checked at run time where it cannot be proven; so
    many workers are in the session, which is checked at run time. A distributed
    `input` is a replica on a mesh of `num_workers` devices in one dimension.

    Example:

    ```mlir
    %0 = relax.redistribute_replica_to_shard %x {axis = 1, num_workers = 2} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 2], f32>
    ```
  }];
  let arguments = (ins
    Relax_Arg<Relax_Tensor, "The same on all workers">:$input,
    Relax_Arg<I64Attr, "How many workers take part">:$num_workers,
    Relax_Arg<I64Attr, "The dimension to cut; negative ones count from the end">:$axis);
  let results = (outs Res<Relax_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

} // pythonNamespace

def Relax_CallTIRLocalViewOp : Relax_Op<"call_tir_local_view",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call a kernel on the parts that this worker has";
  let description = [{
    Like `relax.call_tir`, where arguments and results are distributed tensors:
    the kernel takes and writes the part of each worker, and knows nothing of the
    others. `relax-lower-dist-ir` makes `relax.call_tir` of it.

    **Constraints:** as of `relax.call_tir`, for the types of the parts.

    Example:

    ```mlir
    %0 = relax.call_tir_local_view @exp(%x) : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<Relax_TensorOrPrim>:$args);
  let results = (outs Res<Relax_TensorOrTuple, "", [MemAlloc]>:$result);
  let assemblyFormat =
      "$callee `(` $args `)` attr-dict `:` functional-type($args, $result)";
  let hasVerifier = 1;
}

#endif // RELAX_DISTRIBUTED_OPS
