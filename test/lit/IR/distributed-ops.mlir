// RUN: %roundtrip

// Distributed tensors: types, meshes of a module, and the operators that place them.

// CHECK: module attributes {relax.device_meshes = {mesh = [#relax.device_mesh<[2, 2], [0, 1, 2, 3]>, #relax.device_mesh<[], [4]>]}}
module attributes {relax.device_meshes = {mesh = [#relax.device_mesh<[2, 2], [0, 1, 2, 3]>, #relax.device_mesh<[], [4]>]}} {

// What is known of the tensor may be as little as its rank; of a replica not even that.
// CHECK-LABEL: relax.func private @types
// CHECK-SAME:    !relax.tensor<[n, 4], f32, sharding = <[S[1], R] on <[2, 2], [0, 1, 2, 3]>>>
// CHECK-SAME:    !relax.tensor<ndim = 2, sharding = <[S[0]] on <[2], [3, 1]>>, @cpu0>
// CHECK-SAME:    !relax.tensor<*, sharding = <[R] on <[2], [0, 1]>>>
relax.func private @types(
  !relax.tensor<[n, 4], f32, sharding = <[S[1], R] on <[2, 2], [0, 1, 2, 3]>>>,
  !relax.tensor<ndim = 2, sharding = <[S[0]] on <[2], [3, 1]>>, @cpu0>,
  !relax.tensor<*, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object

// CHECK-LABEL: relax.func @operators
relax.func @operators(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object {
  // CHECK: relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>}
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // A tensor that is not distributed counts as a replica.
  // CHECK: relax.redistribute %x
  // CHECK-SAME: -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  %1 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  // CHECK: relax.redistribute %y
  %2 = relax.redistribute %y {device_mesh = #relax.device_mesh<[2], [4, 5]>, placement = #relax.placement<[R]>} : (!relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [4, 5]>>>
  // CHECK: relax.redistribute_replica_to_shard %x {axis = -1 : i64, num_workers = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 2], f32>
  %3 = relax.redistribute_replica_to_shard %x {axis = -1, num_workers = 2} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 2], f32>
  // Of a distributed tensor the shape is that of the whole.
  // CHECK: relax.redistribute_replica_to_shard %y {axis = 0 : i64, num_workers = 2 : i64}
  // CHECK-SAME: -> !relax.tensor<[n, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  %4 = relax.redistribute_replica_to_shard %y {axis = 0, num_workers = 2} : (!relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  // CHECK: relax.call_tir_local_view @exp(%{{.*}})
  %5 = relax.call_tir_local_view @exp(%1) : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  relax.return %x : !relax.tensor<[n, 4], f32>
}
func.func private @exp(tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
}
