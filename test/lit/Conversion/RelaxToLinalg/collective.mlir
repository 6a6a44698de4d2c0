// RUN: relax-opt %s -relax-legalize-ops -mlir-print-debuginfo=0 | FileCheck %s

// Operators of workers are calls of the runtime, which are told the function and the location.

// CHECK-LABEL: relax.func @reductions
// CHECK-DAG:     %[[MAX:.*]] = relax.string "max"
// CHECK-DAG:     %[[ALL:.*]] = relax.prim_value 0 : i64
// CHECK-DAG:     %[[NAME:.*]] = relax.string "reductions"
// CHECK-DAG:     %[[PLACE:.*]] = relax.string "{{.*}}collective.mlir:13:8"
// CHECK:         relax.call_dps_packed "relax_mlir.run.allreduce"(%x, %[[MAX]], %[[ALL]], %[[NAME]], %[[PLACE]])
// CHECK-SAME:      -> !relax.tensor<[n, 4], f32>
relax.func @reductions(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.allreduce %x {op_type = "max", in_group = false} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @copies
// CHECK-DAG:     %[[TWO:.*]] = relax.prim_value 2 : i64
// CHECK-DAG:     %[[GROUP:.*]] = relax.prim_value 1 : i64
// CHECK:         relax.call_dps_packed "relax_mlir.run.allgather"(%x, %[[TWO]], %[[GROUP]],
// CHECK-SAME:      -> !relax.tensor<[n * 2, 4], bf16>
// CHECK:         relax.call_dps_packed "relax_mlir.run.broadcast_from_worker0"(%x, %{{[^,]*}}, %{{[^,]*}}) :
relax.func @copies(%x: !relax.tensor<[n, 4], bf16>) -> !relax.object {
  %0 = relax.allgather %x {num_workers = 2 : i64} : (!relax.tensor<[n, 4], bf16>) -> !relax.tensor<[n * 2, 4], bf16>
  %1 = relax.broadcast_from_worker0 %x : (!relax.tensor<[n, 4], bf16>) -> !relax.tensor<[n, 4], bf16>
  %2 = relax.tuple %0, %1 : !relax.tensor<[n * 2, 4], bf16>, !relax.tensor<[n, 4], bf16>
  relax.return %2 : !relax.tuple<!relax.tensor<[n * 2, 4], bf16>, !relax.tensor<[n, 4], bf16>>
}

// That the workers share the dimension is checked where it is not known.
// CHECK-LABEL: relax.func @scatter
// CHECK:         relax.match_cast %{{.*}} {relax.checks = "relax.scatter_from_worker0"}
// CHECK:         relax.call_dps_packed "relax_mlir.run.scatter_from_worker0"(%x,
// CHECK-SAME:      -> !relax.tensor<[4, n floordiv 2], i1>
relax.func @scatter(%x: !relax.tensor<[4, n], i1>) -> !relax.object {
  %0 = relax.scatter_from_worker0 %x {num_workers = 2 : i64, axis = -1} : (!relax.tensor<[4, n], i1>) -> !relax.tensor<[4, n floordiv 2], i1>
  relax.return %0 : !relax.tensor<[4, n floordiv 2], i1>
}

// CHECK-LABEL: relax.func @scatter_known
// CHECK-NOT:     relax.match_cast
// CHECK:         relax.call_dps_packed "relax_mlir.run.scatter_from_worker0"(%x,
// CHECK-SAME:      -> !relax.tensor<[4, n * 3], i1>
relax.func @scatter_known(%x: !relax.tensor<[4, n * 6], i1>, %n: !relax.prim<i64, n>) -> !relax.object {
  %0 = relax.scatter_from_worker0 %x {num_workers = 2 : i64, axis = 1} : (!relax.tensor<[4, n * 6], i1>) -> !relax.tensor<[4, n * 3], i1>
  relax.return %0 : !relax.tensor<[4, n * 3], i1>
}

// What each worker has is cut without an exchange; an annotation is gone.
// CHECK-LABEL: relax.func @take_part
// CHECK-NOT:     relax.annotate_sharding
// CHECK:         relax.match_cast %{{.*}} {relax.checks = "relax.redistribute_replica_to_shard"}
// CHECK:         relax.call_dps_packed "relax_mlir.run.redistribute_replica_to_shard"(%x,
// CHECK-SAME:      -> !relax.tensor<[4, n floordiv 2], i1>
relax.func @take_part(%x: !relax.tensor<[4, n], i1>) -> !relax.object {
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[4, n], i1>) -> !relax.tensor<[4, n], i1>
  %1 = relax.redistribute_replica_to_shard %0 {num_workers = 2 : i64, axis = -1} : (!relax.tensor<[4, n], i1>) -> !relax.tensor<[4, n floordiv 2], i1>
  relax.return %1 : !relax.tensor<[4, n floordiv 2], i1>
}
