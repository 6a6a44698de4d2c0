// RUN: %invalid

// Operators that order and search (DR11).

relax.func @sort_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.sort' op failed to infer returned types}}
  %0 = relax.sort %x {axis = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @sort_scalar(%x: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected a tensor of rank 1 or more for axis -1, but got a scalar}}
  // expected-error@+1 {{'relax.sort' op failed to infer returned types}}
  %0 = relax.sort %x : (!relax.tensor<[], f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

relax.func @argsort_dtype(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected a dtype of integers of 32 or 64 bits, but got 'i16'}}
  // expected-error@+1 {{'relax.argsort' op failed to infer returned types}}
  %0 = relax.argsort %x {dtype = i16} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i16>
  relax.return %0 : !relax.tensor<[n, 4], i16>
}

// -----

relax.func @kth_index_none(%x: !relax.tensor<[n, 4], f32>, %k: !relax.prim<i64, 0>) -> !relax.object {
  // expected-error@+2 {{expected k of 1 or more, but got 0}}
  // expected-error@+1 {{'relax.kth_index' op failed to infer returned types}}
  %0 = relax.kth_index %x, %k : (!relax.tensor<[n, 4], f32>, !relax.prim<i64, 0>) -> !relax.tensor<[n, 1], i32>
  relax.return %0 : !relax.tensor<[n, 1], i32>
}

// -----

relax.func @kth_index_beyond(%x: !relax.tensor<[n, 4], f32>, %k: !relax.prim<i64, 5>) -> !relax.object {
  // expected-error@+2 {{expected k of at most the dimension, 4, but got 5}}
  // expected-error@+1 {{'relax.kth_index' op failed to infer returned types}}
  %0 = relax.kth_index %x, %k : (!relax.tensor<[n, 4], f32>, !relax.prim<i64, 5>) -> !relax.tensor<[n, 1], i32>
  relax.return %0 : !relax.tensor<[n, 1], i32>
}

// -----

relax.func @kth_index_unknown(%x: !relax.tensor<[n, 4], f32>, %k: !relax.prim<i64>) -> !relax.object {
  // expected-error@+2 {{expected k with a known value, but got '!relax.prim<i64>'}}
  // expected-error@+1 {{'relax.kth_index' op failed to infer returned types}}
  %0 = relax.kth_index %x, %k : (!relax.tensor<[n, 4], f32>, !relax.prim<i64>) -> !relax.tensor<[n, 1], i32>
  relax.return %0 : !relax.tensor<[n, 1], i32>
}

// -----

relax.func @kth_index_dtype(%x: !relax.tensor<[n, 4], f32>, %k: !relax.prim<i32>) -> !relax.object {
  // expected-error@+2 {{expected k of data type 'i64', but got 'i32'}}
  // expected-error@+1 {{'relax.kth_index' op failed to infer returned types}}
  %0 = relax.kth_index %x, %k : (!relax.tensor<[n, 4], f32>, !relax.prim<i32>) -> !relax.tensor<[n, 1], i32>
  relax.return %0 : !relax.tensor<[n, 1], i32>
}

// -----

relax.func @topk_k(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected k of at most the dimension, 4, but got 5}}
  // expected-error@+1 {{'relax.topk' op failed to infer returned types}}
  %0 = relax.topk %x {k = 5 : i64, ret_type = "values"} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 5], f32>
  relax.return %0 : !relax.tensor<[n, 5], f32>
}

// -----

relax.func @topk_ret_type(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected a ret_type of both, values or indices, but got all}}
  // expected-error@+1 {{'relax.topk' op failed to infer returned types}}
  %0 = relax.topk %x {ret_type = "all"} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 1], f32>
  relax.return %0 : !relax.tensor<[n, 1], f32>
}

// -----

relax.func @bucketize_rank(%x: !relax.tensor<[n], f32>, %b: !relax.tensor<[n, 2], f32>) -> !relax.object {
  // expected-error@+2 {{expected boundaries of rank 1, but got '!relax.tensor<[n, 2], f32>'}}
  // expected-error@+1 {{'relax.bucketize' op failed to infer returned types}}
  %0 = relax.bucketize %x, %b : (!relax.tensor<[n], f32>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n], i64>
  relax.return %0 : !relax.tensor<[n], i64>
}

// -----

relax.func @bucketize_dtype(%x: !relax.tensor<[n], f32>, %b: !relax.tensor<[m], f64>) -> !relax.object {
  // expected-error@+2 {{data type}}
  // expected-error@+1 {{'relax.bucketize' op failed to infer returned types}}
  %0 = relax.bucketize %x, %b : (!relax.tensor<[n], f32>, !relax.tensor<[m], f64>) -> !relax.tensor<[n], i64>
  relax.return %0 : !relax.tensor<[n], i64>
}
