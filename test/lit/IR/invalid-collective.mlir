// RUN: %invalid

// Operators of several workers (DR11).

relax.func @allreduce_kind(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected an op_type of sum, prod, min, max or avg, but got mean}}
  // expected-error@+1 {{'relax.allreduce' op failed to infer returned types}}
  %0 = relax.allreduce %x {op_type = "mean"} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @allreduce_bool(%x: !relax.tensor<[n], i1>) -> !relax.object {
  // expected-error@+2 {{expected x of integer or float data type, but got '!relax.tensor<[n], i1>'}}
  // expected-error@+1 {{'relax.allreduce' op failed to infer returned types}}
  %0 = relax.allreduce %x : (!relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  relax.return %0 : !relax.tensor<[n], i1>
}

// -----

relax.func @allgather_scalar(%x: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected x of rank 1 or more, but got '!relax.tensor<[], f32>'}}
  // expected-error@+1 {{'relax.allgather' op failed to infer returned types}}
  %0 = relax.allgather %x {num_workers = 2 : i64} : (!relax.tensor<[], f32>) -> !relax.tensor<[2], f32>
  relax.return %0 : !relax.tensor<[2], f32>
}

// -----

relax.func @allgather_count(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected num_workers of 1 or more, but got 0}}
  // expected-error@+1 {{'relax.allgather' op failed to infer returned types}}
  %0 = relax.allgather %x {num_workers = 0 : i64} : (!relax.tensor<[n], f32>) -> !relax.tensor<[0], f32>
  relax.return %0 : !relax.tensor<[0], f32>
}

// -----

relax.func @scatter_count(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected num_workers of 1 or more, but got -1}}
  // expected-error@+1 {{'relax.scatter_from_worker0' op failed to infer returned types}}
  %0 = relax.scatter_from_worker0 %x {num_workers = -1 : i64} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @scatter_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.scatter_from_worker0' op failed to infer returned types}}
  %0 = relax.scatter_from_worker0 %x {num_workers = 2 : i64, axis = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 2], f32>
  relax.return %0 : !relax.tensor<[n, 2], f32>
}

// -----

relax.func @scatter_rest(%x: !relax.tensor<[n, 5], f32>) -> !relax.object {
  // expected-error@+2 {{expected num_workers that divides dimension 1, but got 2 and '!relax.tensor<[n, 5], f32>'}}
  // expected-error@+1 {{'relax.scatter_from_worker0' op failed to infer returned types}}
  %0 = relax.scatter_from_worker0 %x {num_workers = 2 : i64, axis = 1 : i64} : (!relax.tensor<[n, 5], f32>) -> !relax.tensor<[n, 2], f32>
  relax.return %0 : !relax.tensor<[n, 2], f32>
}

// -----

relax.func @scatter_odd(%x: !relax.tensor<[n * 2 + 1], f32>, %n: !relax.prim<i64, n>) -> !relax.object {
  // expected-error@+2 {{expected num_workers that divides dimension 0, but got 2}}
  // expected-error@+1 {{'relax.scatter_from_worker0' op failed to infer returned types}}
  %0 = relax.scatter_from_worker0 %x {num_workers = 2 : i64} : (!relax.tensor<[n * 2 + 1], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
