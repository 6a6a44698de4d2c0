// RUN: %invalid

// Meshes, placements, and operators of distributed tensors.

// expected-error@+1 {{expected as many devices as the extents of the mesh multiply to, but got 1}}
module attributes {test.mesh = #relax.device_mesh<[2], [0]>} {}

// -----

// expected-error@+1 {{expected extents of a mesh from 1 to 1048576, but got 0}}
module attributes {test.mesh = #relax.device_mesh<[0], []>} {}

// -----

// expected-error@+1 {{expected distinct device ids, but got 3 twice}}
module attributes {test.mesh = #relax.device_mesh<[2], [3, 3]>} {}

// -----

// expected-error@+1 {{expected device ids from 0 to 2147483647, but got -1}}
module attributes {test.mesh = #relax.device_mesh<[1], [-1]>} {}

// -----

// expected-error@+1 {{expected an axis of 0 or more, but got -2}}
module attributes {test.placement = #relax.placement<[S[-2]]>} {}

// -----

// expected-error@+1 {{expected 'S' or 'R' in a placement}}
module attributes {test.placement = #relax.placement<[T]>} {}

// -----

// expected-error@+1 {{expected an entry of the placement for each of the 1 dimensions of the mesh, but got 'R, R'}}
relax.func private @entries(!relax.tensor<[n], f32, sharding = <[R, R] on <[1], [0]>>>) -> !relax.object

// -----

// expected-error@+1 {{expected a tensor of rank 2 or more for the placement S[1], but got rank 1}}
relax.func private @rank(!relax.tensor<[n], f32, sharding = <[S[1]] on <[1], [0]>>>) -> !relax.object

// -----

// expected-error@+1 {{expected a tensor of rank 1 or more for the placement S[0], but got an unknown rank}}
relax.func private @unknown_rank(!relax.tensor<*, sharding = <[S[0]] on <[1], [0]>>>) -> !relax.object

// -----

// expected-error@+1 {{expected 'relax.device_meshes' to be a dictionary of lists of #relax.device_mesh, but got}}
module attributes {relax.device_meshes = {mesh = [1]}} {}

// -----

relax.func @annotation(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected input of rank 2 or more for the placement S[1], but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.annotate_sharding' op failed to infer returned types}}
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[1], [0]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @annotation_entries(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected an entry of the placement for each of the 1 dimensions of the mesh, but got ''}}
  // expected-error@+1 {{'relax.annotate_sharding' op failed to infer returned types}}
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[1], [0]>, placement = #relax.placement<[]>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @cut_rest(%x: !relax.tensor<[3], f32>) -> !relax.object {
  // expected-error@+2 {{expected num_workers that divides dimension 0, but got 2 and '!relax.tensor<[3], f32>'}}
  // expected-error@+1 {{'relax.redistribute_replica_to_shard' op failed to infer returned types}}
  %0 = relax.redistribute_replica_to_shard %x {axis = 0, num_workers = 2} : (!relax.tensor<[3], f32>) -> !relax.tensor<[1], f32>
  relax.return %0 : !relax.tensor<[1], f32>
}

// -----

relax.func @cut_count(%x: !relax.tensor<[3], f32>) -> !relax.object {
  // expected-error@+2 {{expected num_workers of 1 or more, but got 0}}
  // expected-error@+1 {{'relax.redistribute_replica_to_shard' op failed to infer returned types}}
  %0 = relax.redistribute_replica_to_shard %x {axis = 0, num_workers = 0} : (!relax.tensor<[3], f32>) -> !relax.tensor<[3], f32>
  relax.return %0 : !relax.tensor<[3], f32>
}

// -----

relax.func @cut_parts(%x: !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{expected input to be a replica, but got}}
  // expected-error@+1 {{'relax.redistribute_replica_to_shard' op failed to infer returned types}}
  %0 = relax.redistribute_replica_to_shard %x {axis = 0, num_workers = 2} : (!relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @cut_mesh(%x: !relax.tensor<[4], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{expected a mesh of 4 devices in one dimension, but got #relax.device_mesh<[2], [0, 1]>}}
  // expected-error@+1 {{'relax.redistribute_replica_to_shard' op failed to infer returned types}}
  %0 = relax.redistribute_replica_to_shard %x {axis = 0, num_workers = 4} : (!relax.tensor<[4], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

// Sums need the whole axis.
relax.func @softmax(%x: !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{expected operand 0 of relax.softmax to be whole along axis 1, but it is sharded as S[1]; insert relax.redistribute}}
  // expected-error@+1 {{'relax.softmax' op failed to infer returned types}}
  %0 = relax.softmax %x : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @other_axis(%x: !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, %y: !relax.tensor<[n, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{expected dimension 0 of the mesh to cut the same axis of all operands of relax.add, but operand 1 is S[0]; insert relax.redistribute}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[n, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @replica(%x: !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, %y: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected operand 1 of relax.add to be sharded as S[1] along dimension 0 of the mesh, as other operands are, but got R; insert relax.redistribute}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @meshes(%x: !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>, %y: !relax.tensor<[n], f32, sharding = <[R] on <[1], [2]>>>) -> !relax.object {
  // expected-error@+2 {{expected operands on the same mesh, but got #relax.device_mesh<[2], [0, 1]> and #relax.device_mesh<[1], [2]>; insert relax.redistribute}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>, !relax.tensor<[n], f32, sharding = <[R] on <[1], [2]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @no_rule(%x: !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{expected an operator that has a rule for distributed tensors, but got relax.sort}}
  // expected-error@+1 {{'relax.sort' op failed to infer returned types}}
  %0 = relax.sort %x : (!relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @unknown_shape(%x: !relax.tensor<ndim = 1, f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{expected distributed tensors of known shape for relax.exp, but got '!relax.tensor<ndim = 1, f32>'; insert relax.match_cast}}
  // expected-error@+1 {{'relax.exp' op failed to infer returned types}}
  %0 = relax.exp %x : (!relax.tensor<ndim = 1, f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @gather_parts(%x: !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{expected x to be sharded as S[0] on a mesh of num_workers devices, but got}}
  // expected-error@+1 {{'relax.allgather' op failed to infer returned types}}
  %0 = relax.allgather %x {num_workers = 2} : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<*>
  relax.return %0 : !relax.tensor<*>
}

// -----

// A distributed tensor is of another kind.
relax.func @kind(%x: !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+2 {{'relax.exp' op inferred type(s)}}
  // expected-error@+1 {{'relax.exp' op failed to infer returned types}}
  %0 = relax.exp %x : (!relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// A kernel takes the parts.
func.func private @exp(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
relax.func @local_view(%x: !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_local_view' op expected a value for kernel parameter 0 of type 'tensor<4xf32>', but got '!relax.tensor<[2], f32>'}}
  %0 = relax.call_tir_local_view @exp(%x) : (!relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
}

// -----

func.func private @exp(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
relax.func @local_rest(%x: !relax.tensor<[3], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_local_view' op expected dimension 0 to be a multiple of 2, the devices that share it, but got 3 in}}
  %0 = relax.call_tir_local_view @exp(%x) : (!relax.tensor<[3], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[3], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[3], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
}
