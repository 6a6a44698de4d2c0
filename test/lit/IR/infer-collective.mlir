// RUN: %invalid

// DR11: operators of several workers. The declared type is wrong on purpose, so that the error
// shows the derived one.

relax.func @dr11_allreduce(%x: !relax.tensor<[n, 4], f16>) -> !relax.object {
  // expected-error@+2 {{'relax.allreduce' op inferred type(s) '!relax.tensor<[n, 4], f16>' are incompatible with return type(s) of operation '!relax.tensor<[99], f16>'}}
  // expected-error@+1 {{'relax.allreduce' op failed to infer returned types}}
  %0 = relax.allreduce %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[99], f16>
  relax.return %0 : !relax.tensor<[99], f16>
}

// -----

relax.func @dr11_allgather(%x: !relax.tensor<[n, 4], i1>) -> !relax.object {
  // expected-error@+2 {{'relax.allgather' op inferred type(s) '!relax.tensor<[n * 3, 4], i1>' are incompatible with return type(s) of operation '!relax.tensor<[99], i1>'}}
  // expected-error@+1 {{'relax.allgather' op failed to infer returned types}}
  %0 = relax.allgather %x {num_workers = 3 : i64} : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[99], i1>
  relax.return %0 : !relax.tensor<[99], i1>
}

// -----

// The first dimension of a shape that has a name is not that of the result.
relax.func @dr11_allgather_shape(%x: !relax.tensor<var = s, ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.allgather' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], f32>'}}
  // expected-error@+1 {{'relax.allgather' op failed to infer returned types}}
  %0 = relax.allgather %x {num_workers = 3 : i64} : (!relax.tensor<var = s, ndim = 2, f32>) -> !relax.tensor<[99], f32>
  relax.return %0 : !relax.tensor<[99], f32>
}

// -----

relax.func @dr11_broadcast(%x: !relax.tensor<ndim = 3>) -> !relax.object {
  // expected-error@+2 {{'relax.broadcast_from_worker0' op inferred type(s) '!relax.tensor<ndim = 3>' are incompatible with return type(s) of operation '!relax.tensor<[99], f32>'}}
  // expected-error@+1 {{'relax.broadcast_from_worker0' op failed to infer returned types}}
  %0 = relax.broadcast_from_worker0 %x : (!relax.tensor<ndim = 3>) -> !relax.tensor<[99], f32>
  relax.return %0 : !relax.tensor<[99], f32>
}

// -----

relax.func @dr11_scatter(%x: !relax.tensor<[4, n], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.scatter_from_worker0' op inferred type(s) '!relax.tensor<[4, n floordiv 2], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], f32>'}}
  // expected-error@+1 {{'relax.scatter_from_worker0' op failed to infer returned types}}
  %0 = relax.scatter_from_worker0 %x {num_workers = 2 : i64, axis = -1 : i64} : (!relax.tensor<[4, n], f32>) -> !relax.tensor<[99], f32>
  relax.return %0 : !relax.tensor<[99], f32>
}

// -----

relax.func @dr11_scatter_unknown(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.scatter_from_worker0' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], f32>'}}
  // expected-error@+1 {{'relax.scatter_from_worker0' op failed to infer returned types}}
  %0 = relax.scatter_from_worker0 %x {num_workers = 2 : i64} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<[99], f32>
  relax.return %0 : !relax.tensor<[99], f32>
}
