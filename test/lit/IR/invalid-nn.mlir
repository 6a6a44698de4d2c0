// RUN: %invalid

// Linear algebra and neural networks.

relax.func @matmul_inner(%a: !relax.tensor<[n, 3], f32>, %b: !relax.tensor<[4, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected equal inner dimensions, but got 3 and 4}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[n, 3], f32>, !relax.tensor<[4, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

relax.func @matmul_out_dtype(%a: !relax.tensor<[n, 3], i1>, %b: !relax.tensor<[3, m], f32>, %c: !relax.tensor<[n, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected out_dtype to be an integer or float, but got 'i1'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %c, %b {out_dtype = i1} : (!relax.tensor<[n, 3], f32>, !relax.tensor<[3, m], f32>) -> !relax.tensor<[n, m], i1>
  relax.return %0 : !relax.tensor<[n, m], i1>
}

// -----

relax.func @matmul_symbolic_inner(%a: !relax.tensor<[n, k], f32>, %b: !relax.tensor<[k + 1, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected equal inner dimensions, but got k and k + 1}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[n, k], f32>, !relax.tensor<[k + 1, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

relax.func @matmul_inner_of_vectors(%a: !relax.tensor<[3], f32>, %b: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected equal inner dimensions, but got 3 and 4}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[3], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

// Whether `k` is `l` is checked at run time; of the result only the rank is known.
relax.func @matmul_unknown_inner(%a: !relax.tensor<[n, k], f32>, %b: !relax.tensor<[l, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[n, m], f32>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[n, k], f32>, !relax.tensor<[l, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

relax.func @matmul_batch(%a: !relax.tensor<[2, n, k], f32>, %b: !relax.tensor<[3, k, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimensions that broadcast, but got 2 and 3}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[2, n, k], f32>, !relax.tensor<[3, k, m], f32>) -> !relax.tensor<ndim = 3, f32>
  relax.return %0 : !relax.tensor<ndim = 3, f32>
}

// -----

relax.func @matmul_scalar(%a: !relax.tensor<[], f32>, %b: !relax.tensor<[k, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected operands of rank 1 or more, but got '!relax.tensor<[], f32>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[m], f32>
  relax.return %0 : !relax.tensor<[m], f32>
}

// -----

relax.func @matmul_data_types(%a: !relax.tensor<[n, k], f32>, %b: !relax.tensor<[k, m], f16>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f16'; insert relax.astype}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[n, k], f32>, !relax.tensor<[k, m], f16>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

relax.func @matmul_booleans(%a: !relax.tensor<[n, k], i1>, %b: !relax.tensor<[k, m], i1>) -> !relax.object {
  // expected-error@+2 {{expected x1 of integer or float data type, but got '!relax.tensor<[n, k], i1>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[n, k], i1>, !relax.tensor<[k, m], i1>) -> !relax.tensor<[n, m], i1>
  relax.return %0 : !relax.tensor<[n, m], i1>
}

// -----

// A vector is no matrix of one column.
relax.func @matmul_rank(%a: !relax.tensor<[n, k], f32>, %b: !relax.tensor<[k], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n, 1], f32>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %a, %b : (!relax.tensor<[n, k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[n, 1], f32>
  relax.return %0 : !relax.tensor<[n, 1], f32>
}

// -----

relax.func @softmax_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.softmax' op failed to infer returned types}}
  %0 = relax.softmax %x {axis = 2} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @softmax_of_a_scalar(%x: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected a tensor of rank 1 or more for axis -1, but got a scalar}}
  // expected-error@+1 {{'relax.softmax' op failed to infer returned types}}
  %0 = relax.softmax %x : (!relax.tensor<[], f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

relax.func @softmax_data_type(%x: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n], i32>'}}
  // expected-error@+1 {{'relax.softmax' op failed to infer returned types}}
  %0 = relax.softmax %x : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
  relax.return %0 : !relax.tensor<[n], i32>
}

// -----

relax.func @log_softmax_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got -3}}
  // expected-error@+1 {{'relax.log_softmax' op failed to infer returned types}}
  %0 = relax.log_softmax %x {axis = -3} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @log_softmax_shape(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.log_softmax' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[4, n], f32>'}}
  // expected-error@+1 {{'relax.log_softmax' op failed to infer returned types}}
  %0 = relax.log_softmax %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32>
  relax.return %0 : !relax.tensor<[4, n], f32>
}

// -----

relax.func @layer_norm_no_axis(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected at least one axis}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @layer_norm_axis(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: 2>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @layer_norm_repeated_axis(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[4, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected distinct axes, but got axis 1 twice}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: 1, -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @layer_norm_rank(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected gamma of rank 1, the number of axes, but got '!relax.tensor<[n, 4], f32>'}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: 1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @layer_norm_gamma(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[5], f32>, %b: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected gamma with dimension 4 as x has at axis 1, but got 5}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %b {axes = array<i64: 1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[5], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @layer_norm_beta(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[4], f32>, %b: !relax.tensor<[5], f32>) -> !relax.object {
  // expected-error@+2 {{expected beta with dimension 4 as x has at axis 1, but got 5}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %b {axes = array<i64: 1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[5], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @layer_norm_data_type(%x: !relax.tensor<[n, 4], i32>, %g: !relax.tensor<[4], i32>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n, 4], i32>'}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: 1>} : (!relax.tensor<[n, 4], i32>, !relax.tensor<[4], i32>, !relax.tensor<[4], i32>) -> !relax.tensor<[n, 4], i32>
  relax.return %0 : !relax.tensor<[n, 4], i32>
}

// -----

relax.func @layer_norm_data_types(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[4], f64>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f64'; insert relax.astype}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: 1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f64>, !relax.tensor<[4], f64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @layer_norm_epsilon(%x: !relax.tensor<[n, 4], f32>, %g: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+1 {{custom op 'relax.layer_norm' 'relax.layer_norm' op attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute}}
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: 1>, epsilon = 1.0e-5 : f32} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
