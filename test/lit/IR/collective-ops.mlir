// RUN: %roundtrip

// Operators of several workers.

// CHECK-LABEL: relax.func @collectives
relax.func @collectives(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.allreduce %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.allreduce %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.allreduce %x {in_group = false, op_type = "avg"} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.allreduce %x {op_type = "avg", in_group = false} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.allgather %x {num_workers = 3 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 3, 4], f32>
  %2 = relax.allgather %x {num_workers = 3 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 3, 4], f32>
  // CHECK: relax.broadcast_from_worker0 %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %3 = relax.broadcast_from_worker0 %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.scatter_from_worker0 %x {axis = 1 : i64, num_workers = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 2], f32>
  %4 = relax.scatter_from_worker0 %x {num_workers = 2 : i64, axis = 1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 2], f32>
  relax.return %x : !relax.tensor<[n, 4], f32>
}
