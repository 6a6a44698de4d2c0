// RUN: relax-opt %s -relax-legalize-redistribute | FileCheck %s

// Moves between workers.

// CHECK-LABEL: relax.func @same
// CHECK-NEXT:    relax.return %x
relax.func @same(%x: !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>> {
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
}

// CHECK-LABEL: relax.func @cut
// CHECK-NEXT:    relax.redistribute_replica_to_shard %x {axis = 1 : i64, num_workers = 2 : i64}
relax.func @cut(%x: !relax.tensor<[4, 6], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>> {
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[4, 6], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[4, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
}

// CHECK-LABEL: relax.func @gather_rows
// CHECK-NEXT:    relax.allgather %x {in_group = false, num_workers = 2 : i64}
// CHECK-NEXT:    relax.return
relax.func @gather_rows(%x: !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[R] on <[2], [0, 1]>>> {
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[R]>} : (!relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[4, 6], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// What is gathered comes one after the other in the first dimension.
// CHECK-LABEL: relax.func @gather_columns
// CHECK-NEXT:    relax.permute_dims %x {axes = array<i64: 2, 0, 1>}
// CHECK-NEXT:    relax.allgather
// CHECK-NEXT:    relax.permute_dims %{{.*}} {axes = array<i64: 1, 2, 0>}
// CHECK-SAME:      -> !relax.tensor<[4, 6, 8], f32, sharding = <[R] on <[2], [0, 1]>>>
relax.func @gather_columns(%x: !relax.tensor<[4, 6, 8], f32, sharding = <[S[2]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6, 8], f32, sharding = <[R] on <[2], [0, 1]>>> {
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[R]>} : (!relax.tensor<[4, 6, 8], f32, sharding = <[S[2]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6, 8], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[4, 6, 8], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// CHECK-LABEL: relax.func @exchange
// CHECK-NEXT:    relax.allgather
// CHECK-NEXT:    relax.redistribute_replica_to_shard %{{.*}} {axis = 1 : i64, num_workers = 2 : i64}
relax.func @exchange(%x: !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>> {
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[4, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
}
