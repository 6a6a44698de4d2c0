// RUN: relax-opt %s -relax-lower-global-view-to-local-view -relax-lower-dist-ir | FileCheck %s

// The program of each worker.

// The first worker has the arguments; the terms of the product are added up.
// CHECK-LABEL: relax.func @mlp(%x: !relax.tensor<[n, 8], f32>, %w1: !relax.tensor<[8, 6], f32>, %w2: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32>
// CHECK:         %[[X:.*]] = relax.broadcast_from_worker0 %x
// CHECK:         %[[W1:.*]] = relax.scatter_from_worker0 %w1 {axis = 1 : i64, num_workers = 2 : i64} : (!relax.tensor<[8, 6], f32>) -> !relax.tensor<[8, 3], f32>
// CHECK:         %[[W2:.*]] = relax.scatter_from_worker0 %w2
// CHECK:         %[[H:.*]] = relax.matmul %[[X]], %[[W1]] : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8, 3], f32>) -> !relax.tensor<[n, 3], f32>
// CHECK:         %[[Y:.*]] = relax.matmul %[[H]], %[[W2]] : (!relax.tensor<[n, 3], f32>, !relax.tensor<[3, 4], f32>) -> !relax.tensor<[n, 4], f32>
// CHECK:         %[[SUM:.*]] = relax.allreduce %[[Y]] {in_group = false}
// CHECK:         relax.return %[[SUM]]
relax.func @mlp(%x: !relax.tensor<[n, 8], f32, sharding = <[R] on <[2], [0, 1]>>>, %w1: !relax.tensor<[8, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, %w2: !relax.tensor<[6, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>> {
  %0 = relax.matmul %x, %w1 : (!relax.tensor<[n, 8], f32, sharding = <[R] on <[2], [0, 1]>>>, !relax.tensor<[8, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  %1 = relax.matmul %0, %w2 : (!relax.tensor<[n, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[6, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %1 : !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// The mean of parts of the same size is the mean of their means.
// CHECK-LABEL: relax.func @reductions
// CHECK:         relax.mean
// CHECK:         relax.allreduce %{{.*}} {in_group = false, op_type = "avg"}
// CHECK:         relax.max
// CHECK:         relax.allreduce %{{.*}} {in_group = false, op_type = "max"}
relax.func @reductions(%x: !relax.tensor<[n, 8], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.object {
  %0 = relax.mean %x {axis = array<i64: 1>} : (!relax.tensor<[n, 8], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>
  %1 = relax.max %x : (!relax.tensor<[n, 8], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[], f32, sharding = <[R] on <[2], [0, 1]>>>
  %2 = relax.tuple %0, %1 : !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>, !relax.tensor<[], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %2 : !relax.tuple<!relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>, !relax.tensor<[], f32, sharding = <[R] on <[2], [0, 1]>>>>
}

// A shape becomes that of the part; what is gathered has the size of the whole.
// CHECK-LABEL: relax.func @shapes
// CHECK:         relax.shape <[m floordiv 2, 2, 4]>
// CHECK:         relax.reshape {{.*}} -> !relax.tensor<[m floordiv 2, 2, 4], f32>
// CHECK:         relax.allgather {{.*}} -> !relax.tensor<[m floordiv 2 * 2, 2, 4], f32>
// CHECK:         relax.match_cast {{.*}} -> !relax.tensor<[m, 2, 4], f32>
relax.func @shapes(%x: !relax.tensor<[m, 8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[m, 2, 4], f32, sharding = <[R] on <[2], [0, 1]>>> {
  %s = relax.shape <[m, 2, 4]>
  %0 = relax.reshape %x, %s : (!relax.tensor<[m, 8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>, !relax.shape<[m, 2, 4]>) -> !relax.tensor<[m, 2, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  %1 = relax.allgather %0 {num_workers = 2} : (!relax.tensor<[m, 2, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[m, 2, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %1 : !relax.tensor<[m, 2, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// Fields of a tuple, of which one is no tensor, and a tensor that each worker has.
// CHECK-LABEL: relax.func @tuples
// CHECK:         relax.get_item %p[0]
// CHECK:         relax.scatter_from_worker0
// CHECK:         relax.get_item %p[1]
// CHECK:         relax.redistribute_replica_to_shard %{{.*}} {axis = 0 : i64, num_workers = 2 : i64} : (!relax.tensor<[8], f32>) -> !relax.tensor<[4], f32>
relax.func @tuples(%p: !relax.tuple<!relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>, !relax.prim<i64>>) -> !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>> {
  %x = relax.get_item %p[0] : !relax.tuple<!relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>, !relax.prim<i64>>
  %c = relax.constant dense<1.0> : tensor<8xf32>
  %0 = relax.redistribute %c {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[8], f32>) -> !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  %1 = relax.add %x, %0 : (!relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>, !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %1 : !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
}

// Kernels of replicas, and of parts.
func.func private @exp(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-LABEL: relax.func @kernels
// CHECK:         relax.call_tir @exp(%{{.*}}) : (!relax.tensor<[8], f32>) -> !relax.tensor<[8], f32>
// CHECK:         relax.call_tir @exp(%{{.*}}) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
relax.func @kernels(%x: !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>, %y: !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.object {
  %0 = relax.call_tir @exp(%x) : (!relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>
  %1 = relax.call_tir_local_view @exp(%y) : (!relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  %2 = relax.tuple %0, %1 : !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>, !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %2 : !relax.tuple<!relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>, !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>>
}
